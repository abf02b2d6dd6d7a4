// SPDX-License-Identifier: GPL-2.0-only
//! Worst latency against throughput kept: a point a configuration.
//!
//! The answer to "real time or real fast" at one glance: down is earlier, right is more work.

use super::axis::Axis;
use super::style::{ACROSS, BOTTOM, FAINT, HEIGHT, INK, LEFT, RIGHT, TEXT_PX, TOP, UP, Words};
use super::style::{font, frame, mark};
use super::svg::{Anchor, Stroke, text_width};
use super::words::plain;
use artis_decide::compare::metric::{Quantity, Stat};
use artis_decide::compare::{Comparison, Metric};

/// From here on a linear axis would hide the small ones.
const LOGARITHMIC_FROM: f64 = 5.0;
/// Room between a point and its words.
const OFF: f64 = 11.0;

/// Words further up or down than this are joined to their point by a line.
const FAR: f64 = 13.5;

const HINT: &str = "better: down and right ↘";

struct Point {
    index: usize,
    label: String,
    kept: f64,
    max_us: f64,
}

/// The picture; none when fewer than one configuration has both figures. Also the names of those
/// that have not.
pub fn picture(all: &Comparison) -> (Option<String>, Vec<String>) {
    let (points, absent) = points(all);
    if points.is_empty() {
        return (None, absent);
    }
    let worst =
        |pick: fn(f64, f64) -> f64, from| points.iter().map(|one| one.max_us).fold(from, pick);
    let (low, high) = (worst(f64::min, f64::INFINITY), worst(f64::max, 0.0));
    let kept = points.iter().map(|one| one.kept).fold(1.0, f64::max);
    let x = Axis::linear(kept * 1.05, ACROSS);
    let y = match high / low {
        LOGARITHMIC_FROM.. => Axis::logarithmic((low / 1.6, high * 1.4), UP),
        _ => Axis::linear(high * 1.1, UP),
    };
    let loads = all.common_loads();
    let words = Words {
        title: "Worst latency against throughput kept",
        subtitle: &subtitle(all),
        x: &format!(
            "throughput kept, relative to {} (geometric mean of {})",
            plain(&all.base().configuration.name),
            match loads.as_slice() {
                [one] => (*one).to_owned(),
                several => format!("{} loads", several.len()),
            }
        ),
        y: &format!("worst latency, {}", plain(&all.unit)),
    };
    let mut svg = frame(&words, &x, &y, HEIGHT);
    let places: Vec<(f64, f64)> = points
        .iter()
        .map(|one| (x.pixel(one.kept), y.pixel(one.max_us)))
        .collect();
    let mut taken: Vec<Area> = places.iter().map(|place| Area::around(*place)).collect();
    taken.push(Area {
        left: RIGHT - text_width(HINT, TEXT_PX),
        right: RIGHT,
        top: BOTTOM - 10.0 - TEXT_PX,
        bottom: BOTTOM,
    });
    for (point, place) in points.iter().zip(&places) {
        let (at, anchor, area) = label_place(*place, &point.label, &taken);
        taken.push(area);
        if (at.1 - TEXT_PX / 3.0 - place.1).abs() > FAR && at.0 != place.0 {
            let leader = Stroke {
                colour: FAINT,
                width: 0.8,
                dash: "",
            };
            svg.path(&[*place, (at.0, at.1 - TEXT_PX / 3.0)], leader);
        }
        svg.text(at, &point.label, font(anchor, INK));
    }
    for (point, place) in points.iter().zip(&places) {
        mark(&mut svg, *place, point.index);
    }
    svg.text((RIGHT, BOTTOM - 10.0), HINT, font(Anchor::End, FAINT));
    (Some(svg.finish()), absent)
}

fn points(all: &Comparison) -> (Vec<Point>, Vec<String>) {
    let mut absent = Vec::new();
    let mut points = Vec::new();
    let equal = equal_samples(all);
    for (index, one) in all.configurations.iter().enumerate() {
        let max = one.cells.get(&Metric::Of(Quantity::Latency, Stat::Max));
        let name = plain(&one.configuration.name);
        let both = max
            .map(|cell| cell.figure.value)
            .zip(all.throughput_kept(one))
            .filter(|(max_us, kept)| *max_us > 0.0 && kept.is_finite());
        let Some((max_us, kept)) = both else {
            absent.push(name);
            continue;
        };
        let label = match equal {
            Some(_) => name,
            None => format!("{name} ({} samples)", one.configuration.samples()),
        };
        points.push(Point {
            index,
            label,
            kept,
            max_us,
        });
    }
    (points, absent)
}

/// The number of samples that all have, if they have the same.
fn equal_samples(all: &Comparison) -> Option<u64> {
    let base = all.base().configuration.samples();
    let mut samples = all
        .configurations
        .iter()
        .map(|one| one.configuration.samples());
    samples.all(|one| one == base).then_some(base)
}

fn subtitle(all: &Comparison) -> String {
    let unit = plain(&all.unit);
    match equal_samples(all) {
        Some(samples) => format!("the worst of {samples} samples each; times in {unit}"),
        None => {
            format!("numbers of samples differ: the larger has the wider extremes; times in {unit}")
        }
    }
}

/// What a point or its words cover.
#[derive(Clone, Copy)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn around((x, y): (f64, f64)) -> Self {
        Self {
            left: x - 8.0,
            right: x + 8.0,
            top: y - 8.0,
            bottom: y + 8.0,
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn inside(&self) -> bool {
        self.left >= LEFT && self.right <= RIGHT && self.top >= TOP && self.bottom <= BOTTOM
    }
}

/// Where a point's words stand so that they cover nothing: right of it, left, above, below, and
/// further off in these directions; right of it when nothing helps.
fn label_place((x, y): (f64, f64), label: &str, taken: &[Area]) -> ((f64, f64), Anchor, Area) {
    let width = text_width(label, TEXT_PX);
    let place = |dx: f64, dy: f64, anchor: Anchor| {
        let (x, y) = (x + dx, y + dy);
        let left = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        let area = Area {
            left,
            right: left + width,
            top: y - TEXT_PX + 2.0,
            bottom: y + 3.0,
        };
        ((x, y), anchor, area)
    };
    let level = TEXT_PX / 3.0;
    let mut tried = Vec::new();
    for lift in [0.0, -14.0, 14.0, -28.0, 28.0] {
        tried.push(place(OFF, level + lift, Anchor::Start));
        tried.push(place(-OFF, level + lift, Anchor::End));
    }
    tried.insert(2, place(0.0, -OFF, Anchor::Middle));
    tried.insert(3, place(0.0, OFF + TEXT_PX - 3.0, Anchor::Middle));
    let free = |(_, _, area): &&((f64, f64), Anchor, Area)| {
        area.inside() && !taken.iter().any(|other| other.overlaps(area))
    };
    let found = tried.iter().find(free).copied();
    found.unwrap_or_else(|| place(OFF, level, Anchor::Start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::compared;

    #[test]
    fn every_configuration_is_a_point_with_its_name() {
        let rows: [(&str, &[f64]); 3] =
            [("stock", &[900.0]), ("a<b", &[100.0]), ("artis", &[101.0])];
        let (picture, absent) = picture(&compared(&rows, false));
        let picture = picture.unwrap();
        assert!(absent.is_empty());
        for part in [
            ">stock<",
            ">a&lt;b<",
            ">artis<",
            "us at 100 MIPS, emulated (bochs)",
        ] {
            assert!(picture.contains(part), "{part}");
        }
        assert!(picture.contains("the worst of 1000 samples each"));
    }

    #[test]
    fn different_numbers_of_samples_are_said() {
        let rows: [(&str, &[f64]); 2] = [("stock", &[900.0, 2.0]), ("artis", &[100.0])];
        let picture = picture(&compared(&rows, false)).0.unwrap();
        assert!(picture.contains("stock (2000 samples)"), "{picture}");
    }

    #[test]
    fn labels_cover_neither_points_nor_each_other() {
        let points = [
            (400.0, 200.0),
            (405.0, 205.0),
            (410.0, 200.0),
            (400.0, 212.0),
        ];
        let mut taken: Vec<Area> = points.iter().map(|place| Area::around(*place)).collect();
        for place in points {
            let (_, _, area) = label_place(place, "stock-lazy", &taken);
            assert!(area.inside());
            assert!(!taken.iter().any(|other| other.overlaps(&area)));
            taken.push(area);
        }
    }
}
