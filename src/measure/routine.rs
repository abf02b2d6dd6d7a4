// SPDX-License-Identifier: GPL-2.0-only
//! Fixed pieces of work whose time is measured: the same steps each time, on every machine.
//!
//! Each step needs the result of the step before, so the compiler and the CPU cannot do steps in
//! parallel or leave one out. Source: piel-artis, section 3.2 (one million integer divisions). The
//! other routines stress what integer divisions do not: memory, floating point, kernel entry.

use std::hint::black_box;
use std::num::NonZeroU64;

/// Kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Routine {
    /// Divisions of 64-bit integers.
    Integer,
    /// Loads that each miss the small caches: a walk through cache lines in random order.
    Memory,
    /// Divisions of 64-bit floating-point numbers.
    Float,
    /// The shortest system call, `getppid`.
    Syscall,
}

impl Routine {
    /// As the command line and the result call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Memory => "memory",
            Self::Float => "float",
            Self::Syscall => "syscall",
        }
    }

    /// What one step is, in the plural.
    pub fn steps(self) -> &'static str {
        match self {
            Self::Integer => "integer divisions",
            Self::Memory => "loads from random cache lines",
            Self::Float => "floating-point divisions",
            Self::Syscall => "system calls",
        }
    }

    /// Steps that take some milliseconds, like the longest work of a real-time task. For divisions
    /// it is the paper's number.
    pub fn default_count(self) -> u32 {
        match self {
            Self::Integer | Self::Float => 1_000_000,
            Self::Memory | Self::Syscall => 100_000,
        }
    }
}

/// A piece of work that is ready to be done.
#[derive(Debug)]
pub struct Work {
    routine: Routine,
    count: u32,
    /// For [`Routine::Memory`]: each line names the next one, and all form one circle.
    lines: Vec<Line>,
}

/// Two cache lines on machines that fetch them in pairs.
#[derive(Clone, Debug)]
#[repr(align(128))]
struct Line {
    next: u32,
}

impl Work {
    /// Makes the work, and its memory if it needs some.
    pub fn new(routine: Routine, count: u32) -> Self {
        Self {
            routine,
            count,
            lines: match routine {
                Routine::Memory => circle(count),
                _ => Vec::new(),
            },
        }
    }

    /// Bytes of memory that it takes.
    pub fn bytes(routine: Routine, count: u32) -> u64 {
        match routine {
            Routine::Memory => u64::from(count) * size_of::<Line>() as u64,
            _ => 0,
        }
    }

    /// Does it once.
    #[inline(never)]
    pub fn run(&self) {
        match self.routine {
            Routine::Integer => integer(self.count),
            Routine::Memory => memory(&self.lines),
            Routine::Float => float(self.count),
            Routine::Syscall => system_calls(self.count),
        }
    }
}

fn integer(count: u32) {
    // Unknown to the compiler: a known divisor would become a multiplication.
    let divisor = black_box(NonZeroU64::MIN.saturating_add(2));
    let mut x = black_box(1_u64);
    for _ in 0..count {
        // A large dividend: many CPUs divide small ones faster.
        x = (u64::MAX - x) / divisor;
    }
    black_box(x);
}

fn float(count: u32) {
    let divisor = black_box(1.5_f64);
    let mut x = black_box(1.0_f64);
    for _ in 0..count {
        // Goes to 2/3 and stays an ordinary number.
        x = 1.0 / (x * divisor + 0.5);
    }
    black_box(x);
}

fn memory(lines: &[Line]) {
    let mut at = 0_u32;
    for _ in 0..lines.len() {
        at = lines[at as usize].next;
    }
    black_box(at);
}

fn system_calls(count: u32) {
    for _ in 0..count {
        // SAFETY: a system call without arguments. Not libc's getppid, which might cache it.
        black_box(unsafe { libc::syscall(libc::SYS_getppid) });
    }
}

/// A random circle through all lines, the same each time. Sattolo's algorithm ("An algorithm to
/// generate a random cyclic permutation", 1986).
fn circle(count: u32) -> Vec<Line> {
    let mut order: Vec<u32> = (0..count).collect();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for last in (1..order.len()).rev() {
        // Marsaglia's xorshift64.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        order.swap(last, (random % last as u64) as usize);
    }
    order.into_iter().map(|next| Line { next }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn a_walk_visits_every_line_once() {
        for count in [1, 2, 3, 1000] {
            let lines = circle(count);
            let mut seen = vec![false; lines.len()];
            let mut at = 0;
            for _ in 0..count {
                assert!(!seen[at]);
                seen[at] = true;
                at = lines[at].next as usize;
            }
            assert_eq!(at, 0);
        }
    }

    /// Ten times the work takes longer, so no step is left out. The best of many runs counts:
    /// losing the CPU only makes a run longer.
    #[test]
    fn no_step_is_left_out() {
        let best = |work: &Work| {
            let time = |_| {
                let begin = std::time::Instant::now();
                work.run();
                begin.elapsed()
            };
            (0..30).map(time).min().unwrap()
        };
        for routine in Routine::value_variants() {
            let few = best(&Work::new(*routine, 5_000));
            let many = best(&Work::new(*routine, 50_000));
            assert!(many > few * 3, "{routine:?}: {few:?} and {many:?}");
        }
    }
}
