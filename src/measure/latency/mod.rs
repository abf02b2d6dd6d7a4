// SPDX-License-Identifier: GPL-2.0-only
//! Latency: how late a thread runs after the event it waited for.
//!
//! Owns the measuring threads ([`sampler`]), the events they wait for ([`source`] and one file
//! each) and the view of the kernel's part ([`split`]). Does not load the machine, does not print.
//!
//! The method is cyclictest's: latency is observed minus requested time. McKenney's figure 8
//! (many parallel timers) is many threads; Piel et al., section 3.1, is the split into kernel
//! latency and user latency.

pub mod gpio;
mod medium;
pub mod nanosleep;
pub mod place;
pub mod rtc;
pub mod sampler;
pub mod series;
pub mod source;
pub mod split;
pub mod timer;
pub mod timerfd;
pub mod wake;

use crate::clock::{SECOND_NS, after_ns, now_ns};
use crate::live::Live;
use crate::thread::{self, Policy};
use crate::threads::{self, SpawnError};
use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::{getpid, gettid};
use place::{Places, Tick};
use sampler::{End, Exceeded, Limits, Sampler, Samples, Task};
use source::{Request, Unavailable};
use split::{SlotReader, Split};
use std::fs::File;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// How often the threads are looked at while they measure.
const LOOK: Duration = Duration::from_millis(50);
/// A thread that is to end gets this long before a signal ends its waiting, and again after each
/// signal. The signal delays a wakeup that it meets, so threads of short periods end without it.
const REMINDER: Duration = Duration::from_millis(10);
/// From the first thread's beginning to the start: by then all threads have begun.
const LEAD_NS: u64 = 5_000_000;

/// One measuring thread.
#[derive(Clone, Debug)]
pub struct ThreadPlan<'a> {
    /// What it waits for, and the CPU it is bound to, if it is.
    pub request: Request,
    /// How it is scheduled.
    pub policy: Policy,
    /// Work that it does after each event.
    pub task: Option<Task<'a>>,
}

/// A measurement.
pub struct Plan<'a> {
    /// Its threads, at least one.
    pub threads: Vec<ThreadPlan<'a>>,
    /// How long; none: until a limit or a signal.
    pub duration: Option<Duration>,
    /// When a thread ends by itself.
    pub limits: Limits,
    /// The kernel tracer's `tracing_on`, to be frozen when the threshold is passed.
    pub freeze_trace: Option<File>,
    /// The view of the kernel's part, where it can be had.
    pub split: Option<&'a Split>,
    /// The kernel's tick, where the worst of each of its places is wanted.
    pub tick: Option<Tick>,
}

/// What a measurement gave, threads whose source failed included.
#[derive(Debug)]
pub struct Outcome {
    /// One for each thread of the plan, in its order; after a stop during the start, one for each
    /// thread that had begun.
    pub threads: Vec<Measured>,
    /// How long was measured, seconds.
    pub seconds: f64,
    /// When all threads started, ns since boot: what the processes of a machine share.
    pub began_ns: u64,
}

impl Outcome {
    /// The first thread that passed the threshold.
    pub fn exceeded(&self) -> Option<(usize, Exceeded)> {
        let mut threads = self.threads.iter().enumerate();
        threads.find_map(|(index, one)| Some((index, one.samples.exceeded?)))
    }

    /// The first thread whose source failed, its samples, and why.
    pub fn failed(&self) -> Option<(usize, u64, Errno)> {
        let mut threads = self.threads.iter().enumerate();
        threads.find_map(|(index, one)| Some((index, one.samples.latency.count(), one.failed?)))
    }
}

/// One thread's samples.
#[derive(Debug)]
pub struct Measured {
    pub samples: Samples,
    /// Why its source failed before the end.
    pub failed: Option<Errno>,
}

/// Why a measurement could not begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Thread(#[from] thread::Error),
    #[error(transparent)]
    Source(#[from] Unavailable),
    #[error(transparent)]
    Split(#[from] split::Error),
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("could not install the handler of SIGUSR1, which ends the threads' waiting")]
    Signal(#[source] Errno),
}

/// Measures until the duration is over, a limit is reached, or `stop` is not 0, and keeps every
/// sample. `look` is called twenty times a second with the threads' state.
///
/// # Errors
/// When a thread cannot begin; then none has begun.
pub fn measure(
    plan: &Plan,
    stop: &AtomicUsize,
    look: &mut dyn FnMut(&[Live]),
) -> Result<Outcome, Error> {
    catch_reminders()?;
    let live: Vec<Live> = plan.threads.iter().map(|_| Live::default()).collect();
    let end = End::default();
    let start_ns = AtomicU64::new(0);
    let mut ended_ns = 0;
    let threads = threads::run_until(
        &|| stop.load(Ordering::Relaxed) != 0,
        plan.threads.len(),
        |index| prepare(plan, index, &live[index], &end),
        |_, (mut sampler, mut samples): (Sampler, Samples)| {
            let start_ns = common_start_ns(&start_ns, plan);
            let failed = sampler.run(&mut samples, start_ns).err();
            Measured { samples, failed }
        },
        |finished| {
            wait_for_the_end(plan, stop, &end, finished, &mut || look(&live));
            ended_ns = now_ns();
            end.set(ended_ns);
            while !finished() {
                std::thread::sleep(REMINDER);
                live.iter().for_each(remind);
            }
        },
    )?;
    let began_ns = start_ns.into_inner();
    Ok(Outcome {
        threads,
        seconds: ended_ns.saturating_sub(began_ns) as f64 / SECOND_NS as f64,
        began_ns,
    })
}

/// The first thread to call it decides when all of them start.
fn common_start_ns(start_ns: &AtomicU64, plan: &Plan) -> u64 {
    let mut proposed_ns = now_ns() + LEAD_NS;
    if let (Some(tick), Some(thread)) = (plan.tick, plan.threads.first()) {
        proposed_ns = tick.start_ns(proposed_ns, thread.request.interval_ns);
    }
    let decided = start_ns.compare_exchange(0, proposed_ns, Ordering::Relaxed, Ordering::Relaxed);
    match decided {
        Ok(_) => proposed_ns,
        Err(earlier_ns) => earlier_ns,
    }
}

fn prepare<'a>(
    plan: &'a Plan,
    index: usize,
    live: &'a Live,
    end: &'a End,
) -> Result<(Sampler<'a>, Samples), Error> {
    let thread = &plan.threads[index];
    thread::prepare(thread.request.cpu, thread.policy)?;
    thread::leave_timer_slack(thread.policy)?;
    live.begin(gettid());
    let sampler = Sampler {
        source: source::open(&thread.request)?,
        limits: plan.limits,
        live,
        end,
        freeze_trace: plan.freeze_trace.as_ref(),
        slot: claim(plan.split, index)?,
        task: thread.task,
        places: plan.tick.map(Places::new),
        signed: thread.request.kind.is_signed(),
    };
    let samples = sampler.prepare();
    Ok((sampler, samples))
}

/// The calling thread's own slot of the split, where there is one.
fn claim(split: Option<&Split>, index: usize) -> Result<Option<SlotReader>, Error> {
    let index = u32::try_from(index).unwrap_or(u32::MAX);
    let Some(mut slot) = split.and_then(|split| split.slot(index)) else {
        return Ok(None);
    };
    slot.claim(gettid())?;
    Ok(Some(slot))
}

fn wait_for_the_end(
    plan: &Plan,
    stop: &AtomicUsize,
    end: &End,
    finished: &dyn Fn() -> bool,
    look: &mut dyn FnMut(),
) {
    let begins_ns = now_ns() + LEAD_NS;
    let end_ns = plan.duration.map(|_| after_ns(begins_ns, plan.duration));
    loop {
        let left = end_ns.map(|end_ns| Duration::from_nanos(end_ns.saturating_sub(now_ns())));
        if left == Some(Duration::ZERO)
            || stop.load(Ordering::Relaxed) != 0
            || end.at_ns().is_some()
            || finished()
        {
            return;
        }
        std::thread::sleep(left.map_or(LOOK, |left| left.min(LOOK)));
        look();
    }
}

/// Ends a thread's waiting. To be repeated: the signal may come just before it waits.
fn remind(thread: &Live) {
    // SAFETY: takes numbers only. A thread that has just ended needs no signal.
    unsafe {
        libc::syscall(
            libc::SYS_tgkill,
            getpid().as_raw(),
            thread.tid().as_raw(),
            libc::SIGUSR1,
        )
    };
}

/// A reminder only interrupts system calls.
fn catch_reminders() -> Result<(), Error> {
    extern "C" fn nothing(_signal: libc::c_int) {}
    let action = SigAction::new(
        SigHandler::Handler(nothing),
        SaFlags::empty(),
        SigSet::empty(),
    );
    // SAFETY: the handler does nothing.
    unsafe { sigaction(Signal::SIGUSR1, &action) }
        .map(drop)
        .map_err(Error::Signal)
}

#[cfg(test)]
mod tests {
    use super::source::SourceKind;
    use super::*;
    use artis_task::syscall::affinity;
    use std::path::PathBuf;

    fn plan(kind: SourceKind, threads: usize, interval_ns: u64, limits: Limits) -> Plan<'static> {
        let allowed = affinity(0).unwrap();
        let thread = ThreadPlan {
            request: Request {
                kind,
                interval_ns,
                seed: None,
                cpu: None,
                allowed,
                rtc: PathBuf::from("/dev/no-such-rtc"),
                gpio: None,
            },
            policy: Policy::Normal,
            task: None,
        };
        Plan {
            threads: vec![thread; threads],
            duration: None,
            limits,
            freeze_trace: None,
            split: None,
            tick: None,
        }
    }

    fn run(plan: &Plan) -> Result<Outcome, Error> {
        measure(plan, &AtomicUsize::new(0), &mut |_| ())
    }

    const HUNDRED: Limits = Limits {
        samples: Some(100),
        threshold_ns: None,
    };

    #[test]
    fn every_source_gives_as_many_samples_as_asked() {
        for kind in [
            SourceKind::Timer,
            SourceKind::Nanosleep,
            SourceKind::Timerfd,
            SourceKind::Wake,
            SourceKind::Pipe,
            SourceKind::Udp,
        ] {
            let outcome = run(&plan(kind, 2, 200_000, HUNDRED)).unwrap();
            assert_eq!(outcome.threads.len(), 2);
            for thread in outcome.threads {
                assert_eq!(thread.failed, None);
                assert_eq!(thread.samples.latency.count(), 100, "{kind}");
                let moments = thread.samples.latency.moments().unwrap();
                assert!(kind.is_signed() || moments.min >= 0, "{kind}");
            }
        }
    }

    #[test]
    fn the_first_thread_that_ended_the_measurement_is_named() {
        let mut outcome = run(&plan(SourceKind::Timer, 2, 200_000, HUNDRED)).unwrap();
        assert_eq!((outcome.exceeded(), outcome.failed()), (None, None));
        let late = Exceeded {
            latency_ns: 200_500,
            at_s: 1.5,
        };
        outcome.threads[1].samples.exceeded = Some(late);
        outcome.threads[1].failed = Some(Errno::EIO);
        assert_eq!(outcome.exceeded(), Some((1, late)));
        assert_eq!(outcome.failed(), Some((1, 100, Errno::EIO)));
    }

    #[test]
    fn a_bound_thread_waits_on_its_cpu() {
        let mut plan = plan(SourceKind::Timer, 1, 200_000, HUNDRED);
        let request = &mut plan.threads[0].request;
        request.cpu = request.allowed.last();
        let outcome = run(&plan).unwrap();
        assert_eq!(outcome.threads[0].samples.latency.count(), 100);
    }

    #[test]
    fn a_stop_ends_threads_with_long_periods() {
        let mut plan = plan(SourceKind::Timer, 2, 3600 * SECOND_NS, Limits::default());
        let outcome = measure(&plan, &AtomicUsize::new(2), &mut |_| ()).unwrap();
        assert_eq!(outcome.threads.len(), 1);
        assert_eq!(outcome.threads[0].samples.latency.count(), 0);
        plan.duration = Some(Duration::from_millis(20));
        let outcome = run(&plan).unwrap();
        assert_eq!(outcome.threads.len(), 2);
    }

    #[test]
    fn with_a_missing_source_no_thread_begins() {
        let error = run(&plan(SourceKind::Rtc, 2, 976_562, HUNDRED)).unwrap_err();
        assert!(error.to_string().contains("/dev/no-such-rtc"), "{error}");
    }
}
