// SPDX-License-Identifier: GPL-2.0-only
//! Runs the guests of an experiment whose samples are not there yet, several side by side: each
//! emulates its CPUs in one thread, and none notices the others.

use super::Sample;
use super::plan::{Configuration, Experiment, Run};
use super::store::{Kept, Store};
use crate::lab::Error as LabError;
use crate::lab::cache::Cache;
use crate::lab::engine::Engine;
use crate::lab::image::Programs;
use crate::lab::kernel::{Kernel, Kernels};
use crate::lab::machine::{Host, Machine};
use crate::lab::progress::Progress;
use crate::lab::record::Ended;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Virtual seconds that a guest may take beyond what is measured: start, warm-up, work that ends.
const SPARE_S: u64 = 120;
/// How often the guests' progress is shown.
const BEAT: Duration = Duration::from_millis(500);
/// What the guests need beside artis-guest.
const PROGRAMS: Programs = Programs::Only(&["hackbench"]);

/// Why an experiment did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The guest's half failed.
    #[error("{guest} failed: {reason}")]
    Guest { guest: String, reason: String },
    #[error(
        "interrupted by signal {signal}; {done} of {all} samples are kept, the same command goes on from there"
    )]
    Interrupted {
        signal: usize,
        done: usize,
        all: usize,
    },
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
    /// Guests side by side.
    pub jobs: usize,
    /// Forget what is there, and measure all of it again.
    pub fresh: bool,
    /// A signal number put here ends all guests.
    pub stop: Arc<AtomicUsize>,
    /// A kernel instead of the newest of its flavour: a release, by the name it is asked for.
    pub kernels: BTreeMap<String, String>,
}

/// Runs what is missing; every sample in the order of [`Experiment::runs`].
///
/// # Errors
/// The first guest's that failed; the samples that were finished are kept.
pub fn run(
    experiment: &Experiment,
    kernels: &Kernels,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<Vec<Measured>, Error> {
    let mut fetched: BTreeMap<String, Kernel> = BTreeMap::new();
    for configuration in &experiment.configurations {
        if let Entry::Vacant(place) = fetched.entry(options.kernel(configuration)) {
            let kernel = kernels.resolve(place.key(), progress)?;
            place.insert(kernel);
        }
    }
    let store = Store::new(Cache::per_user()?);
    let runs = experiment.runs();
    let mut guests = Vec::new();
    let mut host = None;
    for run in runs {
        let configuration = &experiment.configurations[run.configuration];
        let kernel = fetched[&options.kernel(configuration)].clone();
        let machine = machine(&run, configuration, kernel, options)?;
        let host = match &host {
            Some(host) => host,
            None => host.insert(machine.host(progress)?),
        };
        guests.push(Guest::new(run, configuration, machine, host)?);
    }
    if options.fresh {
        // All of them now, not each when its turn comes: what goes on after an interruption must
        // not find half of the samples that were to be replaced.
        for guest in &guests {
            store.forget(&guest.fingerprint)?;
        }
    }
    let mut results = BTreeMap::new();
    let mut missing = Vec::new();
    for (index, guest) in guests.iter().enumerate() {
        if let Some(kept) = store.find(&guest.fingerprint)? {
            results.insert(index, Ok(kept));
        } else {
            missing.push((index, guest));
        }
    }
    if !results.is_empty() {
        let (kept, all) = (results.len(), guests.len());
        progress.note(&format!("{kept} of {all} samples are in the cache"));
    }
    let workers = options.jobs.min(missing.len());
    let next = AtomicUsize::new(0);
    let board = Board::new(workers, results);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (missing, next, board, store) = (&missing, &next, &board, &store);
            scope.spawn(move || work(worker, missing, next, board, store, options));
        }
        board.watch(guests.len(), progress);
    });
    let mut results = board.finish();
    let signal = options.stop.load(Ordering::Relaxed);
    if signal != 0 {
        let done = results.values().filter(|result| result.is_ok()).count();
        return Err(Error::Interrupted {
            signal,
            done,
            all: guests.len(),
        });
    }
    let mut measured = Vec::new();
    for (index, guest) in guests.into_iter().enumerate() {
        let kept = results.remove(&index).unwrap_or_else(|| {
            Err(Error::Guest {
                guest: guest.name.clone(),
                reason: "it was not run because another failed".to_owned(),
            })
        });
        measured.push((guest, kept));
    }
    // What went wrong first is not what comes first; a failure explains more than its consequences.
    measured.sort_by_key(|(_, kept)| matches!(kept, Err(Error::Guest { .. })));
    let mut finished = Vec::new();
    for (guest, kept) in measured {
        finished.push(Measured {
            run: guest.run,
            kept: kept?,
            fingerprint: guest.fingerprint,
        });
    }
    Ok(finished)
}

impl Options {
    fn kernel(&self, configuration: &Configuration) -> String {
        let name = configuration.kernel();
        self.kernels
            .get(name)
            .cloned()
            .unwrap_or_else(|| name.to_owned())
    }
}

/// A guest to be run.
struct Guest {
    run: Run,
    name: String,
    machine: Machine,
    command: Vec<OsString>,
    fingerprint: String,
}

/// The machine for a run.
fn machine(
    run: &Run,
    configuration: &Configuration,
    kernel: Kernel,
    options: &Options,
) -> Result<Machine, Error> {
    // The real folder is made when it is run.
    let mut machine = Machine::new(Engine::Bochs, kernel, std::path::PathBuf::new())?;
    machine.programs = PROGRAMS;
    machine.cpus = run.cpus;
    machine.append = configuration.arguments(&run.task.rt);
    machine.seed = Some(run.seed);
    machine.timeout = Some(Duration::from_secs(u64::from(run.task.seconds) + SPARE_S));
    machine.stop = Arc::clone(&options.stop);
    Ok(machine)
}

impl Guest {
    fn new(
        run: Run,
        configuration: &Configuration,
        machine: Machine,
        host: &Host,
    ) -> Result<Self, Error> {
        let task = serde_json::to_string(&run.task).map_err(|error| Error::Guest {
            guest: configuration.name.clone(),
            reason: error.to_string(),
        })?;
        let words = ["artis-guest", "experiment", &task];
        let command: Vec<OsString> = words.map(OsString::from).to_vec();
        let fingerprint = machine.fingerprint(&command, host)?;
        let name = format!(
            "{}, {} CPUs, seed {}",
            configuration.name, run.cpus, run.seed
        );
        Ok(Self {
            run,
            name,
            machine,
            command,
            fingerprint,
        })
    }

    fn measure(&self, progress: &mut dyn Progress) -> Result<Kept, Error> {
        let began = Instant::now();
        let failed = |reason: String| Error::Guest {
            guest: self.name.clone(),
            reason,
        };
        let output = tempfile::Builder::new()
            .prefix("artis-experiment-")
            .tempdir()
            .map_err(|error| failed(format!("cannot create a temporary folder: {error}")))?;
        let mut machine = self.machine.clone();
        machine.output = output.path().to_owned();
        let (mut answer, mut complaints) = (Vec::new(), Vec::new());
        let ran = machine.run(&self.command, &mut answer, &mut complaints, progress);
        let outcome = match ran {
            Err(error @ LabError::GuestLost { .. }) => {
                // The console is the only trace of what went wrong.
                let _kept = output.keep();
                return Err(error.into());
            }
            other => other?,
        };
        let complaints = String::from_utf8_lossy(&complaints);
        match outcome.ended {
            Ended::Exit(0) => {}
            Ended::Exit(status) => {
                return Err(failed(format!(
                    "exit status {status}; {}",
                    complaints.trim()
                )));
            }
            Ended::TimedOut => return Err(failed("it did not end in its time".to_owned())),
            Ended::Interrupted(signal) => return Err(failed(format!("signal {signal}"))),
        }
        let sample: Sample = serde_json::from_slice(&answer)
            .map_err(|error| failed(format!("its answer is no sample: {error}")))?;
        let facts = &self.machine.kernel.facts;
        Ok(Kept {
            sample,
            kernel: format!("{} ({})", facts.release, facts.version),
            engine_version: outcome.record.engine_version,
            host_seconds: began.elapsed().as_secs_f64(),
        })
    }
}

/// A worker's life: the next guest, until there is none or something went wrong.
fn work(
    worker: usize,
    missing: &[(usize, &Guest)],
    next: &AtomicUsize,
    board: &Board,
    store: &Store,
    options: &Options,
) {
    while options.stop.load(Ordering::Relaxed) == 0 && !board.failed.load(Ordering::Relaxed) {
        let Some(&(index, guest)) = missing.get(next.fetch_add(1, Ordering::Relaxed)) else {
            break;
        };
        let mut progress = Line {
            board,
            worker,
            name: &guest.name,
        };
        let result = sample(guest, store, &mut progress);
        if result.is_err() {
            board.failed.store(true, Ordering::Relaxed);
        }
        board.put(index, result);
    }
    board.end(worker);
}

fn sample(guest: &Guest, store: &Store, progress: &mut dyn Progress) -> Result<Kept, Error> {
    let kept = guest.measure(progress)?;
    store.keep(&guest.fingerprint, &kept)?;
    Ok(kept)
}

/// By the guest's place in the experiment.
type Results = BTreeMap<usize, Result<Kept, Error>>;

/// What the workers have done and are doing.
struct Board {
    lines: Mutex<Vec<Option<String>>>,
    results: Mutex<Results>,
    failed: AtomicBool,
}

impl Board {
    /// With the results that are there already.
    fn new(workers: usize, results: Results) -> Self {
        Self {
            lines: Mutex::new(vec![Some(String::new()); workers]),
            results: Mutex::new(results),
            failed: AtomicBool::new(false),
        }
    }

    fn put(&self, index: usize, result: Result<Kept, Error>) {
        locked(&self.results).insert(index, result);
    }

    fn end(&self, worker: usize) {
        locked(&self.lines)[worker] = None;
    }

    /// Shows how far they are until all have ended.
    fn watch(&self, all: usize, progress: &mut dyn Progress) {
        loop {
            let lines: Vec<String> = locked(&self.lines).iter().flatten().cloned().collect();
            if lines.is_empty() {
                break;
            }
            let done = locked(&self.results).len();
            progress.step(
                &format!("{done} of {all} samples, {}", lines.join("; ")),
                None,
            );
            std::thread::sleep(BEAT);
        }
        progress.done();
    }

    fn finish(self) -> Results {
        self.results
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker that panicked leaves nothing half-written behind these locks.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A worker's part of the progress line.
struct Line<'a> {
    board: &'a Board,
    worker: usize,
    name: &'a str,
}

impl Progress for Line<'_> {
    fn step(&mut self, what: &str, _percent: Option<f32>) {
        locked(&self.board.lines)[self.worker] = Some(format!("{}: {what}", self.name));
    }

    fn done(&mut self) {}

    fn note(&mut self, sentence: &str) {
        self.step(sentence, None);
    }
}
