// SPDX-License-Identifier: GPL-2.0-only
//! OpenMetrics as the crate `prometheus-client` writes it. Version 1.0 has no native histograms:
//! the text has classic buckets, [`super::native`] has both.

use super::{Family, Label, Lengths, Samples};
use artis_result::terminal::plain;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabel, EncodeLabelSet, LabelSetEncoder, MetricEncoder, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt::Error;

/// The type that goes with it on HTTP.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

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
    let mut classic = lengths.classic.clone();
    // The one of infinity counts those above all others, and each one only its own.
    let mut before = 0;
    for (_, below) in &mut classic {
        let own = *below - before;
        before = *below;
        *below = own;
    }
    classic.push((f64::INFINITY, lengths.count - before));
    encoder.encode_histogram::<Labels<'_>>(lengths.sum_s, lengths.count, &classic, None)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let written = text(families).unwrap();
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
    }
}
