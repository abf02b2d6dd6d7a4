// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy/room.h`: who makes room, and which CPU is woken.

use super::*;

#[test]
fn only_linux_tasks_make_room() {
    for class in CLASSES {
        for running in [Class::Linux, Class::Rt1, Class::Kthread, Class::None] {
            let expected = class != Class::Linux && running == Class::Linux;
            assert_eq!(displaces(class, running), expected, "{class:?} {running:?}");
        }
    }
    assert!(seeks_room(Class::Rt1));
    assert!(!seeks_room(Class::Linux) && !seeks_room(Class::Kthread));
    let nrt = |already, running| makes_room(false, false, already, Class::Rt1, running);
    assert!(nrt(false, Class::Linux) && !nrt(true, Class::Linux) && !nrt(false, Class::Rt1));
    assert!(!makes_room(true, false, false, Class::Rt1, Class::Linux));
    assert!(!makes_room(false, true, false, Class::Rt1, Class::Linux));
}

#[test]
fn who_takes_over_the_cpu_where_it_wakes_up() {
    let wakes = |class, affinity| TaskView {
        wakes: true,
        affinity,
        ..task_in(class, State::Nrt)
    };
    let linux = wakes(Class::Linux, Affinity::Any);
    let (next, never) = (TakeOver::Next, TakeOver::Never);
    // For one that does not come next, for one that does, and if the other will not soon be done.
    let answers = [
        (Class::Linux, TakeOver::ByDeadline, next, next),
        (Class::Kthread, never, next, never),
        (Class::Rt1, never, next, never),
        // RT0 or nobody.
        (Class::None, never, next, never),
    ];
    for (running, waits, comes_next, later) in answers {
        let answer = |next, soon| take_over(&linux, running, false, true, next, soon);
        assert_eq!(answer(false, true), waits, "{running:?}");
        assert_eq!(answer(true, true), comes_next, "{running:?}");
        assert_eq!(answer(true, false), later, "{running:?}");
    }
    for running in [Class::Kthread, Class::Rt1, Class::None] {
        let answer = take_over(&linux, running, true, true, true, true);
        assert_eq!(answer, never, "RT1+ comes first");
    }
    let rt1 = wakes(Class::Rt1, Affinity::Any);
    let on = |running, task, rt1_waits, in_front| {
        take_over(task, running, rt1_waits, in_front, false, true)
    };
    assert_eq!(on(Class::Linux, &rt1, false, true), TakeOver::AtOnce);
    assert_eq!(on(Class::Linux, &rt1, true, true), never);
    for running in [Class::Rt1, Class::Kthread, Class::None] {
        assert_eq!(on(running, &rt1, false, true), TakeOver::First);
        assert_eq!(on(running, &rt1, false, false), never);
        assert_eq!(on(running, &rt1, true, true), never, "by level");
    }
    let own = wakes(Class::Kthread, Affinity::One);
    assert_eq!(on(Class::Linux, &own, true, false), TakeOver::AtOnce);
    assert_eq!(on(Class::Kthread, &own, false, true), never);
}

#[test]
fn who_has_run_for_a_short_time_keeps_its_turn() {
    let linux = task_in(Class::Linux, State::Nrt);
    let short = PROTECT_NS - 1;
    assert!(keeps_turn(&linux, true, true, short));
    assert!(!keeps_turn(&linux, true, true, PROTECT_NS));
    // Nobody took over: who displaced it is in a queue, and would wait behind it.
    assert!(!keeps_turn(&linux, true, false, short));
    assert!(!keeps_turn(&linux, false, true, short));
    let wakes = TaskView {
        wakes: true,
        ..linux
    };
    assert!(!keeps_turn(&wakes, true, true, short));
}

#[test]
fn who_may_wait_in_front() {
    for class in CLASSES {
        let goes_on = task_in(class, State::Nrt);
        let wakes = TaskView {
            wakes: true,
            ..goes_on
        };
        assert!(may_take_over(&wakes) && !may_take_over(&goes_on));
        assert!(may_wait_here(&wakes, false), "{class:?}");
        assert_eq!(may_wait_here(&goes_on, false), class == Class::Linux);
        for task in [&goes_on, &wakes] {
            assert!(!may_wait_here(task, true), "{class:?}");
        }
        let handed_back = TaskView {
            handed_back: true,
            ..goes_on
        };
        assert!(!may_wait_here(&handed_back, false), "{class:?}");
    }
}

#[test]
fn a_linux_task_that_no_other_cpu_takes_follows_in_front() {
    for class in CLASSES {
        let may = class == Class::Linux;
        let one = task_in(class, State::Nrt);
        for in_front in 0..IN_FRONT_ALONE_MAX as u32 {
            assert_eq!(may_follow(&one, true, in_front), may, "{class:?}");
            assert!(!may_follow(&one, false, in_front), "{class:?}");
        }
        assert!(!may_follow(&one, true, IN_FRONT_ALONE_MAX as u32));
    }
}

#[test]
fn an_rt1_task_that_computes_is_not_soon_done() {
    let ran = |burst_ns| Running {
        deadline: 0,
        vtime: 0,
        since_ns: 5 * MS,
        burst_ns,
        weight: 0,
    };
    let (short, long) = (ran(0), ran(PROTECT_NS - MS / 2));
    assert!(is_soon_done(Class::Rt1, &short, 5 * MS + PROTECT_NS / 2));
    assert!(!is_soon_done(Class::Rt1, &short, 5 * MS + PROTECT_NS));
    assert!(!is_soon_done(Class::Rt1, &long, 5 * MS + PROTECT_NS / 2));
    assert!(is_soon_done(Class::Rt1, &short, 4 * MS), "clocks differ");
    for class in [Class::Kthread, Class::None] {
        assert!(is_soon_done(class, &long, 50 * MS));
    }
}

#[test]
fn who_begins_unasked_makes_room_for_an_rt1_task() {
    assert!(makes_room_late(Class::Linux, false));
    assert!(!makes_room_late(Class::Rt1, false) && !makes_room_late(Class::Kthread, false));
    // It was chosen, so that is the turn of others.
    assert!(!makes_room_late(Class::Linux, true));
}

#[test]
fn more_may_wait_in_front_that_interrupts_woke_up() {
    for (next, most) in [(false, IN_FRONT_MAX), (true, IN_FRONT_NEXT_MAX)] {
        assert!(may_wait_in_front(Class::Linux, next, most as u32 - 1));
        assert!(!may_wait_in_front(Class::Linux, next, most as u32));
        assert!(may_wait_in_front(Class::Rt1, next, most as u32));
    }
}

#[test]
fn who_comes_next_follows_one_that_has_just_begun_and_a_kernel_thread() {
    let ran = |burst_ns| Running {
        deadline: 0,
        vtime: 0,
        since_ns: 5 * MS,
        burst_ns,
        weight: WEIGHT_NICE_0 as u32,
    };
    let begun = ran(0);
    assert!(!next_displaces(Class::Linux, &begun, 5 * MS));
    assert!(next_displaces(Class::Linux, &begun, 6 * MS));
    assert!(next_displaces(Class::Linux, &ran(MS), 5 * MS));
    assert!(!next_displaces(Class::Kthread, &ran(MS), 6 * MS));
}

#[test]
fn a_kernel_thread_of_one_cpu_displaces_unless_rt0_is_due() {
    let (first, later) = (Order::Arrival, Order::Vtime);
    let kthread = Class::Kthread;
    assert_eq!(
        kick_pinned(kthread, first, false, Class::Linux),
        Kick::Preempt
    );
    assert_eq!(
        kick_pinned(kthread, first, true, Class::Linux),
        Kick::PreemptUnlessDue
    );
    assert_eq!(kick_pinned(kthread, first, true, Class::Rt1), Kick::Idle);
    assert_eq!(kick_pinned(kthread, later, true, Class::Linux), Kick::Idle);
    assert_eq!(
        kick_pinned(Class::Rt1, Order::Level, true, Class::Linux),
        Kick::PreemptUnlessDue
    );
    assert_eq!(
        kick_pinned(Class::Linux, later, false, Class::Linux),
        Kick::Idle
    );
}

#[test]
fn rt0_is_never_disturbed_by_a_kick() {
    assert!(may_kick(false) && !may_kick(true));
    assert!(may_tell(false) && !may_tell(true));
    assert!(may_wake_rt(false, false));
    assert!(!may_wake_rt(true, false), "offline");
    assert!(!may_wake_rt(false, true), "RT0 is there");
}

#[test]
fn an_rt_cpu_without_a_task_is_woken_and_one_in_a_switch_looks_again() {
    let none = Offer::None;
    assert_eq!(wake_rt(false, Offer::Free, true), Wake::UnlessDue as u32);
    assert_eq!(wake_rt(true, none, true), Wake::Kick as u32);
    assert_eq!(wake_rt(true, none, false), Wake::None as u32);
    let both = Wake::Kick as u32 | Wake::Displace as u32;
    assert_eq!(wake_rt(true, Offer::Behind, true), both);
    assert!(may_be_left(Affinity::Any) && !may_be_left(Affinity::Rt));
    assert_eq!(idle_switch_ns(100), 200);
}
