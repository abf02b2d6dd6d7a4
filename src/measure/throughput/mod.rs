// SPDX-License-Identifier: GPL-2.0-only
//! Throughput: how long a fixed piece of work takes, how much CPU time, how many context switches.
//!
//! Owns the running and timing of [`workload`]s in their [`permutation`]s. Time is
//! `CLOCK_MONOTONIC` from before the first process is started until the last has ended; the rest is
//! what wait4(2) reports of each process and of the children it has waited for. Every run is done
//! by a supervised process ([`artis_load::supervised`]), so nothing of it is left behind. Sources:
//! mckenney-real-time-vs-real-fast, Table 1 (real, user, sys; mean and standard deviation);
//! rowand-how-rt-preempt-works-slides, "Test Variables".

pub mod permutation;
pub mod series;
pub mod workload;

pub use artis_result::runs::Run;

use artis_load::Error;
use artis_load::supervised::{Event, Inside, Supervised, Usage};
use permutation::Setting;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use workload::{Instance, Workload};

/// What to run, how, and how often.
#[derive(Debug)]
pub struct Plan {
    pub workload: Workload,
    pub settings: Vec<Setting>,
    /// Recorded runs of each setting; one more is made before them and not recorded.
    pub runs: u32,
}

fn run_of(real: Duration, usage: Usage) -> Run {
    Run {
        real,
        user: usage.user,
        system: usage.system,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
    }
}

/// What a measurement gave.
#[derive(Debug)]
pub struct Outcome {
    /// For each setting of the plan, the runs that were finished.
    pub runs: Vec<Vec<Run>>,
    /// Why it ended before the last of them.
    pub failed: Option<Error>,
}

impl Outcome {
    /// The runs, where it ended before its last one only because of `stop`.
    ///
    /// # Errors
    /// The failure of a run.
    pub fn complete(self) -> Result<Vec<Vec<Run>>, Error> {
        self.failed.map_or(Ok(self.runs), Err)
    }
}

/// One step of a measurement.
#[derive(Debug, Serialize, Deserialize)]
enum Message {
    /// The unrecorded first run is over.
    Warm,
    Run(Run),
    /// All runs of all settings are over.
    Done,
}

/// Makes the runs until all are made, one fails, or `stop` is not 0. `look` is called some
/// times a second with the runs of each setting so far.
///
/// # Errors
/// When no run was finished: a run that failed, with its exit status and last words; a program that
/// is not installed.
pub fn measure(
    plan: &Plan,
    stop: &AtomicUsize,
    look: &mut dyn FnMut(&[Vec<Run>]),
) -> Result<Outcome, Error> {
    let mut all: Vec<Vec<Run>> = vec![Vec::new(); plan.settings.len()];
    let mut supervised = Supervised::start("artis-runs", |inside| run_all(inside, plan))?;
    let mut current = 0;
    let mut failed = None;
    while stop.load(Ordering::Relaxed) == 0 {
        match supervised.receive(Some(PATIENCE)) {
            Ok(None | Some(Message::Warm)) => {}
            Ok(Some(Message::Done)) => break,
            // A signal may end a run before it is seen here.
            Err(_) if stop.load(Ordering::Relaxed) != 0 => break,
            Err(error) if all[0].is_empty() => return Err(error),
            Err(error) => {
                failed = Some(error);
                break;
            }
            Ok(Some(Message::Run(run))) => {
                all[current].push(run);
                // The runs of a setting follow each other.
                if all[current].len() == plan.runs as usize {
                    current = (current + 1).min(all.len() - 1);
                }
            }
        }
        look(&all);
    }
    Ok(Outcome { runs: all, failed })
}

/// How long a wait lasts before the stop flag is looked at again: a signal may have come just
/// before the wait began.
const PATIENCE: Duration = Duration::from_millis(200);

/// In the supervised process.
fn run_all(inside: &mut Inside, plan: &Plan) -> Result<(), Error> {
    for setting in &plan.settings {
        let instances = (0..setting.instances)
            .map(|number| plan.workload.prepare(setting, inside.folder(), number))
            .collect::<Result<Vec<_>, _>>()?;
        run(inside, &instances, setting)?;
        inside.say(Message::Warm)?;
        for _ in 0..plan.runs {
            let run = run(inside, &instances, setting)?;
            inside.say(Message::Run(run))?;
        }
    }
    inside.say(Message::Done)
}

fn run(inside: &mut Inside, instances: &[Instance], setting: &Setting) -> Result<Run, Error> {
    let began = Instant::now();
    let mut pids = Vec::with_capacity(instances.len());
    for instance in instances {
        pids.push(Some(instance.start(inside, setting)?));
    }
    let mut used = Usage::default();
    loop {
        match inside.wait(None)? {
            Event::Child | Event::Nothing => {}
            Event::Stop | Event::Abandoned => {
                return Err(Error::Reported("the run was stopped".to_owned()));
            }
        }
        while let Some((pid, status, usage)) = inside.reap() {
            // A process that an earlier run left behind may end here, too. It does not count.
            let Some(which) = pids.iter().position(|one| *one == Some(pid)) else {
                continue;
            };
            if !status.success() {
                return Err(instances[which].failed(status));
            }
            pids[which] = None;
            used += usage;
        }
        if pids.iter().all(Option::is_none) {
            return Ok(run_of(began.elapsed(), used));
        }
    }
}
