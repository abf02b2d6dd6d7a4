// SPDX-License-Identifier: GPL-2.0-only
//! `artis admit --apply`: every task of a set that fits becomes an admitted one, or none does.

use crate::machine::Root;
use crate::task::Class;
use crate::task::protected::runs_this_program;
use anyhow::{Context, bail};
use artis_admit::Admission;
use artis_admit::model::{Set, Who};
use artis_admitted::register;
use artis_run::watching::end;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// How long a command has until it is admitted, and how often that is looked at.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);
/// So long artis takes at most to become a command, which may be artis itself.
const BECOMING: Duration = Duration::from_secs(5);

/// What was made, to take it back.
#[derive(Default)]
struct Made {
    commands: Vec<Child>,
    threads: Vec<i32>,
}

/// Starts and changes all tasks, the most urgent of each CPU first.
pub fn apply(path: &Path, set: &Set, answer: &Admission) -> anyhow::Result<ExitCode> {
    let artis = std::env::current_exe().context("cannot find this program to start it again")?;
    let mut made = Made::default();
    for cpu in &answer.cpus {
        for one in &cpu.tasks {
            let task = set.tasks.iter().find(|task| task.name == one.name);
            let who = task.map_or(&Who::Nobody, |task| &task.who);
            let made_one = match who {
                Who::Nobody => {
                    say!(
                        "artis: {} has neither command nor threads, and is left out",
                        one.name
                    );
                    Ok(())
                }
                Who::Command(_) => made.start(&artis, path, &one.name, cpu.cpu),
                Who::Threads(_) => made.change(&artis, path, &one.name, cpu.cpu),
            };
            if let Err(error) = made_one {
                made.take_back();
                return Err(error.context(format!(
                    "could not apply the set: {}; no task of it was left running as admitted",
                    one.name
                )));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The words that admit a task of the file.
fn words(artis: &PathBuf, path: &Path, task: &str, cpu: u32) -> Command {
    let mut command = Command::new(artis);
    command.args([
        "run",
        "rt0",
        "--cpu",
        &cpu.to_string(),
        "--task",
        task,
        "--model",
    ]);
    command.arg(path).stdin(Stdio::null());
    command
}

impl Made {
    /// Starts a command, and waits until it is admitted.
    fn start(&mut self, artis: &PathBuf, path: &Path, task: &str, cpu: u32) -> anyhow::Result<()> {
        let root = Root::default();
        let mut child = words(artis, path, task, cpu)
            .spawn()
            .context("cannot start artis again")?;
        let tid = i32::try_from(child.id())?;
        let began = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                // A short command may have ended already.
                return match status.success() {
                    true => Ok(()),
                    false => bail!("its command ended with {status}"),
                };
            }
            // Before it has become the command, that may turn out to be none. Asked first: one that
            // has ended is no artis, and then it is not admitted either.
            let is_command = !runs_this_program(&root, tid) || began.elapsed() > BECOMING;
            let register = register::read(&root)?;
            let is_admitted = register.tasks().any(|(_, one)| one.tid == tid);
            if is_admitted && is_command {
                self.commands.push(child);
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                self.commands.push(child);
                bail!("it was not admitted within {} s", PATIENCE.as_secs());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Changes the running threads of a task.
    fn change(&mut self, artis: &PathBuf, path: &Path, task: &str, cpu: u32) -> anyhow::Result<()> {
        let root = Root::default();
        let tids = || -> anyhow::Result<Vec<i32>> {
            let register = register::read(&root)?;
            Ok(register.tasks().map(|(_, one)| one.tid).collect())
        };
        let before = tids()?;
        let status = words(artis, path, task, cpu)
            .status()
            .context("cannot start artis again")?;
        let new = tids()?.into_iter().filter(|tid| !before.contains(tid));
        self.threads.extend(new);
        match status.success() {
            true => Ok(()),
            false => bail!("its threads could not be admitted ({status})"),
        }
    }

    /// Ends the commands, and makes the threads normal tasks. The error that led here is the one
    /// to report; what has ended meanwhile needs nothing.
    fn take_back(&mut self) {
        for child in self.commands.drain(..) {
            let _ = end(child, None);
        }
        let root = Root::default();
        for tid in &self.threads {
            let _ = Class::Linux.apply(&root, *tid);
        }
        let _ = register::leave(&root, |tid| self.threads.contains(&tid));
    }
}
