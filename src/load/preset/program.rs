// SPDX-License-Identifier: GPL-2.0-only
//! A load of another program under the supervisor: run until it is interrupted, or run over and
//! over in rounds.

use super::command::{Count, Program};
use super::job::Job;
use super::stressng;
use super::worker::{Load, STOP_LIMIT, ended_early, files};
use crate::supervised::{Inside, Usage};
use crate::{Error, program};
use artis_machine::{CpuList, Root, processes};
use artis_result::LoadDone;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Instant;

/// A load whose program runs.
pub struct Running<'a> {
    job: &'a Job,
    program: &'a Program,
    folder: PathBuf,
    output: PathBuf,
    /// The program, while it runs.
    pid: Option<i32>,
    began: Instant,
    /// Up to when its work is counted: the end of a round, or when it was asked to stop.
    until: Instant,
    stopping: bool,
    rounds: u64,
    used: Usage,
}

impl<'a> Running<'a> {
    /// # Errors
    /// When the program cannot be started, or the load's files cannot be made.
    pub fn start(inside: &Inside, job: &'a Job, program: &'a Program) -> Result<Self, Error> {
        let (folder, output) = files(inside, job.preset.name())?;
        program.prepare(&folder)?;
        let mut load = Self {
            job,
            program,
            output,
            folder,
            pid: None,
            began: Instant::now(),
            until: Instant::now(),
            stopping: false,
            rounds: 0,
            used: Usage::default(),
        };
        load.start_round(inside)?;
        Ok(load)
    }

    fn start_round(&mut self, inside: &Inside) -> Result<(), Error> {
        // A new file each time, so that the output of rounds does not pile up.
        let output = File::create(&self.output)
            .and_then(|file| Ok((file.try_clone()?, file)))
            .map_err(|reason| Error::Folder {
                folder: inside.folder().to_owned(),
                reason,
            })?;
        let mut command = self.program.command(self.job.workers, &self.folder);
        command
            .stdin(Stdio::null())
            .stdout(output.0)
            .stderr(output.1);
        self.pid = Some(inside.spawn(&mut command)?);
        Ok(())
    }

    fn is_report(&self) -> bool {
        matches!(self.program.count(&self.folder), Count::Report { .. })
    }

    fn command_line(&self) -> String {
        let command = self.program.command(self.job.workers, &self.folder);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<String> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        words.join(" ")
    }

    fn last_words(&self) -> String {
        program::last_words(&self.output)
    }
}

impl Load for Running<'_> {
    /// A finished round, or CPU time of its workers. The program that starts workers needs some
    /// CPU time for itself, which does not count.
    fn is_at_work(&self) -> bool {
        let Some(pid) = self.pid else { return false };
        if self.rounds > 0 {
            return true;
        }
        let root = Root::default();
        let mut family = processes::below(&root, pid);
        let workers = self.program.workers_expected(self.job.workers);
        if workers == 0 {
            family.extend(processes::one(&root, pid));
        }
        family.retain(|process| !process.is_zombie);
        family.len() >= workers.max(1) && family.iter().any(|process| process.cpu_ticks > 0)
    }

    fn ended(
        &mut self,
        inside: &Inside,
        pid: i32,
        status: ExitStatus,
        usage: Usage,
    ) -> Result<bool, Error> {
        if self.pid != Some(pid) {
            return Ok(false);
        }
        self.pid = None;
        self.used += usage;
        if !status.success() || (self.is_report() && !self.stopping) {
            return Err(ended_early(self.job.preset, status, &self.output));
        }
        if !self.is_report() {
            self.rounds += 1;
            self.until = Instant::now();
        }
        if !self.stopping {
            self.start_round(inside)?;
        }
        Ok(true)
    }

    /// Interrupts a program that runs for ever; a round comes to its end.
    fn ask_to_stop(&mut self) {
        self.stopping = true;
        if let Some(pid) = self.pid
            && self.is_report()
        {
            self.until = Instant::now();
            // It is our child and not reaped yet, so the number is still its own.
            let _ = kill(Pid::from_raw(pid), Signal::SIGINT);
        }
    }

    fn has_ended(&self) -> bool {
        self.pid.is_none()
    }

    fn done(&mut self, cpus: Option<&CpuList>) -> Result<LoadDone, Error> {
        if self.pid.is_some() && self.is_report() {
            return Err(Error::ProgramFailed {
                program: format!("the load `{}`", self.job.preset),
                reason: format!(
                    "it did not end {} s after it was asked to and was killed; {}",
                    STOP_LIMIT.as_secs(),
                    self.last_words()
                ),
            });
        }
        let work = match self.program.count(&self.folder) {
            Count::Rounds => self.rounds as f64,
            Count::Report { file, stressor } => std::fs::read_to_string(file)
                .ok()
                .and_then(|report| stressng::bogo_ops(&report, stressor))
                .unwrap_or(0.0),
        };
        if work <= 0.0 {
            return Err(self.idle("until it was stopped".to_owned()));
        }
        Ok(LoadDone {
            name: self.job.preset.name().to_owned(),
            cpus: cpus.map(CpuList::to_string),
            command: self.command_line(),
            work,
            unit: self.job.preset.unit().to_owned(),
            seconds: (self.until - self.began).as_secs_f64(),
            cpu_seconds: Some((self.used.user + self.used.system).as_secs_f64()),
        })
    }

    fn idle(&self, when: String) -> Error {
        Error::Idle {
            name: self.job.preset.name(),
            when,
            words: self.last_words(),
        }
    }
}
