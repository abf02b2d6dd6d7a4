// SPDX-License-Identifier: GPL-2.0-only
//! What the CPU did in the worst wakeups or the longest activations, step by step: for who wants to
//! know more of a segment than its culprit.

use super::names;
use super::translate::{Span, TICK_NS};
use super::watch::table;
use crate::engine::observed::Kind;
use artis_explain::functions::Functions;
use artis_explain::recording::Loss;
use std::fmt::Write;

/// How long before RT0 was due a list begins.
const BEFORE_TICKS: u64 = 10_000;

/// A section for each, with how long it took, and in it a line for each step: when it was, from the
/// moment RT0 was due or its work began, and what it was.
pub(super) fn list(spans: &[Span<'_>], functions: &Functions) -> String {
    let mut text = String::new();
    for (at, span) in spans.iter().enumerate() {
        let since = span.due.saturating_sub(BEFORE_TICKS);
        let us = |tick: u64| {
            let ticks = tick.cast_signed() - span.due.cast_signed();
            ticks as f64 * TICK_NS as f64 / 1000.0
        };
        let gap = if at == 0 { "" } else { "\n" };
        let what = match span.loss {
            Loss::Stretched => "an activation of",
            Loss::Late | Loss::LockedOut => "late",
        };
        let _ = writeln!(text, "{gap}{}. {what} {:.3} us", at + 1, us(span.end));
        for step in span.steps.iter().filter(|step| step.tick >= since) {
            let name = || names::name(functions, step.address).unwrap_or("?");
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
    use super::super::watch::Wakeup;
    use super::*;
    use crate::engine::observed::Step;

    #[test]
    fn each_step_has_its_distance_from_the_moment_rt0_was_due() {
        let functions = Functions::parse("ffffffff81000000 t first\nffffffff81000100 t second\n");
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
        let wakeup = Wakeup::new(steps);
        assert_eq!(
            list(&[Span::wakeup(&wakeup, 100)], &functions),
            "1. late 1.000 us\n      -0.500 interrupt: first\n       0.100 returns into second\n       \
             0.200 page table 9\n       0.300 returns to user mode\n       \
             1.000 user mode: a call\n"
        );
    }
}
