// SPDX-License-Identifier: GPL-2.0-only
//! Completion time against the length of the work: a curve a configuration, as in figures 5 to 7
//! of McKenney's paper, and the place where they cross the baseline's.

use super::axis::Axis;
use super::rounded;
use super::style::{ACROSS, BOTTOM, FAINT, HEIGHT, INK, LEFT, RIGHT, TEXT_PX, TOP, UP, Words};
use super::style::{font, frame, line, mark};
use super::svg::{Anchor, Stroke};
use super::words::plain;
use artis_decide::completion::{Crossing, Curve, crossing};
use artis_result::Nature;

/// Height of a line of the legend.
const LEGEND_LINE: f64 = 20.0;

/// A configuration and its curves.
pub struct Shown<'a> {
    pub name: &'a str,
    pub curves: &'a [Curve],
}

/// The pictures, each with the nature of its work; those without a curve are left out. Also the
/// names of the configurations that have none.
pub fn pictures(all: &[Shown], base: usize, unit: &str) -> (Vec<(Nature, String)>, Vec<String>) {
    let absent = all.iter().filter(|one| one.curves.is_empty());
    let absent = absent.map(|one| plain(one.name)).collect();
    let natures = Nature::ALL.into_iter();
    let pictures = natures.filter_map(|nature| Some((nature, picture(all, base, unit, nature)?)));
    (pictures.collect(), absent)
}

fn picture(all: &[Shown], base: usize, unit: &str, nature: Nature) -> Option<String> {
    let curve = |one: &Shown| one.curves.iter().find(|it| it.nature == nature).cloned();
    let curves: Vec<(usize, Curve)> = all
        .iter()
        .enumerate()
        .filter_map(|(index, one)| Some((index, curve(one)?)))
        .collect();
    let points = || curves.iter().flat_map(|(_, curve)| &curve.points);
    let ends = |value: fn(&artis_decide::completion::Point) -> f64| {
        let low = points().map(value).fold(f64::INFINITY, f64::min);
        (low / 1.4, points().map(value).fold(0.0, f64::max) * 1.4)
    };
    points().next()?;
    let x = Axis::logarithmic(ends(|point| point.length_us), ACROSS);
    let y = Axis::logarithmic(ends(|point| point.completion_us_mean), UP);
    let unit = plain(unit);
    let words = Words {
        title: "Completion time against length of work",
        subtitle: &format!("mean from event to end of work; {nature} work; times in {unit}"),
        x: &format!("length of work on an idle machine, {unit}"),
        y: &format!("completion time, {unit}"),
    };
    let legend = (curves.len() + 1).div_ceil(2) as f64 * LEGEND_LINE;
    let mut svg = frame(&words, &x, &y, HEIGHT + legend);
    let theirs = curves.iter().find(|(index, _)| *index == base);
    for (index, curve) in &curves {
        let place = |point: &artis_decide::completion::Point| {
            (x.pixel(point.length_us), y.pixel(point.completion_us_mean))
        };
        let places: Vec<(f64, f64)> = curve.points.iter().map(place).collect();
        svg.path(&places, line(*index));
        for place in places {
            mark(&mut svg, place, *index);
        }
    }
    for (at, (index, curve)) in curves.iter().enumerate() {
        let column = f64::midpoint(LEFT, RIGHT) - LEFT;
        let left = LEFT + (at % 2) as f64 * column;
        let y = BOTTOM + 66.0 + (at / 2) as f64 * LEGEND_LINE;
        svg.path(&[(left, y), (left + 32.0, y)], line(*index));
        mark(&mut svg, (left + 16.0, y), *index);
        let name = plain(all[*index].name);
        let crosses = theirs
            .filter(|(base, _)| base != index)
            .and_then(|(_, theirs)| crossing(curve, theirs));
        let words = match crosses {
            Some(at) => format!("{name}, later from {}", in_words(&at)),
            None => name,
        };
        svg.text(
            (left + 40.0, y + TEXT_PX / 3.0),
            &words,
            font(Anchor::Start, INK),
        );
        if let Some(at) = crosses {
            let dashed = Stroke {
                colour: FAINT,
                width: 1.0,
                dash: "2 4",
            };
            let at = x.pixel(at.length_us);
            svg.path(&[(at, TOP), (at, BOTTOM)], dashed);
        }
    }
    Some(svg.finish())
}

/// A crossing with its interval: `8300 us (7900 to 8800)`.
pub fn in_words(crossing: &Crossing) -> String {
    let number = |us: f64| match us {
        100.0.. => format!("{us:.0}"),
        _ => rounded(us, 1),
    };
    let edge = |us: Option<f64>| us.map_or("?".to_owned(), number);
    match (crossing.low_us, crossing.high_us) {
        (None, None) => format!("{} us", number(crossing.length_us)),
        (low, high) => format!(
            "{} us ({} to {})",
            number(crossing.length_us),
            edge(low),
            edge(high)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_decide::completion::Point;

    fn curve(start_us: f64, slowdown: f64) -> Vec<Curve> {
        let points = [1.0, 100.0, 10_000.0].map(|length_us| Point {
            length_us,
            samples: 100,
            start_us_mean: start_us,
            work_us_mean: slowdown * length_us,
            completion_us_mean: start_us + slowdown * length_us,
            completion_us_error: 1.0,
            completion_us_max: 0.0,
        });
        vec![Curve {
            nature: Nature::User,
            points: points.to_vec(),
        }]
    }

    #[test]
    fn every_configuration_has_a_curve_and_crossings_are_marked() {
        let (stock, rt) = (curve(1500.0, 1.0), curve(10.0, 2.0));
        let all = [
            Shown {
                name: "stock",
                curves: &stock,
            },
            Shown {
                name: "r<t",
                curves: &rt,
            },
            Shown {
                name: "none",
                curves: &[],
            },
        ];
        let (pictures, absent) = pictures(&all, 0, "us");
        assert_eq!(absent, ["none"]);
        let [(Nature::User, picture)] = &pictures[..] else {
            panic!("{}", pictures.len());
        };
        assert!(picture.contains(">stock<"), "{picture}");
        assert!(
            picture.contains("r&lt;t, later from 1490 us (148"),
            "{picture}"
        );
        // Marks differ in shape, not only in colour.
        assert!(picture.contains("<circle") && picture.contains("<polygon"));
    }
}
