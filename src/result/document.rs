// SPDX-License-Identifier: GPL-2.0-only
//! The result file, `artis.result/1`: what was measured, on which machine, how, under which
//! load, and how far it can be trusted.
//!
//! Everything that prints, compares or decides reads this and nothing else. The published
//! schema is `docs/result.schema.json`.

use super::distribution::Distribution;
use super::series::Series;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema's name, the first thing in each file.
pub const SCHEMA: &str = "artis.result/1";

/// Id of the [`Warning`] that a result's times are an emulator's and never to be shown.
pub const EMULATED_TIME: &str = "emulated_time";

/// In [`Document::audit`]: the times are those of an emulator that counts instructions.
pub const VIRTUAL_TIME: &str = "virtual_time";

/// One result file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: SchemaName,
    /// Who measured: `artis 0.1.0`, or the program whose output was imported.
    pub tool: String,
    /// When it began, RFC 3339; none when an imported file does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub started: Option<String>,
    /// How long it measured, seconds; none when an imported file does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seconds: Option<f64>,
    /// Why it ended before its time, if it did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended_early: Option<String>,
    /// Where it was measured; none when an imported file does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub machine: Option<Machine>,
    /// The command and the settings it resolved to.
    pub setup: Setup,
    /// What kept the machine busy meanwhile.
    #[serde(default)]
    pub load: Vec<LoadDone>,
    /// What speaks against the figures; empty is good.
    #[serde(default)]
    pub audit: Vec<Warning>,
    /// The figures.
    pub series: Vec<Series>,
}

/// A string that can only be [`SCHEMA`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchemaName;

impl Serialize for SchemaName {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(SCHEMA)
    }
}

impl<'de> Deserialize<'de> for SchemaName {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        exactly(SCHEMA, input).map(|()| Self)
    }
}

/// Reads a string that can only be `schema`.
pub(super) fn exactly<'de, D: serde::Deserializer<'de>>(
    schema: &str,
    input: D,
) -> Result<(), D::Error> {
    let name = String::deserialize(input)?;
    if name == schema {
        Ok(())
    } else {
        Err(serde::de::Error::custom(format!(
            "schema is {name:?}, and this artis reads {schema:?}"
        )))
    }
}

/// The machine of a measurement, as far as it matters for latency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// As `uname -r` prints it.
    pub kernel: String,
    /// Preemption model: none, voluntary, lazy, full, `PREEMPT_RT`, …; empty when an imported
    /// file does not tell.
    pub preemption: String,
    /// Boot arguments; empty when an imported file does not tell.
    pub cmdline: String,
    /// Online CPUs, as a kernel list: `0-3`; empty when an imported file does not tell.
    pub cpus: String,
    /// The CPU's name, where the machine tells.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu_model: Option<String>,
    /// The sched_ext scheduler that was on; none is the kernel's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scheduler: Option<String>,
    /// Hypervisor or emulator; none where nothing gives one away.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub virtualisation: Option<String>,
}

/// How it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The exact command line.
    pub command: Vec<String>,
    /// Each setting after defaults were settled: `interval_us` → 1000.
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
    pub work: f64,
    /// What one unit of it is: `bogo-ops`, `rounds`.
    pub unit: String,
    /// How long it worked, seconds.
    pub seconds: f64,
    /// CPU time it took, seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu_seconds: Option<f64>,
}

/// Something that speaks against a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// Stable name: `rt_throttling`.
    pub id: String,
    /// What was seen, and on what.
    pub seen: String,
    /// Why it matters.
    pub why: String,
    /// What to type or change; none where nothing helps.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mend: Option<String>,
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
