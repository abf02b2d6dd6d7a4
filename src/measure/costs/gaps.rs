// SPDX-License-Identifier: GPL-2.0-only
//! The gaps in the time of a thread that only reads the clock: which are ticks, and which are not.
//!
//! Ticks are found by themselves: they are the gaps that come again and again in one place of the
//! tick's period, wherever that place is.

/// Places of a period.
const PLACES: u64 = 100;
/// A place that has a gap in so many of the periods that were looked at is the tick's.
const SHARE: f64 = 0.5;

/// A stretch in which the thread did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    pub start_ns: u64,
    pub length_ns: u64,
}

/// All of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gaps {
    pub all: Vec<Gap>,
    /// How long the thread looked, without its pauses.
    pub looked_ns: u64,
    /// Two readings are so far apart without a gap.
    pub reading_ns: u64,
    /// There were more than there was room for.
    pub is_cut: bool,
}

/// The ticks among the gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    pub count: u64,
    pub length_ns_max: u64,
    /// The place in the period where they begin: the median.
    pub phase_ns: u64,
}

impl Gaps {
    /// The ticks, of this period, and all other gaps. No ticks where none were seen, as on a CPU
    /// that stops them.
    pub fn split(&self, period_ns: u64) -> (Option<Ticks>, Vec<Gap>) {
        let place = |gap: &Gap| gap.start_ns % period_ns * PLACES / period_ns;
        let mut counts = vec![0_u64; PLACES as usize];
        for gap in &self.all {
            counts[place(gap) as usize] += 1;
        }
        // A tick at the border of two places is now in the one and now in the other.
        let both = |at: u64| counts[at as usize] + counts[((at + 1) % PLACES) as usize];
        let Some(best) = (0..PLACES).max_by_key(|at| both(*at)) else {
            return (None, self.all.clone());
        };
        let periods = self.looked_ns as f64 / period_ns as f64;
        if periods < 1.0 || (both(best) as f64) < SHARE * periods {
            return (None, self.all.clone());
        }
        let begin_ns = best * period_ns / PLACES;
        let after = |gap: &Gap| (gap.start_ns % period_ns + period_ns - begin_ns) % period_ns;
        let is_tick = |gap: &&Gap| after(gap) * PLACES / period_ns < 2;
        let (ticks, others): (Vec<&Gap>, Vec<&Gap>) = self.all.iter().partition(is_tick);
        // Another gap may be in the tick's place, so not the earliest.
        let mut places: Vec<u64> = ticks.iter().map(|gap| after(gap)).collect();
        places.sort_unstable();
        let usual = places.get(places.len() / 2).copied().unwrap_or(0);
        let found = Ticks {
            count: ticks.len() as u64,
            length_ns_max: ticks.iter().map(|gap| gap.length_ns).max().unwrap_or(0),
            phase_ns: (begin_ns + usual) % period_ns,
        };
        (Some(found), others.into_iter().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: u64 = 4_000_000;

    fn gap(start_ns: u64, length_ns: u64) -> Gap {
        Gap {
            start_ns,
            length_ns,
        }
    }

    fn gaps(all: Vec<Gap>, periods: u64) -> Gaps {
        Gaps {
            all,
            looked_ns: periods * PERIOD_NS,
            reading_ns: 30,
            is_cut: false,
        }
    }

    #[test]
    fn ticks_are_told_from_other_gaps_at_any_phase() {
        for phase_ns in [0, 1_234, 39_990, 3_999_950, 3_980_000] {
            let ticks = (1..100).map(|n| {
                let late_ns = n % 7 * 100;
                gap(n * PERIOD_NS + phase_ns + late_ns, 2_000 + n)
            });
            let others = (0..20).map(|n| gap(n * 5 * PERIOD_NS + 2_000_000 + n * 7, 9_000));
            let found = gaps(ticks.chain(others).collect(), 100).split(PERIOD_NS);
            let (Some(ticks), others) = found else {
                panic!("no ticks at {phase_ns}");
            };
            assert_eq!(
                (ticks.count, ticks.length_ns_max),
                (99, 2_099),
                "{phase_ns}"
            );
            let usual_ns = (phase_ns + 300) % PERIOD_NS;
            assert_eq!(ticks.phase_ns, usual_ns);
            assert_eq!(others.len(), 20);
        }
    }

    #[test]
    fn without_ticks_there_are_none() {
        let scattered = (0..50).map(|n| gap(n * 7 * 1_111_111, 1_000)).collect();
        let (ticks, others) = gaps(scattered, 100).split(PERIOD_NS);
        assert_eq!((ticks, others.len()), (None, 50));
        assert_eq!(gaps(vec![], 100).split(PERIOD_NS).0, None);
        assert_eq!(gaps(vec![gap(5, 5)], 0).split(PERIOD_NS).0, None);
    }
}
