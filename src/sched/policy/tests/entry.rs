// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy/entry.h`: entering the kernel on an RT CPU, leaving it, long bursts of RT0.

use super::*;

#[test]
fn short_bursts_are_waited_out_and_long_ones_are_not() {
    let since = 50 * MS;
    assert!(!hand_back(since + HAND_BACK_NS - 1, since));
    assert!(hand_back(since + HAND_BACK_NS, since));
    assert!(!hand_back(since, 0), "nobody is displaced");
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
fn who_enters_the_kernel_lets_rt0_by() {
    let [whole, ahead] = [Stay::Whole, Stay::Ahead].map(|stay| stay as u32);
    assert!(may_let_rt0_by(true, whole));
    assert!(!may_let_rt0_by(false, whole) && !may_let_rt0_by(true, ahead));
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
