// SPDX-License-Identifier: GPL-2.0-only
//! Named loads as a measurement uses them: started and at work before it, checked during it,
//! stopped and counted after it. Nothing of them is left, whatever happens.

use super::Presets;
use super::job::Job;
use super::worker::{self, Message};
use crate::Error;
use crate::seed::Seed;
use crate::supervised::Supervised;
use artis_machine::CpuList;
use artis_result::LoadDone;
use artis_task::syscall;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Loads that are at work. Dropping them ends them without counting.
pub struct Running {
    supervised: Supervised,
}

impl Running {
    /// Starts the loads, one worker for each CPU (of `cpus` when they are given), and waits until
    /// each has done some work. None when `stop` became non-zero meanwhile.
    ///
    /// # Errors
    /// A program that is not installed, a folder that cannot be written, a load that fails or
    /// does nothing.
    pub fn start(
        presets: &Presets,
        cpus: Option<&CpuList>,
        stop: &AtomicUsize,
    ) -> Result<Option<Self>, Error> {
        let workers = match cpus {
            Some(cpus) => cpus.len(),
            None => syscall::affinity(0)
                .map_err(Error::system("ask which CPUs may be used"))?
                .len(),
        };
        let mut jobs = presets
            .iter()
            .map(|preset| Job::find(preset, workers))
            .collect::<Result<Vec<_>, _>>()?;
        // In the lab a run is a sample, and another order of starting gives another sample.
        if let Some(mut seed) = Seed::of_this_run() {
            seed.shuffle(&mut jobs);
        }
        let mut supervised =
            Supervised::start("artis-load", |inside| worker::run(inside, &jobs, cpus))?;
        while stop.load(Ordering::Relaxed) == 0 {
            match supervised.receive(Some(PATIENCE))? {
                Some(Message::AtWork) => return Ok(Some(Self { supervised })),
                Some(Message::Done(_)) | None => {}
            }
        }
        Ok(None)
    }

    /// Calls `then` from its own thread when a load ends before it is stopped. It may also be
    /// called after a stop.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn watch(&self, then: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        self.supervised.watch(then)
    }

    /// Are all still at work? Costs one system call.
    ///
    /// # Errors
    /// How and why one ended, with the last output of its program.
    pub fn check(&mut self) -> Result<(), Error> {
        self.supervised
            .receive::<Message>(Some(Duration::ZERO))
            .map(drop)
    }

    /// Stops the loads and says what each did. Nothing of them is left when this returns.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn stop(mut self) -> Result<Vec<LoadDone>, Error> {
        self.check()?;
        self.supervised.ask_to_stop();
        loop {
            if let Some(Message::Done(done)) = self.supervised.receive(None)? {
                return Ok(done);
            }
        }
    }
}

/// How long to wait before the stop flag is read again: a signal may have come just before the
/// wait began.
const PATIENCE: Duration = Duration::from_millis(200);
