// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy/promote.h`: who goes to an RT CPU.

use super::*;

/// The verdict on a task that was never sent to an RT CPU in vain.
fn verdict(class: Class, calls: &Calls, rt: &Side, nrt: &Side) -> Verdict {
    let trial = Trial::default();
    promote(&task(class), calls, &trial, MS, false, rt, nrt)
}

/// A task that has computed for a second and never called the kernel.
const COMPUTES: Calls = Calls {
    interval_ns: 0,
    since_ns: 1000 * MS,
};

fn side(cpus: u32, tasks: u32) -> Side {
    Side {
        cpus,
        tasks,
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
            false,
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
fn nobody_moves_when_nobody_waits() {
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &side(1, 0), &side(2, 2)),
        Verdict::Stay
    );
}

#[test]
fn rt1_moves_whoever_waits_until_each_rt_cpu_has_one() {
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
fn who_makes_way_in_user_mode_waits_for_all_cpus() {
    let ask = |calls, makes_way, rt: &Side, nrt: &Side| {
        let trial = Trial::default();
        promote(&task(Class::Linux), calls, &trial, MS, makes_way, rt, nrt)
    };
    let often = after_calls(&[10_000; 20]);
    let (busy, idle, waiting) = (side(1, 9), side(1, 0), side(1, 2));
    assert_eq!(ask(&COMPUTES, true, &busy, &waiting), Verdict::Promote);
    assert_eq!(ask(&COMPUTES, false, &busy, &waiting), Verdict::Stay);
    assert_eq!(ask(&COMPUTES, false, &idle, &waiting), Verdict::Promote);
    assert_eq!(ask(&COMPUTES, false, &idle, &side(1, 1)), Verdict::Stay);
    assert_eq!(ask(&COMPUTES, true, &side(0, 0), &waiting), Verdict::Stay);
    assert_eq!(ask(&often, true, &busy, &waiting), Verdict::RefuseEstimate);
}

proptest! {
    /// The estimate stays within what was seen, and is never 0 for a task that was never caught.
    #[test]
    fn the_mean_stays_within_what_was_seen(intervals in proptest::collection::vec(1u64..1_000_000_000, 1..50)) {
        let calls = after_calls(&intervals);
        let (least, most) = (intervals.iter().min().unwrap(), intervals.iter().max().unwrap());
        prop_assert!(calls.interval_ns >= least.saturating_sub(1) && calls.interval_ns <= *most, "{calls:?}");
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
