// SPDX-License-Identifier: GPL-2.0-only
//! RT0's activations: its work between two sleeps, from its first call in user mode to its next
//! system call. The longest ones' steps are kept.

use super::watch::keep_most;
use crate::engine::observed::{Kind, Step};
use artis_explain::functions::Functions;

/// What a system call begins with.
const SYSTEM_CALL: &str = "do_syscall_64";

/// One of them.
#[derive(Clone, Debug)]
pub struct Activation {
    /// The wakeup that it follows.
    number: usize,
    pub begin: u64,
    pub end: u64,
    pub steps: Vec<Step>,
}

impl Activation {
    /// In ticks.
    pub fn length(&self) -> u64 {
        self.end - self.begin
    }
}

/// All that were seen.
#[derive(Debug)]
pub struct Activations {
    system_call: Option<u64>,
    keep: usize,
    /// The wakeup that each follows, and how long it took.
    lengths: Vec<(usize, u64)>,
    longest: Vec<Activation>,
}

impl Activations {
    /// Keeps the steps of the `keep` longest.
    pub fn new(functions: &Functions, keep: usize) -> Self {
        Self {
            system_call: functions.address(SYSTEM_CALL),
            keep,
            lengths: Vec::new(),
            longest: Vec::new(),
        }
    }

    /// RT0 was in user mode at `begin`, after its wakeup `number`; `steps`: all since.
    pub fn hear(&mut self, number: usize, begin: u64, steps: &[Step]) {
        let is_end = |step: &Step| {
            step.kind == Kind::Call && !step.user && Some(step.address) == self.system_call
        };
        let Some(last) = steps.iter().position(is_end) else {
            return;
        };
        let activation = Activation {
            number,
            begin,
            end: steps[last].tick,
            steps: steps[..=last].to_vec(),
        };
        self.lengths.push((number, activation.length()));
        keep_most(&mut self.longest, self.keep, activation, Activation::length);
    }

    /// The `keep` longest of those that follow the first `wakeups`, the longest first, and how long
    /// each of them took.
    pub fn fit(mut self, keep: usize, wakeups: usize) -> (Vec<Activation>, Vec<u64>) {
        self.longest.retain(|one| one.number < wakeups);
        self.longest
            .sort_by_key(|one| (std::cmp::Reverse(one.length()), one.number));
        self.longest.truncate(keep);
        let lengths = self.lengths.iter();
        let counted = lengths.filter(|(number, _)| *number < wakeups);
        (self.longest, counted.map(|(_, length)| *length).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_are_kept_and_what_comes_after_the_samples_is_none() {
        let functions = Functions::parse("ffffffff81000000 t do_syscall_64\n");
        let mut activations = Activations::new(&functions, 3);
        for (number, length) in [30, 500, 20, 40, 9000].into_iter().enumerate() {
            let begin = 1000 + number as u64 * 10_000;
            let step = |tick, kind, address, user| Step {
                tick,
                kind,
                address,
                user,
            };
            let address = 0xffff_ffff_8100_0000;
            let steps = [
                step(begin + 10, Kind::Interrupt, address, false),
                step(begin + 15, Kind::Return, 0x40_0000, true),
                step(begin + length, Kind::Call, address, false),
                step(begin + length + 50, Kind::Call, address, false),
            ];
            activations.hear(number, begin, &steps);
            // Cut short: nothing is known of it.
            activations.hear(number, begin, &steps[..2]);
        }
        let (longest, lengths) = activations.fit(2, 4);
        let found: Vec<_> = longest
            .iter()
            .map(|one| (one.begin, one.length(), one.steps.len()))
            .collect();
        assert_eq!(found, [(11_000, 500, 3), (31_000, 40, 3)]);
        assert_eq!(lengths, [30, 500, 20, 40]);
    }
}
