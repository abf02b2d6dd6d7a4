// SPDX-License-Identifier: GPL-2.0-only
//! Who made the late wakeups: sums over all that were explained.

use crate::cut::{OVERRUN, Segment};
use crate::lane::Lane;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One culprit in one lane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// None: it is not known.
    pub culprit: Option<String>,
    pub lane: Lane,
    /// How many of the late ones it had a part in.
    pub times: u64,
    pub ns_sum: u64,
    /// The most in one of them.
    pub ns_max: u64,
    /// Of all time lost, 0 to 1.
    pub share: f64,
}

/// The rows of what each of them lost to whom, the greatest sum first. The thread's own work is no
/// loss.
pub fn summary<'a>(all: impl IntoIterator<Item = &'a [Segment]>) -> Vec<Row> {
    let mut sums: BTreeMap<(Lane, Option<String>), (u64, u64, u64)> = BTreeMap::new();
    for segments in all {
        for (key, ns) in parts(segments) {
            let sum = sums.entry(key).or_default();
            *sum = (sum.0 + 1, sum.1.saturating_add(ns), sum.2.max(ns));
        }
    }
    let whole: u64 = sums
        .values()
        .fold(0, |whole, sum| whole.saturating_add(sum.1));
    let mut rows: Vec<Row> = sums
        .into_iter()
        .map(|((lane, culprit), (times, ns_sum, ns_max))| Row {
            culprit,
            lane,
            times,
            ns_sum,
            ns_max,
            share: ns_sum as f64 / whole.max(1) as f64,
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.ns_sum));
    rows
}

/// The lane and the culprit that took most of one loss, and how much; none without any.
pub fn chief(segments: &[Segment]) -> Option<(Lane, Option<String>, u64)> {
    parts(segments)
        .into_iter()
        .max_by_key(|(_, ns)| *ns)
        .map(|((lane, culprit), ns)| (lane, culprit, ns))
}

/// What each took, without the thread's own work, unless it made a wakeup late.
fn parts(segments: &[Segment]) -> BTreeMap<(Lane, Option<String>), u64> {
    let mut parts = BTreeMap::new();
    for segment in segments {
        if segment.lane != Lane::OwnWork || segment.culprit.as_deref() == Some(OVERRUN) {
            *parts
                .entry((segment.lane, segment.culprit.clone()))
                .or_default() += segment.ns();
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(begin_ns: u64, end_ns: u64, lane: Lane, culprit: &str) -> Segment {
        Segment {
            culprit: Some(culprit.to_owned()),
            ..Segment::nobody(begin_ns, end_ns, lane)
        }
    }

    #[test]
    fn parts_of_one_culprit_are_one() {
        let one = [
            segment(0, 10, Lane::Softirq, "NET_RX"),
            segment(10, 15, Lane::Scheduler, "switching"),
            segment(15, 30, Lane::Softirq, "NET_RX"),
            segment(30, 99, Lane::OwnWork, "itself"),
        ];
        let other = [segment(0, 20, Lane::Softirq, "NET_RX")];
        let rows = summary([&one[..], &other[..]]);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].times, rows[0].ns_sum, rows[0].ns_max), (2, 45, 25));
        assert!((rows.iter().map(|row| row.share).sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(
            chief(&one),
            Some((Lane::Softirq, Some("NET_RX".to_owned()), 25))
        );
        assert_eq!(chief(&[]), None);
    }
}
