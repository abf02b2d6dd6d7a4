// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy/group.h`, and of what it changes elsewhere: tasks that share a machine by
//! the weights of their CPU cgroups.

use super::*;

const SCALE: u32 = WEIGHT_SCALE as u32;

/// A task of @weight among tasks of @all, itself included, that share by their cgroups.
fn joining(weight: u32, all: u64) -> Joining {
    Joining {
        mean: 0,
        all,
        served: 0,
        by_served: false,
        here: 0,
        confined: false,
        group_vtime: 0,
        grouped: true,
        weight,
    }
}

#[test]
fn a_new_task_starts_where_its_group_stands_or_level() {
    let mean = 1000 * MS;
    let at = |arrival, vtime, lag, group_vtime| {
        vtime_place(
            &Joining {
                mean,
                group_vtime,
                ..joining(100 * SCALE, u64::from(200 * SCALE))
            },
            arrival,
            vtime,
            lag,
        )
    };
    let [new, back, again] = [Arrival::New, Arrival::Back, Arrival::Again];
    assert_eq!(at(new, 7, 9, mean), mean);
    assert_eq!(at(new, 7, 0, mean - 50 * MS), mean, "owed to another task");
    assert_eq!(at(new, 7, 0, mean + 50 * MS), mean + 50 * MS);
    assert_eq!(at(new, 7, 0, mean + 5000 * MS), mean + SHARE_DEBT_NS);
    let lag = MS as i64;
    assert_eq!(at(back, 7, lag, 0), mean - MS);
    assert_eq!(at(back, 7, 100 * lag, 0), mean - CREDIT_NS);
    assert_eq!(at(back, mean - MS, -lag, 0), mean, "the mean has passed it");
    assert_eq!(at(back, mean + MS, -lag, 0), mean + MS);
    assert_eq!(at(again, mean - 20 * MS, 0, 0), mean - 20 * MS);
    assert_eq!(at(again, 7, 0, 0), mean - SHARE_CREDIT_NS);
    assert_eq!(at(again, mean + 500 * MS, 0, 0), mean + SHARE_DEBT_NS);
    let late = mean + 500 * MS;
    assert_eq!(
        at(back, late, -lag, 0),
        mean + DEBT_NS,
        "the rest is forgotten"
    );
    let group = mean + 50 * MS;
    assert_eq!(at(back, late, -lag, group), group + DEBT_NS, "not by it");
    assert_eq!(at(back, late, -lag, late), mean + SHARE_DEBT_NS);
}

#[test]
fn who_nrt_cpus_serve_is_compared_with_those_served_there() {
    let mean = 1000 * MS;
    let at = |behind: u64, arrival, vtime| {
        let at = Joining {
            mean,
            served: mean - behind,
            by_served: is_by_served(false, 0),
            group_vtime: mean - behind,
            ..joining(100 * SCALE, u64::from(200 * SCALE))
        };
        vtime_place(&at, arrival, vtime, 2 * MS as i64)
    };
    let [new, back, again] = [Arrival::New, Arrival::Back, Arrival::Again];
    assert_eq!(at(10 * MS, new, 7), mean - 10 * MS);
    assert_eq!(at(100 * MS, new, 7), mean - 100 * MS);
    assert_eq!(at(0, new, 7), mean);
    assert_eq!(at(10 * MS, back, 7), mean - 10 * MS - 2 * MS);
    assert_eq!(at(10 * MS, back, mean - 8 * MS), mean - 8 * MS);
    // As far behind as those there, and by what one may be behind them.
    let most = 100 * MS + SHARE_CREDIT_NS;
    assert_eq!(at(100 * MS, again, mean - 110 * MS), mean - 110 * MS);
    assert_eq!(at(100 * MS, again, 7), mean - most);
    // Who entered the kernel on an RT CPU does not wait there for what it had on that side.
    let enters = Arrival::Enters;
    assert_eq!(at(100 * MS, enters, mean), mean - 100 * MS + DEBT_NS);
    assert_eq!(at(100 * MS, enters, 7), mean - most);
    assert!(!is_by_served(true, 0) && !is_by_served(false, 1));
}

#[test]
fn who_may_use_some_cpus_is_compared_with_those_served_there() {
    let mean = 1000 * MS;
    let at = |here, vtime| {
        let at = Joining {
            here,
            confined: true,
            ..super::joining(mean, NICE_0, 0)
        };
        vtime_place(&at, Arrival::Again, vtime, 0)
    };
    assert_eq!(at(600 * MS, 590 * MS), 590 * MS, "not by the mean");
    assert_eq!(at(600 * MS, 7), 600 * MS - SHARE_CREDIT_NS);
    assert_eq!(at(0, 7), mean - SHARE_CREDIT_NS, "it is not known");
    assert_eq!(at(2000 * MS, 7), 2000 * MS - SHARE_CREDIT_NS);
    assert_eq!(
        served_here(0, 7 * MS, 1),
        7 * MS,
        "the first since it was idle"
    );
    assert_ne!(served_here(0, 0, 1), 0);
    // All that a CPU serves stays near the mean, in its order.
    assert_eq!(served_slide(mean, mean + SERVED_APART_NS, mean), 0);
    assert_eq!(served_slide(mean, mean + SERVED_APART_NS + 7, mean), 7);
    assert_eq!(
        served_slide(mean + SERVED_APART_NS + 7, mean - MS, mean),
        7_u64.wrapping_neg()
    );
    // The CPU that is further ahead serves a task that may use both.
    assert!(serves_rather(5, 6) && !serves_rather(6, 5));
    assert!(serves_rather(0, 6) && !serves_rather(6, 0));
}

#[test]
fn where_nrt_cpus_serve_is_a_mean_by_time() {
    let of_late = 1 << SERVED_SHIFT;
    let close = |a: u64, b: u64| a.abs_diff(b) < 2048;
    let at = served(1000 * MS, 1010 * MS, of_late);
    assert!(close(at, 1010 * MS), "all of it was its time");
    assert!(close(served(at, 1000 * MS, 9 * of_late), 1000 * MS), "back");
    assert!(close(served(at, 1000 * MS, of_late / 2), 1005 * MS));
    assert_eq!(served(at, 1000 * MS, 1000), at, "too short to count");
}

#[test]
fn a_group_has_had_what_its_tasks_used() {
    let mean = 1000 * MS;
    let flat = 400 * SCALE;
    let at = Placed {
        vtime: mean - MS,
        level: mean,
        all: u64::from(2 * flat),
        weight: flat / 4,
    };
    let own = |ns| vtime_charge(ns, at.weight);
    let after = |vtime, ns| group_vtime(vtime, flat, &at, at.vtime + own(ns));
    let [credit, debt] = [SHARE_CREDIT_NS, SHARE_DEBT_NS].map(|ns| distance(ns, flat, at.all));
    assert_eq!(after(mean, 0), mean);
    // A task has a quarter of it, so what it uses is a quarter as far for the group.
    assert_eq!(after(mean + MS, 4 * MS), mean + MS + own(4 * MS) / 4);
    assert_eq!(after(7, 0), mean - credit, "nobody of it ran for long");
    assert_eq!(after(mean + 9000 * MS, 0), mean + debt);
}

#[test]
fn the_first_of_two_queues_is_whose_deadline_is_first() {
    assert!(is_first(true, 5, true, 6) && is_first(true, 5, false, 0));
    assert!(is_first(true, u64::MAX, true, 1), "across a wrap");
    assert!(!is_first(true, 5, true, 5) && !is_first(false, 0, true, 6));
}

#[test]
fn of_all_queues_the_one_with_the_first_deadline_is_served_then_the_others() {
    let mut heads = Heads {
        own: true,
        side: true,
        both: true,
        own_deadline: 5,
        side_deadline: 6,
        both_deadline: 4,
    };
    let mut order = Vec::new();
    loop {
        let queue = first_queue(&heads);
        if queue == Queue::None {
            break;
        }
        order.push((queue, first_deadline(&heads, queue)));
        forget_queue(&mut heads, queue);
    }
    let wanted = [(Queue::Both, 4), (Queue::Own, 5), (Queue::Side, 6)];
    assert_eq!(order, wanted);
    heads = Heads {
        own: true,
        side: true,
        both: true,
        own_deadline: 5,
        side_deadline: 5,
        both_deadline: 5,
    };
    assert_eq!(first_queue(&heads), Queue::Side, "of equal ones");
}

/// Tasks that compute, on CPUs that each take whose deadline is first, a slice at a time: the time
/// each had, in ns. What the BPF program does, with one queue.
fn computed(weights: &[u32], cpus: usize, slices: usize) -> Vec<u64> {
    let begin = 1 << 40;
    let mut pool = Pool::default();
    let mut all = vec![(begin, begin); weights.len()];
    for (task, weight) in all.iter_mut().zip(weights) {
        let mut at = joining(*weight, 0);
        task.0 = pool_arrive(&mut pool, &mut at, Arrival::Back, begin, 0);
        task.1 = deadline(&at, Arrival::New, 0, task.0, SLICE_NRT_NS);
    }
    let mut ran = vec![0; weights.len()];
    for _ in 0..slices {
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by_key(|&at| all[at].1);
        for &at in order.iter().take(cpus) {
            let weight = weights[at];
            let slice = 4 * MS;
            ran[at] += slice;
            let more = vtime_charge(slice, weight);
            pool_charge(&mut pool, more, weight);
            let (vtime, before) = all[at];
            pool_leave(&mut pool, vtime + more, weight);
            let mut at_all = joining(weight, 0);
            let vtime = pool_arrive(&mut pool, &mut at_all, Arrival::Again, vtime + more, 0);
            let deadline = deadline(&at_all, Arrival::Again, before, vtime, SLICE_NRT_NS);
            all[at] = (vtime, deadline);
        }
    }
    ran
}

#[test]
fn cpu_time_follows_the_weights() {
    // 100 : 300 : 600 by 4, 3 and 2 tasks.
    let weights = [[25; 4].as_slice(), &[100; 3], &[300; 2]].concat();
    let weights: Vec<u32> = weights.iter().map(|weight| weight * SCALE).collect();
    for cpus in [1, 2, 3] {
        let ran = computed(&weights, cpus, 10_000);
        let total: u64 = ran.iter().sum();
        for (tasks, wanted) in [(0..4, 100), (4..7, 300), (7..9, 600)] {
            let had = ran[tasks].iter().sum::<u64>() * 1000 / total;
            assert!(
                had.abs_diff(wanted) <= 5,
                "{wanted}: {had} of 1000, {cpus} CPUs"
            );
        }
    }
}

#[test]
fn who_cannot_use_its_share_leaves_the_others_theirs() {
    // One task of 600 gets one CPU of two, and the others share the other one.
    let weights: Vec<u32> = [600, 100, 300]
        .iter()
        .map(|weight| weight * SCALE)
        .collect();
    let ran = computed(&weights, 2, 10_000);
    let parts: Vec<u64> = ran
        .iter()
        .map(|ran| ran / (10_000 * 4 * MS / 100))
        .collect();
    assert!(parts[0] >= 99, "{parts:?}");
    assert!(
        parts[1].abs_diff(25) <= 1 && parts[2].abs_diff(75) <= 1,
        "{parts:?}"
    );
}
