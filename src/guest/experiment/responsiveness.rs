// SPDX-License-Identifier: GPL-2.0-only
//! How soon ordinary tasks answer beside RT0 and the loads: what everybody else pays for RT0.
//!
//! First threads that sleep and wake up, each with a period of its own so that they meet every
//! phase of each other: normal ones, and RT1+ ones at two levels. Where the kernel's own scheduler
//! is on, RT1+ tasks are normal ones with the same nice value. Then short commands, then messages.
//!
//! In a process of its own: RT0's process has locked its memory, and would copy the tables of all
//! of it for each command, while RT0 waits for them.

use super::run::{Error, system};
use super::{Answer, Done, Task, programs};
use artis_machine::cpus::Cpus;
use artis_machine::{CpuList, Root};
use artis_measure::commands::{self, Command};
use artis_measure::latency::sampler::Limits;
use artis_measure::latency::source::{Request, SourceKind};
use artis_measure::latency::{self, Plan, ThreadPlan};
use artis_measure::messages;
use artis_measure::thread::Policy;
use artis_result::experiment::Scheduler;
use artis_result::names::Ordinary;
use artis_result::{Distribution, Kind, Series, Unit};
use artis_task::syscall;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::{self, Stdio};
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// A probe: what it is, its period, and how it is scheduled.
struct Probe {
    work: Ordinary,
    interval_us: u64,
    policy: Policy,
    bound: bool,
}

const PROBES: [Probe; 4] = [
    Probe {
        work: Ordinary::Normal,
        interval_us: 2000,
        policy: Policy::Normal,
        bound: false,
    },
    Probe {
        work: Ordinary::Bound,
        interval_us: 2300,
        policy: Policy::Normal,
        bound: true,
    },
    // nice -20 and -1
    Probe {
        work: Ordinary::Rt1Level1,
        interval_us: 2900,
        policy: Policy::Ext { nice: -20 },
        bound: false,
    },
    Probe {
        work: Ordinary::Rt1Level20,
        interval_us: 3100,
        policy: Policy::Ext { nice: -1 },
        bound: false,
    },
];

/// The CPUs of a task that nobody bound: as users of isolcpus know it, not the isolated ones.
fn everybody(task: &Task) -> Result<CpuList, Error> {
    let online = Cpus::read(&Root::default())?.online;
    Ok(match task.scheduler {
        Scheduler::Isolcpus => &online - &task.rt,
        Scheduler::Stock | Scheduler::Artis | Scheduler::Published(_) => online,
    })
}

/// Measures in a process of its own, and waits for it.
///
/// # Errors
/// When it cannot be started, or fails.
pub fn measure(task: &Task) -> Result<Outcome, Error> {
    let words = serde_json::to_string(task).map_err(io::Error::from);
    let words = words.map_err(system("write down the task"))?;
    let output = process::Command::new("/proc/self/exe")
        .args(["responsiveness", &words])
        .stderr(Stdio::inherit())
        .output()
        .map_err(system("start the probes"))?;
    if !output.status.success() {
        return Err(Error::Probes(output.status));
    }
    let outcome = serde_json::from_slice(&output.stdout).map_err(io::Error::from);
    outcome.map_err(system("read what the probes measured"))
}

/// How many commands are run in each of the task's seconds, and at most.
const COMMANDS_PER_SECOND: u64 = 10;
const COMMANDS_MAX: u64 = 20;
/// Messages go on for this part of the task's seconds, for each kind.
const MESSAGES_PART: u32 = 4;
/// Pairs and workers of each series of messages.
const TALKS: [(Ordinary, usize, usize); 2] =
    [(Ordinary::Messages, 1, 1), (Ordinary::MessagesToMany, 2, 8)];

/// What the probes gave.
#[derive(Default, Serialize, Deserialize)]
pub struct Outcome {
    pub series: Vec<Series>,
    /// Messages and the CPU time that they took, by their series.
    pub messages: BTreeMap<String, Done>,
    /// Seconds that each program took.
    pub programs_s: BTreeMap<String, f64>,
}

/// Measures the task's answers, one kind after the other.
///
/// # Errors
/// When a probe cannot begin, or fails.
pub fn run(task: &Task) -> Result<Outcome, Error> {
    task.groups.enter_session()?;
    let cpus = everybody(task)?;
    // The one that started this may use the other CPUs only.
    syscall::set_affinity(0, &cpus).map_err(system("free the probes from their starter's CPUs"))?;
    let mut outcome = Outcome::default();
    for answer in &task.answers {
        match answer {
            Answer::Wakeups => outcome.series.extend(wakeups(task, &cpus)?),
            Answer::Commands => outcome
                .series
                .push(series(Ordinary::Commands, commands(task)?)),
            Answer::Messages => messages(task, &mut outcome)?,
            Answer::Programs => outcome.programs_s = programs::measure()?,
        }
    }
    Ok(outcome)
}

fn series(work: Ordinary, values: Distribution) -> Series {
    Series::new(work.series(), Kind::Latency, Unit::Nanoseconds, values)
}

fn messages(task: &Task, outcome: &mut Outcome) -> Result<(), Error> {
    for (work, pairs, workers) in TALKS {
        let plan = messages::Plan {
            pairs,
            workers,
            cpus: None,
            policy: Policy::Normal,
            rounds: None,
            duration: Some(Duration::from_secs(task.seconds.into()) / MESSAGES_PART),
        };
        let talk = messages::measure(&plan, &AtomicUsize::new(0), &mut |_| ())?;
        outcome.series.push(series(work, talk.round_trip));
        let done = Done {
            work: talk.messages,
            cpu_ns: u64::try_from(talk.cpu_time.as_nanos()).unwrap_or(u64::MAX),
        };
        outcome.messages.insert(work.series().to_owned(), done);
    }
    Ok(())
}

fn commands(task: &Task) -> Result<Distribution, Error> {
    let plan = commands::Plan {
        command: Command::find(&["true".into()])?,
        cpus: None,
        policy: Policy::Normal,
        count: Some(COMMANDS_MAX.min(COMMANDS_PER_SECOND * u64::from(task.seconds))),
        duration: None,
        pause: Duration::ZERO,
    };
    let outcome = commands::measure(&plan, &AtomicUsize::new(0), &mut |_| ())?;
    match outcome.failed {
        Some(failed) => Err(failed.into()),
        None => Ok(outcome.times),
    }
}

fn wakeups(task: &Task, cpus: &CpuList) -> Result<Vec<Series>, Error> {
    let first = cpus.first();
    let threads = PROBES.iter().map(|probe| ThreadPlan {
        request: Request {
            kind: SourceKind::Timer,
            interval_ns: probe.interval_us * 1000,
            seed: None,
            cpu: if probe.bound { first } else { None },
            allowed: cpus.clone(),
            rtc: PathBuf::new(),
            gpio: None,
        },
        policy: probe.policy,
        task: None,
    });
    let plan = Plan {
        threads: threads.collect(),
        duration: Some(Duration::from_secs(task.seconds.into())),
        limits: Limits::default(),
        freeze_trace: None,
        split: None,
        tick: None,
    };
    let outcome = latency::measure(&plan, &AtomicUsize::new(0), &mut |_| ())?;
    let mut all = Vec::new();
    for (probe, measured) in PROBES.iter().zip(outcome.threads) {
        if let Some(failed) = measured.failed {
            return Err(Error::Timer(failed));
        }
        all.push(series(probe.work, measured.samples.latency));
    }
    Ok(all)
}
