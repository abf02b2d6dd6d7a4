// SPDX-License-Identifier: GPL-2.0-only
//! What a machine's real-time tasks get now, for who looks after it.
//!
//! Owns what `artis top` and `artis metrics` show ([`now`]), how it is gathered ([`look`]), the
//! screen ([`top`]), the metrics ([`metrics`]), the events for the journal ([`events`]), and when
//! the flight recorder is switched on ([`culprits`]). Changes nothing on the machine. Where
//! something cannot be seen, it is unknown, with a sentence that says why, and the rest is shown.

pub mod culprits;
pub mod events;
pub mod look;
pub mod metrics;
pub mod now;
pub mod top;
pub mod watcher;

#[cfg(test)]
mod tests;
