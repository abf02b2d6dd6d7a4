// SPDX-License-Identifier: GPL-2.0-only
//! The light watch beside RT0, where an experiment wants to know what it costs.

use super::Task;
use super::run::Error;
use artis_measure::latency::Measured;
use artis_watch::{LightWatch, Settings, Storage, Whom};

/// The light watch of the RT CPUs, where the task asks for it.
pub(super) fn load<'a>(
    task: &Task,
    storage: &'a mut Storage,
) -> Result<Option<LightWatch<'a>>, Error> {
    if !task.watch {
        return Ok(None);
    }
    let settings = Settings {
        whom: Whom::Cpus(task.rt.clone()),
        bound_ns: None,
        kernel_threads: false,
    };
    let watch = LightWatch::load(storage, &settings)?;
    for absent in watch.absent() {
        eprintln!("{absent}");
    }
    Ok(Some(watch))
}

/// Whether it has seen RT0's wakeups: nearly all, because a thread may be woken before it sleeps.
pub(super) fn check(watch: &LightWatch<'_>, threads: &[Measured]) -> Result<(), Error> {
    let all = threads.iter().map(|one| one.samples.latency.count()).sum();
    let seen = watch.threads().iter().map(|one| one.late.count()).sum();
    match seen * 10 >= all * 9 {
        true => Ok(()),
        false => Err(Error::Unwatched { seen, all }),
    }
}
