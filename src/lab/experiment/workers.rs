// SPDX-License-Identifier: GPL-2.0-only
//! The threads that run an experiment's guests, and the line that shows how far they are.

use super::run::{Error, Guest, Options};
use super::store::{Kept, Store};
use crate::progress::Progress;
use artis_result::names::USER_LATENCY;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the guests' progress is shown.
const BEAT: Duration = Duration::from_millis(500);

/// Samples, by the guest's place in the experiment.
pub(super) type Results = BTreeMap<usize, Result<Kept, Error>>;

/// Measures the `missing` guests; returns their samples and `results`, which are there already. Of
/// `all` guests those are absent that were not run because another failed or a signal came.
pub(super) fn measure(
    missing: &[(usize, &Guest)],
    results: Results,
    all: usize,
    store: &Store,
    options: &Options,
    progress: &mut dyn Progress,
) -> Results {
    let workers = options.jobs.min(missing.len());
    let next = AtomicUsize::new(0);
    let board = Board::new(workers, results);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (next, board) = (&next, &board);
            scope.spawn(move || work(worker, missing, next, board, store, options));
        }
        board.watch(all, progress);
    });
    board.finish()
}

/// A worker: runs the next guest, until none is left or something went wrong.
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
        let cached = locked(&self.results).len();
        loop {
            let lines: Vec<String> = locked(&self.lines).iter().flatten().cloned().collect();
            if lines.is_empty() {
                break;
            }
            let (done, worst) = {
                let results = locked(&self.results);
                (results.len(), worst(&results))
            };
            let percent = 100.0 * (done - cached) as f32 / (all - cached).max(1) as f32;
            progress.step(
                &format!("{done} of {all} samples, {worst}{}", lines.join("; ")),
                Some(percent),
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

/// The worst latency of the samples so far.
fn worst(results: &Results) -> String {
    let samples = results.values().flatten().map(|kept| &kept.sample);
    let series = samples.flat_map(|sample| &sample.series);
    let latencies = series.filter(|one| one.name == USER_LATENCY);
    let moments = latencies.filter_map(|one| one.distribution.moments());
    let worst_ns = moments.map(|all| all.max).max();
    worst_ns.map_or_else(String::new, |ns| {
        format!("worst {:.1} us; ", ns as f64 / 1000.0)
    })
}

/// A worker that panicked leaves nothing half-written behind these locks.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
