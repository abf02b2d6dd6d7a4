// SPDX-License-Identifier: GPL-2.0-only
//! An experiment in one table: what real time gains in each configuration, and what everybody else
//! pays for it.

use super::experiment::{begins_group, count, us};
use super::paragraph::Layout;
use artis_result::experiment::{Experiment, Figures, Row, Scheduler, Summary};
use artis_result::names::Ordinary;
use std::fmt::Write as _;

const NAME_WIDTH_MIN: usize = 10;
const COLUMN: usize = 10;
/// The first columns are RT0's.
const OF_RT0: usize = 3;

const LAYOUT: Layout = Layout {
    margin: 0,
    indent: 0,
    width: 90,
};

/// A column: its two lines of heading, and the cell of a row.
type Column = ([&'static str; 2], fn(&Figures) -> String);

const COLUMNS: [Column; 8] = [
    (["latency", "worst"], |of| us(Some(of.latency_us_max))),
    (["latency", "mean"], |of| us(Some(of.latency_us_mean))),
    (["leaks", ""], |of| count(of.leaks)),
    (["RT CPU", "lent"], |of| percent(of.rt_cpu_share_others)),
    (["work", "kept"], |of| percent(work(of))),
    (["wakeup", "mean"], |of| us(normal(of).map(|of| of.us_mean))),
    (["wakeup", "99 %"], |of| us(normal(of).map(|of| of.us_p99))),
    (["command", "mean"], |of| {
        us(commands(of).map(|of| of.us_mean))
    }),
];

/// The table, what its columns are, and what it shows in a sentence.
pub fn table(title: &str, experiment: &Experiment) -> String {
    let rows = &experiment.rows;
    let Some(first) = rows.first() else {
        return String::new();
    };
    let mut text = format!("{title}\n\n{}", in_rows(rows));
    let legend = format!(
        "Latency, wakeups of a normal task and short commands in {}: 1 us is 100 instructions, and \
         no microsecond of a real machine. Leaks: kernel work of others on the RT CPU. RT CPU \
         lent: the part of what RT0 leaves that others got. Work kept: of {} against {}'s, the \
         geometric mean.",
        experiment.time_unit(),
        first.loads.join(", "),
        first.configuration,
    );
    for words in [Some(legend), sentence(rows)].into_iter().flatten() {
        let _ = write!(text, "\n{}", LAYOUT.paragraph("", &words));
    }
    text
}

/// The table alone.
pub(super) fn in_rows(rows: &[Row]) -> String {
    let names = rows.iter().map(|row| row.configuration.len());
    let width = names.max().unwrap_or(0).max(NAME_WIDTH_MIN);
    let mut text = String::new();
    let (ours, others) = (OF_RT0 * COLUMN, (COLUMNS.len() - OF_RT0) * COLUMN);
    let line = |text: &mut String, line: String| {
        let _ = writeln!(text, "{}", line.trim_end());
    };
    line(
        &mut text,
        format!(
            "{:width$}{:>ours$}{:>others$}",
            "", "real time", "everybody else"
        ),
    );
    for at in 0..2 {
        let heads = COLUMNS.map(|(heads, _)| format!("{:>COLUMN$}", heads[at]));
        line(&mut text, format!("{:width$}{}", "", heads.concat()));
    }
    for row in rows {
        let cells = COLUMNS.map(|(_, cell)| format!("{:>COLUMN$}", cell(&row.figures)));
        line(
            &mut text,
            format!("{:width$}{}", row.configuration, cells.concat()),
        );
    }
    text
}

/// What artis gives beside the isolated CPU, when both were measured: the gain, and its price.
pub(super) fn sentence(rows: &[Row]) -> Option<String> {
    if (0..rows.len()).any(|at| begins_group(rows, at)) {
        return None;
    }
    let with = |scheduler: Scheduler| rows.iter().find(|row| row.scheduler == scheduler);
    let (isolated, artis) = (with(Scheduler::Isolcpus)?, with(Scheduler::Artis)?);
    let (isolated, artis) = (&isolated.figures, &artis.figures);
    let mut parts = vec![
        format!(
            "With artis the worst latency is {:.2} times that of the isolated CPU",
            artis.latency_us_max / isolated.latency_us_max,
        ),
        format!(
            "others get {} of that CPU (isolated: {})",
            percent(artis.rt_cpu_share_others),
            percent(isolated.rt_cpu_share_others),
        ),
    ];
    if let (Some(ours), Some(theirs)) = (work(artis), work(isolated)) {
        parts.push(format!("they do {:.2} times its work", ours / theirs));
    }
    if let (Some(ours), Some(theirs)) = (normal(artis), normal(isolated)) {
        let times = ours.us_mean / theirs.us_mean;
        parts.push(format!(
            "a normal task's wakeup takes {times:.2} times as long"
        ));
    }
    let stock = with(Scheduler::Stock).and_then(|row| commands(&row.figures));
    if let (Some(ours), Some(theirs), Some(stock)) = (commands(artis), commands(isolated), stock) {
        parts.push(format!(
            "a short command takes {:.2} times as long as with stock (isolcpus: {:.2} times)",
            ours.us_mean / stock.us_mean,
            theirs.us_mean / stock.us_mean
        ));
    }
    let last = parts.pop()?;
    Some(format!("{}, and {last}.", parts.join(", ")))
}

/// The geometric mean of what each load did against the reference; none where one was not counted.
pub(super) fn work(of: &Figures) -> Option<f64> {
    let all = &of.work_relative;
    if all.is_empty() || all.values().any(|&of| of <= 0.0) {
        return None;
    }
    let logarithms: f64 = all.values().map(|of| of.ln()).sum();
    Some((logarithms / all.len() as f64).exp())
}

fn commands(of: &Figures) -> Option<&Summary> {
    of.responsiveness.get(Ordinary::Commands.name())
}

fn normal(of: &Figures) -> Option<&Summary> {
    of.responsiveness.get(Ordinary::Normal.name())
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::experiment::{experiment, row};

    fn rows() -> Vec<Row> {
        let mut rows = vec![
            row("lazy", &[300.0]),
            row("isolcpus", &[50.0]),
            row("artis", &[55.0]),
        ];
        rows[1].scheduler = Scheduler::Isolcpus;
        rows[2].scheduler = Scheduler::Artis;
        let compute = [1.0, 0.5, 0.75];
        for (row, compute) in rows.iter_mut().zip(compute) {
            let of = &mut row.figures;
            of.work_relative = [("compute".to_owned(), compute)].into();
            of.rt_cpu_share_others = Some(compute);
            of.responsiveness = [(
                "normal".to_owned(),
                Summary {
                    samples: 10,
                    us_mean: 200.0 / compute,
                    us_p99: 1000.0,
                    us_max: 2000.0,
                },
            )]
            .into();
        }
        rows
    }

    #[test]
    fn one_side_gains_and_the_other_pays_in_one_row() {
        let text = table("a title", &experiment(rows()));
        let artis = text.lines().find(|line| line.starts_with("artis"));
        let cells: Vec<&str> = artis.unwrap().split_whitespace().collect();
        assert_eq!(
            cells,
            [
                "artis", "55.0", "13.8", "-", "75", "%", "75", "%", "266.7", "1000.0", "-"
            ]
        );
        let said = text.replace('\n', " ");
        for part in [
            "1.10 times that of the isolated CPU",
            "others get 75 % of that CPU (isolated: 50 %)",
            "they do 1.50 times its work",
            "and a normal task's wakeup takes 0.67 times as long.",
            "us at 100 MIPS, emulated (bochs)",
        ] {
            assert!(said.contains(part), "{part} in\n{text}");
        }
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }

    #[test]
    fn the_work_of_loads_is_their_geometric_mean_and_one_that_did_nothing_has_none() {
        let mut figures = rows().remove(0).figures;
        let of = |name: &str, value| (name.to_owned(), value);
        figures.work_relative = [of("a", 0.5), of("b", 2.0)].into();
        assert_eq!(work(&figures), Some(1.0));
        figures.work_relative = [of("a", 0.5), of("b", 0.0)].into();
        assert_eq!(work(&figures), None);
    }

    #[test]
    fn without_both_there_is_no_sentence() {
        assert_eq!(sentence(&rows()[..2]), None);
    }
}
