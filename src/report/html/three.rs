// SPDX-License-Identifier: GPL-2.0-only
//! The numbers that belong together, each beside the baseline's: how late a task wakes up, how much
//! its work is stretched, what everybody else gets done meanwhile, and, where that was measured,
//! how soon everybody else answers.

use super::chart::swatch;
use super::headline::{WORST, normal};
use super::{Content, Section};
use crate::digits::{digits, grouped};
use crate::style::first_word;
use crate::words::plain;
use artis_decide::compare::metric::{Quantity, Stat};
use artis_decide::compare::{Compared, Comparison, Metric};
use maud::{Markup, html};

const STRETCH: Metric = Metric::Of(Quantity::Execution, Stat::Variation);
/// Figures closer than this are the same.
const SAME: f64 = 0.005;

/// One number.
struct Number {
    value: Option<f64>,
    words: String,
    /// Beside the baseline's.
    beside: Beside,
}

enum Beside {
    /// It is the baseline.
    Base,
    Same,
    Gains(String),
    Pays(String),
    /// Why there is no relation.
    None(String),
}

pub(super) fn section(content: &Content) -> Option<Section> {
    let all = content.comparison?;
    let rows: Vec<(usize, [Number; 4])> = all
        .configurations
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let numbers = [
                latency(all, one),
                stretch(all, one),
                kept(all, one),
                answers(all, one),
            ];
            (at, numbers)
        })
        .collect();
    let any = |number: usize| rows.iter().any(|(_, all)| all[number].value.is_some());
    if !(0..4).any(any) {
        return None;
    }
    let most = |number: usize| {
        let values = rows.iter().filter_map(|(_, all)| all[number].value);
        values.fold(0.0, f64::max)
    };
    // Few measure the last one.
    let columns = if any(3) { 4 } else { 3 };
    let body = html! {
        table.three.four[columns == 4] {
            thead { tr {
                th scope="col" { "configuration" }
                th scope="col" { "worst latency" }
                th scope="col" { "work stretched by" }
                th scope="col" { "throughput kept" }
                @if columns == 4 { th scope="col" { "a normal task wakes up after" } }
            } }
            tbody { @for (at, numbers) in &rows {
                tr.base[*at == all.baseline] {
                    th scope="row" {
                        (swatch(*at))
                        span { (plain(&all.configurations[*at].configuration.name)) }
                        @if *at == all.baseline && rows.len() > 1 { span.badge { "baseline" } }
                    }
                    @for (place, number) in numbers[..columns].iter().enumerate() {
                        (cell(number, most(place), TITLES[place]))
                    }
                }
            } }
        }
        p.quiet {
            "Worst latency: from the event to the task, the worst of all samples. Work stretched: how \
             much longer the longest piece of equal work took than the shortest. Throughput kept: \
             the work of the loads, geometric mean."
            @if columns == 4 {
                " Wakeups of a normal task that may use every CPU: the mean."
            }
            @if (0..3).any(|number| !any(number)) {
                " What is not there was not measured; " code { "artis measure all --load NAME" }
                " gives all three."
            }
        }
    };
    Some(Section {
        id: "numbers",
        title: if columns == 4 {
            "Four numbers"
        } else {
            "Three numbers"
        },
        single: false,
        body,
    })
}

/// Of the columns, where there is little room.
const TITLES: [&str; 4] = [
    "worst latency",
    "stretched by",
    "work kept",
    "others wake up",
];

fn cell(number: &Number, most: f64, title: &str) -> Markup {
    let (class, sign, words) = match &number.beside {
        Beside::Base => ("", "", String::new()),
        Beside::Same => ("", "=", "as the baseline".to_owned()),
        Beside::Gains(words) => ("gains", "▲", format!("gains: {words}")),
        Beside::Pays(words) => ("pays", "▼", format!("pays: {words}")),
        Beside::None(words) => ("", "", words.clone()),
    };
    let width = number
        .value
        .map_or(0.0, |value| 100.0 * value / most.max(1e-9));
    html! {
        td data-title=(title) {
            span.number { (number.words) }
            @if number.value.is_some() && most > 0.0 {
                span.bar aria-hidden="true" { span style=(format!("width:{width:.1}%")) {} }
            }
            @if !words.is_empty() {
                span.beside.(class) { span aria-hidden="true" { (sign) " " } (words) }
            }
        }
    }
}

fn is_base(all: &Comparison, one: &Compared) -> bool {
    std::ptr::eq(all.base(), one)
}

fn latency(all: &Comparison, one: &Compared) -> Number {
    time(all, one, &WORST)
}

fn answers(all: &Comparison, one: &Compared) -> Number {
    time(all, one, &normal())
}

/// Less is better.
fn time(all: &Comparison, one: &Compared, metric: &Metric) -> Number {
    let Some(cell) = one.cells.get(metric) else {
        return missing();
    };
    let value = cell.figure.value;
    let words = format!("{} {}", digits(value), plain(first_word(&all.unit)));
    let theirs = all.base().cells.get(metric).map(|cell| cell.figure.value);
    let ratio = cell.ratio.unwrap_or_default();
    let beside = match (ratio.of_all, ratio.unequal, theirs) {
        _ if is_base(all, one) => Beside::Base,
        (Some(ratio), _, Some(theirs)) => relation(
            ratio,
            format!("{} times the baseline's {}", digits(ratio), digits(theirs)),
        ),
        (None, Some((ours, theirs)), _) => Beside::None(format!(
            "not put in relation: {} samples against {}",
            grouped(ours.cast_signed()),
            grouped(theirs.cast_signed())
        )),
        _ => Beside::None("the baseline has none".to_owned()),
    };
    Number {
        value: Some(value),
        words,
        beside,
    }
}

/// Less is better.
fn stretch(all: &Comparison, one: &Compared) -> Number {
    let Some(cell) = one.cells.get(&STRETCH) else {
        return missing();
    };
    let value = cell.figure.value;
    let per_cent = |value: f64| format!("{} %", digits((value * 1000.0).round() / 10.0));
    let theirs = all.base().cells.get(&STRETCH).map(|cell| cell.figure.value);
    let unequal = cell.ratio.and_then(|ratio| ratio.unequal);
    let beside = match theirs {
        _ if is_base(all, one) => Beside::Base,
        Some(_) if unequal.is_some() && !all.unequal_allowed => {
            Beside::None("not put in relation: other numbers of samples".to_owned())
        }
        Some(theirs) => relation(
            (1.0 + value) / (1.0 + theirs),
            format!("{} in the baseline", per_cent(theirs)),
        ),
        None => Beside::None("the baseline has none".to_owned()),
    };
    Number {
        value: Some(value),
        words: per_cent(value),
        beside,
    }
}

/// More is better.
fn kept(all: &Comparison, one: &Compared) -> Number {
    let Some(kept) = all.throughput_kept(one) else {
        return missing();
    };
    let change = format!("{:.1} % of the baseline's work", (kept - 1.0).abs() * 100.0);
    let beside = match kept {
        _ if is_base(all, one) => Beside::Base,
        ..0.995 => Beside::Pays(change),
        0.995..1.005 => Beside::Same,
        _ => Beside::Gains(change),
    };
    Number {
        value: Some(kept),
        words: format!("{:.1} %", kept * 100.0),
        beside,
    }
}

/// Of a figure of which less is better.
fn relation(ratio: f64, words: String) -> Beside {
    match ratio {
        _ if (ratio - 1.0).abs() < SAME => Beside::Same,
        ..1.0 => Beside::Gains(words),
        _ => Beside::Pays(words),
    }
}

fn missing() -> Number {
    Number {
        value: None,
        words: "–".to_owned(),
        beside: Beside::None("not measured".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::compared;

    #[test]
    fn one_gains_what_the_other_pays() {
        let rows: [(&str, &[f64]); 3] =
            [("stock", &[900.0]), ("artis", &[90.0]), ("bad", &[1800.0])];
        let all = compared(&rows, false);
        let of = |at: usize| latency(&all, &all.configurations[at]);
        assert_eq!(of(0).words, "900 us");
        assert!(matches!(of(0).beside, Beside::Base));
        assert!(matches!(of(1).beside, Beside::Gains(words) if words.starts_with("0.1 times")));
        assert!(matches!(of(2).beside, Beside::Pays(words) if words.starts_with("2 times")));
        assert!(matches!(
            kept(&all, &all.configurations[1]).beside,
            Beside::Same
        ));
        assert!(stretch(&all, &all.configurations[1]).value.is_none());
    }

    #[test]
    fn extremes_of_other_numbers_of_samples_are_not_put_in_relation() {
        let rows: [(&str, &[f64]); 2] = [("stock", &[900.0, 800.0]), ("artis", &[90.0])];
        let all = compared(&rows, false);
        let found = latency(&all, &all.configurations[1]).beside;
        assert!(
            matches!(found, Beside::None(words) if words.contains("1,000 samples against 2,000"))
        );
    }
}
