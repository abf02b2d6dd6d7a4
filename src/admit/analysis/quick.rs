// SPDX-License-Identifier: GPL-2.0-only
//! What utilisation alone says, before any window is looked at.
//!
//! Sources: C. Liu, J. Layland, "Scheduling algorithms for multiprogramming in a hard-real-time
//! environment", 1973 (rate monotonic, n (2^(1/n) - 1); EDF, 1); E. Bini, G. Buttazzo,
//! G. Buttazzo, "Rate monotonic analysis: the hyperbolic bound", 2003.

use super::cpu::{Cpu, Order};
use super::stream::Whole;
use serde::Serialize;

/// What a bound on utilisation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    /// All deadlines are met.
    Fits,
    /// More is asked for than the CPU has.
    Misses,
    /// Nothing.
    Nothing,
}

/// A bound on utilisation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quick {
    pub bound: &'static str,
    /// What is compared with the limit.
    pub value: f64,
    pub limit: f64,
    pub says: Says,
}

/// What the bounds say of a CPU.
pub fn quick(cpu: &Cpu) -> Quick {
    let all = cpu.utilisation() + cpu.taken();
    let whole = cpu.whole(cpu.members.len());
    let of_all = |says| Quick {
        bound: "utilisation",
        value: all,
        limit: 1.0,
        says,
    };
    if whole == Whole::Above {
        return of_all(Says::Misses);
    }
    let is_plain = cpu.is_dedicated() && cpu.blocking.is_none() && cpu.is_preemptive;
    // A deadline is counted from the release, which is late by the jitter.
    let are_late = || {
        let mut all = cpu.members.iter();
        all.all(|one| one.room_ns() >= one.stream.period_ns + one.stream.jitter_ns)
    };
    match cpu.order {
        Order::Edf if is_plain && are_late() => of_all(match whole {
            Whole::Below | Whole::Equal => Says::Fits,
            _ => Says::Nothing,
        }),
        Order::Fixed if is_plain && is_rate_monotonic(cpu) => {
            let value: f64 = cpu
                .members
                .iter()
                .map(|one| 1.0 + one.stream.cost_ns as f64 / one.stream.period_ns as f64)
                .product();
            Quick {
                bound: "hyperbolic bound",
                value,
                limit: 2.0,
                says: match value <= 2.0 - 1e-9 {
                    true => Says::Fits,
                    false => Says::Nothing,
                },
            }
        }
        _ => of_all(Says::Nothing),
    }
}

/// No jitter, no delay, deadlines not before the next release, and priorities by periods.
fn is_rate_monotonic(cpu: &Cpu) -> bool {
    let plain = |one: &super::cpu::Member| {
        one.delay_ns == 0 && one.stream.jitter_ns == 0 && one.deadline_ns >= one.stream.period_ns
    };
    // Equal priorities count as higher ones, so they have to have the same period.
    let ordered = cpu.members.windows(2).all(|two| {
        let (one, other) = (&two[0], &two[1]);
        match one.urgency == other.urgency {
            true => one.stream.period_ns == other.stream.period_ns,
            false => one.stream.period_ns <= other.stream.period_ns,
        }
    });
    ordered && cpu.members.iter().all(plain)
}
