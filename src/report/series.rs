// SPDX-License-Identifier: GPL-2.0-only
//! Series as tables: one for each quantity, a line a series, the merged one last.

use artis_result::{Distribution, Document, Kind, Series, Unit};

/// The widest that fits 80 columns beside the others.
const FIGURE_WIDTH: usize = 8;

/// The unit that a table's figures are printed in.
#[derive(Clone, Copy)]
struct Scale {
    name: &'static str,
    /// In the series' unit.
    one: f64,
    decimals: usize,
}

/// Chosen by the largest figure, so that the columns hold it.
fn scale(unit: Unit, max: i64) -> Scale {
    let (name, one, decimals) = match (unit, max) {
        (Unit::Count, _) => ("", 1.0, 1),
        (_, ..10_000) => ("ns", 1.0, 0),
        (_, ..1_000_000_000) => ("us", 1e3, 1),
        (_, ..1_000_000_000_000) => ("ms", 1e6, 1),
        _ => ("s", 1e9, 1),
    };
    Scale {
        name,
        one,
        decimals,
    }
}

/// The figures of a result as tables; none of an emulator's, whose times mean nothing.
pub fn of_document(document: &Document) -> String {
    if document.is_emulated() {
        let counts = document
            .series
            .iter()
            .map(|series| format!("{}: {} samples\n", series.name, series.distribution.count()));
        return counts.collect::<String>()
            + "times are not shown: they are an emulator's and mean nothing\n";
    }
    tables(&document.series)
}

/// All series, those of one name, kind and unit together.
fn tables(series: &[Series]) -> String {
    let mut text = String::new();
    let mut shown: Vec<&Series> = Vec::new();
    for first in series {
        let same = |one: &&Series| {
            (&one.name, one.kind, one.unit) == (&first.name, first.kind, first.unit)
        };
        if shown.iter().any(same) {
            continue;
        }
        let group: Vec<&Series> = series.iter().filter(same).collect();
        text.push('\n');
        text += &table(&group);
        shown.push(first);
    }
    text
}

fn table(group: &[&Series]) -> String {
    let Some(first) = group.first() else {
        return String::new();
    };
    let max = group
        .iter()
        .filter_map(|series| series.distribution.moments())
        .map(|moments| moments.max.max(moments.min.saturating_neg()))
        .max();
    let scale = scale(first.unit, max.unwrap_or(0));
    let name: String = first.name.chars().filter(|one| !one.is_control()).collect();
    let mut text = match scale.name {
        "" => format!("{name}\n"),
        unit => format!("{name}, {unit}\n"),
    };
    let titles = ["min", "mean", "p50", "p99", "p99.9", "max"];
    let titles = titles
        .map(|title| format!(" {title:>FIGURE_WIDTH$}"))
        .concat();
    let timed = group.iter().any(|series| series.max_at_s.is_some());
    let at = if timed { "   at s" } else { "" };
    text += &format!("{:>3} {:>3} {:>8}{titles}{at}\n", "cpu", "thr", "count");
    let mut all: Option<Distribution> = None;
    for series in group {
        text += &line(series, scale);
        let sum = all.get_or_insert_with(Distribution::new);
        // Too many values for a sum are no reason to hide the series.
        if sum.try_merge(&series.distribution).is_err() {
            return text;
        }
    }
    if let Some(all) = all {
        if group.len() > 1 {
            text += &figures("all", "", &all, None, scale);
        }
        text += &rest(first.kind, &all, scale);
    }
    let missed: u64 = group
        .iter()
        .filter_map(|series| series.missed)
        .fold(0, u64::saturating_add);
    match missed {
        0 => {}
        1 => text += "1 period was missed\n",
        _ => text += &format!("{missed} periods were missed\n"),
    }
    text
}

fn line(series: &Series, scale: Scale) -> String {
    let number = |number: Option<u32>| number.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let (cpu, thread) = (number(series.cpu), number(series.thread));
    figures(&cpu, &thread, &series.distribution, series.max_at_s, scale)
}

/// What the columns have no room for.
fn rest(kind: Kind, all: &Distribution, scale: Scale) -> String {
    let Some(moments) = all.moments() else {
        // Noise is counted from a threshold on; a latency is there at each wakeup.
        return match kind {
            Kind::Noise => format!("{:>17}nothing was above the threshold\n", ""),
            _ => String::new(),
        };
    };
    let Some(stddev) = moments.stddev else {
        return format!(
            "{:>17}no histogram: percentiles and deviation are not known\n",
            ""
        );
    };
    let mut words = vec![format!("stddev {}", figure(Some(stddev), scale))];
    for percent in [90.0, 99.99, 99.999] {
        if let Some(value) = all.supported_percentile(percent) {
            words.push(format!("p{percent} {}", figure(Some(value as f64), scale)));
        }
    }
    format!("{:>17}{}\n", "", words.join(", "))
}

fn figures(
    cpu: &str,
    thread: &str,
    values: &Distribution,
    max_at_s: Option<f64>,
    scale: Scale,
) -> String {
    let moments = values.moments();
    let percentile = |percent| {
        values
            .supported_percentile(percent)
            .map(|value| value as f64)
    };
    let all = [
        moments.map(|moments| moments.min as f64),
        moments.map(|moments| moments.mean),
        percentile(50.0),
        percentile(99.0),
        percentile(99.9),
        moments.map(|moments| moments.max as f64),
    ];
    let cells = all
        .map(|value| format!(" {:>FIGURE_WIDTH$}", figure(value, scale)))
        .concat();
    let at = max_at_s.map_or_else(String::new, |at_s| format!(" {:>6}", short(at_s, 2, 6)));
    let count = short(values.count() as f64, 0, 8);
    format!("{cpu:>3} {thread:>3} {count:>8}{cells}{at}\n")
}

fn figure(value: Option<f64>, scale: Scale) -> String {
    value.map_or_else(
        || "-".to_owned(),
        |value| short(value / scale.one, scale.decimals, FIGURE_WIDTH),
    )
}

/// With so many decimals, or as a power of ten where that is too wide.
fn short(value: f64, decimals: usize, width: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.len() <= width {
        text
    } else {
        format!("{value:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(cpu: u32, values: &[i64]) -> Series {
        let mut distribution = Distribution::signed();
        for value in values {
            distribution.record(*value);
        }
        Series {
            cpu: Some(cpu),
            max_at_s: Some(7.0),
            missed: Some(2),
            ..Series::new("latency", Kind::Latency, Unit::Nanoseconds, distribution)
        }
    }

    #[test]
    fn the_merged_series_comes_last() {
        let text = tables(&[series(0, &[1000, 2000]), series(3, &[3000])]);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines[0], "latency, ns");
        assert!(
            lines[2].starts_with("  0   -        2") && lines[2].ends_with(" 7.00"),
            "{text}"
        );
        let all: Vec<&str> = lines[4].split_whitespace().collect();
        assert_eq!(all, ["all", "3", "1000", "2000", "2000", "-", "-", "3000"]);
        assert_eq!(lines[5].trim(), "stddev 1000");
        assert_eq!(lines[6], "4 periods were missed");
    }

    #[test]
    fn what_is_not_known_is_a_dash() {
        let values = Distribution::summary(300, 29_000, 49_000.0, 285_000).unwrap();
        let bare = Series::new("latency", Kind::Latency, Unit::Nanoseconds, values);
        let text = tables(&[bare]);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        let words: Vec<&str> = lines[2].split_whitespace().collect();
        assert_eq!(
            words,
            ["-", "-", "300", "29.0", "49.0", "-", "-", "-", "285.0"]
        );
        assert!(lines[3].contains("no histogram"), "{text}");
    }

    #[test]
    fn every_line_fits_80_columns() {
        for max in [5, 50_000, 5_000_000_000, 5_000_000_000_000, i64::MAX] {
            let text = tables(&[series(11, &[-max, max]), series(12, &[])]);
            assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        }
    }

    #[test]
    fn the_unit_suits_the_maximum() {
        let unit = |max| scale(Unit::Nanoseconds, max).name;
        assert_eq!(
            [unit(9999), unit(10_000), unit(2_000_000_000)],
            ["ns", "us", "ms"]
        );
    }
}
