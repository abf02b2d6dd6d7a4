// SPDX-License-Identifier: GPL-2.0-only
//! Scenarios: sets of fake tasks with the same behaviour in every run, to judge a scheduler with.
//!
//! Owns the model ([`model`]): what tasks there are, what each of them does step by step, what
//! they share, and when the scenario ends; the formats that are read into it ([`format`]); and what
//! is known of each task after a run ([`outcome`]). Pure: reads no file, looks at no machine, runs
//! nothing. Who runs a scenario follows each task's program with a [`model::Cursor`].
//!
//! Source: piel-artis, section 3.3: a scenario is a set of tasks that only simulate the behaviour
//! of real ones, started at the same time, so that it can be replayed with other balancers.

pub mod format;
pub mod model;
pub mod outcome;

pub use format::{Format, Reading, read};
pub use model::Scenario;
pub use outcome::{Ended, Outcome, TaskOutcome};
