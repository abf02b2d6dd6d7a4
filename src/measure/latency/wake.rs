// SPDX-License-Identifier: GPL-2.0-only
//! The sources `wake`, `pipe` and `udp`: a thread on another CPU hands over, through a medium
//! ([`super::medium`]). They measure the wakeup alone, across CPUs and without a timer: from the
//! waker's decision to the woken thread. Where the waiting thread is not bound, the waker is not,
//! either.

use super::medium::Medium;
use super::source::{Event, Request, Source, Unavailable};
use super::timer::{next_due, sleep_until};
use crate::clock::now_ns;
use artis_load::seed::Seed;
use artis_machine::CpuList;
use artis_task::syscall::set_affinity;
use nix::errno::Errno;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// So many times are kept: who is displaced while it reads one reads that of its own turn.
const TURNS: usize = 64;

/// What the two threads share.
struct HandOver {
    /// How often it was handed over; the futex, where that is the medium.
    turn: AtomicU32,
    /// When it was, ns since boot: a turn's is at its number modulo `TURNS`.
    handed_ns: [AtomicU64; TURNS],
    /// When to begin; 0 is not yet.
    start_ns: AtomicU64,
    stop: AtomicBool,
    medium: Medium,
}

impl HandOver {
    fn new(medium: Medium) -> Self {
        Self {
            turn: AtomicU32::new(0),
            handed_ns: [const { AtomicU64::new(0) }; TURNS],
            start_ns: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            medium,
        }
    }

    /// Only the waker calls it.
    fn hand_over(&self, now_ns: u64) {
        let turn = self.turn.load(Ordering::Relaxed).wrapping_add(1);
        self.handed_ns[turn as usize % TURNS].store(now_ns, Ordering::Release);
        self.turn.store(turn, Ordering::Release);
    }

    /// When this turn began; `None` when so many have begun since that it is not known any more.
    fn handed_ns(&self, turn: u32) -> Option<u64> {
        let handed_ns = self.handed_ns[turn as usize % TURNS].load(Ordering::Acquire);
        let later = self.turn.load(Ordering::Relaxed).wrapping_sub(turn);
        // The time of the next turn is written before the turn itself.
        ((later as usize) < TURNS - 1).then_some(handed_ns)
    }
}

/// Waits for what another thread hands over.
pub struct Wake {
    shared: Arc<HandOver>,
    waker: Option<JoinHandle<()>>,
    /// The turn seen last.
    turn: u32,
}

impl Wake {
    /// Starts a thread that hands over each period of `request`, on another CPU than the request's
    /// out of those that are allowed, or wherever it likes when the request names none, with policy
    /// and priority of the thread that calls.
    ///
    /// # Errors
    /// When there is no other CPU, or the system refuses the thread.
    pub(super) fn new(request: &Request, medium: Medium) -> Result<Self, Unavailable> {
        let other_than = |cpu| other_cpu(cpu, &request.allowed);
        let other = request.cpu.map(other_than).transpose()?;
        let mut moments = Moments {
            interval_ns: request.interval_ns,
            random: request.seed.map(Seed::new),
        };
        let shared = Arc::new(HandOver::new(medium));
        let ours = Arc::clone(&shared);
        let refused = |error: std::io::Error| Unavailable::Refused {
            what: "start the thread that wakes".to_owned(),
            next: "raise the limit of threads (ulimit -u)",
            source: Errno::from_raw(error.raw_os_error().unwrap_or(libc::EAGAIN)),
        };
        let waker = std::thread::Builder::new()
            .name("artis-waker".to_owned())
            .spawn(move || {
                // Policy and priority are inherited. When the CPU has just gone offline, the kernel
                // chooses another one.
                if let Some(other) = other {
                    let _ = set_affinity(0, &CpuList::from_iter([other]));
                }
                hand_over(&ours, &mut moments);
            })
            .map_err(refused)?;
        Ok(Self {
            shared,
            waker: Some(waker),
            turn: 0,
        })
    }
}

/// A CPU for the waker of a thread on `cpu`.
fn other_cpu(cpu: u32, allowed: &CpuList) -> Result<u32, Unavailable> {
    let other = allowed.iter().find(|other| *other != cpu);
    other.ok_or_else(|| Unavailable::Absent {
        what: format!("this process may use CPU {allowed} only, and the waker needs another"),
        next: "allow it more CPUs (taskset), or use --unbound or --source timer",
    })
}

/// When the waker hands over.
struct Moments {
    interval_ns: u64,
    random: Option<Seed>,
}

impl Moments {
    /// The moment after `due_ns` that is still to come.
    fn next_ns(&mut self, due_ns: u64) -> u64 {
        let Some(random) = &mut self.random else {
            return next_due(due_ns, self.interval_ns, now_ns()).0;
        };
        let pause_ns = self.interval_ns / 2 + random.draw() % self.interval_ns.max(1);
        now_ns().max(due_ns + pause_ns)
    }
}

/// What the waker does.
fn hand_over(shared: &HandOver, moments: &mut Moments) {
    while shared.start_ns.load(Ordering::Acquire) == 0 {
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        std::thread::park();
    }
    let mut due_ns = shared.start_ns.load(Ordering::Relaxed) + moments.interval_ns;
    while !shared.stop.load(Ordering::Relaxed) {
        // A signal ends the sleep early; the next turn then comes early, which does no harm.
        let _ = sleep_until(due_ns);
        shared.hand_over(now_ns());
        shared.medium.wake(&shared.turn);
        due_ns = moments.next_ns(due_ns);
    }
}

impl Source for Wake {
    fn start(&mut self, start_ns: u64) -> Result<(), Errno> {
        self.shared.start_ns.store(start_ns, Ordering::Release);
        if let Some(waker) = &self.waker {
            waker.thread().unpark();
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<Event, Errno> {
        loop {
            let turn = self.shared.turn.load(Ordering::Acquire);
            if turn != self.turn {
                let observed_ns = now_ns();
                let Some(due_ns) = self.shared.handed_ns(turn) else {
                    continue;
                };
                let missed = u64::from(turn.wrapping_sub(self.turn)) - 1;
                self.turn = turn;
                return Ok(Event {
                    due_ns,
                    observed_ns,
                    missed,
                });
            }
            self.shared.medium.wait(&self.shared.turn, turn)?;
        }
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(waker) = self.waker.take() {
            waker.thread().unpark();
            // It cannot have panicked with anything that matters here.
            let _ = waker.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who saw a turn may be displaced before it reads when that was.
    #[test]
    fn a_turn_keeps_its_time_while_others_follow() {
        let shared = HandOver::new(Medium::Futex);
        shared.hand_over(1000);
        for later in 1..TURNS as u64 - 1 {
            shared.hand_over(1000 + later);
            assert_eq!(shared.handed_ns(1), Some(1000));
        }
        shared.hand_over(9000);
        assert_eq!(shared.handed_ns(1), None, "the next one writes over it");
        assert_eq!(shared.handed_ns(TURNS as u32), Some(9000));
    }

    #[test]
    fn random_moments_are_a_period_apart_on_average_and_repeat() {
        let moments = |seed| {
            let mut moments = Moments {
                interval_ns: 1000,
                random: Some(Seed::new(seed)),
            };
            // Later than any clock, so that only what is drawn counts.
            let mut due_ns = u64::MAX / 2;
            let mut pause = || {
                let next_ns = moments.next_ns(due_ns);
                next_ns - std::mem::replace(&mut due_ns, next_ns)
            };
            (0..1000).map(|_| pause()).collect::<Vec<_>>()
        };
        let all = moments(1);
        assert!(all.iter().all(|pause| (500..1500).contains(pause)));
        let mean = all.iter().sum::<u64>() / 1000;
        assert!((950..1050).contains(&mean), "{mean}");
        assert_eq!(all, moments(1));
        assert_ne!(all, moments(2));
    }

    #[test]
    fn turns_are_counted_beyond_the_end_of_their_numbers() {
        let shared = HandOver::new(Medium::Futex);
        shared.turn.store(u32::MAX, Ordering::Relaxed);
        shared.hand_over(7);
        assert_eq!(shared.handed_ns(0), Some(7));
        shared.hand_over(8);
        assert_eq!(shared.handed_ns(0), Some(7));
    }
}
