// SPDX-License-Identifier: GPL-2.0-only
//! Priority inversion: three threads of one CPU and one lock, with and without inheritance.
//!
//! The low one takes the lock and works with it; the high one asks for the lock; the middle one,
//! which wants no lock, wakes up and computes. Without inheritance the high one waits for both;
//! with inheritance the low one runs at the high one's priority until it lets go. Rowand, "How
//! Linux `RT_PREEMPT` Works", slides "non-PI Mutex" and "PI Mutex".

mod mutex;

use crate::clock::now_ns;
use crate::live::Live;
use crate::thread::{self, Policy};
use mutex::Mutex;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use nix::unistd::gettid;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

/// From one round to the next: long enough for all three, and for the kernel's real-time budget.
const PERIOD_NS: u64 = 20_000_000;
/// How long the low thread works with the lock, and the middle one without.
pub const WITH_LOCK_NS: u64 = 2_000_000;
pub const COMPUTING_NS: u64 = 5_000_000;
/// When the high and the middle thread wake up, after the low one.
const HIGH_AFTER_NS: u64 = 500_000;
const MIDDLE_AFTER_NS: u64 = 1_000_000;
/// Until the first round all threads have begun, and somebody may have begun to watch.
const LEAD_NS: u64 = 100_000_000;

/// Priorities of the three.
const LOW: u8 = 10;
const MIDDLE: u8 = 20;
const HIGH: u8 = 30;

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub cpu: u32,
    /// The lock lends the priority of who waits to who has it (`PTHREAD_PRIO_INHERIT`).
    pub inherits: bool,
    pub rounds: u32,
}

/// Why it cannot be tried.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Thread(#[from] thread::Error),
    #[error("could not make a lock: {}", .0.desc())]
    Lock(Errno),
    #[error("could not start a thread")]
    Spawn(#[source] std::io::Error),
    #[error("a thread of the demonstration failed")]
    Failed,
}

/// How long so many rounds take.
pub fn takes(rounds: u32) -> Duration {
    Duration::from_nanos(LEAD_NS + u64::from(rounds) * PERIOD_NS)
}

/// Tries it until all rounds are made, or `stop` is not 0, and gives how long the high thread
/// waited for the lock in each round, in ns. `look` is called some tens of times a second with the
/// high thread's number and its waits so far.
///
/// # Errors
/// When a thread cannot be real time, or no lock can be made.
pub fn run(
    plan: Plan,
    stop: &AtomicUsize,
    look: &mut dyn FnMut(u32, &Live),
) -> Result<Vec<u64>, Error> {
    let lock = Mutex::new(plan.inherits).map_err(Error::Lock)?;
    let start_ns = now_ns() + LEAD_NS;
    let high = AtomicU32::new(0);
    let live = Live::default();
    let waits: Vec<AtomicU64> = (0..plan.rounds).map(|_| AtomicU64::new(0)).collect();
    // The same for all three: whoever made a round without the others would show something else.
    let end = AtomicU32::new(plan.rounds);
    let rounds = || (0..plan.rounds).take_while(|round| *round < end.load(Ordering::Relaxed));
    let round_ns = |round: u32| start_ns + u64::from(round) * PERIOD_NS;
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        threads.push(spawn(scope, || {
            begin(plan.cpu, LOW, c"low")?;
            for round in rounds() {
                sleep_until(round_ns(round));
                lock.hold(|| compute(WITH_LOCK_NS));
            }
            Ok(())
        })?);
        threads.push(spawn(scope, || {
            begin(plan.cpu, MIDDLE, c"middle")?;
            for round in rounds() {
                sleep_until(round_ns(round) + MIDDLE_AFTER_NS);
                compute(COMPUTING_NS);
            }
            Ok(())
        })?);
        threads.push(spawn(scope, || {
            begin(plan.cpu, HIGH, c"high")?;
            high.store(gettid().as_raw().cast_unsigned(), Ordering::Relaxed);
            for (round, wait) in rounds().zip(&waits) {
                sleep_until(round_ns(round) + HIGH_AFTER_NS);
                let asked_ns = now_ns();
                let wait_ns = lock.hold(|| now_ns() - asked_ns);
                wait.store(wait_ns, Ordering::Relaxed);
                live.publish(u64::from(round) + 1, wait_ns.cast_signed());
            }
            Ok(())
        })?);
        while threads.iter().any(|thread| !thread.is_finished()) {
            look(high.load(Ordering::Relaxed), &live);
            if stop.load(Ordering::Relaxed) != 0 {
                let now = now_ns().saturating_sub(start_ns) / PERIOD_NS;
                // One that nobody waits for yet: each decides when it has made the one before.
                let next = u32::try_from(now).map_or(plan.rounds, |now| now.saturating_add(2));
                end.fetch_min(next, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        threads.into_iter().try_for_each(|thread| {
            let ended = thread.join().map_err(|_| Error::Failed)?;
            ended.map_err(Error::from)
        })
    })?;
    let made = usize::try_from(live.count()).unwrap_or(usize::MAX);
    let waits = waits.into_iter().take(made);
    Ok(waits.map(AtomicU64::into_inner).collect())
}

fn spawn<'scope, F>(
    scope: &'scope Scope<'scope, '_>,
    work: F,
) -> Result<ScopedJoinHandle<'scope, Result<(), thread::Error>>, Error>
where
    F: FnOnce() -> Result<(), thread::Error> + Send + 'scope,
{
    std::thread::Builder::new()
        .spawn_scoped(scope, work)
        .map_err(Error::Spawn)
}

fn begin(cpu: u32, priority: u8, name: &std::ffi::CStr) -> Result<(), thread::Error> {
    // The name is for people only.
    let _ = prctl::set_name(name);
    thread::prepare(Some(cpu), Policy::Fifo(priority))
}

/// An early return would only shorten a round.
fn sleep_until(ns: u64) {
    let time = TimeSpec::from_duration(Duration::from_nanos(ns));
    let absolute = ClockNanosleepFlags::TIMER_ABSTIME;
    while clock_nanosleep(ClockId::CLOCK_MONOTONIC, absolute, &time) == Err(Errno::EINTR) {}
}

/// Uses so much CPU time.
fn compute(ns: u64) {
    let used = || {
        let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
        used.map_or(Duration::from_secs(u64::MAX / 4), Duration::from)
    };
    let end = used() + Duration::from_nanos(ns);
    while used() < end {
        std::hint::spin_loop();
    }
}
