// SPDX-License-Identifier: GPL-2.0-only
//! What holds in every simulation, of random scenarios.

use super::*;
use artis_scenario::model::{Channel, Group, Medium, Mutex, Protocol, Semaphore};
use proptest::prelude::*;

/// Steps of a program; the numbers are of objects that every random scenario has.
fn steps() -> impl Strategy<Value = Vec<Op>> {
    let ns = 1_000..5 * MS;
    let one = prop_oneof![
        ns.clone().prop_map(|ns| vec![compute(ns)]),
        ns.clone().prop_map(|ns| vec![Op::Kernel { ns }]),
        ns.clone().prop_map(|ns| vec![Op::Sleep { ns }]),
        ns.clone().prop_map(|ns| vec![Op::Busy { ns }]),
        ns.clone().prop_map(|ns| vec![Op::Timer {
            timer: 0,
            period_ns: 4 * ns
        }]),
        ns.prop_map(|ns| vec![Op::Lock(0), compute(ns), Op::Unlock(0)]),
        (1_u32..20).prop_map(|pages| vec![Op::Faults { pages }]),
        Just(vec![Op::Post(0)]),
        Just(vec![Op::Post(0), Op::Acquire(0)]),
        Just(vec![Op::Send {
            channel: 0,
            bytes: 64
        }]),
        Just(vec![Op::Receive {
            channel: 0,
            bytes: 64
        }]),
        Just(vec![Op::Yield]),
        Just(vec![Op::Fork { task: 0 }]),
    ];
    prop::collection::vec(one, 1..6).prop_map(|parts| {
        let mut steps = parts.concat();
        // Each round takes some time.
        steps.push(Op::Sleep { ns: MS });
        steps
    })
}

fn policies() -> impl Strategy<Value = Policy> {
    prop_oneof![
        4 => (-20_i8..20).prop_map(|nice| Policy::Other { nice }),
        1 => Just(Policy::Batch { nice: 0 }),
        1 => Just(Policy::Idle),
        2 => (-20_i8..20).prop_map(|nice| Policy::Ext { nice }),
        1 => (1_u8..99).prop_map(|priority| Policy::Fifo { priority }),
        1 => (1_u8..99).prop_map(|priority| Policy::RoundRobin { priority }),
        1 => Just(Policy::Deadline { runtime_ns: MS, deadline_ns: 9 * MS, period_ns: 10 * MS }),
    ]
}

fn tasks() -> impl Strategy<Value = Vec<Task>> {
    let cpus = prop::sample::select(vec!["", "", "0", "1", "0-1", "1-2", "3"]);
    let group = prop::option::of(0_usize..2);
    let task = (policies(), cpus, steps(), 1_u32..4, group);
    let task = task.prop_map(|(policy, cpus, steps, count, group)| Task {
        count,
        group,
        ..with(Task::new("task", forever(steps)), policy, cpus)
    });
    prop::collection::vec(task, 1..7)
}

fn whole(mut tasks: Vec<Task>, has_groups: bool) -> Scenario {
    // What is forked does one thing and ends.
    tasks.insert(
        0,
        Task::new("child", Program::new(vec![Step::Do(compute(MS))])),
    );
    if !has_groups {
        tasks.iter_mut().for_each(|task| task.group = None);
    }
    let mut set = scenario(tasks);
    let objects = &mut set.objects;
    objects.mutexes = vec![Mutex {
        name: "m".to_owned(),
        protocol: Protocol::Inheritance,
    }];
    objects.semaphores = vec![Semaphore {
        name: "s".to_owned(),
        value: 1,
    }];
    objects.channels = vec![Channel {
        name: "c".to_owned(),
        medium: Medium::Pipe,
        capacity_bytes: 256,
    }];
    if has_groups {
        let group = |name: &str, weight| Group {
            name: name.to_owned(),
            weight,
            quota: None,
            cpus: None,
        };
        objects.groups = vec![group("a", Some(300)), group("a/b", None)];
    }
    set
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn all_time_of_all_cpus_is_somebodys(
        tasks in tasks(),
        has_groups in any::<bool>(),
        costs in any::<bool>(),
        scheduler in prop::sample::select(vec![
            Scheduler::Stock,
            Scheduler::Isolcpus,
            Scheduler::Artis,
        ]),
    ) {
        let set = whole(tasks, has_groups);
        let setup = if costs { lab(scheduler, 4, "3") } else { setup(scheduler, 4, "3") };
        let outcome = run(&set, Setup { end_ns: 300 * MS, ..setup });
        if let Err(wrong) = whole_time(&outcome, 4) {
            return Err(TestCaseError::fail(wrong));
        }
    }
}

/// All time of all CPUs is somebody's, and all of a task is on CPUs that it knows.
fn whole_time(outcome: &Outcome, cpus: u64) -> Result<(), String> {
    let idle: u64 = outcome.cpu_time.iter().map(|cpu| cpu.idle_ns).sum();
    let ran: u64 = outcome.tasks.iter().map(|task| task.cpu_ns).sum();
    if idle + ran != cpus * outcome.simulated_ns {
        return Err(format!("{idle} idle and {ran} used: {outcome:?}"));
    }
    let wrong = outcome.tasks.iter().find(|task| {
        let by_cpu: u64 = task.cpu_by_cpu_ns.iter().map(|(_, ns)| ns).sum();
        by_cpu != task.cpu_ns || task.cpu_ns + task.waited_ns > task.wall_ns + MS
    });
    wrong.map_or(Ok(()), |task| Err(format!("{task:?}")))
}

#[test]
fn shipped_scenarios_are_simulated() {
    let mut count = 0;
    for entry in std::fs::read_dir("../../lab/scenario").unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let set = artis_scenario::read(&text, None, "it").unwrap().scenario;
        for scheduler in [Scheduler::Stock, Scheduler::Isolcpus, Scheduler::Artis] {
            let outcome = run(
                &set,
                Setup {
                    end_ns: 2 * SECOND,
                    ..lab(scheduler, 4, "3")
                },
            );
            whole_time(&outcome, 4).unwrap_or_else(|wrong| panic!("{}: {wrong}", path.display()));
            // Nobody is forgotten for long, though RT0 takes nine tenths of most CPUs.
            let longest = outcome.tasks.iter().map(|task| task.waited_ns_max).max();
            assert!(longest < Some(SECOND), "{}: {outcome:?}", path.display());
            count += 1;
        }
    }
    assert!(count >= 12, "{count}");
}
