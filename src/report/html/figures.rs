// SPDX-License-Identifier: GPL-2.0-only
//! All figures, in tables that can be sorted: those that are compared, each series, each load.

use super::{Content, Section};
use crate::comparison::{ratio, short};
use crate::digits::{digits, grouped};
use crate::noise::Measured;
use crate::words::plain;
use artis_decide::compare::metric::Quantity;
use artis_decide::compare::{Cell, Comparison, Metric};
use artis_result::{Series, Unit};
use maud::{Markup, html};

/// Figures beside each other.
const COLUMNS: usize = 7;
/// More rows are shown when they are asked for.
const ROWS: usize = 40;

pub(super) fn section(content: &Content) -> Option<Section> {
    let series = content.measured.iter().flat_map(|one| one.documents);
    let count: usize = series.map(|one| one.series.len()).sum();
    let body = html! {
        @if let Some(all) = content.comparison { (compared(all)) }
        @if count > 0 {
            details open[count <= ROWS] {
                summary { h3 { "Every series (" (count) ")" } }
                (series_table(content.measured))
            }
        }
        (loads(content.measured))
    };
    content.comparison.is_some().then_some(Section {
        id: "figures",
        title: "All figures",
        single: false,
        body,
    })
}

fn compared(all: &Comparison) -> Markup {
    html! {
        p.quiet {
            "Times in " (plain(&all.unit))
            @if all.configurations.len() > 1 {
                "; ×: relative to " (plain(&all.base().configuration.name))
            }
            @if all.has_runs() { "; 95 %: of the ratio of the runs' means" }
            "."
        }
        @for (title, metrics) in groups(all) {
            h3 { (title) }
            div.scroll tabindex="0" role="region" aria-label=(title) {
                table.sortable {
                    thead { tr {
                        th scope="col" { "configuration" }
                        th scope="col" { "samples" }
                        @for metric in &metrics { th scope="col" { (heading(metric)) } }
                    } }
                    tbody { @for one in &all.configurations { tr {
                        th scope="row" { (plain(&one.configuration.name)) }
                        @let samples = one.configuration.samples();
                        td data-value=(samples) { (grouped(samples.cast_signed())) }
                        @for metric in &metrics { (cell(metric, one.cells.get(metric))) }
                    } } }
                }
            }
        }
    }
}

/// The figures of tables that are not too wide, each with its title.
fn groups(all: &Comparison) -> Vec<(&'static str, Vec<Metric>)> {
    let title = |metric: &Metric| match metric {
        Metric::Of(Quantity::Other(_), _) => "Other times",
        Metric::Of(..) => "Latency and execution",
        Metric::Throughput(_) => "Work of the loads",
        Metric::WorkPerCpuSecond(_) => "Work per second of CPU time",
        Metric::ThroughputSeconds(_) => "Seconds for the same work",
        Metric::RtCpuShareOthers | Metric::LoadCpuTime | Metric::Leaks => "CPU time and leaks",
        Metric::Missed | Metric::OfBoundMax | Metric::OfBoundMin => "admitted tasks",
    };
    let metrics = all.metrics().into_iter().filter(Metric::is_in_tables);
    let mut groups: Vec<(&str, Vec<Metric>)> = Vec::new();
    for metric in metrics {
        let title = title(&metric);
        let open =
            |(known, held): &&mut (&str, Vec<Metric>)| *known == title && held.len() < COLUMNS;
        match groups.iter_mut().find(open) {
            Some((_, held)) => held.push(metric),
            None => groups.push((title, vec![metric])),
        }
    }
    groups
}

/// A figure's name, which may be broken after dots and underscores.
fn heading(metric: &Metric) -> Markup {
    let name = plain(&metric.to_string());
    html! { @for part in name.split_inclusive(['.', '_']) { (part) wbr; } }
}

fn cell(metric: &Metric, cell: Option<&Cell>) -> Markup {
    let Some(cell) = cell else {
        return html! { td { "–" } };
    };
    let relation = cell.ratio.map(|of| {
        let times = if of.of_all.is_some() { "× " } else { "" };
        times.to_owned() + &ratio(of.of_all, of)
    });
    let interval = cell
        .ratio
        .and_then(|of| of.interval)
        .filter(|_| !metric.is_extreme());
    html! {
        td data-value=(cell.figure.value) {
            (digits(cell.figure.value))
            @if let Some(relation) = relation { small { (relation) } }
            @if let Some(mean) = cell.mean_of_runs().filter(|_| metric.is_worst()) {
                small { (digits(mean)) " a run" }
            }
            @if let Some(it) = interval {
                small { "95 %: " (short(it.low)) "–" (short(it.high)) }
            }
        }
    }
}

const STATISTICS: [&str; 9] = [
    "count",
    "min",
    "mean",
    "50\u{a0}%",
    "99\u{a0}%",
    "99.9\u{a0}%",
    "99.99\u{a0}%",
    "max",
    "at,\u{a0}s",
];

fn series_table(measured: &[Measured]) -> Markup {
    let rows = measured
        .iter()
        .flat_map(|one| one.documents.iter().map(move |document| (one, document)));
    html! {
        div.scroll tabindex="0" role="region" aria-label="every series" {
            table.sortable {
                caption { "times in us; a percentile that no value lies beyond is not given" }
                thead { tr {
                    th scope="col" { "configuration" }
                    th.word scope="col" { "series" }
                    th scope="col" { "CPU" }
                    th scope="col" { "thread" }
                    @for title in STATISTICS { th scope="col" { (title) } }
                    th scope="col" { "missed" }
                } }
                tbody { @for (one, document) in rows { @for series in &document.series {
                    tr {
                        th scope="row" { (plain(one.name)) }
                        td.word { (plain(&series.name)) }
                        td { (number(series.cpu)) }
                        td { (number(series.thread)) }
                        @for value in statistics(series) {
                            @match value {
                                Some(value) => td data-value=(value) { (digits(value)) }
                                None => td { "–" }
                            }
                        }
                        td { (number(series.missed)) }
                    }
                } } }
            }
        }
    }
}

fn number(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

/// As [`STATISTICS`]; times in microseconds.
fn statistics(series: &Series) -> [Option<f64>; 9] {
    let all = &series.distribution;
    let scale = match series.unit {
        Unit::Nanoseconds => 1000.0,
        Unit::Count => 1.0,
    };
    let moments = all.moments();
    let percentile = |percent| Some(all.supported_percentile(percent)? as f64 / scale);
    [
        Some(all.count() as f64),
        moments.map(|it| it.min as f64 / scale),
        moments.map(|it| it.mean / scale),
        percentile(50.0),
        percentile(99.0),
        percentile(99.9),
        percentile(99.99),
        moments.map(|it| it.max as f64 / scale),
        series.max_at_s,
    ]
}

fn loads(measured: &[Measured]) -> Markup {
    let all = measured.iter().flat_map(|one| {
        let loads = one.documents.iter().flat_map(|document| &document.load);
        loads.map(move |load| (one.name, load))
    });
    let all: Vec<_> = all.collect();
    html! {
        @if !all.is_empty() {
            h3 { "The loads' work" }
            div.scroll tabindex="0" role="region" aria-label="the loads' work" {
                table.sortable {
                    thead { tr {
                        th scope="col" { "configuration" }
                        th.word scope="col" { "load" }
                        th.word scope="col" { "CPUs" }
                        th scope="col" { "work" }
                        th.word scope="col" { "unit" }
                        th scope="col" { "seconds" }
                        th scope="col" { "work per second" }
                        th scope="col" { "CPU seconds" }
                    } }
                    tbody { @for (name, load) in all { tr {
                        th scope="row" { (plain(name)) }
                        td.word { (plain(&load.name)) }
                        td.word { (plain(load.cpus.as_deref().unwrap_or("all"))) }
                        td data-value=(load.work) { (digits(load.work)) }
                        td.word { (plain(&load.unit)) }
                        td data-value=(load.seconds) { (digits(load.seconds)) }
                        @let rate = load.work / load.seconds;
                        td data-value=(rate) { (digits(rate)) }
                        td { (load.cpu_seconds.map_or_else(|| "–".to_owned(), digits)) }
                    } } }
                }
            }
        }
    }
}
