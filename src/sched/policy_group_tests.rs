// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the shares of CPU cgroups in `bpf/policy.h`: the tree as the BPF program keeps it, on
//! a model of its own.

use proptest::prelude::*;

use super::policy::*;

const NICE_0: u32 = WEIGHT_NICE_0 as u32;
const MS: i64 = 1_000_000;

/// Groups; the first is the root, and a group's parent comes before it.
struct Tree {
    groups: Vec<Group>,
    parents: Vec<usize>,
}

impl Tree {
    /// Each group by its parent and its weight.
    fn new(below_root: &[(usize, u32)]) -> Self {
        let group = |&(_, weight): &(usize, u32)| Group {
            weight,
            ..Group::default()
        };
        Self {
            groups: [Group::default()]
                .into_iter()
                .chain(below_root.iter().map(group))
                .collect(),
            parents: [0]
                .into_iter()
                .chain(below_root.iter().map(|(parent, _)| *parent))
                .collect(),
        }
    }

    fn join(&mut self, at: usize, weight: u32) {
        let mut more = group_join(&mut self.groups[at], weight);
        let mut at = at;
        while more && self.parents[at] != 0 {
            let weight = self.groups[at].weight;
            at = self.parents[at];
            more = group_join_below(&mut self.groups[at], weight);
        }
    }

    fn leave(&mut self, at: usize, weight: u32) {
        let mut more = group_leave(&mut self.groups[at], weight);
        let mut at = at;
        while more && self.parents[at] != 0 {
            let weight = self.groups[at].weight;
            at = self.parents[at];
            more = group_leave_below(&mut self.groups[at], weight);
        }
    }

    fn flat(&self, at: usize) -> u32 {
        let mut share = group_share(&self.groups[at]);
        let mut at = at;
        while self.parents[at] != 0 {
            let parent = self.parents[at];
            share = group_share_of(share, self.groups[at].weight, &self.groups[parent]);
            at = parent;
        }
        group_flat(share, self.groups[at].weight)
    }
}

#[test]
fn a_group_weighs_the_same_whatever_its_number_of_tasks() {
    let mut tree = Tree::new(&[(0, 300)]);
    for tasks in 1..=30 {
        tree.join(1, NICE_0);
        assert_eq!(tree.flat(1), 300);
        let each = group_task_weight(300, &tree.groups[1], NICE_0, 0);
        assert_eq!(each, 300 / tasks);
    }
}

#[test]
fn the_nice_values_in_a_group_divide_what_it_has() {
    let mut tree = Tree::new(&[(0, 400)]);
    tree.join(1, NICE_0);
    tree.join(1, 3 * NICE_0);
    let part = |weight| group_task_weight(400, &tree.groups[1], weight, 0);
    assert_eq!((part(NICE_0), part(3 * NICE_0)), (100, 300));
}

#[test]
fn shares_multiply_along_the_path_and_only_the_active_count() {
    // 1: 600, with 2: 100 and 3: 200 below, and 4: 50 below 3.
    let mut tree = Tree::new(&[(0, 600), (1, 100), (1, 200), (3, 50)]);
    tree.join(2, NICE_0);
    assert_eq!(tree.flat(2), 600, "alone below");
    tree.join(4, NICE_0);
    assert_eq!((tree.flat(2), tree.flat(4)), (199, 399), "rounded down");
    tree.leave(2, NICE_0);
    assert_eq!(tree.flat(4), 600);
    tree.leave(4, NICE_0);
    assert!(tree.groups.iter().all(|group| group.active == 0));
}

#[test]
fn tasks_between_groups_compete_with_the_groups_below_them() {
    let mut tree = Tree::new(&[(0, 100), (1, 300)]);
    tree.join(1, NICE_0);
    tree.join(2, NICE_0);
    assert_eq!((tree.flat(1), tree.flat(2)), (25, 75));
    assert!(group_changes(&tree.groups[1], false));
    assert!(!group_changes(&tree.groups[2], false), "it is a leaf");
}

#[test]
fn a_new_weight_counts_at_once() {
    let mut tree = Tree::new(&[(0, 100), (1, 100), (1, 100)]);
    tree.join(2, NICE_0);
    tree.join(3, NICE_0);
    let (above, below) = tree.groups.split_at_mut(2);
    group_reweigh(&mut below[0], &mut above[1], 300);
    assert_eq!((tree.flat(2), tree.flat(3)), (75, 25));
    tree.leave(2, NICE_0);
    assert_eq!(tree.groups[1].below, 100);
    let (above, below) = tree.groups.split_at_mut(2);
    group_reweigh(&mut below[0], &mut above[1], 7);
    assert_eq!(tree.groups[1].below, 100, "it is not active");
}

#[test]
fn the_least_weight_is_one() {
    assert_eq!(group_weight(0, false), 1);
    assert_eq!(group_weight(10_000, false), 10_000);
    assert_eq!(group_weight(10_000, true), 1, "cpu.idle");
    let mut tree = Tree::new(&[(0, 1), (1, 1), (1, 10_000)]);
    tree.join(2, NICE_0);
    tree.join(3, NICE_0);
    assert_eq!(tree.flat(2), 1);
}

#[test]
fn only_linux_tasks_share_by_their_group() {
    assert!(is_grouped(Class::Linux));
    assert!(!is_grouped(Class::Rt1));
    assert!(!is_grouped(Class::Kthread));
}

#[test]
fn who_is_ahead_makes_way_on_the_rt_side() {
    let side = |cpus, tasks| Side {
        cpus,
        tasks,
        ..Side::default()
    };
    let far = GROUP_FAR_NS as i64;
    assert_eq!(group_standing(far), Standing::Level);
    assert_eq!(group_standing(-far), Standing::Level);
    let (ahead, behind) = (group_standing(far + 1), group_standing(-far - 1));
    assert_eq!((ahead, behind), (Standing::Ahead, Standing::Behind));
    assert!(group_stays_nrt(ahead, &side(1, 1)));
    assert!(!group_stays_nrt(ahead, &side(1, 0)), "an RT CPU is idle");
    assert!(group_leaves_rt(ahead, &side(1, 2)));
    assert!(!group_leaves_rt(ahead, &side(1, 1)), "nobody waits for it");
    for standing in [behind, Standing::Level] {
        assert!(!group_stays_nrt(standing, &side(1, 1)));
        assert!(!group_leaves_rt(standing, &side(1, 2)));
    }
}

#[test]
fn who_waits_for_an_rt_cpu_is_taken_by_how_its_group_stands() {
    let now = 10_000 * MS as u64;
    let taken = |standing, waited: u64, first: u64| {
        is_overdue(
            standing,
            now,
            now - waited,
            if first == 0 { 0 } else { now - first },
        )
    };
    for (standing, most) in [
        (Standing::Level, RT_WAIT_MAX_NS),
        (Standing::Ahead, RT_WAIT_AHEAD_MAX_NS),
        (Standing::Behind, RT_WAIT_BEHIND_MAX_NS),
    ] {
        assert!(!taken(standing, most, 0) && taken(standing, most + 1, 0));
    }
    assert!(taken(Standing::Level, RT_WAIT_MAX_NS + 1, RT_WAIT_MAX_NS));
    assert!(
        !taken(Standing::Level, RT_WAIT_MAX_NS + 1, RT_WAIT_MAX_NS + 2),
        "the first of the NRT queue has waited longer"
    );
    assert!(taken(
        Standing::Behind,
        SLICE_RT_NS,
        RT_WAIT_AHEAD_MAX_NS - 1
    ));
    assert!(!taken(Standing::Behind, SLICE_RT_NS, RT_WAIT_AHEAD_MAX_NS));
}

#[test]
fn a_grouped_task_takes_its_lag_to_the_other_side() {
    assert_eq!(group_arrival(Arrival::New, true), Arrival::Moved);
    assert_eq!(group_arrival(Arrival::New, false), Arrival::New);
    assert_eq!(group_arrival(Arrival::Again, true), Arrival::Again);
    let mean = 1000 * MS as u64;
    let moved = |lag| vtime_place(Arrival::Moved, 7, lag, mean);
    assert_eq!(moved(2 * MS), mean - 2 * MS as u64);
    assert_eq!(moved(-2 * MS), mean + 2 * MS as u64);
    assert_eq!(moved(-500 * MS), mean + DEBT_NS);
}

#[test]
fn who_is_ahead_is_lighter_and_who_is_behind_is_heavier() {
    let mut tree = Tree::new(&[(0, 400)]);
    tree.join(1, NICE_0);
    let at = |lead| group_task_weight(400, &tree.groups[1], NICE_0, lead);
    assert_eq!((at(0), at(100 * MS), at(-100 * MS)), (400, 100, 1600));
    assert_eq!((at(900 * MS), at(-900 * MS)), (100, 1600), "no further");
    assert_eq!(
        (at(10 * MS), at(-10 * MS)),
        (307, 520),
        "and little for little"
    );
}

#[test]
fn a_distance_in_virtual_time_is_cpu_time_by_weight() {
    assert_eq!(group_ns(2 * MS, 3 * NICE_0), 6 * MS);
    assert_eq!(group_ns(-2 * MS, NICE_0 / 2), -MS);
}

#[derive(Clone, Debug)]
struct Step {
    group: usize,
    weight: u32,
    leaves: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (1usize..9, 1u32..9_000, any::<bool>()).prop_map(|(group, weight, leaves)| Step {
        group,
        weight,
        leaves,
    });
    proptest::collection::vec(step, 1..150)
}

/// Eight groups below a root, each below one that comes before it, and their weights.
fn trees() -> impl Strategy<Value = Vec<(usize, u32)>> {
    let parents = (0usize..1, 0usize..2, 0usize..3, 0usize..4);
    let more = (0usize..5, 0usize..6, 0usize..7, 0usize..8);
    (
        parents,
        more,
        proptest::collection::vec(1u32..=10_000, 8..=8),
    )
        .prop_map(|((a, b, c, d), (e, f, g, h), weights)| {
            [a, b, c, d, e, f, g, h].into_iter().zip(weights).collect()
        })
}

proptest! {
    /// Whoever comes and goes: the sums are those of who is there, and flattened weights of the
    /// groups below one of the root add up to that one's, but for what is rounded away.
    #[test]
    fn the_tree_knows_who_is_active(shape in trees(), steps in steps()) {
        let mut tree = Tree::new(&shape);
        let mut tasks: Vec<Vec<u32>> = vec![Vec::new(); 9];
        for step in steps {
            if !step.leaves {
                tasks[step.group].push(step.weight);
                tree.join(step.group, step.weight);
            } else if let Some(weight) = tasks[step.group].pop() {
                tree.leave(step.group, weight);
            }
        }
        let mut active: Vec<bool> = tasks.iter().map(|tasks| !tasks.is_empty()).collect();
        for at in (1..9).rev() {
            if active[at] {
                active[tree.parents[at]] = true;
            }
        }
        for at in 1..9 {
            let group = &tree.groups[at];
            prop_assert_eq!(group.tasks, tasks[at].iter().sum::<u32>());
            prop_assert_eq!(group.active != 0, active[at]);
            let below = (1..9).filter(|&other| tree.parents[other] == at && active[other]);
            prop_assert_eq!(group.below, below.map(|other| tree.groups[other].weight).sum::<u32>());
        }
        for top in (1..9).filter(|&at| tree.parents[at] == 0 && active[at]) {
            let is_below = |mut at: usize| {
                while tree.parents[at] != 0 {
                    at = tree.parents[at];
                }
                at == top
            };
            let with_tasks: Vec<usize> =
                (1..9).filter(|&at| !tasks[at].is_empty() && is_below(at)).collect();
            let sum: u32 = with_tasks.iter().map(|&at| tree.flat(at)).sum();
            let rounding = with_tasks.len() as u32;
            let weight = tree.groups[top].weight;
            prop_assert!(sum + rounding >= weight && sum <= weight + rounding, "{} of {}", sum, weight);
        }
    }

    /// A group is neither owed nor owes more than the bound, and within it nothing changes.
    #[test]
    fn what_a_group_is_owed_is_bounded(mean: u64, distance in -(1i64 << 40)..(1i64 << 40), flat in 1u32..=10_000) {
        let vtime = mean.wrapping_add(distance as u64);
        let bound = group_bound(vtime, mean, flat).wrapping_sub(mean) as i64;
        let most = vtime_charge(GROUP_LAG_NS, flat) as i64;
        prop_assert_eq!(bound, distance.clamp(-most, most));
        prop_assert!(group_ns(bound, flat).unsigned_abs() <= GROUP_LAG_NS);
    }
}
