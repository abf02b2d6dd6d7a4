// SPDX-License-Identifier: GPL-2.0-only
//! What a machine takes from the tasks of a CPU: wakeups, switches, the tick, interrupts.
//!
//! Owns the threads that find these out ([`spin`], [`switch`]) and what their figures are made of
//! ([`gaps`]). All are what was seen, and no bound. The longest section with preemption off is not
//! among them: only the kernel's tracer knows it.
//! Source of the gaps: D. B. de Oliveira, D. Casini, T. Cucinotta, "Operating system noise in the
//! Linux kernel", 2022: a thread that only reads the clock sees what interrupts it.

pub mod gaps;
pub mod spin;
pub mod switch;

use crate::latency::place::Tick;
use crate::latency::sampler::Limits;
use crate::latency::source::{Request, SourceKind};
use crate::latency::{self, ThreadPlan};
use crate::thread::{self, PRIORITY, Policy};
use crate::threads::SpawnError;
use artis_machine::interrupts::{self, Table};
use artis_machine::{CpuList, Root, Unreadable};
use gaps::{Gap, Gaps, Ticks};
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// Period of the wakeups: it comes to every place between two ticks.
const WAKEUP_NS: u64 = 1_003_000;
/// The CPU's own timer in `/proc/interrupts`, on x86 and on ARM.
const LOCAL_TIMER: &str = "LOC";
const ARM_TIMER: &str = "arch_timer";
/// How often interrupts are counted: their rate is the highest of such a stretch.
const COUNT: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Thread(#[from] thread::Error),
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error(transparent)]
    Latency(#[from] latency::Error),
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("could not make a timer")]
    Timer(#[source] nix::errno::Errno),
}

/// What was seen of wakeups, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wakeups {
    pub count: u64,
    pub min_ns: u64,
    pub max_ns: u64,
}

/// A source of interrupts on the CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// As `/proc/interrupts` has it: the label, and what it is of.
    pub name: String,
    /// The most of a stretch of 100 ms, for a second.
    pub per_second_max: u64,
    pub count: u64,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    pub wakeups: Option<Wakeups>,
    pub switches: switch::Switches,
    /// What interrupts a thread that reads the clock only.
    pub gaps: Gaps,
    pub releases: spin::Releases,
    pub tick_period_ns: Option<u64>,
    /// But for those of the local timer, which are ticks and releases.
    pub sources: Vec<Source>,
}

impl Costs {
    /// The tick with its period, if it was seen, and all gaps that are none.
    pub fn tick(&self) -> (Option<(u64, Ticks)>, Vec<Gap>) {
        let Some(period_ns) = self.tick_period_ns else {
            return (None, self.gaps.all.clone());
        };
        let (ticks, others) = self.gaps.split(period_ns);
        (ticks.map(|ticks| (period_ns, ticks)), others)
    }

    /// A length for each source: gaps have no name, so each may have made the longest.
    pub fn interrupt_length_ns(&self, others: &[Gap]) -> Option<u64> {
        let longest = |gaps: &[Gap]| gaps.iter().map(|gap| gap.length_ns).max();
        // Where all came with the tick, its gaps are all there is.
        longest(others).or_else(|| longest(&self.gaps.all))
    }
}

/// Measures one CPU: a third of the time each for wakeups, for gaps, and for the rest.
///
/// # Errors
/// When a thread cannot begin.
pub fn measure(cpu: u32, duration: Duration, stop: &AtomicUsize) -> Result<Costs, Error> {
    let part = duration / 3;
    let wakeups = wakeups(cpu, part, stop)?;
    let (gaps, sources) = spin_and_count(cpu, part)?;
    let releases = spin::releases(cpu, part)?;
    Ok(Costs {
        wakeups,
        switches: switch::measure(cpu)?,
        gaps,
        releases,
        tick_period_ns: Tick::of_kernel().map(|tick| tick.period_ns),
        sources,
    })
}

fn wakeups(cpu: u32, duration: Duration, stop: &AtomicUsize) -> Result<Option<Wakeups>, Error> {
    let plan = latency::Plan {
        threads: vec![ThreadPlan {
            request: Request {
                kind: SourceKind::Nanosleep,
                interval_ns: WAKEUP_NS,
                seed: None,
                cpu: Some(cpu),
                allowed: CpuList::from_iter([cpu]),
                rtc: PathBuf::new(),
                gpio: None,
            },
            policy: Policy::Fifo(PRIORITY),
            task: None,
        }],
        duration: Some(duration),
        limits: Limits {
            samples: None,
            threshold_ns: None,
        },
        freeze_trace: None,
        split: None,
        tick: None,
    };
    let outcome = latency::measure(&plan, stop, &mut |_| {})?;
    Ok(outcome.threads.first().and_then(|one| {
        let moments = one.samples.latency.moments()?;
        Some(Wakeups {
            count: one.samples.latency.count(),
            min_ns: moments.min.max(0).unsigned_abs(),
            max_ns: moments.max.max(0).unsigned_abs(),
        })
    }))
}

/// The gaps of a spinning thread, and the interrupts that came meanwhile.
fn spin_and_count(cpu: u32, duration: Duration) -> Result<(Gaps, Vec<Source>), Error> {
    let root = Root::default();
    let mut before = interrupts::table(&root)?;
    let first = before.clone();
    let mut most: Vec<(String, u64)> = Vec::new();
    let gaps = spin::gaps(cpu, duration, COUNT, || {
        let now = interrupts::table(&root).ok().flatten();
        if let (Some(before), Some(now)) = (&before, &now) {
            for (name, count) in counted(before, now, cpu) {
                match most.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, most)) => *most = (*most).max(count),
                    None => most.push((name, count)),
                }
            }
        }
        before = now;
    })?;
    let all = match (&first, &before) {
        (Some(first), Some(last)) => counted(first, last, cpu),
        _ => Vec::new(),
    };
    let stretches = (1000 / COUNT.as_millis()) as u64;
    let sources = all.into_iter().map(|(name, count)| Source {
        per_second_max: most
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(0, |(_, most)| most * stretches),
        name,
        count,
    });
    Ok((gaps, sources.collect()))
}

/// How many interrupts of each source came to the CPU, but for those of its own timer.
fn counted(before: &Table, now: &Table, cpu: u32) -> Vec<(String, u64)> {
    let since = interrupts::since(before, now);
    let here = since.into_iter().filter_map(|(line, counts)| {
        let count = counts.get(&cpu).copied().filter(|count| *count > 0)?;
        let is_timer = line.label == LOCAL_TIMER || line.description.contains(ARM_TIMER);
        let name = format!("{} {}", line.label, line.description);
        (!is_timer).then(|| (name.trim().to_owned(), count))
    });
    here.collect()
}
