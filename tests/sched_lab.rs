// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler on real kernels, the newest normal one and the newest `-rt` one, in QEMU.
//!
//! The emulator's times mean nothing, so nothing here judges a latency: what is judged is what
//! happened, how often, and that it ended well. CPU 1 is the RT CPU unless a test says otherwise.

mod common;

use common::guest::boot;
use serde_json::Value;

/// Runs each test on this kernel.
macro_rules! on_kernel {
    ($flavour:ident, $kernel:literal: $($test:ident),* $(,)?) => {
        mod $flavour { $( #[test] fn $test() { super::$test($kernel) } )* }
    };
}

on_kernel!(normal, "newest":
    loads_and_unloads_twenty_times,
    no_kernel_work_leaks_to_the_rt_cpu,
    nobody_is_stranded_behind_a_hog,
    a_killed_artis_leaves_nothing_behind,
    an_rt_cpu_goes_offline_and_comes_back,
    two_rt_cpus_of_four,
    rt1_tasks_come_before_linux_tasks,
    bound_tasks_are_served_and_set_free,
    wrong_words_and_a_second_instance_are_refused,
    rt_cpus_may_forget_their_past_first,
    systemd_is_told_when_it_is_ready,
    the_entry_detector_leaks_nothing_either,
    what_another_cpu_changes_of_a_task_is_no_reason_to_leave,
    the_last_nrt_cpu_going_offline_ends_it_in_words,
);

// Where the flavour makes a difference: what is preempted, how, and by whom.
on_kernel!(rt, "newest-rt":
    loads_and_unloads_twenty_times,
    no_kernel_work_leaks_to_the_rt_cpu,
    nobody_is_stranded_behind_a_hog,
    a_killed_artis_leaves_nothing_behind,
    an_rt_cpu_goes_offline_and_comes_back,
    two_rt_cpus_of_four,
    wrong_words_and_a_second_instance_are_refused,
);

fn counter(status: &Value, name: &str) -> u64 {
    status["counters"][name]
        .as_u64()
        .unwrap_or_else(|| panic!("no counter {name} in {status}"))
}

/// Nothing leaked, and the figure means something: at least `entries` were watched.
#[track_caller]
fn assert_no_leaks(status: &Value, entries: u64) {
    let mut seen = 0;
    assert_eq!(counter(status, "leaks_sleep"), 0, "{status:#}");
    for kind in ["syscall", "fault", "signal"] {
        let leaks = counter(status, &format!("leaks_{kind}"));
        assert_eq!(leaks, 0, "leaks_{kind}: {status:#}");
        seen += counter(status, &format!("entries_{kind}"));
    }
    assert!(seen >= entries, "only {seen} entries: {status:#}");
}

fn loads_and_unloads_twenty_times(kernel: &str) {
    let guest = boot(
        kernel,
        &[],
        r#"before=$(settings)
        for i in $(seq 20); do
            start --rt 1
            [ "$(settings)" = '0 0 0 120 0 -2 0 ' ] || die "settings while on: $(settings)"
            stop
            [ "$(cat /sys/kernel/sched_ext/state)" = disabled ] || die 'still on'
            [ "$(settings)" = "$before" ] || die "settings after: $(settings), not $before"
            echo "turn $i"
        done"#,
    );
    assert_eq!(guest.numbers("turn").len(), 20);
}

fn no_kernel_work_leaks_to_the_rt_cpu(kernel: &str) {
    let guest = boot(
        kernel,
        &[],
        r"start --rt 1
        cyclictest -q -p 99 -i 2000 -a 1 -t 1 -D 25 >/dev/null 2>&1 &
        probe traced 25 &
        stress-ng -q --cpu 3 --cpu-method int64 --fork 1 --mmap 1 --mmap-bytes 4m --kill 1 \
            --sigsegv 1 --sigfd 1 --fault 1 -t 25 >/dev/null 2>&1 & load=$!
        for i in $(seq 5); do hackbench -g 1 -l 40 >/dev/null; sleep 2; done
        wait $load
        status after
        stop",
    );
    let status = guest.status("after");
    assert_no_leaks(&status, 100);
    for kind in ["syscall", "fault", "signal", "tracer"] {
        let (entries, evictions) = (
            counter(&status, &format!("entries_{kind}")),
            counter(&status, &format!("evictions_{kind}")),
        );
        assert!(entries > 0, "no {kind} began on the RT CPU: {status:#}");
        // Dying of a signal, a task may leave no other way than by its own end.
        assert!(evictions <= entries, "{kind}: {evictions} of {entries}");
    }
}

/// Every normal task is to make progress at least this often.
const GAP_MS_MAX: u64 = 200;

fn nobody_is_stranded_behind_a_hog(kernel: &str) {
    let guest = boot(
        kernel,
        &[],
        r"start --rt 1
        probe hog 60
        status after
        stop",
    );
    let gaps = guest.numbers("gap_ms");
    assert_eq!(gaps.len(), 8);
    let stalled_ms = guest.numbers("stalled_ms")[0];
    println!(
        "{kernel}: longest time without progress of each task: {gaps:?} ms; \
         the emulator stood still for {stalled_ms} ms of 60 s"
    );
    // Where it is seen to stand still it does so for less than is seen, too.
    let worst = gaps.iter().max().unwrap();
    assert!(
        *worst <= GAP_MS_MAX + stalled_ms,
        "{gaps:?}\n{:#}",
        guest.status("after")
    );
    let status = guest.status("after");
    assert!(
        counter(&status, "hand_backs") > 0,
        "no burst was long: {status:#}"
    );
    assert!(
        counter(&status, "promotions") > 0,
        "the RT CPU was not used: {status:#}"
    );
}

/// The kernel is to be back on its own scheduler so soon after `kill -9`, nine times of ten. Once in
/// a while a busy host's emulator took 1.1 s where 0.1 is usual, for a reason not found; even then it
/// is never near the half minute after which the kernel's watchdog would have done it.
const BACK_MS_USUAL: u64 = 1000;
const BACK_MS_MAX: u64 = 10_000;

fn a_killed_artis_leaves_nothing_behind(kernel: &str) {
    let guest = boot(
        kernel,
        &[],
        r#"before=$(settings)
        for task in 1 2 3; do while :; do :; done & tasks="${tasks:-} $!"; done
        stress-ng -q --fork 1 --mmap 1 --mmap-bytes 4m -t 600 >/dev/null 2>&1 & tasks="$tasks $!"
        for i in $(seq 10); do
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
                [ $back_ms -lt 60000 ] || die "$state for a minute after kill -9"
            done
            echo "back_ms $back_ms"
            for task in $tasks; do kill -0 $task || die "task $task is gone"; done
            artis sched status >/tmp/status.out 2>/tmp/status.err
            grep -q 'not scheduling' /tmp/status.out || die "status: $(cat /tmp/status.out)"
            grep -q 'put back' /tmp/status.err || die "nothing put back: $(cat /tmp/status.err)"
            [ "$(settings)" = "$before" ] || die "settings after: $(settings), not $before"
            echo "turn $i"
        done
        kill $tasks"#,
    );
    assert_eq!(guest.numbers("turn").len(), 10);
    let back_ms = guest.numbers("back_ms");
    println!("{kernel}: the kernel had its own scheduler back after {back_ms:?} ms");
    let late = back_ms.iter().filter(|ms| **ms > BACK_MS_USUAL).count();
    assert!(late <= 1, "{back_ms:?}");
    assert!(back_ms.iter().all(|ms| *ms <= BACK_MS_MAX), "{back_ms:?}");
}

fn an_rt_cpu_goes_offline_and_comes_back(kernel: &str) {
    let guest = boot(
        kernel,
        &[],
        r"start --rt 1
        stress-ng -q --cpu 3 --fork 1 -t 10 >/dev/null 2>&1 & load=$!
        taskset 2 sh -c 'while :; do :; done' & bound=$!
        sleep 2
        echo 0 >/sys/devices/system/cpu/cpu1/online || die 'could not take CPU 1 offline'
        sleep 2
        status offline
        kill -0 $bound || die 'the bound task is gone'
        echo 1 >/sys/devices/system/cpu/cpu1/online || die 'could not bring CPU 1 online'
        wait $load
        kill $bound
        status online
        stop
        cat /tmp/run.err",
    );
    let offline = guest.status("offline");
    assert_eq!(offline["enabled"], true);
    assert_eq!(offline["rt_cpus_offline"], "1");
    let online = guest.status("online");
    assert_eq!(online["rt_cpus_offline"], "");
    assert_eq!(counter(&online, "cpu_offline"), 1);
    assert_eq!(counter(&online, "cpu_online"), 1);
    assert!(
        counter(&online, "promotions") > counter(&offline, "promotions"),
        "the RT CPU was not used again: {online:#}"
    );
    assert_no_leaks(&online, 1);
    assert!(
        guest.stdout.contains("RT CPU 1 of 1 is offline"),
        "{}",
        guest.stdout
    );
    assert!(guest.stdout.contains("online again"), "{}", guest.stdout);
}

fn two_rt_cpus_of_four(kernel: &str) {
    let guest = boot(
        kernel,
        &["--cpus", "4"],
        r"start --rt 2-3
        taskset c sh -c 'while :; do :; done' & only_rt=$!
        stress-ng -q --cpu 8 --fork 1 --mmap 1 --mmap-bytes 4m -t 10 >/dev/null 2>&1
        kill $only_rt
        status after
        stop",
    );
    let status = guest.status("after");
    assert_eq!(status["rt_cpus"], "2-3");
    assert_eq!(status["nrt_cpus"], "0-1");
    assert_no_leaks(&status, 1);
    assert!(counter(&status, "rt_only_tasks") > 0, "{status:#}");
    for times in status["rt_cpu_times"].as_array().unwrap() {
        assert!(
            times["linux_ns"].as_u64().unwrap() > 1_000_000_000,
            "{times:#}"
        );
    }
}

fn rt1_tasks_come_before_linux_tasks(kernel: &str) {
    let guest = boot(
        kernel,
        &[],
        r#"start --rt 1
        ticks() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f12; }
        for task in 1 2 3 4; do while :; do :; done & linux="${linux:-} $!"; done
        artis run rt1 --level 5 -- sh -c 'while :; do :; done' & rt1=$!
        sleep 2
        r0=$(ticks $rt1) l0=$(ticks ${linux##* })
        sleep 10
        echo "rt1 $(($(ticks $rt1) - r0))"
        echo "linux $(($(ticks ${linux##* }) - l0))"
        status after
        kill $rt1 $linux
        stop"#,
    );
    let status = guest.status("after");
    let [times] = status["rt_cpu_times"].as_array().unwrap().as_slice() else {
        panic!("{status:#}")
    };
    let [rt1_ns, linux_ns] = ["rt1_ns", "linux_ns"].map(|name| times[name].as_u64().unwrap());
    assert!(rt1_ns > 2 * linux_ns, "RT1+ wants the RT CPU: {times:#}");
    let [rt1, one_linux] = ["rt1", "linux"].map(|word| guest.numbers(word)[0]);
    assert!(
        rt1 > 2 * one_linux,
        "RT1+ {rt1} ticks, a Linux task {one_linux}"
    );
    assert!(one_linux > 0, "Linux tasks starve");
}

fn bound_tasks_are_served_and_set_free(kernel: &str) {
    let guest = boot(
        kernel,
        &[],
        r"start --rt 1
        stress-ng -q --cpu 4 -t 600 >/dev/null 2>&1 & load=$!
        taskset 2 sh -c 'while :; do read x </proc/self/stat; done' & bound=$!
        taskset 1 sh -c 'while :; do :; done' & nrt=$!
        sleep 4
        status bound
        for task in $bound $nrt; do
            ticks=$(sed 's/.*) //' /proc/$task/stat | cut -d' ' -f12,13)
            echo ran $((${ticks% *} + ${ticks#* }))
        done
        for i in $(seq 10); do taskset -p 3 $bound >/dev/null; sleep 0.2; taskset -p 2 $bound >/dev/null; sleep 0.2; done
        taskset -p 3 $bound >/dev/null
        sleep 2
        status free
        kill $bound $nrt $load
        stop",
    );
    let bound = guest.status("bound");
    assert!(counter(&bound, "entries_bound") > 100, "{bound:#}");
    for ran in guest.numbers("ran") {
        assert!(ran > 10, "a bound task got {ran} ticks of 400");
    }
    // What a task does on the CPU it is bound to is no leak; what it does once free would be.
    assert_no_leaks(&guest.status("free"), 1);
}

fn wrong_words_and_a_second_instance_are_refused(kernel: &str) {
    let guest = boot(
        kernel,
        &[],
        r"expect 64 artis sched run --rt 0-1
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
        cat /tmp/expect.err",
    );
    for sentence in [
        "leave no NRT CPU",
        "no CPU 9",
        "\"x\" is not a CPU number",
        "scheduling already",
        "artis sched stop",
    ] {
        assert!(
            guest.stdout.contains(sentence),
            "{sentence}: {}",
            guest.stdout
        );
    }
    assert!(
        guest.stderr.contains("mount -t debugfs"),
        "{}",
        guest.stderr
    );
}

fn rt_cpus_may_forget_their_past_first(kernel: &str) {
    let guest = boot(
        kernel,
        &[],
        r#"gone() { dmesg | grep -c 'CPU 1 is now offline'; }
        online() { cat /sys/devices/system/cpu/cpu1/online; }
        taskset 2 sleep 1000 & sleeper=$!
        usleep 200000
        expect 1 artis sched run --rt 1 --cycle
        grep -q "thread $sleeper (sleep) may run on RT CPUs only" /tmp/expect.err ||
            die "$(cat /tmp/expect.err)"
        [ "$(gone)" = 0 ] || die 'it went offline all the same'
        kill $sleeper
        wait $sleeper
        before=$(settings)
        start --rt 1 --cycle
        [ "$(gone)" = 1 ] || die 'it was not offline'
        [ "$(online)" = 1 ] || die 'it is offline still'
        [ "$(settings)" = '0 0 0 120 0 -2 0 ' ] || die "settings while on: $(settings)"
        grep -q 'RT CPUs 1 were offline for a moment' /tmp/run.err || die "$(cat /tmp/run.err)"
        stop
        [ "$(settings)" = "$before" ] || die "settings after: $(settings), not $before"
        # Killed at any moment of it, the next call brings the CPU back.
        for ms in $(seq 20 20 400); do
            artis sched run --rt 1 --cycle >/dev/null 2>&1 & artis=$!
            usleep ${ms}000
            kill -9 $artis
            wait $artis
            echo "killed_with_cpu $(online)"
            artis sched status >/dev/null 2>&1
            [ "$(online)" = 1 ] || die "offline after a kill at $ms ms"
            [ "$(settings)" = "$before" ] || die "settings after: $(settings), not $before"
        done"#,
    );
    let online = guest.numbers("killed_with_cpu");
    let offline = online.iter().filter(|one| **one == 0).count();
    println!(
        "killed while the CPU was offline: {offline} times of {}",
        online.len()
    );
    assert_eq!(online.len(), 20);
}

fn systemd_is_told_when_it_is_ready(kernel: &str) {
    let guest = boot(kernel, &[], "probe notify artis sched run --rt 1");
    assert!(
        guest.stdout.contains("notified READY=1"),
        "{}",
        guest.stdout
    );
    assert!(guest.stdout.contains("ended Some(0)"), "{}", guest.stdout);
}

fn the_entry_detector_leaks_nothing_either(kernel: &str) {
    let guest = boot(
        kernel,
        &["--append", "nohz_full=1"],
        r"start --rt 1 --detector entry
        stress-ng -q --fork 1 --mmap 1 --mmap-bytes 4m -t 10 >/dev/null 2>&1 & load=$!
        probe calls 10
        wait $load
        status after
        stop",
    );
    let status = guest.status("after");
    assert_eq!(status["detector"], "entry");
    assert_no_leaks(&status, 100);
    assert!(counter(&status, "entries_syscall") > 0, "{status:#}");
    boot(
        kernel,
        &[],
        "expect 1 artis sched run --rt 1 --detector entry\ngrep -q nohz_full=1 /tmp/expect.err",
    );
}

/// The kernel stops a task for it and has it run again, on the CPU that asks for the change.
fn what_another_cpu_changes_of_a_task_is_no_reason_to_leave(kernel: &str) {
    const CHANGES: u64 = 30;
    let guest = boot(
        kernel,
        &[],
        &format!(
            r#"start --rt 1
            for i in 1 2 3; do while :; do :; done & loops="${{loops:-}} $!"; done
            sleep 2
            status before
            for i in $(seq {CHANGES}); do
                for pid in $loops; do renice -n $((i % 2)) -p $pid >/dev/null || die renice; done
                usleep 100000
            done
            status after
            kill $loops
            stop"#
        ),
    );
    let [before, after] = ["before", "after"].map(|name| guest.status(name));
    assert_eq!(counter(&after, "evictions_unknown"), 0, "{after:#}");
    let ran_ns = |status: &Value| status["rt_cpu_times"][0]["linux_ns"].as_u64().unwrap();
    let ran_ns = ran_ns(&after) - ran_ns(&before);
    assert!(ran_ns > CHANGES * 100_000_000 / 2, "{ran_ns} ns: {after:#}");
}

fn the_last_nrt_cpu_going_offline_ends_it_in_words(kernel: &str) {
    let guest = boot(
        kernel,
        &[],
        r"[ -e /sys/devices/system/cpu/cpu1/online ] || die 'CPU 1 cannot go offline'
        start --rt 0
        echo 0 >/sys/devices/system/cpu/cpu1/online
        wait $artis
        echo ended $?
        cat /tmp/run.err",
    );
    assert_eq!(guest.numbers("ended"), [1]);
    assert!(
        guest.stdout.contains("the last NRT CPU went offline"),
        "{}",
        guest.stdout
    );
}
