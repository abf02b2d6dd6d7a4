// SPDX-License-Identifier: GPL-2.0-only
//! Several RT0 of one set on the RT CPU, beside the loads: each is admitted as `artis run rt0` does
//! it, and its responses are held against the bound of the analysis.
//!
//! What the analysis needs is measured in the same guest: each job's execution time on the CPU
//! alone, and then, beside the loads, what the platform takes. A set that does not fit is let in
//! all the same: what it misses is the question. Decides nothing itself: bounds, priorities,
//! reservations and offsets are those of `artis-admit` and `artis-admitted`.

use super::run::{Error as RunError, Loads, Moment, Running};
use super::{Asked, Releases, Sample, Task};
use artis_admit::model::{self, Execution, Interrupt, Platform, Set};
use artis_admitted::Numbers;
use artis_admitted::join::{self, Request};
use artis_load::seed::Seed;
use artis_machine::CpuList;
use artis_measure::clock::{difference_ns, now_ns, to_timespec};
use artis_measure::costs::{self, Costs};
use artis_measure::routine::{Routine, Work};
use artis_measure::thread::{self, PRIORITY, Policy};
use artis_measure::threads::{self, SpawnError};
use artis_partition::host::Host;
use artis_result::experiment::OfTask;
use artis_result::names::USER_LATENCY;
use artis_result::{Distribution, Kind, Series, Unit};
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// Divisions by which it is found out how many a job has.
const DIVISIONS: u32 = 10_000;
/// Jobs of each task that are timed on the CPU alone, and the pause between two.
const ALONE: u64 = 20;
const PAUSE_NS: u64 = 1_000_000;
/// How long is measured what the platform takes.
const COSTS: Duration = Duration::from_secs(3);
/// From the last admission to the first release.
const LEAD_NS: u64 = 100_000_000;
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Model(#[from] model::Error),
    #[error(transparent)]
    Costs(#[from] costs::Error),
    #[error(transparent)]
    Thread(#[from] thread::Error),
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("task {name}: {source}")]
    Join { name: String, source: join::Error },
    /// Forced in, it cannot be refused.
    #[error("task {0} was refused")]
    Refused(String),
    #[error("the admission has no CPU: {0}")]
    NoCpu(String),
}

/// What was seen of a task's jobs.
struct Seen {
    latency: Distribution,
    response_ns_max: u64,
    jobs: u64,
    missed: u64,
}

impl Seen {
    /// Nothing; the memory is touched.
    fn prefaulted() -> Self {
        Self {
            latency: Distribution::prefaulted(false),
            response_ns_max: 0,
            jobs: 0,
            missed: 0,
        }
    }

    /// Waits for the release, and does a job.
    fn job(&mut self, release_ns: u64, deadline_ns: u64, work: &Work) {
        sleep_until(release_ns);
        let began_ns = now_ns();
        work.run();
        let response_ns = now_ns() - release_ns;
        self.latency.record(difference_ns(began_ns, release_ns));
        self.response_ns_max = self.response_ns_max.max(response_ns);
        self.jobs += 1;
        self.missed += u64::from(response_ns > deadline_ns);
    }
}

/// Does the task of an experiment; this process is bound to the other CPUs and its memory locked.
pub(super) fn run(
    task: &Task,
    asked: &Asked,
    cpu: u32,
    online: &CpuList,
    seed: Seed,
) -> Result<Sample, RunError> {
    let mut set = Set::parse(&asked.text).map_err(Error::from)?;
    set.cpus = vec![cpu];
    let works = works(&mut set, cpu)?;
    let scheduler = Running::start(task)?;
    let mut loads = Loads::start(task, online, seed)?;
    let costs = costs::measure(cpu, COSTS, &AtomicUsize::new(0)).map_err(Error::from)?;
    set.platform = platform(&costs);
    let length_ns = u64::from(task.seconds) * 1_000_000_000;
    let before = Moment::take(cpu, &loads)?;
    let (seen, answer) = together(&set, &works, asked.releases, length_ns)?;
    let after = Moment::take(cpu, &loads)?;
    loads.check()?;
    let mut sample = Sample::default();
    scheduler.finish(&mut sample)?;
    before.difference(&after, &mut sample);
    let mut latency = Distribution::new();
    seen.iter().for_each(|one| latency.merge(&one.latency));
    sample.series = vec![Series::new(
        USER_LATENCY,
        Kind::Latency,
        Unit::Nanoseconds,
        latency,
    )];
    sample.tasks = shown(&set, &seen, &answer);
    Ok(sample)
}

/// The work of each task, as long as the set says; the set then has the times that were measured.
fn works(set: &mut Set, cpu: u32) -> Result<Vec<Work>, Error> {
    let (each_ns, _) = alone(&Work::new(Routine::Integer, DIVISIONS), cpu)?;
    let mut works = Vec::new();
    for task in &mut set.tasks {
        let divisions = task.execution_ns() * u64::from(DIVISIONS) / each_ns.max(1);
        let work = Work::new(Routine::Integer, divisions as u32);
        task.execution = Execution::Ns(alone(&work, cpu)?.1);
        works.push(work);
    }
    Ok(works)
}

/// The shortest time of the work, and the longest of a job with all that it takes, by the kernel's
/// account, on the CPU alone.
fn alone(work: &Work, cpu: u32) -> Result<(u64, u64), Error> {
    let prepare = || {
        thread::prepare(Some(cpu), Policy::Fifo(PRIORITY))?;
        Ok::<_, Error>(Seen::prefaulted())
    };
    let measure = |mut seen: Seen| {
        let (mut shortest_ns, mut longest_ns) = (u64::MAX, 0);
        let mut executed_ns = own_ns();
        for _ in 0..ALONE {
            let began_ns = now_ns();
            work.run();
            shortest_ns = shortest_ns.min(now_ns() - began_ns);
            seen.job(now_ns() + PAUSE_NS, u64::MAX, work);
            // Of two jobs, of which one has its sleep.
            let now_ns = own_ns();
            longest_ns = longest_ns.max((now_ns - executed_ns).saturating_sub(shortest_ns));
            executed_ns = now_ns;
        }
        (shortest_ns, longest_ns)
    };
    threads::run_one(prepare, measure, LOOK, || {})
}

/// CPU time of the calling thread.
fn own_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0, |time| Duration::from(time).as_nanos() as u64)
}

/// A signal ends a sleep early; none comes here.
fn sleep_until(at_ns: u64) {
    let at = to_timespec(at_ns).into();
    let _ = clock_nanosleep(
        ClockId::CLOCK_MONOTONIC,
        ClockNanosleepFlags::TIMER_ABSTIME,
        &at,
    );
}

/// What the platform takes, as `artis measure costs` says it.
fn platform(costs: &Costs) -> Platform {
    let (tick, others) = costs.tick();
    let length_ns = costs.interrupt_length_ns(&others).unwrap_or(0);
    let sources = costs.sources.iter().filter(|one| one.per_second_max > 0);
    Platform {
        wakeup_ns: costs.wakeups.map_or(0, |it| it.max_ns),
        jitter_ns: costs.wakeups.map_or(0, |it| it.max_ns - it.min_ns),
        switch_ns: costs.switches.quantile_ns,
        release_ns: costs.releases.length_ns_max,
        section_ns: 0,
        tick: tick.map(|(period_ns, tick)| model::Tick {
            period_ns,
            length_ns: tick.length_ns_max,
            phase_ns: tick.phase_ns,
        }),
        interrupts: sources
            .map(|one| Interrupt {
                name: one.name.clone(),
                period_ns: 1_000_000_000 / one.per_second_max,
                length_ns,
                jitter_ns: 0,
                cpu: None,
            })
            .collect(),
    }
}

/// Admits a thread for each task and lets all run for so long.
fn together(
    set: &Set,
    works: &[Work],
    releases: Releases,
    length_ns: u64,
) -> Result<(Vec<Seen>, artis_admit::Admission), Error> {
    let answer = artis_admit::admit(set);
    let offsets: Vec<u64> = match releases {
        Releases::Together => vec![0; works.len()],
        Releases::Chosen => {
            let of = |name: &str| of_answer(&answer, name)?.offset_ns;
            let all = set.tasks.iter();
            all.map(|task| of(&task.name).unwrap_or(0)).collect()
        }
    };
    let tick_ns = set.platform.tick.map_or(1, |tick| tick.period_ns);
    let begin = OnceLock::new();
    let prepare = |at: usize| {
        let seen = Seen::prefaulted();
        admit(set, at)?;
        Ok::<_, Error>(seen)
    };
    let work = |at: usize, mut seen: Seen| {
        let begin_ns = *begin.get_or_init(|| (now_ns() + LEAD_NS).next_multiple_of(tick_ns));
        let task = &set.tasks[at];
        let mut release_ns = begin_ns + offsets[at];
        while release_ns < begin_ns + length_ns {
            seen.job(release_ns, task.deadline_ns, &works[at]);
            release_ns += task.period_ns;
        }
        seen
    };
    let seen = threads::run(works.len(), prepare, work, |finished| {
        threads::watch(finished, LOOK, || {})
    })?;
    Ok((seen, answer))
}

/// The calling thread becomes the task.
fn admit(set: &Set, at: usize) -> Result<(), Error> {
    let task = &set.tasks[at];
    let request = Request {
        tid: nix::unistd::gettid().as_raw(),
        name: task.name.clone(),
        numbers: Numbers::of(set, task),
        cpus: set.cpus.clone(),
        policy: Some(set.policy),
        platform: Some(set.platform.clone()),
        on_overrun: None,
        force: true,
    };
    let name = || task.name.clone();
    let joined = join::join(&Host::default(), &request);
    match joined.map_err(|source| Error::Join {
        name: name(),
        source,
    })? {
        join::Outcome::Joined(_) => Ok(()),
        join::Outcome::Refused(_) => Err(Error::Refused(name())),
    }
}

fn of_answer<'a>(
    answer: &'a artis_admit::Admission,
    name: &str,
) -> Option<&'a artis_admit::answer::OfTask> {
    let mut all = answer.cpus.iter().flat_map(|cpu| &cpu.tasks);
    all.find(|task| task.name == name)
}

/// Bounds beside what was measured, most urgent first.
fn shown(set: &Set, seen: &[Seen], answer: &artis_admit::Admission) -> Vec<OfTask> {
    let us = |ns: u64| ns as f64 / 1000.0;
    let of = answer.cpus.iter().flat_map(|cpu| &cpu.tasks);
    let of = of.filter_map(|bound| {
        let at = set.tasks.iter().position(|task| task.name == bound.name)?;
        Some(OfTask {
            name: bound.name.clone(),
            period_us: us(bound.period_ns),
            deadline_us: us(bound.deadline_ns),
            execution_us: us(bound.execution_ns),
            bound_us: bound.bound_ns.map(us),
            response_us_max: us(seen[at].response_ns_max),
            jobs: seen[at].jobs,
            missed: seen[at].missed,
        })
    });
    of.collect()
}
