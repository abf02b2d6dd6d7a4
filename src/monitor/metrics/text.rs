// SPDX-License-Identifier: GPL-2.0-only
//! Prometheus' text format 0.0.4, with classic buckets: what node_exporter's textfile collector
//! takes. It takes no OpenMetrics.

use super::{Family, Label, Lengths, Samples};
use artis_result::terminal::plain;
use std::fmt::Write;

/// The type that goes with it on HTTP.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All families as one text.
pub fn text(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families {
        let (name, kind) = match &family.samples {
            Samples::Counter(_) => (format!("{}_total", family.name), "counter"),
            Samples::Gauge(_) => (family.name.clone(), "gauge"),
            Samples::Histogram(_) => (family.name.clone(), "histogram"),
        };
        let help = family.help.replace('\\', "\\\\").replace('\n', "\\n");
        text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        match &family.samples {
            Samples::Counter(all) | Samples::Gauge(all) => {
                for (labels, value) in all {
                    line(&mut text, &name, labels, None, *value);
                }
            }
            Samples::Histogram(all) => {
                for (labels, lengths) in all {
                    histogram(&mut text, &name, labels, lengths);
                }
            }
        }
    }
    text
}

fn histogram(text: &mut String, name: &str, labels: &[Label], lengths: &Lengths) {
    let bucket = format!("{name}_bucket");
    for (edge, count) in &lengths.classic {
        line(
            text,
            &bucket,
            labels,
            Some(&edge.to_string()),
            *count as f64,
        );
    }
    line(text, &bucket, labels, Some("+Inf"), lengths.count as f64);
    line(text, &format!("{name}_sum"), labels, None, lengths.sum_s);
    line(
        text,
        &format!("{name}_count"),
        labels,
        None,
        lengths.count as f64,
    );
}

fn line(text: &mut String, name: &str, labels: &[Label], edge: Option<&str>, value: f64) {
    text.push_str(name);
    let edge = edge.map(|edge| ("le", edge.to_owned()));
    let all: Vec<String> = labels
        .iter()
        .chain(&edge)
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    if !all.is_empty() {
        text.push_str(&format!("{{{}}}", all.join(",")));
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, " {value}");
}

/// The value of a label: names of threads may hold anything.
fn escaped(value: &str) -> String {
    let value = plain(value);
    value.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn family(samples: Samples) -> Family {
        Family {
            name: "artis_x".to_owned(),
            help: "One\nof \\two.".to_owned(),
            samples,
        }
    }

    #[test]
    fn each_kind_is_written_as_the_format_has_it() {
        let labels = vec![("cpu", "1".to_owned())];
        let counter = family(Samples::Counter(vec![(labels.clone(), 3.0)]));
        let expected = "# HELP artis_x_total One\\nof \\\\two.\n# TYPE artis_x_total counter\n\
                        artis_x_total{cpu=\"1\"} 3\n";
        assert_eq!(text(&[counter]), expected);
        let lengths = Lengths {
            count: 3,
            sum_s: 0.5,
            classic: vec![(0.000_001_024, 1), (0.25, 2)],
            fine: Vec::new(),
        };
        let histogram = text(&[family(Samples::Histogram(vec![(labels, lengths)]))]);
        let lines: Vec<&str> = histogram.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "# TYPE artis_x histogram",
                "artis_x_bucket{cpu=\"1\",le=\"0.000001024\"} 1",
                "artis_x_bucket{cpu=\"1\",le=\"0.25\"} 2",
                "artis_x_bucket{cpu=\"1\",le=\"+Inf\"} 3",
                "artis_x_sum{cpu=\"1\"} 0.5",
                "artis_x_count{cpu=\"1\"} 3",
            ]
        );
    }

    proptest! {
        #[test]
        fn a_name_stays_within_its_label(name in "\\PC{0,15}|[\"\\\\\n{}=,\x1b]{0,15}") {
            let gauge = Samples::Gauge(vec![(vec![("thread", name)], 1.0)]);
            let text = text(&[family(gauge)]);
            prop_assert_eq!(text.lines().count(), 3);
            let line = text.lines().last().unwrap();
            let value = line.strip_prefix("artis_x{thread=\"").unwrap();
            let value = value.strip_suffix("\"} 1").unwrap();
            // No quote ends it early.
            let bare = value.replace("\\\\", "").replace("\\\"", "");
            prop_assert!(!bare.contains(['"', '\\']), "{}", line);
        }
    }
}
