// SPDX-License-Identifier: GPL-2.0-only
//! How fast threads sent each other messages, as text.

use super::times::IN_80;
use super::{loads, rounded};
use artis_measure::messages::Plan;
use artis_result::Document;
use artis_result::names::{PER_CPU_SECOND, PER_SECOND, ROUND_TRIP, WAKEUP};
use std::fmt::Write as _;

/// The table.
pub fn table(document: &Document, plan: &Plan) -> String {
    let number = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let threads = match plan.workers {
        1 => format!("{} of threads", number(plan.pairs, "pair")),
        workers => format!(
            "{}, {workers} workers each",
            number(plan.pairs, "messenger")
        ),
    };
    let count = |name| document.merged(name).map_or(0, |all| all.count());
    let mut text = format!(
        "{threads}, {}\n{} in {} s, {}\n",
        plan.policy,
        number(count(ROUND_TRIP) as usize, "round trip"),
        rounded(document.seconds.unwrap_or(0.0), 3),
        loads::names(document)
    );
    let rate = |name| Some(document.merged(name)?.moments()?.mean);
    if let (Some(per_second), Some(per_cpu_second)) = (rate(PER_SECOND), rate(PER_CPU_SECOND)) {
        let _ = writeln!(
            text,
            "{per_second:.0} messages a second, {per_cpu_second:.0} a second of CPU time"
        );
    }
    text.push('\n');
    text += &IN_80.head();
    for (name, series) in [("round trip", ROUND_TRIP), ("wakeup", WAKEUP)] {
        let line = document
            .merged(series)
            .and_then(|all| IN_80.line(name, &all));
        text += &line.unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::values;
    use super::*;
    use artis_measure::messages::Outcome;
    use artis_measure::messages::series::series;
    use artis_measure::thread::Policy;
    use artis_result::Setup;
    use std::time::Duration;

    fn text(pairs: usize, workers: usize) -> String {
        let mut document = Document::new(Setup::default());
        document.seconds = Some(0.5);
        document.series = series(&Outcome {
            round_trip: values(&[8000, 12_000]),
            wakeup: values(&[1000, 2000]),
            messages: 4,
            cpu_time: Duration::from_millis(400),
            seconds: 0.5,
        });
        let plan = Plan {
            pairs,
            workers,
            cpus: None,
            policy: Policy::Normal,
            rounds: None,
            duration: None,
        };
        table(&document, &plan)
    }

    #[test]
    fn the_table_gives_rates_and_times() {
        let text = text(1, 1);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "1 pair of threads, normal");
        assert_eq!(lines[1], "2 round trips in 0.5 s, without --load");
        assert_eq!(lines[2], "8 messages a second, 10 a second of CPU time");
        let words: Vec<_> = lines[6].split_whitespace().collect();
        assert_eq!(
            words,
            ["wakeup", "1.000", "1.500", "1.000", "-", "-", "2.000"]
        );
        assert!(lines.iter().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn messengers_with_several_workers_are_called_so() {
        assert!(text(2, 8).starts_with("2 messengers, 8 workers each, normal\n"));
    }
}
