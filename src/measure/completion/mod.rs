// SPDX-License-Identifier: GPL-2.0-only
//! Completion time: from an event to the end of the work that it asks for, for units of work of
//! many lengths and natures.
//!
//! Source: McKenney, "'Real Time' vs. 'Real Fast'", section 3: what counts is when the work is
//! done, not when it starts; his figures 5 to 7 have work from 1 us to 100 ms.
//!
//! One thread on one CPU sleeps until an event is due, does a unit of work, rests, and goes on to
//! the next length, round and round: all lengths see the same load. A unit of a length has a
//! fixed number of steps, found once on the idle machine ([`steps_per_us`]); configurations are
//! comparable only when they do the same steps.

pub mod series;
mod unit;

pub use super::threads::Error;
pub use unit::{Steps, Unit, steps_per_us};

use super::clock::{after_ns, difference_ns, now_ns, seconds};
use super::latency::timer::sleep_until;
use super::live::Live;
use super::thread::{self, Policy};
use super::threads;
use artis_result::{Distribution, Nature};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// From 1 us to 100 ms, as in the paper.
pub const LENGTHS_US: [u32; 6] = [1, 10, 100, 1000, 10_000, 100_000];
/// After a unit: a ninth of it, as [`super::exec`] says, and at least this.
const REST_NS: u64 = 500_000;
const REST_DIVISOR: u64 = 9;
const LOOK: Duration = Duration::from_millis(100);

/// What is measured, and where.
#[derive(Debug)]
pub struct Plan {
    pub units: Vec<Unit>,
    pub cpu: u32,
    pub policy: Policy,
    pub duration: Duration,
}

/// The times of one unit, nanoseconds.
#[derive(Clone, Debug)]
pub struct Times {
    pub nature: Nature,
    pub length_us: u32,
    /// From the event to the beginning of the work.
    pub start: Distribution,
    pub work: Distribution,
    /// From the event to the end of the work.
    pub completion: Distribution,
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Samples {
    /// In the order of the plan's units.
    pub times: Vec<Times>,
    pub seconds: f64,
}

/// Measures until the duration is over or `stop` is not 0: each unit once at least, unless
/// stopped. `look` is called ten times a second; the largest that it sees is that from an event to
/// the beginning of its work.
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
        || -> Result<Vec<Times>, Error> {
            thread::prepare(Some(plan.cpu), plan.policy)?;
            thread::leave_timer_slack(plan.policy)?;
            Ok(plan.units.iter().map(Times::prefaulted).collect())
        },
        |times| sample(plan, times, &live, stop),
        LOOK.min(plan.duration),
        || look(&live),
    )
}

impl Times {
    fn prefaulted(unit: &Unit) -> Self {
        Self {
            nature: unit.nature(),
            length_us: unit.length_us(),
            start: Distribution::prefaulted(false),
            work: Distribution::prefaulted(false),
            completion: Distribution::prefaulted(false),
        }
    }
}

/// Allocates nothing, locks nothing.
fn sample(plan: &Plan, mut times: Vec<Times>, live: &Live, stop: &AtomicUsize) -> Samples {
    let began_ns = now_ns();
    let end_ns = after_ns(began_ns, Some(plan.duration));
    let mut rest_ns = REST_NS;
    let mut done: u64 = 0;
    'measuring: loop {
        for (unit, times) in plan.units.iter().zip(&mut times) {
            // Not in step with any tick: the rests differ by up to a quarter.
            let due_ns = now_ns() + rest_ns + rest_ns * (done % 7) / 28;
            // A signal may end the sleep early; then the event never came.
            let Ok(started_ns) = sleep_until(due_ns) else {
                break 'measuring;
            };
            unit.run();
            let finished_ns = now_ns();
            let late_ns = difference_ns(started_ns, due_ns);
            times.start.record(late_ns);
            times.work.record(difference_ns(finished_ns, started_ns));
            times.completion.record(difference_ns(finished_ns, due_ns));
            rest_ns = REST_NS.max((finished_ns - started_ns) / REST_DIVISOR);
            done += 1;
            live.publish(done, late_ns);
            if stop.load(Ordering::Relaxed) != 0 {
                break 'measuring;
            }
        }
        if now_ns() >= end_ns {
            break;
        }
    }
    Samples {
        times,
        seconds: seconds(began_ns, now_ns()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_task::syscall::affinity;

    fn plan() -> Plan {
        let steps = Steps {
            user: 20.0,
            system_calls: 2.0,
            io: 0.5,
        };
        let units = Nature::ALL
            .into_iter()
            .flat_map(|nature| [1, 100].map(|us| Unit::new(nature, us, &steps).unwrap()));
        Plan {
            units: units.collect(),
            cpu: affinity(0).unwrap().last().unwrap(),
            policy: Policy::Normal,
            duration: Duration::from_millis(30),
        }
    }

    #[test]
    fn completion_is_start_and_work() {
        let samples = measure(&plan(), &AtomicUsize::new(0), &mut |_| ()).unwrap();
        assert_eq!(samples.times.len(), 6);
        for one in &samples.times {
            let of = |all: &Distribution| all.moments().unwrap();
            let (start, work, whole) = (of(&one.start), of(&one.work), of(&one.completion));
            assert!(start.min >= 0 && work.min > 0, "{one:?}");
            assert_eq!(start.count, whole.count);
            let sum = start.mean + work.mean;
            assert!((sum - whole.mean).abs() < 1.0, "{sum} {whole:?}");
        }
    }

    #[test]
    fn a_stop_ends_it_after_the_unit() {
        let samples = measure(&plan(), &AtomicUsize::new(2), &mut |_| ()).unwrap();
        let counts: Vec<u64> = samples.times.iter().map(|it| it.work.count()).collect();
        assert_eq!(counts, [1, 0, 0, 0, 0, 0]);
    }
}
