// SPDX-License-Identifier: GPL-2.0-only
//! What one CPU does while its guest runs, and who receives that.

use super::accesses::Accesses;
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex};

/// What the CPU did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A function was called; the address is its begin.
    Call,
    /// An interrupt or an exception came; the address is in its first instruction's reach.
    Interrupt,
    /// The return from one; the address is where the CPU goes on.
    Return,
    /// Another address space; the address is that of its page table.
    Space,
}

/// One thing that the CPU did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Instructions since power-on.
    pub tick: u64,
    pub kind: Kind,
    pub address: u64,
    /// In user mode afterwards.
    pub user: bool,
}

/// Receives every step, in the order of time.
pub trait Observer: Send {
    fn hear(&mut self, step: Step);
}

/// A CPU, and who receives its steps.
#[derive(Clone)]
pub struct Observed {
    pub cpu: u32,
    pub observer: Arc<Mutex<dyn Observer>>,
}

impl Debug for Observed {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "CPU {}", self.cpu)
    }
}

/// What an engine reports of a guest.
#[derive(Clone, Debug)]
pub enum Reported {
    Steps(Observed),
    Accesses(Accesses),
}
