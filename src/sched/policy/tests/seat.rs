// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy/seat.h`: where a task waits that is on an NRT CPU.

use super::*;

fn wakes(class: Class, affinity: Affinity) -> TaskView {
    TaskView {
        wakes: true,
        affinity,
        ..task_in(class, State::Nrt)
    }
}

/// A Linux task runs, nobody waits.
const QUIET: Found = Found {
    running: Class::Linux,
    displaces: false,
    soon_done: false,
    rt1_waits: false,
    alone: true,
    in_front: 0,
};

#[test]
fn ranks() {
    let linux = wakes(Class::Linux, Affinity::Any);
    for (interrupt, owed) in [(false, false), (false, true), (true, false)] {
        assert_eq!(rank(&linux, interrupt, owed), Rank::Shares);
    }
    assert_eq!(rank(&linux, true, true), Rank::Next);
    for (interrupt, owed) in [(false, false), (true, true)] {
        let rt1 = wakes(Class::Rt1, Affinity::One);
        assert_eq!(rank(&rt1, interrupt, owed), Rank::Rt1);
        let own = wakes(Class::Kthread, Affinity::One);
        assert_eq!(rank(&own, interrupt, owed), Rank::Kthread);
    }
    let shared = wakes(Class::Kthread, Affinity::Any);
    assert_eq!(rank(&shared, false, true), Rank::Shares);
}

#[test]
fn only_linux_tasks_are_displaced_and_not_at_once() {
    let running = Running {
        deadline: 100 * MS,
        vtime: 50 * MS,
        since_ns: 10 * MS,
        burst_ns: 0,
        weight: WEIGHT_NICE_0 as u32,
    };
    let early = 10 * MS + PROTECT_INTERRUPT_NS - 1;
    let later = 10 * MS + PROTECT_NS - 1;
    let on = |rank, deadline, interrupt, class, now| {
        displaces_running(rank, deadline, interrupt, class, &running, now)
    };
    for rank in [Rank::Kthread, Rank::Rt1, Rank::Next, Rank::Shares] {
        for class in [Class::Rt1, Class::Kthread, Class::None] {
            assert!(!on(rank, 0, true, class, 50 * MS), "{rank:?} {class:?}");
        }
        let any_time = matches!(rank, Rank::Kthread | Rank::Rt1);
        assert_eq!(on(rank, MS, true, Class::Linux, early), any_time);
        // An interrupt waits for less.
        assert!(on(rank, MS, true, Class::Linux, later), "{rank:?}");
        let by_deadline = rank == Rank::Shares;
        assert_eq!(on(rank, MS, false, Class::Linux, later), !by_deadline);
        let late = on(rank, 101 * MS, true, Class::Linux, later);
        assert_eq!(late, !by_deadline, "{rank:?}: the other one is first");
    }
}

#[test]
fn who_displaces_goes_in_front() {
    let linux = wakes(Class::Linux, Affinity::Any);
    let rt1 = wakes(Class::Rt1, Affinity::Any);
    let own = wakes(Class::Kthread, Affinity::One);
    for (task, rank, most) in [
        (&linux, Rank::Shares, Some(IN_FRONT_MAX)),
        (&linux, Rank::Next, Some(IN_FRONT_NEXT_MAX)),
        (&rt1, Rank::Rt1, None),
        (&own, Rank::Kthread, None),
    ] {
        for in_front in 0..10 {
            let found = Found {
                displaces: true,
                in_front,
                ..QUIET
            };
            let few = most.is_none_or(|most| u64::from(in_front) < most);
            let expected = [Seat::Queue, Seat::FrontPreempt][usize::from(few)];
            assert_eq!(seat(task, rank, &found), expected, "{rank:?} {in_front}");
        }
    }
    let found = Found {
        displaces: true,
        rt1_waits: true,
        ..QUIET
    };
    assert_eq!(seat(&rt1, Rank::Rt1, &found), Seat::Queue, "by level");
    assert_eq!(seat(&own, Rank::Kthread, &found), Seat::FrontPreempt);
    assert!(asks_first(Rank::Shares, Seat::FrontPreempt) && asks_first(Rank::Shares, Seat::Front));
    assert!(!asks_first(Rank::Shares, Seat::Queue) && !asks_first(Rank::Next, Seat::FrontPreempt));
    assert_eq!(seat_behind(Seat::FrontPreempt), Seat::QueueRoom);
    assert_eq!(seat_behind(Seat::Front), Seat::Queue);
}

#[test]
fn who_does_not_displace_follows_or_waits() {
    let linux = wakes(Class::Linux, Affinity::Any);
    for running in [Class::Linux, Class::Rt1, Class::Kthread, Class::None] {
        let here = Found { running, ..QUIET };
        let soon = Found {
            soon_done: true,
            ..here
        };
        let rt1 = Found {
            rt1_waits: true,
            ..soon
        };
        let is_linux = running == Class::Linux;
        let next = |found| seat(&linux, Rank::Next, found);
        let waits = [Seat::Queue, Seat::FrontNext][usize::from(is_linux)];
        assert_eq!(next(&here), waits, "{running:?}");
        assert_eq!(next(&soon), Seat::FrontNext, "{running:?}");
        assert_eq!(next(&rt1), waits, "{running:?}: RT1+ comes first");
        let follows = [Seat::Queue, Seat::Front][usize::from(is_linux)];
        assert_eq!(seat(&linux, Rank::Shares, &soon), follows, "{running:?}");
        let rt1_task = wakes(Class::Rt1, Affinity::Any);
        assert_eq!(seat(&rt1_task, Rank::Rt1, &soon), Seat::Queue);
    }
    let shared = wakes(Class::Kthread, Affinity::Any);
    assert_eq!(seat(&shared, Rank::Shares, &QUIET), Seat::Queue);
}

#[test]
fn a_task_that_no_other_cpu_takes_follows_in_front() {
    let linux = wakes(Class::Linux, Affinity::Any);
    for in_front in 0..IN_FRONT_ALONE_MAX as u32 + 1 {
        let here = Found { in_front, ..QUIET };
        let others = Found {
            alone: false,
            ..here
        };
        let few = in_front < IN_FRONT_ALONE_MAX as u32;
        let follows = [Seat::Queue, Seat::Front][usize::from(few)];
        assert_eq!(seat(&linux, Rank::Shares, &here), follows);
        assert_eq!(seat(&linux, Rank::Shares, &others), Seat::Queue);
    }
}

#[test]
fn who_has_run_for_a_short_time_keeps_its_turn() {
    let short = PROTECT_NS - 1;
    assert_eq!(seat_again(Rank::Next, 1, short), Seat::Front);
    assert_eq!(seat_again(Rank::Next, 1, PROTECT_NS), Seat::Queue);
    // Nobody took over: who displaced it is in a queue, and would wait behind it.
    assert_eq!(seat_again(Rank::Next, 0, short), Seat::Queue);
    for rank in [Rank::Shares, Rank::Rt1, Rank::Kthread] {
        assert_eq!(seat_again(rank, 1, short), Seat::Queue);
    }
}

#[test]
fn who_may_wait_in_front() {
    for class in CLASSES {
        let goes_on = task_in(class, State::Nrt);
        let wakes = wakes(class, Affinity::Any);
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
