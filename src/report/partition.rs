// SPDX-License-Identifier: GPL-2.0-only
//! Plans, and what became of them, as tables that fit the width.

use super::paragraph;
use artis_partition::change::Change;
use artis_partition::plan::{Left, Plan, Request};
use artis_partition::transaction::{Foreign, InForce, Refused, Reverted, Standing, State};

/// Longest value of a table; a longer one is cut in the middle of its line.
const VALUE_WIDTH: usize = 34;

/// All of a plan.
pub fn plan(request: &Request, plan: &Plan, width: usize) -> String {
    let count = plan.changes.len();
    let mut text = heading(request, &format!("{count} changes to make"), width);
    text += &changes(&plan.changes, width);
    text += &left(&plan.left, width);
    text
}

/// The changes that were made of a plan.
pub fn applied(request: &Request, plan: &Plan, refused: &[Refused], width: usize) -> String {
    let made = plan.changes.len();
    let mut text = heading(request, &format!("{made} changes made"), width);
    text += &changes(&plan.changes, width);
    if !refused.is_empty() {
        text += "\nrefused by the kernel\n";
        for one in refused {
            text += &wrapped(&format!("{}: {}", one.change, one.why), width);
        }
    }
    text += &left(&plan.left, width);
    text += "\nartis partition reset puts everything back\n";
    text
}

fn heading(request: &Request, what: &str, width: usize) -> String {
    let line = format!("RT CPUs {}, NRT CPUs {}: {what}", request.rt, request.nrt);
    title(&line, width)
}

/// Changes of one kind and reason under one heading.
fn changes(changes: &[Change], width: usize) -> String {
    let mut text = String::new();
    let mut rest = changes;
    while let Some(first) = rest.first() {
        let same = |one: &Change| (one.kind, &one.reason) == (first.kind, &first.reason);
        let end = rest.iter().position(|one| !same(one)).unwrap_or(rest.len());
        let (group, others) = rest.split_at(end);
        rest = others;
        text.push('\n');
        text += &title(&format!("{}: {}", first.kind, first.reason), width);
        let row = |one: &Change| {
            let values = format!("{} -> {}", value(&one.old), value(&one.new));
            (one.what.clone(), one.target.place(), values)
        };
        text += &rows(group.iter().map(row), width);
    }
    text
}

fn value(text: &str) -> String {
    match text {
        "" => "-".to_owned(),
        text if text.chars().count() > VALUE_WIDTH => {
            let head: String = text.chars().take(VALUE_WIDTH - 1).collect();
            format!("{head}…")
        }
        text => text.to_owned(),
    }
}

/// Three columns where they fit; otherwise the path has its own line.
fn rows(rows: impl Iterator<Item = (String, String, String)>, width: usize) -> String {
    let rows: Vec<_> = rows.collect();
    let widest = |column: fn(&(String, String, String)) -> &String| {
        let widths = rows.iter().map(|row| column(row).chars().count());
        widths.max().unwrap_or(0)
    };
    let (what, path, values) = (
        widest(|row| &row.0),
        widest(|row| &row.1),
        widest(|row| &row.2),
    );
    let fits = what + path + values + 6 <= width;
    rows.iter()
        .map(|(one, file, change)| {
            let one_and_change = one.chars().count() + change.chars().count() + 4;
            if fits {
                format!("  {one:what$}  {file:path$}  {change}\n")
            } else if one_and_change <= width {
                format!("  {one}  {change}\n      {file}\n")
            } else {
                format!("  {one}\n      {file}\n      {change}\n")
            }
        })
        .collect()
}

fn left(left: &[Left], width: usize) -> String {
    if left.is_empty() {
        return String::new();
    }
    let mut text = "\nleft as it is\n".to_owned();
    for one in left {
        let line = format!("{}: {}: {}", one.id, one.what, one.why);
        text += &wrapped(&line, width);
    }
    text
}

/// A sentence on lines that fit, all but the first indented further.
fn wrapped(sentence: &str, width: usize) -> String {
    let words = sentence.split_whitespace().map(str::to_owned);
    paragraph::wrapped(words, "  ", "      ", width)
}

/// The same, for what stands above others.
fn title(sentence: &str, width: usize) -> String {
    let words = sentence.split_whitespace().map(str::to_owned);
    paragraph::wrapped(words, "", "    ", width)
}

/// What is in force and who owns it.
pub fn in_force(in_force: &[InForce], width: usize) -> String {
    if in_force.is_empty() {
        return "nothing is changed by artis\n".to_owned();
    }
    let mut text = String::new();
    for owner in in_force {
        let state = |wanted: fn(&State) -> bool| -> Vec<&Standing> {
            let all = owner.changes.iter();
            all.filter(|one| wanted(&one.state)).collect()
        };
        if !text.is_empty() {
            text.push('\n');
        }
        let line = format!(
            "{} (process {}) since {}, RT CPUs {}",
            owner.owner.command(),
            owner.pid,
            owner.since,
            owner.rt
        );
        text += &title(&line, width);
        let in_force: Vec<Change> = state(|state| *state == State::InForce)
            .into_iter()
            .map(|one| one.change.clone())
            .collect();
        text += &changes(&in_force, width);
        let others = state(|state| *state != State::InForce);
        if !others.is_empty() {
            text += "\nnot in force\n";
        }
        for one in others {
            let how = match &one.state {
                State::InForce => continue,
                State::Changed(now) => format!("somebody has made it {now}"),
                State::Halfway(now) => {
                    format!("it is at {now}: artis died while it put it back, or somebody moved it")
                }
                State::NotMade => {
                    "it was not made, or was put back; artis partition reset cleans up".to_owned()
                }
                State::Gone => "there is no such thing any more".to_owned(),
            };
            text += &wrapped(&format!("{}: {how}", one.change), width);
        }
    }
    text
}

/// What was reverted, and what was not.
pub fn reverted(reverted: &Reverted, whose: &str, width: usize) -> String {
    if reverted.rebooted {
        return format!(
            "{whose} ended with the boot that it was made in; there is nothing to put back\n"
        );
    }
    let mut text = format!("put back {} settings of {whose}\n", reverted.restored.len());
    let mut list = |title: &str, lines: Vec<String>| {
        if lines.is_empty() {
            return;
        }
        text.push('\n');
        text += &self::title(title, width);
        for line in lines {
            text += &wrapped(&line, width);
        }
    };
    list(
        "somebody else has changed these since, so they stay",
        reverted.foreign.iter().map(three_values).collect(),
    );
    list(
        "put back, though they were not as artis had left them: somebody moved them, or artis died",
        reverted.halfway.iter().map(three_values).collect(),
    );
    list(
        "another part of artis relies on these, and puts them back when it ends",
        reverted.shared.iter().map(|one| one.what.clone()).collect(),
    );
    list(
        "could not be put back; artis partition reset tries again",
        reverted
            .failed
            .iter()
            .map(|one| format!("{}: {}", one.change, one.why))
            .collect(),
    );
    text
}

fn three_values(one: &Foreign) -> String {
    let change = &one.change;
    format!(
        "{} ({}): it was {}, artis made it {}, now it is {}",
        change.what,
        change.target.place(),
        value(&change.old),
        value(&change.new),
        value(&one.now)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_partition::change::{Kind, Target};

    fn change(what: &str, path: &str, new: &str) -> Change {
        Change {
            kind: Kind::IrqAffinity,
            what: what.to_owned(),
            target: Target::file(path),
            old: "0-3".to_owned(),
            new: new.to_owned(),
            detour: None,
            reason: "an interrupt on an RT CPU preempts RT0".to_owned(),
        }
    }

    #[test]
    fn every_line_fits_the_width() {
        let long = "x".repeat(60);
        let many: String = (0..2000).step_by(2).map(|cpu| format!("{cpu},")).collect();
        for what in ["interrupt 24 (a)", &long] {
            let text = changes(
                &[
                    change(what, "/proc/irq/24/smp_affinity_list", "0-2"),
                    change(what, "/proc/irq/25/smp_affinity_list", &many),
                ],
                80,
            );
            assert!(
                text.lines().all(|line| line.chars().count() <= 80),
                "{text}"
            );
            assert_eq!(text.matches("irq-affinity:").count(), 1, "{text}");
        }
        let text = wrapped(&"word ".repeat(60), 80);
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert_eq!(text.matches("word").count(), 60);
    }

    #[test]
    fn what_somebody_else_changed_is_reported_with_all_three_values() {
        let undo = Reverted {
            foreign: vec![Foreign {
                change: change("interrupt 24", "/proc/x", "0-2"),
                now: "1".to_owned(),
            }],
            ..Reverted::default()
        };
        let text = reverted(&undo, "the partition", 80);
        assert!(
            text.contains("it was 0-3, artis made it 0-2, now it is 1"),
            "{text}"
        );
    }
}
