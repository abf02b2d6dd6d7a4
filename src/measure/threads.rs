// SPDX-License-Identifier: GPL-2.0-only
//! Measuring threads that begin together, or not at all, and end together.
//!
//! A thread that ends is taken apart by the kernel with the priority that it measured with, some
//! hundreds of microseconds. A thread on the same CPU that still measures would wait for that. So a
//! thread that has done its work sleeps until all have.

use super::thread;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// A thread could not be started.
#[derive(Debug, thiserror::Error)]
#[error("could not start a measuring thread; raise the limit of threads (ulimit -u)")]
pub struct SpawnError(#[source] std::io::Error);

/// Why threads could not begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Thread(#[from] thread::Error),
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

/// What the threads wait for.
const WAIT: u8 = 0;
const BEGIN: u8 = 1;
const ABANDON: u8 = 2;

/// Starts `count` threads. Each prepares itself; when all have done so, each does its `work`. What
/// a thread prepared never leaves it. The caller waits in `meanwhile`, whose argument says whether
/// all threads have done their work, and gets their results in order. Until it returns no thread
/// ends. See [`run_until`] for many threads.
///
/// # Errors
/// The first failure of `prepare` or of a thread's start; then none has begun its work.
pub fn run<P, T, E>(
    count: usize,
    prepare: impl Fn(usize) -> Result<P, E> + Sync,
    work: impl Fn(usize, P) -> T + Sync,
    meanwhile: impl FnOnce(&dyn Fn() -> bool),
) -> Result<Vec<T>, E>
where
    T: Send,
    E: Send + From<SpawnError>,
{
    run_until(&|| false, count, prepare, work, meanwhile)
}

/// As [`run`], of one thread; `look` is called each `pause` until it has done its work.
///
/// # Errors
/// As [`run`].
pub fn run_one<P, T, E>(
    prepare: impl Fn() -> Result<P, E> + Sync,
    work: impl Fn(P) -> T + Sync,
    pause: Duration,
    look: impl FnMut(),
) -> Result<T, E>
where
    T: Send,
    E: Send + From<SpawnError>,
{
    let (prepare, work) = (|_| prepare(), |_, prepared| work(prepared));
    let mut all = run(1, prepare, work, |finished| watch(finished, pause, look))?;
    Ok(all.remove(0))
}

/// Looks each `pause` until it is finished.
pub fn watch(finished: &dyn Fn() -> bool, pause: Duration, mut look: impl FnMut()) {
    while !finished() {
        std::thread::sleep(pause);
        look();
    }
}

/// As [`run`]. Once `stopped` says so, no more threads are started, but one at least.
///
/// # Errors
/// As [`run`].
pub fn run_until<P, T, E>(
    stopped: &dyn Fn() -> bool,
    count: usize,
    prepare: impl Fn(usize) -> Result<P, E> + Sync,
    work: impl Fn(usize, P) -> T + Sync,
    meanwhile: impl FnOnce(&dyn Fn() -> bool),
) -> Result<Vec<T>, E>
where
    T: Send,
    E: Send + From<SpawnError>,
{
    let start = AtomicU8::new(WAIT);
    let (at_work, leave) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (ready, readiness) = mpsc::channel();
        let mut threads = Vec::new();
        let mut refused = None;
        for index in 0..count {
            if index > 0 && stopped() {
                break;
            }
            let (ready, start, prepare, work) = (ready.clone(), &start, &prepare, &work);
            let (at_work, leave) = (&at_work, &leave);
            let body = move || {
                let prepared = match prepare(index) {
                    Ok(prepared) => prepared,
                    Err(error) => {
                        // Nobody receives it when another thread was refused first.
                        let _ = ready.send(Err(error));
                        return None;
                    }
                };
                let _ = ready.send(Ok(()));
                // The caller counts the answers. When a thread panics, the channel ends early.
                drop(ready);
                while start.load(Ordering::Acquire) == WAIT {
                    std::thread::park();
                }
                if start.load(Ordering::Acquire) != BEGIN {
                    return None;
                }
                let working = AtWork(at_work);
                let result = work(index, prepared);
                drop(working);
                while !leave.load(Ordering::Acquire) {
                    std::thread::park();
                }
                Some(result)
            };
            let builder = std::thread::Builder::new().name(format!("artis-measure-{index}"));
            match builder.spawn_scoped(scope, body) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    refused = Some(E::from(SpawnError(error)));
                    break;
                }
            }
        }
        drop(ready);
        let prepared = count_prepared(&readiness, threads.len(), &mut refused);
        // A thread that panicked gave no answer. Joining it below passes the panic on.
        let all = refused.is_none() && prepared == threads.len();
        at_work.store(threads.len(), Ordering::Relaxed);
        start.store(if all { BEGIN } else { ABANDON }, Ordering::Release);
        threads.iter().for_each(|thread| thread.thread().unpark());
        if let Some(error) = refused {
            return Err(error);
        }
        if all {
            // Dropped when `meanwhile` panics, too.
            let _leave = Leave(&leave, &threads);
            meanwhile(&|| at_work.load(Ordering::Acquire) == 0);
        }
        Ok(threads.into_iter().filter_map(join).collect())
    })
}

/// How many of so many threads are ready; the first that is not says why.
fn count_prepared<E>(
    answers: &mpsc::Receiver<Result<(), E>>,
    count: usize,
    refused: &mut Option<E>,
) -> usize {
    let mut prepared = 0;
    for answer in answers.iter().take(count) {
        match answer {
            Ok(()) => prepared += 1,
            Err(error) => {
                refused.get_or_insert(error);
            }
        }
    }
    prepared
}

/// A thread that does its work; one that panics has done it, too.
struct AtWork<'a>(&'a AtomicUsize);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Lets the threads end when it is dropped.
struct Leave<'a, 'scope, T>(&'a AtomicBool, &'a [ScopedJoinHandle<'scope, T>]);

impl<T> Drop for Leave<'_, '_, T> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.iter().for_each(|thread| thread.thread().unpark());
    }
}

fn join<T>(thread: ScopedJoinHandle<Option<T>>) -> Option<T> {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[derive(Debug)]
    struct Refused(usize);

    impl From<SpawnError> for Refused {
        fn from(_: SpawnError) -> Self {
            Self(usize::MAX)
        }
    }

    #[test]
    fn results_come_in_order() {
        let looked = AtomicUsize::new(0);
        let results: Result<Vec<usize>, Refused> = run(
            4,
            |index| Ok(index * 10),
            |index, prepared| index + prepared,
            |_| {
                looked.fetch_add(1, Ordering::Relaxed);
            },
        );
        assert_eq!(results.unwrap(), [0, 11, 22, 33]);
        assert_eq!(looked.into_inner(), 1);
    }

    #[test]
    fn no_thread_ends_before_all_have_done_their_work() {
        let first = AtomicUsize::new(0);
        let results: Result<Vec<bool>, Refused> = run(
            2,
            Ok,
            |index, _| {
                let own = nix::unistd::gettid().as_raw().unsigned_abs() as usize;
                if index == 0 {
                    first.store(own, Ordering::Relaxed);
                    return true;
                }
                while first.load(Ordering::Relaxed) == 0 {
                    std::thread::yield_now();
                }
                // Time in which it would end.
                std::thread::sleep(std::time::Duration::from_millis(50));
                let task = format!("/proc/self/task/{}", first.load(Ordering::Relaxed));
                std::path::Path::new(&task).exists()
            },
            |finished| {
                while !finished() {
                    std::thread::yield_now();
                }
            },
        );
        assert_eq!(results.unwrap(), [true, true]);
    }

    #[test]
    fn a_panic_beside_the_threads_does_not_keep_them() {
        let all = std::panic::catch_unwind(|| {
            run(2, Ok::<_, Refused>, |index, _| index, |_| panic!("ours"))
        });
        assert!(all.is_err());
    }

    #[test]
    fn after_a_stop_no_more_threads_are_started() {
        let started = AtomicUsize::new(0);
        let results: Result<Vec<usize>, Refused> = run_until(
            &|| started.load(Ordering::Relaxed) > 0,
            1000,
            |index| {
                started.fetch_add(1, Ordering::Relaxed);
                Ok(index)
            },
            |index, _| index,
            |_| (),
        );
        let results = results.unwrap();
        assert!(!results.is_empty() && results.len() == started.into_inner());
        let results: Result<Vec<usize>, Refused> =
            run_until(&|| true, 1000, Ok, |index, _| index, |_| ());
        assert_eq!(results.unwrap(), [0]);
    }

    #[test]
    fn after_one_refusal_no_thread_begins() {
        let worked = AtomicUsize::new(0);
        let results = run(
            4,
            |index| {
                if index == 2 {
                    Err(Refused(index))
                } else {
                    Ok(())
                }
            },
            |_, ()| worked.fetch_add(1, Ordering::Relaxed),
            |_| unreachable!("nobody has begun"),
        );
        assert_eq!(results.unwrap_err().0, 2);
        assert_eq!(worked.into_inner(), 0);
    }

    #[test]
    fn after_one_panic_no_thread_begins_and_the_panic_is_passed_on() {
        let worked = AtomicUsize::new(0);
        let all = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run(
                4,
                |index| match index {
                    2 => panic!("a fault of ours"),
                    _ => Ok::<_, Refused>(()),
                },
                |_, ()| worked.fetch_add(1, Ordering::Relaxed),
                |_| unreachable!("nobody has begun"),
            )
        }));
        assert!(all.is_err());
        assert_eq!(worked.into_inner(), 0);
    }
}
