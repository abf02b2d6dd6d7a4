// SPDX-License-Identifier: GPL-2.0-only
//! `artis decide --measure`: makes the machine what it can be on its own, one after the other, and
//! measures each again and again, with artis's own commands. Whatever was changed is taken back
//! before the next.
//!
//! [`prepare`] finds out what is to be done and changes nothing; [`rounds`] does it. The runs are
//! in a folder ([`artis_field::kept`]), so that the same command goes on after any end.

mod prepare;
mod rounds;

pub use prepare::{Prepared, Wanted, allowed};

use crate::exit;
use anyhow::anyhow;
use artis_field::boot::Boot;
use artis_field::column::Column;
use artis_field::hand_on::{self, HandOn};
use artis_field::kept::{Kept, Run, WAYS};
use artis_field::private::Secrets;
use artis_machine::Root;
use artis_machine::facts::Facts;
use artis_result::{Distribution, Machine};
use std::path::PathBuf;
use std::time::Duration;

/// What keeps the machine busy when the job does not say.
const LOAD: &str = "compute,hackbench";
/// What a run takes besides its duration: the run before the load, and the load's start.
const AROUND: Duration = Duration::from_secs(3);

/// How to measure what a machine can be.
pub struct Plan {
    /// How long each is measured.
    pub duration: Duration,
    /// How many runs of each are wanted that count.
    pub runs: u32,
    /// The CPU that real-time tasks get; none: the last one.
    pub rt: Option<u32>,
    /// Keep the results in this folder.
    pub keep: Option<PathBuf>,
}

/// What was measured.
pub struct Measured {
    /// Words as the command line has them: `stock=FOLDER/stock-1.json`.
    pub words: Vec<String>,
    /// What could not be measured, or does not count, and why.
    pub notes: Vec<String>,
    /// How long the job's command takes.
    pub work: Option<Distribution>,
    /// All configurations of the folder.
    pub columns: Vec<Column>,
    kept: Kept,
    rt: u32,
    machine: Machine,
    /// Where the results are; goes with this, unless the user keeps it.
    folder: Option<tempfile::TempDir>,
}

impl Measured {
    /// The error of what came after the measuring, with the place where its results stay.
    pub fn kept(self, error: anyhow::Error) -> anyhow::Error {
        match self.folder.map(tempfile::TempDir::keep) {
            Some(folder) if !exit::is_broken_pipe(&error) => {
                anyhow!("{error:#}; the results are in {}", folder.display())
            }
            _ => error,
        }
    }

    /// What others may know of it: without anything personal.
    pub fn hand_on(&self) -> HandOn {
        let root = Root::default();
        let facts = Facts::read(&root);
        let who = ["SUDO_USER", "USER", "LOGNAME"].into_iter();
        let who = who.filter_map(|name| std::env::var(name).ok());
        HandOn::new(
            &self.kept,
            self.columns.clone(),
            hand_on::hardware(&root, &facts, self.machine.cpu_model.clone()),
            hand_on::settings(&root, &facts, self.rt),
            // Of root everybody knows.
            &Secrets::read(&root, who.filter(|name| name != "root")),
        )
    }

    /// Chooses the runs that are judged: those that count, of one boot for each way, the present
    /// one if it has any.
    fn choose(&mut self, here: &Boot) {
        for way in WAYS {
            let boots = self.columns.iter().filter(|column| column.way == way);
            let pooled = boots.map(|column| (&column.boot, self.kept.pooled(way, &column.boot)));
            let mut pooled: Vec<(&Boot, Vec<&Run>)> =
                pooled.filter(|(_, runs)| !runs.is_empty()).collect();
            let started = |runs: &[&Run]| {
                let all = runs.iter().map(|run| run.document.started.clone());
                all.max().flatten()
            };
            pooled.sort_by_key(|(boot, runs)| (*boot == here, started(runs)));
            let Some((boot, runs)) = pooled.pop() else {
                continue;
            };
            for run in runs {
                self.words.push(format!("{way}={}", run.path.display()));
                let rest = run.path.with_extension("rest.json");
                if rest.exists() {
                    self.words.push(format!("{way}={}", rest.display()));
                }
            }
            let others: Vec<String> = pooled.iter().map(|(boot, _)| boot.to_string()).collect();
            if !others.is_empty() {
                self.notes.push(format!(
                    "{way} is judged on {boot}; its runs on {} are in the table only",
                    others.join(", ")
                ));
            }
        }
    }
}

/// What a machine can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    AsItIs,
    Tuned,
    Shield,
    Scheduled,
}

impl Way {
    const ALL: [Self; 4] = [Self::AsItIs, Self::Tuned, Self::Shield, Self::Scheduled];

    /// What `artis decide` calls it; none when it has no name on such a kernel.
    fn name(self, preempt_rt: bool) -> Option<&'static str> {
        match (self, preempt_rt) {
            (Self::AsItIs, false) => Some("stock"),
            (Self::Tuned, false) => Some("tuned"),
            (Self::Shield, false) => Some("shield"),
            (Self::Scheduled, false) => Some("artis"),
            (Self::AsItIs, true) => Some("rt"),
            (Self::Scheduled, true) => Some("artis-rt"),
            (Self::Tuned | Self::Shield, true) => None,
        }
    }

    /// Whether `artis partition` makes it.
    pub fn is_partition(self) -> bool {
        matches!(self, Self::Tuned | Self::Shield)
    }

    /// How it is made, in words.
    fn how(self, rt: u32) -> String {
        match self {
            Self::AsItIs => "the machine as it is".to_owned(),
            Self::Tuned => format!("artis partition apply --rt {rt}"),
            Self::Shield => format!("artis partition apply --rt {rt} --shield"),
            Self::Scheduled => format!("artis sched run --rt {rt}"),
        }
    }
}
