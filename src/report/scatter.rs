// SPDX-License-Identifier: GPL-2.0-only
//! Worst latency against throughput kept: a point a configuration.
//!
//! The answer to "real time or real fast" at one glance: down is earlier, right is more work.

use super::axis::Axis;
use super::digits::{counted, digits};
use super::explain::short;
use super::picture::{Drawn, Entry, Picture};
use super::style::{FAINT, INK, MARK, Sheet, TEXT_PX, Words};
use super::style::{first_word, font, frame, mark};
use super::svg::{Anchor, Stroke, Svg, text_width};
use super::words::plain;
use artis_decide::compare::metric::{Quantity, Stat};
use artis_decide::compare::{Comparison, Metric, are_alike};

/// From here on a linear axis would hide the small ones.
const LOGARITHMIC_FROM: f64 = 5.0;
/// Room between a point and its words.
const OFF: f64 = 11.0;

/// Words further up or down than this are joined to their point by a line.
const FAR: f64 = 13.5;

const HINT: &str = "better: down and right ↘";

/// Longer names are cut in the picture.
const NAME_MAX: usize = 30;

struct Point {
    index: usize,
    name: String,
    samples: u64,
    kept: f64,
    max_us: f64,
}

/// The picture; none when no configuration has both figures.
pub fn picture(all: &Comparison, sheet: &Sheet) -> Drawn {
    let (points, absent) = points(all);
    if points.is_empty() {
        return Drawn {
            picture: None,
            absent,
        };
    }
    let worst =
        |pick: fn(f64, f64) -> f64, from| points.iter().map(|one| one.max_us).fold(from, pick);
    let (low, high) = (worst(f64::min, f64::INFINITY), worst(f64::max, 0.0));
    let kept = points.iter().map(|one| one.kept).fold(1.0, f64::max);
    let x = Axis::linear(kept * 1.05, sheet.across());
    let y = match high / low {
        LOGARITHMIC_FROM.. => Axis::logarithmic((low / 1.6, high * 1.4), sheet.up()),
        _ => Axis::linear(high * 1.1, sheet.up()),
    };
    let loads = all.common_loads();
    let relative = format!(
        "relative to {} (geometric mean of {})",
        plain(&all.base().configuration.name),
        match loads.as_slice() {
            [one] => (*one).to_owned(),
            several => format!("{} loads", several.len()),
        }
    );
    let subtitle = subtitle(all);
    let words = Words {
        title: "Worst latency against throughput kept",
        subtitle: &subtitle,
        x: &match sheet.worded {
            true => format!("throughput kept, {relative}"),
            false => "throughput kept".to_owned(),
        },
        y: &format!("worst latency, {}", sheet.unit(&all.unit)),
    };
    let mut svg = frame(sheet, &words, &x, &y, sheet.height);
    let places: Vec<(f64, f64)> = points
        .iter()
        .map(|one| (x.pixel(one.kept), y.pixel(one.max_us)))
        .collect();
    // A legend names them where there is no room.
    if !sheet.is_narrow() {
        draw_names(&mut svg, sheet, &points, &places, all_alike(all).is_some());
    }
    let unit = plain(first_word(&all.unit));
    let mut legend = Vec::new();
    for (point, place) in points.iter().zip(&places) {
        let figures = format!(
            "{}: worst {} {unit}, {:.1} % kept, {} samples",
            point.name,
            digits(point.max_us),
            point.kept * 100.0,
            counted(point.samples)
        );
        svg.value(&figures, |svg| mark(svg, *place, point.index, MARK));
        legend.push(Entry {
            index: point.index,
            words: figures,
        });
    }
    svg.text(
        (sheet.right, sheet.bottom - 10.0),
        HINT,
        font(Anchor::End, FAINT),
    );
    let caption = match sheet.worded {
        true => subtitle.clone(),
        false => format!("{subtitle}; throughput {relative}"),
    };
    Drawn {
        picture: Some(Picture {
            svg: svg.finish(),
            title: words.title.to_owned(),
            caption,
            legend,
        }),
        absent,
    }
}

/// Each point's name beside it, with its number of samples unless those are `equal`.
fn draw_names(svg: &mut Svg, sheet: &Sheet, points: &[Point], places: &[(f64, f64)], equal: bool) {
    let mut taken: Vec<Area> = places.iter().map(|place| Area::around(*place)).collect();
    taken.push(Area {
        left: sheet.right - text_width(HINT, TEXT_PX),
        right: sheet.right,
        top: sheet.bottom - 10.0 - TEXT_PX,
        bottom: sheet.bottom,
    });
    for (point, place) in points.iter().zip(places) {
        let name = short(&point.name, NAME_MAX);
        let label = match equal {
            true => name,
            false => format!("{name} ({} samples)", counted(point.samples)),
        };
        let (at, anchor, area) = label_place(sheet, *place, &label, &taken);
        taken.push(area);
        if (at.1 - TEXT_PX / 3.0 - place.1).abs() > FAR && at.0 != place.0 {
            let leader = Stroke {
                colour: FAINT,
                width: 0.8,
                dash: "",
            };
            svg.path(&[*place, (at.0, at.1 - TEXT_PX / 3.0)], leader);
        }
        svg.text(at, &label, font(anchor, INK));
    }
}

fn points(all: &Comparison) -> (Vec<Point>, Vec<String>) {
    let mut absent = Vec::new();
    let mut points = Vec::new();
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
        points.push(Point {
            index,
            name,
            samples: one.configuration.samples(),
            kept,
            max_us,
        });
    }
    (points, absent)
}

/// The least and the greatest number of samples, if extremes of so many are comparable.
fn all_alike(all: &Comparison) -> Option<(u64, u64)> {
    let worst = Metric::Of(Quantity::Latency, Stat::Max);
    let figures = all.configurations.iter().filter_map(|one| {
        let figure = &one.cells.get(&worst)?.figure;
        Some((figure, one.configuration.extent.as_ref()))
    });
    let first = figures.clone().next()?;
    let mut others = figures.clone();
    let samples = || figures.clone().filter_map(|(figure, _)| figure.samples);
    let both = (samples().min()?, samples().max()?);
    others.all(|other| are_alike(first, other)).then_some(both)
}

fn subtitle(all: &Comparison) -> String {
    let unit = plain(&all.unit);
    match all_alike(all) {
        Some((least, most)) if least == most => {
            format!(
                "the worst of {} samples each; times in {unit}",
                counted(least)
            )
        }
        Some((least, most)) => {
            format!(
                "the worst of {} to {} samples each; times in {unit}",
                counted(least),
                counted(most)
            )
        }
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

    fn inside(&self, sheet: &Sheet) -> bool {
        self.left >= sheet.left
            && self.right <= sheet.right
            && self.top >= sheet.top
            && self.bottom <= sheet.bottom
    }
}

/// Where a point's words stand so that they cover nothing: right of it, left, above, below, and
/// further off in these directions; right of it when nothing helps.
fn label_place(
    sheet: &Sheet,
    (x, y): (f64, f64),
    label: &str,
    taken: &[Area],
) -> ((f64, f64), Anchor, Area) {
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
        area.inside(sheet) && !taken.iter().any(|other| other.overlaps(area))
    };
    let found = tried.iter().find(free).copied();
    found.unwrap_or_else(|| place(OFF, level, Anchor::Start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::compared;
    use artis_decide::compare::{compare, figures};
    use artis_testing::experiment::{experiment, row};

    #[test]
    fn every_configuration_is_a_point_with_its_name() {
        let rows: [(&str, &[f64]); 3] =
            [("stock", &[900.0]), ("a<b", &[100.0]), ("artis", &[101.0])];
        let drawn = picture(&compared(&rows, false), &Sheet::FILE);
        let picture = drawn.picture.unwrap().svg;
        assert!(drawn.absent.is_empty());
        for part in [
            ">stock<",
            ">a&lt;b<",
            ">artis<",
            "us at 100 MIPS, emulated (bochs)",
        ] {
            assert!(picture.contains(part), "{part}");
        }
        assert!(picture.contains("the worst of 1,000 samples each"));
    }

    #[test]
    fn different_numbers_of_samples_are_said() {
        let rows: [(&str, &[f64]); 2] = [("stock", &[900.0, 2.0]), ("artis", &[100.0])];
        let found = picture(&compared(&rows, false), &Sheet::FILE)
            .picture
            .unwrap();
        assert!(found.svg.contains("stock (2,000 samples)"), "{}", found.svg);
        assert!(found.caption.contains("numbers of samples differ"));
    }

    #[test]
    fn a_handful_of_samples_more_is_no_difference() {
        let mut rows = vec![row("stock", &[900.0]), row("artis", &[100.0])];
        rows[0].figures.samples = 40_000;
        rows[1].figures.samples = 40_003;
        let experiment = experiment(rows);
        let configurations = figures::of_experiment(&experiment).unwrap();
        let all = compare(configurations, experiment.time_unit(), None, false).unwrap();
        let found = picture(&all, &Sheet::FILE).picture.unwrap();
        assert!(
            found
                .caption
                .starts_with("the worst of 40,000 to 40,003 samples each")
        );
        assert!(!found.svg.contains("differ") && found.svg.contains(">artis<"));
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
            let (_, _, area) = label_place(&Sheet::FILE, place, "stock-lazy", &taken);
            assert!(area.inside(&Sheet::FILE));
            assert!(!taken.iter().any(|other| other.overlaps(&area)));
            taken.push(area);
        }
    }
}
