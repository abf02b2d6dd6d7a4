// SPDX-License-Identifier: GPL-2.0-only
//! A load that can be started: what can be known before anything runs, its programs included.

use super::command::Program;
use super::own::Own;
use super::program::Running;
use super::worker::Load;
use super::{Preset, own};
use crate::Error;
use crate::supervised::Inside;

/// A load and the number of CPUs that it is for.
#[derive(Clone, Debug)]
pub struct Job {
    pub preset: Preset,
    pub workers: usize,
    work: Work,
}

#[derive(Clone, Debug)]
enum Work {
    Own(own::Code),
    Program(Program),
}

impl Job {
    /// The job of a preset for `workers` CPUs.
    ///
    /// # Errors
    /// [`Error::MissingProgram`].
    pub fn find(preset: Preset, workers: usize) -> Result<Self, Error> {
        let work = match preset {
            Preset::Own(load) => Work::Own(own::Code::find(load)?),
            Preset::Build => Work::Program(Program::build()?),
            Preset::HackbenchProcesses => Work::Program(Program::hackbench()?),
            Preset::StressNg(stressor) => Work::Program(Program::stress_ng(stressor)?),
        };
        Ok(Self {
            preset,
            workers,
            work,
        })
    }

    /// Starts it in the supervised process.
    ///
    /// # Errors
    /// When the system refuses a process, or a file of the load cannot be made.
    pub fn start(&self, inside: &Inside) -> Result<Box<dyn Load + '_>, Error> {
        Ok(match &self.work {
            Work::Own(code) => Box::new(Own::start(inside, *code, self.workers)?),
            Work::Program(program) => Box::new(Running::start(inside, self, program)?),
        })
    }
}
