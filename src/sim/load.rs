// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's average of how much of a CPU a class takes: PELT (kernel/sched/pelt.c), in whole
//! numbers. A period of 1,024 us counts half as much 32 periods later.

/// All of a CPU.
const WHOLE: u64 = 1024;
const PERIOD_NS: u64 = 1024 * 1024;
/// 2^32 times the 32nd root of one half.
const STEP: u64 = 4_203_046_553;

/// An average.
#[derive(Clone, Copy, Debug, Default)]
pub struct Average {
    /// 2^20 times the share.
    value: u64,
    at_ns: u64,
}

impl Average {
    /// The class ran, or did not, since the last time up to now.
    pub fn note(&mut self, now: u64, ran: bool) {
        let mut passed = now.saturating_sub(self.at_ns);
        let target = if ran { WHOLE << 20 } else { 0 };
        if passed > 4096 * PERIOD_NS {
            self.value = target;
            self.at_ns = now;
            return;
        }
        while passed >= PERIOD_NS {
            self.approach(target, STEP);
            passed -= PERIOD_NS;
        }
        // Of a part of a period: as of a whole one, by its part.
        let part = (1 << 32) - ((1 << 32) - STEP) * (passed >> 10) / (PERIOD_NS >> 10);
        self.approach(target, part);
        self.at_ns = now;
    }

    fn approach(&mut self, target: u64, keeps: u64) {
        let (value, target) = (u128::from(self.value), u128::from(target));
        let sum = value * u128::from(keeps) + target * u128::from((1 << 32) - keeps);
        self.value = (sum >> 32) as u64;
    }

    /// The share, of 1,024.
    pub fn share(&self) -> u64 {
        self.value >> 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_counts_half_after_32() {
        let mut average = Average::default();
        average.note(5000 * PERIOD_NS, true);
        assert_eq!(average.share(), WHOLE);
        average.note(5032 * PERIOD_NS, false);
        assert!(
            (510..=513).contains(&average.share()),
            "{}",
            average.share()
        );
        // In pieces as at once.
        let mut pieces = Average::default();
        pieces.note(5000 * PERIOD_NS, true);
        for at in 1..=64 {
            pieces.note(5000 * PERIOD_NS + at * PERIOD_NS / 2, false);
        }
        assert!(pieces.share().abs_diff(average.share()) <= 2);
    }
}
