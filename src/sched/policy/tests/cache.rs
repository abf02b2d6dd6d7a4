// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy/cache.h`: who takes tasks from another last-level cache.
//!
//! A small model of CPUs of one kind with several caches obeys the policy as the BPF program does:
//! a queue for each cache, one virtual time for all.

use super::*;

const TICK: u64 = 4 * MS;

/// A task that computes, and where it waits or runs.
struct Task {
    weight: u32,
    cache: usize,
    /// It may run there only.
    bound: bool,
    runs: bool,
    vtime: u64,
    deadline: u64,
    ran: u64,
}

struct Model {
    pool: Pool,
    tasks: Vec<Task>,
    /// The cache of each CPU, and the task there.
    cpus: Vec<(usize, Option<usize>)>,
    moves: u64,
}

impl Model {
    /// How many CPUs each cache has; of each task its weight, its cache, and whether it is bound.
    fn new(cpus: &[usize], tasks: &[(u32, usize, bool)]) -> Self {
        let of = |(cache, cpus): (usize, &usize)| vec![(cache, None); *cpus];
        let mut model = Self {
            pool: Pool::default(),
            tasks: Vec::new(),
            cpus: cpus.iter().enumerate().flat_map(of).collect(),
            moves: 0,
        };
        for &(weight, cache, bound) in tasks {
            let (vtime, deadline) = model.arrive(Arrival::New, weight, 0, 0);
            model.tasks.push(Task {
                weight,
                cache,
                bound,
                runs: false,
                vtime,
                deadline,
                ran: 0,
            });
        }
        model
    }

    fn arrive(&mut self, how: Arrival, weight: u32, vtime: u64, before: u64) -> (u64, u64) {
        let mut at = joining(0, weight, 0);
        let vtime = pool_arrive(&mut self.pool, &mut at, how, vtime, 0);
        let deadline = deadline(&at, how, before, vtime, SLICE_NRT_NS);
        (vtime, deadline)
    }

    /// The first who waits at this cache.
    fn first(&self, cache: usize) -> Option<usize> {
        let waits = |at: &usize| !self.tasks[*at].runs && self.tasks[*at].cache == cache;
        let all = (0..self.tasks.len()).filter(waits);
        all.min_by_key(|at| self.tasks[*at].deadline)
    }

    /// The first of another cache who may come here, and who is owed much more than `ours`.
    fn far(&self, cache: usize, ours: Option<u64>) -> Option<usize> {
        let all = (0..self.tasks.len()).filter(|at| {
            let task = &self.tasks[*at];
            let is_owed = |ours| {
                may_be_far(task.deadline, ours)
                    && takes_far(task.deadline, task.weight, self.pool.weight, ours)
            };
            !task.runs && !task.bound && task.cache != cache && ours.is_none_or(is_owed)
        });
        all.min_by_key(|at| self.tasks[*at].deadline)
    }

    /// A tick of one CPU: its slice is over, and the next task comes.
    fn tick(&mut self, cpu: usize) {
        let (cache, running) = self.cpus[cpu];
        if let Some(at) = running {
            let (weight, before) = (self.tasks[at].weight, self.tasks[at].deadline);
            let vtime = self.tasks[at].vtime + vtime_charge(TICK, weight);
            pool_charge(&mut self.pool, vtime_charge(TICK, weight), weight);
            pool_leave(&mut self.pool, vtime, weight);
            let (vtime, deadline) = self.arrive(Arrival::Again, weight, vtime, before);
            let task = &mut self.tasks[at];
            (task.vtime, task.deadline, task.runs) = (vtime, deadline, false);
            task.ran += TICK;
        }
        let own = self.first(cache);
        let ours = own.map(|at| self.tasks[at].deadline);
        let next = self.far(cache, ours).or(own);
        if let Some(at) = next {
            self.tasks[at].runs = true;
            self.moves += u64::from(self.tasks[at].cache != cache);
            self.tasks[at].cache = cache;
        }
        self.cpus[cpu].1 = next;
    }

    fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            for cpu in 0..self.cpus.len() {
                self.tick(cpu);
            }
        }
    }

    /// Of each task, what it had of its fair share of all CPUs.
    fn parts(&self) -> Vec<f64> {
        let ran: u64 = self.tasks.iter().map(|task| task.ran).sum();
        let weights: u32 = self.tasks.iter().map(|task| task.weight).sum();
        let share = |task: &Task| f64::from(task.weight) / f64::from(weights) * ran as f64;
        let part = |task: &Task| task.ran as f64 / share(task);
        self.tasks.iter().map(part).collect()
    }
}

#[test]
fn whatever_the_numbers_everybody_has_a_share() {
    let [heavy, normal, light] = [335, 100, 36].map(weight);
    for (cpus, tasks) in [
        (vec![4, 4], vec![(normal, 0, false); 9]),
        (vec![4, 4], vec![(normal, 1, false); 24]),
        (vec![1, 7], vec![(normal, 0, false); 20]),
        // a cache whose CPUs all went offline
        (vec![0, 3], vec![(normal, 0, false); 5]),
        (vec![2, 2, 2], vec![(normal, 2, false); 7]),
        (
            vec![2, 2],
            [vec![(heavy, 0, false); 4], vec![(light, 1, false); 8]].concat(),
        ),
    ] {
        let mut model = Model::new(&cpus, &tasks);
        model.run(10_000);
        let parts = model.parts();
        assert!(
            parts.iter().all(|part| (0.85..1.2).contains(part)),
            "{cpus:?}: {parts:.2?}"
        );
    }
}

#[test]
fn with_as_many_tasks_for_each_cpu_they_stay() {
    for each in [1, 2, 3, 8] {
        let tasks: Vec<_> = (0..8 * each)
            .map(|at| (weight(100), at % 2, false))
            .collect();
        let mut model = Model::new(&[4, 4], &tasks);
        model.run(10_000);
        assert_eq!(model.moves, 0, "{each} for each CPU");
    }
}

#[test]
fn one_task_too_many_goes_round_slowly() {
    let mut model = Model::new(&[4, 4], &[(weight(100), 0, false); 9]);
    model.run(10_000);
    let dispatches = 10_000 * 8;
    assert!(model.moves < dispatches / 10, "{} moves", model.moves);
}

#[test]
fn who_is_bound_to_a_crowded_cache_does_not_keep_others_there() {
    let tasks = [
        vec![(weight(100), 0, true); 6],
        vec![(weight(100), 0, false); 6],
    ]
    .concat();
    let mut model = Model::new(&[2, 2], &tasks);
    model.run(10_000);
    let parts = model.parts();
    // 6 bound tasks on 2 CPUs, 6 free ones mostly on the other 2
    assert!(parts.iter().all(|part| *part > 0.7), "{parts:.2?}");
}

#[test]
fn a_task_is_owed_by_its_own_time() {
    let all = u64::from(weight(100));
    for one in [36, 100, 335] {
        let weight = weight(one);
        let far = vtime_charge(FAR_NS, weight);
        let base = 1 << 40;
        assert!(!takes_far(base, weight, all, base + far));
        assert!(takes_far(base, weight, all, base + far + 1));
        assert!(may_be_far(base, base + 1) && !may_be_far(base, base));
    }
}

#[test]
fn only_cpus_that_are_online_serve_and_rt_cpus_only_who_may_be_on_any() {
    for any in [false, true] {
        assert!(serves(false, false, any) && serves(true, false, any) == any);
        assert!(!serves(false, true, any) && !serves(true, true, any));
    }
}
