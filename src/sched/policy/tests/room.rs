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
