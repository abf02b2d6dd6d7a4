// SPDX-License-Identifier: GPL-2.0-only
//! One loss: its title, and a line a segment.

use super::{short, us};
use artis_explain::cut::Segment;
use artis_explain::document::Explained;
use artis_explain::lane::Lane;
use artis_explain::recording::{Loss, Task};

const SCHED_DEADLINE: u32 = 6;
/// Where a code begins; a longer one has a line of its own.
const CODE_AT: usize = 57;
const WIDTH: usize = super::WIDTH;
/// Functions of a stack that are shown.
const FUNCTIONS: usize = 6;
/// Segments with a line of their own at the begin and at the end of a long list.
const SEGMENTS: usize = 30;

/// A loss with its number.
pub(super) fn table(number: usize, explained: &Explained) -> String {
    let subject = &explained.recording.subject;
    let task = &subject.task;
    let what = match subject.loss {
        Loss::Late => "late".to_owned(),
        Loss::LockedOut => "waited for a lock".to_owned(),
        Loss::Stretched => format!(
            "of an activation of {:.3} us lost",
            us(subject.end_ns - subject.due_ns)
        ),
    };
    let incomplete = match explained.recording.is_incomplete() {
        true => ", incomplete",
        false => "",
    };
    let mut text = format!(
        "{number}. {}/{}{}: {what} {:.3} us{incomplete}\n",
        super::super::words::plain(&task.name),
        task.tid,
        priority(task),
        us(subject.lost_ns),
    );
    let segments = &explained.segments;
    let cut = segments.len() > 2 * SEGMENTS + 1;
    for (at, segment) in segments.iter().enumerate() {
        if cut && at == SEGMENTS {
            let between = &segments[SEGMENTS..segments.len() - SEGMENTS];
            let ns: u64 = between.iter().map(Segment::ns).sum();
            text += &format!("{:>12.3}  in {} more segments\n", us(ns), between.len());
        }
        if cut && (SEGMENTS..segments.len() - SEGMENTS).contains(&at) {
            continue;
        }
        text += &line(segment);
    }
    let sum: u64 = segments.iter().map(Segment::ns).sum();
    text + &format!("{:>12.3}  in all\n", us(sum))
}

/// How a task is scheduled.
fn priority(task: &Task) -> String {
    match (task.policy, task.priority) {
        (SCHED_DEADLINE, _) => " (deadline)".to_owned(),
        (2, 0..100) => format!(" (RR {})", 99 - task.priority),
        (_, 0..100) => format!(" (FIFO {})", 99 - task.priority),
        _ => String::new(),
    }
}

fn line(segment: &Segment) -> String {
    let culprit = match (&segment.culprit, segment.tid) {
        (Some(culprit), Some(tid)) if segment.lane != Lane::Softirq => numbered(culprit, tid),
        (Some(culprit), _) => culprit.clone(),
        (None, _) => "unknown".to_owned(),
    };
    let first = format!(
        "{:>12.3}  {:15} {:26}",
        us(segment.ns()),
        segment.lane,
        short(&culprit, 26)
    );
    let mut text = first;
    if let Some(code) = &segment.code {
        let code = super::super::words::plain(code);
        if CODE_AT + code.chars().count() <= WIDTH {
            text += &format!(" {code}");
        } else {
            text = format!("{}\n{:31}{}", text.trim_end(), "", short(&code, WIDTH - 31));
        }
    }
    text = text.trim_end().to_owned() + "\n";
    if !segment.chain.is_empty() {
        text += &below(&segment.chain.join(", "));
    }
    if !segment.stack.is_empty() {
        let shown: Vec<&str> = segment
            .stack
            .iter()
            .map(String::as_str)
            .take(FUNCTIONS)
            .collect();
        text += &below(&format!("in {}", shown.join(" < ")));
    }
    text
}

/// The name with the thread's number, before how it is scheduled.
fn numbered(culprit: &str, tid: u32) -> String {
    match culprit.split_once(" (") {
        Some((name, rest)) => format!("{name}/{tid} ({rest}"),
        None => format!("{culprit}/{tid}"),
    }
}

/// Words below a line, under its culprit.
fn below(words: &str) -> String {
    super::Layout {
        margin: 0,
        indent: 31,
        width: WIDTH,
    }
    .paragraph("", words)
}
