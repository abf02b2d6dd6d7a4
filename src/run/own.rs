// SPDX-License-Identifier: GPL-2.0-only
//! artis's own commands, started one after the other, and the machine they change given back.

use crate::guard::Guard;
use crate::ways::Way;
use anyhow::{Context, bail};
use artis_partition::change::Kind;
use artis_partition::host::Host;
use artis_partition::transaction::in_force;
use artis_result::{Distribution, file};
use artis_task::starter::ends_with;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Times that the command is run which is the machine's other work.
const REST_RUNS: &str = "3";
/// Times of the job's command.
pub(crate) const COMMANDS: &str = "100";
/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Runs artis's own commands.
pub(crate) struct Run {
    pub artis: PathBuf,
    pub stop: Arc<AtomicUsize>,
    pub rt: String,
    /// What the command that runs says on standard error.
    pub errors: tempfile::NamedTempFile,
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
    pub fn finished(&self, words: &[&str], also: &[i32]) -> anyhow::Result<()> {
        self.ended(self.command(words)?, words, also, &mut |_| ())
    }

    /// The same; `look` is called all the time with the number of its process.
    pub fn finished_beside(&self, words: &[&str], look: &mut dyn FnMut(i32)) -> anyhow::Result<()> {
        self.ended(self.command(words)?, words, &[], look)
    }

    fn ended(
        &self,
        mut command: Command,
        words: &[&str],
        also: &[i32],
        look: &mut dyn FnMut(i32),
    ) -> anyhow::Result<()> {
        let mut child = command.spawn().context("cannot start artis")?;
        let pid = i32::try_from(child.id())?;
        let status = self.wait(&mut child, &mut || look(pid))?;
        self.go_on()?;
        let is_fine = status.success() || status.code().is_some_and(|code| also.contains(&code));
        if is_fine {
            return Ok(());
        }
        bail!("{}", self.said(words))
    }

    fn wait(&self, child: &mut Child, look: &mut dyn FnMut()) -> anyhow::Result<ExitStatus> {
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
            look();
            std::thread::sleep(LOOK);
        }
    }

    pub fn is_stopped(&self) -> bool {
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
    pub fn become_way(&self, way: Way) -> anyhow::Result<Undo<'_>> {
        let apply = ["partition", "apply", "-q", "--rt", &self.rt, "--shield"];
        let mut undo = Undo {
            run: self,
            way,
            scheduler: None,
            guard: None,
        };
        if way.is_partition() {
            undo.guard = Some(Guard::start(&self.artis)?);
        }
        // 2: a part of the plan cannot be done here, as `artis partition plan` lists.
        let partition = |words: &[&str]| {
            let mut command = self.command(words)?;
            if let Some(guard) = &undo.guard {
                command.stdin(guard.held()?);
            }
            self.ended(command, words, &[2], &mut |_| ())
        };
        match way {
            Way::AsItIs => {}
            Way::Tuned => partition(&apply[..apply.len() - 1])?,
            Way::Shield => {
                partition(&apply)?;
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

    /// Takes a partition back, whoever made it; nothing where there is none.
    pub fn reset(&self) -> anyhow::Result<()> {
        let words = ["partition", "reset", "-q"];
        let mut command = self.command(&words)?;
        let status = command.status().context("cannot start artis")?;
        anyhow::ensure!(status.success(), "{}", self.said(&words));
        Ok(())
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
    pub fn rest_times(&self, command: Option<&[String]>, path: &Path) -> anyhow::Result<()> {
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
    pub fn command_times(&self, words: &[String], folder: &Path) -> anyhow::Result<Distribution> {
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
pub(crate) struct Undo<'a> {
    run: &'a Run,
    way: Way,
    scheduler: Option<Child>,
    /// Takes the partition back if this process is killed.
    guard: Option<Guard>,
}

impl Undo<'_> {
    pub fn undo(mut self) -> anyhow::Result<()> {
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
        if self.way.is_partition() {
            self.way = Way::AsItIs;
            self.run.reset()?;
        }
        self.guard.take().map_or(Ok(()), Guard::end)
    }
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.take_back() {
            say!("artis: the machine is not as before: {error:#}; type: artis partition reset");
        }
    }
}
