// SPDX-License-Identifier: GPL-2.0-only
//! What guests of an experiment need beside the lab's own programs: published schedulers, and real
//! programs. Fetched or built once, into the lab's cache.

use super::plan::Experiment;
use super::run::{Error, Options};
use crate::Error as LabError;
use crate::debian::tree;
use crate::distribution::Distro;
use crate::host::cache::Cache;
use crate::host::crates;
use crate::image::file::GuestFile;
use crate::kernel::{Kernel, Modules};
use crate::progress::Progress;
use artis_guest::experiment::{Answer, programs};
use artis_result::experiment::{Published, Scheduler};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Where a guest has its published scheduler.
const SCHEDULERS: &str = "/usr/bin";
/// Where programs look for the kernel's configuration.
const CONFIGURATIONS: &str = "/boot";

/// What a guest has of a published scheduler: its program, and what that reads of the kernel's
/// configuration (the rate of the tick, for example).
pub(super) fn files(
    which: &Published,
    program: &Path,
    kernel: &Kernel,
) -> Result<Vec<GuestFile>, Error> {
    let release = &kernel.facts.release;
    let mut files = vec![GuestFile {
        host: program.to_owned(),
        guest: Path::new(SCHEDULERS).join(which.name()),
    }];
    match kernel.config() {
        Some(host) => files.push(GuestFile {
            host,
            guest: Path::new(CONFIGURATIONS).join(format!("config-{release}")),
        }),
        // A kernel of the user's own may have it within.
        None if kernel.modules != Modules::Packages => {}
        None => Err(LabError::NoConfiguration {
            which: which.to_string(),
            release: release.clone(),
        })?,
    }
    Ok(files)
}

/// Real programs for the guests, where the experiment measures some.
pub(super) fn packed(
    experiment: &Experiment,
    kernels: &dyn Distro,
    progress: &mut dyn Progress,
) -> Result<Option<GuestFile>, Error> {
    if !experiment.answers.contains(&Answer::Programs) {
        return Ok(None);
    }
    let host = tree::pack(
        programs::PACKAGES,
        kernels.cache(),
        &kernels.mirror()?,
        progress,
    )?;
    let guest = programs::ARCHIVE.into();
    Ok(Some(GuestFile { host, guest }))
}

/// The programs of the published schedulers among the configurations.
pub(super) fn published(
    experiment: &Experiment,
    cache: &Cache,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<BTreeMap<Published, PathBuf>, Error> {
    let schedulers = experiment.configurations.iter().map(|one| &one.scheduler);
    let wanted = schedulers.filter_map(|scheduler| match scheduler {
        Scheduler::Published(which) => Some(which.clone()),
        Scheduler::Stock | Scheduler::Isolcpus | Scheduler::Artis => None,
    });
    let built = crates::programs(&wanted.collect(), cache, &options.stop, progress);
    match options.stop.load(Ordering::Relaxed) {
        0 => Ok(built?),
        signal => Err(Error::InterruptedBuild { signal }),
    }
}
