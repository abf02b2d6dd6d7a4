// SPDX-License-Identifier: GPL-2.0-only
//! `artis decide --measure`: makes the machine what it can be on its own, one after the other, and
//! measures each, with artis's own commands. Whatever was changed is taken back before the next.

use super::before::{refuse_overwriting, startable};
use crate::cli::exit::{self, UsageError};
use crate::cli::measure::session::alone;
use crate::cli::progress::{Sign, Stderr};
use crate::cli::signals::stop_on_signals;
use crate::cli::value::{cpus, duration, number};
use crate::decide::job::{Job, Work};
use crate::lab::progress::Progress;
use crate::machine::Root;
use crate::machine::cpus::Cpus;
use crate::machine::kernel::{Kernel, Preemption};
use crate::partition::change::Kind;
use crate::partition::host::Host;
use crate::partition::transaction::in_force;
use crate::result::{Distribution, file};
use crate::task::starter::ends_with;
use anyhow::{Context, anyhow, bail};
use humantime::format_duration;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};
use std::fmt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What keeps the machine busy when the job does not say.
const LOAD: &str = "compute,hackbench";
/// Times that the command is run which is the machine's other work.
const REST_RUNS: &str = "3";
/// Times of the job's command.
const COMMANDS: &str = "100";
/// What a run takes besides its duration: the run before the load, and the load's start.
const AROUND: Duration = Duration::from_secs(3);
/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(50);

#[derive(clap::Args)]
pub struct Candidates {
    /// Measure first what this machine can be without another kernel: stock, tuned, shield, artis
    #[arg(long)]
    measure: bool,
    /// How long each is measured: seconds, or with a unit: 90s, 5m, 12h
    #[arg(
        short = 'D',
        long,
        value_name = "TIME",
        default_value = "1m",
        requires = "measure"
    )]
    #[arg(value_parser = duration::parse)]
    duration: Duration,
    /// How often each is measured, in turn; from 2 on its price has an interval
    #[arg(long, value_name = "N", default_value_t = 1, requires = "measure")]
    #[arg(value_parser = number::whole(1..=1000_u32))]
    runs: u32,
    /// The CPU that real-time tasks get [default: the last one]
    #[arg(long, value_name = "CPU", value_parser = cpus::one, requires = "measure")]
    rt: Option<u32>,
    /// Keep the results in this folder
    #[arg(long, value_name = "DIR", requires = "measure")]
    keep: Option<PathBuf>,
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
enum Way {
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

impl Candidates {
    /// Whether there is something to measure.
    pub fn are_wanted(&self) -> bool {
        self.measure
    }

    /// Measures, when it is asked for.
    ///
    /// # Errors
    /// Without root, on one CPU, beside another partition or scheduler, and after a signal; the
    /// machine is as before.
    pub fn measured(&self, job: &Job, inputs: &[&Path]) -> anyhow::Result<Option<Measured>> {
        if !self.measure {
            return Ok(None);
        }
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
            Ok(()) => Ok(Some(measured)),
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

/// Runs artis's own commands.
struct Run {
    artis: PathBuf,
    stop: Arc<AtomicUsize>,
    rt: String,
    /// What the command that runs says on standard error.
    errors: tempfile::NamedTempFile,
}

impl Run {
    fn command(&self, words: &[&str]) -> anyhow::Result<Command> {
        let errors = self
            .errors
            .reopen()
            .context("cannot keep what artis says")?;
        errors.set_len(0).context("cannot keep what artis says")?;
        let mut command = Command::new(&self.artis);
        command
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            // Ctrl-C comes here alone, and is passed on once.
            .process_group(0);
        // What changes the machine goes on to its end, which its journal undoes.
        if words.first() != Some(&"partition") {
            let starter = getpid();
            // SAFETY: between fork and exec only system calls are made.
            unsafe { command.pre_exec(move || ends_with(starter, Signal::SIGTERM)) };
        }
        Ok(command)
    }

    /// Runs it to its end, or to the signal's, and wants status 0 or one of these.
    fn finished(&self, words: &[&str], also: &[i32]) -> anyhow::Result<()> {
        let mut child = self.command(words)?.spawn().context("cannot start artis")?;
        let status = self.wait(&mut child)?;
        self.go_on()?;
        let is_fine = status.success() || status.code().is_some_and(|code| also.contains(&code));
        if is_fine {
            return Ok(());
        }
        bail!("{}", self.said(words))
    }

    fn wait(&self, child: &mut Child) -> anyhow::Result<ExitStatus> {
        let mut passed_on = false;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if self.is_stopped() && !passed_on {
                let pid = Pid::from_raw(i32::try_from(child.id())?);
                kill(pid, Signal::SIGINT).context("cannot end the measurement")?;
                passed_on = true;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) != 0
    }

    /// Ends it all after a signal.
    fn go_on(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            !self.is_stopped(),
            "stopped by a signal; the machine is as before"
        );
        Ok(())
    }

    /// The last sentence of a command that failed.
    fn said(&self, words: &[&str]) -> String {
        let text = std::fs::read_to_string(self.errors.path()).unwrap_or_default();
        match text.lines().rfind(|line| !line.trim().is_empty()) {
            Some(line) => line.trim_start_matches("artis: ").to_owned(),
            None => format!("artis {} failed without a word", words.join(" ")),
        }
    }

    /// Changes the machine; what is given back takes the changes back.
    fn become_way(&self, way: Way) -> anyhow::Result<Undo<'_>> {
        let apply = ["partition", "apply", "-q", "--rt", &self.rt, "--shield"];
        let mut undo = Undo {
            run: self,
            way,
            scheduler: None,
        };
        match way {
            Way::AsItIs => {}
            // 2: a part of the plan cannot be done here, as `artis partition plan` lists.
            Way::Tuned => {
                let words = &apply[..apply.len() - 1];
                self.finished(words, &[2])?;
            }
            Way::Shield => {
                self.finished(&apply, &[2])?;
                let in_force = in_force(&Host::default())?;
                let mut changes = in_force.iter().flat_map(|one| &one.changes);
                anyhow::ensure!(
                    changes.any(|one| one.change.kind == Kind::CpusetShield),
                    "this machine has no shield; artis partition plan --rt {} --shield says why",
                    self.rt
                );
            }
            Way::Scheduled => {
                let words = ["sched", "run", "--rt", &self.rt];
                let scheduler = self
                    .command(&words)?
                    .spawn()
                    .context("cannot start artis")?;
                let scheduler = undo.scheduler.insert(scheduler);
                while !self.is_scheduling()? {
                    self.go_on()?;
                    if scheduler.try_wait()?.is_some() {
                        bail!("{}", self.said(&words));
                    }
                    std::thread::sleep(LOOK);
                }
            }
        }
        Ok(undo)
    }

    fn is_scheduling(&self) -> anyhow::Result<bool> {
        let mut status = Command::new(&self.artis);
        status
            .args(["sched", "status"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(status.status().context("cannot start artis")?.success())
    }

    /// How long the command takes that is the machine's other work, if it is one.
    fn rest_times(&self, command: Option<&[String]>, path: &Path) -> anyhow::Result<()> {
        let Some(command) = command else {
            return Ok(());
        };
        let path = path.to_string_lossy();
        let mut all = vec![
            "measure",
            "throughput",
            "-q",
            "--runs",
            REST_RUNS,
            "--json",
            &path,
            "--",
        ];
        all.extend(command.iter().map(String::as_str));
        self.finished(&all, &[]).context("the job's other work")
    }

    /// How long the job's command takes, by `artis measure commands`.
    fn command_times(&self, words: &[String], folder: &Path) -> anyhow::Result<Distribution> {
        let path = folder.join("work.json");
        let path_word = path.to_string_lossy();
        let mut all = vec![
            "measure", "commands", "-q", "-l", COMMANDS, "--json", &path_word, "--",
        ];
        all.extend(words.iter().map(String::as_str));
        self.finished(&all, &[]).context("the job's work_command")?;
        let document = file::read(&path)?;
        let series = document
            .series
            .into_iter()
            .find(|series| series.name == "command");
        Ok(series
            .context("the result has no times of the command")?
            .distribution)
    }
}

/// Takes back what was changed, also when an error or a signal comes between.
struct Undo<'a> {
    run: &'a Run,
    way: Way,
    scheduler: Option<Child>,
}

impl Undo<'_> {
    fn undo(mut self) -> anyhow::Result<()> {
        self.take_back()
    }

    fn take_back(&mut self) -> anyhow::Result<()> {
        if let Some(mut scheduler) = self.scheduler.take() {
            if scheduler.try_wait()?.is_none() {
                kill(
                    Pid::from_raw(i32::try_from(scheduler.id())?),
                    Signal::SIGTERM,
                )?;
            }
            scheduler.wait()?;
        }
        if matches!(self.way, Way::Tuned | Way::Shield) {
            self.way = Way::AsItIs;
            let words = ["partition", "reset", "-q"];
            let status = self
                .run
                .command(&words)?
                .status()
                .context("cannot start artis")?;
            anyhow::ensure!(status.success(), "{}", self.run.said(&words));
        }
        Ok(())
    }
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.take_back() {
            say!("artis: the machine is not as before: {error:#}; type: artis partition reset");
        }
    }
}
