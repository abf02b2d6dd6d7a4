// SPDX-License-Identifier: GPL-2.0-only
//! Completion time against the length of the work: a curve a configuration, as in figures 5 to 7
//! of McKenney's paper, and the place where they cross the baseline's.

use super::axis::Axis;
use super::digits::digits;
use super::picture::{Entry, Picture};
use super::rounded;
use super::style::{FAINT, INK, MARK, Sheet, TEXT_PX, Words};
use super::style::{font, frame, line, mark, sample};
use super::svg::{Anchor, Stroke, Svg};
use super::words::plain;
use artis_decide::completion::{Crossing, Curve, Point, crossing};
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
pub fn pictures(
    all: &[Shown],
    base: usize,
    unit: &str,
    sheet: &Sheet,
) -> (Vec<(Nature, Picture)>, Vec<String>) {
    let absent = all.iter().filter(|one| one.curves.is_empty());
    let absent = absent.map(|one| plain(one.name)).collect();
    let natures = Nature::ALL.into_iter();
    let pictures =
        natures.filter_map(|nature| Some((nature, picture(all, base, unit, nature, sheet)?)));
    (pictures.collect(), absent)
}

fn picture(
    all: &[Shown],
    base: usize,
    unit: &str,
    nature: Nature,
    sheet: &Sheet,
) -> Option<Picture> {
    let curve = |one: &Shown| one.curves.iter().find(|it| it.nature == nature).cloned();
    let curves: Vec<(usize, Curve)> = all
        .iter()
        .enumerate()
        .filter_map(|(index, one)| Some((index, curve(one)?)))
        .collect();
    let points = || curves.iter().flat_map(|(_, curve)| &curve.points);
    let ends = |value: fn(&Point) -> f64| {
        let low = points().map(value).fold(f64::INFINITY, f64::min);
        (low / 1.4, points().map(value).fold(0.0, f64::max) * 1.4)
    };
    points().next()?;
    let x = Axis::logarithmic(ends(|point| point.length_us), sheet.across());
    let y = Axis::logarithmic(ends(|point| point.completion_us_mean), sheet.up());
    let in_unit = sheet.unit(unit);
    let subtitle = format!(
        "mean from event to end of work; {nature} work; times in {}",
        plain(unit)
    );
    let words = Words {
        title: "Completion time against length of work",
        subtitle: &subtitle,
        x: &match sheet.is_narrow() {
            true => format!("length of work, {in_unit}"),
            false => format!("length of work on an idle machine, {in_unit}"),
        },
        y: &format!("completion time, {in_unit}"),
    };
    let legend = legend(all, &curves, base);
    let rows = match sheet.worded {
        true => (curves.len() + 1).div_ceil(2) as f64 * LEGEND_LINE,
        false => 0.0,
    };
    let mut svg = frame(sheet, &words, &x, &y, sheet.height + rows);
    for (_, crossing) in crossings(&curves, base) {
        let dashed = Stroke {
            colour: FAINT,
            width: 1.0,
            dash: "2 4",
        };
        let at = x.pixel(crossing.length_us);
        svg.path(&[(at, sheet.top), (at, sheet.bottom)], dashed);
    }
    for (index, curve) in &curves {
        draw(&mut svg, (&x, &y), all[*index].name, *index, curve);
    }
    if sheet.worded {
        draw_legend(&mut svg, sheet, &legend);
    }
    Some(Picture {
        svg: svg.finish(),
        title: format!("Completion time of {nature} work"),
        caption: subtitle,
        legend,
    })
}

/// A curve and its points.
fn draw(svg: &mut Svg, (x, y): (&Axis, &Axis), name: &str, index: usize, curve: &Curve) {
    let place = |point: &Point| (x.pixel(point.length_us), y.pixel(point.completion_us_mean));
    let places: Vec<(f64, f64)> = curve.points.iter().map(place).collect();
    svg.path(&places, line(index));
    for point in &curve.points {
        let words = format!(
            "{}: {} us of work done {} us after the event; the worst of {}: {} us",
            plain(name),
            digits(point.length_us),
            digits(point.completion_us_mean),
            point.samples,
            digits(point.completion_us_max)
        );
        svg.value(&words, |svg| mark(svg, place(point), index, MARK));
    }
}

/// In two columns, below the picture.
fn draw_legend(svg: &mut Svg, sheet: &Sheet, legend: &[Entry]) {
    let column = f64::midpoint(sheet.left, sheet.right) - sheet.left;
    for (at, entry) in legend.iter().enumerate() {
        let left = sheet.left + (at % 2) as f64 * column;
        let y = sheet.bottom + 66.0 + (at / 2) as f64 * LEGEND_LINE;
        sample(svg, (left, y), 32.0, entry.index);
        let place = (left + 40.0, y + TEXT_PX / 3.0);
        svg.text(place, &entry.words, font(Anchor::Start, INK));
    }
}

/// Where each curve crosses the baseline's.
fn crossings(curves: &[(usize, Curve)], base: usize) -> Vec<(usize, Crossing)> {
    let Some((_, theirs)) = curves.iter().find(|(index, _)| *index == base) else {
        return Vec::new();
    };
    let others = curves.iter().filter(|(index, _)| *index != base);
    others
        .filter_map(|(index, curve)| Some((*index, crossing(curve, theirs)?)))
        .collect()
}

fn legend(all: &[Shown], curves: &[(usize, Curve)], base: usize) -> Vec<Entry> {
    let crossings = crossings(curves, base);
    let entry = |(index, _): &(usize, Curve)| {
        let name = plain(all[*index].name);
        let crosses = crossings.iter().find(|(other, _)| other == index);
        let words = match crosses {
            Some((_, at)) => format!("{name}, later from {}", in_words(at)),
            None => name,
        };
        Entry {
            index: *index,
            words,
        }
    };
    curves.iter().map(entry).collect()
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
        let (pictures, absent) = pictures(&all, 0, "us", &Sheet::FILE);
        assert_eq!(absent, ["none"]);
        let [(Nature::User, picture)] = &pictures[..] else {
            panic!("{}", pictures.len());
        };
        let picture = &picture.svg;
        assert!(picture.contains(">stock<"), "{picture}");
        assert!(
            picture.contains("r&lt;t, later from 1490 us (148"),
            "{picture}"
        );
        // Marks differ in shape, not only in colour.
        assert!(picture.contains("<circle") && picture.contains("<polygon"));
    }
}
