// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy.h`: states, places, who makes room, the order of service, leaving.

use super::policy::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

const CLASSES: [Class; 3] = [Class::Linux, Class::Rt1, Class::Kthread];
const AFFINITIES: [Affinity; 4] = [Affinity::Any, Affinity::One, Affinity::Rt, Affinity::Nrt];
const LEAVING: [State; 6] = [
    State::LeavesSyscall,
    State::LeavesFault,
    State::LeavesSignal,
    State::LeavesTracer,
    State::LeavesAffinity,
    State::LeavesUnknown,
];

fn states() -> impl Iterator<Item = State> {
    [State::Nrt, State::Promoted, State::Stopped, State::Rt]
        .into_iter()
        .chain(LEAVING)
}

/// A task that may run everywhere.
fn task(class: Class, state: State) -> TaskView {
    TaskView {
        class,
        affinity: Affinity::Any,
        state,
        fixed: false,
        wakes: false,
        handed_back: false,
        immed: false,
        weight: WEIGHT_NICE_0 as u32,
    }
}

/// Every task there can be.
fn any_task() -> impl Strategy<Value = TaskView> {
    let states: Vec<State> = states().collect();
    (
        prop::sample::select(CLASSES.to_vec()),
        prop::sample::select(AFFINITIES.to_vec()),
        prop::sample::select(states),
        any::<[bool; 4]>(),
    )
        .prop_map(
            |(class, affinity, state, [fixed, wakes, handed_back, immed])| TaskView {
                class,
                affinity,
                state,
                fixed,
                wakes,
                handed_back,
                immed,
                weight: WEIGHT_NICE_0 as u32,
            },
        )
}

#[test]
fn the_classes_above_are_rt0_and_exempt() {
    let above = [1, 2, 6];
    for policy in 0..8 {
        assert_eq!(is_rt0(policy), above.contains(&policy), "{policy}");
        assert_eq!(
            is_exempt(policy, false),
            above.contains(&policy),
            "{policy}"
        );
        assert!(is_exempt(policy, true), "a kernel thread, {policy}");
    }
    assert!(!is_ours(Class::None) && CLASSES.iter().all(|class| is_ours(*class)));
}

#[test]
fn affinity_is_what_the_allowed_cpus_leave() {
    for (cpus, nrt, rt, expected) in [
        (4, true, true, Affinity::Any),
        (2, true, false, Affinity::Nrt),
        (2, false, true, Affinity::Rt),
        (1, true, false, Affinity::One),
        (1, false, true, Affinity::One),
    ] {
        assert_eq!(
            super::policy::affinity(cpus, nrt, rt),
            expected,
            "{cpus} {nrt} {rt}"
        );
    }
}

#[test]
fn only_user_mode_may_go_on_on_an_rt_cpu() {
    for state in states() {
        for class in CLASSES {
            let task = task(class, state);
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
        assert!(may_go_on(&task(Class::Linux, state), true, 0));
    }
    assert!(
        !may_go_on(&task(Class::Linux, State::Promoted), false, 1),
        "it is to be queued"
    );
    assert!(!may_go_on(
        &task(Class::Linux, State::LeavesFault),
        false,
        1
    ));
}

#[test]
fn states_end_where_the_table_says() {
    for state in states() {
        assert_eq!(state_running(state, false), State::Nrt, "on an NRT CPU");
        let kept = match state {
            State::Promoted | State::Stopped => State::Nrt,
            other => other,
        };
        assert_eq!(state_running(state, true), kept, "on an RT CPU");
        let ticked = match state {
            State::Nrt | State::Promoted | State::Stopped => State::LeavesUnknown,
            other => other,
        };
        assert_eq!(state_tick_rt(&task(Class::Linux, state)), ticked);
        let returned = if state == State::LeavesSyscall {
            State::Rt
        } else {
            state
        };
        assert_eq!(state_returned(state), returned);
        assert_eq!(is_leaving(state), LEAVING.contains(&state));
        assert_eq!(is_entry(state), LEAVING[..4].contains(&state));
        assert_eq!(tick_ends_slice(state, false), LEAVING.contains(&state));
        assert!(tick_ends_slice(state, true), "a kernel thread waits");
    }
    let fixed = TaskView {
        fixed: true,
        ..task(Class::Linux, State::Nrt)
    };
    assert_eq!(state_tick_rt(&fixed), State::Nrt, "it cannot leave");
}

#[test]
fn who_is_set_free_on_an_rt_cpu_leaves_and_leaks_nothing() {
    for state in states() {
        for before in [Affinity::One, Affinity::Rt] {
            let free = state_affinity(state, true, before, Affinity::Any);
            assert_eq!(free, State::LeavesAffinity);
            assert!(affinity_evicts(free) && !is_leak(Affinity::Any, free));
            assert_eq!(
                state_affinity(state, false, before, Affinity::Any),
                state,
                "elsewhere"
            );
            let bound = state_affinity(state, true, before, Affinity::One);
            assert!(!is_leaving(bound) && !is_leak(Affinity::One, bound));
        }
        assert_eq!(
            state_affinity(state, true, Affinity::Any, Affinity::Nrt),
            state
        );
    }
    assert!(is_leak(Affinity::Any, State::Rt) && is_leak(Affinity::Any, State::LeavesSyscall));
}

#[test]
fn a_runnable_task_goes_where_the_table_says() {
    let rt = task(Class::Linux, State::Rt);
    let promoted = task(Class::Linux, State::Promoted);
    for (name, task, on, expected) in [
        ("user mode", rt, true, Place::RtOrNrt),
        ("wakes up", TaskView { wakes: true, ..rt }, true, Place::Nrt),
        (
            "handed back",
            TaskView {
                handed_back: true,
                ..rt
            },
            true,
            Place::RtOrNrt,
        ),
        (
            "RT1+, handed back",
            TaskView {
                handed_back: true,
                ..task(Class::Rt1, State::Rt)
            },
            true,
            Place::Nrt,
        ),
        (
            "no task waits behind RT0",
            TaskView { immed: true, ..rt },
            true,
            Place::RtOrNrt,
        ),
        (
            "handed back on RT0's way",
            TaskView {
                handed_back: true,
                immed: true,
                ..rt
            },
            true,
            Place::Nrt,
        ),
        ("promoted", promoted, true, Place::RtPromoted),
        ("not on yet", promoted, false, Place::Nrt),
        (
            "in the kernel",
            task(Class::Linux, State::LeavesSyscall),
            true,
            Place::Nrt,
        ),
        (
            "kernel thread",
            task(Class::Kthread, State::Rt),
            true,
            Place::Nrt,
        ),
        (
            "RT only",
            TaskView {
                affinity: Affinity::Rt,
                ..rt
            },
            true,
            Place::RtOnly,
        ),
        (
            "NRT only",
            TaskView {
                affinity: Affinity::Nrt,
                ..promoted
            },
            true,
            Place::Nrt,
        ),
        (
            "one CPU",
            TaskView {
                affinity: Affinity::One,
                ..promoted
            },
            true,
            Place::Pinned,
        ),
        (
            "cannot move",
            TaskView { fixed: true, ..rt },
            true,
            Place::Pinned,
        ),
    ] {
        assert_eq!(place(&task, on, 1), expected, "{name}");
    }
    assert_eq!(place(&rt, true, 0), Place::Nrt, "no RT CPU is online");
    let side = |tasks| Side {
        cpus: 1,
        tasks,
        weight: u64::from(tasks) * WEIGHT_NICE_0,
        ..Side::default()
    };
    let (crowded, empty) = (side(4), side(1));
    assert_eq!(place_by_sides(&rt, false, &crowded, &empty), Place::Nrt);
    assert_eq!(
        place_by_sides(&task(Class::Rt1, State::Rt), false, &crowded, &empty),
        Place::Rt
    );
    assert_eq!(place_by_sides(&rt, true, &crowded, &empty), Place::Rt);
}

#[test]
fn kernel_threads_that_wake_up_come_first_until_their_slice_is_over() {
    let woken = TaskView {
        wakes: true,
        ..task(Class::Kthread, State::Nrt)
    };
    let over = task(Class::Kthread, State::Nrt);
    for place in [Place::Nrt, Place::Pinned] {
        assert_eq!(order(&woken, place), Order::Arrival);
        assert_eq!(order(&over, place), Order::Vtime);
    }
    let rt1 = task(Class::Rt1, State::Rt);
    assert_eq!(order(&rt1, Place::Rt), Order::Level);
    assert_eq!(order(&rt1, Place::Nrt), Order::Level);
    assert_eq!(
        order(&rt1, Place::Pinned),
        Order::Vtime,
        "no level on a CPU of its own"
    );
    assert_eq!(
        order(&task(Class::Linux, State::Rt), Place::Rt),
        Order::Vtime
    );
}

#[test]
fn only_linux_tasks_make_room() {
    for class in CLASSES {
        for running in [Class::Linux, Class::Rt1, Class::Kthread, Class::None] {
            let expected = class != Class::Linux && running == Class::Linux;
            assert_eq!(displaces(class, running), expected, "{class:?} {running:?}");
            let wake = wake_rt(class, true, running, false);
            let rt1 = class == Class::Rt1 && running == Class::Linux;
            assert_eq!(wake == Wake::Displace as u32, rt1, "{class:?} {running:?}");
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
        ..task(class, State::Nrt)
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
    let linux = task(Class::Linux, State::Nrt);
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
        let goes_on = task(class, State::Nrt);
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
        let one = task(class, State::Nrt);
        for in_front in 0..IN_FRONT_ALONE_MAX as u32 {
            assert_eq!(may_follow(&one, true, in_front), may, "{class:?}");
            assert!(!may_follow(&one, false, in_front), "{class:?}");
        }
        assert!(!may_follow(&one, true, IN_FRONT_ALONE_MAX as u32));
    }
}

#[test]
fn a_task_is_alone_at_its_only_cpu_and_while_no_nrt_cpu_is_idle() {
    for affinity in AFFINITIES {
        let task = TaskView {
            affinity,
            ..task(Class::Linux, State::Nrt)
        };
        assert!(is_alone(&task, 0), "{affinity:?}");
        for idle in [1, 2, 15] {
            assert_eq!(is_alone(&task, idle), affinity == Affinity::One);
        }
    }
}

#[test]
fn more_wait_in_front_where_no_other_cpu_takes_them() {
    assert!(has_room(false, 0) && !has_room(false, 1));
    let most = IN_FRONT_ALONE_MAX as u32;
    assert!(has_room(true, most - 1) && !has_room(true, most));
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
    let none = Class::None;
    assert_eq!(
        wake_rt(Class::Linux, false, none, true),
        Wake::UnlessDue as u32
    );
    assert_eq!(
        wake_rt(Class::Linux, true, Class::Linux, true),
        Wake::Kick as u32
    );
    assert_eq!(
        wake_rt(Class::Linux, true, Class::Linux, false),
        Wake::None as u32
    );
    let both = Wake::Kick as u32 | Wake::Displace as u32;
    assert_eq!(wake_rt(Class::Rt1, true, Class::Linux, true), both);
    assert_eq!(idle_switch_ns(100), 200);
}

#[test]
fn wakeups_leave_rt_cpus_alone() {
    let free = task(Class::Linux, State::Rt);
    let order = |task, from_rt| [0, 1, 2].map(|nth| pick_cpu(task, from_rt, nth));
    let one_by_one = [Pick::Idle, Pick::Waker, Pick::Nrt];
    assert_eq!(order(&free, false), one_by_one);
    assert_eq!(
        order(&free, true),
        [Pick::Nrt; 3],
        "from an RT CPU: no search"
    );
    let kthread = task(Class::Kthread, State::Rt);
    assert_eq!(order(&kthread, false), one_by_one);
    let later = [Pick::NrtLater, Pick::NrtFront, Pick::NrtFront];
    assert_eq!(order(&kthread, true), later);
    let bound = [Affinity::One, Affinity::Rt].map(|affinity| TaskView { affinity, ..free });
    let fixed = TaskView {
        fixed: true,
        ..free
    };
    for task in bound.iter().chain([&fixed]) {
        for from_rt in [false, true] {
            assert_eq!(order(task, from_rt), [Pick::Last; 3]);
        }
    }
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
        Overdue,
        Fair,
        Rt1Left,
        GoOn,
        Far,
        HelpLinux,
        HelpRt1,
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
    let mut at = |waits, runs, others, now| {
        let answer = rt1_turn(&mut turn, waits, runs, others, now);
        (answer, turn.rt1_since_ns)
    };
    let whole_phase = (Rt1Turn::TurnNoRt1, now);
    assert_eq!(at(false, false, true, now), whole_phase);
    let later = now + RT1_PHASE_NS;
    for (waits, runs, turn) in [
        (true, false, Rt1Turn::TurnWaiting),
        (true, true, Rt1Turn::TurnWaiting),
        (false, true, Rt1Turn::TurnRunning),
    ] {
        assert_eq!(at(waits, runs, true, now).0, turn);
        assert_eq!(at(waits, runs, false, later).0, turn, "nobody else waits");
    }
    assert_eq!(at(true, true, true, later).0, Rt1Turn::TurnOthers);
    assert_eq!(at(false, true, true, later).0, Rt1Turn::TurnOthers);
}

#[test]
fn an_nrt_cpu_takes_the_rt1_queue_of_the_rt_side_when_its_own_is_empty() {
    assert!(takes_rt1_of_rt(0, 1));
    assert!(!takes_rt1_of_rt(1, 1) && !takes_rt1_of_rt(0, 0));
}

#[test]
fn a_task_whose_slice_rt0_ended_goes_behind_rt0_and_then_leaves() {
    let rt = task(Class::Linux, State::Rt);
    assert!(may_wait_behind_rt0(&rt, true, false, false));
    assert!(!may_wait_behind_rt0(&rt, false, false, false), "an NRT CPU");
    assert!(
        !may_wait_behind_rt0(&rt, true, true, false),
        "nobody may wait there"
    );
    assert!(
        !may_wait_behind_rt0(&rt, true, false, true),
        "it ran ahead of RT0"
    );
    assert!(!may_wait_behind_rt0(
        &TaskView { wakes: true, ..rt },
        true,
        false,
        false
    ));
    assert!(!may_wait_behind_rt0(
        &TaskView {
            handed_back: true,
            ..rt
        },
        true,
        false,
        false
    ));
    assert!(waits_behind_rt0(true, true) && !waits_behind_rt0(false, true));
    assert!(!waits_behind_rt0(true, false));
    for why in 0..8 {
        let [put_off, kthread, leaves] = [why & 1 != 0, why & 2 != 0, why & 4 != 0];
        let ends = match why {
            0 => Going::Not,
            1..4 => Going::UnlessDue,
            _ => Going::Now,
        };
        assert_eq!(going(put_off, kthread, leaves), ends);
    }
}

#[test]
fn who_was_placed_as_it_woke_up_is_not_placed_again() {
    for placed in 0..8 {
        let [wakes, pooled, same_side] = [placed & 1 != 0, placed & 2 != 0, placed & 4 != 0];
        assert_eq!(is_placed(wakes, pooled, same_side), placed == 7);
    }
}

#[test]
fn only_a_kernel_thread_of_an_rt_cpu_and_rcus_are_queued_without_a_place() {
    for order in [Order::Arrival, Order::Level, Order::Vtime] {
        let own = |rt_cpu| needs_vtime(order, Place::Pinned, rt_cpu, false);
        assert!(own(false) && needs_vtime(order, Place::Nrt, true, false));
        assert_eq!(own(true), order != Order::Arrival);
        for place in [Place::Pinned, Place::Nrt] {
            assert!(!needs_vtime(order, place, false, true));
        }
    }
}

#[test]
fn a_switch_is_put_off_once() {
    assert!(may_put_off(false, false));
    assert!(!may_put_off(true, false) && !may_put_off(false, true));
}

#[test]
fn who_enters_the_kernel_lets_rt0_by() {
    assert!(may_let_rt0_by(true, false));
    assert!(!may_let_rt0_by(false, false) && !may_let_rt0_by(true, true));
    assert_eq!(wait(true, true), Wait::Done);
    assert_eq!(wait(true, false), Wait::Done);
    assert_eq!(wait(false, true), Wait::ForRt0);
    assert_eq!(wait(false, false), Wait::ForTimer);
    assert!(gives_up_rest(true) && !gives_up_rest(false));
    assert_eq!(u64::from(wait_turns_max()) * 5, SWITCH_NS_MAX);
}

#[test]
fn a_timer_brings_rt0_where_nothing_else_can_have_it() {
    let policies = [
        KernelPolicy::PolicyFifo as u32,
        KernelPolicy::PolicyRr as u32,
        KernelPolicy::PolicyDeadline as u32,
        KernelPolicy::PolicyExt as u32,
        0,
    ];
    assert_eq!(
        policies.map(|policy| timer_brings(policy, 1, true)),
        [true, true, false, false, false]
    );
    // Another CPU may run it, or it slept elsewhere.
    assert!(!timer_brings(KernelPolicy::PolicyFifo as u32, 2, true));
    assert!(!timer_brings(KernelPolicy::PolicyFifo as u32, 1, false));
}

#[test]
fn a_timer_that_brings_rt0_is_waited_for_until_it_must_have_come() {
    assert!(!timer_is_here(MS, MS - 1, false) && timer_is_here(MS, MS, false));
    let comes = MS + TIMER_COMES_NS;
    assert!(!timer_is_here(MS, comes - 1, true) && timer_is_here(MS, comes, true));
    // Far in the past, as the clock may have wrapped.
    assert!(timer_is_here(u64::MAX, 1 + TIMER_COMES_NS, true));
}

#[test]
fn a_run_queue_that_rt0_needs_is_left_alone() {
    assert!(
        meets_rt0(true, u64::MAX / 2, MS, 1000),
        "RT0 wakes up there"
    );
    assert!(meets_rt0(false, MS + 999, MS, 1000), "its timer is due");
    assert!(!meets_rt0(false, MS + 1000, MS, 1000));
    assert!(passes_on(0) && passes_on(PASSED_OVER_MAX as u32));
    assert!(!passes_on(PASSED_OVER_MAX as u32 + 1));
}

proptest! {
    /// The one rule: nobody is queued for the RT CPUs who might be in the kernel, unless its
    /// affinity leaves no other place.
    #[test]
    fn nobody_who_may_be_in_the_kernel_goes_to_the_rt_side(task in any_task(), on: bool, rt_cpus in 0u32..4) {
        let place = place(&task, on, rt_cpus);
        let to_rt = [Place::Rt, Place::RtOnly, Place::RtPromoted, Place::RtOrNrt].contains(&place);
        if to_rt && task.affinity != Affinity::Rt {
            prop_assert!([State::Rt, State::Promoted].contains(&task.state), "{task:?}");
            prop_assert!(task.class != Class::Kthread && on);
        }
        let queued = state_queued(place);
        prop_assert_eq!(queued == State::Rt, to_rt);
        prop_assert!(queued == State::Rt || queued == State::Nrt);
    }

    /// A task is either fit to stay on its RT CPU or asked to leave, never neither. (One that its
    /// cgroup stops is queued apart, wherever it may run.)
    #[test]
    fn a_task_goes_on_or_leaves(task in any_task()) {
        if !task.fixed && !is_leaving(task.state) && task.state != State::Stopped {
            prop_assert_eq!(may_go_on(&task, true, 1), !must_leave(&task), "{:?}", task);
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
