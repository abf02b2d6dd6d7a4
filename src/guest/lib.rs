// SPDX-License-Identifier: GPL-2.0-only
//! The guest's half of the lab: what runs inside a virtual machine, and what both sides agree on.
//!
//! Owns the protocol between guest and host ([`protocol`], [`frames`]), what an experiment asks of
//! a guest and gets back ([`experiment`]), and the code that does it there.
//! `artis` uses it to talk to a guest; the program `artis-guest` (`main.rs`) runs it. It depends on
//! the layers that measure, never on the rest of the lab: a guest holds nothing that only the host
//! needs. The scheduler is a program of
//! its own for the same reason ([`scheduler`]).

pub mod experiment;
pub mod frames;
pub mod ports;
pub mod protocol;
pub mod scheduler;
