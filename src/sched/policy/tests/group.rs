// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the weights of CPU cgroups in `bpf/policy/group.h`: the tree as the BPF program keeps
//! it, and tasks that share a machine by it, on models of their own.

use super::*;

const SCALE: u32 = WEIGHT_SCALE as u32;

/// Groups; the first is the root, and a group's parent comes before it.
struct Tree {
    groups: Vec<Group>,
    parents: Vec<usize>,
    now_ns: u64,
}

impl Tree {
    /// Each group by its parent and its weight.
    fn new(below_root: &[(usize, u32)]) -> Self {
        let group = |&(_, weight): &(usize, u32)| Group {
            weight: group_weight(weight, false),
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
            now_ns: 1 << 40,
        }
    }

    fn join(&mut self, at: usize, weight: u32) {
        let mut more = group_join(&mut self.groups[at], weight, self.now_ns);
        let mut at = at;
        while more && self.parents[at] != 0 {
            let weight = self.groups[at].weight;
            at = self.parents[at];
            more = group_join_below(&mut self.groups[at], weight, self.now_ns);
        }
    }

    fn leave(&mut self, at: usize, weight: u32) {
        let mut more = group_leave(&mut self.groups[at], weight, self.now_ns);
        let mut at = at;
        while more && self.parents[at] != 0 {
            let weight = self.groups[at].weight;
            at = self.parents[at];
            more = group_leave_below(&mut self.groups[at], weight, self.now_ns);
        }
    }

    fn reweigh(&mut self, at: usize, weight: u32) {
        let (above, below) = self.groups.split_at_mut(at);
        let parent = &mut above[self.parents[at]];
        group_reweigh(
            &mut below[0],
            parent,
            group_weight(weight, false),
            self.now_ns,
        );
    }

    fn passes(&mut self, ns: u64) {
        self.now_ns += ns;
        for group in &mut self.groups {
            group_note(group, self.now_ns);
        }
    }

    /// So much time passes that nobody is new any more.
    fn settle(&mut self) {
        self.passes(GROUP_MEAN_NS);
    }

    fn flat(&self, at: usize) -> u32 {
        let mut part = group_whole();
        let mut at = at;
        while self.parents[at] != 0 {
            let parent = self.parents[at];
            part = group_part(part, self.groups[at].weight, &self.groups[parent]);
            at = parent;
        }
        group_flat(part, self.groups[at].weight)
    }

    /// What a task of this weight counts with, one of the group's.
    fn share(&self, at: usize, weight: u32) -> u32 {
        share(self.flat(at), &self.groups[at], weight)
    }
}

#[test]
fn a_group_weighs_the_same_whatever_its_number_of_tasks() {
    let mut tree = Tree::new(&[(0, 300)]);
    for tasks in 1..=30 {
        tree.join(1, NICE_0);
        assert_eq!(tree.flat(1), 300 * SCALE);
        assert_eq!(tree.share(1, NICE_0), 300 * SCALE / tasks);
    }
}

#[test]
fn the_nice_values_in_a_group_divide_what_it_has() {
    let mut tree = Tree::new(&[(0, 400)]);
    tree.join(1, NICE_0);
    tree.join(1, 3 * NICE_0);
    tree.settle();
    let part = |weight| tree.share(1, weight);
    assert_eq!((part(NICE_0), part(3 * NICE_0)), (100 * SCALE, 300 * SCALE));
}

#[test]
fn shares_multiply_along_the_path_and_only_the_active_count() {
    // 1: 600, with 2: 100 and 3: 200 below, and 4: 50 below 3.
    let mut tree = Tree::new(&[(0, 600), (1, 100), (1, 200), (3, 50)]);
    tree.join(2, NICE_0);
    assert_eq!(tree.flat(2), 600 * SCALE, "alone below");
    tree.join(4, NICE_0);
    tree.settle();
    let rounded_down = (200 * SCALE - 1, 400 * SCALE - 1);
    assert_eq!((tree.flat(2), tree.flat(4)), rounded_down);
    tree.leave(2, NICE_0);
    assert_eq!(tree.flat(4), 600 * SCALE, "at once");
    tree.leave(4, NICE_0);
    assert!(tree.groups.iter().all(|group| group.active == 0));
}

#[test]
fn tasks_between_groups_compete_with_the_groups_below_them() {
    let mut tree = Tree::new(&[(0, 100), (1, 300)]);
    tree.join(1, NICE_0);
    tree.join(2, NICE_0);
    tree.settle();
    let shares = (tree.share(1, NICE_0), tree.share(2, NICE_0));
    assert_eq!(shares, (25 * SCALE, 75 * SCALE));
    assert!(group_changes(&tree.groups[1], false));
    assert!(!group_changes(&tree.groups[2], false), "it is a leaf");
}

#[test]
fn a_heavy_competitor_that_comes_for_a_moment_makes_nobody_light() {
    let heavy = 90 * NICE_0;
    let mut tree = Tree::new(&[(0, 100), (1, 100), (1, 9_000)]);
    tree.join(2, NICE_0);
    tree.settle();
    // In the same group, then in one beside it.
    for at in [2, 3] {
        tree.join(at, heavy);
        assert_eq!(tree.share(2, NICE_0), 50 * SCALE, "in {at}: as if alike");
        assert!(
            tree.share(at, heavy) >= 98 * SCALE,
            "in {at}: it has its own"
        );
        tree.passes(GROUP_MEAN_NS / 100);
        assert!(tree.share(2, NICE_0) >= 49 * SCALE, "in {at}");
        tree.leave(at, heavy);
        assert_eq!(tree.share(2, NICE_0), 100 * SCALE, "in {at}: it has gone");
        tree.settle();
    }
    // One that stays has what its weight says, in two spans at most.
    tree.join(2, heavy);
    for _ in 0..20 {
        tree.passes(GROUP_MEAN_NS / 10);
    }
    assert_eq!(tree.share(2, NICE_0), 100 * SCALE / 91);
}

#[test]
fn the_mean_of_a_group_is_that_of_a_span() {
    let mut tree = Tree::new(&[(0, 100)]);
    tree.settle();
    // A hundredth of the time, for five spans.
    for _ in 0..500 {
        tree.join(1, 9_000);
        tree.passes(GROUP_MEAN_NS / 10_000);
        tree.leave(1, 9_000);
        tree.passes(99 * GROUP_MEAN_NS / 10_000);
    }
    assert!(group_mean(&tree.groups[1]).abs_diff(90) <= 1);
    let before = tree.groups[1];
    group_note(&mut tree.groups[1], tree.now_ns - 5);
    assert_eq!(tree.groups[1].noted_ns, before.noted_ns, "another clock");
    tree.passes(3 * GROUP_MEAN_NS);
    assert_eq!(group_mean(&tree.groups[1]), 0, "nobody for long");
}

#[test]
fn a_flattened_weight_is_computed_again_when_the_tree_changed_or_after_a_while() {
    assert!(group_is_stale(true, 7, 7));
    assert!(!group_is_stale(false, 7, 7 + GROUP_FLAT_NS - 1));
    assert!(group_is_stale(false, 7, 7 + GROUP_FLAT_NS));
    assert!(!group_is_stale(false, 7, 6), "another clock");
}

#[test]
fn a_new_weight_counts_soon() {
    let mut tree = Tree::new(&[(0, 100), (1, 100), (1, 100)]);
    tree.join(2, NICE_0);
    tree.join(3, NICE_0);
    tree.reweigh(2, 300);
    tree.settle();
    assert_eq!((tree.flat(2), tree.flat(3)), (75 * SCALE, 25 * SCALE));
    tree.leave(2, NICE_0);
    assert_eq!(tree.groups[1].below, u64::from(100 * SCALE));
    tree.reweigh(2, 7);
    assert_eq!(
        tree.groups[1].below,
        u64::from(100 * SCALE),
        "it is not active"
    );
}

#[test]
fn the_least_weight_is_not_zero() {
    assert_eq!(group_weight(0, false), SCALE);
    assert_eq!(group_weight(10_000, false), 10_000 * SCALE);
    assert_eq!(group_weight(10_000, true), task_weight(5, 120), "cpu.idle");
    let mut tree = Tree::new(&[(0, 1), (1, 1), (1, 10_000)]);
    tree.join(2, NICE_0);
    tree.join(3, NICE_0);
    tree.settle();
    assert_eq!(tree.flat(2), 1);
    for _ in 0..1000 {
        tree.join(2, NICE_0);
    }
    assert_eq!(tree.share(2, NICE_0), 1);
}

#[test]
fn only_linux_tasks_share_by_their_group() {
    assert!(is_grouped(Class::Linux, false));
    assert!(!is_grouped(Class::Linux, true), "artis lets the others on");
    assert!(!is_grouped(Class::Rt1, false) && !is_grouped(Class::Kthread, false));
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
    let weights = proptest::collection::vec(1u32..=10_000, 8..=8);
    (parents, more, weights).prop_map(|((a, b, c, d), (e, f, g, h), weights)| {
        [a, b, c, d, e, f, g, h].into_iter().zip(weights).collect()
    })
}

proptest! {
    /// Whoever comes and goes: the sums are those of who is there, and what the tasks below a group
    /// of the root count with adds up to that one's weight, but for what is rounded away.
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
            prop_assert_eq!(group.tasks, tasks[at].iter().map(|one| u64::from(*one)).sum::<u64>());
            prop_assert_eq!(group.active != 0, active[at]);
            let below: Vec<usize> =
                (1..9).filter(|&other| tree.parents[other] == at && active[other]).collect();
            prop_assert_eq!(group.members as usize, tasks[at].len() + below.len());
            let below = below.iter().map(|&other| u64::from(tree.groups[other].weight));
            prop_assert_eq!(group.below, below.sum::<u64>());
        }
        tree.settle();
        for top in (1..9).filter(|&at| tree.parents[at] == 0 && active[at]) {
            let is_below = |mut at: usize| {
                while tree.parents[at] != 0 {
                    at = tree.parents[at];
                }
                at == top
            };
            let shares: Vec<u32> = (1..9)
                .filter(|&at| is_below(at))
                .flat_map(|at| tasks[at].iter().map(move |&weight| (at, weight)))
                .map(|(at, weight)| tree.share(at, weight))
                .collect();
            let sum: u32 = shares.iter().sum();
            let weight = tree.groups[top].weight;
            // A group's weight is rounded before its tasks divide it.
            let rounding = 2 * shares.len() as u32;
            prop_assert!(sum + rounding >= weight && sum <= weight + rounding, "{} of {}", sum, weight);
        }
    }
}
