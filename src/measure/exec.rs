// SPDX-License-Identifier: GPL-2.0-only
//! Execution-time variation: how long a fixed piece of work takes, over and over.
//!
//! One thread on one CPU. The shortest time of an unloaded run is what every other time is compared
//! with. Source: piel-artis, section 3.2.
//!
//! The thread rests for a tenth of the time. Without rests it would measure the kernel's protection
//! against real-time tasks that never sleep (RT throttling, deadline servers: both give 5 % of the
//! time to others), and the machine would be unusable. The rests are between samples, never in one.

use super::clock::{after_ns, difference_ns, now_ns, seconds};
use super::live::Live;
use super::routine::Work;
use super::thread::{self, Policy};
use super::threads;
use artis_result::names::{EXCESS, EXECUTION_TIME, EXECUTION_TIME_UNLOADED};
use artis_result::{BlockMaxima, Distribution, Kind, Series, Unit};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Work between two rests: long enough that few samples begin just after a rest, short against the
/// second over which the kernel counts.
const STRETCH_NS: u64 = 10_000_000;
/// The rest, as a part of the work before it.
const REST_DIVISOR: u64 = 9;
/// How often the caller looks at the thread.
const LOOK: Duration = Duration::from_millis(100);

pub use threads::Error;

/// What is measured, and where.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    pub work: &'a Work,
    pub cpu: u32,
    pub policy: Policy,
    pub duration: Duration,
    /// The shortest time of an unloaded run; none while that run is made.
    pub t_min_ns: Option<u64>,
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Samples {
    /// The time of each sample, nanoseconds.
    pub time: Distribution,
    /// The same less Tmin; empty without one. Recorded separately: the error of a histogram grows
    /// with the value, and the excess is small against the time.
    pub excess: Distribution,
    /// The longest of each stretch of time.
    pub maxima: BlockMaxima,
    /// When the longest sample was, seconds after the start.
    pub max_at_s: f64,
    /// How long was measured, seconds.
    pub seconds: f64,
}

impl Samples {
    /// No samples yet. The memory is touched, so that adding a sample takes no page fault.
    pub fn prefaulted() -> Self {
        Self {
            time: Distribution::prefaulted(false),
            excess: Distribution::prefaulted(true),
            maxima: BlockMaxima::new(),
            max_at_s: 0.0,
            seconds: 0.0,
        }
    }

    /// Does the work once and adds how long it took: that time, ns. Allocates nothing, locks
    /// nothing.
    pub fn work(&mut self, work: &Work, t_min_ns: Option<u64>, began_ns: u64) -> u64 {
        let start_ns = now_ns();
        work.run();
        let took_ns = now_ns() - start_ns;
        if self.time.record(took_ns.cast_signed()) {
            self.max_at_s = seconds(began_ns, start_ns);
        }
        let after_ns = start_ns.saturating_sub(began_ns);
        self.maxima.record(took_ns.cast_signed(), after_ns);
        if let Some(t_min_ns) = t_min_ns {
            self.excess.record(difference_ns(took_ns, t_min_ns));
        }
        took_ns
    }
}

/// Both runs as the series of a result.
pub fn series(cpu: u32, unloaded: &Samples, loaded: &Samples) -> Vec<Series> {
    let series = |name, kind, values: &Distribution| Series {
        cpu: Some(cpu),
        ..Series::new(name, kind, Unit::Nanoseconds, values.clone())
    };
    vec![
        Series {
            max_at_s: Some(loaded.max_at_s),
            blocks: loaded.maxima.blocks(),
            ..series(EXECUTION_TIME, Kind::ExecutionTime, &loaded.time)
        },
        series(EXCESS, Kind::Noise, &loaded.excess),
        series(EXECUTION_TIME_UNLOADED, Kind::ExecutionTime, &unloaded.time),
    ]
}

/// Measures until the duration is over or `stop` is not 0: one sample at least. `look` is called
/// ten times a second.
///
/// # Errors
/// When the thread cannot be started, bound or given its policy.
pub fn measure(
    plan: &Plan,
    stop: &AtomicUsize,
    look: &mut dyn FnMut(&Live),
) -> Result<Samples, Error> {
    let live = Live::default();
    threads::run_one(
        || -> Result<Samples, Error> {
            thread::prepare(Some(plan.cpu), plan.policy)?;
            let samples = Samples::prefaulted();
            // Once for the caches and the branch predictor.
            plan.work.run();
            Ok(samples)
        },
        |samples| sample(plan, samples, &live, stop),
        LOOK.min(plan.duration),
        || look(&live),
    )
}

fn sample(plan: &Plan, mut samples: Samples, live: &Live, stop: &AtomicUsize) -> Samples {
    let began_ns = now_ns();
    let end_ns = after_ns(began_ns, Some(plan.duration));
    let mut unrested_ns = 0;
    loop {
        let took_ns = samples.work(plan.work, plan.t_min_ns, began_ns);
        live.publish(samples.time.count(), took_ns.cast_signed());
        let now_ns = now_ns();
        if now_ns >= end_ns || stop.load(Ordering::Relaxed) != 0 {
            samples.seconds = seconds(began_ns, now_ns);
            return samples;
        }
        unrested_ns += took_ns;
        if unrested_ns >= STRETCH_NS {
            std::thread::sleep(Duration::from_nanos(unrested_ns / REST_DIVISOR));
            unrested_ns = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::routine::Routine;
    use super::*;
    use artis_task::syscall::affinity;

    fn run(work: &Work, t_min_ns: Option<u64>, stop: usize) -> Samples {
        let plan = Plan {
            work,
            cpu: affinity(0).unwrap().last().unwrap(),
            policy: Policy::Normal,
            duration: Duration::from_millis(40),
            t_min_ns,
        };
        measure(&plan, &AtomicUsize::new(stop), &mut |_| ()).unwrap()
    }

    #[test]
    fn excess_is_the_time_above_the_shortest() {
        let work = Work::new(Routine::Integer, 10_000);
        let unloaded = run(&work, None, 0);
        assert_eq!(unloaded.excess.count(), 0);
        let t_min_ns = unloaded.time.moments().unwrap().min;
        assert!(t_min_ns > 0 && unloaded.seconds >= 0.04);
        let samples = run(&work, Some(t_min_ns.unsigned_abs()), 0);
        let (time, excess) = (
            samples.time.moments().unwrap(),
            samples.excess.moments().unwrap(),
        );
        assert_eq!(time.count, excess.count);
        assert_eq!(time.max - t_min_ns, excess.max);
        assert_eq!(time.min - t_min_ns, excess.min);
        assert!(samples.max_at_s <= samples.seconds);
    }

    #[test]
    fn a_stop_ends_it_after_the_sample() {
        let samples = run(&Work::new(Routine::Float, 1000), None, 2);
        assert_eq!(samples.time.count(), 1);
    }
}
