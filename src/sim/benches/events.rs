// SPDX-License-Identifier: GPL-2.0-only
//! How many events a second are simulated, and in how much memory: `cargo bench -p artis-sim`.
//!
//! A line for each machine and scheduler, by CPU time. What it prints depends on the
//! machine that runs it.

use artis_scenario::Scenario;
use artis_scenario::model::{Op, Policy, Program, Step, Task, Timer, Work};
use artis_sim::{Costs, Layout, Scheduler, Setup, Sim, costs};

const MS: u64 = 1_000_000;

/// Tasks of all kinds; a hundredth is real-time, on the RT CPUs.
fn scenario(tasks: u32, rt: u32) -> Scenario {
    let timer = |nth: u32| Timer {
        name: format!("timer {nth}"),
        is_shared: false,
        is_relative: false,
        via: Default::default(),
    };
    let forever = |ops: Vec<Op>| {
        let body = ops.into_iter().map(Step::Do).collect();
        Program::new(vec![Step::Loop { times: None, body }])
    };
    let compute = |ns| Op::Compute(Work::Ns(ns));
    let wait = |timer, period_ns| Op::Timer { timer, period_ns };
    let kind = |name: &str, count, ops| Task {
        count,
        ..Task::new(name, forever(ops))
    };
    let mut list = vec![
        kind("hog", tasks / 4, vec![compute(7 * MS)]),
        kind(
            "caller",
            tasks / 4,
            vec![compute(MS), Op::Kernel { ns: MS / 10 }],
        ),
        kind(
            "sleeper",
            tasks / 4,
            vec![compute(MS / 5), Op::Sleep { ns: 20 * MS }],
        ),
        kind(
            "periodic",
            tasks / 4,
            vec![compute(MS / 2), wait(0, 40 * MS)],
        ),
    ];
    for cpu in 0..rt {
        let mut task = kind(
            &format!("rt{cpu}"),
            1,
            vec![compute(MS / 5), wait(0, 2 * MS)],
        );
        task.policy = Policy::Fifo { priority: 80 };
        task.cpus = Some([cpu].into_iter().collect());
        list.push(task);
    }
    let mut scenario = Scenario {
        name: "all kinds".to_owned(),
        tasks: list,
        ..Scenario::default()
    };
    scenario.objects.timers = vec![timer(0)];
    scenario
}

/// What the process has in memory, KiB.
fn resident_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4
}

/// The CPU time of this process in seconds: others may run beside it.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns = text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok());
    ns.unwrap_or(f64::NAN) / 1e9
}

fn main() {
    // Which tests there are, cargo asks of benches, too.
    if std::env::args().any(|word| word == "--list" || word == "--test") {
        return;
    }
    println!("    CPUs    tasks  scheduler     events  events/s  memory, MiB");
    for (cpus, rt, tasks, end_ns) in [
        (2, 1, 40, 60_000 * MS),
        (16, 2, 400, 10_000 * MS),
        (256, 8, 6_000, 1_000 * MS),
        (4096, 16, 100_000, 200 * MS),
    ] {
        for scheduler in [Scheduler::Stock, Scheduler::Artis] {
            let scenario = scenario(tasks, rt);
            let rt = (0..rt).collect();
            let setup = Setup {
                layout: Layout::new(cpus, rt, Some(cpus.min(16)), None).expect("it can be"),
                costs: Costs::parse(costs::LAB).expect("it is committed"),
                scheduler,
                seed: 1,
                end_ns,
            };
            let before = resident_kib();
            let mut sim = Sim::new(&scenario, setup).expect("it can be");
            let begin = cpu_seconds();
            sim.run();
            let seconds = cpu_seconds() - begin;
            let memory = resident_kib().saturating_sub(before);
            let events = sim.outcome().events;
            println!(
                "{cpus:8} {tasks:8}  {:9} {events:10} {:9.0} {:12.1}",
                scheduler.name(),
                events as f64 / seconds,
                memory as f64 / 1024.0
            );
        }
    }
}
