// SPDX-License-Identifier: GPL-2.0-only
//! The first sentence of the page, and what has to be known to read it right.

use super::Content;
use crate::decision;
use crate::digits::{digits, grouped};
use crate::explain::{picture, rtla};
use crate::style::first_word;
use crate::words::{notes, plain, unequal};
use artis_decide::compare::metric::{Quantity, Stat};
use artis_decide::compare::{Compared, Comparison, Metric};
use artis_decide::verdict::Choice;
use artis_result::names::Ordinary;
use maud::{Markup, html};

pub(super) const WORST: Metric = Metric::Of(Quantity::Latency, Stat::Max);

/// How soon a normal task answers.
pub(super) fn normal() -> Metric {
    Metric::Of(
        Quantity::Other(Ordinary::Normal.name().to_owned()),
        Stat::Mean,
    )
}

/// How many are named in a sentence.
const OTHERS: usize = 3;

/// Worst latencies no further apart than this are alike: then throughput decides whom the sentence
/// is about.
const ALIKE: f64 = 1.1;

/// The verdict for the job; without one, what the worst latencies are.
pub(super) fn sentence(content: &Content) -> String {
    if let Some(verdict) = content.verdict {
        let choice = verdict.decided.choice;
        return match choice {
            Choice::Unknown => "Not enough is known for a verdict".to_owned(),
            choice => format!("Verdict: {}", decision::choice(choice)),
        };
    }
    if let Some(all) = content.comparison {
        return compared(all);
    }
    let worst = content
        .explanations
        .iter()
        .find_map(|(_, one)| one.worst.first());
    match worst {
        Some(worst) => {
            let name = picture::title(1, worst);
            format!("The worst: {}", name.trim_start_matches("1. "))
        }
        None => match content.analyses.iter().flat_map(|(_, all)| all).next() {
            Some(one) => format!("rtla: {}", rtla::sentence(one)),
            None => "No thread was late: nothing to explain".to_owned(),
        },
    }
}

fn worst(one: &Compared) -> Option<f64> {
    one.cells.get(&WORST).map(|cell| cell.figure.value)
}

/// The one with the shortest worst latency; of those that are alike the one that keeps most of the
/// throughput.
fn best(all: &Comparison) -> Option<&Compared> {
    let comparable = all.configurations.iter().filter(|one| {
        let cell = one.cells.get(&WORST);
        cell.and_then(|cell| cell.ratio)
            .is_some_and(|ratio| ratio.of_all.is_some())
    });
    let by_worst = |one: &&Compared, other: &&Compared| {
        let value = |one| worst(one).unwrap_or(f64::INFINITY);
        value(one).total_cmp(&value(other))
    };
    let shortest = comparable.clone().min_by(by_worst)?;
    let limit = worst(shortest)? * ALIKE;
    let alike = comparable.filter(|one| worst(one).is_some_and(|ours| ours <= limit));
    let kept = alike.filter_map(|one| Some((one, all.throughput_kept(one)?)));
    let most = kept.max_by(|one, other| one.1.total_cmp(&other.1));
    Some(most.map_or(shortest, |(one, _)| one))
}

fn compared(all: &Comparison) -> String {
    let unit = first_word(&all.unit);
    let base = all.base();
    let name = &base.configuration.name;
    let Some(theirs) = worst(base) else {
        let names = all.names();
        return match names.as_slice() {
            [one] => format!("{one}: what was measured"),
            several => format!("{} configurations side by side", several.len()),
        };
    };
    let theirs_words = format!("{} {unit}", digits(theirs));
    match (best(all), all.configurations.len()) {
        (_, 1) => format!("{name} was at worst {theirs_words} late"),
        (Some(one), _) if worst(one).is_some_and(|ours| ours < theirs) => {
            let ours = digits(worst(one).unwrap_or_default());
            let kept = all.throughput_kept(one).map_or_else(String::new, |kept| {
                format!(
                    ", and keeps {} % of its throughput",
                    digits((kept * 1000.0).round() / 10.0)
                )
            });
            // What one side gains, the other may pay.
            let metric = normal();
            let normal = |one: &Compared| one.cells.get(&metric).map(|cell| cell.figure.value);
            let others = normal(one)
                .zip(normal(base))
                .map_or_else(String::new, |both| {
                    format!(
                        "; a normal task wakes up after {} {unit}, {name}'s after {}",
                        digits(both.0),
                        digits(both.1)
                    )
                });
            format!(
                "{} is at worst {ours} {unit} late, {name} {theirs_words}{kept}{others}",
                one.configuration.name
            )
        }
        (Some(_), _) => format!("Nothing has a shorter worst latency than {name}: {theirs_words}"),
        (None, _) => {
            let others = all
                .configurations
                .iter()
                .filter(|one| !std::ptr::eq(*one, base));
            let others = others.filter_map(|one| {
                let ours = digits(worst(one)?);
                Some(format!("{} {ours} {unit}", one.configuration.name))
            });
            let all: Vec<String> = others.take(OTHERS).collect();
            if all.is_empty() {
                return format!("{name} was at worst {theirs_words} late");
            }
            format!(
                "{name} is at worst {theirs_words} late, {}: of different numbers of samples",
                all.join(", ")
            )
        }
    }
}

/// Why, of what, and what speaks against it.
pub(super) fn below(content: &Content) -> Markup {
    html! {
        @if let Some(verdict) = content.verdict {
            p.lead { (plain(&decision::because(verdict))) "." }
            p { "The job: " (decision::job(&verdict.job)) "." }
            @if let Some(next) = decision::next(verdict) {
                p { "What would say more: " code { (plain(&next)) } }
            }
            @if !verdict.unlike.is_empty() {
                p.warning role="note" {
                    strong { "Not alike. " }
                    (plain(&verdict.unlike.join("; "))) "."
                }
            }
        } @else if let Some(all) = content.comparison {
            @if all.configurations.len() > 1 {
                p { "Which price is worth it depends on the job: " code { "artis report --job" }
                    " gives the verdict for one." }
            }
        }
        @if let Some(all) = content.comparison {
            p.of { (of_what(content, all)) }
            @if all.unit.contains("emulated") {
                p.warning role="note" {
                    strong { "Emulated time. " }
                    "All times are " (plain(&all.unit)) ": they compare configurations, and are no \
                     microseconds of a real machine."
                }
            }
            (against(all))
        }
    }
}

/// How much was measured, under which load.
fn of_what(content: &Content, all: &Comparison) -> String {
    let samples = || {
        all.configurations
            .iter()
            .map(|one| one.configuration.samples())
    };
    let number = |count: Option<u64>| grouped(count.unwrap_or(0).cast_signed());
    let (least, most) = (samples().min(), samples().max());
    let mut words = match least == most {
        true => format!("{} samples", number(least)),
        false => format!("{} to {} samples", number(least), number(most)),
    };
    if all.configurations.len() > 1 {
        words += " each";
    }
    let documents = content.measured.iter().flat_map(|one| one.documents);
    let seconds: f64 = documents.filter_map(|one| one.seconds).sum();
    if seconds > 0.0 {
        words += &format!(", {} s in all", digits(seconds));
    }
    let base = &all.base().configuration;
    words += &match base.loads.as_slice() {
        [] => "; no load".to_owned(),
        loads => format!("; load: {}", loads.join(", ")),
    };
    words += &format!("; times in {}", all.unit);
    if all.configurations.len() > 1 {
        words += &format!("; baseline: {}", base.name);
    }
    plain(&words)
}

/// What speaks against the figures.
fn against(all: &Comparison) -> Markup {
    let sentences: Vec<String> = notes(all).into_iter().chain(unequal(all)).collect();
    html! {
        @if !sentences.is_empty() {
            details.against open[sentences.len() <= 4] {
                summary { "What speaks against the figures (" (sentences.len()) ")" }
                ul { @for sentence in &sentences { li { (plain(sentence)) } } }
            }
        }
    }
}
