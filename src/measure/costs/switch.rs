// SPDX-License-Identifier: GPL-2.0-only
//! What a switch takes: two threads of one priority give each other the CPU.
//!
//! From the last reading of the clock before `sched_yield` of the one to the first one after it of
//! the other: the switch, with the system call around it.

use super::Error;
use crate::clock::now_ns;
use crate::thread::{self, PRIORITY, Policy};
use crate::threads;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Switches of each thread, after those in which they meet.
const COUNT: usize = 20_000;
/// So many of a thousand take no longer than what counts: the others met an interrupt, and those
/// are counted by themselves.
const PER_THOUSAND: usize = 999;
/// A thread that waits for the other gives up then.
const TURNS_MAX: usize = COUNT * 4;

/// What was seen, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches {
    pub count: u64,
    /// 99.9 % took no longer.
    pub quantile_ns: u64,
    pub max_ns: u64,
}

/// Measures the switches of a CPU.
///
/// # Errors
/// When a thread cannot begin.
pub fn measure(cpu: u32) -> Result<Switches, Error> {
    let last_ns = AtomicU64::new(0);
    let last = AtomicUsize::new(usize::MAX);
    let results = threads::run(
        2,
        |_| {
            thread::prepare(Some(cpu), Policy::Fifo(PRIORITY))?;
            Ok::<_, Error>(Vec::with_capacity(COUNT))
        },
        |index, mut found: Vec<u64>| {
            for _ in 0..TURNS_MAX {
                let now = now_ns();
                let other = last.load(Ordering::Relaxed);
                if other != index && other != usize::MAX {
                    found.push(now.saturating_sub(last_ns.load(Ordering::Relaxed)));
                }
                if found.len() >= COUNT {
                    break;
                }
                last.store(index, Ordering::Relaxed);
                last_ns.store(now_ns(), Ordering::Relaxed);
                // SAFETY: gives the CPU away, and cannot fail.
                unsafe { libc::sched_yield() };
            }
            found
        },
        |finished| threads::watch(finished, Duration::from_millis(10), || {}),
    )?;
    Ok(of(results.concat()))
}

fn of(mut all: Vec<u64>) -> Switches {
    all.sort_unstable();
    let Some(max_ns) = all.last() else {
        return Switches::default();
    };
    Switches {
        count: all.len() as u64,
        quantile_ns: all[(all.len() * PER_THOUSAND).div_ceil(1000) - 1],
        max_ns: *max_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_ones_do_not_count() {
        let mut all = vec![1_000; 9_991];
        all.extend([50_000; 9]);
        let found = of(all);
        assert_eq!(
            (found.count, found.quantile_ns, found.max_ns),
            (10_000, 1_000, 50_000)
        );
        let mut all = vec![1_000; 9_989];
        all.extend([50_000; 11]);
        assert_eq!(of(all).quantile_ns, 50_000);
        assert_eq!(of(vec![]), Switches::default());
        assert_eq!(of(vec![7]).quantile_ns, 7);
    }
}
