// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy/queue.h`: where a runnable task goes.

use super::*;

#[test]
fn a_runnable_task_goes_where_the_table_says() {
    let rt = task_in(Class::Linux, State::Rt);
    let promoted = task_in(Class::Linux, State::Promoted);
    for (name, task, on, expected) in [
        ("user mode", rt, true, Place::Rt),
        ("wakes up", TaskView { wakes: true, ..rt }, true, Place::Nrt),
        (
            "handed back",
            TaskView {
                handed_back: true,
                ..rt
            },
            true,
            Place::Rt,
        ),
        (
            "RT1+, handed back",
            TaskView {
                handed_back: true,
                ..task_in(Class::Rt1, State::Rt)
            },
            true,
            Place::Nrt,
        ),
        (
            "no task waits behind RT0",
            TaskView { immed: true, ..rt },
            true,
            Place::Rt,
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
            task_in(Class::Linux, State::LeavesSyscall),
            true,
            Place::Nrt,
        ),
        (
            "kernel thread",
            task_in(Class::Kthread, State::Rt),
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
}

#[test]
fn kernel_threads_that_wake_up_come_first_until_their_slice_is_over() {
    let woken = TaskView {
        wakes: true,
        ..task_in(Class::Kthread, State::Nrt)
    };
    let over = task_in(Class::Kthread, State::Nrt);
    for place in [Place::Nrt, Place::Pinned] {
        assert_eq!(order(&woken, place), Order::Arrival);
        assert_eq!(order(&over, place), Order::Vtime);
    }
    let rt1 = task_in(Class::Rt1, State::Rt);
    assert_eq!(order(&rt1, Place::Rt), Order::Level);
    assert_eq!(order(&rt1, Place::Nrt), Order::Level);
    assert_eq!(order(&rt1, Place::Pinned), Order::Level);
    assert_eq!(
        order(&task_in(Class::Linux, State::Rt), Place::Rt),
        Order::Vtime
    );
}

#[test]
fn a_task_is_alone_at_its_only_cpu_and_while_no_nrt_cpu_is_idle() {
    for affinity in AFFINITIES {
        let task = TaskView {
            affinity,
            ..task_in(Class::Linux, State::Nrt)
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
fn wakeups_leave_rt_cpus_alone() {
    let free = task_in(Class::Linux, State::Rt);
    let order = |task, from_rt| [0, 1, 2].map(|nth| pick_cpu(task, from_rt, nth));
    let one_by_one = [Pick::Idle, Pick::Waker, Pick::Nrt];
    assert_eq!(order(&free, false), one_by_one);
    assert_eq!(
        order(&free, true),
        [Pick::Nrt; 3],
        "from an RT CPU: no search"
    );
    let kthread = task_in(Class::Kthread, State::Rt);
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

#[test]
fn who_was_placed_as_it_woke_up_is_not_placed_again() {
    assert!(is_placed(true, true));
    assert!(!is_placed(true, false) && !is_placed(false, true));
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

proptest! {
    /// The one rule: nobody is queued for the RT CPUs who might be in the kernel, unless its
    /// affinity leaves no other place.
    #[test]
    fn nobody_who_may_be_in_the_kernel_goes_to_the_rt_side(task in any_task(), on: bool, rt_cpus in 0u32..4) {
        let place = place(&task, on, rt_cpus);
        let to_rt = [Place::Rt, Place::RtOnly, Place::RtPromoted].contains(&place);
        if to_rt && task.affinity != Affinity::Rt {
            prop_assert!([State::Rt, State::Promoted].contains(&task.state), "{task:?}");
            prop_assert!(task.class != Class::Kthread && on);
        }
        let queued = state_queued(place);
        prop_assert_eq!(queued == State::Rt, to_rt);
        prop_assert!(queued == State::Rt || queued == State::Nrt);
    }
}
