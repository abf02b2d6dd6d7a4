// SPDX-License-Identifier: GPL-2.0-only
//! The worst latency of each stretch of time: whether late ones come at once, all the time, or
//! with a rhythm.

use super::axis::Axis;
use super::digits::digits;
use super::picture::{Entry, Picture};
use super::style::{MARK, Sheet, Words, first_word, frame, line, mark};
use super::words::plain;
use artis_result::names::LATENCY;
use artis_result::{Blocks, Document, Kind};

const NS_PER_US: f64 = 1000.0;
/// How many stretches of time have a point of their own.
const COLUMNS: usize = 100;
const COLUMNS_NARROW: usize = 50;
const LOWEST_US: f64 = 0.1;

/// A configuration and the block maxima of all its runs.
pub struct Timeline<'a> {
    pub index: usize,
    pub name: &'a str,
    pub blocks: Vec<&'a Blocks>,
}

/// The block maxima of latencies, where the measurement kept them.
pub fn blocks(documents: &[Document]) -> Vec<&Blocks> {
    let series = documents.iter().flat_map(|one| &one.series);
    let latencies = series.filter(|one| one.kind == Kind::Latency && one.name == LATENCY);
    latencies.filter_map(|one| one.blocks.as_ref()).collect()
}

/// The picture; none when no configuration kept its block maxima.
pub fn picture(all: &[Timeline], unit: &str, sheet: &Sheet) -> Option<Picture> {
    let every = || {
        all.iter()
            .flat_map(|one| &one.blocks)
            .flat_map(|it| &it.all)
    };
    let end_s = every().map(|one| one.max_at_s).fold(0.0, f64::max);
    every().next()?;
    let x = Axis::linear(end_s, sheet.across());
    let longest = all.iter().flat_map(|one| &one.blocks);
    let longest = longest.map(|one| one.seconds).fold(0.0, f64::max);
    let most = match sheet.is_narrow() {
        true => COLUMNS_NARROW,
        false => COLUMNS,
    };
    let columns = ((end_s / longest) as usize + 1).clamp(1, most);
    let width_s = (end_s / columns as f64).max(f64::MIN_POSITIVE);
    let maxima: Vec<Vec<Option<i64>>> = all
        .iter()
        .map(|one| maxima(one, width_s, columns))
        .collect();
    let drawn = || maxima.iter().flatten().flatten().map(|ns| us(*ns));
    let lowest = drawn().fold(f64::INFINITY, f64::min);
    let highest = drawn().fold(0.0, f64::max);
    let y = Axis::logarithmic((lowest / 1.3, highest * 1.3), sheet.up());
    let subtitle = format!(
        "the worst latency of each {} s; several runs over each other; times in {}",
        digits(width_s.max(longest)),
        plain(unit)
    );
    let words = Words {
        title: "Worst latency over time",
        subtitle: &subtitle,
        x: "seconds after the start",
        y: &format!("worst latency, {}", sheet.unit(unit)),
    };
    let mut svg = frame(sheet, &words, &x, &y, sheet.height);
    let unit = plain(first_word(unit));
    let edge = |column: usize| x.pixel(column as f64 * width_s);
    for column in 0..columns {
        if let Some(held) = held(all, &maxima, column, &unit) {
            let from = digits(column as f64 * width_s);
            let to = digits((column + 1) as f64 * width_s);
            let words = format!("{from} to {to} s: {held}");
            let across = (edge(column), edge(column + 1));
            svg.value(&words, |svg| svg.target(across, (sheet.top, sheet.bottom)));
        }
    }
    let mut legend = Vec::new();
    for (one, maxima) in all.iter().zip(&maxima) {
        let middle = |column: usize| f64::midpoint(edge(column), edge(column + 1));
        let held = maxima.iter().enumerate();
        let places: Vec<(f64, f64)> = held
            .filter_map(|(column, max)| Some((middle(column), y.pixel(us((*max)?)))))
            .collect();
        svg.path(&places, line(one.index));
        let all = one.blocks.iter().flat_map(|it| &it.all);
        if let Some(worst) = all.max_by_key(|block| block.max) {
            let words = format!(
                "{}: worst {} {unit}, {} s after the start",
                plain(one.name),
                digits(us(worst.max)),
                digits(worst.max_at_s)
            );
            let place = (x.pixel(worst.max_at_s), y.pixel(us(worst.max)));
            svg.value(&words, |svg| mark(svg, place, one.index, MARK));
            legend.push(Entry {
                index: one.index,
                words,
            });
        }
    }
    Some(Picture {
        svg: svg.finish(),
        title: words.title.to_owned(),
        caption: subtitle,
        legend,
    })
}

fn us(ns: i64) -> f64 {
    (ns as f64 / NS_PER_US).max(LOWEST_US)
}

/// The worst of a column in words; none where nothing was measured.
fn held(
    all: &[Timeline],
    maxima: &[Vec<Option<i64>>],
    column: usize,
    unit: &str,
) -> Option<String> {
    let held = all.iter().zip(maxima).filter_map(|(one, maxima)| {
        let worst = digits(us(maxima[column]?));
        Some(format!("{} {worst} {unit}", plain(one.name)))
    });
    let held: Vec<String> = held.collect();
    (!held.is_empty()).then(|| held.join(", "))
}

/// The largest value of each column; none where nothing was measured.
fn maxima(one: &Timeline, width_s: f64, columns: usize) -> Vec<Option<i64>> {
    let mut all = vec![None; columns];
    for block in one.blocks.iter().flat_map(|blocks| &blocks.all) {
        let at = ((block.max_at_s / width_s) as usize).min(columns - 1);
        all[at] = all[at].max(Some(block.max));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_result::Block;

    #[test]
    fn columns_hold_the_largest_of_their_blocks() {
        let block = |max_at_s, max| Block {
            count: 1,
            max,
            max_at_s,
        };
        let blocks = Blocks {
            seconds: 1.0,
            all: vec![block(0.5, 2000), block(1.5, 9000), block(9.9, 4000)],
        };
        let one = Timeline {
            index: 0,
            name: "a<b",
            blocks: vec![&blocks],
        };
        let found = maxima(&one, 2.0, 5);
        assert_eq!(found, [Some(9000), None, None, None, Some(4000)]);
        let picture = picture(&[one], "us", &Sheet::WIDE).unwrap();
        assert!(
            picture
                .svg
                .contains("a&lt;b: worst 9 us, 1.5 s after the start")
        );
        assert!(super::picture(&[], "us", &Sheet::WIDE).is_none());
    }
}
