// SPDX-License-Identifier: GPL-2.0-only
//! What `artis explain` says: a line a segment, who made the late wakeups, and what to do.

pub mod inversion;
mod losses;
pub mod perfetto;
pub mod picture;
pub mod rtla;

use super::paragraph::Layout;
use artis_explain::document::{Counts, Document};
use artis_explain::lane::Lane;

/// Columns of the tables and paragraphs.
pub(super) const WIDTH: usize = 80;
/// Rows of the table of culprits; the rest is one row.
const ROWS: usize = 12;
/// Threads that have a line of their own.
const THREADS: usize = 8;

const TEXT: Layout = Layout {
    margin: 0,
    indent: 2,
    width: WIDTH,
};

/// The whole text.
pub fn text(document: &Document) -> String {
    let mut text = head(document);
    for (at, explained) in document.worst.iter().enumerate() {
        text.push('\n');
        text += &losses::table(at + 1, explained);
    }
    if document.worst.is_empty() {
        text += "\nno thread was late: nothing to explain\n";
        return text + &foot(document);
    }
    text += &culprits(document);
    text += &advice(document);
    text + &foot(document)
}

/// Who was watched, how long, and what they lost.
fn head(document: &Document) -> String {
    let watched = format!("watched {}", document.watched);
    let mut text = format!("{:.1} s; {watched}", document.seconds);
    text = TEXT.paragraph("", &text).trim_start().to_owned();
    text += &format!(
        "\n{:16} {:>9} {:>11} {:>11}  {:>7} {:>8} {:>9}\n",
        "us", "wakeups", "mean", "worst", "lost in", "worst", "for locks"
    );
    let mut threads: Vec<_> = document.threads.iter().collect();
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.wakeups.count));
    for thread in threads.iter().take(THREADS) {
        let name = format!("{}/{}", thread.name, thread.tid);
        text += &format!(
            "{:16} {:>9} {:>11.3} {:>11.3}  {:>7.1} {:>8.1} {:>9.1}\n",
            short(&name, 16),
            thread.wakeups.count,
            mean(thread.wakeups),
            us(thread.wakeups.ns_max),
            mean(thread.activations),
            us(thread.activations.ns_max),
            us(thread.locks.ns_max),
        );
    }
    if let Some(more) = threads.len().checked_sub(THREADS).filter(|more| *more > 0) {
        text += &format!("and {more} more\n");
    }
    text
}

/// The table of culprits.
fn culprits(document: &Document) -> String {
    let mut text = String::from("\nwho made the late wakeups\n");
    text += &format!(
        "{:33} {:15} {:>5} {:>9} {:>7} {:>5}\n",
        "culprit", "lane", "times", "us", "worst", "share"
    );
    let lengthy = document.culprits.len() > ROWS + 1;
    let shown = if lengthy { ROWS } else { ROWS + 1 };
    for row in document.culprits.iter().take(shown) {
        let culprit = row.culprit.as_deref().unwrap_or("unknown");
        text += &format!(
            "{:33} {:15} {:>5} {:>9.1} {:>7.1} {:>4.1} %\n",
            short(culprit, 33),
            row.lane,
            row.times,
            us(row.ns_sum),
            us(row.ns_max),
            100.0 * row.share
        );
    }
    if lengthy {
        let rest = &document.culprits[ROWS..];
        let share: f64 = rest.iter().map(|row| row.share).sum();
        text += &format!("and {} more, {:.1} %\n", rest.len(), 100.0 * share);
    }
    text
}

/// What to do about the lanes that took most.
fn advice(document: &Document) -> String {
    if document.advice.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nwhat to do\n");
    for one in &document.advice {
        let mut words = one.text.clone();
        if !one.steps.is_empty() {
            words += &format!("; artis partition: {}", one.steps.join(", "));
        }
        if !one.findings.is_empty() {
            words += &format!("; artis check: {}", one.findings.join(", "));
        }
        text += &Layout {
            margin: 0,
            indent: 17,
            width: WIDTH,
        }
        .paragraph(&one.lane.to_string(), &words);
    }
    text
}

/// What is not known.
fn foot(document: &Document) -> String {
    let mut notes = document.absent.clone();
    let missed = &document.missed;
    if missed.events > 0 {
        notes.push(format!(
            "{} of {} events were lost: they came while the same hook was at work",
            missed.events, document.events
        ));
    }
    if missed.losses > 0 {
        notes.push(format!(
            "{} late wakeups could not be looked at before they were overwritten",
            missed.losses
        ));
    }
    if missed.without_room > 0 {
        notes.push(format!(
            "{} late wakeups were given up: worse ones needed the memory; --worst with a smaller \
             number, or --threshold, keeps to those",
            missed.without_room
        ));
    }
    if missed.untraced > 0 {
        notes.push(format!(
            "{} wakeups were not judged: this kernel traced neither them nor the task that had the \
             CPU before; the thread's own clock says how late they were",
            missed.untraced
        ));
    }
    if missed.incomplete > 0 {
        notes.push(format!(
            "{} of those above have a hole in their record: what is in it is unknown",
            missed.incomplete
        ));
    }
    let mut text = String::new();
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        text += TEXT.paragraph("", &format!("note: {note}")).trim_start();
    }
    text
}

/// The line about the memory that the recorder has, and that what is kept may take.
pub fn memory(bytes: u64, kept_bytes: u64) -> String {
    let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
    format!(
        "recording in {:.1} MiB of the kernel's memory, which does not grow; keeping the worst takes \
         at most {:.0} MiB",
        mib(bytes),
        mib(kept_bytes)
    )
}

/// What the sign of life says.
pub fn so_far(worst_ns: u64) -> String {
    format!("worst {:.1} us", worst_ns as f64 / 1000.0)
}

/// The sentence about the limit that ended the recording; none when nothing was above it.
pub fn exceeded(document: &Document, until_us: u64) -> Option<String> {
    let first = document
        .worst
        .iter()
        .find(|one| one.recording.subject.lost_ns > until_us.saturating_mul(1000))?;
    let subject = &first.recording.subject;
    Some(format!(
        "{} lost {:.3} us: above {until_us} us",
        subject.task.name,
        us(subject.lost_ns)
    ))
}

pub(super) fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

fn mean(counts: Counts) -> f64 {
    us(counts.ns_sum) / counts.count.max(1) as f64
}

/// Plain text of at most so many columns.
pub(super) fn short(text: &str, width: usize) -> String {
    let text = super::words::plain(text);
    match text.chars().count() > width {
        true => text.chars().take(width - 1).chain(['…']).collect(),
        false => text,
    }
}

/// A lane's colour in pictures: alike lanes have alike colours.
pub(super) fn colour(lane: Lane) -> &'static str {
    match lane {
        Lane::Firmware | Lane::Hypervisor => "#000000",
        Lane::IdleExit => "#56b4e9",
        Lane::Device | Lane::InterruptsOff | Lane::PreemptionOff => "#d55e00",
        Lane::HardInterrupt => "#e69f00",
        Lane::Softirq => "#cc79a7",
        Lane::RealTimeTask | Lane::DeadlineTask | Lane::DeadlineServer => "#0072b2",
        Lane::RtThrottling | Lane::Throttled => "#7a0019",
        Lane::OtherTask => "#6f8fb0",
        Lane::Stopped | Lane::Traced => "#3b3b3b",
        Lane::RunqueueLock | Lane::Lock | Lane::Wait => "#7b3294",
        Lane::Scheduler => "#888888",
        Lane::Slack | Lane::ClockSet => "#bbbbbb",
        Lane::OwnFault | Lane::OwnSystemCall | Lane::OwnWork => "#009e73",
        Lane::Unknown => "#f0e442",
    }
}
