// SPDX-License-Identifier: GPL-2.0-only
//! Whether a set of tasks fits, in words: the verdict first, then each CPU with its tasks, what
//! their bounds are made of, and what would have to change.

use super::columns::Columns;
use super::columns::Side::{Left, Right};
use super::comparison::WIDTH;
use super::paragraph::{Layout, TITLED};
use super::words::plain;
use artis_admit::analysis::{Fits, Parts};
use artis_admit::answer::{OfChange, OfCpu, OfMeeting, OfTask, time};
use artis_admit::{Admission, Verdict};

const POINT: Layout = Layout {
    margin: 2,
    indent: 4,
    width: WIDTH,
};
/// Of more tasks of a CPU, those with the least slack are shown.
const TASKS_MAX: usize = 40;
/// Names that are longer are cut in tables.
const NAME_MAX: usize = 24;
const NAME_OF_PART_MAX: usize = 11;

/// The verdict in a word.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Schedulable => "schedulable",
        Verdict::Refused => "refused",
        Verdict::Unknown => "unknown",
    }
}

/// One line for a set of many; `source` is its file.
pub fn line(source: &str, answer: &Admission) -> String {
    let (source, because) = (plain(source), plain(&answer.because));
    format!("{source}: {}: {because}\n", word(answer.verdict))
}

/// The whole answer.
pub fn text(answer: &Admission) -> String {
    let set = format!("{}, policy {}", answer.name, answer.policy.name());
    let mut text = TITLED.paragraph("set", &set);
    text += &TITLED.paragraph("verdict", word(answer.verdict));
    text += &TITLED.paragraph("because", &answer.because);
    for sentence in &answer.settle {
        text += &TITLED.paragraph("settle", sentence);
    }
    for sentence in &answer.alternatives {
        text += &TITLED.paragraph("or", sentence);
    }
    for cpu in &answer.cpus {
        text += &of_cpu(cpu);
    }
    text += &list("It holds as long as", &answer.assumptions);
    text += &list("Notes", &answer.notes);
    if !answer.commands.is_empty() {
        text += "\nCommands\n";
        for command in &answer.commands {
            // Not wrapped: they are copied.
            text += &format!("  {}\n", plain(command));
        }
    }
    text
}

fn list(title: &str, sentences: &[String]) -> String {
    let points = sentences.iter().map(|one| POINT.paragraph("-", one));
    match sentences.is_empty() {
        true => String::new(),
        false => format!("\n{title}\n{}", points.collect::<String>()),
    }
}

pub(super) fn percent(part: f64) -> String {
    format!("{:.2} %", part * 100.0)
}

fn of_cpu(cpu: &OfCpu) -> String {
    let growth = match cpu.growth {
        None => String::new(),
        Some(growth) if growth >= 1.0 => {
            format!("; all execution times may become {growth} times as long")
        }
        Some(growth) => format!("; with all execution times at {growth} of theirs it would fit"),
    };
    let head = format!(
        "CPU {}: {} for tasks, {} for interrupts{growth}",
        cpu.cpu,
        percent(cpu.utilisation),
        percent(cpu.taken)
    );
    let whole = Layout {
        margin: 0,
        indent: 0,
        width: WIDTH,
    };
    let mut text = format!("\n{}", whole.paragraph("", &head));
    let shown = shown(&cpu.tasks);
    text += &table(&shown);
    if shown.len() < cpu.tasks.len() {
        let left = cpu.tasks.len() - shown.len();
        text += &format!("and {left} tasks with more slack; --json has all\n");
    }
    let parts: Vec<String> = shown.iter().filter_map(|task| made_of(task)).collect();
    if !parts.is_empty() {
        text += &format!("\nWhat the bounds are made of, us\n{}", parts.concat());
    }
    if !cpu.changes.is_empty() {
        let changes: Vec<String> = cpu.changes.iter().map(change).collect();
        text += &list("Any one of these would do", &changes);
    }
    text + &list(
        "Timers that meet whatever their offsets are",
        &meetings(cpu),
    )
}

/// All tasks, or those with the least slack, in their order.
fn shown(tasks: &[OfTask]) -> Vec<&OfTask> {
    let mut all: Vec<(usize, &OfTask)> = tasks.iter().enumerate().collect();
    if all.len() > TASKS_MAX {
        all.sort_by_key(|(_, task)| (task.meets == Fits::Yes, task.slack_ns));
        all.truncate(TASKS_MAX);
        all.sort_by_key(|(at, _)| *at);
    }
    all.into_iter().map(|(_, task)| task).collect()
}

fn table(tasks: &[&OfTask]) -> String {
    let mut table = Columns::new([
        ("prio", Right),
        ("execution", Right),
        ("period", Right),
        ("deadline", Right),
        ("bound", Right),
        ("slack", Right),
        ("offset", Right),
        ("task", Left),
    ]);
    for task in tasks {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let bound = match (task.bound_ns, task.why) {
            (Some(ns), _) => time(ns),
            (None, Some(_)) if task.meets == Fits::No => "none".to_owned(),
            (None, _) => "unknown".to_owned(),
        };
        table.push([
            or_none(task.priority.map(|it| it.to_string())),
            time(task.execution_ns),
            time(task.period_ns),
            time(task.deadline_ns),
            bound,
            or_none(task.slack_ns.map(signed)),
            or_none(task.offset_ns.map(time)),
            cut(&task.name, NAME_MAX),
        ]);
    }
    table.text(WIDTH)
}

fn signed(ns: i64) -> String {
    let size = time(ns.unsigned_abs());
    match ns < 0 {
        true => format!("-{size}"),
        false => size,
    }
}

pub(super) fn cut(name: &str, most: usize) -> String {
    let name = plain(name);
    match name.chars().count() > most {
        true => name.chars().take(most - 1).chain(['~']).collect(),
        false => name,
    }
}

/// Microseconds, exactly.
fn us(ns: i64) -> String {
    super::rounded(ns as f64 / 1000.0, 3)
}

fn made_of(task: &OfTask) -> Option<String> {
    let Parts {
        own_ns,
        earlier_ns,
        others_ns,
        blocking_ns,
        interrupts_ns,
        tick_ns,
        switches_ns,
        jitter_ns,
        before_ns,
    } = task.parts?;
    let named = [
        (own_ns, "own"),
        (earlier_ns, "earlier jobs"),
        (others_ns, "others first"),
        (blocking_ns, "blocking"),
        (interrupts_ns, "interrupts"),
        (tick_ns, "tick"),
        (switches_ns, "switches"),
        (jitter_ns, "wakeup and jitter"),
        (before_ns, "over before its release"),
    ];
    let words = named.iter().filter(|(ns, _)| *ns != 0);
    let words = words
        .enumerate()
        .map(|(at, (ns, name))| match (at, *ns < 0) {
            (0, _) => format!("{} {name}", us(*ns)),
            (_, true) => format!("- {} {name}", us(-ns)),
            (_, false) => format!("+ {} {name}", us(*ns)),
        });
    let words: Vec<String> = words.collect();
    let layout = Layout {
        margin: 2,
        indent: 15,
        width: WIDTH,
    };
    let bound = us(task.bound_ns? as i64);
    let words = format!("{bound} = {}", words.join(" "));
    Some(layout.paragraph(&cut(&task.name, NAME_OF_PART_MAX), &words))
}

fn change(change: &OfChange) -> String {
    let OfChange {
        task,
        number,
        now_ns,
        needed_ns,
    } = change;
    let direction = match needed_ns < now_ns {
        true => "down to",
        false => "up to",
    };
    format!(
        "{}: {} {direction} {} (now {})",
        plain(task),
        number.name(),
        time(*needed_ns),
        time(*now_ns)
    )
}

fn meetings(cpu: &OfCpu) -> Vec<String> {
    let sentence = |meeting: &OfMeeting| {
        let other = meeting.other.as_deref().unwrap_or("the tick");
        format!(
            "{} and {}: their periods have only {} in common",
            plain(&meeting.task),
            plain(other),
            time(meeting.divisor_ns)
        )
    };
    cpu.meetings.iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_admit::model::{Policy, Set, Task};
    use artis_admit::{admit, example::EXAMPLE};

    #[test]
    fn the_example_fits_eighty_columns() {
        let answer = admit(&Set::parse(EXAMPLE).unwrap());
        let text = text(&answer);
        let (before, commands) = text.split_once("\nCommands\n").unwrap();
        for line in before.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        assert!(
            commands.contains("artis run rt0 --cpu 1 --priority 98 -- ./joints"),
            "{text}"
        );
        assert!(line("x", &answer).starts_with("x: schedulable: every deadline is met"));
    }

    #[test]
    fn a_refused_set_says_who_breaks_and_what_would_do() {
        let tasks = vec![
            Task::new("a", 26_000, 70_000),
            Task::new("b", 62_000, 100_000),
        ];
        let text = text(&admit(&Set::new(Policy::Rm, tasks)));
        for words in [
            "verdict   refused",
            "b is done 118 us after its event at the latest, and its deadline is 100 us",
            "118 = 62 own + 248 earlier jobs + 208 others first - 400 over before its",
            "b: execution down to",
            "a: execution down to",
            "it would fit",
            "it fits with policy = \"edf\"",
        ] {
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(&words), "{words}\n{text}");
        }
    }
}
