// SPDX-License-Identifier: GPL-2.0-only
//! stress-ng: which of its stressors are loads, how each is called, and the work that it reports.

use std::path::Path;

pub const PROGRAM: &str = "stress-ng";
pub const PACKAGE: &str = "stress-ng";
/// What one count of its work is.
pub const UNIT: &str = "bogo-ops";

/// The stressors that are loads. One for each load: bogo-ops of two cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stressor {
    Cpu,
    Hdd,
    Sock,
    Flock,
    Cache,
    Fork,
}

impl Stressor {
    pub const ALL: [Self; 6] = [
        Self::Cpu,
        Self::Hdd,
        Self::Sock,
        Self::Flock,
        Self::Cache,
        Self::Fork,
    ];

    /// Its name, as stress-ng has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Hdd => "hdd",
            Self::Sock => "sock",
            Self::Flock => "flock",
            Self::Cache => "cache",
            Self::Fork => "fork",
        }
    }

    /// The name of the load.
    pub fn load_name(self) -> &'static str {
        match self {
            Self::Cpu => "stress-ng-cpu",
            Self::Hdd => "stress-ng-hdd",
            Self::Sock => "stress-ng-sock",
            Self::Flock => "stress-ng-flock",
            Self::Cache => "stress-ng-cache",
            Self::Fork => "stress-ng-fork",
        }
    }

    /// What it does to the machine.
    pub fn description(self) -> &'static str {
        match self {
            Self::Cpu => "integer and floating-point work in user mode",
            Self::Hdd => "files at random places, each write down to the disk",
            Self::Sock => "TCP over the loopback device",
            Self::Flock => "processes that compete for file locks",
            Self::Cache => "reads and writes that miss the cache",
            Self::Fork => "processes made and ended",
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            // Without dsync, small files that are soon deleted never reach the disk.
            Self::Hdd => &["--hdd-bytes", "16m", "--hdd-opts", "wr-rnd,rd-rnd,dsync"],
            // By default it moves from CPU to CPU, also to CPUs that it was not given.
            Self::Cache => &["--cache-no-affinity"],
            Self::Cpu | Self::Sock | Self::Flock | Self::Fork => &[],
        }
    }
}

/// The file in the load's folder that takes its report.
pub fn report_name(stressor: Stressor) -> String {
    format!("{}.yaml", stressor.name())
}

/// Its arguments: `workers` of this stressor until it is interrupted, files only in `folder`.
pub fn arguments(stressor: Stressor, workers: usize, folder: &Path) -> Vec<String> {
    let mut words = vec![format!("--{}", stressor.name()), workers.to_string()];
    words.extend(stressor.options().iter().map(|word| (*word).to_owned()));
    // --abort: a worker that fails ends all, so that it is noticed.
    words.extend(["--timeout", "0", "--metrics", "--abort"].map(str::to_owned));
    words.push("--temp-path".to_owned());
    words.push(folder.display().to_string());
    words.push("--yaml".to_owned());
    words.push(folder.join(report_name(stressor)).display().to_string());
    words
}

/// The bogo-ops of a stressor in a report; none when it is not there, as for a stressor that
/// was skipped.
pub fn bogo_ops(report: &str, stressor: &str) -> Option<f64> {
    let mut lines = report
        .lines()
        .map(|line| line.trim().trim_start_matches("- "));
    lines.find(|line| line.strip_prefix("stressor: ") == Some(stressor))?;
    lines
        .take_while(|line| !line.starts_with("stressor: "))
        .find_map(|line| line.strip_prefix("bogo-ops: ")?.parse().ok())
        .filter(|count: &f64| count.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REPORT: &str = "---\nsystem-info:\n      hostname: vm\n\nmetrics:\n    - stressor: cpu\n      \
                          bogo-ops: 800\n      bogo-ops-per-second-real-time: 792.0\n\n    - stressor: \
                          hdd\n      wall-clock-time: 1.0\n      bogo-ops: 17\n...\n";

    #[test]
    fn the_work_of_each_stressor_is_found() {
        assert_eq!(bogo_ops(REPORT, "cpu"), Some(800.0));
        assert_eq!(bogo_ops(REPORT, "hdd"), Some(17.0));
        assert_eq!(bogo_ops(REPORT, "sock"), None);
        assert_eq!(
            bogo_ops("- stressor: cpu\n- stressor: hdd\n  bogo-ops: 1\n", "cpu"),
            None
        );
    }

    proptest! {
        #[test]
        fn any_report_is_read_or_refused(text in ".*", count in ".*") {
            let _ = bogo_ops(&text, "cpu");
            let _ = bogo_ops(&format!("- stressor: cpu\n  bogo-ops: {count}\n"), "cpu");
        }
    }
}
