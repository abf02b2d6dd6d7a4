// SPDX-License-Identifier: GPL-2.0-only
//! Who gets how much CPU time, and who waits for how long.

use super::*;

/// How long a task may be without progress here. The emulator may keep a virtual CPU waiting for a
/// second when the host is busy, so this only finds a task that is forgotten; [`NICE`] has the
/// bound that is wanted, on an engine where time stands still with the guest.
pub(super) const GAP_MS_MAX: u64 = 10_000;

pub(super) static HOG: Script = Script {
    name: "sched::nobody_is_stranded_behind_a_hog",
    rt: true,
    counts: &[("SECONDS", 10, 300)],
    text: r"start --rt 1
        probe hog $SECONDS
        status after
        stop",
};

pub(super) fn nobody_is_stranded_behind_a_hog(kernel: &str) {
    assert_none_is_stranded(kernel, two_cpus(kernel).ran(kernel, &HOG));
}

/// Real-time tasks may run on NRT CPUs, too. Who waits behind them there goes to another CPU. The
/// RT CPU has no real-time task here, so no hand-back is from there.
pub static HOG_ON_NRT: Script = Script {
    name: "sched::nobody_is_stranded_behind_a_hog_on_an_nrt_cpu",
    rt: false,
    counts: &[("SECONDS", 6, 60)],
    text: r"start --rt 3
        probe hog $SECONDS
        status after
        stop",
};

pub(super) fn nobody_is_stranded_behind_a_hog_on_an_nrt_cpu(kernel: &str) {
    let ran = super::super::partition::FOUR_CPUS.ran(kernel, &HOG_ON_NRT);
    let status = ran.json("after");
    assert_eq!(status["rt_cpus"], "3");
    assert_eq!(counter(&status, "displacements"), 0, "{status:#}");
    assert_none_is_stranded(kernel, ran);
}

/// The hog of 90 % displaces tasks for long, and none of the eight is forgotten.
pub(super) fn assert_none_is_stranded(kernel: &str, ran: Ran) {
    let gaps = ran.numbers("gap_ms");
    assert_eq!(gaps.len(), 8);
    let stalled_ms = ran.numbers("stalled_ms")[0];
    println!(
        "{kernel}: longest time without progress of each task: {gaps:?} ms; \
         the emulator stood still for {stalled_ms} ms"
    );
    let status = ran.json("after");
    let worst = gaps.iter().max().unwrap();
    assert!(*worst <= GAP_MS_MAX, "{gaps:?}\n{status:#}");
    assert!(
        counter(&status, "hand_backs") > 0,
        "no burst was long: {status:#}"
    );
    assert!(
        counter(&status, "promotions") > 0,
        "the RT CPU was not used: {status:#}"
    );
}

pub(super) static RT1: Script = Script {
    name: "sched::rt1_tasks_come_before_linux_tasks",
    rt: false,
    counts: &[("SECONDS", 5, 60)],
    text: r#"start --rt 1
        for task in 1 2 3 4; do while :; do :; done & linux="${linux:-} $!"; done
        artis run rt1 --level 5 -- sh -c 'while :; do :; done' & rt1=$!
        at_work() { [ "$(cat /proc/$rt1/comm)" = sh ] && [ $(ticks $rt1) -gt 50 ]; }
        until_ok at_work
        status before
        r0=$(ticks $rt1) l0=$(ticks ${linux##* })
        sleep $SECONDS
        echo "rt1 $(($(ticks $rt1) - r0))"
        echo "linux $(($(ticks ${linux##* }) - l0))"
        status after
        kill $rt1 $linux
        stop"#,
};

pub(super) fn rt1_tasks_come_before_linux_tasks(kernel: &str) {
    let ran = TWO_CPUS.ran(kernel, &RT1);
    let [before, after] = ["before", "after"].map(|name| ran.json(name));
    assert_eq!(after["rt_cpu_times"].as_array().unwrap().len(), 1);
    let [rt1_ns, linux_ns] = ["rt1_ns", "linux_ns"].map(|name| {
        let ns = |status: &Value| status["rt_cpu_times"][0][name].as_u64().unwrap();
        ns(&after) - ns(&before)
    });
    assert!(
        rt1_ns > 2 * linux_ns,
        "RT1+ wants the RT CPU, and had {rt1_ns} ns of it, Linux tasks {linux_ns} ns"
    );
    let [rt1, one_linux] = ["rt1", "linux"].map(|word| ran.numbers(word)[0]);
    assert!(
        rt1 > 2 * one_linux,
        "RT1+ {rt1} ticks, a Linux task {one_linux}"
    );
    assert!(one_linux > 0, "Linux tasks starve");
}

/// Many tasks of one CPU take turns, without artis and with it. Beside a hog nobody waits for long,
/// by the guest's own clock; and tasks of nice 0 and 10, whose weights are 100 and 11: on one
/// CPU, and two of each on an RT CPU and another one.
pub(super) static NICE: Script = Script {
    name: "sched::ordinary_tasks_have_their_shares",
    rt: false,
    counts: &[
        ("SECONDS", 2, 60),
        ("MS", 4000, 40_000),
        ("TASKS", 40, 40),
        ("ROUNDS", 5, 5),
    ],
    text: concat!(
        include_str!("../../guest/shares.sh"),
        r#"
        turns() {
            for _ in $(seq $ROUNDS); do probe turns $TASKS $SECONDS | sed "s/^/$1_/"; done
        }
        turns without
        start --rt 1
        turns with
        probe hog $SECONDS
        shares_by_nice bound 0 $MS 0 10
        shares_by_nice free 0,1 $((MS * 3)) 0 0 10 10
        stop"#
    ),
};

pub(super) fn ordinary_tasks_have_their_shares(kernel: &str) {
    let ran = COUNTED.ran(kernel, &NICE);
    common::assert_nobody_was_stranded(&ran.stdout);
    common::assert_nice_values_counted(&ran.stdout);
}

/// By the median of a few rounds: in each some task may wait for two turns of all others, without
/// artis, too, and no round says how often.
pub(super) fn many_tasks_wait_no_longer_than_twice_as_long_as_without_it(kernel: &str) {
    let ran = COUNTED.ran(kernel, &NICE);
    let median = |name: &str| {
        let mut rounds = ran.numbers(name);
        println!("{name}: {rounds:?}");
        rounds.sort_unstable();
        rounds[rounds.len() / 2]
    };
    let [without, with] = ["without_usually_us", "with_usually_us"].map(median);
    // Without artis it is printed only: by the round it is one turn of all others, or two.
    let [_, longest] = ["without_longest_us", "with_longest_us"].map(median);
    // Each of them had a turn, or it says nothing.
    assert!(without > NICE.count("TASKS") * 500, "{without} us");
    assert!(with <= 2 * without, "{with} us, {without} without artis");
    // The first wait of a task is one turn of all others and a half.
    assert!(
        longest <= 4 * without,
        "longest {longest} us, {without} without artis"
    );
}

/// Rounds of cgroups that compute, of weights 100, 300 and 600 in all; then three to which nobody
/// gave a weight, with one task, two and three. What they used is in thousandths of what all used,
/// so a slow machine changes nothing. And commands of the root beside a crowd that is in a cgroup,
/// without artis and with it.
pub(super) static CGROUPS: Script = Script {
    name: "sched::cgroups_share_by_weight",
    rt: false,
    counts: &[("SECONDS", 3, 300)],
    text: concat!(
        include_str!("../../guest/shares.sh"),
        r#"
        ms=$((SECONDS * 1000))
        echo +cpu >$groups/cgroup.subtree_control
        commands() {
            read_uptime_ms
            begin=$uptime_ms
            for command in 1 2 3 4 5 6 7 8; do busybox true; done
            read_uptime_ms
            echo "$1 $((uptime_ms - begin))"
        }
        group crowd 100 12
        commands commands_without
        start --rt 1
        commands commands_with
        ungroup crowd
        group a 100 2; group b 300 2; group c 600 2
        shares_of_groups same $ms a b c
        group a 100 4; group b 300 3; group c 600 2
        shares_of_groups uneven $ms a b c
        mkdir $groups/d
        echo 400 >$groups/d/cpu.weight
        echo +cpu >$groups/d/cgroup.subtree_control
        group d/a 10 2; group d/b 30 3; group c 600 4
        shares_of_groups nested $ms d/a d/b c
        rmdir $groups/d
        group a 100 1; group b 100 2; group c 100 3
        shares_of_groups plain $ms a b c
        group a 50 2; group b 30 1
        probe entries 5
        probe hog $SECONDS
        ungroup a b
        status after
        # with the last cgroup it is off, and who waited in its queue is served
        group a 100 3; group b 200 3; group c 300 3
        sleep 1
        echo -cpu >$groups/cgroup.subtree_control
        for one in a b c; do
            for task in $(cat $groups/$one/cgroup.procs); do
                had=$(ticks $task)
                served() { [ $(ticks $task) -gt $((had + 5)) ]; }
                until_ok served
            done
        done
        ungroup a b c
        stop"#
    ),
};

/// The same as [`GAP_MS_MAX`] where a busy host takes nothing from the guest. It is 120 to 170 ms:
/// eight tasks share what a hog of 90 % and two cgroups of half their weight leave.
pub(super) const COUNTED_GAP_MS_MAX: u64 = 500;

pub(super) fn cgroups_share_by_weight(kernel: &str) {
    let ran = counted(kernel).ran(kernel, &CGROUPS);
    for (round, weights) in [
        ("same", [100, 300, 600]),
        ("uneven", [100, 300, 600]),
        ("nested", [100, 300, 600]),
        ("plain", [333, 333, 333]),
    ] {
        let shares = ran.numbers(round);
        println!("{kernel}: {round}: {shares:?} of 1000");
        common::assert_shares(&shares, weights, &ran.stdout);
    }
    let [without, with] = ["commands_without", "commands_with"].map(|name| ran.numbers(name)[0]);
    println!("{kernel}: commands beside a crowd in a cgroup: {with} ms, {without} without artis");
    // It is 0.5 to 1.7 times; by nice values, one task of many, it would be several times.
    assert!(with <= 3 * without, "{with} ms, {without} without artis");
    let gaps = ran.numbers("gap_ms");
    println!("{kernel}: longest time without progress of each task beside them: {gaps:?} ms");
    assert_eq!(gaps.len(), 8);
    let status = ran.json("after");
    assert!(
        gaps.iter().all(|gap| *gap <= COUNTED_GAP_MS_MAX),
        "{gaps:?}\n{status:#}"
    );
    assert!(
        counter(&status, "hand_backs") > 0,
        "no burst was long: {status:#}"
    );
    assert_no_leaks(&status, 30);
}

/// One cgroup with a limit from before, and two below it that get one while their tasks run. Then a
/// hundredth of a CPU for a crowd, of which nobody may wait for so long that the kernel's watchdog
/// ends the scheduler, also while artis itself is stopped; and who is stopped when it ends goes on.
pub(super) static LIMITS: Script = Script {
    name: "sched::limits_of_cgroups_hold",
    rt: false,
    counts: &[
        ("SECONDS", 2, 30),
        ("CROWD", 5, 10),
        ("TURNS", 1, 5),
        ("STOPPED", 5, 40),
    ],
    text: concat!(
        include_str!("../../guest/shares.sh"),
        r#"
        echo +cpu >$groups/cgroup.subtree_control
        mkdir $groups/limited
        echo 30000 100000 >$groups/limited/cpu.max
        start --rt 1
        echo +cpu >$groups/limited/cgroup.subtree_control
        group limited/a 100 2; group limited/b 100 2
        of_a_cpu outer $SECONDS limited/a limited/b
        for one in a b; do echo 10000 50000 >$groups/limited/$one/cpu.max; done
        of_a_cpu outer $SECONDS limited/a limited/b
        echo max >$groups/limited/cpu.max
        of_a_cpu inner $SECONDS limited/a limited/b
        echo max >$groups/limited/a/cpu.max
        of_a_cpu free $SECONDS limited/a
        ungroup limited/a limited/b

        crowd_goes_on() {
            used_by_tasks $crowd >/tmp/had
            until_ok crowd_went_on
        }
        crowd_went_on() {
            used_by_tasks $crowd | paste - /tmp/had | awk '$1 <= $2 { late = 1 } END { exit late }'
        }
        has_left() { [ "$(wc -l <$groups/limited/a/cgroup.procs)" -eq 4 ]; }
        echo 1000 100000 >$groups/limited/cpu.max
        group limited/a 100 40
        crowd=$(cat $groups/limited/a/cgroup.procs)
        for turn in $(seq $TURNS); do crowd_goes_on; done
        of_a_cpu crowd $CROWD limited/a
        status crowd
        kill -STOP $artis
        sleep $STOPPED
        crowd_goes_on
        kill -CONT $artis
        crowd_goes_on
        # Four are left: on 6.18 artis, the process, ends when each of them has had several turns.
        kill $(echo "$crowd" | tail -n +5)
        crowd=$(echo "$crowd" | head -n 4)
        until_ok has_left
        stop
        crowd_goes_on
        # or the last of them would take as long to die, by the kernel's own limit
        echo max >$groups/limited/cpu.max
        ungroup limited/a limited
        echo -cpu >$groups/cgroup.subtree_control"#
    ),
};

pub(super) fn limits_of_cgroups_hold(kernel: &str) {
    let ran = counted(kernel).ran(kernel, &LIMITS);
    // Of a CPU, by clocks that both are the guest's.
    let [outer, inner, free, crowd] =
        ["outer", "inner", "free", "crowd"].map(|name| ran.numbers(name));
    println!(
        "{kernel}: of a CPU with limits of 300, twice 200, none: {outer:?}, {inner:?}, {free:?}; \
         a crowd with 10: {crowd:?}"
    );
    assert!(
        outer.len() == 2 && outer.iter().all(|share| (270..=330).contains(share)),
        "{outer:?}"
    );
    assert!(
        matches!(inner[..], [share] if (360..=440).contains(&share)),
        "{inner:?}"
    );
    assert!(matches!(free[..], [share] if share > 600), "{free:?}");
    // 16 is what the longest stop gives it; without a limit it has both CPUs
    assert!(matches!(crowd[..], [share] if share < 50), "{crowd:?}");
    assert!(counter(&ran.json("crowd"), "limit_stops") > 0);
}
