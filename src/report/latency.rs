// SPDX-License-Identifier: GPL-2.0-only
//! Sentences about a latency measurement: while it goes on, and when a limit ended it.

use super::us;
use artis_measure::latency::Outcome;
use artis_measure::latency::sampler::Live;

/// The sign of life has room for the last latency of so many threads.
const THREADS_MAX: usize = 8;

/// What the sign of life says.
pub fn progress(threads: &[Live]) -> String {
    let samples: u64 = threads.iter().map(Live::samples).sum();
    let max_ns = threads.iter().filter_map(Live::max_ns).max();
    let last: Vec<String> = threads
        .iter()
        .take(THREADS_MAX)
        .map(|thread| format!("{:.1}", us(thread.last_ns())))
        .collect();
    format!(
        "worst {:.1} us, {samples} samples; last {} us",
        us(max_ns.unwrap_or(0)),
        last.join(" ")
    )
}

/// The sentence about the threshold that was passed.
pub fn exceeded(outcome: &Outcome) -> Option<String> {
    let mut threads = outcome.threads.iter().enumerate();
    threads.find_map(|(index, measured)| {
        let exceeded = measured.samples.exceeded?;
        Some(format!(
            "thread {index} was {:.3} us late, {:.6} s after the start: above the threshold",
            us(exceeded.latency_ns),
            exceeded.at_s
        ))
    })
}

/// The sentence about a source that failed in the middle.
pub fn failure(outcome: &Outcome, source: &str) -> Option<String> {
    let mut threads = outcome.threads.iter().enumerate();
    threads.find_map(|(index, measured)| {
        let errno = measured.failed?;
        Some(format!(
            "the source {source} of thread {index} failed after {} samples: {}; \
             what was measured until then is in the result",
            measured.samples.latency.count(),
            errno.desc()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_measure::latency::Measured;
    use artis_measure::latency::sampler::{Exceeded, Samples};
    use artis_result::{BlockMaxima, Distribution};
    use nix::errno::Errno;

    #[test]
    fn the_first_thread_that_ended_the_measurement_is_named() {
        let measured = |failed, exceeded| Measured {
            samples: Samples {
                latency: Distribution::new(),
                max_at_s: None,
                maxima: BlockMaxima::new(),
                missed: 0,
                exceeded,
                split: None,
                work: None,
                places: None,
            },
            failed,
        };
        let late = Exceeded {
            latency_ns: 200_500,
            at_s: 1.5,
        };
        let outcome = Outcome {
            threads: vec![measured(None, None), measured(Some(Errno::EIO), Some(late))],
            seconds: 2.0,
        };
        let sentence = exceeded(&outcome).unwrap();
        assert!(
            sentence.starts_with("thread 1 was 200.500 us late, 1.5"),
            "{sentence}"
        );
        let sentence = failure(&outcome, "rtc").unwrap();
        assert!(
            sentence.contains("rtc of thread 1 failed after 0 samples"),
            "{sentence}"
        );
    }

    #[test]
    fn progress_begins_with_the_maximum() {
        let line = progress(&[Live::default()]);
        assert_eq!(line, "worst 0.0 us, 0 samples; last 0.0 us");
    }
}
