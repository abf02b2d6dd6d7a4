// SPDX-License-Identifier: GPL-2.0-only
//! The OS noise of barrier-based computing, as text: the time lost, and to whom.

use super::{loads, us};
use artis_machine::CpuList;
use artis_result::names::{LOST, NOISE, ROUND, SLOWEST};
use artis_result::{Distribution, Document};
use std::fmt::{Display, Write as _};

/// The table; `piece` is what each thread does in a round.
pub fn table(document: &Document, piece: &str, policy: impl Display) -> String {
    let mut text = String::new();
    let of = |name: &'static str| {
        document
            .series
            .iter()
            .filter(move |series| series.name == name)
    };
    let (Some(round), Some(lost)) = (of(ROUND).next(), of(LOST).next()) else {
        return text;
    };
    let (Some(time), Some(loss)) = (round.distribution.moments(), lost.distribution.moments())
    else {
        return text;
    };
    let cpus: CpuList = of(NOISE).filter_map(|noise| noise.cpu).collect();
    let ideal_us = us(time.min - loss.min);
    let _ = writeln!(
        text,
        "{} rounds of {} x {piece}, CPUs {cpus}, {policy}\n\
         ideal {ideal_us:.3} us a round, from the shortest pieces before any load\n\
         {:.2} % of {:.1} s lost, {}\n\
         the longest round lost {:.1} us, after {:.2} s\n\n\
         {:8} {:>9} {:>11} {:>11} {:>11} {:>11} {:>11}",
        time.count,
        of(NOISE).count(),
        loss.mean * 100.0 / time.mean,
        document.seconds.unwrap_or(0.0),
        loads::names(document),
        us(loss.max),
        round.max_at_s.unwrap_or(0.0),
        "lost",
        "slowest %",
        "mean us",
        "50 % us",
        "99 % us",
        "99.9 % us",
        "max us",
    );
    for (noise, slowest) in of(NOISE).zip(of(SLOWEST)) {
        let times = slowest.distribution.moments().map_or(0.0, |once| once.mean);
        let share = format!("{:.1}", times * 100.0 / time.count as f64);
        let name = format!("CPU {}", noise.cpu.unwrap_or(0));
        text += &row(&name, &share, &noise.distribution);
    }
    text += &row("round", "", &lost.distribution);
    text
}

fn row(name: &str, share: &str, values: &Distribution) -> String {
    let Some(moments) = values.moments() else {
        return String::new();
    };
    let at = |percent| {
        let value = values.supported_percentile(percent);
        value.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", us(ns)))
    };
    format!(
        "{name:8} {share:>9} {:11.3} {:>11} {:>11} {:>11} {:11.3}\n",
        moments.mean / 1000.0,
        at(50.0),
        at(99.0),
        at(99.9),
        us(moments.max)
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::document_of;
    use super::*;

    #[test]
    fn the_table_says_what_is_lost_and_by_whom() {
        // The second thread lost 50 us in the first of two rounds.
        let all: [(&str, &[i64]); 6] = [
            (ROUND, &[150_000, 100_000]),
            (LOST, &[50_000, 0]),
            (NOISE, &[0, 0]),
            (NOISE, &[50_000, 0]),
            (SLOWEST, &[1]),
            (SLOWEST, &[1]),
        ];
        let mut document = document_of(1.0, &all);
        for (series, cpu) in document.series[2..].iter_mut().zip([0, 2, 0, 2]) {
            series.cpu = Some(cpu);
        }
        let text = table(&document, "10 steps", "normal");
        // 50 of 250 us.
        assert!(
            text.contains("20.00 %") && text.contains("ideal 100.000 us"),
            "{text}"
        );
        assert!(text.contains("CPUs 0,2"), "{text}");
        let line = text.lines().find(|line| line.starts_with("CPU 2")).unwrap();
        let fields: Vec<_> = line.split_whitespace().collect();
        // Two rounds: nothing lies beyond 99 %.
        assert_eq!(
            fields,
            ["CPU", "2", "50.0", "25.000", "0.000", "-", "-", "50.000"]
        );
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
