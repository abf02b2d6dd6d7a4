// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy/next.h`: who is next on a CPU.

use super::*;

#[test]
fn others_get_their_turn_between_rt1_phases() {
    let mut turn = Turn::default();
    let start = 1000 * MS;
    turn_reset(&mut turn, start);
    let mut others_ns = 0;
    let step = MS / 2;
    for tick in 0..2000 {
        if others_turn(&mut turn, start + tick * step) {
            others_ns += step;
        }
    }
    let share = others_ns as f64 / (2000 * step) as f64;
    let wanted = OTHERS_PHASE_NS as f64 / (OTHERS_PHASE_NS + RT1_PHASE_NS) as f64;
    assert!((share - wanted).abs() < 0.01, "{share}, not {wanted}");
}

#[test]
fn a_turn_that_nobody_could_take_in_time_is_not_lost() {
    let mut turn = Turn::default();
    turn_reset(&mut turn, 0);
    assert!(others_turn(&mut turn, 3 * RT1_PHASE_NS));
}

#[test]
fn who_switches_often_looks_at_other_caches_once_a_millisecond() {
    let mut looked_ns = 0;
    let looks = (0..1000u64)
        .filter(|turn| looks_far(&mut looked_ns, MS / 2 + turn * 30_000))
        .count();
    assert_eq!(looks, 30, "1000 switches in 30 ms, from the first one on");
}

#[test]
fn nobody_is_passed_over_for_long() {
    assert!(may_pass_over(51 * MS - 1, 50 * MS));
    assert!(!may_pass_over(51 * MS, 50 * MS));
    assert!(!may_pass_over(51 * MS, 0), "since when is not known");
}

#[test]
fn who_is_before_those_that_wait_goes_on() {
    assert!(stays_first(false, 5, 6) && !stays_first(false, 6, 6));
    assert!(!stays_first(true, 5, 6), "it yields");
}

/// Real-time tasks on an NRT CPU; on an RT CPU they are RT0, and nobody is in their way.
#[test]
fn who_is_kept_from_a_cpu_is_looked_after_behind_a_quarter_of_a_second() {
    assert!(is_beset(false, true));
    assert!(!is_beset(true, true) && !is_beset(false, false));
    let tick = 4 * MS;
    let ticks = (BESET_NS / tick) as u32;
    assert!(!is_beset_long(beset_ns(ticks - 1, tick)));
    assert!(is_beset_long(beset_ns(ticks + 1, tick)));
    assert_eq!(beset_ns(ticks, 0), 0, "ticks are not known");
    let since = 7 * MS;
    assert!(!is_stranded(since + BESET_NS - 1, since));
    assert!(is_stranded(since + BESET_NS, since));
    assert!(!is_stranded(since + BESET_NS, 0), "it does not wait");
    assert!(is_overdue(since + OVERDUE_NS, since) && !is_overdue(since + OVERDUE_NS - 1, since));
    assert!(!is_overdue(since + OVERDUE_NS, 0));
    assert!(
        2 * (OVERDUE_NS + overdue_look_ns()) < 30_000 * MS,
        "the watchdog"
    );
    // A server's period is a second: twice that, and it does not serve.
    assert!(!is_unserved(1_000 * MS) && is_unserved(2_000 * MS));
}

#[test]
fn only_user_mode_may_go_on_on_an_rt_cpu() {
    for state in states() {
        for class in CLASSES {
            let task = task_in(class, state);
            assert_eq!(must_leave(&task), state != State::Rt, "{state:?}");
            assert_eq!(may_go_on(&task, true, 1), state == State::Rt, "{state:?}");
            for affinity in [Affinity::One, Affinity::Rt] {
                assert!(!must_leave(&TaskView { affinity, ..task }), "bound");
            }
            assert!(
                !must_leave(&TaskView {
                    fixed: true,
                    ..task
                }),
                "cannot move"
            );
        }
    }
}

#[test]
fn with_no_nrt_cpu_left_an_rt_cpu_lets_everybody_go_on() {
    for state in [State::Nrt, State::Rt] {
        assert!(may_go_on(&task_in(Class::Linux, state), true, 0));
    }
    assert!(
        !may_go_on(&task_in(Class::Linux, State::Promoted), false, 1),
        "it is to be queued"
    );
    assert!(!may_go_on(
        &task_in(Class::Linux, State::LeavesFault),
        false,
        1
    ));
}

/// The steps of a service, up to its end.
fn steps(service: Service) -> Vec<Step> {
    let steps: Vec<Step> = (0..STEPS_MAX as u32)
        .map(|nth| step(service, nth))
        .take_while(|step| *step != Step::End)
        .collect();
    assert!(
        steps.len() < STEPS_MAX as usize,
        "the end is among the steps"
    );
    steps
}

#[test]
fn the_order_of_service() {
    use Step::*;
    assert_eq!(
        steps(Service::Rt),
        [KthreadHere, Rt1, Fair, Rt1Left, GoOn, Far]
    );
    assert_eq!(steps(Service::RtOffline), [KthreadHere, Pinned]);
    let nrt = [
        KthreadHere,
        KthreadShared,
        Rt1,
        Fair,
        Rt1Left,
        GoOn,
        Far,
        Stopped,
    ];
    assert_eq!(steps(Service::Nrt), nrt);
}

#[test]
fn a_cpu_serves_its_side() {
    assert_eq!(service(true, false, 1), Service::Rt);
    assert_eq!(service(true, true, 1), Service::RtOffline);
    assert_eq!(service(false, false, 1), Service::Nrt);
    assert_eq!(service(true, false, 0), Service::Nrt, "every CPU is needed");
    assert!(must_end(0) && !must_end(1));
}

#[test]
fn rt1_comes_before_others_but_for_their_turn() {
    let mut turn = Turn::default();
    let now = 1000 * MS;
    let mut at = |rt1, others, now| {
        let answer = rt1_turn(&mut turn, rt1, others, now);
        (answer, turn.rt1_since_ns)
    };
    assert_eq!(at(false, true, now), (Rt1Turn::TurnNoRt1, now));
    let later = now + RT1_PHASE_NS;
    assert_eq!(at(true, true, now).0, Rt1Turn::TurnRt1);
    assert_eq!(at(true, false, later).0, Rt1Turn::TurnRt1, "alone");
    assert_eq!(at(true, true, later).0, Rt1Turn::TurnOthers);
}

proptest! {
    /// A task is either fit to stay on its RT CPU or asked to leave, never neither. (One that its
    /// cgroup stops is queued apart, wherever it may run.)
    #[test]
    fn a_task_goes_on_or_leaves(task in any_task()) {
        if !task.fixed && !is_leaving(task.state) && task.state != State::Stopped {
            prop_assert_eq!(may_go_on(&task, true, 1), !must_leave(&task), "{:?}", task);
        }
    }
}
