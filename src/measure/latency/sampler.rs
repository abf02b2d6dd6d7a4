// SPDX-License-Identifier: GPL-2.0-only
//! One measuring thread: waits for its source, records, and shows its progress through atomics.
//! Between its first and its last sample it allocates nothing, locks nothing and logs nothing.

use super::place::Places;
use super::source::{Event, Source};
use super::split::SlotReader;
use crate::clock::{SECOND_NS, difference_ns};
use crate::exec;
use crate::live::Live;
use crate::routine::Work;
use artis_result::{BlockMaxima, Distribution};
use nix::errno::Errno;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// When the measurement ended, for all its threads.
#[derive(Debug, Default)]
pub struct End {
    /// Since boot; 0 before the end.
    at_ns: AtomicU64,
}

impl End {
    /// The measurement ends at this time, ns since boot, unless it has ended already.
    pub fn set(&self, at_ns: u64) {
        let (order, first) = (Ordering::Relaxed, 0);
        // The first call decides.
        let _ = self.at_ns.compare_exchange(first, at_ns, order, order);
    }

    /// The time, ns since boot; none before the end.
    pub fn at_ns(&self) -> Option<u64> {
        let at_ns = self.at_ns.load(Ordering::Relaxed);
        (at_ns != 0).then_some(at_ns)
    }
}

/// When a thread ends by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// After so many samples.
    pub samples: Option<u64>,
    /// After a latency above this, ns.
    pub threshold_ns: Option<i64>,
}

/// A latency above the threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exceeded {
    /// The latency, ns.
    pub latency_ns: i64,
    /// When, seconds after the start.
    pub at_s: f64,
}

/// What a thread found.
#[derive(Debug)]
pub struct Samples {
    /// Observed minus requested time.
    pub latency: Distribution,
    /// When the maximum was, seconds after the start.
    pub max_at_s: Option<f64>,
    /// The largest latency of each stretch of time.
    pub maxima: BlockMaxima,
    /// Periods that passed unserved.
    pub missed: u64,
    /// The threshold was passed.
    pub exceeded: Option<Exceeded>,
    /// The two parts of the latency, where the kernel was watched.
    pub split: Option<Parts>,
    /// How long the work after each event took, where there was some.
    pub work: Option<exec::Samples>,
    /// The worst at each place of the tick, where that was asked for.
    pub places: Option<Places>,
}

/// The work that a thread does after each event, as a control loop does. Its execution time is
/// measured under the same load and between the same wakeups as the latency.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The work.
    pub work: &'a Work,
    /// Its shortest time in an unloaded run, ns.
    pub t_min_ns: u64,
}

/// Kernel latency and what comes after it.
#[derive(Debug)]
pub struct Parts {
    /// From the due time to the interrupt's handler.
    pub due_to_handler: Distribution,
    /// From the handler to the task in user mode.
    pub handler_to_task: Distribution,
}

/// A measuring thread, ready to begin.
pub struct Sampler<'a> {
    pub source: Box<dyn Source>,
    pub limits: Limits,
    pub live: &'a Live,
    /// Setting it ends all threads, this one included.
    pub end: &'a End,
    /// `tracing_on` of the kernel's tracer, to freeze it on the spot.
    pub freeze_trace: Option<&'a File>,
    /// Where the kernel's side of each wakeup can be read.
    pub slot: Option<SlotReader>,
    /// Work to do after each event.
    pub task: Option<Task<'a>>,
    /// Empty ones, where the worst of each place of the tick is wanted.
    pub places: Option<Places>,
    pub signed: bool,
}

impl Sampler<'_> {
    /// Makes what the samples need, before the measurement begins.
    pub fn prepare(&self) -> Samples {
        let distribution = || Distribution::prefaulted(self.signed);
        Samples {
            latency: distribution(),
            max_at_s: None,
            maxima: BlockMaxima::new(),
            missed: 0,
            exceeded: None,
            split: self.slot.as_ref().map(|_| Parts {
                due_to_handler: distribution(),
                handler_to_task: distribution(),
            }),
            work: self.task.map(|_| exec::Samples::prefaulted()),
            places: self.places.clone(),
        }
    }

    /// Measures until the end is set or a limit is reached.
    ///
    /// # Errors
    /// When the source failed; `samples` holds all until then.
    pub fn run(&mut self, samples: &mut Samples, start_ns: u64) -> Result<(), Errno> {
        self.source.start(start_ns)?;
        while self.end.at_ns().is_none() {
            match self.source.wait() {
                Ok(event) => {
                    // An event that was due after the end is no sample: the signal that ends the
                    // waiting may have delayed it.
                    let is_after = |end_ns| event.due_ns > end_ns;
                    if self.end.at_ns().is_some_and(is_after)
                        || !self.take(samples, event, start_ns)
                    {
                        return Ok(());
                    }
                }
                // The signal that ends the waiting.
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Records one event; false when a limit was reached.
    fn take(&mut self, samples: &mut Samples, event: Event, start_ns: u64) -> bool {
        let latency_ns = event.latency_ns();
        let passed = self
            .limits
            .threshold_ns
            .is_some_and(|threshold_ns| latency_ns > threshold_ns);
        if passed {
            // First, because the tracer's buffer is overwritten soon.
            if let Some(mut tracing_on) = self.freeze_trace {
                let _ = tracing_on.write(b"0");
            }
            self.end.set(event.observed_ns);
        }
        let after_ns = difference_ns(event.observed_ns, start_ns);
        let at_s = || after_ns as f64 / SECOND_NS as f64;
        samples
            .maxima
            .record(latency_ns, after_ns.max(0).unsigned_abs());
        if samples.latency.record(latency_ns) {
            samples.max_at_s = Some(at_s());
        }
        if let Some(places) = &mut samples.places {
            places.record(event.due_ns, latency_ns);
        }
        samples.missed += event.missed;
        if let (Some(slot), Some(parts)) = (&mut self.slot, &mut samples.split) {
            parts.record(slot, &event);
        }
        let count = samples.latency.count();
        self.live.publish(count, latency_ns);
        if let (Some(task), Some(work)) = (self.task, &mut samples.work) {
            work.work(task.work, Some(task.t_min_ns), start_ns);
        }
        if passed {
            samples.exceeded = Some(Exceeded {
                latency_ns,
                at_s: at_s(),
            });
        }
        !passed && self.limits.samples.is_none_or(|limit| count < limit)
    }
}

impl Parts {
    /// A wakeup that no timer or another timer caused has no known parts.
    fn record(&mut self, slot: &mut SlotReader, event: &Event) {
        let Some(expiry) = slot.take() else { return };
        // A relative sleep is due a little after the time that its thread computed.
        let (due_ns, observed_ns) = (event.due_ns.cast_signed(), event.observed_ns.cast_signed());
        if (due_ns..=observed_ns).contains(&expiry.due_ns) {
            self.due_to_handler
                .record(expiry.handler_ns - expiry.due_ns);
            self.handler_to_task.record(observed_ns - expiry.handler_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives these latencies, then fails.
    struct Canned(Vec<i64>);

    impl Source for Canned {
        fn start(&mut self, _start_ns: u64) -> Result<(), Errno> {
            Ok(())
        }

        fn wait(&mut self) -> Result<Event, Errno> {
            let latency_ns = self.0.pop().ok_or(Errno::EIO)?;
            Ok(Event {
                due_ns: 2 * SECOND_NS - latency_ns.unsigned_abs(),
                observed_ns: 2 * SECOND_NS,
                missed: 1,
            })
        }
    }

    fn run(latencies: &[i64], limits: Limits) -> (Samples, Result<(), Errno>, Option<u64>) {
        let end = End::default();
        let source = Canned(latencies.iter().rev().copied().collect());
        let (samples, ended) = run_source(Box::new(source), limits, &end);
        (samples, ended, end.at_ns())
    }

    fn run_source(
        source: Box<dyn Source>,
        limits: Limits,
        end: &End,
    ) -> (Samples, Result<(), Errno>) {
        let live = Live::default();
        let mut sampler = Sampler {
            source,
            limits,
            live: &live,
            end,
            freeze_trace: None,
            slot: None,
            task: None,
            places: None,
            signed: false,
        };
        let mut samples = sampler.prepare();
        let ended = sampler.run(&mut samples, SECOND_NS);
        assert_eq!(live.count(), samples.latency.count());
        (samples, ended)
    }

    #[test]
    fn a_source_that_fails_leaves_the_samples() {
        let (samples, ended, _) = run(&[3, 9, 4], Limits::default());
        assert_eq!(ended, Err(Errno::EIO));
        assert_eq!(samples.latency.count(), 3);
        assert_eq!((samples.max_at_s, samples.missed), (Some(1.0), 3));
    }

    #[test]
    fn the_limit_of_samples_ends_this_thread_only() {
        let limits = Limits {
            samples: Some(2),
            threshold_ns: None,
        };
        let (samples, ended, stopped) = run(&[3, 9, 4], limits);
        assert_eq!((ended, samples.latency.count(), stopped), (Ok(()), 2, None));
    }

    #[test]
    fn passing_the_threshold_is_recorded_and_ends_all_threads() {
        let limits = Limits {
            samples: None,
            threshold_ns: Some(8),
        };
        let (samples, ended, stopped) = run(&[3, 9, 4], limits);
        assert_eq!((ended, samples.latency.count()), (Ok(()), 2));
        assert_eq!(stopped, Some(2 * SECOND_NS));
        assert_eq!(samples.exceeded.unwrap().latency_ns, 9);
    }

    /// The measurement ends at 100 ns while an event is waited for that was due at this time.
    struct EndsMeanwhile<'a>(&'a End, u64);

    impl Source for EndsMeanwhile<'_> {
        fn start(&mut self, _start_ns: u64) -> Result<(), Errno> {
            Ok(())
        }

        fn wait(&mut self) -> Result<Event, Errno> {
            self.0.set(100);
            Ok(Event {
                due_ns: self.1,
                observed_ns: 500,
                missed: 0,
            })
        }
    }

    #[test]
    fn a_wakeup_after_the_end_counts_when_it_was_due_before() {
        for (due_ns, count) in [(99, 1), (100, 1), (101, 0)] {
            let end: &'static End = Box::leak(Box::default());
            let source = Box::new(EndsMeanwhile(end, due_ns));
            let (samples, ended) = run_source(source, Limits::default(), end);
            assert_eq!(
                (ended, samples.latency.count()),
                (Ok(()), count),
                "{due_ns}"
            );
        }
    }

    #[test]
    fn the_first_end_stays() {
        let end = End::default();
        assert_eq!(end.at_ns(), None);
        end.set(7);
        end.set(5);
        assert_eq!(end.at_ns(), Some(7));
    }
}
