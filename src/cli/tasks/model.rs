// SPDX-License-Identifier: GPL-2.0-only
//! `artis tasks --model`: the admitted tasks, beside their bounds.

use crate::cli::exit::BOUND_MISSED;
use crate::cli::output::{print_json, stdout};
use crate::cli::progress::Sign;
use crate::cli::signals::{self, stop_on_signals};
use crate::machine::Root;
use crate::report::admitted::{self as report, Line};
use crate::task::syscall;
use artis_admit::Admission;
use artis_admit::answer::{OfTask, time};
use artis_admit::model::Policy;
use artis_admitted::jobs::Jobs;
use artis_admitted::join::reservation_of;
use artis_admitted::seen::Seen;
use artis_admitted::{Admitted, OfCpu, Register, beside, register};
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    cpus: Vec<report::OfCpu>,
}

/// Prints them; of each what its watch has seen, or what is seen in so long.
pub fn run(root: &Root, duration: Option<Duration>, json: bool) -> anyhow::Result<ExitCode> {
    let register = register::read(root)?;
    let seen = match duration {
        Some(duration) => watched(root, &register, duration)?,
        None => left(root, &register),
    };
    let cpus: Vec<report::OfCpu> = register
        .cpus
        .iter()
        .map(|of_cpu| on_cpu(root, &register, of_cpu, &seen))
        .collect();
    let holds = cpus.iter().all(report::holds);
    let mut out = stdout();
    match json {
        true => {
            let schema = "artis.admitted/1";
            print_json(&mut out, &Document { schema, cpus })?;
        }
        false => out.text(&report::text(&cpus))?,
    }
    Ok(match holds {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(BOUND_MISSED),
    })
}

/// What their watches have left.
fn left(root: &Root, register: &Register) -> BTreeMap<i32, Seen> {
    let tasks = register.tasks();
    let seen =
        tasks.filter_map(|(_, one)| Some((one.tid, Seen::read(root, one.tid, one.start_ticks)?)));
    seen.collect()
}

/// What is seen of all of them now.
fn watched(
    root: &Root,
    register: &Register,
    duration: Duration,
) -> anyhow::Result<BTreeMap<i32, Seen>> {
    let jobs = Jobs::load()?;
    for of_cpu in &register.cpus {
        for task in &of_cpu.tasks {
            jobs.watch(task.tid, of_cpu.limits(task))?;
        }
    }
    let stop = stop_on_signals()?;
    let sign = Sign::new(true, Some(duration));
    let began = Instant::now();
    signals::sleep(duration, &stop, &mut || sign.show(String::new));
    drop(sign);
    let watched_ns = began.elapsed().as_nanos() as u64;
    let seen = register.tasks().filter_map(|(_, one)| {
        let counted = jobs.counted(one.tid)?;
        // One that has ended meanwhile was seen, too, but is admitted no more.
        let is_alive = register::is_alive(root, one.tid, one.start_ticks);
        is_alive.then(|| {
            (
                one.tid,
                Seen::of(one.tid, one.start_ticks, watched_ns, &counted),
            )
        })
    });
    Ok(seen.collect())
}

fn on_cpu(
    root: &Root,
    register: &Register,
    of_cpu: &OfCpu,
    seen: &BTreeMap<i32, Seen>,
) -> report::OfCpu {
    let set = of_cpu.set();
    let answer: Admission = artis_admit::admit(&set);
    let cpu = answer.cpus.first();
    let found: &[OfTask] = cpu.map_or(&[], |cpu| &cpu.tasks);
    let lines = found.iter().filter_map(|one| {
        let at = set.tasks.iter().position(|task| task.name == one.name)?;
        let task = &of_cpu.tasks[at];
        Some(Line {
            unwatched: unwatched(root, task),
            ..line(of_cpu, task, one, seen.get(&task.tid))
        })
    });
    let (utilisation, taken) = cpu.map_or((0.0, 0.0), |cpu| (cpu.utilisation, cpu.taken));
    report::OfCpu {
        cpu: of_cpu.cpu,
        policy: of_cpu.policy.name(),
        verdict: answer.verdict,
        tasks: lines.collect(),
        warnings: beside::warnings(root, register, of_cpu, utilisation + taken),
        utilisation,
        taken,
        because: answer.because,
    }
}

/// What was to happen at an overrun, where nobody watches any more.
fn unwatched(root: &Root, task: &Admitted) -> Option<&'static str> {
    let action = task.on_overrun?;
    let left = Seen::read(root, task.tid, task.start_ticks);
    let goes_on = left.is_some_and(|seen| seen.goes_on(root));
    (!goes_on).then(|| action.name())
}

fn line(of_cpu: &OfCpu, task: &Admitted, bound: &OfTask, seen: Option<&Seen>) -> Line {
    let numbers = &task.numbers;
    let scheduling = now(task.tid);
    let highest = artis_admit::choose::priorities::HIGHEST;
    let wanted = match of_cpu.policy {
        Policy::Edf => deadline(reservation_of(of_cpu, task)),
        _ => format!("FIFO {}", bound.priority.unwrap_or(highest)),
    };
    let is_bound =
        syscall::affinity(task.tid).is_ok_and(|cpus| cpus.len() == 1 && cpus.contains(of_cpu.cpu));
    // After a task has left, others keep their order, not their numbers.
    let is_in_force = match of_cpu.policy {
        Policy::Edf => scheduling == wanted,
        _ => scheduling.starts_with("FIFO"),
    };
    let not_in_force = match (is_in_force, is_bound) {
        (false, _) => Some(wanted),
        (true, false) => Some(format!("{wanted} on CPU {} only", of_cpu.cpu)),
        (true, true) => None,
    };
    let limits = of_cpu.limits(task);
    Line {
        name: bound.name.clone(),
        pid: task.pid,
        tid: task.tid,
        scheduling,
        not_in_force,
        forced: task.is_forced,
        unwatched: None,
        execution_ns: numbers.execution_ns,
        period_ns: numbers.period_ns,
        deadline_ns: numbers.deadline_ns,
        bound_ns: bound.bound_ns,
        budget_ns: limits.budget_ns,
        distance_ns: limits.period_ns.saturating_sub(limits.jitter_ns),
        seen: seen.map(|seen| report::Seen {
            seconds: seen.watched_ns as f64 / 1e9,
            jobs: seen.counted.jobs,
            overruns: seen.counted.overruns,
            merged: seen.counted.merged,
            execution_ns_max: seen.counted.execution_ns_max,
            response_ns_max: seen.counted.response_ns_max,
            distance_ns_min: seen.counted.distance_ns_min,
        }),
    }
}

fn deadline(one: syscall::Reservation) -> String {
    format!(
        "DEADLINE {} by {}",
        time(one.runtime_ns),
        time(one.deadline_ns)
    )
}

/// How the kernel schedules a thread now.
fn now(tid: i32) -> String {
    if let Ok(Some(one)) = syscall::reservation(tid) {
        return deadline(one);
    }
    match syscall::scheduling(tid) {
        Ok(one) if one.policy == libc::SCHED_FIFO => format!("FIFO {}", one.priority),
        Ok(one) if one.policy == libc::SCHED_RR => format!("RR {}", one.priority),
        Ok(_) => "a normal task".to_owned(),
        Err(_) => "ended".to_owned(),
    }
}
