// SPDX-License-Identifier: GPL-2.0-only
//! Each class by itself: shares, priorities, deadlines.

use super::*;

fn named<'a>(outcome: &'a Outcome, name: &str) -> &'a crate::result::TaskOutcome {
    outcome.tasks.iter().find(|task| task.name == name).unwrap()
}

#[test]
fn tasks_share_a_cpu_by_their_weights() {
    let light = with(hog("light"), Policy::Other { nice: 5 }, "");
    let set = scenario(vec![hog("one"), hog("two"), light]);
    for scheduler in [Scheduler::Stock, Scheduler::Artis] {
        let setup = Setup {
            end_ns: 10 * SECOND,
            ..setup(scheduler, 1, "")
        };
        let outcome = run(&set, setup);
        // nice 0 weighs 1024, nice 5 335
        let part = |weight: f64| weight / (2.0 * 1024.0 + 335.0);
        assert!(
            near(share(&outcome, "one"), part(1024.0), 0.02),
            "{outcome:?}"
        );
        assert!(
            near(share(&outcome, "two"), part(1024.0), 0.02),
            "{outcome:?}"
        );
        assert!(
            near(share(&outcome, "light"), part(335.0), 0.05),
            "{outcome:?}"
        );
    }
}

#[test]
fn stock_spreads_tasks_over_cpus() {
    let set = scenario((0..8).map(|nth| hog(&format!("{nth}"))).collect());
    let outcome = run(&set, setup(Scheduler::Stock, 4, ""));
    let total: f64 = (0..8).map(|nth| share(&outcome, &nth.to_string())).sum();
    assert!(near(total, 4.0, 0.001), "{outcome:?}");
    for nth in 0..8 {
        assert!(
            near(share(&outcome, &nth.to_string()), 0.5, 0.1),
            "{outcome:?}"
        );
    }
}

#[test]
fn who_wakes_up_waits_for_no_tick() {
    // It asks for less than the one that computes, and has a CPU for itself only with others idle.
    let set = scenario(vec![hog("hog"), periodic("short", 1, 10 * MS, MS / 10)]);
    let outcome = run(&set, setup(Scheduler::Stock, 2, ""));
    assert_eq!(named(&outcome, "short").wakeup_latency_ns_max, 0);
    assert_eq!(named(&outcome, "short").deadlines_met, 100);
}

#[test]
fn fifo_runs_before_all_others_and_has_its_deadlines() {
    let rt = with(
        periodic("rt", 1, 2 * MS, MS),
        Policy::Fifo { priority: 50 },
        "0",
    );
    let low = with(
        periodic("low", 2, 10 * MS, 4 * MS),
        Policy::Fifo { priority: 10 },
        "0",
    );
    let set = scenario(vec![hog("hog"), rt, low]);
    let outcome = run(&set, setup(Scheduler::Stock, 1, ""));
    assert!(near(share(&outcome, "rt"), 0.5, 0.01));
    assert!(near(share(&outcome, "low"), 0.4, 0.01));
    assert!(near(share(&outcome, "hog"), 0.1, 0.02));
    assert_eq!(named(&outcome, "rt").response_ns_max, MS);
    // 4 ms of its own and as much of the other: eight in all, its last piece ends at 8 ms
    assert_eq!(named(&outcome, "low").response_ns_max, 8 * MS);
}

#[test]
fn round_robin_shares_and_fifo_does_not() {
    let of = |policy| {
        let set = scenario(vec![
            with(hog("a"), policy, "0"),
            with(hog("b"), policy, "0"),
        ]);
        let outcome = run(&set, setup(Scheduler::Stock, 1, ""));
        (share(&outcome, "a"), share(&outcome, "b"))
    };
    assert_eq!(of(Policy::Fifo { priority: 5 }), (1.0, 0.0));
    let (a, b) = of(Policy::RoundRobin { priority: 5 });
    assert!(near(a, 0.5, 0.05) && near(b, 0.5, 0.05), "{a} {b}");
}

#[test]
fn a_holder_inherits_the_priority_of_who_waits() {
    use artis_scenario::model::{Mutex, Protocol};
    let of = |protocol| {
        let critical = |before, inside| {
            let ops = [
                Op::Sleep { ns: before },
                Op::Lock(0),
                compute(inside),
                Op::Unlock(0),
            ];
            Program::new(ops.into_iter().map(Step::Do).collect())
        };
        let fifo = |priority| Policy::Fifo { priority };
        let low = with(Task::new("low", critical(1, 10 * MS)), fifo(10), "0");
        let middle = Program::new(vec![
            Step::Do(Op::Sleep { ns: 3 * MS }),
            Step::Do(compute(200 * MS)),
        ]);
        let middle = with(Task::new("middle", middle), fifo(20), "0");
        let high = with(Task::new("high", critical(2 * MS, MS)), fifo(30), "0");
        let mut set = scenario(vec![low, middle, high]);
        let name = "m".to_owned();
        set.objects.mutexes = vec![Mutex { name, protocol }];
        let outcome = run(&set, setup(Scheduler::Stock, 1, ""));
        named(&outcome, "high").wall_ns
    };
    assert_eq!(of(Protocol::None), 211 * MS + 1);
    assert_eq!(of(Protocol::Inheritance), 11 * MS + 1);
    assert_eq!(of(Protocol::Ceiling(30)), 11 * MS + 1);
}

#[test]
fn a_limit_holds_with_both_schedulers() {
    use artis_scenario::model::{Group, Quota};
    for scheduler in [Scheduler::Stock, Scheduler::Artis] {
        let mut limited = hog("limited");
        limited.group = Some(0);
        let mut set = scenario(vec![limited, hog("free")]);
        set.objects.groups = vec![Group {
            name: "g".to_owned(),
            weight: None,
            quota: Some(Quota {
                quota_ns: 20 * MS,
                period_ns: 100 * MS,
            }),
            cpus: None,
        }];
        let setup = Setup {
            end_ns: 10 * SECOND,
            ..setup(scheduler, 2, "")
        };
        let outcome = run(&set, setup);
        assert!(near(share(&outcome, "limited"), 0.2, 0.05), "{outcome:?}");
        assert!(near(share(&outcome, "free"), 1.0, 0.01), "{outcome:?}");
    }
}
