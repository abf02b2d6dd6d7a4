// SPDX-License-Identifier: GPL-2.0-only
//! OS jitter: how much of its time each CPU lost to others, a row a CPU and configuration.

use super::axis::Axis;
use super::digits::digits;
use super::picture::{Entry, Picture};
use super::style::{FAINT, INK, MARK, Sheet, font, line, mark, x_axis};
use super::svg::{Anchor, Stroke};
use super::words::plain;
use artis_result::names::{LOST, NOISE, ROUND};
use artis_result::{Document, Kind, Series, Unit};

const NS_PER_US: f64 = 1000.0;
const ROW: f64 = 22.0;
/// Rows at most: the CPUs that lost most.
const ROWS_MAX: usize = 64;
const LOWEST_US: f64 = 0.01;

/// A configuration and its files.
pub struct Measured<'a> {
    pub index: usize,
    pub name: &'a str,
    pub documents: &'a [Document],
}

struct Row {
    index: usize,
    name: String,
    cpu: u32,
    mean_us: f64,
    p99_us: Option<f64>,
    max_us: f64,
}

/// The picture; none when no file has time lost by CPU.
pub fn picture(all: &[Measured], unit: &str, sheet: &Sheet) -> Option<Picture> {
    let mut rows = rows(all);
    let count = rows.len();
    rows.sort_by(|one, other| other.max_us.total_cmp(&one.max_us));
    rows.truncate(ROWS_MAX);
    rows.sort_by_key(|row| (row.cpu, row.index));
    let highest = rows.iter().map(|row| row.max_us).fold(0.0, f64::max);
    let means = rows.iter().map(|row| row.mean_us.max(LOWEST_US));
    let lowest = means.fold(f64::INFINITY, f64::min);
    rows.first()?;
    let x = Axis::logarithmic((lowest / 1.5, highest.max(lowest) * 1.5), sheet.across());
    let bottom = sheet.top + ROW * rows.len() as f64;
    let title = "OS jitter by CPU";
    let cut = match count > rows.len() {
        true => format!("; the {ROWS_MAX} of {count} that lost most"),
        false => String::new(),
    };
    let caption = format!(
        "time that a fixed piece of work lost: | mean, ¦ 99 %, and each configuration's mark at \
         the worst; times in {}{cut}",
        plain(unit)
    );
    let mut svg = sheet.svg(bottom + 56.0, title, &caption);
    let words = format!("lost of a piece of work, {}", sheet.unit(unit));
    x_axis(&mut svg, sheet, &x, &words, bottom);
    for (at, row) in rows.iter().enumerate() {
        let middle = sheet.top + ROW * (at as f64 + 0.5);
        let is_first = at == 0 || rows[at - 1].cpu != row.cpu;
        if is_first {
            let place = (sheet.left - 8.0, middle + 4.5);
            svg.text(place, &format!("CPU {}", row.cpu), font(Anchor::End, INK));
        }
        let percentile = match row.p99_us {
            Some(us) => format!(", 99 % {} us", digits(us)),
            None => String::new(),
        };
        let words = format!(
            "CPU {}, {}: mean {} us{percentile}, worst {} us",
            row.cpu,
            row.name,
            digits(row.mean_us),
            digits(row.max_us)
        );
        svg.value(&words, |svg| {
            svg.target(sheet.across(), (middle - ROW / 2.0, middle + ROW / 2.0));
            let (mean, max) = (x.pixel(row.mean_us), x.pixel(row.max_us));
            svg.path(&[(mean, middle), (max, middle)], line(row.index));
            for (us, dash) in [(Some(row.mean_us), ""), (row.p99_us, "2 2")] {
                let tick = Stroke {
                    colour: FAINT,
                    width: 2.0,
                    dash,
                };
                if let Some(us) = us {
                    let at = x.pixel(us);
                    svg.path(&[(at, middle - 6.0), (at, middle + 6.0)], tick);
                }
            }
            mark(svg, (max, middle), row.index, MARK);
        });
    }
    Some(Picture {
        svg: svg.finish(),
        title: title.to_owned(),
        caption,
        legend: all.iter().filter_map(|one| entry(one, &rows)).collect(),
    })
}

fn entry(one: &Measured, rows: &[Row]) -> Option<Entry> {
    let of_it = rows.iter().filter(|row| row.index == one.index);
    let worst = of_it.max_by(|one, other| one.max_us.total_cmp(&other.max_us))?;
    let lost = lost(one.documents).map_or_else(String::new, |part| {
        format!("{} % of the rounds' time lost, ", digits(100.0 * part))
    });
    Some(Entry {
        index: one.index,
        words: format!(
            "{}: {lost}worst {} us on CPU {}",
            worst.name,
            digits(worst.max_us),
            worst.cpu
        ),
    })
}

/// The part of all rounds' time that was lost to others; none without rounds.
fn lost(documents: &[Document]) -> Option<f64> {
    let sum = |name: &str| {
        let all = documents
            .iter()
            .filter_map(|one| one.merged(name)?.moments());
        all.map(|one| one.mean * one.count as f64).sum::<f64>()
    };
    Some(sum(LOST) / sum(ROUND)).filter(|part| part.is_finite())
}

fn rows(all: &[Measured]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for one in all {
        let series = || one.documents.iter().flat_map(|it| &it.series);
        // What other measurements lost is shown only where jitter was not measured.
        let measured = series().any(|it| it.name == NOISE);
        let noise = |it: &&Series| {
            let is_time = it.kind == Kind::Noise && it.unit == Unit::Nanoseconds;
            is_time && (!measured || it.name == NOISE)
        };
        for it in series().filter(noise) {
            let (Some(cpu), Some(moments)) = (it.cpu, it.distribution.moments()) else {
                continue;
            };
            let us = |ns: i64| ns as f64 / NS_PER_US;
            let row = Row {
                index: one.index,
                name: plain(one.name),
                cpu,
                mean_us: moments.mean / NS_PER_US,
                p99_us: it.distribution.supported_percentile(99.0).map(us),
                max_us: us(moments.max),
            };
            // Of several runs the worse.
            let known = rows
                .iter_mut()
                .find(|known| (known.cpu, known.index) == (cpu, one.index));
            match known {
                Some(known) if known.max_us < row.max_us => *known = row,
                Some(_) => {}
                None => rows.push(row),
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::tests::values;
    use super::*;
    use artis_result::Setup;

    #[test]
    fn every_cpu_has_a_row_and_the_worse_run_is_shown() {
        let run = |worst: i64| {
            let mut document = Document::new(Setup::default());
            for cpu in [0, 3] {
                let noise = values(&[1000, worst * i64::from(cpu + 1)]);
                let series = Series::new("noise", Kind::Noise, Unit::Nanoseconds, noise);
                document.series.push(Series {
                    cpu: Some(cpu),
                    ..series
                });
            }
            document
        };
        let mut other = run(90_000);
        for series in &mut other.series {
            series.name = "excess".to_owned();
        }
        let documents = [run(5000), run(9000), other];
        let one = Measured {
            index: 0,
            name: "stock",
            documents: &documents,
        };
        let found = picture(&[one], "us", &Sheet::WIDE).unwrap();
        assert!(found.svg.contains("CPU 0, stock: mean 5 us, worst 9 us"));
        assert!(found.svg.contains(">CPU 3<"));
        assert_eq!(found.legend[0].words, "stock: worst 36 us on CPU 3");
        assert!(picture(&[], "us", &Sheet::WIDE).is_none());
    }
}
