// SPDX-License-Identifier: GPL-2.0-only
//! The OS noise of barrier-based computing, as text: the time lost, and to whom.

use super::{loads, us};
use artis_machine::CpuList;
use artis_measure::jitter::Plan;
use artis_result::names::{LOST, NOISE, ROUND, SLOWEST};
use artis_result::{Distribution, Document};
use std::fmt::Write as _;

/// The table.
pub fn table(document: &Document, plan: &Plan) -> String {
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
    let cpus: CpuList = plan.cpus.iter().copied().collect();
    let ideal_us = us(time.min - loss.min);
    let _ = writeln!(
        text,
        "{} rounds of {} x {} {}, CPUs {cpus}, {}\n\
         ideal {ideal_us:.3} us a round, from the shortest pieces before any load\n\
         {:.2} % of {:.1} s lost, {}\n\
         the longest round lost {:.1} us, after {:.2} s\n\n\
         {:8} {:>9} {:>11} {:>11} {:>11} {:>11} {:>11}",
        time.count,
        plan.cpus.len(),
        plan.count,
        plan.routine.steps(),
        plan.policy,
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
    use super::super::tests::values;
    use super::*;
    use artis_measure::jitter::series::series;
    use artis_measure::jitter::{Rounds, Samples};
    use artis_measure::routine::Routine;
    use artis_measure::thread::Policy;
    use artis_result::Setup;
    use std::time::Duration;

    #[test]
    fn the_table_says_what_is_lost_and_by_whom() {
        let plan = Plan {
            cpus: vec![0, 2],
            policy: Policy::Normal,
            routine: Routine::Integer,
            count: 10,
            duration: Duration::from_secs(1),
            ideal_ns: vec![100_000, 100_000],
        };
        let mut rounds = Rounds::new(2, 100_000);
        rounds.record(1000, [101_000, 151_000].into_iter());
        rounds.record(201_000, [301_000, 301_000].into_iter());
        let loaded = Samples {
            pieces: vec![values(&[0, 0]), values(&[50_000, 0])],
            rounds,
        };
        let mut document = Document::new(Setup::default());
        document.series = series(&plan, &loaded, &loaded);
        let text = table(&document, &plan);
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
