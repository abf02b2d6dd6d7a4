// SPDX-License-Identifier: GPL-2.0-only
//! The names of figures, as gates and tables write them: `latency.max`, `throughput.hackbench`.
//!
//! Owns the words and their order; knows no value.

use artis_result::{PERCENTILES, UnitOfWork};
use std::fmt;
use std::str::FromStr;

/// What was measured as a distribution.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// From the timer to the task.
    Latency,
    /// From the timer to its handler.
    Kernel,
    /// Of a fixed piece of work.
    Execution,
    /// Another series, by its name.
    Other(String),
}

/// A figure of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stat {
    Min,
    Mean,
    /// Index into [`PERCENTILES`].
    Percentile(usize),
    Max,
    /// (max - min) / min.
    Variation,
}

/// A figure's name. Times are in microseconds of the comparison's unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// `latency.max`
    Of(Quantity, Stat),
    /// Of what RT0 leaves of the RT CPU, the part that others got.
    RtCpuShareOthers,
    /// CPU time of all loads.
    LoadCpuTime,
    /// Work of a load per time.
    Throughput(String),
    /// Work of a load per second of its CPU time.
    WorkPerCpuSecond(String),
    /// How long the same work took in a permutation, seconds.
    ThroughputSeconds(String),
    /// Kernel entries of others whose body ran on the RT CPU.
    Leaks,
    /// Jobs of a set's tasks that ended after their deadline.
    Missed,
    /// The worst response as a part of its bound: of the task that came nearest to it.
    OfBoundMax,
    /// The same of the task that stayed farthest from it.
    OfBoundMin,
}

/// Words that are no figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no figure; write SERIES.STAT (latency.max, kernel.p99_9, execution.variation), \
     throughput.LOAD, work_per_cpu_second.LOAD, throughput_s.PERMUTATION, load_cpu_time, \
     rt_cpu_share_others, leaks, missed, of_bound_max or of_bound_min"
)]
pub struct NoMetric(pub String);

const RT_CPU_SHARE_OTHERS: &str = "rt_cpu_share_others";
const LOAD_CPU_TIME: &str = "load_cpu_time";
const THROUGHPUT: &str = "throughput.";
const WORK_PER_CPU_SECOND: &str = "work_per_cpu_second.";
const THROUGHPUT_SECONDS: &str = "throughput_s.";
const LEAKS: &str = "leaks";
const MISSED: &str = "missed";
const OF_BOUND_MAX: &str = "of_bound_max";
const OF_BOUND_MIN: &str = "of_bound_min";

impl Stat {
    /// All of them, ascending.
    pub fn all() -> impl Iterator<Item = Self> {
        let percentiles = (0..PERCENTILES.len()).map(Self::Percentile);
        let before = [Self::Min, Self::Mean].into_iter();
        before
            .chain(percentiles)
            .chain([Self::Max, Self::Variation])
    }

    /// Whether more samples alone make it larger or smaller.
    pub fn is_extreme(self) -> bool {
        matches!(self, Self::Min | Self::Max | Self::Variation)
    }
}

impl Metric {
    /// Whether more samples alone make it larger or smaller.
    pub fn is_extreme(&self) -> bool {
        matches!(self, Self::Of(_, stat) if stat.is_extreme())
    }

    /// Whether it is a worst case, which each run has one of and which grows with the samples.
    pub fn is_worst(&self) -> bool {
        matches!(self, Self::Of(_, Stat::Max | Stat::Variation))
    }

    /// The load whose throughput it is.
    pub fn load(&self) -> Option<&str> {
        match self {
            Self::Throughput(load) => Some(load),
            _ => None,
        }
    }

    /// Whether tables give it; gates may use every figure.
    pub fn is_in_tables(&self) -> bool {
        let Self::Of(quantity, stat) = self else {
            return true;
        };
        let far = |percentile: &usize| PERCENTILES[*percentile].0 == "99.9";
        match (quantity, stat) {
            (Quantity::Latency, Stat::Percentile(which)) => far(which),
            (Quantity::Latency, stat) => *stat != Stat::Variation,
            (Quantity::Kernel, stat) => *stat == Stat::Max,
            (Quantity::Execution, stat) => *stat == Stat::Variation,
            // Curves show them.
            (Quantity::Other(name), _) if is_unit_of_work(name) => false,
            (Quantity::Other(_), stat) => matches!(stat, Stat::Mean | Stat::Max),
        }
    }
}

/// Whether this is one of the many series of `artis measure completion`.
fn is_unit_of_work(name: &str) -> bool {
    UnitOfWork::named(name).is_some()
}

impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(match self {
            Self::Latency => "latency",
            Self::Kernel => "kernel",
            Self::Execution => "execution",
            Self::Other(name) => name,
        })
    }
}

impl fmt::Display for Stat {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Min => out.write_str("min"),
            Self::Mean => out.write_str("mean"),
            Self::Percentile(which) => {
                write!(out, "p{}", PERCENTILES[*which].0.replace('.', "_"))
            }
            Self::Max => out.write_str("max"),
            Self::Variation => out.write_str("variation"),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Of(quantity, stat) => write!(out, "{quantity}.{stat}"),
            Self::RtCpuShareOthers => out.write_str(RT_CPU_SHARE_OTHERS),
            Self::LoadCpuTime => out.write_str(LOAD_CPU_TIME),
            Self::Throughput(load) => write!(out, "{THROUGHPUT}{load}"),
            Self::WorkPerCpuSecond(load) => write!(out, "{WORK_PER_CPU_SECOND}{load}"),
            Self::ThroughputSeconds(name) => write!(out, "{THROUGHPUT_SECONDS}{name}"),
            Self::Leaks => out.write_str(LEAKS),
            Self::Missed => out.write_str(MISSED),
            Self::OfBoundMax => out.write_str(OF_BOUND_MAX),
            Self::OfBoundMin => out.write_str(OF_BOUND_MIN),
        }
    }
}

impl FromStr for Metric {
    type Err = NoMetric;

    fn from_str(text: &str) -> Result<Self, NoMetric> {
        let refused = || NoMetric(text.to_owned());
        let named = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        type Named = fn(String) -> Metric;
        let prefixed: [(&str, Named); 3] = [
            (THROUGHPUT, Self::Throughput),
            (WORK_PER_CPU_SECOND, Self::WorkPerCpuSecond),
            (THROUGHPUT_SECONDS, Self::ThroughputSeconds),
        ];
        for (prefix, metric) in prefixed {
            if let Some(name) = text.strip_prefix(prefix) {
                return named(name).map(metric).ok_or_else(refused);
            }
        }
        match text {
            RT_CPU_SHARE_OTHERS => return Ok(Self::RtCpuShareOthers),
            LOAD_CPU_TIME => return Ok(Self::LoadCpuTime),
            LEAKS => return Ok(Self::Leaks),
            MISSED => return Ok(Self::Missed),
            OF_BOUND_MAX => return Ok(Self::OfBoundMax),
            OF_BOUND_MIN => return Ok(Self::OfBoundMin),
            _ => {}
        }
        let (series, stat) = text.rsplit_once('.').ok_or_else(refused)?;
        let stat = Stat::all()
            .find(|known| known.to_string() == stat)
            .ok_or_else(refused)?;
        let quantity = match series {
            "latency" => Quantity::Latency,
            "kernel" => Quantity::Kernel,
            "execution" => Quantity::Execution,
            other => Quantity::Other(named(other).ok_or_else(refused)?),
        };
        Ok(Self::Of(quantity, stat))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub fn metrics() -> impl Strategy<Value = Metric> {
        let name = "[a-z][a-z0-9_-]{0,8}";
        let stats: Vec<Stat> = Stat::all().collect();
        let quantity = prop_oneof![
            Just(Quantity::Latency),
            Just(Quantity::Kernel),
            Just(Quantity::Execution),
            "series_[a-z.]{1,8}".prop_map(Quantity::Other),
        ];
        prop_oneof![
            (quantity, prop::sample::select(stats)).prop_map(|(of, stat)| Metric::Of(of, stat)),
            name.prop_map(Metric::Throughput),
            name.prop_map(Metric::WorkPerCpuSecond),
            name.prop_map(Metric::ThroughputSeconds),
            Just(Metric::LoadCpuTime),
            Just(Metric::RtCpuShareOthers),
            Just(Metric::Leaks),
            Just(Metric::Missed),
            Just(Metric::OfBoundMax),
            Just(Metric::OfBoundMin),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(metric in metrics()) {
            prop_assert_eq!(metric.to_string().parse(), Ok(metric));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}") {
            let _ = text.parse::<Metric>();
        }
    }

    #[test]
    fn the_names_are_the_documented_ones() {
        for (text, metric) in [
            ("latency.max", Metric::Of(Quantity::Latency, Stat::Max)),
            (
                "latency.p99_9",
                Metric::Of(Quantity::Latency, Stat::Percentile(3)),
            ),
            (
                "execution.variation",
                Metric::Of(Quantity::Execution, Stat::Variation),
            ),
            (
                "throughput.io.read",
                Metric::Throughput("io.read".to_owned()),
            ),
        ] {
            assert_eq!(text.parse(), Ok(metric));
        }
    }

    #[test]
    fn other_words_are_refused_with_what_could_be_written() {
        for text in [
            "",
            "latency",
            "latency.median",
            ".max",
            "throughput.",
            "latency.p42",
        ] {
            let complaint = text.parse::<Metric>().unwrap_err().to_string();
            assert!(complaint.contains("latency.max"), "{complaint}");
        }
    }
}
