// SPDX-License-Identifier: GPL-2.0-only
//! OpenMetrics, and Prometheus' protobuf with native histograms, as the crate `prometheus-client`
//! writes them. OpenMetrics 1.0 has no native histograms: its text has classic buckets.

use super::{Family, Label, Lengths, Samples};
use artis_result::terminal::plain;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabel, EncodeLabelSet, LabelSetEncoder, MetricEncoder,
    NativeHistogram, NativeHistogramBuckets, prometheus_protobuf, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt::Error;

/// The types that go with them on HTTP.
pub const TEXT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
pub const PROTOBUF_TYPE: &str = "application/vnd.google.protobuf; \
                                 proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Native buckets grow by 2 to the power of 1/8: about as wide as those of the light watch.
const SCHEMA: i32 = 3;
const PER_POWER: f64 = 8.0;
/// What native buckets count as zero.
const ZERO_THRESHOLD_S: f64 = 1e-9;

#[derive(Debug)]
struct Families(Vec<Family>);

struct Labels<'a>(&'a [Label]);

impl EncodeLabelSet for Labels<'_> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), Error> {
        for (name, value) in self.0 {
            (*name, plain(value)).encode(encoder.encode_label())?;
        }
        Ok(())
    }
}

fn registry(families: Vec<Family>) -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(families)));
    registry
}

/// The text.
///
/// # Errors
/// When the crate refuses something: it has said no more so far.
pub fn text(families: Vec<Family>) -> Result<String, Error> {
    let mut written = String::new();
    text::encode(&mut written, &registry(families))?;
    Ok(written)
}

/// The messages, each after its length.
///
/// # Errors
/// As [`text()`].
pub fn protobuf(families: Vec<Family>) -> Result<Vec<u8>, Error> {
    prometheus_protobuf::encode_to_vec(&registry(families)).map_err(|_| Error)
}

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        for family in &self.0 {
            let kind = match family.samples {
                Samples::Counter(_) => MetricType::Counter,
                Samples::Gauge(_) => MetricType::Gauge,
                Samples::Histogram(_) => MetricType::Histogram,
            };
            let mut of_family =
                encoder.encode_descriptor(&family.name, &family.help, None, kind)?;
            match &family.samples {
                Samples::Counter(all) => {
                    for (labels, value) in all {
                        let labels = Labels(labels);
                        let none = None::<
                            &prometheus_client::metrics::exemplar::Exemplar<Labels<'_>, f64>,
                        >;
                        of_family
                            .encode_family(&labels)?
                            .encode_counter(value, none)?;
                    }
                }
                Samples::Gauge(all) => {
                    for (labels, value) in all {
                        let labels = Labels(labels);
                        of_family.encode_family(&labels)?.encode_gauge(value)?;
                    }
                }
                Samples::Histogram(all) => {
                    for (labels, lengths) in all {
                        let labels = Labels(labels);
                        histogram(&mut of_family.encode_family(&labels)?, lengths)?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn histogram(encoder: &mut MetricEncoder<'_>, lengths: &Lengths) -> Result<(), Error> {
    let Lengths {
        count,
        sum_s,
        classic,
        fine,
    } = lengths;
    let buckets = native(fine);
    let (spans, deltas) = runs(&buckets);
    let none = NativeHistogramBuckets {
        spans: &[],
        deltas: &[],
    };
    let native = NativeHistogram {
        schema: SCHEMA,
        zero_threshold: ZERO_THRESHOLD_S,
        zero_count: 0,
        negative: none,
        positive: NativeHistogramBuckets {
            spans: &spans,
            deltas: &deltas,
        },
        created: None,
    };
    let mut classic = classic.clone();
    // The one of infinity counts those above all others, and each one only its own.
    let mut before = 0;
    for (_, below) in &mut classic {
        let own = *below - before;
        before = *below;
        *below = own;
    }
    classic.push((f64::INFINITY, count - before));
    encoder.encode_histogram_with_native::<Labels<'_>>(*sum_s, *count, &classic, None, native)
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

    #[test]
    fn the_text_ends_as_the_standard_wants_it_and_has_whole_histograms() {
        let lengths = Lengths {
            count: 3,
            sum_s: 0.5,
            classic: vec![(0.25, 1), (0.5, 2)],
            fine: vec![(0.25, 1), (0.5, 1), (2.0, 1)],
        };
        let labels = vec![("thread", "a\"b\\\x1b[2J".to_owned())];
        let families = vec![
            Family {
                name: "artis_leaks".to_owned(),
                help: "Leaks.".to_owned(),
                samples: Samples::Counter(vec![(labels.clone(), 7.0)]),
            },
            Family {
                name: "artis_late_seconds".to_owned(),
                help: "Late.".to_owned(),
                samples: Samples::Histogram(vec![(labels, lengths)]),
            },
        ];
        let written = text(families.clone()).unwrap();
        assert!(written.ends_with("# EOF\n"), "{written}");
        let expected = "artis_leaks_total{thread=\"a\\\"b\\\\[2J\"} 7";
        assert!(written.contains(expected), "{written}");
        for (edge, count) in [("0.25", 1), ("0.5", 2), ("+Inf", 3)] {
            let end = format!("le=\"{edge}\"");
            let found = written
                .lines()
                .find(|line| line.contains(&end))
                .expect(&written);
            assert!(found.ends_with(&format!("}} {count}")), "{found}");
        }
        assert!(!protobuf(families).unwrap().is_empty());
    }
}
