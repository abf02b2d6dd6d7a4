// SPDX-License-Identifier: GPL-2.0-only
//! The latency histograms of all configurations over each other.
//!
//! Both axes are logarithmic: one late sample of a million is as visible as the crowd, and so is
//! where the crowd is. All have the same bins, so heights compare.

use super::axis::Axis;
use super::digits::{counted, digits};
use super::picture::{Drawn, Entry, Picture};
use super::style::{INK, Sheet, TEXT_PX, Words};
use super::style::{first_word, font, frame, line, mark, sample};
use super::svg::{Anchor, Svg, text_width};
use super::words::plain;
use artis_decide::compare::metric::{Quantity, Stat};
use artis_decide::compare::{Comparison, Metric};
use artis_result::Distribution;

/// The most bins, but for the fewest in a decade.
const BINS_MAX: f64 = 45.0;
const BINS_PER_DECADE: [f64; 4] = [10.0, 20.0, 25.0, 50.0];
/// Shorter latencies count as this; no timer is so exact.
const LOWEST_NS: f64 = 100.0;
/// Below one sample, so that one sample is seen.
const FLOOR: f64 = 0.6;
const NS_PER_US: f64 = 1000.0;

/// A configuration's histogram.
pub(super) struct Shown<'a> {
    /// Of the configuration.
    pub index: usize,
    pub name: String,
    pub values: &'a Distribution,
    /// Exact, which the histogram's last bucket is not.
    pub max_us: f64,
    pub words: String,
}

/// Those that have a histogram of latencies, and the names of those that have none.
pub(super) fn shown(all: &Comparison) -> (Vec<Shown<'_>>, Vec<String>) {
    let mut absent = Vec::new();
    // The legend is narrow; axis and subtitle have the unit's whole name.
    let unit = plain(first_word(&all.unit));
    let mut shown: Vec<Shown> = Vec::new();
    for (index, one) in all.configurations.iter().enumerate() {
        let max = one.cells.get(&Metric::Of(Quantity::Latency, Stat::Max));
        let name = plain(&one.configuration.name);
        match (&one.configuration.latencies, max) {
            (Some(values), Some(max)) => shown.push(Shown {
                index,
                values,
                max_us: max.figure.value,
                words: format!(
                    "{name}: {} samples, worst {} {unit}",
                    counted(values.count()),
                    digits(max.figure.value)
                ),
                name,
            }),
            _ => absent.push(name),
        }
    }
    (shown, absent)
}

/// The picture; none when no configuration has a histogram.
pub fn picture(all: &Comparison, sheet: &Sheet) -> Drawn {
    let (shown, absent) = shown(all);
    let Some(edges) = edges(&shown) else {
        return Drawn {
            picture: None,
            absent,
        };
    };
    let counted: Vec<Vec<u64>> = shown.iter().map(|one| count(one, &edges)).collect();
    let in_us = |ns: f64| ns / NS_PER_US;
    let (first, last) = (edges[0], edges[edges.len() - 1]);
    let x = Axis::logarithmic((in_us(first) / 1.05, in_us(last) * 1.05), sheet.across());
    let highest = counted.iter().flatten().copied().max().unwrap_or(1);
    let y = Axis::logarithmic((FLOOR, highest as f64 * 1.5), sheet.up());
    let legend = Legend::new(&shown, sheet);
    let subtitle = format!(
        "times in {}; the marks on top are the worst of each configuration",
        plain(&all.unit)
    );
    let words = Words {
        title: "Latency histograms",
        subtitle: &subtitle,
        x: &format!("latency, {}", sheet.unit(&all.unit)),
        y: "samples per bin",
    };
    let room = if sheet.worded { legend.height() } else { 0.0 };
    let mut svg = frame(sheet, &words, &x, &y, sheet.height + room);
    let unit = plain(first_word(&all.unit));
    for (bin, pair) in edges.windows(2).enumerate() {
        let held = shown
            .iter()
            .zip(&counted)
            .filter(|(_, counts)| counts[bin] > 0);
        let held: Vec<String> = held
            .map(|(one, counts)| format!("{} {}", one.name, counts[bin]))
            .collect();
        if !held.is_empty() {
            let (from, to) = (in_us(pair[0]), in_us(pair[1]));
            let words = format!(
                "{} to {} {unit}: {}",
                digits(from),
                digits(to),
                held.join(", ")
            );
            let across = (x.pixel(from), x.pixel(to));
            svg.value(&words, |svg| svg.target(across, (sheet.top, sheet.bottom)));
        }
    }
    for (one, counts) in shown.iter().zip(&counted) {
        for steps in steps(counts, &edges, &x, &y, sheet.bottom) {
            svg.path(&steps, line(one.index));
        }
    }
    for one in &shown {
        let words = format!("{}: worst {} {unit}", one.name, digits(one.max_us));
        let place = (x.pixel(one.max_us), sheet.top + 2.0);
        svg.value(&words, |svg| mark(svg, place, one.index, 5.0));
    }
    if sheet.worded {
        legend.draw(&mut svg, &shown, sheet);
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

/// The legend of a page.
pub(super) fn entries(shown: &[Shown]) -> Vec<Entry> {
    let entries = shown.iter().map(|one| Entry {
        index: one.index,
        words: one.words.clone(),
    });
    entries.collect()
}

/// The edges of the bins, in nanoseconds: equal ratios, but no bin narrower than the values'
/// resolution, which would leave it empty without meaning anything.
fn edges(shown: &[Shown]) -> Option<Vec<f64>> {
    let mut lowest = f64::INFINITY;
    let mut highest: f64 = 0.0;
    let mut resolution: f64 = 0.0;
    for one in shown {
        let moments = one.values.moments()?;
        lowest = lowest.min(moments.min as f64);
        highest = highest.max(one.max_us * NS_PER_US);
        let buckets: Vec<i64> = one.values.buckets().map(|(value, _)| value).collect();
        let gaps = buckets.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
        let finest = gaps.fold(f64::INFINITY, f64::min);
        if finest.is_finite() {
            resolution = resolution.max(finest);
        }
    }
    if !lowest.is_finite() {
        return None;
    }
    let lowest = lowest.max(LOWEST_NS);
    let decades = (highest / lowest).log10();
    let per_decade = BINS_PER_DECADE
        .into_iter()
        .rfind(|per_decade| decades * per_decade <= BINS_MAX)
        .unwrap_or(BINS_PER_DECADE[0]);
    let ratio = 10_f64.powf(1.0 / per_decade);
    let mut edges = vec![10_f64.powf((lowest.log10() * per_decade).floor() / per_decade)];
    let mut edge = edges[0];
    while edge <= highest || edges.len() < 2 {
        edge = (edge * ratio).max(edge + resolution);
        edges.push(edge);
    }
    Some(edges)
}

/// How many values each bin holds.
fn count(shown: &Shown, edges: &[f64]) -> Vec<u64> {
    let mut counts = vec![0; edges.len() - 1];
    let last = counts.len() - 1;
    for (value, times) in shown.values.buckets() {
        // A bucket's highest value may lie beyond the worst that was measured.
        let value = (value as f64).min(shown.max_us * NS_PER_US);
        let at = edges.partition_point(|edge| *edge <= value);
        counts[at.saturating_sub(1).min(last)] += times;
    }
    counts
}

/// The outline of each group of bins that are not empty, down to the axis at both ends.
fn steps(counts: &[u64], edges: &[f64], x: &Axis, y: &Axis, bottom: f64) -> Vec<Vec<(f64, f64)>> {
    let at = |edge: f64| x.pixel(edge / NS_PER_US);
    let mut groups: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut before = 0;
    for (bin, count) in counts.iter().enumerate() {
        let (left, right) = (at(edges[bin]), at(edges[bin + 1]));
        if *count > 0 {
            if before == 0 {
                groups.push(vec![(left, bottom)]);
            }
            if let Some(group) = groups.last_mut() {
                let height = y.pixel(*count as f64);
                group.push((left, height));
                group.push((right, height));
            }
        }
        if let Some(group) = groups.last_mut()
            && before > 0
            && *count == 0
        {
            group.push((left, bottom));
        }
        before = *count;
    }
    if let Some(group) = groups.last_mut()
        && before > 0
    {
        let end = group[group.len() - 1].0;
        group.push((end, bottom));
    }
    groups
}

/// Names with their lines, numbers of samples and worst values, below the axes: in two columns
/// where they fit.
struct Legend {
    columns: usize,
    rows: usize,
}

impl Legend {
    const ROW: f64 = 19.0;
    const SAMPLE: f64 = 30.0;
    const GAP: f64 = 8.0;

    fn new(shown: &[Shown], sheet: &Sheet) -> Self {
        let widths = shown.iter().map(|one| text_width(&one.words, TEXT_PX));
        let widest = widths.fold(0.0, f64::max) + Self::SAMPLE + 2.0 * Self::GAP;
        let columns = if 2.0 * widest <= sheet.right - sheet.left {
            2
        } else {
            1
        };
        Self {
            columns,
            rows: shown.len().div_ceil(columns),
        }
    }

    fn height(&self) -> f64 {
        self.rows as f64 * Self::ROW + Self::GAP
    }

    fn draw(&self, svg: &mut Svg, shown: &[Shown], sheet: &Sheet) {
        let width = (sheet.right - sheet.left) / self.columns as f64;
        for (at, one) in shown.iter().enumerate() {
            let left = sheet.left + (at / self.rows) as f64 * width;
            let row = sheet.height + Self::GAP + Self::ROW * (at % self.rows) as f64;
            sample(svg, (left, row - 4.5), Self::SAMPLE, one.index);
            svg.text(
                (left + Self::SAMPLE + Self::GAP, row),
                &one.words,
                font(Anchor::Start, INK),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(values: &[i64]) -> Distribution {
        let mut all = Distribution::signed();
        for value in values {
            all.record(*value);
        }
        all
    }

    fn shown(values: &Distribution) -> Shown<'_> {
        Shown {
            index: 0,
            name: String::new(),
            values,
            max_us: values.moments().unwrap().max as f64 / NS_PER_US,
            words: String::new(),
        }
    }

    #[test]
    fn every_sample_is_in_a_bin() {
        for some in [
            values(&[-5, 0, 20_000, 1_000_000]),
            values(&[7]),
            values(&[0, 0]),
            values(&[i64::MAX / 2, 5]),
        ] {
            let edges = edges(&[shown(&some)]).unwrap();
            let counts = count(&shown(&some), &edges);
            assert_eq!(counts.iter().sum::<u64>(), some.count());
        }
    }

    #[test]
    fn bins_are_not_finer_than_the_values() {
        let microseconds: Vec<i64> = (3..40).map(|us| us * 1000).collect();
        let some = values(&microseconds);
        let edges = edges(&[shown(&some)]).unwrap();
        let counts = count(&shown(&some), &edges);
        let last = counts.iter().rposition(|count| *count > 0).unwrap();
        let first = counts.iter().position(|count| *count > 0).unwrap();
        assert!(
            counts[first..=last].iter().all(|count| *count > 0),
            "{counts:?}"
        );
    }

    #[test]
    fn groups_end_on_the_axis() {
        let bottom = Sheet::FILE.bottom;
        let x = Axis::logarithmic((1.0, 10.0), Sheet::FILE.across());
        let y = Axis::logarithmic((FLOOR, 10.0), Sheet::FILE.up());
        let edges = [1000.0, 2000.0, 4000.0, 8000.0];
        let groups = steps(&[3, 0, 1], &edges, &x, &y, bottom);
        assert_eq!(groups.len(), 2);
        for group in groups {
            assert_eq!(group.len(), 4);
            assert_eq!((group[0].1, group[3].1), (bottom, bottom));
        }
    }
}
