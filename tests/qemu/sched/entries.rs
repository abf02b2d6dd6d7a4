// SPDX-License-Identifier: GPL-2.0-only
//! Entries into the kernel: whoever makes one leaves the RT CPU, and nothing leaks.

use super::*;

/// Rounds of load, until each kind of entry has come. It is asked between them: asking is slow
/// beside so much load.
pub(super) static LEAKS: Script = Script {
    name: "sched::no_kernel_work_leaks_to_the_rt_cpu",
    rt: true,
    counts: &[("SECONDS", 8, 120)],
    text: r"start --rt 1
        round() {
            cyclictest -q -p 99 -i 2000 -a 1 -t 1 -D $SECONDS >/dev/null 2>&1 &
            probe traced $SECONDS >/dev/null &
            stress-ng -q --cpu 3 --cpu-method int64 --fork 1 --mmap 1 --mmap-bytes 4m --kill 1 \
                --sigsegv 1 --sigfd 1 --fault 1 -t $SECONDS >/dev/null 2>&1 & load=$!
            for i in 1 2 3; do hackbench -g 1 -l 40 >/dev/null; sleep 1; done
            wait $load
            status after
            for kind in syscall fault signal tracer; do
                grep -q ' .entries_'$kind'.: [1-9]' $ARTIS_OUTPUT/after.json || return 1
            done
            grep -q ' .entries_syscall.: [1-9][0-9][0-9]' $ARTIS_OUTPUT/after.json
        }
        until_ok round
        stop",
};

pub(super) fn no_kernel_work_leaks_to_the_rt_cpu(kernel: &str) {
    let status = TWO_CPUS.ran(kernel, &LEAKS).json("after");
    assert_no_leaks(&status, 100);
    let detector = if kernel.ends_with("-rt") {
        "syscall"
    } else {
        "breakpoint"
    };
    assert_eq!(status["detector"], detector);
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

/// Threads that enter the kernel on the RT CPU as often as artis lets them, a quarter of their
/// entries of each kind: the counts that the word "never" stands on. Not tried with PREEMPT_RT yet.
pub(super) static ENTRIES: Script = Script {
    name: "sched::entries_of_each_kind_leak_nothing",
    rt: false,
    counts: &[("WANTED", 100, 100_000)],
    text: r"start --rt 1
        enough() {
            probe entries 5
            for kind in syscall fault signal; do
                [ $(counter entries_$kind) -ge $WANTED ] || return 1
            done
        }
        until_ok enough
        status after
        stop",
};

pub(super) fn entries_of_each_kind_leak_nothing(kernel: &str) {
    let ran = two_cpus(kernel).ran(kernel, &ENTRIES);
    let status = ran.json("after");
    let wanted = ENTRIES.count("WANTED");
    let done_there: u64 = ran.numbers("done_there").iter().sum();
    assert_eq!(done_there, 0, "system calls that ran there, as they say");
    assert_no_leaks(&status, 3 * wanted);
    assert_eq!(status["detector"], "breakpoint");
    let compat: u64 = ran.numbers("begun_compat").iter().sum();
    assert!(compat > 0, "no system call of a 32-bit program");
    for kind in ["syscall", "fault", "signal"] {
        let entries = counter(&status, &format!("entries_{kind}"));
        assert!(entries >= wanted, "{kind}: {entries}");
        println!("{kernel}: {entries} entries by {kind}, no leak");
    }
}

pub(super) static BOUND: Script = Script {
    name: "sched::bound_tasks_are_served_and_set_free",
    rt: false,
    counts: &[("TURNS", 10, 200)],
    text: r"start --rt 1
        stress-ng -q --cpu 4 >/dev/null 2>&1 & load=$!
        taskset 2 sh -c 'while :; do read x </proc/self/stat; done' & bound=$!
        taskset 1 sh -c 'while :; do :; done' & nrt=$!
        served() { [ $(ticks $bound) -gt 10 ] && [ $(ticks $nrt) -gt 10 ]; }
        until_ok served
        entered() { [ $(counter entries_bound) -gt 100 ]; }
        until_ok entered
        status bound
        for i in $(seq $TURNS); do taskset -p 3 $bound >/dev/null; sleep 0.2; taskset -p 2 $bound >/dev/null; sleep 0.2; done
        taskset -p 3 $bound >/dev/null
        sleep 2
        status free
        kill $bound $nrt $load
        stop",
};

pub(super) fn bound_tasks_are_served_and_set_free(kernel: &str) {
    let ran = TWO_CPUS.ran(kernel, &BOUND);
    let bound = ran.json("bound");
    assert!(counter(&bound, "entries_bound") > 100, "{bound:#}");
    // What a task does on the CPU it is bound to is no leak; what it does once free would be.
    assert_no_leaks(&ran.json("free"), 1);
}

pub(super) static ENTRY_DETECTOR: Script = Script {
    name: "sched::the_entry_detector_leaks_nothing_either",
    rt: false,
    counts: &[("SECONDS", 5, 120)],
    text: r"start --rt 1 --detector entry
        stress-ng -q --fork 1 --mmap 1 --mmap-bytes 4m >/dev/null 2>&1 &
        probe calls $SECONDS
        probe calls $((SECONDS + 120)) &
        entered() { [ $(counter entries_syscall) -gt 100 ]; }
        until_ok entered
        status after
        stop",
};

/// What suits a machine whose breakpoint registers cannot be used.
pub(super) static TRACEPOINT_DETECTOR: Script = Script {
    name: "sched::the_tracepoint_detector_leaks_nothing_either",
    rt: true,
    counts: &[("WANTED", 30, 1000)],
    text: r"start --rt 1 --detector syscall
        enough() {
            probe entries 3
            [ $(counter entries_syscall) -ge $WANTED ]
        }
        until_ok enough
        status after
        stop",
};

pub(super) fn the_tracepoint_detector_leaks_nothing_either(kernel: &str) {
    let ran = TWO_CPUS.ran(kernel, &TRACEPOINT_DETECTOR);
    let status = ran.json("after");
    assert_eq!(status["detector"], "syscall");
    assert_eq!(ran.numbers("done_there").iter().sum::<u64>(), 0);
    assert_no_leaks(&status, TRACEPOINT_DETECTOR.count("WANTED"));
}

pub(super) static NO_ENTRY_DETECTOR: Script = Script {
    name: "sched::the_entry_detector_leaks_nothing_either.without",
    rt: false,
    counts: &[],
    text: "expect 1 artis sched run --rt 1 --detector entry\ngrep -q nohz_full=1 /tmp/expect.err",
};

pub(super) fn the_entry_detector_leaks_nothing_either(kernel: &str) {
    let status = NOHZ_FULL.ran(kernel, &ENTRY_DETECTOR).json("after");
    assert_eq!(status["detector"], "entry");
    assert_no_leaks(&status, 100);
    assert!(counter(&status, "entries_syscall") > 0, "{status:#}");
    TWO_CPUS.ran(kernel, &NO_ENTRY_DETECTOR);
}

/// The kernel stops a task for it and has it run again, on the CPU that asks for the change.
pub(super) static CHANGES: Script = Script {
    name: "sched::what_another_cpu_changes_of_a_task_is_no_reason_to_leave",
    rt: false,
    counts: &[("CHANGES", 20, 300)],
    text: r#"start --rt 1
        for i in 1 2 3; do while :; do :; done & loops="${loops:-} $!"; done
        sleep 1
        status before
        for i in $(seq $CHANGES); do
            for pid in $loops; do renice -n $((i % 2)) -p $pid >/dev/null || die renice; done
            usleep 100000
        done
        status after
        kill $loops
        stop"#,
};

pub(super) fn what_another_cpu_changes_of_a_task_is_no_reason_to_leave(kernel: &str) {
    let ran = TWO_CPUS.ran(kernel, &CHANGES);
    let [before, after] = ["before", "after"].map(|name| ran.json(name));
    assert_eq!(counter(&after, "evictions_unknown"), 0, "{after:#}");
    // They were on the RT CPU meanwhile, or there was nothing to leave.
    let ran_ns = |status: &Value| status["rt_cpu_times"][0]["linux_ns"].as_u64().unwrap();
    let ran_ns = ran_ns(&after) - ran_ns(&before);
    let least_ns = CHANGES.count("CHANGES") * 10_000_000;
    assert!(ran_ns > least_ns, "{ran_ns} ns: {after:#}");
}

/// Programs that end begin grace periods, and a hog on each CPU has it tick. The thread of RCU is
/// held if it goes off its CPU runnable, where it would go to sleep.
pub(super) static GRACE_PERIODS: Script = Script {
    name: "sched::rcus_thread_is_held_while_cpus_report",
    rt: false,
    counts: &[("SECONDS", 2, 20)],
    text: r#"tracing=/sys/kernel/tracing
        mount -t tracefs tracefs $tracing 2>/dev/null
        echo 'p:begun rcu_gp_fqs_loop' >$tracing/kprobe_events || die 'no kprobe'
        echo "prev_comm==$(cat "$(rcu_thread)/comm")" >$tracing/events/sched/sched_switch/filter
        start --rt 1
        for i in 1 2 3; do while :; do :; done & loops="${loops:-} $!"; done
        while :; do /bin/true; done &
        loops="$loops $!"
        sleep 1
        echo 1 >$tracing/events/kprobes/begun/enable
        echo 1 >$tracing/events/sched/sched_switch/enable
        echo 1 >$tracing/tracing_on
        sleep $SECONDS
        echo 0 >$tracing/tracing_on
        kill $loops
        echo begun $(grep -c ' begun: ' $tracing/trace)
        echo held $(grep -c 'prev_state=R' $tracing/trace)
        echo 0 >$tracing/events/enable
        echo >$tracing/kprobe_events
        echo 0 >$tracing/events/sched/sched_switch/filter
        echo 1 >$tracing/tracing_on
        stop"#,
};

pub(super) fn rcus_thread_is_held_while_cpus_report(kernel: &str) {
    let ran = counted(kernel).ran(kernel, &GRACE_PERIODS);
    let [begun, held] = ["begun", "held"].map(|name| ran.numbers(name)[0]);
    assert!(begun >= 10 * GRACE_PERIODS.count("SECONDS"), "{begun}");
    // It is not where the emulator has an RT CPU miss two ticks.
    assert!(held * 2 >= begun, "{held} of {begun}");
}
