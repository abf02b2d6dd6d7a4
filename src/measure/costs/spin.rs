// SPDX-License-Identifier: GPL-2.0-only
//! A thread that only reads the clock: each gap between two readings is an interrupt, or what the
//! kernel or the hypervisor did with its CPU.
//!
//! It spins in bursts. Between them normal tasks run, so that nothing in the kernel waits for them
//! for long, and the kernel's limit on real-time tasks is never reached.

use super::Error;
use super::gaps::{Gap, Gaps};
use crate::clock::now_ns;
use crate::thread::{self, PRIORITY, Policy};
use crate::threads;
use nix::errno::Errno;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// So long it spins, and so long it sleeps then.
const BURST_NS: u64 = 200_000_000;
const PAUSE: Duration = Duration::from_millis(20);
/// Room for gaps.
const GAPS_MAX: usize = 1 << 20;
/// Readings that say how far apart two are, and how many times that is a gap.
const READINGS: usize = 10_000;
const GAP_READINGS: u64 = 8;

/// The gaps of so long. `look` is called each `pause` meanwhile, by the caller's thread.
///
/// # Errors
/// When the thread cannot begin.
pub fn gaps(
    cpu: u32,
    duration: Duration,
    pause: Duration,
    look: impl FnMut(),
) -> Result<Gaps, Error> {
    let prepare = || {
        thread::prepare(Some(cpu), Policy::Fifo(PRIORITY))?;
        Ok::<_, Error>(Vec::with_capacity(GAPS_MAX))
    };
    let work = |all: Vec<Gap>| look_for(all, duration);
    let mut results = threads::run(
        1,
        |_| prepare(),
        |_, all| work(all),
        |finished| threads::watch(finished, pause, look),
    )?;
    Ok(results.pop().unwrap_or_default())
}

fn look_for(all: Vec<Gap>, duration: Duration) -> Gaps {
    let reading_ns = reading_ns();
    let mut found = Gaps {
        all,
        reading_ns,
        ..Gaps::default()
    };
    let end_ns = now_ns() + duration.as_nanos() as u64;
    while now_ns() < end_ns {
        let begin_ns = now_ns();
        let until_ns = (begin_ns + BURST_NS).min(end_ns);
        burst(until_ns, reading_ns * GAP_READINGS, |gap| {
            match found.all.len() < GAPS_MAX {
                true => found.all.push(gap),
                false => found.is_cut = true,
            }
        });
        found.looked_ns += now_ns() - begin_ns;
        std::thread::sleep(PAUSE);
    }
    found
}

/// The median distance of two readings.
fn reading_ns() -> u64 {
    let mut distances = [0_u64; READINGS];
    let mut last_ns = now_ns();
    for distance in &mut distances {
        let now = now_ns();
        *distance = now - last_ns;
        last_ns = now;
    }
    distances.sort_unstable();
    distances[READINGS / 2].max(1)
}

/// Reads the clock until then, and says what is longer than `least_ns`.
fn burst(until_ns: u64, least_ns: u64, mut gap: impl FnMut(Gap)) {
    let mut last_ns = now_ns();
    while last_ns < until_ns {
        let now = now_ns();
        if now - last_ns > least_ns {
            gap(Gap {
                start_ns: last_ns,
                length_ns: now - last_ns,
            });
        }
        last_ns = now;
    }
}

/// What a release takes from another task: the interrupt of the timer that wakes a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Releases {
    pub count: u64,
    pub length_ns_max: u64,
}

/// Of each round: the timer is due in the middle of the burst, then the woken thread has the CPU.
const ROUND_NS: u64 = 1_000_000;
const REST: Duration = Duration::from_micros(500);
/// A gap that begins so long before or after the due time is that of the timer.
const NEAR_NS: u64 = 100_000;

/// The interrupts that wake a thread of a lower priority, seen by the one that they interrupt.
///
/// # Errors
/// When a thread cannot begin.
pub fn releases(cpu: u32, duration: Duration) -> Result<Releases, Error> {
    let timer = Timer::new().map_err(Error::Timer)?;
    let is_over = AtomicBool::new(false);
    let results = threads::run(
        2,
        |index| {
            // The spinning one comes first, whenever it wants to.
            let priority = if index == 0 { PRIORITY } else { PRIORITY - 1 };
            thread::prepare(Some(cpu), Policy::Fifo(priority))?;
            Ok::<_, Error>(())
        },
        |index, ()| match index {
            0 => {
                let found = rounds(&timer, duration);
                is_over.store(true, Ordering::Relaxed);
                timer.arm(now_ns());
                found
            }
            _ => {
                loop {
                    if is_over.load(Ordering::Relaxed) || !timer.wait() {
                        break;
                    }
                }
                Releases::default()
            }
        },
        |finished| threads::watch(finished, super::COUNT, || {}),
    )?;
    Ok(results.first().copied().unwrap_or_default())
}

fn rounds(timer: &Timer, duration: Duration) -> Releases {
    let least_ns = reading_ns() * GAP_READINGS;
    let end_ns = now_ns() + duration.as_nanos() as u64;
    let mut found = Releases::default();
    while now_ns() < end_ns {
        let due_ns = now_ns() + ROUND_NS / 2;
        timer.arm(due_ns);
        let mut longest_ns = 0;
        burst(due_ns + ROUND_NS / 2, least_ns, |gap| {
            let is_near = gap.start_ns < due_ns + NEAR_NS && gap.start_ns + gap.length_ns > due_ns;
            if is_near && longest_ns == 0 {
                longest_ns = gap.length_ns;
            }
        });
        if longest_ns > 0 {
            found.count += 1;
            found.length_ns_max = found.length_ns_max.max(longest_ns);
        }
        std::thread::sleep(REST);
    }
    found
}

/// A timer that a thread can wait for while another one sets it.
struct Timer(std::os::fd::OwnedFd);

impl Timer {
    fn new() -> Result<Self, Errno> {
        use std::os::fd::FromRawFd;
        // SAFETY: makes a descriptor, which nobody else owns.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
        let fd = Errno::result(fd)?;
        // SAFETY: as above.
        Ok(Self(unsafe { std::os::fd::OwnedFd::from_raw_fd(fd) }))
    }

    fn arm(&self, at_ns: u64) {
        use std::os::fd::AsRawFd;
        let spec = libc::itimerspec {
            it_interval: crate::clock::to_timespec(0),
            it_value: crate::clock::to_timespec(at_ns),
        };
        // SAFETY: the descriptor and `spec` live; the kernel only reads it.
        unsafe {
            libc::timerfd_settime(
                self.0.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &raw const spec,
                std::ptr::null_mut(),
            )
        };
    }

    /// Waits until it is due; false when that is not possible.
    fn wait(&self) -> bool {
        let mut times = [0_u8; 8];
        matches!(
            nix::unistd::read(&self.0, &mut times),
            Ok(8) | Err(Errno::EINTR)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_ends_and_reports_only_what_is_longer() {
        let begin_ns = now_ns();
        let mut seen = Vec::new();
        burst(begin_ns + 2_000_000, 0, |gap| seen.push(gap));
        assert!(now_ns() >= begin_ns + 2_000_000);
        assert!(!seen.is_empty());
        burst(now_ns() + 1_000_000, u64::MAX, |_| {
            panic!("nothing is as long")
        });
    }

    #[test]
    fn a_timer_that_was_set_ends_the_wait() {
        let timer = Timer::new().unwrap();
        timer.arm(now_ns() + 1_000_000);
        assert!(timer.wait());
    }
}
