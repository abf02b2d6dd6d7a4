// SPDX-License-Identifier: GPL-2.0-only
//! What the rounds of a barrier computation took, and which thread made the others wait.

use crate::clock::{SECOND_NS, difference_ns};
use artis_result::Distribution;

/// All rounds so far.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// What an undisturbed round takes; 0 in the unloaded run, which finds it.
    ideal_ns: u64,
    began_ns: u64,
    /// For each round, the time until its slowest thread was done, nanoseconds.
    pub time: Distribution,
    /// The same less the ideal.
    pub lost: Distribution,
    /// How often each thread was the slowest.
    pub slowest: Vec<u64>,
    /// When the longest round was, seconds after the start.
    pub max_at_s: f64,
    /// How long was measured, seconds.
    pub seconds: f64,
}

impl Rounds {
    /// No rounds yet, of so many threads.
    pub fn new(threads: usize, ideal_ns: u64) -> Self {
        Self {
            ideal_ns,
            began_ns: 0,
            time: Distribution::prefaulted(false),
            lost: Distribution::prefaulted(true),
            slowest: vec![0; threads],
            max_at_s: 0.0,
            seconds: 0.0,
        }
    }

    /// Counts a round: its threads were released at `released_ns` and were done at `finished_ns`.
    /// Gives its time, ns. Allocates nothing.
    pub fn record(&mut self, released_ns: u64, finished_ns: impl Iterator<Item = u64>) -> i64 {
        // The first of equals: no thread waited for the second.
        let slowest = finished_ns
            .enumerate()
            .reduce(|one, two| if two.1 > one.1 { two } else { one });
        let (thread, last_ns) = slowest.unwrap_or((0, released_ns));
        if self.time.count() == 0 {
            self.began_ns = released_ns;
        }
        let seconds = |ns: u64| ns.saturating_sub(self.began_ns) as f64 / SECOND_NS as f64;
        let took_ns = difference_ns(last_ns, released_ns);
        self.seconds = seconds(last_ns);
        if self.time.record(took_ns) {
            self.max_at_s = seconds(released_ns);
        }
        self.lost.record(took_ns - self.ideal_ns.cast_signed());
        self.slowest[thread] += 1;
        took_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_lasts_until_the_slowest_is_done() {
        let mut rounds = Rounds::new(3, 100);
        rounds.record(1000, [1100, 1150, 1150].into_iter());
        rounds.record(2000, [2100, 2090, 2070].into_iter());
        let (time, lost) = (
            rounds.time.moments().unwrap(),
            rounds.lost.moments().unwrap(),
        );
        assert_eq!((time.min, time.max), (100, 150));
        assert_eq!((lost.min, lost.max), (0, 50));
        assert_eq!(rounds.slowest, [1, 1, 0]);
        assert_eq!(rounds.max_at_s, 0.0);
        assert!((rounds.seconds - 1.1e-6).abs() < 1e-12);
    }
}
