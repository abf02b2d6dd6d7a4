// SPDX-License-Identifier: GPL-2.0-only
//! Which program does the work of a load, how it is called, and how its work is counted.

use super::stressng::{self, Stressor};
use super::{Preset, ports};
use crate::{Error, hackbench, program, sources};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pairs in a hackbench group, and messages of each sender to each receiver: a round of some
/// hundredths of a second on a machine that has nothing else to do.
const HACKBENCH_PAIRS: usize = 10;
const HACKBENCH_MESSAGES: usize = 100;

/// The program of a load, found.
#[derive(Clone, Debug)]
pub enum Program {
    StressNg(Stressor, PathBuf),
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

impl Program {
    /// # Errors
    /// [`Error::MissingProgram`].
    pub fn stress_ng(stressor: Stressor) -> Result<Self, Error> {
        let load = stressor.load_name();
        let path = program::find(load, stressng::PROGRAM, stressng::PACKAGE)?;
        Ok(Self::StressNg(stressor, path))
    }

    /// # Errors
    /// [`Error::MissingProgram`].
    pub fn hackbench() -> Result<Self, Error> {
        hackbench::find().map(Self::Hackbench)
    }

    /// # Errors
    /// [`Error::MissingProgram`].
    pub fn build() -> Result<Self, Error> {
        sources::Tools::find(Preset::Build.name()).map(Self::Build)
    }

    /// Processes that must be there beside the one that is started, when `workers` work.
    pub fn workers_expected(&self, workers: usize) -> usize {
        match self {
            Self::StressNg(..) => workers,
            Self::Hackbench(_) | Self::Build(_) => 0,
        }
    }

    /// Makes the files that it needs below `folder`.
    ///
    /// # Errors
    /// [`Error::Folder`].
    pub fn prepare(&self, folder: &Path) -> Result<(), Error> {
        match self {
            Self::Build(_) => sources::write(&source_folder(folder)),
            Self::StressNg(..) | Self::Hackbench(_) => Ok(()),
        }
    }

    /// The command to start, for `workers` CPUs.
    pub fn command(&self, workers: usize, folder: &Path) -> Command {
        let mut command = match self {
            Self::StressNg(stressor, program) => {
                let mut command = Command::new(program);
                command.args(stressng::arguments(*stressor, workers, folder));
                // Its default port is always the same: the second of two such loads would end.
                if *stressor == Stressor::Sock
                    && let Some(port) = ports::free(workers)
                {
                    command.args(["--sock-port", &port.to_string()]);
                }
                command
            }
            Self::Hackbench(program) => {
                let mut command = Command::new(program);
                command.args(hackbench::arguments(
                    workers,
                    HACKBENCH_PAIRS,
                    HACKBENCH_MESSAGES,
                ));
                command
            }
            Self::Build(tools) => tools.command(&source_folder(folder), workers),
        };
        // Its messages are quoted, and core files of a load belong to its folder.
        command.env("LC_ALL", "C");
        if command.get_current_dir().is_none() {
            command.current_dir(folder);
        }
        command
    }

    /// How its work is counted.
    pub fn count(&self, folder: &Path) -> Count {
        match self {
            Self::StressNg(stressor, _) => Count::Report {
                file: folder.join(stressng::report_name(*stressor)),
                stressor: stressor.name(),
            },
            Self::Hackbench(_) | Self::Build(_) => Count::Rounds,
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
    fn every_program_works_in_the_folder_of_its_load() {
        let stressors = Stressor::ALL.into_iter().map(Program::stress_ng);
        for program in stressors.chain([Program::hackbench(), Program::build()]) {
            let program = match program {
                Ok(program) => program,
                Err(error) => {
                    println!("SKIPPED: every_program_works_in_the_folder: {error}");
                    continue;
                }
            };
            let folder = Path::new("/folder");
            let command = program.command(3, folder);
            assert!(command.get_current_dir().unwrap().starts_with(folder));
            let reports = matches!(program.count(folder), Count::Report { .. });
            assert_eq!(reports, program.workers_expected(3) == 3, "{program:?}");
        }
    }
}
