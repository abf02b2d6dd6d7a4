// SPDX-License-Identifier: GPL-2.0-only
//! Which program does the work of a load, how it is called, and how its work is counted.

use super::{Preset, ports, stressng};
use crate::{Error, hackbench, program, sources};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pairs in a hackbench group, and messages of each sender to each receiver: a round of some
/// hundredths of a second on a machine that has nothing else to do.
const HACKBENCH_PAIRS: usize = 10;
const HACKBENCH_MESSAGES: usize = 100;

/// The programs of a load, found; what can be known before anything is started.
#[derive(Clone, Debug)]
pub struct Job {
    pub preset: Preset,
    workers: usize,
    tools: Tools,
}

#[derive(Clone, Debug)]
enum Tools {
    StressNg(PathBuf),
    Hackbench(PathBuf),
    Build(sources::Tools),
}

/// How the work is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// The program runs until it is interrupted, and then writes a report.
    Report {
        file: PathBuf,
        stressor: &'static str,
    },
    /// The program is run over and over; each run is a round.
    Rounds,
}

impl Job {
    /// The job of a preset for `workers` CPUs.
    ///
    /// # Errors
    /// [`Error::MissingProgram`].
    pub fn find(preset: Preset, workers: usize) -> Result<Self, Error> {
        let tools = match preset {
            Preset::Hackbench => Tools::Hackbench(hackbench::find()?),
            Preset::Build => Tools::Build(sources::Tools::find(preset.name())?),
            _ => Tools::StressNg(program::find(
                preset.name(),
                stressng::PROGRAM,
                stressng::PACKAGE,
            )?),
        };
        Ok(Self {
            preset,
            workers,
            tools,
        })
    }

    /// Processes that must be there beside the one that is started.
    pub fn workers_expected(&self) -> usize {
        match self.tools {
            Tools::StressNg(_) => self.workers,
            Tools::Hackbench(_) | Tools::Build(_) => 0,
        }
    }

    /// Makes the files that it needs below `folder`.
    ///
    /// # Errors
    /// [`Error::Folder`].
    pub fn prepare(&self, folder: &Path) -> Result<(), Error> {
        match self.tools {
            Tools::Build(_) => sources::write(&source_folder(folder)),
            Tools::StressNg(_) | Tools::Hackbench(_) => Ok(()),
        }
    }

    /// The command to start.
    pub fn command(&self, folder: &Path) -> Command {
        let mut command = match &self.tools {
            Tools::StressNg(program) => {
                let mut command = Command::new(program);
                if let Some((stressor, options)) = stressng::stressor(self.preset) {
                    command.args(stressng::arguments(stressor, options, self.workers, folder));
                }
                // Its own default is the same for all: the second of two loads would end.
                if self.preset == Preset::Network
                    && let Some(port) = ports::free(self.workers)
                {
                    command.args(["--sock-port", &port.to_string()]);
                }
                command
            }
            Tools::Hackbench(program) => {
                let mut command = Command::new(program);
                command.args(hackbench::arguments(
                    self.workers,
                    HACKBENCH_PAIRS,
                    HACKBENCH_MESSAGES,
                ));
                command
            }
            Tools::Build(tools) => tools.command(&source_folder(folder), self.workers),
        };
        // Its messages are quoted, and core files of a load belong to its folder.
        command.env("LC_ALL", "C");
        if command.get_current_dir().is_none() {
            command.current_dir(folder);
        }
        command
    }

    /// How its work is counted, and what one count is.
    pub fn count(&self, folder: &Path) -> (Count, &'static str) {
        match stressng::stressor(self.preset) {
            Some((stressor, _)) => {
                let file = folder.join(stressng::report_name(stressor));
                (Count::Report { file, stressor }, stressng::UNIT)
            }
            None => (Count::Rounds, "rounds"),
        }
    }
}

fn source_folder(folder: &Path) -> PathBuf {
    folder.join("source")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_is_someones_work() {
        for preset in Preset::ALL {
            let job = match Job::find(preset, 3) {
                Ok(job) => job,
                Err(error) => {
                    println!("SKIPPED: every_load_is_someones_work: {error}");
                    continue;
                }
            };
            let folder = Path::new("/folder");
            let command = job.command(folder);
            assert!(command.get_current_dir().unwrap().starts_with(folder));
            let reports = matches!(job.count(folder).0, Count::Report { .. });
            assert_eq!(reports, job.workers_expected() == 3, "{preset}");
        }
    }
}
