// SPDX-License-Identifier: GPL-2.0-only
//! What is run: a command, or one of the built-in workloads, each of which does the same amount
//! of work in every run.

use super::permutation::Setting;
use crate::program;
use artis_load::own::compute;
use artis_load::program::last_words;
use artis_load::supervised::Inside;
use artis_load::{Error, hackbench, sources};
use artis_machine::CpuList;
use artis_task::syscall;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, fork};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Units of [`compute`] in a run: some tenths of a second on today's machines.
const COMPUTE_UNITS: u32 = 100_000;
/// Messages there and back in a run of the ping-pong.
const ROUND_TRIPS: u32 = 50_000;
/// hackbench: 4 groups of 20 senders and 20 receivers, 100 messages between each pair.
const HACKBENCH: [usize; 3] = [4, 20, 100];

/// The workloads that need no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BuiltIn {
    /// A small C program compiled with cc and make
    Build,
    /// hackbench of rt-tests with many processes that send each other messages
    // It was `hackbench` once, which is the name of a load with a few threads.
    #[value(alias = "hackbench")]
    HackbenchProcesses,
    /// Two processes that pass a byte to and fro over a pair of sockets
    Pingpong,
    /// Integer work in user mode
    Compute,
}

/// What is run, its programs found.
#[derive(Debug)]
pub enum Workload {
    Command(Vec<OsString>),
    Build(sources::Tools),
    Hackbench(PathBuf),
    Pingpong,
    Compute,
}

impl Workload {
    /// A built-in workload.
    ///
    /// # Errors
    /// [`Error::MissingProgram`].
    pub fn built_in(which: BuiltIn) -> Result<Self, Error> {
        Ok(match which {
            BuiltIn::Build => Self::Build(sources::Tools::find("build")?),
            BuiltIn::HackbenchProcesses => Self::Hackbench(hackbench::find()?),
            BuiltIn::Pingpong => Self::Pingpong,
            BuiltIn::Compute => Self::Compute,
        })
    }

    /// A command of the user, which must be there: a program that cannot be run is reported before
    /// the loads are started.
    ///
    /// # Errors
    /// [`Error::ProgramFailed`].
    pub fn command(words: &[OsString]) -> Result<Self, Error> {
        program::find(words)?;
        Ok(Self::Command(words.to_vec()))
    }

    /// Makes what one instance needs below `folder`: the sources of a build, a file for messages.
    ///
    /// # Errors
    /// [`Error::Folder`].
    pub fn prepare(
        &self,
        setting: &Setting,
        folder: &Path,
        number: usize,
    ) -> Result<Instance<'_>, Error> {
        let place = folder.join(format!("instance{number}"));
        let jobs = match &setting.cpus {
            Some(cpus) => cpus.len(),
            None => syscall::affinity(0).as_ref().map_or(1, CpuList::len),
        };
        if matches!(self, Self::Build(_)) {
            sources::write(&place)?;
        }
        Ok(Instance {
            workload: self,
            output: folder.join(format!("instance{number}.log")),
            place,
            jobs,
        })
    }
}

/// One of the processes that run at once.
pub struct Instance<'a> {
    workload: &'a Workload,
    /// Its own files.
    place: PathBuf,
    /// What it says on standard error, for the case that it fails.
    output: PathBuf,
    /// CPUs that it has.
    jobs: usize,
}

impl Instance<'_> {
    /// Starts a run.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(&self, inside: &Inside, setting: &Setting) -> Result<i32, Error> {
        let command = match self.workload {
            Workload::Compute => return inside.fork(|| setting.apply().map(|()| compute_all())),
            Workload::Pingpong => return inside.fork(|| setting.apply().and_then(|()| pingpong())),
            Workload::Command(words) => {
                let (program, arguments) = words
                    .split_first()
                    .ok_or_else(|| Error::Reported("there is no command to run".to_owned()))?;
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
            Workload::Build(tools) => tools.command(&self.place, self.jobs),
            Workload::Hackbench(program) => {
                let mut command = Command::new(program);
                let [groups, pairs, messages] = HACKBENCH;
                command.args(hackbench::arguments(groups, pairs, messages));
                command
            }
        };
        self.spawn(inside, command, setting)
    }

    fn spawn(
        &self,
        inside: &Inside,
        mut command: Command,
        setting: &Setting,
    ) -> Result<i32, Error> {
        let output = File::create(&self.output).map_err(|reason| Error::Folder {
            folder: self.output.clone(),
            reason,
        })?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output);
        let setting = setting.clone();
        // SAFETY: between fork and exec only system calls are made.
        unsafe { command.pre_exec(move || setting.apply()) };
        inside.spawn(&mut command)
    }

    /// The error of a run that ended so.
    pub fn failed(&self, status: ExitStatus) -> Error {
        Error::ProgramFailed {
            program: self.name(),
            reason: format!("{status}; {}", last_words(&self.output)),
        }
    }

    fn name(&self) -> String {
        match self.workload {
            Workload::Command(words) => program::in_words(words),
            Workload::Build(_) => "build".to_owned(),
            Workload::Hackbench(_) => "hackbench-processes".to_owned(),
            Workload::Pingpong => "pingpong".to_owned(),
            Workload::Compute => "compute".to_owned(),
        }
    }
}

fn compute_all() {
    let mut state = compute::START;
    for _ in 0..COMPUTE_UNITS {
        state = compute::unit(state);
    }
}

/// Sends one byte to a child that sends it back, again and again. The child is waited for, so that
/// its times count.
fn pingpong() -> io::Result<()> {
    let (mut ours, mut theirs) = UnixStream::pair()?;
    // SAFETY: the process is one thread; the child ends in `_exit`.
    match unsafe { fork() }? {
        ForkResult::Child => {
            // Or the socket would never close.
            drop(ours);
            let answered = answer(&mut theirs);
            // SAFETY: ends the child without the destructors of its parent.
            unsafe { libc::_exit(i32::from(answered.is_err())) }
        }
        ForkResult::Parent { child } => {
            drop(theirs);
            let mut ball = [0];
            for _ in 0..ROUND_TRIPS {
                ours.write_all(&ball)?;
                ours.read_exact(&mut ball)?;
            }
            drop(ours);
            waitpid(child, None)?;
            Ok(())
        }
    }
}

fn answer(stream: &mut UnixStream) -> io::Result<()> {
    let mut ball = [0];
    while stream.read(&mut ball)? > 0 {
        stream.write_all(&ball)?;
    }
    Ok(())
}
