// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy/promote.h`: who goes to an RT CPU.

use super::*;

/// The verdict on a task that was never sent to an RT CPU in vain.
fn verdict(class: Class, calls: &Calls, rt: &Side, nrt: &Side) -> Verdict {
    promote(
        &task(class),
        calls,
        &Trial::default(),
        MS,
        1000 * MS,
        rt,
        nrt,
    )
}

/// A task that has computed for a second and never called the kernel.
const COMPUTES: Calls = Calls {
    interval_ns: 0,
    since_ns: 1000 * MS,
};

/// A side with so many tasks of nice 0.
fn side(cpus: u32, tasks: u32) -> Side {
    Side {
        cpus,
        tasks,
        weight: u64::from(tasks * NICE_0),
        ..Side::default()
    }
}

/// What a task's record is after calls at these distances, in ns.
fn after_calls(intervals: &[u64]) -> Calls {
    let mut calls = Calls::default();
    for &interval in intervals {
        calls_note(&mut calls, interval, 1);
    }
    calls
}

#[test]
fn the_estimate_is_what_is_left_of_the_mean_interval() {
    let mut calls = after_calls(&[4 * MS; 20]);
    assert_eq!(next_entry_ns(&calls), 4 * MS);
    calls_note(&mut calls, MS, 0);
    assert_eq!(next_entry_ns(&calls), 3 * MS);
}

#[test]
fn who_is_past_the_mean_is_expected_to_go_on_as_long() {
    let mut calls = after_calls(&[MS; 20]);
    calls_note(&mut calls, 50 * MS, 0);
    assert_eq!(next_entry_ns(&calls), 50 * MS);
}

#[test]
fn many_calls_in_one_slice_count_as_many() {
    let mut calls = after_calls(&[10 * MS; 20]);
    calls_note(&mut calls, 4 * MS, 400);
    assert_eq!(next_entry_ns(&calls), 10_000);
}

#[test]
fn a_few_calls_are_enough_to_notice_a_change() {
    let mut calls = after_calls(&[10 * MS; 20]);
    for _ in 0..20 {
        calls_note(&mut calls, 10_000, 1);
    }
    assert!(next_entry_ns(&calls) < 2 * MIGRATION_NS);
}

#[test]
fn a_stay_that_did_not_pay_is_not_tried_again_at_once() {
    let (rt, nrt) = (side(1, 0), side(1, 5));
    let mut trial = Trial::default();
    let mut now_ns = 1000 * MS;
    let mut pauses = Vec::new();
    for _ in 0..12 {
        assert!(may_try(&trial, now_ns));
        trial_ended(&mut trial, Class::Linux, now_ns, 10_000);
        let before = trial.until_ns - 1;
        let verdict = promote(
            &task(Class::Linux),
            &COMPUTES,
            &trial,
            before,
            1000 * MS,
            &rt,
            &nrt,
        );
        assert_eq!(verdict, Verdict::RefuseEstimate);
        pauses.push(trial.until_ns - now_ns);
        now_ns = trial.until_ns;
    }
    assert!(pauses.windows(2).all(|two| two[0] <= two[1]));
    assert_eq!(pauses.last(), Some(&PAUSE_NS_MAX));
    // moves in vain stay cheap, and a change of habit is noticed within half a second or so
    const { assert!(2 * MIGRATION_NS * 1000 < PAUSE_NS_MAX) };
    const { assert!(PAUSE_NS_MAX <= 1000 * MS) };
    trial_ended(&mut trial, Class::Linux, now_ns, 2 * MIGRATION_NS);
    assert!(may_try(&trial, now_ns), "one stay that paid clears it");
    assert_eq!(trial.pause_ns, 0);
}

#[test]
fn rt1_is_tried_again_sooner() {
    let mut trial = Trial::default();
    for _ in 0..12 {
        trial_ended(&mut trial, Class::Rt1, 0, 0);
    }
    assert_eq!(trial.until_ns, PAUSE_RT1_NS_MAX);
    const { assert!(PAUSE_RT1_NS_MAX < PAUSE_NS_MAX) };
}

#[test]
fn a_task_that_is_about_to_call_is_not_moved() {
    let calling = after_calls(&[10_000; 20]);
    let (rt, nrt) = (side(1, 0), side(1, 5));
    assert_eq!(
        verdict(Class::Linux, &calling, &rt, &nrt),
        Verdict::RefuseEstimate
    );
    assert_eq!(
        verdict(Class::Rt1, &calling, &rt, &nrt),
        Verdict::RefuseEstimate
    );
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &rt, &nrt),
        Verdict::Promote
    );
}

#[test]
fn an_rt_cpu_without_a_task_gets_one_even_if_rt0_leaves_little() {
    let rt = Side {
        rt_util: CAPACITY as u32 * 9 / 10,
        ..side(1, 0)
    };
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &rt, &side(1, 3)),
        Verdict::Promote
    );
}

#[test]
fn nobody_moves_when_nobody_waits() {
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &side(1, 0), &side(2, 2)),
        Verdict::Stay
    );
}

#[test]
fn the_share_of_rt0_weighs_the_run_queue() {
    let free = side(1, 1);
    let half_taken = Side {
        rt_util: CAPACITY as u32 / 2,
        ..free
    };
    // two tasks on the RT CPU against three: fair when it is free, not when half is taken
    let nrt = side(1, 3);
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &free, &nrt),
        Verdict::Promote
    );
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &half_taken, &nrt),
        Verdict::Stay
    );
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &half_taken, &side(1, 4)),
        Verdict::Promote
    );
}

#[test]
fn the_rt_queue_does_not_grow_without_bound() {
    let full = side(1, 1 + RT_QUEUE_MAX as u32);
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &full, &side(1, 1000)),
        Verdict::Stay
    );
}

#[test]
fn rt1_moves_whatever_the_balance_until_each_rt_cpu_has_one() {
    let (busy, idle_nrt) = (side(1, 5), side(1, 1));
    assert_eq!(
        verdict(Class::Rt1, &COMPUTES, &busy, &idle_nrt),
        Verdict::Promote
    );
    let taken = Side {
        rt1_tasks: 1,
        ..busy
    };
    assert_eq!(
        verdict(Class::Rt1, &COMPUTES, &taken, &idle_nrt),
        Verdict::Stay
    );
}

#[test]
fn rt_to_nrt_moves_linux_tasks_first() {
    let (crowded, empty) = (side(1, 4), side(1, 1));
    assert!(!stays_rt(&task(Class::Linux), &crowded, &empty));
    assert!(stays_rt(&task(Class::Rt1), &crowded, &empty));
    let alone = side(1, 1);
    assert!(stays_rt(&task(Class::Linux), &alone, &empty), "alone there");
}

#[test]
fn behind_a_long_burst_a_task_waits_only_where_it_waits_less() {
    let behind = TaskView {
        handed_back: true,
        ..task(Class::Linux)
    };
    // RT0 has nine tenths of an RT CPU; a tenth is worth as much as one of ten turns of an NRT CPU.
    let busy = |cpus, tasks| Side {
        rt_util: (CAPACITY * 9 / 10) as u32,
        ..side(cpus, tasks)
    };
    for (rt, nrt, stays) in [
        (busy(1, 1), side(1, 0), false),
        (busy(1, 1), side(1, 1), false),
        (busy(1, 1), side(1, 8), false),
        (busy(1, 1), side(1, 10), true),
        (busy(1, 2), side(1, 10), false),
        (busy(3, 3), side(1, 10), true),
        (side(1, 1), side(1, 1), false),
        (side(1, 1), side(1, 2), true),
        (side(1, 1), side(2, 2), false),
    ] {
        assert_eq!(stays_rt(&behind, &rt, &nrt), stays, "{rt:?} {nrt:?}");
    }
}

#[test]
fn light_tasks_weigh_less_in_the_balance() {
    let of = |tasks, weight: u32| Side {
        weight: weight.into(),
        ..side(1, tasks)
    };
    let light = TaskView {
        weight: NICE_0 / 10,
        ..task(Class::Linux)
    };
    // Two of nice 0 on the NRT CPU, two of a tenth on the RT CPU: one goes there, one comes back.
    let (heavy_nrt, light_rt) = (of(2, 2 * NICE_0), of(2, NICE_0 / 5));
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &light_rt, &heavy_nrt),
        Verdict::Promote
    );
    let (rt, nrt) = (of(3, NICE_0 + NICE_0 / 5), of(1, NICE_0));
    assert!(!stays_rt(&light, &rt, &nrt));
    let (rt, nrt) = (of(2, NICE_0 + NICE_0 / 10), of(2, NICE_0 + NICE_0 / 10));
    assert!(stays_rt(&light, &rt, &nrt) && stays_rt(&task(Class::Linux), &rt, &nrt));
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &rt, &nrt),
        Verdict::Stay,
        "it is balanced"
    );
}

#[test]
fn kernel_threads_and_offline_rt_cpus_are_never_considered() {
    assert_eq!(
        verdict(Class::Kthread, &COMPUTES, &side(1, 0), &side(1, 9)),
        Verdict::Stay
    );
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &side(0, 0), &side(1, 9)),
        Verdict::Stay
    );
}

#[test]
fn who_answers_somebody_is_not_sent_to_wait() {
    let nrt = side(1, 8);
    let verdict = |class, burst, rt: &Side| {
        let trial = Trial::default();
        promote(&task(class), &COMPUTES, &trial, MS, burst, rt, &nrt)
    };
    let (idle, busy) = (side(1, 0), side(1, 1));
    assert_eq!(verdict(Class::Linux, 1, &idle), Verdict::Promote);
    assert_eq!(verdict(Class::Linux, 1, &busy), Verdict::Stay);
    let slice = slice_ns(false);
    assert_eq!(verdict(Class::Linux, slice - 1, &busy), Verdict::Stay);
    assert_eq!(verdict(Class::Linux, slice, &busy), Verdict::Promote);
    // an RT1+ task takes the CPU from the Linux task there
    assert_eq!(verdict(Class::Rt1, 1, &busy), Verdict::Promote);
}

#[test]
fn rt1_is_looked_at_more_often_than_linux() {
    let stocked = side(1, 2);
    assert!(look(Class::Rt1, SLICE_NRT_NS, &stocked));
    assert!(!look(Class::Linux, SLICE_NRT_NS / 2, &stocked));
    assert!(look(Class::Linux, SLICE_NRT_NS / 2 - 1, &stocked));
    assert!(
        look(Class::Linux, SLICE_NRT_NS, &side(1, 1)),
        "nothing in reserve"
    );
}

proptest! {
    /// The estimate stays within what was seen, and is never 0 for a task that was never caught.
    #[test]
    fn the_mean_stays_within_what_was_seen(intervals in proptest::collection::vec(1u64..1_000_000_000, 1..50)) {
        let calls = after_calls(&intervals);
        let (least, most) = (intervals.iter().min().unwrap(), intervals.iter().max().unwrap());
        prop_assert!(calls.interval_ns >= least.saturating_sub(1) && calls.interval_ns <= *most, "{calls:?}");
    }

    /// No promotion makes the RT side, weighted, busier than the NRT side is.
    #[test]
    fn a_promotion_never_unbalances(rt_tasks in 1u32..10, nrt_tasks in 1u32..50, util in 0u32..=1024) {
        let rt = Side { rt_util: util, ..side(1, rt_tasks) };
        if verdict(Class::Linux, &COMPUTES, &rt, &side(1, nrt_tasks)) == Verdict::Promote {
            prop_assert!(rt_tasks < nrt_tasks, "{rt_tasks} {nrt_tasks}");
        }
    }

    /// Kernel threads and tasks that may not use RT CPUs are never promoted.
    #[test]
    fn who_is_considered_may_go_there(task in any_task()) {
        if may_be_promoted(&task) {
            prop_assert!(task.class != Class::Kthread && !task.fixed);
            prop_assert!(task.affinity == Affinity::Any || task.affinity == Affinity::Rt);
        }
    }
}
