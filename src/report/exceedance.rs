// SPDX-License-Identifier: GPL-2.0-only
//! Which part of all latencies is at least so long: 1 - CDF, both axes logarithmic.
//!
//! What a histogram hides is here at one glance: where the rare ones begin, and how the tails of
//! two configurations compare at the same probability.

use super::axis::Axis;
use super::digits::digits;
use super::histograms::{Shown, entries, shown};
use super::picture::{Drawn, Picture};
use super::style::{SMALL_MARK, Sheet, Words, first_word, frame, line, mark};
use super::words::plain;
use artis_decide::compare::Comparison;
use artis_result::PERCENTILES;

const NS_PER_US: f64 = 1000.0;
/// Shorter latencies are drawn as this; no timer is so exact.
const LOWEST_US: f64 = 0.1;
/// Points of a curve that are closer are one, pixels.
const CLOSE: f64 = 1.0;

/// The picture; none when no configuration has a histogram.
pub fn picture(all: &Comparison, sheet: &Sheet) -> Drawn {
    let (shown, absent) = shown(all);
    let curves: Vec<(&Shown, Vec<(f64, f64)>)> =
        shown.iter().map(|one| (one, curve(one))).collect();
    let points = || curves.iter().flat_map(|(_, curve)| curve);
    if points().next().is_none() {
        return Drawn {
            picture: None,
            absent,
        };
    }
    let lowest = points().map(|(us, _)| *us).fold(f64::INFINITY, f64::min);
    let highest = points().map(|(us, _)| *us).fold(0.0, f64::max);
    let rarest = points().map(|(_, part)| *part).fold(1.0, f64::min);
    let x = Axis::logarithmic((lowest / 1.05, highest * 1.1), sheet.across());
    let y = Axis::logarithmic((rarest / 1.6, 1.0), sheet.up());
    let subtitle = format!(
        "the part of all latencies that are at least so long; the lower the curve, the earlier; \
         times in {}",
        plain(&all.unit)
    );
    let words = Words {
        title: "Exceedance",
        subtitle: &subtitle,
        x: &format!("latency, {}", sheet.unit(&all.unit)),
        y: "part at least so late",
    };
    let mut svg = frame(sheet, &words, &x, &y, sheet.height);
    let unit = plain(first_word(&all.unit));
    for (one, curve) in &curves {
        let places = curve
            .iter()
            .map(|(us, part)| (x.pixel(*us), y.pixel(*part)));
        svg.path(&steps(places), line(one.index));
    }
    for (one, curve) in &curves {
        for (key, percent) in PERCENTILES {
            let Some(ns) = one.values.supported_percentile(percent) else {
                continue;
            };
            let us = ns as f64 / NS_PER_US;
            let words = format!(
                "{}: {key} % are at most {} {unit} late",
                one.name,
                digits(us)
            );
            let place = (x.pixel(us), y.pixel(1.0 - percent / 100.0));
            svg.value(&words, |svg| mark(svg, place, one.index, SMALL_MARK));
        }
        if let Some((us, part)) = curve.last() {
            let words = format!(
                "{}: the worst of {} is {} {unit} late",
                one.name,
                one.values.count(),
                digits(one.max_us)
            );
            let place = (x.pixel(*us), y.pixel(*part));
            svg.value(&words, |svg| mark(svg, place, one.index, SMALL_MARK));
        }
    }
    Drawn {
        picture: Some(Picture {
            svg: svg.finish(),
            title: words.title.to_owned(),
            caption: subtitle,
            legend: entries(&shown),
        }),
        absent,
    }
}

/// Each value, microseconds, with the part of all that are at least so large; ascending.
fn curve(one: &Shown) -> Vec<(f64, f64)> {
    let whole = one.values.count() as f64;
    let mut before = 0;
    let mut points = Vec::new();
    for (value, times) in one.values.buckets() {
        let us = (value as f64 / NS_PER_US).min(one.max_us).max(LOWEST_US);
        points.push((us, (one.values.count() - before) as f64 / whole));
        before += times;
    }
    if let Some(last) = points.last_mut() {
        last.0 = one.max_us.max(LOWEST_US);
    }
    points
}

/// The outline: down at a value, right to the next. Points that are too close are left out.
fn steps(places: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = Vec::new();
    for (x, y) in places {
        if let Some((last_x, last_y)) = all.last().copied() {
            if (x - last_x).abs() < CLOSE && (y - last_y).abs() < CLOSE {
                continue;
            }
            // Beyond the value before it the part is what it is from this one on.
            all.push((last_x, y));
        }
        all.push((x, y));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::values;

    #[test]
    fn the_curve_falls_from_all_to_one_of_all() {
        let some = values(&[1000, 2000, 2000, 9000]);
        let one = Shown {
            index: 0,
            name: String::new(),
            values: &some,
            max_us: 9.0,
            words: String::new(),
        };
        assert_eq!(curve(&one), [(1.0, 1.0), (2.0, 0.75), (9.0, 0.25)]);
    }

    #[test]
    fn steps_go_down_first() {
        let places = [(0.0, 0.0), (0.5, 0.5), (10.0, 5.0)];
        assert_eq!(
            steps(places.into_iter()),
            [(0.0, 0.0), (0.0, 5.0), (10.0, 5.0)]
        );
    }
}
