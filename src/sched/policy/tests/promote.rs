// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy/promote.h`: who goes to an RT CPU.

use super::*;

/// The verdict on a task that was never sent to an RT CPU in vain.
fn verdict(class: Class, calls: &Calls, at: &Surroundings) -> Verdict {
    promote(&task(class), calls, &Trial::default(), MS, at)
}

/// Others wait, and an RT CPU is free.
const WANTED: Surroundings = Surroundings {
    makes_way: false,
    others: true,
    alike: true,
    idle: false,
    offer: Offer::Free,
};

/// A task that has computed for a second and never called the kernel.
const COMPUTES: Calls = Calls {
    interval_ns: 0,
    since_ns: 1000 * MS,
};

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
    assert!(!pays_to_move(&calls));
}

#[test]
fn a_stay_that_did_not_pay_is_not_tried_again_at_once() {
    let mut trial = Trial::default();
    let mut now_ns = 1000 * MS;
    let mut pauses = Vec::new();
    for _ in 0..12 {
        assert!(may_try(&trial, now_ns));
        trial_ended(&mut trial, Class::Linux, now_ns, 10_000);
        let before = trial.until_ns - 1;
        let verdict = promote(&task(Class::Linux), &COMPUTES, &trial, before, &WANTED);
        assert_eq!(verdict, Verdict::RefuseEstimate);
        pauses.push(trial.until_ns - now_ns);
        now_ns = trial.until_ns;
    }
    assert!(pauses.windows(2).all(|two| two[0] <= two[1]));
    assert_eq!(pauses.last(), Some(&PAUSE_NS_MAX));
    // moves in vain stay cheap, and a change of habit is noticed within half a second or so
    const { assert!(STAY_PAYS_NS * 50 < PAUSE_NS_MAX) };
    const { assert!(PAUSE_NS_MAX <= 1000 * MS) };
    trial_ended(&mut trial, Class::Linux, now_ns, STAY_PAYS_NS);
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
    for class in [Class::Linux, Class::Rt1] {
        assert_eq!(verdict(class, &calling, &WANTED), Verdict::RefuseEstimate);
        assert_eq!(verdict(class, &COMPUTES, &WANTED), Verdict::Promote);
    }
    assert_eq!(
        verdict(Class::Kthread, &COMPUTES, &WANTED),
        Verdict::Stay,
        "never considered"
    );
}

#[test]
fn who_goes_to_where_rt_cpus_take_it() {
    let [linux, rt1] = [Class::Linux, Class::Rt1];
    let alone = Surroundings {
        others: false,
        alike: false,
        ..WANTED
    };
    let goes = |class, at: Surroundings| verdict(class, &COMPUTES, &at) == Verdict::Promote;
    assert!(!goes(linux, alone), "nobody waits");
    assert!(goes(rt1, alone), "whoever waits");
    assert!(
        !goes(
            rt1,
            Surroundings {
                idle: true,
                ..alone
            }
        ),
        "it is alone here"
    );
    for class in [linux, rt1] {
        let busy = Surroundings {
            offer: Offer::None,
            ..WANTED
        };
        assert!(!goes(class, busy));
        assert!(goes(class, Surroundings { idle: true, ..busy }));
        assert!(goes(
            class,
            Surroundings {
                makes_way: true,
                ..busy
            }
        ));
        let behind = Surroundings {
            offer: Offer::Behind,
            ..WANTED
        };
        assert!(goes(class, behind));
        assert!(!goes(
            class,
            Surroundings {
                alike: false,
                ..behind
            }
        ));
    }
}

#[test]
fn what_an_rt_cpu_offers() {
    assert!(pays_to_move(&COMPUTES) && !pays_to_move(&after_calls(&[MS; 20])));
    let [linux, rt1, none] = [Class::Linux, Class::Rt1, Class::None];
    for class in [linux, rt1] {
        assert_eq!(offer(class, false, none, false), Offer::Free);
        assert_eq!(offer(class, true, class, false), Offer::None);
        assert_eq!(offer(class, true, class, true), Offer::Behind);
    }
    assert_eq!(offer(rt1, true, linux, false), Offer::Free);
    assert_eq!(offer(linux, true, rt1, true), Offer::None);
    let behind = |level, had, theirs, had_more| rt1_is_behind(level, had, theirs, had_more);
    assert!(behind(1, 1000 * MS, 2, 0), "a lower level");
    assert!(!behind(2, 0, 1, 1000 * MS));
    assert!(behind(1, 0, 1, SLICE_RT_NS + 1) && !behind(1, 0, 1, SLICE_RT_NS));
    assert_eq!(owed_much(linux, NICE_0 / 2), 2 * FAR_NS);
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
