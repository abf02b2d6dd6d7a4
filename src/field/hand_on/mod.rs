// SPDX-License-Identifier: GPL-2.0-only
//! The one file to hand on: `artis.machine/1`, what a machine is and what its runs say, with
//! nothing personal in it.
//!
//! It has no host name, no user, no address, no serial number, no boot arguments but known ones and
//! no day. Its id was made at random for the folder of the runs, so that a file that is given twice
//! is found.

use crate::boot::Boot;
use crate::column::Column;
use crate::kept::Kept;
use crate::private::{Secrets, is_plain_value, release};
use artis_machine::facts::Facts;
use artis_machine::idle::C1_EXIT_LATENCY_US;
use artis_machine::{CpuList, Root, supply};
use artis_result::file;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The schema's name, the first thing in each file.
pub const SCHEMA: &str = "artis.machine/1";

/// What stands for a name that somebody chose.
const OWN: &str = "own";

/// Words about a machine that its makers chose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hardware {
    pub cpu_model: Option<String>,
    pub architecture: String,
    /// How many are online.
    pub cpus: usize,
    pub vendor: Option<String>,
    pub product: Option<String>,
    pub board: Option<String>,
    /// Version and date.
    pub firmware: Option<String>,
    /// The hypervisor; none on a real machine.
    pub virtualisation: Option<String>,
}

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandOn {
    pub schema: String,
    pub tool: String,
    /// Random.
    pub id: String,
    /// When its last run was measured: `2026-11`.
    pub month: Option<String>,
    pub hardware: Hardware,
    /// What may be set otherwise on another machine: `governor` -> `powersave`.
    pub settings: BTreeMap<String, String>,
    pub load: String,
    pub columns: Vec<Column>,
}

/// The machine below this root, as far as others may know it.
pub fn hardware(root: &Root, facts: &Facts, cpu_model: Option<String>) -> Hardware {
    let dmi = |name: &str| root.hint(format!("/sys/class/dmi/id/{name}"));
    let firmware = [dmi("bios_version"), dmi("bios_date")];
    let firmware: Vec<String> = firmware.into_iter().flatten().collect();
    Hardware {
        cpu_model,
        architecture: std::env::consts::ARCH.to_owned(),
        cpus: facts.online().len(),
        vendor: dmi("sys_vendor"),
        product: dmi("product_name").or_else(|| root.hint("/proc/device-tree/model")),
        board: dmi("board_name"),
        firmware: (!firmware.is_empty()).then(|| firmware.join(" ")),
        virtualisation: facts.virtualisation.value.clone(),
    }
}

/// What is set on it, of this CPU and of all. What is not known is left out.
pub fn settings(root: &Root, facts: &Facts, rt: u32) -> BTreeMap<String, String> {
    let rt = CpuList::from_iter([rt]);
    let has_rt = |cpus: &CpuList| !(cpus & &rt).is_empty();
    let governor = facts.governors.get().and_then(|all| {
        let mut all = all.iter();
        all.find_map(|(name, cpus)| has_rt(cpus).then(|| name.clone()))
    });
    let idle = facts.idle_states.get().map(|all| {
        let deep = |state: &artis_machine::idle::Allowed| {
            state.exit_latency_us > C1_EXIT_LATENCY_US && has_rt(&state.cpus)
        };
        if all.iter().any(deep) { "deep" } else { "C1" }
    });
    let smt = facts.topology.get().and_then(|all| {
        let core = all.cores.iter().find(|core| has_rt(core))?;
        Some(if core.len() > 1 { "shared" } else { "alone" })
    });
    let daemons = facts.managers.get().map(|all| {
        let names: BTreeSet<&str> = all.iter().map(|one| one.name).collect();
        match names.is_empty() {
            true => "none".to_owned(),
            false => names.into_iter().collect::<Vec<_>>().join(","),
        }
    });
    let on_battery = supply::on_battery(root).ok().flatten();
    let supply = on_battery.map(|is| if is { "battery" } else { "mains" });
    let clock = facts.clock.get().map(|clock| clock.current.clone());
    let all = [
        ("governor", governor),
        ("idle_states", idle.map(str::to_owned)),
        ("core", smt.map(str::to_owned)),
        ("daemons", daemons),
        ("supply", supply.map(str::to_owned)),
        ("clock_source", clock),
    ];
    all.into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .filter(|(_, value)| is_plain_value(value))
        .collect()
}

impl HandOn {
    /// The file of a folder's runs, without what is personal.
    pub fn new(
        kept: &Kept,
        columns: Vec<Column>,
        hardware: Hardware,
        settings: BTreeMap<String, String>,
        secrets: &Secrets,
    ) -> Self {
        let started = kept
            .runs
            .iter()
            .filter_map(|run| run.document.started.as_ref());
        let mut made = Self {
            schema: SCHEMA.to_owned(),
            tool: format!("artis {}", env!("CARGO_PKG_VERSION")),
            id: kept.id().to_owned(),
            month: started.max().and_then(|at| at.get(..7)).map(str::to_owned),
            hardware,
            settings,
            load: kept.setting().load.clone(),
            columns,
        };
        made.clean(secrets);
        made
    }

    /// Both walls of [`crate::private`].
    fn clean(&mut self, secrets: &Secrets) {
        let words = |text: &mut String| *text = secrets.without(text);
        let of = &mut self.hardware;
        let optional = [
            &mut of.cpu_model,
            &mut of.vendor,
            &mut of.product,
            &mut of.board,
            &mut of.firmware,
            &mut of.virtualisation,
        ];
        optional.into_iter().flatten().for_each(words);
        self.settings.values_mut().for_each(words);
        self.load = name(&self.load, secrets);
        for column in &mut self.columns {
            let Boot {
                kernel, arguments, ..
            } = &mut column.boot;
            *kernel = secrets.without(&release(kernel));
            arguments.retain(|one| is_plain_value(one) && !secrets.are_in(one));
            for run in &mut column.runs {
                let work = std::mem::take(&mut run.work).into_iter();
                run.work = work
                    .map(|(load, work)| (name(&load, secrets), work))
                    .collect();
            }
        }
    }

    /// Reads one.
    ///
    /// # Errors
    /// When it cannot be read, is none, or is damaged.
    pub fn read(path: &Path) -> Result<Self, file::Error> {
        Self::parse(path, &file::read_text(path)?)
    }

    /// The one that is in `path`.
    ///
    /// # Errors
    /// When it is none, or is damaged.
    pub fn parse(path: &Path, text: &[u8]) -> Result<Self, file::Error> {
        let read: Self = file::parse_as(path, text)?;
        match read.check() {
            Ok(()) => Ok(read),
            Err(reason) => Err(file::Error::Damaged {
                path: path.to_owned(),
                line: 1,
                column: 1,
                reason,
            }),
        }
    }

    /// What no reader could use.
    fn check(&self) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!(
                "the schema is {:?}, and {SCHEMA:?} is needed here; make the file with artis decide \
                 --measure --keep DIR --hand-on FILE",
                self.schema
            ));
        }
        let runs = self.columns.iter().flat_map(|column| &column.runs);
        let mut worsts = runs.map(|run| run.latency.us_max);
        match worsts.find(|worst| !worst.is_finite() || *worst < 0.0) {
            None => Ok(()),
            Some(worst) => Err(format!("{worst} us is no worst latency; measure again")),
        }
    }
}

/// The name of a load, unless somebody chose it.
fn name(text: &str, secrets: &Secrets) -> String {
    match is_plain_value(text) && !secrets.are_in(text) {
        true => text.to_owned(),
        false => OWN.to_owned(),
    }
}

#[cfg(test)]
mod tests;
