// SPDX-License-Identifier: GPL-2.0-only
//! What the CPU did in the worst wakeups, step by step: for who wants to know more of a segment
//! than its culprit.

use super::symbols::Symbols;
use super::translate::TICK_NS;
use super::watch::{Wakeup, table};
use crate::engine::observed::Kind;
use std::fmt::Write;

/// How long before RT0 was due the list of a wakeup begins.
const BEFORE_TICKS: u64 = 10_000;

/// A section for each wakeup, with how late it was, and in it a line for each step: when
/// it was, from the moment RT0 was due on, and what it was.
pub(super) fn list(wakeups: &[(u64, Wakeup)], symbols: &Symbols) -> String {
    let mut text = String::new();
    for (at, (late, wakeup)) in wakeups.iter().enumerate() {
        let due = wakeup.end.saturating_sub(*late);
        let since = due.saturating_sub(BEFORE_TICKS);
        let us = |tick: u64| {
            let ticks = tick.cast_signed() - due.cast_signed();
            ticks as f64 * TICK_NS as f64 / 1000.0
        };
        let gap = if at == 0 { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{}. late {:.3} us", at + 1, us(wakeup.end));
        for step in wakeup.steps.iter().filter(|step| step.tick >= since) {
            let name = || symbols.name(step.address).unwrap_or("?");
            let what = match (step.kind, step.user) {
                (Kind::Call, false) => name().to_owned(),
                (Kind::Call, true) => "user mode: a call".to_owned(),
                (Kind::Interrupt, _) => format!("interrupt: {}", name()),
                (Kind::Return, false) => format!("returns into {}", name()),
                (Kind::Return, true) => "returns to user mode".to_owned(),
                (Kind::Space, _) => format!("page table {:x}", table(step.address) >> 12),
            };
            let _ = writeln!(text, "{:12.3} {what}", us(step.tick));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::observed::Step;

    #[test]
    fn each_step_has_its_distance_from_the_moment_rt0_was_due() {
        let symbols = Symbols::parse("ffffffff81000000 t first\nffffffff81000100 t second\n");
        let step = |tick, kind, address, user| Step {
            tick,
            kind,
            address,
            user,
        };
        let (first, second) = (0xffff_ffff_8100_0000, 0xffff_ffff_8100_0110);
        let steps = vec![
            step(1_000, Kind::Call, first, false),
            step(999_950, Kind::Interrupt, first, false),
            step(1_000_010, Kind::Return, second, false),
            step(1_000_020, Kind::Space, 0x9003, false),
            step(1_000_030, Kind::Return, 0x50_0000, true),
            step(1_000_100, Kind::Call, 0x50_0000, true),
        ];
        let wakeups = [(100, Wakeup::new(steps))];
        assert_eq!(
            list(&wakeups, &symbols),
            "1. late 1.000 us\n      -0.500 interrupt: first\n       0.100 returns into second\n       \
             0.200 page table 9\n       0.300 returns to user mode\n       \
             1.000 user mode: a call\n"
        );
    }
}
