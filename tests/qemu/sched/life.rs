// SPDX-License-Identifier: GPL-2.0-only
//! Loading, ending and being killed; CPUs that go and come; wrong words.

use super::*;

/// The settings while it is on begin with a 0 for each deadline server: two, and one before 7.0.
/// The last three are RCU's: its first look for idle CPUs, and its thread's priority and CPUs.
pub(super) static LOADS: Script = Script {
    name: "sched::loads_and_unloads_again_and_again",
    rt: true,
    counts: &[("TURNS", 2, 20)],
    text: r#"before=$(settings)
        case $(uname -v) in
            *PREEMPT_RT*) rcu_on='1 -2 0 ' ;;
            *) rcu_on='0 20 0-1 ' ;;
        esac
        for i in $(seq $TURNS); do
            start --rt 1
            [ "$(settings | sed 's/^0 0 0 /0 0 /')" = "0 0 120 0 1 $rcu_on" ] || die "settings while on: $(settings)"
            stop
            [ "$(cat /sys/kernel/sched_ext/state)" = disabled ] || die 'still on'
            [ "$(settings)" = "$before" ] || die "settings after: $(settings), not $before"
            echo "turn $i"
        done"#,
};

pub(super) fn loads_and_unloads_again_and_again(kernel: &str) {
    let ran = two_cpus(kernel).ran(kernel, &LOADS);
    let turns = ran.numbers("turn").len() as u64;
    assert_eq!(turns, LOADS.count("TURNS"));
}

/// The kernel takes its own scheduler back when the process that holds the other one dies; its
/// watchdog, which would do so half a minute later, is not needed.
pub(super) static KILLS: Script = Script {
    name: "sched::a_killed_artis_leaves_nothing_behind",
    rt: true,
    counts: &[("TURNS", 2, 30)],
    text: r#"before=$(settings)
        for task in 1 2 3; do while :; do :; done & tasks="${tasks:-} $!"; done
        stress-ng -q --fork 1 --mmap 1 --mmap-bytes 4m >/dev/null 2>&1 & tasks="$tasks $!"
        for i in $(seq $TURNS); do
            start --rt 1
            sleep 0.5
            read -r state </sys/kernel/sched_ext/state
            [ "$state" = enabled ] || die "$state before kill -9: $(cat /tmp/run.err)"
            read_uptime_ms
            killed_ms=$uptime_ms
            kill -9 $artis
            # by the shell alone: a process that looks would wait its turn among the load
            while :; do
                read -r state </sys/kernel/sched_ext/state
                read_uptime_ms
                back_ms=$((uptime_ms - killed_ms))
                [ "$state" != disabled ] || break
                [ $back_ms -lt 120000 ] || die "$state for two minutes after kill -9"
            done
            echo "back_ms $back_ms"
            for task in $tasks; do kill -0 $task || die "task $task is gone"; done
            artis sched status >/tmp/status.out 2>/tmp/status.err
            grep -q 'not scheduling' /tmp/status.out || die "status: $(cat /tmp/status.out /tmp/status.err)"
            grep -q 'put back' /tmp/status.err || die "nothing put back: $(cat /tmp/status.err)"
            [ "$(settings)" = "$before" ] || die "settings after: $(settings), not $before"
            echo "turn $i"
        done
        dmesg >dmesg
        grep -q 'runnable task stall' dmesg && die 'the watchdog had to end it'
        kill $tasks"#,
};

pub(super) fn a_killed_artis_leaves_nothing_behind(kernel: &str) {
    let ran = two_cpus(kernel).ran(kernel, &KILLS);
    assert_eq!(ran.numbers("turn").len() as u64, KILLS.count("TURNS"));
    let back_ms = ran.numbers("back_ms");
    println!("{kernel}: the kernel had its own scheduler back after {back_ms:?} ms");
}

pub(super) static OFFLINE: Script = Script {
    name: "sched::an_rt_cpu_goes_offline_and_comes_back",
    rt: true,
    counts: &[("TURNS", 1, 20)],
    text: r"start --rt 1
        stress-ng -q --cpu 3 --fork 1 >/dev/null 2>&1 &
        taskset 2 sh -c 'while :; do :; done' & bound=$!
        for i in $(seq $TURNS); do
            used=$(counter promotions)
            more() { [ $(counter promotions) -gt $((used + 5)) ]; }
            until_ok more
            echo 0 >/sys/devices/system/cpu/cpu1/online || die 'could not take CPU 1 offline'
            sleep 1
            status offline
            kill -0 $bound || die 'the bound task is gone'
            echo 1 >/sys/devices/system/cpu/cpu1/online || die 'could not bring CPU 1 online'
            used=$(counter promotions)
            until_ok more
        done
        kill $bound
        status online
        stop
        cat /tmp/run.err",
};

pub(super) fn an_rt_cpu_goes_offline_and_comes_back(kernel: &str) {
    let ran = TWO_CPUS.ran(kernel, &OFFLINE);
    let offline = ran.json("offline");
    assert_eq!(offline["enabled"], true);
    assert_eq!(offline["rt_cpus_offline"], "1");
    // The time offline stands apart, and what the kernel hides meanwhile is not made up.
    let times = &offline["rt_cpu_times"][0];
    assert!(times["offline_ns"].as_u64() > Some(0), "{times}");
    for hidden in ["idle_ns", "rt0_and_interrupts_ns"] {
        assert!(times[hidden].is_null(), "{times}");
    }
    let online = ran.json("online");
    assert_eq!(online["rt_cpus_offline"], "");
    let times = &online["rt_cpu_times"][0];
    assert!(times["rt0_and_interrupts_ns"].is_u64(), "{times}");
    assert_eq!(counter(&online, "cpu_offline"), OFFLINE.count("TURNS"));
    assert_eq!(counter(&online, "cpu_online"), OFFLINE.count("TURNS"));
    assert!(
        counter(&online, "promotions") > counter(&offline, "promotions"),
        "the RT CPU was not used again: {online:#}"
    );
    assert_no_leaks(&online, 1);
    assert!(
        ran.stdout.contains("RT CPU 1 of 1 is offline"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("online again"), "{}", ran.stdout);
}

pub static TWO_OF_FOUR: Script = Script {
    name: "sched::two_rt_cpus_of_four",
    rt: true,
    counts: &[("SECONDS", 5, 60)],
    text: r"start --rt 2-3
        taskset c sh -c 'while :; do :; done' & only_rt=$!
        stress-ng -q --cpu 8 --fork 1 --mmap 1 --mmap-bytes 4m -t $SECONDS >/dev/null 2>&1
        kill $only_rt
        status after
        stop",
};

pub(super) fn two_rt_cpus_of_four(kernel: &str) {
    let ran = super::super::partition::FOUR_CPUS.ran(kernel, &TWO_OF_FOUR);
    let status = ran.json("after");
    assert_eq!(status["rt_cpus"], "2-3");
    assert_eq!(status["nrt_cpus"], "0-1");
    assert_no_leaks(&status, 1);
    assert!(counter(&status, "rt_only_tasks") > 0, "{status:#}");
    for times in status["rt_cpu_times"].as_array().unwrap() {
        assert!(
            times["linux_ns"].as_u64().unwrap() > 100_000_000,
            "{times:#}"
        );
    }
}

pub(super) static WRONG_WORDS: Script = Script {
    name: "sched::wrong_words_and_a_second_instance_are_refused",
    rt: true,
    counts: &[],
    text: r"expect 64 artis sched run --rt 0-1
        expect 64 artis sched run --rt 9
        expect 64 artis sched run --rt x
        expect 64 artis sched run
        expect 0 artis sched stop
        start --rt 1
        expect 1 artis sched run --rt 1
        expect 64 artis run rt0 --cpu 0 -- true
        stop
        umount /sys/kernel/debug
        artis sched run --rt 1 & run=$!
        until [ -e /run/artis/sched.json ]; do usleep 100000; done
        kill -9 $run
        wait $run
        mount -t debugfs debugfs /sys/kernel/debug || die 'debugfs does not come back'
        cat /tmp/expect.err",
};

pub(super) fn wrong_words_and_a_second_instance_are_refused(kernel: &str) {
    let ran = TWO_CPUS.ran(kernel, &WRONG_WORDS);
    for sentence in [
        "leave no NRT CPU",
        "no CPU 9",
        "\"x\" is not a CPU number",
        "scheduling already",
        "artis sched stop",
    ] {
        assert!(ran.stdout.contains(sentence), "{sentence}: {}", ran.stdout);
    }
    assert!(ran.stderr.contains("mount -t debugfs"), "{}", ran.stderr);
}

pub(super) static CYCLE: Script = Script {
    name: "sched::rt_cpus_may_forget_their_past_first",
    rt: false,
    // Kills are spread over the same 400 ms.
    counts: &[("KILLS", 5, 20)],
    text: r#"gone() { dmesg | grep -c 'CPU 1 is now offline'; }
        online() { cat /sys/devices/system/cpu/cpu1/online; }
        gone_before=$(gone)
        taskset 2 sleep 1000 & sleeper=$!
        usleep 200000
        expect 1 artis sched run --rt 1 --cycle
        grep -q "thread $sleeper (sleep) may run on RT CPUs only" /tmp/expect.err ||
            die "$(cat /tmp/expect.err)"
        [ "$(gone)" = "$gone_before" ] || die 'it went offline all the same'
        kill $sleeper
        wait $sleeper
        before=$(settings)
        start --rt 1 --cycle
        [ "$(gone)" = $((gone_before + 1)) ] || die 'it was not offline'
        [ "$(online)" = 1 ] || die 'it is offline still'
        [ "$(settings)" = '0 0 0 120 0 1 0 20 0-1 ' ] || die "settings while on: $(settings)"
        grep -q 'RT CPUs 1 were offline for a moment' /tmp/run.err || die "$(cat /tmp/run.err)"
        stop
        [ "$(settings)" = "$before" ] || die "settings after: $(settings), not $before"
        # Killed at any moment of it, the next call brings the CPU back.
        for ms in $(seq $((400 / KILLS)) $((400 / KILLS)) 400); do
            artis sched run --rt 1 --cycle >/dev/null 2>&1 & artis=$!
            usleep ${ms}000
            kill -9 $artis
            wait $artis
            echo "killed_with_cpu $(online)"
            artis sched status >/dev/null 2>&1
            [ "$(online)" = 1 ] || die "offline after a kill at $ms ms"
            [ "$(settings)" = "$before" ] || die "settings after: $(settings), not $before"
        done"#,
};

pub(super) fn rt_cpus_may_forget_their_past_first(kernel: &str) {
    let online = TWO_CPUS.ran(kernel, &CYCLE).numbers("killed_with_cpu");
    let offline = online.iter().filter(|one| **one == 0).count();
    println!(
        "killed while the CPU was offline: {offline} times of {}",
        online.len()
    );
    assert!(online.len() as u64 >= CYCLE.count("KILLS"));
}

pub(super) static NOTIFY: Script = Script {
    name: "sched::systemd_is_told_when_it_is_ready",
    rt: false,
    counts: &[],
    text: "probe notify artis sched run --rt 1",
};

pub(super) fn systemd_is_told_when_it_is_ready(kernel: &str) {
    let ran = TWO_CPUS.ran(kernel, &NOTIFY);
    assert!(ran.stdout.contains("notified READY=1"), "{}", ran.stdout);
    assert!(ran.stdout.contains("ended Some(0)"), "{}", ran.stdout);
}

pub(super) static LAST_NRT_CPU: Script = Script {
    name: "sched::the_last_nrt_cpu_going_offline_ends_it_in_words",
    rt: false,
    counts: &[],
    text: r"[ -e /sys/devices/system/cpu/cpu1/online ] || die 'CPU 1 cannot go offline'
        start --rt 0
        echo 0 >/sys/devices/system/cpu/cpu1/online
        wait $artis
        echo ended $?
        cat /tmp/run.err
        echo 1 >/sys/devices/system/cpu/cpu1/online",
};

pub(super) fn the_last_nrt_cpu_going_offline_ends_it_in_words(kernel: &str) {
    let ran = TWO_CPUS.ran(kernel, &LAST_NRT_CPU);
    assert_eq!(ran.numbers("ended"), [1]);
    assert!(
        ran.stdout.contains("the last NRT CPU went offline"),
        "{}",
        ran.stdout
    );
}
