// SPDX-License-Identifier: GPL-2.0-only
//! The result file, `artis.result/1`: what was measured, on which machine, how, under which
//! load, and how far to trust it.
//!
//! Everything that prints, compares or decides reads this and nothing else. The published
//! schema is `docs/result.schema.json`.

use super::amount;
use super::distribution::Distribution;
use super::schema::schema_name;
use super::series::{self, Series};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The schema's name, the first thing in each file.
pub const SCHEMA: &str = "artis.result/1";

/// Id of the [`Warning`] that a result's times are an emulator's and never to be shown.
pub const EMULATED_TIME: &str = "emulated_time";

/// Id of the [`Warning`] that the times are those of an emulator that counts instructions.
pub const VIRTUAL_TIME: &str = "virtual_time";

/// One result file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a result: an object in braces")]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: SchemaName,
    /// Who measured: `artis 0.1.0`, or the program whose output was imported.
    pub tool: String,
    /// When it began, RFC 3339; none when an imported file does not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub started: Option<String>,
    /// How long it measured, seconds; none when an imported file does not say.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "amount::seconds_if_any"
    )]
    pub seconds: Option<f64>,
    /// Why it ended before its time, if it did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended_early: Option<String>,
    /// Where it was measured; none when an imported file does not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub machine: Option<Machine>,
    /// The command and the settings it resolved to.
    pub setup: Setup,
    /// What kept the machine busy meanwhile.
    #[serde(default)]
    pub load: Vec<LoadDone>,
    /// Reasons to distrust the figures; empty is good.
    #[serde(default)]
    pub audit: Vec<Warning>,
    /// The figures; none when only loads ran.
    #[serde(deserialize_with = "series::all_different")]
    pub series: Vec<Series>,
}

schema_name!(SCHEMA);

/// The machine of a measurement, as far as it matters for latency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// As `uname -r` prints it.
    pub kernel: String,
    /// Preemption model: none, voluntary, lazy, full, `PREEMPT_RT`, …; empty when an imported
    /// file does not say.
    pub preemption: String,
    /// Boot arguments; empty when an imported file does not say.
    pub cmdline: String,
    /// Online CPUs, as a kernel list: `0-3`; empty when an imported file does not say.
    pub cpus: String,
    /// The CPU's name, where the machine gives it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu_model: Option<String>,
    /// The sched_ext scheduler that was on; none is the kernel's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scheduler: Option<String>,
    /// Hypervisor or emulator; none where none was found.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub virtualisation: Option<String>,
}

/// How it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The exact command line.
    pub command: Vec<String>,
    /// Each setting, defaults included: `interval_us` → 1000.
    #[serde(default)]
    pub options: BTreeMap<String, serde_json::Value>,
}

/// A load that ran during the measurement, and the work it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadDone {
    /// Its name: `compute`, `hackbench`, …
    pub name: String,
    /// The CPUs it was bound to, as a kernel list; none is all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpus: Option<String>,
    /// What did the work: `stress-ng --cpu 2 …`.
    pub command: String,
    /// Work done.
    #[serde(deserialize_with = "amount::work")]
    pub work: f64,
    /// What one unit of it is: `bogo-ops`, `rounds`.
    pub unit: String,
    /// How long it worked, seconds.
    #[serde(deserialize_with = "amount::seconds")]
    pub seconds: f64,
    /// CPU time it took, seconds.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "amount::seconds_if_any"
    )]
    pub cpu_seconds: Option<f64>,
}

/// A reason to distrust a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// Stable name: `rt_throttling`.
    pub id: String,
    /// What was seen, and on what.
    pub seen: String,
    /// Why it matters.
    pub why: String,
    /// What to type or change; none where nothing helps. Older documents say `mend`.
    #[serde(skip_serializing_if = "Option::is_none", default, alias = "mend")]
    pub fix: Option<String>,
}

impl Machine {
    /// One of which only the kernel's release is known.
    pub fn of_kernel(release: String) -> Self {
        Self {
            kernel: release,
            preemption: String::new(),
            cmdline: String::new(),
            cpus: String::new(),
            cpu_model: None,
            scheduler: None,
            virtualisation: None,
        }
    }
}

impl Document {
    /// A document without figures, from this artis, begun now.
    pub fn new(setup: Setup) -> Self {
        Self {
            schema: SchemaName,
            tool: format!("artis {}", env!("CARGO_PKG_VERSION")),
            started: None,
            seconds: None,
            ended_early: None,
            machine: None,
            setup,
            load: Vec::new(),
            audit: Vec::new(),
            series: Vec::new(),
        }
    }

    /// Refuses what no reader could use: nothing at all, two series that are called alike,
    /// and durations that cannot be.
    ///
    /// # Errors
    /// A sentence.
    pub fn check(&self) -> Result<(), String> {
        let measured = !self.series.is_empty() || !self.load.is_empty();
        if !measured && self.ended_early.is_none() {
            let reason = "there is neither a series nor a load in it, so there is no result; \
                          measure again";
            return Err(reason.to_owned());
        }
        let mut known = BTreeSet::new();
        for one in &self.series {
            series::note(&mut known, one)?;
        }
        let maxima = self.series.iter().map(|one| one.max_at_s);
        let mut all = maxima.chain([self.seconds]).flatten();
        all.try_for_each(amount::check_seconds)
    }

    /// The unit of its times where they are not a real machine's but those of an emulator that
    /// counts instructions.
    pub fn virtual_unit(&self) -> Option<&str> {
        let found = self.audit.iter().find(|found| found.id == VIRTUAL_TIME)?;
        Some(&found.seen)
    }

    /// Whether its times are an emulator's, which mean nothing.
    pub fn is_emulated(&self) -> bool {
        self.audit.iter().any(|found| found.id == EMULATED_TIME)
    }

    /// All series of this name and kind as one distribution; none when there is none.
    pub fn merged(&self, name: &str) -> Option<Distribution> {
        let mut all: Option<Distribution> = None;
        for series in self.series.iter().filter(|series| series.name == name) {
            match &mut all {
                Some(all) => all.merge(&series.distribution),
                None => all = Some(series.distribution.clone()),
            }
        }
        all
    }
}
