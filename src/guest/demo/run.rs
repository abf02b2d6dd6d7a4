// SPDX-License-Identifier: GPL-2.0-only
//! The part of the demo that runs in the guest: starts the work, lets it run for a while in each
//! configuration, and counts.
//!
//! Only one thing differs between the windows of two configurations: who decides about the RT CPU.
//! The processes, the order of their start and RT0's units of work are the same. So is the
//! observer, which is loaded before the first window and not touched in between. Counting begins
//! after a warm-up. The configurations take turns, several times: the host of an emulated machine
//! is busier at some times than at others, and a slow minute then affects all of them.

use super::super::scheduler::{self, Scheduler};
use super::{Configuration, Measured, Work};

use artis_load::own::Load;
use artis_load::own::periodic::{Periodic, units_per_second};
use artis_load::own::process::{Place, Process};
use artis_machine::CpuList;
use artis_task::syscall;
use artis_trace::occupancy::{self, Occupancy, Snapshot};
use nix::errno::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// The work beside RT0. Three tasks only compute, so that one can always use the RT CPU. One also
/// enters the kernel now and then, so that there is a task to evict. The others live in the kernel;
/// hackbench runs three times, because one alone mostly waits for the others.
const LOADS: [(Load, usize); 6] = [
    (Load::Compute, 3),
    (Load::Mixed, 1),
    (Load::Faults, 1),
    (Load::Fork, 1),
    (Load::Signals, 1),
    (Load::Hackbench, 3),
];

/// Period of RT0. In two runs of 10 s under the stock scheduler of 7.3.4, on a host with two CPUs,
/// 47 % of 1 ms periods were served and 97 % of 4 ms periods. An emulated CPU stands still whenever
/// its host is busy with something else, so no period is always served; a busy host serves fewer,
/// in every configuration alike.
const PERIOD: Duration = Duration::from_millis(4);

/// Share of the RT CPU that RT0's work takes on an otherwise idle machine.
const RT0_SHARE: f64 = 0.2;

/// The highest priority below the kernel's own stop tasks.
const RT0_PRIORITY: u32 = 99;

/// Turns of each configuration; its time is divided evenly among them.
const TURNS: u32 = 3;

/// From the start of the work to the start of counting: programs get loaded, memory gets touched,
/// and the scheduler sees what each task does.
const WARM_UP: Duration = Duration::from_secs(2);

/// How often progress is reported and the load is checked.
const BEAT: Duration = Duration::from_secs(5);

/// What can go wrong in the guest.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A load failed.
    #[error(transparent)]
    Load(#[from] artis_load::Error),
    /// The observer failed.
    #[error(transparent)]
    Observer(#[from] occupancy::Error),
    /// The RT CPUs leave no other CPU, or are not online.
    #[error(
        "the demo needs at least one RT CPU and one other, both online; RT CPUs {rt}, online {online}"
    )]
    Cpus {
        /// RT CPUs asked for.
        rt: String,
        /// CPUs there are.
        online: String,
    },
    /// An affinity was refused.
    #[error("cannot bind the work to CPUs {cpus}: {errno}")]
    Affinity {
        /// The CPUs.
        cpus: String,
        /// The system's reason.
        errno: Errno,
    },
    /// The scheduler failed.
    #[error(transparent)]
    Scheduler(#[from] scheduler::Error),
    /// Nobody takes the figures.
    #[error("cannot hand over what was measured")]
    Answer(#[source] io::Error),
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The configurations, in this order.
    pub configurations: Vec<Configuration>,
    /// The RT CPUs; RT0 runs on the first.
    pub rt: CpuList,
    /// All CPUs that are online.
    pub online: CpuList,
    /// Time that is counted in each configuration, in all its turns together.
    pub time: Duration,
}

impl Plan {
    /// Runs each configuration; `turn` gets what was measured so far after each turn of all of them,
    /// and `report` a line now and then.
    ///
    /// # Errors
    /// When the observer, a load or the scheduler cannot be started, or ends too early.
    pub fn run(
        &self,
        report: &mut dyn FnMut(&str),
        turn: &mut dyn FnMut(&[Measured]) -> io::Result<()>,
    ) -> Result<(), Error> {
        let others = &self.online - &self.rt;
        let Some(rt0_cpu) = self
            .rt
            .first()
            .filter(|_| !others.is_empty() && self.rt.is_subset(&self.online))
        else {
            return Err(Error::Cpus {
                rt: self.rt.to_string(),
                online: self.online.to_string(),
            });
        };
        report("loading the observer");
        let mut storage = MaybeUninit::uninit();
        let observer = Occupancy::load(&mut storage)?;
        if !observer.absent().is_empty() {
            report(&format!(
                "the observer cannot see the work of {}",
                observer.absent().join(", ")
            ));
        }
        let rt0_cpu = rt0_cpu as usize;
        let busy: Vec<usize> = self.online.iter().map(|cpu| cpu as usize).collect();
        let per_period = units_per_second(rt0_cpu, &busy)? * PERIOD.as_secs_f64() * RT0_SHARE;
        let rt0 = Periodic {
            period: PERIOD,
            work_units: per_period.round().max(1.0) as u64,
            cpu: rt0_cpu,
            priority: RT0_PRIORITY,
        };
        report(&format!(
            "RT0: every {} us, {} units of work, SCHED_FIFO {} on CPU {}",
            rt0.period.as_micros(),
            rt0.work_units,
            rt0.priority,
            rt0.cpu
        ));
        let mut measured: Vec<Measured> = Vec::new();
        let mut windows_left = TURNS * self.configurations.len() as u32;
        for _ in 0..TURNS {
            for &configuration in &self.configurations {
                windows_left -= 1;
                let after = (WARM_UP + self.time / TURNS) * windows_left;
                let one = self.run_one(configuration, &observer, rt0, after, report)?;
                match measured.iter_mut().find(|sum| sum.name == one.name) {
                    Some(sum) => sum.add(one),
                    None => measured.push(one),
                }
            }
            turn(&measured).map_err(Error::Answer)?;
        }
        Ok(())
    }

    fn run_one(
        &self,
        configuration: Configuration,
        observer: &Occupancy<'_>,
        rt0: Periodic,
        after: Duration,
        report: &mut dyn FnMut(&str),
    ) -> Result<Measured, Error> {
        let mut scheduler = match configuration {
            Configuration::Artis => Some(Scheduler::start(&self.rt, &[])?),
            Configuration::Stock | Configuration::Affinity => None,
        };
        // Everything but RT0 leaves the RT CPU: this process too, and all that it starts.
        if configuration == Configuration::Affinity {
            bind_self(&(&self.online - &self.rt))?;
        }
        let mut load = Running::start(rt0)?;
        let mut pass = |what: &str, length: Duration, rest: Duration, load: &mut Running| {
            let end = Instant::now() + length;
            loop {
                load.check()?;
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok::<(), Error>(());
                }
                let whole = (left + rest).as_secs();
                let name = configuration.name();
                report(&format!(
                    "{name}: {what}, {} s left, {whole} s in all",
                    left.as_secs()
                ));
                std::thread::sleep(left.min(BEAT));
            }
        };
        pass("warming up", WARM_UP, after + self.time / TURNS, &mut load)?;
        let begin = Moment::take(observer, &load);
        pass("counting", self.time / TURNS, after, &mut load)?;
        let end = Moment::take(observer, &load);
        load.stop()?;
        let status = scheduler.as_mut().map(Scheduler::status).transpose()?;
        if let Some(scheduler) = scheduler {
            scheduler.stop()?;
        }
        if configuration == Configuration::Affinity {
            bind_self(&self.online)?;
        }
        Ok(self.difference(configuration, &begin, &end, status))
    }

    fn difference(
        &self,
        name: Configuration,
        begin: &Moment,
        end: &Moment,
        scheduler: Option<serde_json::Value>,
    ) -> Measured {
        let is_rt = |cpu: usize| u32::try_from(cpu).is_ok_and(|cpu| self.rt.contains(cpu));
        let work = |load| end.done(load) - begin.done(load);
        Measured {
            name,
            window_ns: u64::try_from((end.at - begin.at).as_nanos()).unwrap_or(u64::MAX),
            rt: end.seen.since(&begin.seen, is_rt),
            all: end.seen.since(&begin.seen, |_| true),
            work: Work {
                batch_units: work(Load::Compute),
                mixed_units: work(Load::Mixed),
                hackbench_rounds: work(Load::Hackbench),
                pages: work(Load::Faults),
                forks: work(Load::Fork),
                signals: work(Load::Signals),
            },
            rt0_periods: end.rt0_begun - begin.rt0_begun,
            rt0_periods_served: end.rt0_done - begin.rt0_done,
            scheduler: scheduler.into_iter().collect(),
        }
    }
}

/// All the processes of one window.
struct Running {
    rt0: Process,
    others: Vec<(Load, Process)>,
}

impl Running {
    fn start(rt0: Periodic) -> Result<Self, Error> {
        let rt0 = rt0.start()?;
        let mut others = Vec::new();
        for (load, count) in LOADS {
            for _ in 0..count {
                others.push((load, load.start(Place::default())?));
            }
        }
        Ok(Self { rt0, others })
    }

    fn check(&mut self) -> Result<(), Error> {
        self.rt0.check()?;
        for (_, process) in &mut self.others {
            process.check()?;
        }
        Ok(())
    }

    /// Stops RT0 last, so that it ran during the whole window.
    fn stop(self) -> Result<(), Error> {
        for (_, process) in self.others {
            process.stop()?;
        }
        Ok(self.rt0.stop()?)
    }
}

/// All counts at one moment.
struct Moment {
    at: Instant,
    seen: Snapshot,
    done: Vec<(Load, u64)>,
    rt0_begun: u64,
    rt0_done: u64,
}

impl Moment {
    fn take(observer: &Occupancy<'_>, load: &Running) -> Self {
        Self {
            at: Instant::now(),
            seen: observer.snapshot(),
            done: load
                .others
                .iter()
                .map(|(load, process)| (*load, process.counters().done()))
                .collect(),
            rt0_begun: load.rt0.counters().begun(),
            rt0_done: load.rt0.counters().done(),
        }
    }

    /// The work of all processes of this kind together.
    fn done(&self, load: Load) -> u64 {
        let of_kind = self.done.iter().filter(|(kind, _)| *kind == load);
        of_kind.map(|(_, done)| done).sum()
    }
}

fn bind_self(cpus: &CpuList) -> Result<(), Error> {
    syscall::set_affinity(0, cpus).map_err(|errno| Error::Affinity {
        cpus: cpus.to_string(),
        errno,
    })
}
