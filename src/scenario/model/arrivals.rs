// SPDX-License-Identifier: GPL-2.0-only
//! Events from outside: when each arrives.

use serde::Serialize;

/// A stream of events.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arrivals {
    pub name: String,
    pub pattern: Pattern,
}

/// When events arrive, from the common start.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// At these times, in their order.
    Listed(Vec<u64>),
    /// Every `period_ns` from `first_ns`, each later by up to `jitter_ns`, all as likely.
    Periodic {
        first_ns: u64,
        period_ns: u64,
        jitter_ns: u64,
    },
    /// With this mean distance, independent of one another (a Poisson process).
    Random { mean_ns: u64 },
}

/// The times of a stream, one by one; ends only where they are listed.
#[derive(Clone, Debug)]
pub struct Times<'a> {
    pattern: &'a Pattern,
    state: u64,
    count: u64,
    last_ns: u64,
}

impl Arrivals {
    /// Its times in a scenario with this seed; `place` is the stream's in the scenario's list.
    pub fn times(&self, seed: u64, place: usize) -> Times<'_> {
        Times {
            pattern: &self.pattern,
            state: seed ^ (place as u64).wrapping_mul(0xd134_2543_de82_ef95),
            count: 0,
            last_ns: 0,
        }
    }
}

impl Times<'_> {
    /// SplitMix64 (Steele, Lea and Flood, 2014), as a part of the whole in 53 bits.
    fn part(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl Iterator for Times<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let ns = match self.pattern {
            Pattern::Listed(times) => *times.get(usize::try_from(self.count).ok()?)?,
            Pattern::Periodic {
                first_ns,
                period_ns,
                jitter_ns,
            } => {
                let late = (self.part() * *jitter_ns as f64) as u64;
                let regular = first_ns.saturating_add(self.count.saturating_mul(*period_ns));
                regular.saturating_add(late)
            }
            Pattern::Random { mean_ns } => {
                let distance = -(1.0 - self.part()).ln() * *mean_ns as f64;
                self.last_ns.saturating_add(distance.max(1.0) as u64)
            }
        };
        // Also with jitter, none overtakes the one before.
        self.last_ns = self.last_ns.max(ns);
        self.count += 1;
        Some(self.last_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(pattern: Pattern, seed: u64, count: usize) -> Vec<u64> {
        let name = "it".to_owned();
        let arrivals = Arrivals { name, pattern };
        arrivals.times(seed, 0).take(count).collect()
    }

    #[test]
    fn a_stream_is_the_same_with_the_same_seed_and_never_goes_back() {
        let random = Pattern::Random { mean_ns: 1000 };
        let found = times(random.clone(), 7, 10_000);
        assert_eq!(found, times(random.clone(), 7, 10_000));
        assert_ne!(found, times(random, 8, 10_000));
        assert!(found.is_sorted());
        let mean = *found.last().unwrap() as f64 / 10_000.0;
        assert!((950.0..1050.0).contains(&mean), "{mean}");
        let periodic = Pattern::Periodic {
            first_ns: 5,
            period_ns: 100,
            jitter_ns: 0,
        };
        assert_eq!(times(periodic, 1, 3), [5, 105, 205]);
        assert_eq!(times(Pattern::Listed(vec![3, 9]), 1, 3), [3, 9]);
    }
}
