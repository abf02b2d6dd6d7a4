// SPDX-License-Identifier: GPL-2.0-only
//! Completion time against the length of the work, and where two configurations change places.
//!
//! A configuration that starts early and works slowly finishes short work first; one that starts
//! late and works fast finishes long work first. Source: McKenney, "'Real Time' vs. 'Real Fast'",
//! section 3 and figures 5 to 7, which plot start delay plus length of work.

use artis_result::unit_of_work::Part;
use artis_result::{Document, Nature, UnitOfWork};
use serde::Serialize;
use std::collections::BTreeMap;

/// 95 % of a normal law lie within so many standard errors.
const ERRORS: f64 = 1.959_963_984_540_054;
const NS_PER_US: f64 = 1000.0;

/// A start delay and a slowdown: completion is delay + slowdown * length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub start_us: f64,
    /// Time of the work relative to the fastest configuration's: 1 or more.
    pub slowdown: f64,
}

impl Line {
    /// How long work of this length takes from the event to its end.
    pub fn completion_us(&self, length_us: f64) -> f64 {
        self.start_us + self.slowdown * length_us
    }

    /// The length from which on the other one finishes earlier; none when it never does.
    pub fn break_even_us(&self, other: &Self) -> Option<f64> {
        let length = (other.start_us - self.start_us) / (self.slowdown - other.slowdown);
        (length.is_finite() && length > 0.0 && self.slowdown > other.slowdown).then_some(length)
    }

    /// The length from which on both finish within this part of each other, when they work
    /// equally fast.
    pub fn alike_from_us(&self, other: &Self, part: f64) -> f64 {
        ((other.start_us - self.start_us).abs() / part - self.start_us.min(other.start_us)).max(0.0)
    }
}

/// One length of work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    pub length_us: f64,
    pub samples: u64,
    pub start_us_mean: f64,
    pub work_us_mean: f64,
    pub completion_us_mean: f64,
    /// Standard error of that mean.
    pub completion_us_error: f64,
    pub completion_us_max: f64,
}

/// What one configuration gave for one nature of work, in ascending length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    pub nature: Nature,
    pub points: Vec<Point>,
}

/// Where two curves cross, and between which lengths it lies with 95 % confidence. None at an
/// end: beyond what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Crossing {
    pub length_us: f64,
    pub low_us: Option<f64>,
    pub high_us: Option<f64>,
}

/// The curves of all documents together; several runs are joined.
pub fn curves(documents: &[Document]) -> Vec<Curve> {
    let mut all: BTreeMap<(Nature, u32), BTreeMap<Part, artis_result::Distribution>> =
        BTreeMap::new();
    for series in documents.iter().flat_map(|document| &document.series) {
        let Some(unit) = UnitOfWork::of(series) else {
            continue;
        };
        let parts = all.entry((unit.nature, unit.length_us)).or_default();
        match parts.get_mut(&unit.part) {
            Some(sum) => sum.merge(&series.distribution),
            None => {
                parts.insert(unit.part, series.distribution.clone());
            }
        }
    }
    let mut curves: BTreeMap<Nature, Vec<Point>> = BTreeMap::new();
    for ((nature, length_us), parts) in all {
        let moments = |part: Part| {
            parts
                .get(&part)
                .and_then(artis_result::Distribution::moments)
        };
        let Some(whole) = moments(Part::Completion) else {
            continue;
        };
        let mean = |part| moments(part).map_or(f64::NAN, |it| it.mean / NS_PER_US);
        let stddev = whole.stddev.unwrap_or(0.0) / NS_PER_US;
        curves.entry(nature).or_default().push(Point {
            length_us: f64::from(length_us),
            samples: whole.count,
            start_us_mean: mean(Part::Start),
            work_us_mean: mean(Part::Work),
            completion_us_mean: whole.mean / NS_PER_US,
            completion_us_error: stddev / (whole.count as f64).sqrt(),
            completion_us_max: whole.max as f64 / NS_PER_US,
        });
    }
    let curves = curves.into_iter();
    curves
        .map(|(nature, points)| Curve { nature, points })
        .collect()
}

/// Where `one` begins to finish later than `other`, of the lengths that both have; none when one
/// of them is always first.
pub fn crossing(one: &Curve, other: &Curve) -> Option<Crossing> {
    let pairs: Vec<(&Point, &Point)> = one
        .points
        .iter()
        .filter_map(|point| {
            let same = |it: &&Point| it.length_us == point.length_us;
            Some((point, other.points.iter().find(same)?))
        })
        .collect();
    // One minus the other: below 0 as long as this one is first.
    let differences = |errors: f64| -> Vec<(f64, f64)> {
        pairs
            .iter()
            .map(|(one, other)| {
                let error = one.completion_us_error.hypot(other.completion_us_error);
                let difference = one.completion_us_mean - other.completion_us_mean;
                (one.length_us, difference + errors * error)
            })
            .collect()
    };
    let estimate = differences(0.0);
    let length_us = zero(&estimate)?;
    // With the upper edge of the difference the crossing comes early, with the lower one late.
    Some(Crossing {
        length_us,
        low_us: zero(&differences(ERRORS)).filter(|low| *low <= length_us),
        high_us: zero(&differences(-ERRORS)).filter(|high| *high >= length_us),
    })
}

/// The last place where the difference rises through 0, between points on a straight line:
/// completion is linear in length.
fn zero(points: &[(f64, f64)]) -> Option<f64> {
    let rises = points
        .windows(2)
        .rev()
        .find(|pair| pair[0].1 < 0.0 && pair[1].1 >= 0.0)?;
    let ((x0, y0), (x1, y1)) = (rises[0], rises[1]);
    Some(x0 + (x1 - x0) * y0 / (y0 - y1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper: 3 ms late at worst (section 2.1), and within 20 us on real-time Linux. An event
    /// comes at any time of such a delay, so its mean is half of that.
    const STOCK: Line = Line {
        start_us: 3000.0 / 2.0,
        slowdown: 1.0,
    };
    const REAL_TIME: Line = Line {
        start_us: 20.0 / 2.0,
        slowdown: 1.0,
    };

    /// The power of ten that is nearest on a logarithmic scale: what "about 10 ms" says.
    fn about_us(length_us: f64) -> f64 {
        10_f64.powf(length_us.log10().round())
    }

    #[test]
    fn the_papers_numbers_give_the_papers_crossings() {
        // Table 1: the same kernel build in 1332.6 s and in 1556.2 s.
        let build = Line {
            slowdown: 1556.2 / 1332.6,
            ..REAL_TIME
        };
        let crossing = build.break_even_us(&STOCK).unwrap();
        assert_eq!(about_us(crossing), 10_000.0, "{crossing}");
        // Its system time: 316.6 s and 657.0 s, the paper's estimate of heavy I/O.
        let io = Line {
            slowdown: 657.0 / 316.6,
            ..REAL_TIME
        };
        let crossing = io.break_even_us(&STOCK).unwrap();
        assert_eq!(about_us(crossing), 1000.0, "{crossing}");
        // Figure 5: equally fast, so no crossing; a few tens of milliseconds and they look alike.
        assert_eq!(REAL_TIME.break_even_us(&STOCK), None);
        let alike = REAL_TIME.alike_from_us(&STOCK, 0.05);
        assert!((20_000.0..50_000.0).contains(&alike), "{alike}");
        // And for short work, orders of magnitude.
        let ratio = STOCK.completion_us(1.0) / REAL_TIME.completion_us(1.0);
        assert!(ratio > 100.0, "{ratio}");
    }

    fn curve(line: Line, error: f64) -> Curve {
        let points = [1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0];
        Curve {
            nature: Nature::Io,
            points: points
                .map(|length_us| Point {
                    length_us,
                    samples: 100,
                    start_us_mean: line.start_us,
                    work_us_mean: line.slowdown * length_us,
                    completion_us_mean: line.completion_us(length_us),
                    completion_us_error: error,
                    completion_us_max: 0.0,
                })
                .to_vec(),
        }
    }

    #[test]
    fn curves_cross_where_lines_do_and_errors_widen_it() {
        let slow = Line {
            slowdown: 2.0,
            ..REAL_TIME
        };
        let exact = slow.break_even_us(&STOCK).unwrap();
        let found = crossing(&curve(slow, 10.0), &curve(STOCK, 10.0)).unwrap();
        assert!((found.length_us - exact).abs() < 1e-6, "{found:?}");
        let (low, high) = (found.low_us.unwrap(), found.high_us.unwrap());
        assert!((exact - low - 27.7).abs() < 0.1 && (high - exact - 27.7).abs() < 0.1);
        assert_eq!(crossing(&curve(STOCK, 1.0), &curve(slow, 1.0)), None);
        // So noisy that the real-time one is not certainly first anywhere.
        let noisy = crossing(&curve(slow, 2000.0), &curve(STOCK, 2000.0)).unwrap();
        assert_eq!(noisy.low_us, None);
    }
}
