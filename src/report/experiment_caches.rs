// SPDX-License-Identifier: GPL-2.0-only
//! The blocks of an experiment's table that say what modelled caches cost its loads.

use super::experiment::{block, ratio, reference};
use artis_result::experiment::{CacheFigures, Experiment};
use std::collections::BTreeSet;
use std::fmt::Write as _;

type Cell = fn(&CacheFigures) -> String;

/// For each load a block with a column for each figure.
pub(super) fn blocks(text: &mut String, experiment: &Experiment, width: usize) {
    let rows = &experiment.rows;
    let all = || rows.iter().flat_map(|row| &row.figures.caches);
    let Some((_, first)) = all().next() else {
        return;
    };
    let costs = first.costs;
    let _ = writeln!(
        text,
        "\nModelled caches: an instruction is a cycle; cycles of a miss {}, of a line from the \
         shared\ncache {}, from another CPU {}, from memory {}; then each of these twice.",
        costs.l1_miss, costs.l2_miss, costs.other_cpu, costs.memory
    );
    let columns: [(&str, Cell); 7] = [
        ("L1-misses", |of| number(of.l1_misses)),
        ("L2-misses", |of| number(of.l2_misses)),
        ("dirty", |of| number(of.dirty)),
        ("cycles", |of| number(of.cycles)),
        ("work", |of| ratio(of.work_per_cycle_relative)),
        ("cycles-twice", |of| number(of.cycles_doubled)),
        ("work-twice", |of| ratio(of.work_per_cycle_doubled_relative)),
    ];
    let heads = columns.map(|(head, _)| head.to_owned());
    let loads: BTreeSet<&String> = all().map(|(load, _)| load).collect();
    let reference = reference(experiment).unwrap_or_default();
    for load in loads {
        let title =
            format!("{load}: for each unit of its work; work per cycle against {reference}");
        let mut with = rows.clone();
        with.retain(|row| row.figures.caches.contains_key(load));
        block(text, &with, width, &title, &heads, |row| {
            let of = row.figures.caches.get(load);
            let cell = |cell: &Cell| of.map_or_else(|| "-".to_owned(), cell);
            columns.iter().map(|(_, one)| cell(one)).collect()
        });
    }
}

fn number(value: f64) -> String {
    match value < 100.0 {
        true => format!("{value:.2}"),
        false => format!("{value:.0}"),
    }
}
