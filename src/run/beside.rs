// SPDX-License-Identifier: GPL-2.0-only
//! What runs beside a measurement of `artis decide --measure`, while its load is at work: a
//! real-time thread on each other CPU, which would see the whole machine stand still; wakeups of a
//! normal task and short commands, as everybody else has them; and who has the RT CPU.
//!
//! All configurations have the same beside them, so none is favoured. Each thread wakes up every
//! millisecond, the commands come fifty times a second: some per cent of one CPU in all.

use anyhow::Context;
use artis_field::clean::stall::Watched;
use artis_machine::tasks::{self, Task};
use artis_machine::{CpuList, Root, cpu_times, schedstat};
use artis_measure::clock::now_ns;
use artis_measure::commands::{self, Command};
use artis_measure::latency::sampler::Limits;
use artis_measure::latency::source::{Request, SourceKind};
use artis_measure::latency::{self, Plan, ThreadPlan};
use artis_measure::thread::Policy;
use artis_result::names::Ordinary;
use artis_result::{Blocks, Distribution, Kind, Series, Unit};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The period of all threads: that of the thread that is measured.
const INTERVAL_NS: u64 = 1_000_000;
/// Just below the thread that is measured.
const PRIORITY: u8 = 97;
/// From one command's end to the next one's start.
const PAUSE: Duration = Duration::from_millis(20);
/// The command that does nothing, so that all of its time is the machine's.
const COMMAND: &str = "true";
/// `/proc/stat` counts hundredths of a second.
const NS_PER_USER_HZ: u64 = 10_000_000;
const NS: f64 = 1e9;

/// What goes on beside a measurement.
pub(crate) struct Beside {
    stop: Arc<AtomicUsize>,
    threads: JoinHandle<anyhow::Result<Latencies>>,
    commands: JoinHandle<Option<Distribution>>,
    share: Option<Share>,
}

/// Of the threads.
struct Latencies {
    /// Seconds since boot.
    began_s: f64,
    /// Of each other CPU.
    watched: Vec<Blocks>,
    normal: Distribution,
}

/// What was seen.
pub(crate) struct Seen {
    began_s: f64,
    watched: Vec<Blocks>,
    pub series: Vec<Series>,
    /// Of what the measured thread leaves of its CPU, the part that others got.
    pub share_others: Option<f64>,
}

impl Seen {
    /// The threads of the other CPUs.
    pub fn watched(&self) -> Vec<Watched<'_>> {
        let watched = |blocks| Watched {
            began_s: self.began_s,
            blocks,
        };
        self.watched.iter().map(watched).collect()
    }
}

impl Beside {
    /// Begins, beside the process `measuring`, which measures on this CPU of these.
    pub fn start(measuring: i32, rt: u32, online: &CpuList, duration: Duration) -> Self {
        let stop = Arc::new(AtomicUsize::new(0));
        let others = online - &CpuList::from_iter([rt]);
        let (all, flag) = (online.clone(), Arc::clone(&stop));
        let threads = std::thread::spawn(move || watch(&all, &others, duration, &flag));
        let flag = Arc::clone(&stop);
        let commands = std::thread::spawn(move || run_commands(duration, &flag));
        Self {
            stop,
            threads,
            commands,
            share: Share::begin(&Root::default(), measuring, rt),
        }
    }

    /// Reads who had the CPU while the measuring thread is still there; to be repeated.
    pub fn look(&mut self) {
        if let Some(share) = &mut self.share {
            share.look(&Root::default());
        }
    }

    /// Ends it.
    pub fn end(self) -> anyhow::Result<Seen> {
        self.stop.store(1, Ordering::Relaxed);
        let latencies = self.threads.join().ok().context("a thread panicked")??;
        // Without a command there is no figure of commands.
        let commands = self.commands.join().ok().flatten();
        let series = |ordinary: Ordinary, kind, values| {
            Series::new(ordinary.series(), kind, Unit::Nanoseconds, values)
        };
        let mut all = vec![series(Ordinary::Normal, Kind::Latency, latencies.normal)];
        all.extend(commands.map(|times| series(Ordinary::Commands, Kind::Duration, times)));
        Ok(Seen {
            began_s: latencies.began_s,
            watched: latencies.watched,
            series: all,
            share_others: self.share.and_then(|share| share.of_others()),
        })
    }
}

fn watch(
    all: &CpuList,
    others: &CpuList,
    duration: Duration,
    stop: &AtomicUsize,
) -> anyhow::Result<Latencies> {
    let thread = |cpu, policy| ThreadPlan {
        request: Request {
            kind: SourceKind::Timer,
            interval_ns: INTERVAL_NS,
            seed: None,
            cpu,
            allowed: all.clone(),
            rtc: PathBuf::new(),
            gpio: None,
        },
        policy,
        task: None,
    };
    let watching = others
        .iter()
        .map(|cpu| thread(Some(cpu), Policy::Fifo(PRIORITY)));
    let plan = Plan {
        threads: watching.chain([thread(None, Policy::Normal)]).collect(),
        duration: Some(duration),
        limits: Limits::default(),
        freeze_trace: None,
        split: None,
        tick: None,
    };
    let outcome = latency::measure(&plan, stop, &mut |_| ())?;
    let mut threads = outcome.threads;
    let normal = threads.pop().context("no thread had begun")?;
    let watched = threads.iter().filter_map(|one| one.samples.maxima.blocks());
    Ok(Latencies {
        began_s: outcome.began_ns as f64 / NS,
        watched: watched.collect(),
        normal: normal.samples.latency,
    })
}

fn run_commands(duration: Duration, stop: &AtomicUsize) -> Option<Distribution> {
    let plan = commands::Plan {
        command: Command::find(&[COMMAND.into()]).ok()?,
        cpus: None,
        policy: Policy::Normal,
        count: None,
        duration: Some(duration),
        pause: PAUSE,
    };
    let outcome = commands::measure(&plan, stop, &mut |_| ()).ok()?;
    Some(outcome.times)
}

/// Who had the RT CPU.
struct Share {
    rt: u32,
    threads: Vec<Task>,
    began: (Instant, Counted),
    last: (Instant, Counted),
}

/// Nanoseconds of tasks on the RT CPU: of all, and of the measuring threads.
#[derive(Clone, Copy)]
struct Counted {
    all: u64,
    own: u64,
}

impl Share {
    /// None where the kernel does not count, or no thread measures on this CPU.
    fn begin(root: &Root, process: i32, rt: u32) -> Option<Self> {
        let only = CpuList::from_iter([rt]);
        let mut threads = tasks::all(root).ok()?;
        threads.retain(|task| {
            let is_measuring = task.pid == process && task.policy.is_real_time();
            is_measuring && tasks::status(root, task).is_some_and(|of| of.allowed == only)
        });
        if threads.is_empty() {
            return None;
        }
        let now = (Instant::now(), counted(root, rt, &threads)?);
        Some(Self {
            rt,
            threads,
            began: now,
            last: now,
        })
    }

    fn look(&mut self, root: &Root) {
        if let Some(now) = counted(root, self.rt, &self.threads) {
            self.last = (Instant::now(), now);
        }
    }

    fn of_others(&self) -> Option<f64> {
        let whole = self.last.0.duration_since(self.began.0).as_nanos() as f64;
        let all = self.last.1.all.saturating_sub(self.began.1.all) as f64;
        let own = self.last.1.own.saturating_sub(self.began.1.own) as f64;
        let left = whole - own;
        (whole > 0.0 && left > 0.0).then(|| ((all - own) / left).clamp(0.0, 1.0))
    }
}

/// None when one of the threads has ended.
fn counted(root: &Root, rt: u32, threads: &[Task]) -> Option<Counted> {
    let mut own = 0;
    for task in threads {
        let text = root.hint(format!("/proc/{}/task/{}/schedstat", task.pid, task.tid))?;
        own += text.split(' ').next()?.parse::<u64>().ok()?;
    }
    let all = match schedstat::running_ns(root).ok()?.get(&rt) {
        Some(all) => *all,
        // A kernel without schedstats knows to the nanosecond when a CPU idles, and to the tick
        // what it runs; a task in step with the tick would be missed.
        None => {
            let times = cpu_times::read(root).ok()?.get(&rt).copied()?;
            now_ns().saturating_sub((times.idle + times.steal) * NS_PER_USER_HZ)
        }
    };
    Some(Counted { all, own })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_get_what_the_measured_thread_leaves() {
        let began = Instant::now();
        let share = |all: u64, own: u64| {
            let at = |all, own| Counted { all, own };
            let share = Share {
                rt: 1,
                threads: Vec::new(),
                began: (began, at(100, 50)),
                last: (began + Duration::from_nanos(1000), at(100 + all, 50 + own)),
            };
            share.of_others()
        };
        assert_eq!(share(1000, 200), Some(1.0));
        assert_eq!(share(600, 200), Some(0.5));
        assert_eq!(share(200, 200), Some(0.0));
        // Counters that are read one after the other are a little apart.
        assert_eq!(share(190, 200), Some(0.0));
        assert_eq!(share(0, 1000), None);
    }

    #[test]
    fn a_normal_task_and_commands_are_timed_until_it_ends() {
        let allowed = artis_task::syscall::affinity(0).unwrap();
        let rt = allowed.last().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        // Without a CPU for watching, which would need rights.
        let only = CpuList::from_iter([rt]);
        let mut beside = Beside::start(own, rt, &only, Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(300));
        beside.look();
        let seen = beside.end().unwrap();
        assert!(seen.watched().is_empty());
        let names: Vec<&str> = seen.series.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["normal_latency", "commands"]);
        assert!(seen.series.iter().all(|one| one.distribution.count() > 0));
        // No thread of this process is a real-time one.
        assert_eq!(seen.share_others, None);
    }
}
