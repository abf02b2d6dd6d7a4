// SPDX-License-Identifier: GPL-2.0-only
//! OS noise of barrier-based computing: threads compute equal pieces and meet at a barrier, round
//! after round, and all wait for the slowest.
//!
//! Source: McKenney, "'Real Time' vs. 'Real Fast'", section 5: the computations where real-time
//! Linux lets work *finish* earlier. The ideal of a thread is the shortest time of its piece in an
//! unloaded run. A round cannot be shorter than the longest ideal; the time above that is lost. So
//! unequal CPUs do not count as noise.
//!
//! The time of all threads starts at the release of the barrier. So a thread that lost its CPU
//! while it was waiting is late, too.

mod barrier;
mod rounds;
pub mod series;

pub use super::threads::Error;
pub use rounds::Rounds;

use super::clock::{after_ns, difference_ns, now_ns};
use super::live::Live;
use super::routine::{Routine, Work};
use super::thread::{self, Policy};
use super::threads;
use artis_result::Distribution;
use barrier::Barrier;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Real-time threads rest after so long, all together, for the reasons given in [`super::exec`].
const STRETCH_NS: u64 = 10_000_000;
/// The rest: a tenth of the time.
const REST: Duration = Duration::from_nanos(STRETCH_NS / 9);
const LOOK: Duration = Duration::from_secs(1);

/// What is measured, and where.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One thread on each.
    pub cpus: Vec<u32>,
    pub policy: Policy,
    pub routine: Routine,
    /// Steps in a piece.
    pub count: u32,
    pub duration: Duration,
    /// The shortest time of each thread's piece in an unloaded run; empty while that run is made.
    pub ideal_ns: Vec<u64>,
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Samples {
    /// For each thread: the time of its pieces less its ideal, or the time where there is no ideal.
    pub pieces: Vec<Distribution>,
    pub rounds: Rounds,
}

/// What the last thread to arrive decides for all.
#[derive(Debug)]
struct Conductor {
    rounds: Rounds,
    end_ns: u64,
    rested_ns: u64,
}

/// What all threads do after a meeting.
const COMPUTE: usize = 0;
const REST_FIRST: usize = 1;
const END: usize = 2;

/// A thread's finishing time, in cache lines of its own: writing it does not slow other threads.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Finish(AtomicU64);

/// What the threads share.
struct Shared<'a> {
    plan: &'a Plan,
    stop: &'a AtomicUsize,
    barrier: Barrier<Conductor>,
    finished: Vec<Finish>,
    next: AtomicUsize,
    live: Live,
}

/// Measures until the duration is over or `stop` is not 0: one round at least. `look` is called
/// once a second. Without it nothing of this program runs meanwhile but the measuring threads.
///
/// # Errors
/// When a thread cannot be started, bound or given its policy.
pub fn measure(
    plan: &Plan,
    stop: &AtomicUsize,
    look: Option<&mut dyn FnMut(&Live)>,
) -> Result<Samples, Error> {
    let ideal_ns = plan.ideal_ns.iter().copied().max().unwrap_or(0);
    let threads = plan.cpus.len();
    let conductor = Conductor {
        rounds: Rounds::new(threads, ideal_ns),
        end_ns: 0,
        rested_ns: 0,
    };
    let shared = Shared {
        plan,
        stop,
        barrier: Barrier::new(threads, conductor),
        finished: (0..threads).map(|_| Finish::default()).collect(),
        next: AtomicUsize::new(COMPUTE),
        live: Live::default(),
    };
    let caller = std::thread::current();
    let pieces = threads::run(
        threads,
        |index| -> Result<(Work, Distribution), Error> {
            thread::prepare(Some(plan.cpus[index]), plan.policy)?;
            let work = Work::new(plan.routine, plan.count);
            work.run();
            Ok((work, Distribution::prefaulted(true)))
        },
        |index, (work, pieces)| {
            let pieces = shared.compute(index, &work, pieces);
            caller.unpark();
            pieces
        },
        |finished| {
            let Some(look) = look else { return };
            while !finished() {
                std::thread::park_timeout(LOOK);
                look(&shared.live);
            }
        },
    )?;
    Ok(Samples {
        pieces,
        rounds: shared.barrier.into_state().rounds,
    })
}

impl Shared<'_> {
    /// What one thread does.
    fn compute(&self, index: usize, work: &Work, mut pieces: Distribution) -> Distribution {
        let ideal_ns = self.plan.ideal_ns.get(index).copied().unwrap_or(0);
        let mut released_ns = self.barrier.meet(|conductor| conductor.begin(self.plan));
        loop {
            work.run();
            let finished_ns = now_ns();
            self.finished[index].0.store(finished_ns, Ordering::Relaxed);
            pieces.record(difference_ns(finished_ns, released_ns) - ideal_ns.cast_signed());
            let round_ns = released_ns;
            released_ns = self
                .barrier
                .meet(|conductor| self.conduct(conductor, round_ns));
            match self.next.load(Ordering::Relaxed) {
                COMPUTE => {}
                REST_FIRST => {
                    std::thread::sleep(REST);
                    released_ns = self.barrier.meet(Conductor::rested);
                }
                _ => return pieces,
            }
        }
    }

    /// Counts the round and decides what comes next. The others wait: this time is in no round.
    fn conduct(&self, conductor: &mut Conductor, released_ns: u64) {
        let finished_ns = self
            .finished
            .iter()
            .map(|finish| finish.0.load(Ordering::Relaxed));
        let took_ns = conductor.rounds.record(released_ns, finished_ns);
        self.live.publish(conductor.rounds.time.count(), took_ns);
        let now_ns = now_ns();
        let rest_is_due = now_ns - conductor.rested_ns >= STRETCH_NS;
        let next = if now_ns >= conductor.end_ns || self.stop.load(Ordering::Relaxed) != 0 {
            END
        } else if rest_is_due && self.plan.policy.is_real_time() {
            REST_FIRST
        } else {
            COMPUTE
        };
        self.next.store(next, Ordering::Relaxed);
    }
}

impl Conductor {
    fn begin(&mut self, plan: &Plan) {
        self.rested_ns = now_ns();
        self.end_ns = after_ns(self.rested_ns, Some(plan.duration));
    }

    fn rested(&mut self) {
        self.rested_ns = now_ns();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_task::syscall::affinity;

    fn plan(threads: usize) -> Plan {
        let cpus: Vec<u32> = affinity(0).unwrap().iter().collect();
        Plan {
            cpus: (0..threads)
                .map(|thread| cpus[thread % cpus.len()])
                .collect(),
            policy: Policy::Normal,
            routine: Routine::Integer,
            count: 5_000,
            duration: Duration::from_millis(50),
            ideal_ns: Vec::new(),
        }
    }

    #[test]
    fn every_thread_computes_in_every_round() {
        let samples = measure(&plan(2), &AtomicUsize::new(0), None).unwrap();
        let count = samples.rounds.time.count();
        assert!(count > 0);
        assert_eq!(samples.rounds.slowest.iter().sum::<u64>(), count);
        for piece in &samples.pieces {
            assert_eq!(piece.count(), count);
            let (piece, round) = (
                piece.moments().unwrap(),
                samples.rounds.time.moments().unwrap(),
            );
            assert!(piece.min > 0 && piece.max <= round.max);
        }
    }

    #[test]
    fn what_is_lost_is_the_round_less_the_longest_ideal() {
        let mut plan = plan(2);
        plan.ideal_ns = vec![1, 7];
        let samples = measure(&plan, &AtomicUsize::new(0), None).unwrap();
        let (time, lost) = (
            samples.rounds.time.moments().unwrap(),
            samples.rounds.lost.moments().unwrap(),
        );
        assert_eq!((time.min - lost.min, time.max - lost.max), (7, 7));
    }

    #[test]
    fn a_stop_ends_it_after_the_round() {
        let samples = measure(&plan(1), &AtomicUsize::new(15), None).unwrap();
        assert_eq!(samples.rounds.time.count(), 1);
    }
}
