// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the limits of CPU cgroups in `bpf/policy/limit.h`: what a cgroup gets in the long run,
//! and what becomes of debts, savings and changed limits.

use super::*;

/// A tick, before which nobody is stopped.
const TICK_NS: u64 = 4 * MS;
/// Longer than the kernel lets a task wait, ns.
const WATCHDOG_NS: u64 = 30_000 * MS;

fn limit(quota_us: u64, period_us: u64, burst_us: u64) -> Limit {
    let mut limit = Limit::default();
    limit_set(&mut limit, period_us, quota_us, burst_us, 0);
    limit
}

fn refill(limit: &mut Limit, now_ns: u64) {
    limit.left_ns += limit_refill(limit, now_ns);
}

/// What a cgroup below these limits has after so many ticks, with a task that computes on each of
/// so many CPUs, ns.
fn used(limits: &mut [Limit], cpus: u64, ticks: u64) -> u64 {
    let mut used = 0;
    for tick in 0..ticks {
        limits
            .iter_mut()
            .for_each(|one| refill(one, tick * TICK_NS));
        if limits.iter().any(|one| limit_is_out(one)) {
            continue;
        }
        used += cpus * TICK_NS;
        limits
            .iter_mut()
            .for_each(|one| one.left_ns -= (cpus * TICK_NS) as i64);
    }
    used
}

#[test]
fn half_a_cpu_is_half_a_cpu() {
    let used = used(&mut [limit(50_000, 100_000, 0)], 2, 250 * 60);
    assert!(used.abs_diff(30_000 * MS) < 100 * MS, "{used}");
}

#[test]
fn the_tightest_limit_above_counts() {
    let nested = &mut [limit(20_000, 100_000, 0), limit(50_000, 100_000, 0)];
    let used = used(nested, 2, 250 * 60);
    assert!(used.abs_diff(12_000 * MS) < 100 * MS, "{used}");
}

#[test]
fn what_is_saved_and_owed_is_bounded() {
    let mut one = limit(20_000, 100_000, 10_000);
    refill(&mut one, 60_000 * MS);
    assert_eq!(one.left_ns, 30 * MS as i64, "the quota and the burst");
    one.left_ns -= 1 << 60;
    refill(&mut one, 60_100 * MS);
    let owed = 20 * MS * (LIMIT_DEBT_NS / (100 * MS));
    assert_eq!(one.left_ns, 20 * MS as i64 - owed as i64);
    assert!(limit_is_out(&one));
    refill(&mut one, 60_100 * MS + LIMIT_DEBT_NS);
    assert!(!limit_is_out(&one), "it is paid back in that time");
}

#[test]
fn a_limit_that_goes_lets_everybody_on() {
    let mut one = limit(1_000, 1_000_000, 0);
    one.left_ns -= 50 * MS as i64;
    assert!(limit_is_out(&one) && !limit_has_turn(&one));
    // The kernel says it so.
    limit_set(&mut one, 1_000_000, u64::MAX, 0, 70 * MS);
    assert!(!limit_is_set(&one) && !limit_is_out(&one) && limit_has_turn(&one));
    assert_eq!(limit_refill(&mut one, 60_000 * MS), 0);
}

#[test]
fn those_who_are_let_on_need_time_for_a_turn_each() {
    let turns = |limit: &mut Limit| {
        let mut turns = 0;
        while limit_has_turn(limit) {
            limit_promise(limit);
            turns += 1;
        }
        turns
    };
    let mut one = limit(10_000, 100_000, 0);
    assert_eq!(turns(&mut one), 3, "4 ms each of 10");
    refill(&mut one, 99 * MS);
    assert_eq!(turns(&mut one), 0, "once in a period");
    refill(&mut one, 100 * MS);
    assert_eq!(turns(&mut one), 3);
}

#[test]
fn who_may_hold_a_lock_goes_on() {
    let found = TaskView {
        state: State::Stopped,
        ..task(Class::Linux)
    };
    assert!(is_stopped(&found) && !is_stopped(&task(Class::Linux)));
    let woken = TaskView {
        wakes: true,
        ..found
    };
    assert!(!is_stopped(&woken), "it is in the kernel");
    for rt_cpu in [false, true] {
        assert!(!may_go_on(&found, rt_cpu, 1), "until it is queued apart");
    }
    assert!(!is_limited(Class::Kthread, false), "it works for all");
    assert!(!is_limited(Class::Linux, true), "it lets the others on");
    assert!(is_limited(Class::Linux, false) && is_limited(Class::Rt1, false));
}

#[test]
fn nobody_is_stopped_for_ever() {
    assert!(stopped_enough(LIMIT_STOP_NS, 0, false));
    assert!(!stopped_enough(LIMIT_STOP_NS - 1, 0, false));
    assert!(stopped_enough(0, 0, true), "a killed task is not kept");
    const { assert!(LIMIT_STOP_NS + 2 * WAIT_NS < WATCHDOG_NS) };
    // artis does not come to it.
    assert!(is_neglected(5, 0), "it never did");
    assert!(!is_neglected(LIMIT_NEGLECTED_NS, 1));
    assert!(is_neglected(LIMIT_NEGLECTED_NS + 1, 1));
    const { assert!(LIMIT_NEGLECTED_NS + LIMIT_STOP_NS + 2 * WAIT_NS < WATCHDOG_NS) };
    assert!(limit_look_ns(true) < limit_look_ns(false));
    assert!(limit_look_ns(false) * 10 < LIMIT_NEGLECTED_NS);
}

proptest! {
    /// In the long run a cgroup that always wants more has its quota, to a hundredth and a burst,
    /// if no debt is forgotten.
    #[test]
    fn the_long_run_is_the_quota(
        quota_us in 1_000u64..400_000,
        period_us in 1_000u64..1_000_000,
        burst_us in 0u64..100_000,
        cpus in 1u64..8,
    ) {
        let debt_ns = quota_us * 1000 * (LIMIT_DEBT_NS / 1000 / period_us);
        prop_assume!(debt_ns > cpus * TICK_NS);
        let ticks = 250 * 120;
        let used = used(&mut [limit(quota_us, period_us, burst_us)], cpus, ticks);
        let all = ticks * TICK_NS;
        let wanted = (all / 1000 * quota_us / period_us).saturating_mul(1000).min(cpus * all);
        let off = wanted / 100 + (quota_us + burst_us) * 1000 + cpus * TICK_NS;
        prop_assert!(used.abs_diff(wanted) <= off, "{used} of {wanted}");
    }
}
