// SPDX-License-Identifier: GPL-2.0-only
//! Whether a set of real-time tasks fits on its CPUs, before it runs.
//!
//! Owns the task model ([`model`]), the analyses of one CPU ([`analysis`]), what is chosen for a
//! set ([`choose`]), by how much numbers would have to change ([`change`]), and the answer
//! ([`answer`]). Pure: reads no file, looks at no machine, prints nothing.
//!
//! The rule above all others: what is admitted cannot miss, as long as the numbers of the file
//! hold. Where an analysis cannot be done the answer is "unknown", with what would settle it.
//! Times are nanoseconds.

pub mod analysis;
pub mod answer;
pub mod change;
pub mod choose;
pub mod example;
pub mod model;

pub use answer::{Admission, Verdict, admit};
pub use model::{Error, Set};
