// SPDX-License-Identifier: GPL-2.0-only
//! Tests of whole simulations.

mod artis;
mod bugs;
mod classes;
mod invariants;
mod random;
mod simso;

use crate::costs::{LAB, NONE};
use crate::{Costs, Layout, Outcome, Scheduler, Setup, Sim};
use artis_scenario::Scenario;
use artis_scenario::model::{Op, Policy, Program, Step, Task, Timer, Work};
use std::process::Command;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// A machine of that many CPUs, of which these are RT, for one second without costs.
fn setup(scheduler: Scheduler, cpus: u32, rt: &str) -> Setup {
    let rt = match rt {
        "" => Default::default(),
        list => list.parse().unwrap(),
    };
    Setup {
        layout: Layout::new(cpus, rt, None, None).unwrap(),
        costs: Costs::parse(NONE).unwrap(),
        scheduler,
        seed: 1,
        end_ns: SECOND,
    }
}

/// The same with the costs of the lab.
fn lab(scheduler: Scheduler, cpus: u32, rt: &str) -> Setup {
    Setup {
        costs: Costs::parse(LAB).unwrap(),
        ..setup(scheduler, cpus, rt)
    }
}

fn run(scenario: &Scenario, setup: Setup) -> Outcome {
    let mut sim = Sim::new(scenario, setup).unwrap();
    sim.run();
    sim.outcome()
}

/// The same with artis, whose policy is this text.
fn run_with_policy(policy: &str, scenario: &Scenario, setup: Setup) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let (header, library) = (
        folder.path().join("policy.h"),
        folder.path().join("other.so"),
    );
    std::fs::write(&header, policy).unwrap();
    let output = Command::new(env!("ARTIS_CLANG"))
        .args(env!("ARTIS_SIM_FLAGS").split(' '))
        .args(["-O0", "-shared", "-fPIC", "native/artis.c", "-o"])
        .arg(&library)
        .arg(format!("-DARTIS_POLICY=\"{}\"", header.display()))
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    // SAFETY: the library is the scheduler's, compiled just now, and stays to the end of this.
    unsafe {
        let loaded = libloading::Library::new(&library).unwrap();
        let other: libloading::Symbol<'_, *const std::ffi::c_void> =
            loaded.get(b"artis_sim_scheduler").unwrap();
        let other = other.try_as_raw_ptr().unwrap();
        let mut sim = crate::ext::with_scheduler(other, || Sim::new(scenario, setup).unwrap());
        sim.run();
        sim.outcome()
    }
}

fn forever(ops: Vec<Op>) -> Program {
    let body = ops.into_iter().map(Step::Do).collect();
    Program::new(vec![Step::Loop { times: None, body }])
}

fn compute(ns: u64) -> Op {
    Op::Compute(Work::Ns(ns))
}

/// A task that computes for ever.
fn hog(name: &str) -> Task {
    Task::new(name, forever(vec![compute(10 * MS)]))
}

/// A task that computes for a time and makes a system call, for ever.
fn caller(name: &str, between_ns: u64, call_ns: u64) -> Task {
    let body = vec![compute(between_ns), Op::Kernel { ns: call_ns }];
    Task::new(name, forever(body))
}

/// A task that works every so often, by the timer of that number.
fn periodic(name: &str, timer: usize, period_ns: u64, work_ns: u64) -> Task {
    let body = vec![compute(work_ns), Op::Timer { timer, period_ns }];
    Task::new(name, forever(body))
}

fn with(task: Task, policy: Policy, cpus: &str) -> Task {
    let cpus = (!cpus.is_empty()).then(|| cpus.parse().unwrap());
    Task {
        policy,
        cpus,
        ..task
    }
}

/// A scenario with so many timers that each task has its own.
fn scenario(tasks: Vec<Task>) -> Scenario {
    let mut scenario = Scenario {
        name: "test".to_owned(),
        tasks,
        ..Scenario::default()
    };
    let timer = |nth: usize| Timer {
        name: format!("timer {nth}"),
        is_shared: false,
        is_relative: false,
        via: Default::default(),
    };
    scenario.objects.timers = (0..scenario.tasks.len()).map(timer).collect();
    scenario
}

fn share(outcome: &Outcome, name: &str) -> f64 {
    let named = outcome.tasks.iter().find(|task| task.name == name);
    named.unwrap().cpu_ns as f64 / outcome.simulated_ns as f64
}

/// Is `a` as much as `b`, but for a part?
fn near(a: f64, b: f64, part: f64) -> bool {
    (a - b).abs() <= part * b
}
