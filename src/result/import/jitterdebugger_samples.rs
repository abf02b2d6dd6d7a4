// SPDX-License-Identifier: GPL-2.0-only
//! jitterdebugger's `samples.raw`: every sample, in the machine's byte order and unaligned:
//! thread (4 bytes), time of the sample (seconds and nanoseconds, 8 bytes each), latency (8
//! bytes). Nothing in the file says the format or the unit, so the format must be named with
//! `--from`; without `--unit` the unit is microseconds, which jitterdebugger takes without `-N`.
//!
//! Little endian and 64-bit times are assumed, as on every machine that jitterdebugger is
//! packaged for. All samples are there, so only what is finer than a unit is lost.

use super::tally::Budget;
use super::text::COLUMNS_MAX;
use super::{Importer, Place, Refusal, TimeUnit, document};
use crate::histogram::VALUE_MAX;
use crate::{Distribution, Document, Kind, Series, Unit};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

pub struct JitterdebuggerSamples;

const SAMPLE_BYTES: usize = 28;
const NS_PER_S: u64 = 1_000_000_000;

struct Thread {
    values: Distribution,
    max_at_ns: u64,
}

impl Importer for JitterdebuggerSamples {
    fn name(&self) -> &'static str {
        "jitterdebugger-samples"
    }

    fn recognises(&self, _: &str) -> bool {
        false
    }

    fn says_unit(&self) -> bool {
        false
    }

    fn read(&self, content: &[u8], unit: Option<TimeUnit>) -> Result<Document, Refusal> {
        let unit_ns = unit.unwrap_or(TimeUnit::Microseconds).ns();
        let mut threads: BTreeMap<u32, Thread> = BTreeMap::new();
        let mut budget = Budget::default();
        let mut times = None;
        let samples = content.chunks_exact(SAMPLE_BYTES);
        if !samples.remainder().is_empty() || content.is_empty() {
            return Err(refusal(
                content.len() / SAMPLE_BYTES,
                format!("the last sample is cut off; each takes {SAMPLE_BYTES} bytes"),
            ));
        }
        for (number, sample) in samples.enumerate() {
            let refused = |reason: String| refusal(number, reason);
            let sample = Sample::read(sample, unit_ns).map_err(refused)?;
            let (first_ns, last_ns) = times.get_or_insert((sample.time_ns, sample.time_ns));
            // Threads take turns to write, so a sample may be older than the one before it.
            *first_ns = sample.time_ns.min(*first_ns);
            *last_ns = sample.time_ns.max(*last_ns);
            let thread = match threads.entry(sample.thread) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let values = Distribution::new();
                    budget.take(&values).map_err(refused)?;
                    let max_at_ns = 0;
                    new.insert(Thread { values, max_at_ns })
                }
            };
            if thread.values.record(sample.latency_ns) {
                thread.max_at_ns = sample.time_ns;
            }
        }
        let (first_ns, last_ns) = times.unwrap_or_default();
        let since_first_s = |time_ns: u64| (time_ns - first_ns) as f64 / NS_PER_S as f64;
        let series = threads.into_iter().map(|(number, thread)| Series {
            thread: Some(number),
            max_at_s: Some(since_first_s(thread.max_at_ns)),
            ..Series::new("latency", Kind::Latency, Unit::Nanoseconds, thread.values)
        });
        let mut document = document("jitterdebugger".to_owned(), series.collect(), Vec::new());
        document.seconds = Some(since_first_s(last_ns));
        Ok(document)
    }
}

struct Sample {
    thread: u32,
    time_ns: u64,
    latency_ns: i64,
}

impl Sample {
    fn read(bytes: &[u8], unit_ns: u64) -> Result<Self, String> {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let thread = u32::from_le_bytes(std::array::from_fn(|byte| bytes[byte]));
        if thread as usize >= COLUMNS_MAX {
            return Err(format!("thread {thread}; no machine has so many CPUs"));
        }
        let (seconds, nanoseconds) = (word(4), word(12));
        let time_ns = seconds
            .checked_mul(NS_PER_S)
            .and_then(|ns| ns.checked_add(nanoseconds))
            .filter(|_| nanoseconds < NS_PER_S)
            .ok_or("its time is out of range")?;
        let latency_ns = word(20)
            .checked_mul(unit_ns)
            .filter(|ns| *ns <= VALUE_MAX)
            .and_then(|ns| i64::try_from(ns).ok())
            .ok_or("its latency is out of range")?;
        Ok(Self {
            thread,
            time_ns,
            latency_ns,
        })
    }
}

fn refusal(sample: usize, reason: String) -> Refusal {
    Refusal {
        place: Place::Byte(sample * SAMPLE_BYTES),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(thread: u32, seconds: u64, latency: u64) -> Vec<u8> {
        let mut bytes = thread.to_le_bytes().to_vec();
        bytes.extend(seconds.to_le_bytes());
        bytes.extend(0_u64.to_le_bytes());
        bytes.extend(latency.to_le_bytes());
        bytes
    }

    #[test]
    fn samples_are_counted_by_thread() {
        let content = [sample(0, 10, 5), sample(1, 9, 7), sample(0, 12, 9)].concat();
        let document = JitterdebuggerSamples.read(&content, None).unwrap();
        assert_eq!(document.seconds, Some(3.0));
        let series = &document.series[0];
        assert_eq!(series.distribution.moments().unwrap().max, 9000);
        assert_eq!(series.max_at_s, Some(3.0));
        let document = JitterdebuggerSamples
            .read(&content, Some(TimeUnit::Nanoseconds))
            .unwrap();
        assert_eq!(document.series[1].distribution.moments().unwrap().max, 7);
    }

    #[test]
    fn damage_is_reported_with_its_byte() {
        let refused = |content: &[u8]| JitterdebuggerSamples.read(content, None).unwrap_err();
        let cut = [sample(0, 1, 1), vec![0; 5]].concat();
        assert_eq!(refused(&cut).place, Place::Byte(28));
        assert!(refused(&sample(1 << 30, 1, 1)).reason.contains("thread"));
        assert!(refused(&sample(0, u64::MAX, 1)).reason.contains("time"));
        assert!(refused(&sample(0, 1, u64::MAX)).reason.contains("latency"));
        assert!(refused(b"").reason.contains("cut off"));
    }
}
