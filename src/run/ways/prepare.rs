// SPDX-License-Identifier: GPL-2.0-only
//! What is to be measured, and what stands in the way: found out without a change.

use super::{AROUND, LOAD, Measured, Plan, Way};
use crate::advice::followable;
use crate::before::{refuse_overwriting, startable};
use crate::exit::UsageError;
use anyhow::{Context, bail};
use artis_check::obstacle::Obstacle;
use artis_decide::job::{Job, Work};
use artis_field::boot::Boot;
use artis_field::clean::before::{Seen, look};
use artis_field::kept::{Here, Kept, Setting};
use artis_machine::cpus::Cpus;
use artis_machine::kernel::{Kernel, Preemption};
use artis_machine::scx::Interface;
use artis_machine::{CpuList, Root, cpusets};
use artis_measure::host;
use artis_partition::apply::needed;
use artis_partition::host::Host;
use artis_partition::plan::Request;
use artis_result::Machine;
use std::path::Path;
use std::time::Duration;

/// A configuration, and what is wanted of it.
pub struct Wanted {
    pub(super) way: Way,
    pub name: &'static str,
    /// How it is made.
    pub how: String,
    /// Settings that it changes; none where that is not known before.
    pub changes: Option<usize>,
    /// Runs that count, and those that do not.
    pub done: usize,
    pub left_out: usize,
    /// Runs that are to be measured now; or why there can be none.
    pub missing: Result<u32, String>,
}

/// What is to be done.
pub struct Prepared {
    pub rt: u32,
    pub load: String,
    pub duration: Duration,
    pub boot: Boot,
    pub machine: Machine,
    pub wanted: Vec<Wanted>,
    /// What speaks against the figures before they are measured.
    pub seen: Vec<Seen>,
    /// Files of the folder that are no whole runs.
    pub damaged: Vec<String>,
    /// The configuration in which it was interrupted last time.
    pub interrupted: Option<String>,
    /// The user's folder; none: the results go with this process.
    pub is_kept: bool,
    pub(super) online: CpuList,
    pub(super) kept: Kept,
    pub(super) folder: Option<tempfile::TempDir>,
}

impl Prepared {
    /// How many runs there will be.
    pub fn runs(&self) -> u32 {
        let missing = self
            .wanted
            .iter()
            .map(|one| one.missing.as_ref().unwrap_or(&0));
        missing.sum()
    }

    /// How long it will take.
    pub fn time(&self) -> Duration {
        (self.duration + AROUND) * self.runs()
    }

    /// What there is without measuring anything.
    pub(super) fn without_measuring(self) -> Measured {
        Measured {
            words: Vec::new(),
            notes: self.damaged,
            work: None,
            columns: Vec::new(),
            kept: self.kept,
            rt: self.rt,
            machine: self.machine,
            folder: self.folder,
        }
    }
}

/// Refuses a user who may not change the machine.
///
/// # Errors
/// The sentence.
pub fn allowed() -> anyhow::Result<()> {
    if !nix::unistd::geteuid().is_root() {
        bail!(
            "--measure changes settings of the machine and takes them back; use sudo, or see \
             what it would do with --plan"
        );
    }
    Ok(())
}

impl Plan {
    /// Looks at the machine and at the folder, and changes nothing.
    ///
    /// # Errors
    /// On one CPU, with a load that cannot be started, and when the folder is another machine's or
    /// was measured otherwise.
    pub fn prepared(&self, job: &Job, inputs: &[&Path]) -> anyhow::Result<Prepared> {
        let load = job.rest.as_deref().unwrap_or(LOAD);
        startable(load, job)?;
        let root = Root::default();
        let (rt, online) = self.rt_cpu(&root)?;
        let machine = host::describe(&root).context("cannot describe this machine")?;
        let setting = Setting {
            rt,
            seconds: self.duration.as_secs_f64(),
            load: load.to_owned(),
            rest_command: job.rest_command.clone(),
        };
        let here = Here {
            cpu_model: machine.cpu_model.clone(),
            cpus: machine.cpus.clone(),
        };
        let temporary = match &self.keep {
            Some(_) => None,
            None => Some(
                tempfile::Builder::new()
                    .prefix("artis-decide-")
                    .tempdir()
                    .context("cannot create a folder for results")?,
            ),
        };
        let folder = match (&self.keep, &temporary) {
            (Some(folder), _) => folder.as_path(),
            (None, Some(folder)) => folder.path(),
            (None, None) => bail!("there is no folder for results"),
        };
        let kept = Kept::look(&root, folder, &here, &setting)?;
        if matches!(job.work, Some(Work::Command(_))) {
            refuse_overwriting(&folder.join("work.json"), inputs)?;
        }
        let boot = Boot::of(&machine);
        Ok(Prepared {
            rt,
            load: load.to_owned(),
            duration: self.duration,
            wanted: self.wanted(&root, rt, &kept, &boot)?,
            seen: typed(look(&root, rt)),
            damaged: kept.damaged.clone(),
            interrupted: kept.marked(),
            is_kept: temporary.is_none(),
            boot,
            machine,
            online,
            kept,
            folder: temporary,
        })
    }

    /// The RT CPU, and all that are online.
    fn rt_cpu(&self, root: &Root) -> anyhow::Result<(u32, CpuList)> {
        let online = Cpus::read(root)?.online;
        let rt = match self.rt {
            Some(rt) => rt,
            None => online.last().context("no CPU is online")?,
        };
        if !online.contains(rt) || online.len() < 2 {
            return Err(UsageError(format!(
                "--measure needs CPU {rt} for real-time tasks and another for the rest; online: \
                 {online}"
            ))
            .into());
        }
        Ok((rt, online))
    }

    fn wanted(
        &self,
        root: &Root,
        rt: u32,
        kept: &Kept,
        boot: &Boot,
    ) -> anyhow::Result<Vec<Wanted>> {
        let kernel = Kernel::read(root)?;
        let preempt_rt = kernel.preemption == Preemption::PreemptRt;
        let ways = Way::ALL.into_iter();
        let named = ways.filter_map(|way| Some((way, way.name(preempt_rt)?)));
        let wanted = named.map(|(way, name)| {
            let done = kept.pooled(name, boot).len();
            let (changes, obstacle) = match way {
                Way::AsItIs => (Some(0), None),
                Way::Tuned | Way::Shield => changes(root, rt, way == Way::Shield),
                Way::Scheduled => (None, no_scheduler(root, &kernel)),
            };
            let missing = self
                .runs
                .saturating_sub(u32::try_from(done).unwrap_or(u32::MAX));
            Wanted {
                way,
                name,
                how: way.how(rt),
                changes,
                done,
                left_out: kept.of(name, boot).count() - done,
                missing: obstacle.map_or(Ok(missing), Err),
            }
        });
        Ok(wanted.collect())
    }
}

/// With commands as this user types them.
fn typed(mut seen: Vec<Seen>) -> Vec<Seen> {
    for one in &mut seen {
        one.fix = one.fix.take().map(|fix| followable(&fix));
    }
    seen
}

/// How many settings a partition changes here, and why there can be none.
fn changes(root: &Root, rt: u32, shield: bool) -> (Option<usize>, Option<String>) {
    let request = match Request::new(root, &CpuList::from_iter([rt])) {
        Ok(request) => Request { shield, ..request },
        Err(error) => return (None, Some(error.to_string())),
    };
    if let Some(why) = cpusets::shield_obstacle(root).filter(|_| shield) {
        return (None, Some(why.to_owned()));
    }
    match needed(&Host::default(), &request) {
        Ok(plan) => (Some(plan.changes.len()), None),
        // It says why when it is made.
        Err(_) => (None, None),
    }
}

/// Why artis cannot schedule here.
fn no_scheduler(root: &Root, kernel: &Kernel) -> Option<String> {
    let interface = Interface::read(root).ok().flatten();
    let cpus = Cpus::read(root).ok();
    let all = Obstacle::all(kernel, interface.as_ref(), cpus.as_ref());
    if all.is_empty() {
        return None;
    }
    let words = all
        .iter()
        .map(|one| format!("{}; {}", one.cause(kernel), one.remedy(kernel)));
    Some(followable(&words.collect::<Vec<_>>().join("; ")))
}
