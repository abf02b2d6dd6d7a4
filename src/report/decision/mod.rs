// SPDX-License-Identifier: GPL-2.0-only
//! A verdict in words: the choice first, then the candidates, what the runs allow to claim, what
//! would flip it, and the paper's questions with their answers.
//!
//! How a verdict is worded stands in this folder and nowhere else.

mod because;
mod document;
mod open;
mod paper;

pub(super) use because::{because, choice};
pub use document::Document;
pub(super) use open::next;

use super::comparison::WIDTH;
use super::curves::in_words;
use super::extrapolation;
use super::paragraph::{Layout, TITLED};
use super::units::{time, time_to};
use super::words::plain;
use artis_decide::extremes::Refusal;
use artis_decide::extremes::binomial::activations_needed;
use artis_decide::job::{Job, Miss, Work};
use artis_decide::verdict::flips::What;
use artis_decide::verdict::miss::{CONFIDENCE, allowed};
use artis_decide::verdict::{Flip, Judged, Meets, Origin, Verdict};
use std::fmt::Write;

const WORDS: Layout = Layout {
    margin: 2,
    indent: 2,
    width: WIDTH,
};
const NAME_MAX: usize = 12;
/// Of the candidates' numbers, those further away are no news.
const FLIPS_MAX: usize = 4;
const FLIP_DIGITS: usize = 4;

/// The whole answer.
pub fn text(verdict: &Verdict, notes: &[String]) -> String {
    let mut text = TITLED.paragraph("job", &job(&verdict.job));
    text += &TITLED.paragraph("verdict", &choice(verdict.decided.choice));
    text += &TITLED.paragraph("because", &because(verdict));
    if let Some(next) = next(verdict) {
        text += &command("type", &next);
    }
    for sentence in &verdict.unlike {
        text += &TITLED.paragraph("unlike", sentence);
    }
    if verdict
        .candidates
        .iter()
        .any(|one| one.origin == Origin::Emulated)
    {
        text += &TITLED.paragraph(
            "note",
            &format!(
                "the facts are an emulator's ({}): they hold relative to each other, and the \
                 deadline is compared as if it were in the same unit; measure on the machine \
                 before you rely on it",
                verdict.unit
            ),
        );
    }
    text += &candidates(verdict);
    for (title, paragraphs) in sections(verdict) {
        section(&mut text, title, paragraphs);
    }
    section(&mut text, "Notes", notes.to_vec());
    text
}

/// A command to copy: its lines end as a shell wants it.
fn command(title: &str, words: &str) -> String {
    let narrow = Layout {
        width: WIDTH - 2,
        ..TITLED
    };
    let paragraph = narrow.paragraph(title, words);
    paragraph.trim_end().replace('\n', " \\\n") + "\n"
}

/// What stands below the candidates: each part with its title and sentences.
pub(super) fn sections(verdict: &Verdict) -> [(&'static str, Vec<String>); 6] {
    [
        ("What it costs", costs(verdict)),
        ("What the runs allow to claim", claims(verdict)),
        ("What would flip it", flips(verdict)),
        ("The paper's principles", paper::principles(verdict)),
        ("The paper's decision flow", paper::flow(verdict)),
        ("Unknown", open::unknown(verdict)),
    ]
}

fn section(text: &mut String, title: &str, paragraphs: Vec<String>) {
    if paragraphs.is_empty() {
        return;
    }
    let _ = write!(text, "\n{title}\n");
    for paragraph in paragraphs {
        *text += &WORDS.paragraph("", &paragraph);
    }
}

/// What is to be done by when.
pub(super) fn job(job: &Job) -> String {
    let mut words = plain(&job.name);
    match &job.work {
        Some(Work::Us(us)) => words += &format!(": {} of {} work", time(*us), job.nature),
        Some(Work::File(path)) => words += &format!(": {} work as in {}", job.nature, plain(path)),
        Some(Work::Command(command)) => words += &format!(": {}", plain(&command.join(" "))),
        None => words += ":",
    }
    match job.deadline_us {
        Some(us) => words += &format!(", done {} after the event", time(us)),
        None => words += " no deadline",
    }
    if let Some(rate) = job.rate {
        words += &format!(", {} a second", number(rate));
    }
    if job.deadline_us.is_some() {
        words += &match job.miss {
            Miss::Hard { probability: None } => "; no miss is acceptable".to_owned(),
            Miss::Hard {
                probability: Some(p),
            } => format!("; a miss must have a probability of at most {p:e}"),
            Miss::PerHour(count) => format!("; {} misses an hour are acceptable", number(count)),
        };
    }
    let command = job.rest_command.as_ref().map(|words| words.join(" "));
    let rest = job.rest.clone().or(command);
    if let Some(rest) = &rest {
        words += &format!("; beside it {}", plain(rest));
    }
    if job.loss < 1.0 {
        let of = match rest {
            Some(_) => ", of which",
            None => "; of the other work",
        };
        words += &format!("{of} {} may be lost", per_cent(job.loss));
    }
    if let Some(used) = job.utilisation {
        words += &format!(
            "; at the peak {} of the CPUs' time are used",
            per_cent(used)
        );
    }
    words
}

/// About three digits, without zeros at the end.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        100.0..1e7 => format!("{value:.0}"),
        10.0..100.0 => super::rounded(value, 1),
        0.01..10.0 => super::rounded(value, 3),
        _ => format!("{value:.1e}"),
    }
}

fn per_cent(part: f64) -> String {
    format!("{} %", super::rounded(part * 100.0, 1))
}

fn short_name(one: &Judged) -> String {
    let name = plain(&one.name);
    if name.chars().count() <= NAME_MAX {
        return name;
    }
    name.chars().take(NAME_MAX - 1).chain(['…']).collect()
}

fn candidates(verdict: &Verdict) -> String {
    if verdict.candidates.is_empty() {
        return String::new();
    }
    let [mean, worst, misses, each, kept, deadline] = COLUMNS;
    let mut text = format!(
        "\nlatency in {}\n{:<NAME_MAX$} {mean:>8} {worst:>8} {misses:>15} {each:>16} {kept:>5} \
         {deadline}\n",
        plain(&verdict.unit),
        "",
    );
    for one in &verdict.candidates {
        let [mean, worst, misses, each, kept, meets] = cells(one, verdict);
        let name = short_name(one);
        let line = format!(
            "{name:<NAME_MAX$} {mean:>8} {worst:>8} {misses:>15} {each:>16} {kept:>5} {meets}"
        );
        text += line.trim_end();
        text.push('\n');
    }
    let elsewhere = verdict
        .candidates
        .iter()
        .filter(|one| one.origin == Origin::Elsewhere);
    for one in elsewhere {
        text += &WORDS.paragraph("", &format!("{}: measured elsewhere", plain(&one.name)));
    }
    if verdict
        .candidates
        .iter()
        .any(|one| one.meets == Meets::Extrapolated)
    {
        text += &WORDS.paragraph("", "*: by laws of extremes, not by what was seen");
    }
    text
}

/// What the columns of the candidates are called.
pub(super) const COLUMNS: [&str; 6] = ["mean", "worst", "misses", "each, 95 %", "kept", "deadline"];

/// A candidate's figures: mean and worst latency, misses, their probability each activation, what
/// it keeps of the throughput, and whether it meets the deadline.
pub(super) fn cells(one: &Judged, verdict: &Verdict) -> [String; 6] {
    let us = |value: Option<f64>| match value {
        None => "-".to_owned(),
        Some(us) if us < 1e6 => format!("{us:.1}"),
        Some(us) => format!("{us:.1e}"),
    };
    let (misses, each) = match &one.misses {
        None => ("-".to_owned(), "-".to_owned()),
        Some(it) => (
            match it.misses_most {
                most if it.at_least || most == it.misses => {
                    let more = if it.at_least { ">=" } else { "" };
                    format!("{more}{}/{}", it.misses, it.activations)
                }
                most => format!("{}..{most}/{}", it.misses, it.activations),
            },
            format!("{:.1e}..{:.1e}", it.probability.low, it.probability.high),
        ),
    };
    let each = each.replace("0.0e0..", "0..");
    let kept = one
        .throughput_kept
        .map_or("-".to_owned(), |kept| format!("{:.0} %", kept * 100.0));
    let meets = match (&one.meets, one.affordable) {
        (Meets::Yes, true) => "met",
        (Meets::Yes, false) => "met, too costly",
        (Meets::Extrapolated, true) => "met*",
        (Meets::Extrapolated, false) => "met*, too costly",
        (Meets::No, _) => "missed",
        (Meets::NotShown { .. }, _) => "not shown",
        (Meets::Unknown, _) if verdict.job.deadline_us.is_none() => "-",
        (Meets::Unknown, _) => "unknown",
    };
    [
        us(one.latency_us_mean),
        us(one.latency_us_max),
        misses,
        each,
        kept,
        meets.to_owned(),
    ]
}

/// What each keeps of the throughput, where the runs say how sure that is.
fn costs(verdict: &Verdict) -> Vec<String> {
    let wanted = verdict.job.wanted();
    let each = verdict.candidates.iter().filter_map(|one| {
        let (kept, interval) = one.throughput_kept.zip(one.throughput_interval)?;
        let mut words = format!(
            "{} keeps {} of the throughput (95 %: {} to {})",
            plain(&one.name),
            per_cent(kept),
            per_cent(interval.low),
            per_cent(interval.high)
        );
        if (interval.low..interval.high).contains(&wanted) {
            words += &format!(", so it is not sure that it keeps {}", per_cent(wanted));
        }
        Some(words + ".")
    });
    each.collect()
}

/// What each run shows, and how long one must run to show what the job asks for.
fn claims(verdict: &Verdict) -> Vec<String> {
    let mut all = Vec::new();
    for one in &verdict.candidates {
        let Some(misses) = &one.misses else { continue };
        let mut words = format!(
            "{}: with 95 % confidence a miss has a probability of at most {:.1e} each activation",
            plain(&one.name),
            misses.at_most
        );
        // Hours of an emulator are none.
        let per_hour = misses.per_hour.filter(|_| one.origin != Origin::Emulated);
        if let Some(per_hour) = per_hour {
            words += &format!(
                ", which is {} to {} an hour",
                number(per_hour.low),
                number(per_hour.high)
            );
        }
        words.push('.');
        if let (0, Some(wanted)) = (misses.misses, allowed(&verdict.job))
            && misses.at_most > wanted
            && let Some(sentence) = to_claim(&verdict.job, wanted)
        {
            words += &format!(" {sentence}");
        }
        if let Some(found) = &misses.extrapolation {
            words += &extrapolation::sentences(found, misses.activations);
        }
        // Where nothing more is asked for, only a refusal that says something of the machine.
        let matters =
            |refusal: &&Refusal| allowed(&verdict.job).is_some() || **refusal != Refusal::NoBlocks;
        if let Some(refusal) = misses.refusal.as_ref().filter(matters) {
            words += &format!(" Nothing is extrapolated: {refusal}.");
        }
        all.push(words);
    }
    if let (true, Some(wanted)) = (all.is_empty(), allowed(&verdict.job)) {
        all.extend(to_claim(&verdict.job, wanted));
    }
    all
}

/// How long a run has to be that shows so small a probability of a miss.
fn to_claim(job: &Job, wanted: f64) -> Option<String> {
    let needed = activations_needed(wanted, CONFIDENCE)?;
    let mut words = format!("To claim {wanted:.1e} it takes {needed} without a miss");
    if let Some(rate) = job.rate {
        words += &format!(", which is {}", time(needed as f64 / rate * 1e6));
    }
    Some(words + ".")
}

/// All numbers of the job, and the nearest of the candidates'.
fn flips(verdict: &Verdict) -> Vec<String> {
    let mut candidates = 0;
    let shown = |one: &&Flip| match one.what {
        What::Latency { .. } | What::ThroughputKept { .. } | What::Round { .. } => {
            candidates += 1;
            candidates <= FLIPS_MAX
        }
        _ => true,
    };
    let mut words: Vec<String> = verdict.flips.iter().filter(shown).map(flip).collect();
    for one in &verdict.break_even {
        let how = match one.measured {
            true => "curves of completion times",
            false => "mean latency and slowdown",
        };
        words.push(format!(
            "{} work longer than {} is finished earlier by {} than by {} ({how})",
            one.nature,
            in_words(&one.crossing),
            plain(&one.base),
            plain(&one.candidate)
        ));
    }
    words
}

fn flip(one: &Flip) -> String {
    let (above, over) = match one.is_above() {
        true => ("above", "more than"),
        false => ("below", "less than"),
    };
    let then = choice(one.then);
    let (at, now) = (one.at, one.now);
    // A little beyond what is written the verdict has to flip.
    let time = |us| time_to(us, FLIP_DIGITS);
    match &one.what {
        What::Deadline => format!(
            "a deadline {above} {} (now {}): {then}",
            time(at),
            time(now)
        ),
        What::Work => format!(
            "work of one activation {above} {} (now {}): {then}",
            time(at),
            time(now)
        ),
        What::PerSecond => format!(
            "{over} {} activations a second (now {}): {then}",
            number(at),
            number(now)
        ),
        What::MissesPerHour => format!(
            "{over} {} acceptable misses an hour (now {}): {then}",
            number(at),
            number(now)
        ),
        What::MissProbability => {
            format!("an acceptable probability of a miss {above} {at:.2e} (now {now:.2e}): {then}")
        }
        What::Loss => format!(
            "an acceptable loss of throughput {above} {} (now {}): {then}",
            per_cent(at),
            per_cent(now)
        ),
        What::MemoryNeeded => format!(
            "memory needed {above} {:.0} MiB (now {:.0} MiB): {then}",
            at / 1_048_576.0,
            now / 1_048_576.0
        ),
        What::Utilisation => format!(
            "utilisation at the peak {above} {} (now {}): {then}",
            per_cent(at),
            per_cent(now)
        ),
        What::Latency { candidate } => format!(
            "latencies of {} that are {} times as long, so that the worst is {}: {then}",
            plain(candidate),
            super::rounded(at / now, 2),
            time(at)
        ),
        What::ThroughputKept { candidate } => format!(
            "throughput of {} {above} {} (now {}): {then}",
            plain(candidate),
            per_cent(at),
            per_cent(now)
        ),
        What::Round { candidate } => format!(
            "a round on {} {above} {} (now {}): {then}",
            plain(candidate),
            time(at),
            time(now)
        ),
        What::Virtual => format!("no virtual machine: {then}"),
    }
}

#[cfg(test)]
mod tests;
