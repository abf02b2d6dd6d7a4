// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy/vtime.h`: virtual time, shares by weight, levels.

use super::*;

#[test]
fn levels_are_the_nice_values() {
    for (static_prio, level) in [(100, 1), (120, 21), (139, 40), (0, 1), (200, 40)] {
        assert_eq!(rt1_level(static_prio), level);
    }
}

#[test]
fn a_higher_level_comes_first_among_tasks_that_wait_together() {
    for level in 1..40 {
        assert!(rt1_key(level, 0, 0, 7 * MS) < rt1_key(level + 1, 0, 0, 0));
    }
}

#[test]
fn a_low_level_is_not_kept_waiting_for_ever() {
    let wait_ns = 40 * RT1_LEVEL_NS;
    assert!(rt1_key(40, 0, 0, 0) < rt1_key(1, 0, 0, wait_ns));
    // far below the 30 s of the kernel's watchdog
    assert!(wait_ns < 3000 * MS);
}

#[test]
fn of_equal_levels_who_had_less_comes_first_but_never_before_a_higher_level() {
    let low = 1000 * MS;
    let key = |had, now| rt1_key(7, had, low, now);
    assert!(key(low, 9 * MS) < key(low + 10 * MS, 0));
    assert!(key(low, 11 * MS) > key(low + 10 * MS, 0));
    assert_eq!(key(0, 0), key(low - RT1_APART_NS, 0));
    assert_eq!(key(2 * low, 0), key(low + RT1_APART_NS, 0));
    assert!(key(2 * low, 0) < rt1_key(8, 0, low, 0));
    assert!(rt1_key_running(7, low, low, MS) < key(low, MS));
}

#[test]
fn what_levels_are_compared_with_is_the_least_of_late() {
    assert_eq!(rt1_low(10 * MS, 9 * MS, MS), 9 * MS);
    assert_eq!(rt1_low(10 * MS, 12 * MS, MS), 11 * MS, "that one may sleep");
    assert_eq!(rt1_wakes(3 * MS, 10 * MS), 10 * MS);
    assert_eq!(rt1_wakes(11 * MS, 10 * MS), 11 * MS);
    assert_eq!(rt1_wakes(1000 * MS, 10 * MS), 10 * MS + RT1_APART_NS);
}

#[test]
fn weights_are_the_kernels() {
    for (policy, static_prio, weight) in [
        (0, 120, NICE_0),
        (0, 100, 138_689),
        (0, 139, 23),
        (5, 120, 5),
        (5, 100, 5),
        (0, 0, 138_689),
    ] {
        assert_eq!(task_weight(policy, static_prio), weight);
    }
}

#[test]
fn a_task_keeps_what_it_is_owed_and_its_debt_is_passed_by() {
    let mean = 1000 * MS;
    let at = joining(mean, NICE_0, 0);
    let back = |vtime, lag| vtime_place(&at, Arrival::Back, vtime, lag);
    let ms = MS as i64;
    assert_eq!(
        back(1, 2 * ms),
        mean - 2 * MS,
        "owed 2 ms, wherever it stood"
    );
    assert_eq!(back(1, 60 * ms), mean - CREDIT_NS);
    assert_eq!(back(mean - MS, -5 * ms), mean, "it slept for so long");
    assert_eq!(back(mean + MS, -5 * ms), mean + MS, "not yet");
    let light = joining(mean, NICE_0 / 4, 0);
    assert_eq!(
        vtime_place(&light, Arrival::Again, mean + 1000 * MS, 0),
        mean + 4 * SHARE_DEBT_NS,
        "bounds are of a task's own time"
    );
}

#[test]
fn the_last_task_of_a_pool_leaves_its_time_behind() {
    let mut pool = Pool::default();
    pool_join(&mut pool, 7, NICE_0);
    pool_charge(&mut pool, 30, NICE_0);
    pool_leave(&mut pool, 37, NICE_0);
    assert_eq!((pool_vtime(&pool), pool.weight, pool.sum), (37, 0, 0));
}

#[test]
fn who_asks_for_little_comes_first_and_keeps_its_deadline_until_it_had_it() {
    let hog = request(10 * MS, 0);
    assert_eq!(hog, SLICE_NRT_NS);
    assert_eq!(request(MS, 0), MS);
    assert_eq!(request(MS, 2 * MS), SLICE_NRT_NS, "longer than usual");
    assert_eq!(request(1, 0), REQUEST_NS_MIN);
    let one = joining(0, NICE_0, 0);
    let at = |arrival, vtime| deadline(&one, arrival, 10 * MS, vtime, MS);
    assert_eq!(at(Arrival::Again, 9 * MS), 10 * MS);
    assert_eq!(at(Arrival::Again, 10 * MS), 11 * MS);
    assert_eq!(at(Arrival::Back, 9 * MS), 10 * MS);
    assert_eq!(at(Arrival::New, 2 * MS), 3 * MS);
    let heavy = joining(0, 2 * NICE_0, 0);
    assert_eq!(deadline(&heavy, Arrival::New, 0, 0, MS), MS / 2);
}

#[test]
fn bounds_are_of_a_tasks_own_time_but_nobody_waits_for_long() {
    let all = 10 * u64::from(NICE_0);
    assert_eq!(distance(12 * MS, NICE_0, all), 12 * MS, "at nice 0");
    assert_eq!(distance(12 * MS, NICE_0 / 4, all), 48 * MS);
    // All get one CPU: a hundred-thousandth of it would be twenty minutes for 12 ms.
    let most = WAIT_NS / 10_000;
    assert_eq!(
        distance(12 * MS, NICE_0 / 10, 10_000 * u64::from(NICE_0)),
        most
    );
}

/// What tasks of these nice values get in so many ticks, bound to one CPU, in ns: the first by
/// deadline runs to the next tick, and goes on while its deadline is first.
fn computed(weights: &[u32], ticks: usize) -> Vec<u64> {
    let tick = 4 * MS;
    let mut pool = Pool::default();
    let mut ran = vec![0; weights.len()];
    let begin = 1 << 40;
    let mut tasks: Vec<(u64, u64)> = vec![(begin, begin); weights.len()];
    for (task, weight) in tasks.iter_mut().zip(weights) {
        let mut at = joining(0, *weight, 0);
        task.0 = pool_arrive(&mut pool, &mut at, Arrival::Back, begin, 0);
        task.1 = deadline(&at, Arrival::New, 0, task.0, SLICE_NRT_NS);
    }
    for _ in 0..ticks {
        let first = (0..tasks.len()).min_by_key(|&at| tasks[at].1).unwrap();
        let (weight, (vtime, before)) = (weights[first], tasks[first]);
        let vtime = vtime + vtime_charge(tick, weight);
        pool_charge(&mut pool, vtime_charge(tick, weight), weight);
        pool_leave(&mut pool, vtime, weight);
        let mut at = joining(0, weight, 0);
        let vtime = pool_arrive(&mut pool, &mut at, Arrival::Again, vtime, 0);
        let deadline = deadline(&at, Arrival::Again, before, vtime, SLICE_NRT_NS);
        tasks[first] = (vtime, deadline);
        ran[first] += tick;
    }
    ran
}

#[test]
fn cpu_time_follows_the_nice_values() {
    // Nice 0, 5, 10 and 19, as sched_ext says them.
    for weights in [&[100, 10][..], &[100, 100, 32, 10], &[100, 1], &[8669, 100]] {
        let scaled: Vec<u32> = weights.iter().map(|one| weight(*one)).collect();
        let ran = computed(&scaled, 100_000);
        let (total, all) = (
            ran.iter().sum::<u64>() as f64,
            weights.iter().sum::<u32>() as f64,
        );
        for (ran, weight) in ran.iter().zip(weights) {
            let part = *ran as f64 / total / (f64::from(*weight) / all);
            assert!(
                (0.8..1.25).contains(&part),
                "{weights:?}: {part} of its share"
            );
        }
    }
}

#[test]
fn bursts_are_learnt() {
    assert_eq!(request(0, 0), REQUEST_NS_NEW);
    assert_eq!(usual_burst(0, 50_000), 50_000, "the first one counts whole");
    assert_ne!(usual_burst(0, 0), 0, "0 is none");
    let mut usual = 3 * MS;
    for _ in 0..20 {
        usual = usual_burst(usual, 50_000);
    }
    assert!((50_000..60_000).contains(&usual), "{usual}");
    assert!(
        usual_burst(usual, 9 * MS) > 2 * MS,
        "one long burst is noticed"
    );
}

proptest! {
    /// Whatever a task did, it is neither owed nor owes more than the bounds; across a wrap of
    /// virtual time too.
    #[test]
    fn credit_and_debt_are_bounded(mean: u64, distance in -(1i64 << 40)..(1i64 << 40), lag in -(1i64 << 40)..(1i64 << 40)) {
        let vtime = mean.wrapping_add(distance as u64);
        let at = joining(mean, NICE_0, 0);
        for (arrival, credit_ns, debt_ns) in [
            (Arrival::Again, SHARE_CREDIT_NS, SHARE_DEBT_NS),
            (Arrival::Enters, SHARE_CREDIT_NS, DEBT_NS),
            (Arrival::Back, CREDIT_NS, DEBT_NS),
            (Arrival::New, 0, 0),
        ] {
            let bounds = -(credit_ns as i64)..=debt_ns as i64;
            let placed = vtime_place(&at, arrival, vtime, lag);
            prop_assert!(bounds.contains(&(placed.wrapping_sub(mean) as i64)));
            if is_again(arrival) && bounds.contains(&distance) {
                prop_assert_eq!(placed, vtime);
            }
        }
    }

    /// However light a task is among the others, the mean reaches its deadline in twice the longest
    /// wait, by one CPU.
    #[test]
    fn nobody_waits_for_ever(weight in 1u32..=160_000, others in 0u64..=1_600_000_000, vtime: u64) {
        let mean = 1u64 << 60;
        let at = joining(mean, weight, others);
        let vtime = vtime_place(&at, Arrival::Again, vtime, 0);
        let deadline = deadline(&at, Arrival::New, 0, vtime, SLICE_NRT_NS);
        let distance = deadline.wrapping_sub(mean) as i64;
        let waits_ns = i128::from(distance) * i128::from(at.all) / i128::from(WEIGHT_NICE_0);
        prop_assert!(waits_ns <= 2 * i128::from(WAIT_NS), "{} s", waits_ns / 1_000_000_000);
    }

    /// A pool's virtual time is the weighted mean of those in it, whoever comes, runs and goes,
    /// wherever virtual time is.
    #[test]
    fn a_pool_knows_its_mean(start: u64, steps in proptest::collection::vec((0usize..8, 1u32..10_000, 0u64..1 << 32), 1..200)) {
        let mut pool = Pool { base: start, ..Pool::default() };
        let mut tasks: [Option<(u64, u32)>; 8] = [None; 8];
        for (who, weight, ahead) in steps {
            match tasks[who] {
                None => {
                    let vtime = start.wrapping_add(ahead);
                    pool_join(&mut pool, vtime, weight);
                    tasks[who] = Some((vtime, weight));
                }
                Some((vtime, weight)) if ahead % 2 == 0 => {
                    pool_charge(&mut pool, ahead >> 8, weight);
                    tasks[who] = Some((vtime.wrapping_add(ahead >> 8), weight));
                }
                Some((vtime, weight)) => {
                    pool_leave(&mut pool, vtime, weight);
                    tasks[who] = None;
                }
            }
            let there = tasks.iter().flatten();
            let weights: i128 = there.clone().map(|(_, weight)| i128::from(*weight)).sum();
            prop_assert_eq!(i128::from(pool.weight), weights);
            if weights > 0 {
                let sum: i128 = there
                    .map(|(vtime, weight)| i128::from(vtime.wrapping_sub(start)) * i128::from(*weight))
                    .sum();
                let mean = i128::from(pool_vtime(&pool).wrapping_sub(start) as i64);
                prop_assert!((mean - sum / weights).abs() <= 1, "{mean} {}", sum / weights);
            }
        }
    }

    /// Two tasks that always run when they are first get time by their weights.
    #[test]
    fn time_goes_by_weight(light in 10u32..1000, heavier in 1u32..10) {
        let weights = [light, light * heavier];
        let (mut vtime, mut ran) = ([0u64; 2], [0u64; 2]);
        for _ in 0..20_000 {
            let next = usize::from(vtime[1] < vtime[0]);
            vtime[next] += vtime_charge(MS, weights[next]);
            ran[next] += 1;
        }
        let ratio = ran[1] as f64 / ran[0] as f64;
        prop_assert!((ratio / f64::from(heavier) - 1.0).abs() < 0.02, "{ran:?}");
    }
}
