// SPDX-License-Identifier: GPL-2.0-only
//! The probability that a candidate misses the deadline, and whether that is good enough.

use super::candidate::Candidate;
use crate::compare::figures::Missed;
use crate::completion::Curve;
use crate::extremes::{Estimate, Extrapolation, Refusal, Tail, binomial};
use crate::job::{Job, Miss};
use artis_result::{Distribution, Nature, Piece};
use serde::Serialize;
use std::cell::OnceCell;

const NS_PER_US: f64 = 1000.0;
const SECONDS_PER_HOUR: f64 = 3600.0;
/// How much wider than its lowest value a histogram's bucket may be.
const BUCKET_WIDTH: f64 = 1e-3;
/// One-sided, of what a run must show.
pub const CONFIDENCE: f64 = 0.95;

/// How long the work takes: microseconds, each with its probability.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkTimes(Vec<(f64, f64)>);

impl WorkTimes {
    pub fn fixed(work_us: f64) -> Self {
        Self(vec![(work_us, 1.0)])
    }

    /// As values in nanoseconds are distributed; none without a histogram.
    pub fn of(times: &Distribution) -> Option<Self> {
        if times.is_summary() || times.count() == 0 {
            return None;
        }
        let all = times.count() as f64;
        let buckets = times.buckets();
        Some(Self(
            buckets
                .map(|(ns, count)| (ns as f64 / NS_PER_US, count as f64 / all))
                .collect(),
        ))
    }

    pub fn mean_us(&self) -> f64 {
        self.0.iter().map(|(us, part)| us * part).sum()
    }

    pub fn min_us(&self) -> f64 {
        self.0
            .iter()
            .map(|(us, _)| *us)
            .fold(f64::INFINITY, f64::min)
    }

    pub fn max_us(&self) -> f64 {
        self.0.iter().map(|(us, _)| *us).fold(0.0, f64::max)
    }

    pub fn scaled(&self, factor: f64) -> Self {
        Self(
            self.0
                .iter()
                .map(|(us, part)| (us * factor, *part))
                .collect(),
        )
    }

    /// Stretched as the times of another piece of work were, whose shortest time was `least_ns`.
    fn stretched(&self, times: &Distribution, least_ns: f64) -> Self {
        let all = times.count() as f64;
        let factors = times
            .buckets()
            .map(|(ns, count)| ((ns as f64 / least_ns).max(1.0), count as f64 / all));
        let factors: Vec<(f64, f64)> = factors.collect();
        let each = self.0.iter().flat_map(|(us, part)| {
            factors
                .iter()
                .map(move |(factor, of)| (us * factor, part * of))
        });
        Self(each.collect())
    }
}

/// Latencies, prepared for many questions.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// Ascending: microseconds, and how many values are above.
    above: Vec<(f64, u64)>,
    count: u64,
    max_us: f64,
    /// Only count and maximum are known.
    is_summary: bool,
    /// Those that a histogram was too short for; above, each counts as the largest of them.
    beyond: Vec<Piece>,
    /// Periods without a value.
    missed: Option<Missed>,
}

impl Latencies {
    /// None where the candidate has no latency.
    pub fn of(candidate: &Candidate) -> Option<Self> {
        use crate::compare::metric::Stat;
        let max_us = candidate.latency_us(Stat::Max)?;
        let Some(all) = &candidate.configuration.latencies else {
            return Some(Self {
                above: Vec::new(),
                count: candidate.configuration.samples(),
                max_us,
                is_summary: true,
                beyond: Vec::new(),
                missed: candidate.configuration.missed,
            });
        };
        let mut left = all.count();
        let above = all
            .buckets()
            .map(|(ns, count)| {
                left -= count;
                // The bucket's values may be a little longer, but none is beyond the maximum.
                ((ns as f64 / NS_PER_US).min(max_us), left)
            })
            .collect();
        Some(Self {
            above,
            count: all.count(),
            max_us,
            is_summary: false,
            beyond: all.beyond().pieces().to_vec(),
            missed: candidate.configuration.missed,
        })
    }

    /// Activations: those with a value, and those that nobody was there for.
    pub fn count(&self) -> u64 {
        self.count + self.missed.map_or(0, |missed| missed.periods)
    }

    /// How many activations were later than this, at least and at most.
    fn late(&self, limit_us: f64) -> (u64, u64) {
        let ((least, most), missed) = (self.above(limit_us), self.missed_above(limit_us));
        (least + missed.0, most + missed.1)
    }

    /// How many missed periods were later than this: all, up to a period; then as many as the
    /// latencies that swallowed them leave.
    fn missed_above(&self, limit_us: f64) -> (u64, u64) {
        let Some(missed) = self.missed else {
            return (0, 0);
        };
        match missed.interval_us {
            Some(interval_us) if limit_us >= interval_us => {
                let mut swallowed = (0, 0);
                let mut behind_us = limit_us + interval_us;
                while behind_us < self.max_us && swallowed.0 < missed.periods {
                    let above = self.above(behind_us);
                    swallowed = (swallowed.0 + above.0, swallowed.1 + above.1);
                    behind_us += interval_us;
                }
                let (least, most) = swallowed;
                (least.min(missed.periods), most.min(missed.periods))
            }
            Some(_) => (missed.periods, missed.periods),
            None if limit_us >= self.max_us => (0, 0),
            None => (0, missed.periods),
        }
    }

    /// How many latencies are above this, at least and at most.
    fn above(&self, limit_us: f64) -> (u64, u64) {
        if limit_us >= self.max_us {
            return (0, 0);
        }
        if self.is_summary {
            return (1, self.count);
        }
        let at = self.above.partition_point(|(us, _)| *us <= limit_us);
        let most = match at {
            0 => self.count,
            at => self.above[at - 1].1,
        };
        let limit_ns = limit_us * NS_PER_US;
        let unsure = self.beyond.iter().map(|piece| {
            match piece.max as f64 * (1.0 + BUCKET_WIDTH) > limit_ns {
                true => piece.count - piece.surely_above(limit_ns),
                false => 0,
            }
        });
        (most.saturating_sub(unsure.sum()), most)
    }
}

/// What is known about misses of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Misses {
    /// Of the activations measured, how many would have missed.
    pub misses: u64,
    pub activations: u64,
    /// So many at most: more than `misses` where only the largest of several is known.
    pub misses_most: u64,
    /// More may have: only the maximum is known.
    pub at_least: bool,
    /// Each activation, with the exact interval.
    pub probability: Estimate,
    /// With 95 % confidence it is at most this (one-sided).
    pub at_most: f64,
    /// An hour, at the job's rate.
    pub per_hour: Option<Estimate>,
    /// By laws of extremes, where none was seen and more is asked for.
    pub extrapolation: Option<Extrapolation>,
    /// Why there is none.
    pub refusal: Option<Refusal>,
    /// The latency that is left by the longest work, us.
    pub slack_us: f64,
}

/// Whether it is good enough.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Meets {
    Yes,
    /// By extrapolation only.
    Extrapolated,
    No,
    /// How many activations without another miss would show it; none: no number would.
    NotShown {
        activations_needed: Option<u64>,
    },
    /// There is no latency.
    Unknown,
}

impl Meets {
    pub fn is_yes(&self) -> bool {
        matches!(self, Self::Yes | Self::Extrapolated)
    }
}

/// How the candidate's work compares with that on the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slowdown {
    pub factor: f64,
    pub source: SlowdownSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SlowdownSource {
    /// Both have a curve of completion times.
    Completion,
    /// Instructions in user mode take as long everywhere (McKenney, principle 5).
    UserMode,
    /// The loads' throughput stands in.
    Throughput,
    Unknown,
}

/// The slowdown for work of this nature and length.
pub fn slowdown(
    one: &Candidate,
    base: &Candidate,
    kept: Option<f64>,
    nature: Nature,
    length_us: f64,
) -> Slowdown {
    let curve = |it: &Candidate| -> Option<Curve> {
        it.curves.iter().find(|it| it.nature == nature).cloned()
    };
    if let Some((ours, theirs)) = curve(one).zip(curve(base)) {
        let nearest = |curve: &Curve| {
            let far = |us: f64| (us / length_us).ln().abs();
            let points = curve.points.iter();
            let point = points.min_by(|a, b| far(a.length_us).total_cmp(&far(b.length_us)));
            point.map(|it| it.work_us_mean)
        };
        let factor = nearest(&ours).zip(nearest(&theirs)).map(|(a, b)| a / b);
        if let Some(factor) = factor.filter(|it| it.is_finite() && *it > 0.0) {
            return Slowdown {
                factor,
                source: SlowdownSource::Completion,
            };
        }
    }
    match (nature, kept) {
        (Nature::User, _) => Slowdown {
            factor: 1.0,
            source: SlowdownSource::UserMode,
        },
        (_, Some(kept)) if kept > 0.0 => Slowdown {
            factor: 1.0 / kept,
            source: SlowdownSource::Throughput,
        },
        _ => Slowdown {
            factor: 1.0,
            source: SlowdownSource::Unknown,
        },
    }
}

/// The work's times on a candidate.
pub fn work_on(work: &WorkTimes, slowdown: Slowdown, one: &Candidate) -> WorkTimes {
    let work = work.scaled(slowdown.factor);
    match &one.execution {
        // The file of a distribution has its own variation already.
        Some((times, least_ns)) if work.0.len() == 1 => work.stretched(times, *least_ns),
        _ => work,
    }
}

/// The misses, without extrapolation: see [`Beyond`].
pub fn misses(job: &Job, deadline_us: f64, work: &WorkTimes, all: &Latencies) -> Misses {
    let count = all.count();
    let (least, most) = work.0.iter().fold((0.0, 0.0), |(least, most), (us, part)| {
        let above = all.late(deadline_us - us);
        (least + part * above.0 as f64, most + part * above.1 as f64)
    });
    let [misses, misses_most] =
        [least, most].map(|expected| (expected - 1e-9).ceil().max(0.0) as u64);
    let probability = Estimate {
        high: binomial::interval(misses_most, count).high,
        ..binomial::interval(misses, count)
    };
    let per_hour = job.rate.map(|rate| {
        let an_hour = |p: f64| p * rate * SECONDS_PER_HOUR;
        Estimate {
            value: an_hour(probability.value),
            low: an_hour(probability.low),
            high: an_hour(probability.high),
        }
    });
    Misses {
        misses,
        activations: count,
        misses_most,
        at_least: all.is_summary && misses > 0,
        probability,
        at_most: binomial::upper(misses_most, count, CONFIDENCE),
        per_hour,
        extrapolation: None,
        refusal: None,
        slack_us: deadline_us - work.max_us(),
    }
}

/// What laws of extremes say of a candidate: fitted once, and not before somebody asks.
#[derive(Debug, Default)]
pub struct Beyond {
    tail: OnceCell<Result<Tail, Refusal>>,
    /// What was found with the numbers as they are: the slack, us, and the probability above it.
    shown: OnceCell<(f64, Extrapolation)>,
    /// A probability, and the slack that it takes, us.
    reach: OnceCell<(f64, f64)>,
}

impl Beyond {
    fn tail(&self, one: &Candidate) -> &Result<Tail, Refusal> {
        self.tail.get_or_init(|| {
            let runs: Vec<_> = one.blocks.iter().collect();
            Tail::new(&runs, one.configuration.latencies.as_ref())
        })
    }

    /// Adds what is found to misses, where none was seen.
    pub fn add_to(&self, found: &mut Misses, one: &Candidate) {
        if found.misses > 0 {
            return;
        }
        match self.tail(one) {
            Ok(tail) => {
                let slack_us = found.slack_us;
                let at = || (slack_us, tail.exceedance(slack_us * NS_PER_US));
                found.extrapolation = Some(self.shown.get_or_init(at).1.clone());
            }
            Err(refusal) => found.refusal = Some(refusal.clone()),
        }
    }

    /// Whether a miss has at most this probability, on the safe side. The interval at a slack takes
    /// a while; at other slacks it is enough to know which one the probability takes.
    fn shows(&self, one: &Candidate, slack_us: f64, allowed: f64) -> bool {
        let Ok(tail) = self.tail(one) else {
            return false;
        };
        if let Some((at_us, found)) = self.shown.get()
            && *at_us == slack_us
        {
            return found.probability.high <= allowed;
        }
        let reach_us = || tail.reach(allowed) / NS_PER_US;
        let (of, known_us) = *self.reach.get_or_init(|| (allowed, reach_us()));
        slack_us >= if of == allowed { known_us } else { reach_us() }
    }
}

/// The probability that a miss may have; none: none may be seen.
pub fn allowed(job: &Job) -> Option<f64> {
    match job.miss {
        Miss::Hard { probability } => probability,
        Miss::PerHour(0.0) => None,
        Miss::PerHour(count) => job.rate.map(|rate| count / (rate * SECONDS_PER_HOUR)),
    }
}

/// Whether this is good enough for the job.
pub fn meets(job: &Job, found: &Misses, one: &Candidate, beyond: &Beyond) -> Meets {
    let Some(allowed) = allowed(job) else {
        return match (found.misses, found.misses_most) {
            (0, 0) => Meets::Yes,
            (0, _) => Meets::NotShown {
                activations_needed: None,
            },
            _ => Meets::No,
        };
    };
    if found.at_most <= allowed {
        return Meets::Yes;
    }
    if found.misses_most > found.misses {
        // More may have missed than is known.
        return match found.probability.low > allowed {
            true => Meets::No,
            false => Meets::NotShown {
                activations_needed: None,
            },
        };
    }
    if found.misses == 0 && beyond.shows(one, found.slack_us, allowed) {
        return Meets::Extrapolated;
    }
    // Chance alone may have made more of them than there are.
    if found.probability.low > allowed {
        return Meets::No;
    }
    let activations_needed = match found.misses {
        0 => binomial::activations_needed(allowed, CONFIDENCE),
        _ => None,
    };
    Meets::NotShown { activations_needed }
}
