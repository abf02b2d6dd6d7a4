// SPDX-License-Identifier: GPL-2.0-only
//! The real-time tasks that were admitted and run now: who they are, on which RT CPU, and with
//! which numbers.
//!
//! Owns the register below `/run/artis` ([`register`]), how a task joins and leaves it ([`join`]),
//! the kernel's reservations for EDF ([`reservation`]), and what is seen of their jobs ([`jobs`],
//! [`seen`]). Analyses nothing itself: whether a set fits is the answer of `artis-admit`. Starts no
//! command.
//! Source: piel-artis, conclusion (several RT0 on an RT CPU, a task model, EDF or RM).

pub mod beside;
pub mod entry;
pub mod jobs;
pub mod join;
pub mod register;
pub mod reservation;
pub mod seen;
mod whole;

pub use entry::{Admitted, Numbers, OfCpu, OnOverrun, Register};
