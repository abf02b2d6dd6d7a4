// SPDX-License-Identifier: GPL-2.0-only
//! Prometheus' protobuf, which has native histograms beside classic ones.
//!
//! Source: `io/prometheus/client/metrics.proto` of Prometheus' client_model, version 3 of protobuf:
//! a field of the value 0 is not written. Only the fields that are written stand here, by their
//! numbers there.

use super::{Family, Label, Lengths, Samples};
use artis_result::protobuf::Message;
use artis_result::terminal::plain;

/// The type that goes with it on HTTP.
pub const CONTENT_TYPE: &str = "application/vnd.google.protobuf; \
                                proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Native buckets grow by 2 to the power of 1/8: about as wide as those of the light watch.
const SCHEMA: i32 = 3;
const PER_POWER: f64 = 8.0;
/// What native buckets count as zero.
const ZERO_THRESHOLD_S: f64 = 1e-9;

/// A `MetricFamily` for each family, each after its length.
pub fn messages(families: &[Family]) -> Vec<u8> {
    families
        .iter()
        .flat_map(|one| family(one).delimited())
        .collect()
}

/// The numbers of `MetricType`.
const COUNTER: u64 = 0;
const GAUGE: u64 = 1;
const HISTOGRAM: u64 = 4;

fn family(family: &Family) -> Message {
    let (name, kind) = match &family.samples {
        Samples::Counter(_) => (format!("{}_total", family.name), COUNTER),
        Samples::Gauge(_) => (family.name.clone(), GAUGE),
        Samples::Histogram(_) => (family.name.clone(), HISTOGRAM),
    };
    let mut message = Message::default();
    message.string(1, name.as_str());
    message.string(2, unless_zero(family.help.as_str()));
    message.uint(3, unless_zero(kind));
    match &family.samples {
        Samples::Counter(all) => {
            for (labels, number) in all {
                message.message(4, metric(labels, 3, value(*number)));
            }
        }
        Samples::Gauge(all) => {
            for (labels, number) in all {
                message.message(4, metric(labels, 2, value(*number)));
            }
        }
        Samples::Histogram(all) => {
            for (labels, lengths) in all {
                message.message(4, metric(labels, 7, histogram(lengths)));
            }
        }
    }
    message
}

fn unless_zero<T: Default + PartialEq>(value: T) -> Option<T> {
    (value != T::default()).then_some(value)
}

/// A `Metric`: its labels, and what it is in the field of its kind.
fn metric(labels: &[Label], field: u32, of_kind: Message) -> Message {
    let mut message = Message::default();
    for (name, value) in labels {
        let mut pair = Message::default();
        pair.string(1, *name);
        pair.string(2, unless_zero(plain(value).as_ref()));
        message.message(1, pair);
    }
    message.message(field, of_kind);
    message
}

/// A `Counter` or a `Gauge`.
fn value(value: f64) -> Message {
    let mut message = Message::default();
    message.double(1, unless_zero(value));
    message
}

/// A `Histogram`.
fn histogram(lengths: &Lengths) -> Message {
    let mut message = Message::default();
    message.uint(1, unless_zero(lengths.count));
    message.double(2, unless_zero(lengths.sum_s));
    let infinity = (f64::INFINITY, lengths.count);
    for (edge_s, count) in lengths.classic.iter().chain([&infinity]) {
        let mut bucket = Message::default();
        bucket.uint(1, unless_zero(*count));
        bucket.double(2, unless_zero(*edge_s));
        message.message(3, bucket);
    }
    message.sint(5, SCHEMA);
    message.double(6, ZERO_THRESHOLD_S);
    let (spans, deltas) = runs(&native(&lengths.fine));
    for (offset, length) in spans {
        let mut span = Message::default();
        span.sint(1, unless_zero(offset));
        span.uint(2, u64::from(length));
        message.message(12, span);
    }
    message.sints(13, &deltas);
    message
}

/// The native buckets by their numbers: bucket n ends at 2 to the power of n/8 seconds. What is in
/// a bucket of the light watch counts where that ends, so no quantile is said to be better than it
/// was.
fn native(fine: &[(f64, u64)]) -> Vec<(i32, u64)> {
    let mut buckets: Vec<(i32, u64)> = Vec::new();
    for (end_s, count) in fine {
        let number = (end_s.log2() * PER_POWER).ceil() as i32;
        match buckets.last_mut() {
            Some((last, sum)) if *last == number => *sum += count,
            _ => buckets.push((number, *count)),
        }
    }
    buckets
}

/// Spans of buckets without a gap, and each count as its difference to the one before.
fn runs(buckets: &[(i32, u64)]) -> (Vec<(i32, u32)>, Vec<i64>) {
    let (mut spans, mut deltas): (Vec<(i32, u32)>, Vec<i64>) = Default::default();
    let mut end = 0;
    let mut before = 0;
    for (number, count) in buckets {
        match spans.last_mut() {
            Some((_, length)) if *number == end => *length += 1,
            _ => spans.push((*number - end, 1)),
        }
        end = *number + 1;
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        deltas.push(count - before);
        before = count;
    }
    (spans, deltas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_buckets_are_runs_and_differences() {
        // 1 s ends bucket 0, 2 s bucket 8.
        let fine = [(1.0, 5), (1.09, 2), (1.95, 1), (2.0, 4)];
        let buckets = native(&fine);
        assert_eq!(buckets, [(0, 5), (1, 2), (8, 5)]);
        let (spans, deltas) = runs(&buckets);
        assert_eq!(spans, [(0, 2), (6, 1)]);
        assert_eq!(deltas, [5, -3, 3]);
        assert_eq!(runs(&[]), (Vec::new(), Vec::new()));
    }

    /// What prometheus-client 0.26 wrote of these with the generated code of the crate prost.
    #[test]
    fn messages_have_the_bytes_of_the_reference_client() {
        let lengths = Lengths {
            count: 300,
            sum_s: 0.5,
            classic: vec![(0.25, 1), (0.5, 2)],
            fine: vec![(0.25, 100), (0.5, 199), (2.0, 1)],
        };
        let labels = vec![("thread", "a".to_owned()), ("cpu", String::new())];
        let family = |name: &str, help: &str, samples| Family {
            name: name.to_owned(),
            help: help.to_owned(),
            samples,
        };
        let counter = vec![(labels.clone(), 7.0), (Vec::new(), 0.0)];
        let gauge = vec![(labels.clone(), 0.0)];
        let histogram = vec![(labels.clone(), lengths), (labels, Lengths::default())];
        let families = [
            family("artis_leaks", "Leaks.", Samples::Counter(counter)),
            family("artis_on", "", Samples::Gauge(gauge)),
            family("artis_none", "None.", Samples::Gauge(Vec::new())),
            family("artis_late_seconds", "Late.", Samples::Histogram(histogram)),
        ];
        let bytes = messages(&families);
        let written: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = [
            "400a1161727469735f6c65616b735f746f74616c12064c65616b732e221f0a0b0a06746872656164",
            "1201610a050a036370751a09090000000000001c4022021a00240a0861727469735f6f6e18012216",
            "0a0b0a067468726561641201610a050a036370751200150a0a61727469735f6e6f6e6512054e6f6e",
            "652e1801bc010a1261727469735f6c6174655f7365636f6e647312054c6174652e1804226f0a0b0a",
            "067468726561641201610a050a036370753a5908ac0211000000000000e03f1a0b08011100000000",
            "0000d03f1a0b080211000000000000e03f1a0c08ac0211000000000000f07f28063195d626e80b2e",
            "113e6204081f10016204080e10016204081e10016a06c801c6018b03222c0a0b0a06746872656164",
            "1201610a050a036370753a161a0911000000000000f07f28063195d626e80b2e113e",
        ];
        assert_eq!(written, expected.concat());
    }
}
