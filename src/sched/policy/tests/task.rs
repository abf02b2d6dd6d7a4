// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy/task.h`: who is who, states.

use super::*;

#[test]
fn classes_follow_the_policy_of_the_kernel() {
    const SCHED_NORMAL: u32 = 0;
    const SCHED_BATCH: u32 = 3;
    const SCHED_IDLE: u32 = 5;
    const SCHED_EXT: u32 = KernelPolicy::PolicyExt as u32;
    for policy in [SCHED_NORMAL, SCHED_BATCH, SCHED_IDLE] {
        assert_eq!(classify(policy, false), Class::Linux);
    }
    assert_eq!(classify(SCHED_EXT, false), Class::Rt1);
    assert_eq!(classify(SCHED_EXT, true), Class::Kthread);
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
            super::affinity(cpus, nrt, rt),
            expected,
            "{cpus} {nrt} {rt}"
        );
    }
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
        assert_eq!(state_tick_rt(&task_in(Class::Linux, state)), ticked);
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
        ..task_in(Class::Linux, State::Nrt)
    };
    assert_eq!(state_tick_rt(&fixed), State::Nrt, "it cannot leave");
}
