// SPDX-License-Identifier: GPL-2.0-only
//! What a run of an experiment would have to do, and about how long that takes.

use super::plan::{Experiment, Run};
use super::run::{Error, Guest, Options, guests};
use super::store::Store;
use crate::distribution::Distro;
use crate::progress::Progress;
use artis_guest::experiment::Measure;
use std::time::Duration;

/// What has to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// Guests of the experiment, or of its part.
    pub all: usize,
    /// Names of those whose sample is not in the cache.
    pub guests: Vec<String>,
    /// About how long they take, one at a time.
    pub host: Duration,
}

/// Time on the host for each CPU and second of a guest: a guess that is right by a factor of two.
const HOST_S_OF_CPU_SECOND: f64 = 8.0;
/// Virtual seconds in which a guest boots and warms up.
const BOOT_S: f64 = 5.0;
/// How much longer the host needs when accesses are reported.
const ACCESSES: f64 = 10.0;
/// How much longer than its wakeups all parts of `responsiveness` take.
const PARTS: f64 = 2.5;

/// Which guests a run would boot of those at the places that `has` names.
///
/// # Errors
/// When a kernel cannot be had, or the cache cannot be read.
pub fn missing(
    experiment: &Experiment,
    kernels: &dyn Distro,
    options: &Options,
    has: &dyn Fn(usize) -> bool,
    progress: &mut dyn Progress,
) -> Result<Missing, Error> {
    let store = Store::new(kernels.cache().clone());
    let guests = guests(experiment, kernels, options, progress)?;
    let guests = guests.into_iter().enumerate();
    let guests: Vec<Guest> = guests
        .filter(|(place, _)| has(*place))
        .map(|it| it.1)
        .collect();
    let mut missing = Missing {
        all: guests.len(),
        guests: Vec::new(),
        host: Duration::ZERO,
    };
    for guest in guests {
        if store.find(&guest.fingerprint)?.is_none() {
            missing.host += guest.run.host_time();
            missing.guests.push(guest.name);
        }
    }
    Ok(missing)
}

impl Run {
    fn host_time(&self) -> Duration {
        let parts = match self.task.measure {
            Measure::Responsiveness => PARTS,
            Measure::Caches => ACCESSES,
            // Beside the set, what the platform takes.
            Measure::Set => PARTS,
            Measure::Latency | Measure::KernelLatency | Measure::Leaks | Measure::Throughput => 1.0,
        };
        let virtual_s = BOOT_S + parts * f64::from(self.task.seconds);
        Duration::from_secs_f64(f64::from(self.cpus) * virtual_s * HOST_S_OF_CPU_SECOND)
    }
}
