// SPDX-License-Identifier: GPL-2.0-only
//! `artis decide --measure`: makes the machine what it can be on its own, one after the other, and
//! measures each, with artis's own commands. Whatever was changed is taken back before the next.

use crate::before::{refuse_overwriting, startable};
use crate::exit::{self, UsageError};
use crate::own::{COMMANDS, Run};
use crate::progress::{Sign, Stderr};
use crate::session::alone;
use crate::signals::stop_on_signals;
use anyhow::{Context, anyhow, bail};
use artis_decide::job::{Job, Work};
use artis_lab::progress::Progress;
use artis_machine::Root;
use artis_machine::cpus::Cpus;
use artis_machine::kernel::{Kernel, Preemption};
use artis_partition::host::Host;
use artis_partition::transaction::in_force;
use artis_result::{Distribution, file};
use humantime::format_duration;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What keeps the machine busy when the job does not say.
const LOAD: &str = "compute,hackbench";
/// What a run takes besides its duration: the run before the load, and the load's start.
const AROUND: Duration = Duration::from_secs(3);

/// How to measure what a machine can be.
pub struct Plan {
    /// How long each is measured.
    pub duration: Duration,
    /// How often each is measured, in turn.
    pub runs: u32,
    /// The CPU that real-time tasks get; none: the last one.
    pub rt: Option<u32>,
    /// Keep the results in this folder.
    pub keep: Option<PathBuf>,
}

/// What was measured.
pub struct Measured {
    /// Words as the command line has them: `stock=FOLDER/stock.json`.
    pub words: Vec<String>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
    /// How long the job's command takes.
    pub work: Option<Distribution>,
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
}

/// The worst latency so far, and whose it is, for the sign of life.
#[derive(Default)]
struct Worst(Option<(i64, &'static str)>);

impl Worst {
    /// A result that cannot be read is an error later.
    fn look(&mut self, name: &'static str, path: &Path) {
        let document = file::read(path).ok();
        let all = document.and_then(|document| document.merged("latency"));
        let max_ns = all.and_then(|all| all.moments()).map(|all| all.max);
        self.0 = self.0.max(max_ns.map(|max_ns| (max_ns, name)));
    }
}

impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((ns, name)) = self.0 else {
            return Ok(());
        };
        write!(f, "; worst so far {:.1} us, of {name}", ns as f64 / 1000.0)
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
}

impl Plan {
    /// Measures each way that this machine can be.
    ///
    /// # Errors
    /// Without root, on one CPU, beside another partition or scheduler, and after a signal; the
    /// machine is as before.
    pub fn measured(&self, job: &Job, inputs: &[&Path]) -> anyhow::Result<Measured> {
        startable(job.rest.as_deref().unwrap_or(LOAD), job)?;
        let root = Root::default();
        let rt = self.free_cpu(&root)?;
        let stop = stop_on_signals()?;
        let (folder, kept) = match &self.keep {
            Some(folder) => {
                std::fs::create_dir_all(folder)
                    .with_context(|| format!("cannot create the folder {}", folder.display()))?;
                (folder.clone(), None)
            }
            None => {
                let folder = tempfile::Builder::new()
                    .prefix("artis-decide-")
                    .tempdir()
                    .context("cannot create a folder for results")?;
                (folder.path().to_owned(), Some(folder))
            }
        };
        let _alone = alone(&stop)?;
        let run = Run {
            artis: std::env::current_exe().context("cannot find the program artis")?,
            stop,
            rt: rt.to_string(),
            errors: tempfile::NamedTempFile::new().context("cannot keep what artis says")?,
        };
        let preempt_rt = Kernel::read(&root)?.preemption == Preemption::PreemptRt;
        let ways = Way::ALL.map(|way| way.name(preempt_rt).map(|name| (way, name)));
        let ways: Vec<_> = ways.into_iter().flatten().collect();
        let mut measured = Measured {
            words: Vec::new(),
            notes: Vec::new(),
            work: None,
            folder: kept,
        };
        let times = ways.len() * usize::try_from(self.runs)?;
        let path_of =
            |at: usize, name: &str| folder.join(format!("{name}-{}.json", at / ways.len() + 1));
        for (at, (_, name)) in ways.iter().cycle().take(times).enumerate() {
            let path = path_of(at, name);
            for path in [
                path.with_extension("rest.json"),
                path,
                folder.join("work.json"),
            ] {
                refuse_overwriting(&path, inputs)?;
            }
        }
        if let Some(Work::Command(words)) = &job.work {
            Stderr::default().note(&format!("{COMMANDS} times {}", words.join(" ")));
            measured.work = Some(run.command_times(words, &folder)?);
        }
        let done = self.measure_ways(&run, job, &ways, &path_of, &mut measured);
        let is_there =
            |folder: &Path| std::fs::read_dir(folder).is_ok_and(|mut all| all.next().is_some());
        match done {
            Err(error) if is_there(&folder) => Err(measured.kept(error)),
            Err(error) => Err(error),
            Ok(()) => Ok(measured),
        }
    }

    /// Measures each way, in turn, so that what changes with time changes all of them.
    fn measure_ways(
        &self,
        run: &Run,
        job: &Job,
        ways: &[(Way, &'static str)],
        path_of: &dyn Fn(usize, &str) -> PathBuf,
        measured: &mut Measured,
    ) -> anyhow::Result<()> {
        let load = job.rest.as_deref().unwrap_or(LOAD);
        let seconds = self.duration.as_secs_f64().to_string();
        let times = ways.len() * usize::try_from(self.runs)?;
        let mut progress = Stderr::default();
        let sign = Sign::new(true, Some((self.duration + AROUND) * u32::try_from(times)?));
        let mut worst = Worst::default();
        let mut impossible = Vec::new();
        for (at, (way, name)) in ways.iter().cycle().take(times).enumerate() {
            if impossible.contains(name) {
                continue;
            }
            let left = (self.duration + AROUND) * u32::try_from(times - at)?;
            progress.note(&format!(
                "{name}, {} of {times}: CPU {} beside {load}; about {} left",
                at + 1,
                run.rt,
                format_duration(Duration::from_secs(left.as_secs()))
            ));
            sign.step(&format!("{name}{worst}"));
            let path = path_of(at, name);
            let path_word = path.to_string_lossy();
            let words = [
                "measure", "all", "-q", "-a", &run.rt, "-D", &seconds, "--load", load, "--json",
                &path_word,
            ];
            let rest_path = path.with_extension("rest.json");
            let done = match run.become_way(*way) {
                Err(error) => Err(error),
                Ok(undo) => {
                    let done = run
                        .finished(&words, &[])
                        .and_then(|()| run.rest_times(job.rest_command.as_deref(), &rest_path));
                    undo.undo()?;
                    done
                }
            };
            match done {
                Ok(()) => {
                    worst.look(name, &path);
                    measured.words.push(format!("{name}={}", path.display()));
                    if job.rest_command.is_some() {
                        measured
                            .words
                            .push(format!("{name}={}", rest_path.display()));
                    }
                }
                Err(error) => {
                    impossible.push(*name);
                    measured
                        .notes
                        .push(format!("{name} was not measured: {error:#}"));
                    // What there is, is kept.
                    if run.is_stopped() {
                        progress.note(
                            "stopped by a signal; the machine is as before, and what was measured \
                             is judged",
                        );
                        break;
                    }
                }
            }
        }
        drop(sign);
        if measured.words.is_empty() {
            bail!("nothing could be measured: {}", measured.notes.join("; "));
        }
        Ok(())
    }

    /// The RT CPU, on a machine whose settings nobody else holds.
    fn free_cpu(&self, root: &Root) -> anyhow::Result<u32> {
        if !nix::unistd::geteuid().is_root() {
            bail!("--measure changes settings of the machine and takes them back; use sudo");
        }
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
        if let Some(other) = in_force(&Host::default())?.first() {
            bail!(
                "{} holds settings of CPUs {}; take them back first: artis partition reset, artis \
                 sched stop",
                other.owner.command(),
                other.rt
            );
        }
        Ok(rt)
    }
}
