// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy/running.h`: who takes over from the task that runs, and timed slices.

use super::*;

#[test]
fn slices_end_on_time_only_where_many_wait() {
    let at_ticks = u32::try_from(WAITING_AT_TICKS).unwrap();
    assert!(!times_slice(2 * at_ticks, 2));
    assert!(times_slice(2 * at_ticks + 1, 2));
    let may = [Class::Linux, Class::Rt1, Class::Kthread, Class::None];
    assert_eq!(
        may.map(|class| may_time_slice(class)),
        [true, false, false, false]
    );
    let mut looked_ns = 0;
    assert!(looks_at_waiting(&mut looked_ns, 5 * MS));
    assert!(!looks_at_waiting(
        &mut looked_ns,
        5 * MS + WAITING_LOOK_NS - 1
    ));
    assert!(looks_at_waiting(&mut looked_ns, 5 * MS + WAITING_LOOK_NS));
}

#[test]
fn a_timed_slice_is_what_is_left_of_what_the_task_asked_for() {
    let left = |deadline, weight, request_ns| {
        let running = Running {
            deadline,
            vtime: 100 * MS,
            since_ns: 0,
            burst_ns: 0,
            weight,
        };
        timed_slice_ns(&running, request_ns)
    };
    let computes = |deadline, weight| left(deadline, weight, SLICE_NRT_NS);
    assert_eq!(computes(100 * MS + SLICE_NRT_NS, NICE_0), SLICE_NRT_NS);
    assert_eq!(computes(101 * MS, NICE_0), MS, "it was displaced half-way");
    assert_eq!(computes(110 * MS, NICE_0 / 10), MS, "in its own CPU time");
    assert_eq!(computes(100 * MS + 1, NICE_0), REQUEST_NS_MIN);
    assert_eq!(computes(100 * MS, NICE_0), SLICE_NRT_NS, "it had all of it");
    assert_eq!(computes(90 * MS, NICE_0), SLICE_NRT_NS);
    assert_eq!(computes(200 * MS, NICE_0), SLICE_NRT_NS);
    assert_eq!(computes(u64::MAX / 3, NICE_0), SLICE_NRT_NS);
    let asks_little = left(100 * MS + REQUEST_NS_MIN, NICE_0, REQUEST_NS_MIN);
    assert_eq!(asks_little, SLICE_NRT_NS, "it will be gone before");
}

#[test]
fn a_task_that_computes_makes_way_and_one_that_has_just_begun_does_not() {
    let running = Running {
        deadline: 103 * MS,
        vtime: 100 * MS,
        since_ns: 500 * MS,
        burst_ns: 0,
        weight: NICE_0,
    };
    let light = 101 * MS;
    let takes = |deadline, ran, interrupt| {
        takes_over(
            deadline,
            &running,
            u64::wrapping_add(ran, 500 * MS),
            interrupt,
        )
    };
    assert!(takes(light, 2 * MS, false));
    assert!(
        !takes(light, PROTECT_NS - 1, false),
        "messages do not switch each time"
    );
    assert!(takes(light, PROTECT_INTERRUPT_NS, true));
    assert!(!takes(light, PROTECT_INTERRUPT_NS - 1, true));
    assert!(!takes(103 * MS + 1, 2 * MS, true), "its deadline is later");
    assert!(
        takes(105 * MS, 4 * MS, true),
        "beyond its own deadline it asks for a slice more"
    );
    assert!(
        !takes(light, u64::MAX, true),
        "the clock of another CPU may be behind"
    );
    assert!(
        takes_over(
            light,
            &Running {
                burst_ns: 4 * MS,
                ..running
            },
            500 * MS,
            true
        ),
        "it has run for long, and others displaced it for a moment"
    );
}

#[test]
fn who_waits_for_the_world_outside_comes_next_if_it_is_not_far_ahead() {
    let owed = |vtime, mean| is_owed(vtime, &joining(mean, NICE_0, 0));
    assert!(owed(5, 5) && owed(4, 5) && owed(5 + AHEAD_NS, 5) && !owed(6 + AHEAD_NS, 5));
    assert!(
        owed(u64::MAX, 2) && !owed(2 + AHEAD_NS, u64::MAX),
        "virtual time wraps"
    );
}

#[test]
fn clocks_of_two_cpus_may_differ_a_little() {
    assert!(!hand_back(49 * MS, 50 * MS));
}
