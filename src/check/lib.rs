// SPDX-License-Identifier: GPL-2.0-only
//! What on a machine speaks against real time.
//!
//! Judges [`Facts`]: facts in, findings out, one file for each family of findings. Pure: reads,
//! changes and prints nothing.

mod finding;
mod hardware;
mod interrupts;
mod isolation;
mod kernel;
mod managers;
mod memory;
pub mod obstacle;
mod power;
pub mod principles;
mod scheduling;
pub mod subject;
mod threads;
mod unseen;

pub use finding::{Finding, Severity};
pub use subject::Subject;

use artis_machine::facts::Facts;
use principles::Principle;
use serde::Serialize;

/// Name of the document's form.
pub const SCHEMA: &str = "artis.check/1";

/// What `artis check --json` prints.
#[derive(Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The CPUs that the findings concern.
    pub subject: Subject,
    pub facts: Facts,
    /// The gravest first.
    pub findings: Vec<Finding>,
    pub principles: Vec<Principle>,
}

impl Report {
    /// Judges a machine as a place for real-time tasks on these CPUs.
    pub fn new(facts: Facts, subject: Subject) -> Self {
        Self {
            schema: SCHEMA,
            findings: judge(&facts, &subject),
            principles: principles::of(&facts),
            subject,
            facts,
        }
    }

    /// How many findings have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        let grave = self.findings.iter().filter(|one| one.severity == severity);
        grave.count()
    }
}

/// All findings, the gravest first; those of one severity in the order of the families.
fn judge(facts: &Facts, subject: &Subject) -> Vec<Finding> {
    let families = [
        kernel::judge,
        hardware::judge,
        scheduling::judge,
        isolation::judge,
        interrupts::judge,
        threads::judge,
        power::judge,
        memory::judge,
        managers::judge,
        unseen::judge,
    ];
    let mut findings: Vec<Finding> = families
        .iter()
        .flat_map(|family| family(facts, subject))
        .collect();
    findings.sort_by_key(|finding| finding.severity);
    findings
}

#[cfg(test)]
mod tests;
