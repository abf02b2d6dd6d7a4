// SPDX-License-Identifier: GPL-2.0-only
//! Real-time tasks that leave the CPUs no time: normal tasks, RCU and artis have a turn all the
//! same. CPU 1 is the RT CPU unless a test says otherwise.

use super::shared::Script;
use serde_json::Value;

on_kernel!(normal, "newest":
    normal_tasks_have_a_turn_and_artis_can_be_ended,
    a_bound_task_is_served_beside_rt0_that_takes_all,
    real_time_stressors_end,
);

on_kernel!(older, "6.18":
    a_kernel_without_servers_gets_its_own_scheduler_back,
    who_still_waits_counts,
);

/// An endless loop of FIFO 10 on each CPU. `timed` runs a command at FIFO 60, so that the time it
/// takes is its own.
pub static TURNS: Script = Script {
    name: "starved::normal_tasks_have_a_turn_and_artis_can_be_ended",
    rt: false,
    counts: &[("TURNS", 4, 40)],
    text: r#"timed() {
            {
                echo '. /common.sh; read_uptime_ms; began_ms=$uptime_ms'
                echo "$2"
                echo "read_uptime_ms; echo $1 \$((uptime_ms - began_ms))"
            } >/tmp/timed.sh
            chrt -f 60 sh /tmp/timed.sh || die "$1 failed"
        }
        start --rt 1
        begin_loops
        for i in $(seq $TURNS); do
            read_uptime_ms
            began_ms=$uptime_ms
            sh -c true
            read_uptime_ms
            echo "turn_ms $((uptime_ms - began_ms))"
            sleep 0.3
        done
        [ "$(cat /sys/kernel/sched_ext/state)" = enabled ] || die "it ended: $(cat /tmp/run.err)"
        timed stop_ms 'artis sched stop >/dev/null'
        end_loops
        wait $artis || die "artis sched run ended with $?"
        start --rt 1
        begin_loops
        timed kill_ms "kill -9 $artis
            while read -r state </sys/kernel/sched_ext/state; [ \$state != disabled ]; do usleep 10000; done"
        end_loops
        wait $artis 2>/dev/null
        artis sched status >/dev/null 2>/tmp/status.err
        grep -q 'policy of rcu' /tmp/status.err || die "RCU's thread was left: $(cat /tmp/status.err)"
        dmesg >dmesg
        ! grep -q 'runnable task stall' dmesg || die 'somebody stalled'"#,
};

/// A deadline server has a period of a second and gives a CPU 50 ms of each.
const TURN_MS_MAX: u64 = 3_000;
const END_MS_MAX: u64 = 1_000;

fn normal_tasks_have_a_turn_and_artis_can_be_ended(kernel: &str) {
    let ran = super::sched::counted(kernel).ran(kernel, &TURNS);
    let turns = ran.numbers("turn_ms");
    let (stop, kill) = (ran.numbers("stop_ms"), ran.numbers("kill_ms"));
    println!(
        "{kernel}: a command took {turns:?} ms, to stop {stop:?} ms, after kill -9 {kill:?} ms"
    );
    assert_eq!(turns.len() as u64, TURNS.count("TURNS"));
    assert!(turns.iter().all(|&ms| ms <= TURN_MS_MAX), "{turns:?}");
    assert!(stop[0] <= END_MS_MAX, "{stop:?}");
    assert!(kill[0] <= END_MS_MAX, "{kill:?}");
}

/// RT0 that leaves its CPU no time does not keep to its budget: who may run nowhere else has the
/// server's 50 ms of each second, and RT0 the rest.
pub static BOUND: Script = Script {
    name: "starved::a_bound_task_is_served_beside_rt0_that_takes_all",
    rt: false,
    counts: &[],
    text: r#"start --rt 1
        taskset 2 chrt -f 50 sh -c 'while :; do :; done' & rt0=$!
        sleep 1
        read_uptime_ms
        began_ms=$uptime_ms
        taskset 2 sh -c true
        read_uptime_ms
        echo "turn_ms $((uptime_ms - began_ms))"
        echo "server_ns $(cat /sys/kernel/debug/sched/ext_server/cpu1/runtime)"
        kill -9 $rt0
        wait $rt0 2>/dev/null
        tries=0
        off() { [ $(cat /sys/kernel/debug/sched/ext_server/cpu1/runtime) = 0 ]; }
        until_ok off
        status after
        stop"#,
};

fn a_bound_task_is_served_beside_rt0_that_takes_all(kernel: &str) {
    let ran = super::sched::counted(kernel).ran(kernel, &BOUND);
    let turn = ran.numbers("turn_ms")[0];
    assert!(turn <= 2 * TURN_MS_MAX, "{turn} ms");
    assert!(ran.numbers("server_ns")[0] > 0, "no server was on");
    let waited_ns = ran.json("after")["linux_wait_ns_max"].as_u64().unwrap();
    assert!(waited_ns >= 1_000_000_000, "RT0 left it time: {waited_ns}");
}

/// Before 7.0 nothing serves tasks of a BPF scheduler there: artis ends it, and says why.
pub static ENDS: Script = Script {
    name: "starved::a_kernel_without_servers_gets_its_own_scheduler_back",
    rt: false,
    counts: &[],
    text: r#"start --rt 1
        begin_loops
        off() { [ "$(cat /sys/kernel/sched_ext/state)" = disabled ]; }
        until_ok off
        end_loops
        wait $artis && die 'artis sched run ended with 0'
        cat /tmp/run.err
        expect 3 artis sched status >/dev/null"#,
};

fn a_kernel_without_servers_gets_its_own_scheduler_back(kernel: &str) {
    let ran = super::sched::counted(kernel).ran(kernel, &ENDS);
    let said = &ran.stdout;
    assert!(said.contains("kept NRT CPU 0 from all others"), "{said}");
    assert!(said.contains("no deadline server"), "{said}");
}

/// Before 7.0 nobody serves a task bound to an RT CPU while RT0 takes all of it.
pub static STILL_WAITS: Script = Script {
    name: "starved::who_still_waits_counts",
    rt: false,
    counts: &[],
    text: r#"start --rt 1
        taskset 2 chrt -f 50 sh -c 'while :; do :; done' & rt0=$!
        sleep 0.5
        taskset 2 sh -c true & bound=$!
        sleep 3
        status waits
        kill -9 $rt0
        wait $rt0 2>/dev/null
        wait $bound
        stop"#,
};

fn who_still_waits_counts(kernel: &str) {
    let status: Value = super::sched::counted(kernel)
        .ran(kernel, &STILL_WAITS)
        .json("waits");
    let waited_ns = status["linux_wait_ns_max"].as_u64().unwrap();
    assert!(waited_ns > 2_000_000_000, "{status:#}");
}

/// Those of stress-ng that set real-time policies, on every CPU: they end by a signal that a normal
/// task has to see.
pub static STRESSORS: Script = Script {
    name: "starved::real_time_stressors_end",
    rt: false,
    counts: &[("ROUNDS", 1, 10), ("SECONDS", 3, 10), ("SOAK", 0, 1)],
    text: r#"for rt in 1,3 1; do
            [ $SOAK$rt != 01 ] || break
            start --rt $rt
            for round in $(seq $ROUNDS); do
                for stressor in '--mutex 4' '--schedpolicy 4' '--cpu 4 --sched fifo --sched-prio 99' \
                    '--cyclic 4' '--cpu 8 --sched rr --sched-prio 10' '--sem 4 --sched fifo --sched-prio 20'
                do
                    timeout -s KILL 120 stress-ng $stressor --timeout $SECONDS >/tmp/stress.out 2>&1 ||
                        die "RT CPUs $rt, $stressor ended with $?: $(cat /tmp/stress.out)"
                    read -r state </sys/kernel/sched_ext/state
                    [ "$state" = enabled ] || die "$state behind $stressor: $(cat /tmp/run.err)"
                    echo "ended 1"
                done
            done
            stop
        done"#,
};

fn real_time_stressors_end(kernel: &str) {
    let ran = super::partition::FOUR_CPUS.ran(kernel, &STRESSORS);
    let sides = 1 + STRESSORS.count("SOAK");
    let wanted = 6 * sides * STRESSORS.count("ROUNDS");
    assert_eq!(ran.numbers("ended").len() as u64, wanted);
}
