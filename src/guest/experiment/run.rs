// SPDX-License-Identifier: GPL-2.0-only
//! The part of an experiment that runs in the guest: starts what the task names, in the order and
//! with the pauses of its seed, measures, and counts the work of all loads meanwhile.
//!
//! Two guests with the same seed differ only in their configuration: the same processes start in
//! the same order, as many in each. Each load has a control group of its own, so that the CPU time
//! of all its children is known, whatever it forks. Only [`Measure::Leaks`] has an observer of
//! kernel work; elsewhere the scheduler's own check says whether it ran on an RT CPU.

use super::super::scheduler::Scheduler as ArtisScheduler;
pub use super::error::Error;
use super::groups::Groups;
use super::mark;
use super::published;
use super::responsiveness;
use super::set;
use super::watch;
use super::{Done, Measure, Sample, Task, worst_of_places};
use artis_load::hackbench;
use artis_load::own::Load;
use artis_load::own::process::{Place, Process};
use artis_load::seed::Seed;
use artis_machine::cpus::Cpus;
use artis_machine::{CpuList, Root, schedstat};
use artis_measure::latency::place::{Places, Tick};
use artis_measure::latency::sampler::{Limits, Task as Piece};
use artis_measure::latency::source::Request;
use artis_measure::latency::split::Split;
use artis_measure::latency::{self, Measured, Plan, ThreadPlan};
use artis_measure::leaks::{Counts, Observer};
use artis_measure::routine::{Routine, Work};
use artis_measure::thread::{self, PRIORITY, Policy};
use artis_measure::throughput::permutation::Setting;
use artis_measure::throughput::workload::Workload;
use artis_measure::{clock, exec, memory, throughput};
use artis_result::experiment::Scheduler;
use artis_result::names::{EXECUTION_TIME, EXECUTION_TIME_UNLOADED, KERNEL_LATENCY, USER_LATENCY};
use artis_result::{Distribution, Kind, Series, Unit};
use artis_task::syscall;
use artis_watch::LightWatch;
use nix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Integer divisions in RT0's work after each wakeup: some tens of microseconds of a period of a
/// thousand, in an engine of 100 MIPS.
const DIVISIONS: u32 = 500;
/// How long the work is timed before any load runs.
const UNLOADED: Duration = Duration::from_millis(100);
/// Longest pause between the starts of two loads, and before the measurement: more than a tick of
/// 4 ms, so that every phase of it occurs.
const PAUSE_MAX: Duration = Duration::from_millis(20);
/// From the last load's start to the measurement, or half of what is measured if that is less:
/// programs get loaded, memory gets touched, and the scheduler sees what each task does.
const WARM_UP_MAX: Duration = Duration::from_secs(1);
/// Services of the guest.
const RT0: &str = "rt0";
const SCHEDULER: &str = "scheduler";
/// The work of [`Measure::Throughput`]: as the load of that name, but it ends.
const HACKBENCH: [&str; 7] = ["-T", "-g", "1", "-f", "4", "-l", "50"];

pub(super) fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Error {
    let what = what.into();
    move |reason| Error::System {
        what,
        reason: reason.into(),
    }
}

/// Does the task.
///
/// # Errors
/// When a part of it cannot be started, or ends too early.
pub fn run(task: &Task, seed: Seed) -> Result<Sample, Error> {
    let cpu = task.rt.first();
    let online = Cpus::read(&Root::default())?.online;
    let (Some(cpu), false) = (cpu, (&online - &task.rt).is_empty()) else {
        return Err(Error::Cpus(task.rt.clone()));
    };
    task.groups.make()?;
    let mut sample = match task.measure {
        Measure::Throughput => {
            let scheduler = Running::start(task)?;
            task.groups.enter_session()?;
            let mut sample = throughput_of(&online)?;
            scheduler.finish(&mut sample)?;
            return Ok(sample);
        }
        Measure::Latency
        | Measure::KernelLatency
        | Measure::Leaks
        | Measure::Responsiveness
        | Measure::Caches
        | Measure::Set => Sample::default(),
    };
    // This process starts the loads and watches RT0; neither may be work for the RT CPU.
    bind_self(&(&online - &task.rt))?;
    task.groups.enter_service(RT0)?;
    memory::lock_and_prefault().map_err(|error| {
        system("lock this process's memory")(io::Error::other(error.to_string()))
    })?;
    if let Some(asked) = &task.set {
        return set::run(task, asked, cpu, &online, seed);
    }
    let work = Work::new(Routine::Integer, DIVISIONS);
    let unloaded = unloaded(cpu, &work)?;
    let split = match task.measure {
        Measure::KernelLatency => Some(Split::attach(task.timers)?),
        _ => None,
    };
    let mut storage = MaybeUninit::uninit();
    let observer = match task.measure {
        Measure::Leaks => Some(Observer::load(&mut storage)?),
        _ => None,
    };
    let count = || {
        let observer = observer.as_ref()?;
        let on_rt = |cpu| u32::try_from(cpu).is_ok_and(|cpu| task.rt.contains(cpu));
        Some([observer.counts(on_rt), observer.counts(|_| true)])
    };
    let scheduler = Running::start(task)?;
    let mut watched = MaybeUninit::uninit();
    let watch = watch::load(task, &mut watched)?;
    let request = task.event.request(task, &seed, cpu, online.clone());
    let mut loads = Loads::start(task, &online, seed)?;
    let plan = plan(task, request, &work, &unloaded, split.as_ref())?;
    mark::begin(task.measure);
    let before = Moment::take(cpu, &loads)?;
    let counts_before = count();
    let (outcome, others) = if task.measure == Measure::Responsiveness {
        beside_probes(&plan, task)?
    } else {
        let outcome = latency::measure(&plan, &AtomicUsize::new(0), &mut |_| ())?;
        (outcome, responsiveness::Outcome::default())
    };
    let counts_after = count();
    let after = Moment::take(cpu, &loads)?;
    mark::end(task.measure);
    loads.check()?;
    check(&outcome.threads, watch.as_ref())?;
    scheduler.finish(&mut sample)?;
    if let Some((before, after)) = counts_before.zip(counts_after) {
        sample.leaks = Some(leaks_between(before, after)?);
    }
    before.difference(&after, &mut sample);
    sample.series = series(&outcome.threads, unloaded.time);
    sample.places_ns = places(&outcome.threads);
    sample.series.extend(others.series);
    sample.messages = others.messages;
    sample.throughput_s = others.programs_s;
    Ok(sample)
}

/// RT0's work before any load runs.
fn unloaded(cpu: u32, work: &Work) -> Result<exec::Samples, Error> {
    let plan = exec::Plan {
        work,
        cpu,
        policy: Policy::Fifo(PRIORITY),
        duration: UNLOADED,
        t_min_ns: None,
    };
    Ok(exec::measure(&plan, &AtomicUsize::new(0), &mut |_| ())?)
}

/// Kernel work on the RT CPUs, of counts there and on all CPUs.
fn leaks_between(before: [Counts; 2], after: [Counts; 2]) -> Result<u64, Error> {
    let [leaks, seen] = [0, 1].map(|at| (after[at] - before[at]).all());
    // No leak of nothing would prove nothing.
    if seen == 0 {
        return Err(Error::NothingSeen);
    }
    Ok(leaks)
}

/// Whether each timer went on to its end, and the light watch, if there is one, saw it.
fn check(threads: &[Measured], watch: Option<&LightWatch<'_>>) -> Result<(), Error> {
    if let Some(failed) = threads.iter().find_map(|one| one.failed) {
        return Err(Error::Timer(failed));
    }
    watch.map_or(Ok(()), |watch| watch::check(watch, threads))
}

/// RT0 runs as long as the probes take.
fn beside_probes(
    plan: &Plan,
    task: &Task,
) -> Result<(latency::Outcome, responsiveness::Outcome), Error> {
    let stop = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let probes = scope.spawn(|| {
            let probes = responsiveness::measure(task);
            stop.store(1, Ordering::Relaxed);
            probes
        });
        let outcome = latency::measure(plan, &stop, &mut |_| ())?;
        let probes = probes.join();
        let probes = probes.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((outcome, probes))
    })
}

/// Who schedules beside the kernel's own scheduler.
pub(super) enum Running {
    Nobody,
    Artis(ArtisScheduler),
    Published(published::Scheduler),
}

impl Running {
    /// In a service of its own; this process is RT0's again after that.
    pub(super) fn start(task: &Task) -> Result<Self, Error> {
        task.groups.enter_service(SCHEDULER)?;
        let started = Self::start_here(task)?;
        task.groups.enter_service(RT0)?;
        Ok(started)
    }

    fn start_here(task: &Task) -> Result<Self, Error> {
        Ok(match &task.scheduler {
            Scheduler::Stock | Scheduler::Isolcpus => Self::Nobody,
            // With isolcpus nobody could arm a timer on an RT CPU since boot. Here many did.
            Scheduler::Artis => Self::Artis(ArtisScheduler::start(&task.rt, &["--cycle"])?),
            Scheduler::Published(which) => Self::Published(published::Scheduler::start(which)?),
        })
    }

    /// Adds the scheduler's own counts; a guest in which the kernel removed it gives no sample.
    pub(super) fn finish(self, sample: &mut Sample) -> Result<(), Error> {
        match self {
            Self::Nobody => {}
            Self::Artis(mut scheduler) => {
                let status = scheduler.status()?;
                let counters = status.get("counters").and_then(|all| all.as_object());
                let leaks = counters.into_iter().flatten();
                let leaks = leaks.filter(|(name, _)| name.starts_with("leaks_"));
                sample.leaks = Some(leaks.filter_map(|(_, count)| count.as_u64()).sum());
                sample.status = Some(status);
            }
            Self::Published(mut scheduler) => {
                scheduler.check()?;
                sample.ops = Some(scheduler.ops().to_owned());
                scheduler.stop()?;
            }
        }
        Ok(())
    }
}

fn plan<'a>(
    task: &Task,
    request: Request,
    work: &'a Work,
    unloaded: &exec::Samples,
    split: Option<&'a Split>,
) -> Result<Plan<'a>, Error> {
    let t_min_ns = unloaded.time.moments().map_or(0, |all| all.min);
    let thread = ThreadPlan {
        request,
        policy: Policy::Fifo(PRIORITY),
        task: Some(Piece {
            work,
            t_min_ns: u64::try_from(t_min_ns).unwrap_or(0),
        }),
    };
    let tick = Tick {
        place_ns: task.place_us.map(|us| us * 1000),
        ..Tick::of_kernel().ok_or(Error::Tick)?
    };
    Ok(Plan {
        threads: vec![thread; task.timers as usize],
        duration: (task.measure != Measure::Responsiveness)
            .then(|| Duration::from_secs(task.seconds.into())),
        limits: Limits::default(),
        freeze_trace: None,
        split,
        tick: Some(tick),
    })
}

/// All threads together.
fn places(threads: &[Measured]) -> Vec<Option<i64>> {
    let all = threads.iter().filter_map(|one| one.samples.places.as_ref());
    worst_of_places(all.map(Places::worst_ns))
}

/// The samples of all threads together.
fn series(threads: &[Measured], unloaded: Distribution) -> Vec<Series> {
    let mut user = Distribution::new();
    let mut kernel = Distribution::new();
    let mut loaded = Distribution::new();
    for samples in threads.iter().map(|thread| &thread.samples) {
        user.merge(&samples.latency);
        if let Some(parts) = &samples.split {
            kernel.merge(&parts.due_to_handler);
        }
        if let Some(work) = &samples.work {
            loaded.merge(&work.time);
        }
    }
    let named = |name, kind, values| Series::new(name, kind, Unit::Nanoseconds, values);
    let all = [
        named(USER_LATENCY, Kind::Latency, user),
        named(KERNEL_LATENCY, Kind::Latency, kernel),
        named(EXECUTION_TIME, Kind::ExecutionTime, loaded),
        named(EXECUTION_TIME_UNLOADED, Kind::ExecutionTime, unloaded),
    ];
    let measured = all.into_iter().filter(|one| one.distribution.count() > 0);
    measured.collect()
}

/// The loads, each in its control group.
pub(super) struct Loads {
    groups: Groups,
    all: Vec<(Load, Process)>,
}

impl Loads {
    /// Starts them in the seed's order, with its pauses, and lets them warm up.
    pub(super) fn start(task: &Task, online: &CpuList, mut seed: Seed) -> Result<Self, Error> {
        let mut order = task.loads.clone();
        seed.shuffle(&mut order);
        // Nobody runs on an isolated CPU without asking for it, as users of isolcpus know it.
        let cpus = (task.scheduler != Scheduler::Isolcpus).then_some(online);
        let mut loads = Vec::new();
        for load in order {
            std::thread::sleep(seed.pause(PAUSE_MAX));
            let group = task.groups.of_load(load)?;
            let place = Place {
                cpus,
                group: Some(&group),
            };
            loads.push((load, load.start(place)?));
        }
        let warm_up = WARM_UP_MAX.min(Duration::from_secs(task.seconds.into()) / 2);
        std::thread::sleep(warm_up + seed.pause(PAUSE_MAX));
        Ok(Self {
            groups: task.groups,
            all: loads,
        })
    }

    pub(super) fn check(&mut self) -> Result<(), Error> {
        for (_, process) in &mut self.all {
            process.check()?;
        }
        Ok(())
    }
}

/// CPU time of all that has run in the load's group, ns.
fn cpu_ns(groups: Groups, load: Load) -> Result<u64, Error> {
    let file = groups.folder_of_load(load).join("cpu.stat");
    let text = fs::read_to_string(&file).map_err(system(format!("read {}", file.display())))?;
    let us = text
        .lines()
        .find_map(|line| line.strip_prefix("usage_usec ")?.parse::<u64>().ok())
        .ok_or_else(|| {
            system(format!("find usage_usec in {}", file.display()))(io::ErrorKind::InvalidData)
        })?;
    Ok(us * 1000)
}

/// All counts at one moment.
pub(super) struct Moment {
    at_ns: u64,
    rt_running_ns: u64,
    rt0_ns: u64,
    loads: BTreeMap<Load, Done>,
}

impl Moment {
    pub(super) fn take(cpu: u32, loads: &Loads) -> Result<Self, Error> {
        make_switch(cpu)?;
        let mut done: BTreeMap<Load, Done> = BTreeMap::new();
        for (load, process) in &loads.all {
            done.entry(*load).or_default().work += process.counters().done();
        }
        for (load, done) in &mut done {
            done.cpu_ns = cpu_ns(loads.groups, *load)?;
        }
        let running = schedstat::running_ns(&Root::default())?;
        let rt_running_ns = running
            .get(&cpu)
            .copied()
            .ok_or_else(|| system("find the RT CPU in /proc/schedstat")(io::ErrorKind::NotFound))?;
        Ok(Self {
            at_ns: clock::now_ns(),
            rt_running_ns,
            rt0_ns: other_threads_ns(),
            loads: done,
        })
    }

    pub(super) fn difference(&self, after: &Self, sample: &mut Sample) {
        sample.window_ns = after.at_ns - self.at_ns;
        sample.rt_running_ns = after.rt_running_ns - self.rt_running_ns;
        sample.rt0_ns = after.rt0_ns.saturating_sub(self.rt0_ns);
        for (load, after) in &after.loads {
            let before = self.loads[load];
            let done = Done {
                work: after.work - before.work,
                cpu_ns: after.cpu_ns - before.cpu_ns,
            };
            sample.loads.insert(load.name().to_owned(), done);
        }
    }
}

/// Makes a CPU switch tasks. The kernel charges a task's CPU time when the task leaves the CPU, and
/// an RT CPU may have run the same task for a third of a second.
fn make_switch(cpu: u32) -> Result<(), Error> {
    let come_and_go = || thread::prepare(Some(cpu), Policy::Fifo(PRIORITY));
    let gone = std::thread::scope(|scope| scope.spawn(come_and_go).join());
    gone.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        .map_err(|error| latency::Error::from(error).into())
}

/// CPU time of this process without the calling thread's: in the window, RT0's.
fn other_threads_ns() -> u64 {
    let ns = |clock: ClockId| {
        clock_gettime(clock).map_or(0, |time| Duration::from(time).as_nanos() as u64)
    };
    ns(ClockId::CLOCK_PROCESS_CPUTIME_ID).saturating_sub(ns(ClockId::CLOCK_THREAD_CPUTIME_ID))
}

fn bind_self(cpus: &CpuList) -> Result<(), Error> {
    syscall::set_affinity(0, cpus).map_err(system("bind this process to the other CPUs"))
}

/// How long hackbench takes in each of the ten permutations.
fn throughput_of(online: &CpuList) -> Result<Sample, Error> {
    let settings = Setting::ten(online).ok_or_else(|| Error::Cpus(online.clone()))?;
    let program = hackbench::find()?;
    let words = std::iter::once(program.into_os_string()).chain(HACKBENCH.map(Into::into));
    let plan = throughput::Plan {
        workload: Workload::Command(words.collect()),
        settings,
        runs: 1,
    };
    let runs = throughput::measure(&plan, &AtomicUsize::new(0), &mut |_| ())?.complete()?;
    let mut sample = Sample::default();
    for (setting, runs) in plan.settings.iter().zip(runs) {
        let seconds = runs.iter().map(|run| run.real.as_secs_f64()).sum();
        sample.throughput_s.insert(setting.suffix(), seconds);
    }
    Ok(sample)
}
