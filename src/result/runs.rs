// SPDX-License-Identifier: GPL-2.0-only
//! What runs of a workload took: their times and context switches.

use crate::{Distribution, Kind};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What one run took, all its instances together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub real: Duration,
    pub user: Duration,
    pub system: Duration,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

impl Run {
    /// Name, kind of series, value in nanoseconds or a count.
    pub fn quantities(&self) -> [(&'static str, Kind, u64); 5] {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (time, count) = (Kind::Duration, Kind::Count);
        [
            ("real", time, ns(self.real)),
            ("user", time, ns(self.user)),
            ("sys", time, ns(self.system)),
            ("voluntary_switches", count, self.voluntary_switches),
            ("involuntary_switches", count, self.involuntary_switches),
        ]
    }
}

/// One distribution for each quantity, in the order of [`Run::quantities`]; none without a run.
pub fn distributions(runs: &[Run]) -> Vec<(&'static str, Kind, Distribution)> {
    let mut all = Vec::new();
    for run in runs {
        for (index, (name, kind, value)) in run.quantities().into_iter().enumerate() {
            if all.len() == index {
                all.push((name, kind, Distribution::new()));
            }
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            all[index].2.record(value);
        }
    }
    all
}
