// SPDX-License-Identifier: GPL-2.0-only
//! Runs the guests of an experiment whose samples are not there yet, several at the same time: each
//! emulates its CPUs in one thread and does not notice the others.

use super::caches::{self, Counter};
use super::needs::{files, packed, published};
use super::plan::{Configuration, Experiment, Run};
use super::store::{Kept, Store};
use super::workers::{self, locked};
use crate::Error as LabError;
use crate::distribution::Distro;
use crate::engine::Engine;
use crate::engine::accesses::Accesses;
use crate::engine::observed::{Observed, Reported};
use crate::host::cache::Cache;
use crate::host::scratch::Scratch;
use crate::image::Image;
use crate::image::programs::Programs;
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::machine::record::Ended;
use crate::progress::Progress;
use artis_guest::experiment::{Measure, Sample};
use artis_guest::scheduler;
use artis_result::experiment::Scheduler;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Virtual seconds that a guest may take beyond what is measured: start, warm-up, work that ends.
const SPARE_S: u64 = 120;
/// Memory of a guest. 16 CPUs with 16 of each load leave 140 MB of it, and each GiB takes the
/// kernel some 0.8 virtual seconds when it starts.
const MEMORY_MIB: u32 = 512;
/// What the guests need beside artis-guest, and what those need in which artis schedules: all
/// others stay the same when the scheduler changes.
pub const PROGRAMS: Programs = Programs::Only(&["hackbench"]);
pub const PROGRAMS_OF_ARTIS: Programs = Programs::Only(&["hackbench", scheduler::PROGRAM]);

/// Why an experiment was not completed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The guest's part failed.
    #[error("{guest} failed: {reason}")]
    Guest { guest: String, reason: String },
    #[error(
        "interrupted by signal {signal}; {done} of {all} samples are kept, and the same command \
         continues from there"
    )]
    Interrupted {
        signal: usize,
        done: usize,
        all: usize,
    },
    #[error(
        "interrupted by signal {signal} while a scheduler for the guests was built; the same \
         command builds it again"
    )]
    InterruptedBuild { signal: usize },
}

/// One sample and what it is of.
#[derive(Clone, Debug)]
pub struct Measured {
    pub run: Run,
    pub kept: Kept,
    /// Hash of all that the guest consisted of.
    pub fingerprint: String,
}

/// How to run.
pub struct Options {
    /// What runs the guests.
    pub engine: Arc<dyn Engine>,
    /// The file system of guests, with [`PROGRAMS`].
    pub system: Arc<Image>,
    /// That of guests in which artis schedules, with [`PROGRAMS_OF_ARTIS`].
    pub system_of_artis: Arc<Image>,
    /// Guests at the same time.
    pub jobs: usize,
    /// Removes the samples that are there, and measures all of them again.
    pub fresh: bool,
    /// A signal number put here ends all guests.
    pub stop: Arc<AtomicUsize>,
    /// A kernel instead of the newest of its flavour: a release, by the name that it replaces.
    pub kernels: BTreeMap<String, String>,
}

/// Runs what is missing; returns every sample in the order of [`Experiment::runs`].
///
/// # Errors
/// That of the first guest that failed; the samples that were finished are kept.
pub fn run(
    experiment: &Experiment,
    kernels: &dyn Distro,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<Vec<Measured>, Error> {
    let part = run_part(experiment, kernels, options, &|_| true, progress)?;
    Ok(part.measured.into_values().collect())
}

/// Some of an experiment's samples.
pub struct Part {
    /// Hash of the experiment and of all of its guests.
    pub whole: String,
    /// Guests of the experiment.
    pub of: usize,
    /// The samples, by their places in [`Experiment::runs`].
    pub measured: BTreeMap<usize, Measured>,
}

/// Runs what is missing of those at the places that `has` names.
///
/// # Errors
/// As of [`run`].
pub fn run_part(
    experiment: &Experiment,
    kernels: &dyn Distro,
    options: &Options,
    has: &dyn Fn(usize) -> bool,
    progress: &mut dyn Progress,
) -> Result<Part, Error> {
    let store = Store::new(kernels.cache().clone());
    let guests = guests(experiment, kernels, options, progress)?;
    let (whole, of) = (whole(experiment, &guests), guests.len());
    let guests = guests.into_iter().enumerate();
    let guests: BTreeMap<usize, Guest> = guests.filter(|(place, _)| has(*place)).collect();
    if options.fresh {
        // All of them now, not each when its turn comes: after an interruption the next run must
        // not find half of the samples that were to be replaced.
        for guest in guests.values() {
            store.forget(&guest.fingerprint)?;
        }
    }
    let mut results = BTreeMap::new();
    let mut missing = Vec::new();
    for (&place, guest) in &guests {
        if let Some(kept) = store.find(&guest.fingerprint)? {
            results.insert(place, Ok(kept));
        } else {
            missing.push((place, guest));
        }
    }
    // The longest first, so that no CPU of the host is left idle beside the last one.
    missing.sort_by_key(|(_, guest)| match &guest.run.task.scheduler {
        // It takes as long to load as a kernel to boot.
        Scheduler::Artis | Scheduler::Published(_) => 0,
        Scheduler::Stock => 1,
        // One of its CPUs is idle most of the time.
        Scheduler::Isolcpus => 2,
    });
    if !results.is_empty() {
        let (kept, all) = (results.len(), guests.len());
        progress.note(&format!("{kept} of {all} samples are in the cache"));
    }
    let results = workers::measure(&missing, results, guests.len(), &store, options, progress);
    let signal = options.stop.load(Ordering::Relaxed);
    if signal != 0 {
        let done = results.values().filter(|result| result.is_ok()).count();
        return Err(Error::Interrupted {
            signal,
            done,
            all: guests.len(),
        });
    }
    // Guests without a result were not run because one failed: that one is named.
    let kept: Vec<Kept> = results.into_values().collect::<Result<_, _>>()?;
    assert_eq!(kept.len(), guests.len(), "every guest was run");
    let both = guests.into_iter().zip(kept);
    let finished = both.map(|((place, guest), kept)| {
        let measured = Measured {
            run: guest.run,
            kept,
            fingerprint: guest.fingerprint,
        };
        (place, measured)
    });
    Ok(Part {
        whole,
        of,
        measured: finished.collect(),
    })
}

/// Hash of all that an experiment's samples depend on.
fn whole(experiment: &Experiment, guests: &[Guest]) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("{experiment:?}"));
    for guest in guests {
        hash.update(&guest.fingerprint);
    }
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs one guest again, and lets `observed` hear what one of its CPUs does. Returns the sample of
/// this run, and that of the plain run: the one in the cache, measured first when it is not there.
///
/// # Errors
/// As of [`run`].
pub fn observe(
    experiment: &Experiment,
    wanted: &Run,
    kernels: &dyn Distro,
    options: &Options,
    observed: Observed,
    progress: &mut dyn Progress,
) -> Result<(Measured, Kept), Error> {
    let configuration = experiment.configurations[wanted.configuration].clone();
    let mut alone = experiment.clone();
    alone.configurations = vec![configuration];
    let guests = guests(&alone, kernels, options, progress)?;
    let same = |guest: &Guest| {
        let run = &guest.run;
        (run.loads, run.cpus, run.seed, &run.task)
            == (wanted.loads, wanted.cpus, wanted.seed, &wanted.task)
    };
    let guest = guests.into_iter().find(same);
    let mut guest = guest.ok_or_else(|| Error::Guest {
        guest: experiment.guest_name(wanted),
        reason: "it is not among the guests of the experiment".to_owned(),
    })?;
    let store = Store::new(kernels.cache().clone());
    let mut run_both = || {
        let plain = match store.find(&guest.fingerprint)? {
            Some(plain) => plain,
            None => {
                progress.note("the sample is not in the cache: it is measured first");
                let plain = guest.measure(progress)?;
                store.keep(&guest.fingerprint, &plain)?;
                plain
            }
        };
        guest.machine.reported = Some(Reported::Steps(observed.clone()));
        progress.note("the same guest again, while the emulator reports what its RT CPU does");
        Ok((guest.measure(progress)?, plain))
    };
    let both: Result<_, Error> = run_both();
    progress.done();
    let signal = options.stop.load(Ordering::Relaxed);
    if signal != 0 {
        return Err(Error::Interrupted {
            signal,
            done: 0,
            all: 1,
        });
    }
    let (kept, plain) = both?;
    let measured = Measured {
        run: wanted.clone(),
        kept,
        fingerprint: guest.fingerprint,
    };
    Ok((measured, plain))
}

/// Every guest of the experiment, with its fingerprint.
pub(super) fn guests(
    experiment: &Experiment,
    kernels: &dyn Distro,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<Vec<Guest>, Error> {
    let mut fetched: BTreeMap<String, Kernel> = BTreeMap::new();
    for configuration in &experiment.configurations {
        if let Entry::Vacant(place) = fetched.entry(options.kernel(configuration)) {
            let kernel = kernels.resolve(place.key(), progress)?;
            place.insert(kernel);
        }
        configuration.fits(&fetched[&options.kernel(configuration)])?;
    }
    let programs = published(experiment, kernels.cache(), options, progress)?;
    let packed = packed(experiment, kernels, progress)?;
    let mut guests = Vec::new();
    let mut version = None;
    for run in experiment.runs() {
        let configuration = &experiment.configurations[run.configuration];
        let kernel = fetched[&options.kernel(configuration)].clone();
        let files = match &configuration.scheduler {
            Scheduler::Published(which) => files(which, &programs[which], &kernel)?,
            Scheduler::Stock | Scheduler::Isolcpus | Scheduler::Artis => Vec::new(),
        };
        let mut machine = machine(&run, configuration, kernel, kernels.cache(), options);
        machine.files.extend(files);
        if run.task.measure == Measure::Responsiveness {
            machine.files.extend(packed.clone());
        }
        let version = match &version {
            Some(version) => version,
            None => version.insert(machine.engine_version(progress)?),
        };
        let name = experiment.guest_name(&run);
        guests.push(Guest::new(run, name, machine, version)?);
    }
    Ok(guests)
}

impl Options {
    pub(crate) fn kernel(&self, configuration: &Configuration) -> String {
        let name = configuration.kernel();
        let other = self.kernels.get(name);
        other.cloned().unwrap_or_else(|| name.to_owned())
    }

    fn system(&self, configuration: &Configuration) -> Arc<Image> {
        Arc::clone(match configuration.scheduler {
            Scheduler::Artis => &self.system_of_artis,
            Scheduler::Stock | Scheduler::Isolcpus | Scheduler::Published(_) => &self.system,
        })
    }
}

/// A guest of the experiment.
pub(super) struct Guest {
    pub(super) run: Run,
    pub(super) name: String,
    machine: Machine,
    command: Vec<OsString>,
    pub(super) fingerprint: String,
}

/// The machine for a run.
fn machine(
    run: &Run,
    configuration: &Configuration,
    kernel: Kernel,
    cache: &Cache,
    options: &Options,
) -> Machine {
    // The output folder is made when it runs.
    let (engine, system) = (Arc::clone(&options.engine), options.system(configuration));
    let mut machine = Machine::new(engine, cache, kernel, system, PathBuf::new());
    machine.cpus = run.cpus;
    machine.memory_mib = MEMORY_MIB;
    machine.append = configuration.arguments(&run.task.rt);
    machine.seed = Some(run.seed);
    machine.timeout = Some(Duration::from_secs(u64::from(run.task.seconds) + SPARE_S));
    machine.stop = Arc::clone(&options.stop);
    machine
}

impl Guest {
    fn new(run: Run, name: String, machine: Machine, engine_version: &str) -> Result<Self, Error> {
        let task = serde_json::to_string(&run.task).map_err(|error| Error::Guest {
            guest: name.clone(),
            reason: error.to_string(),
        })?;
        let words = ["artis-guest", "experiment", &task];
        let command: Vec<OsString> = words.map(OsString::from).to_vec();
        let mut fingerprint = machine.fingerprint(&command, engine_version)?;
        if run.task.measure == Measure::Caches {
            fingerprint = caches::fingerprint(&fingerprint);
        }
        Ok(Self {
            run,
            name,
            machine,
            command,
            fingerprint,
        })
    }

    /// Who counts what the accesses of `machine` miss, where that is measured.
    fn counter(&self, machine: &mut Machine) -> Option<Arc<Mutex<Counter>>> {
        if self.run.task.measure != Measure::Caches {
            return None;
        }
        let counter = Arc::new(Mutex::new(Counter::new(self.run.cpus)));
        let listener = counter.clone();
        machine.reported = Some(Reported::Accesses(Accesses { listener }));
        Some(counter)
    }

    /// Boots it and returns its sample.
    pub(super) fn measure(&self, progress: &mut dyn Progress) -> Result<Kept, Error> {
        let began = Instant::now();
        let failed = |reason: String| Error::Guest {
            guest: self.name.clone(),
            reason,
        };
        let output = Scratch::new()?;
        let mut machine = self.machine.clone();
        machine.output = output.path().to_owned();
        let counter = self.counter(&mut machine);
        let mut complaints = Vec::new();
        let ran = machine.run_again_when_lost(&self.command, &mut complaints, progress);
        // The console is the only trace of what went wrong.
        let (outcome, answer) = ran.map_err(|error| output.keep_console(error))?;
        let complaints = String::from_utf8_lossy(&complaints);
        match outcome.ended {
            Ended::Exit(0) => {}
            Ended::Exit(status) => {
                return Err(failed(format!(
                    "exit status {status}; {}",
                    complaints.trim()
                )));
            }
            Ended::TimedOut => return Err(failed("it took longer than its time limit".to_owned())),
            Ended::Interrupted(signal) => return Err(failed(format!("signal {signal}"))),
        }
        let sample: Sample = serde_json::from_slice(&answer)
            .map_err(|error| failed(format!("its answer is not a sample: {error}")))?;
        let caches = match counter.map(|counter| locked(&counter).seen()) {
            Some(None) => {
                return Err(failed(
                    "its accesses of memory were not reported".to_owned(),
                ));
            }
            other => other.flatten(),
        };
        let facts = &self.machine.kernel.facts;
        Ok(Kept {
            sample,
            kernel: format!("{} ({})", facts.release, facts.version),
            engine_version: outcome.record.engine_version,
            host_seconds: began.elapsed().as_secs_f64(),
            caches,
        })
    }
}
