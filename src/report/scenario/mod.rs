// SPDX-License-Identifier: GPL-2.0-only
//! Scenarios in words: what was understood of a file ([`shown`]), and what each task of a run did
//! ([`run`]).

mod program;
pub mod run;

use super::columns::Columns;
use super::columns::Side::{Left, Right};
use super::comparison::WIDTH;
use super::list_or_count;
use super::paragraph::{Layout, TITLED};
use super::units::time;
use super::words::plain;
use artis_scenario::Reading;
use artis_scenario::format::{Note, NoteKind};
use artis_scenario::model::{Objects, Pattern, Protocol, Scenario, Task, Via};
use std::fmt::Write as _;

/// Of more tasks, so many are shown.
const TASKS_MAX: usize = 60;
const NOTE: Layout = Layout {
    margin: 2,
    indent: 11,
    width: WIDTH,
};

/// Nanoseconds with the unit that suits them.
fn ns(ns: u64) -> String {
    time(ns as f64 / 1000.0)
}

fn count(number: u64, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{number} {one}s"),
    }
}

/// One line: what a file has.
pub fn brief(source: &str, reading: &Reading) -> String {
    let scenario = &reading.scenario;
    let notes = match reading.notes.len() {
        0 => String::new(),
        number => format!("; {}", count(number as u64, "note")),
    };
    format!(
        "{}: {}, {}{notes}\n",
        plain(source),
        reading.format.name(),
        count(scenario.instances(), "task")
    )
}

/// Notes of these kinds, one a line.
pub fn notes(notes: &[Note], wanted: &[NoteKind]) -> String {
    let notes = notes.iter().filter(|note| wanted.contains(&note.kind));
    let lines = notes.map(|note| {
        let place = match note.place {
            Some(place) => format!("{place}: "),
            None => String::new(),
        };
        NOTE.paragraph(note.kind.name(), &format!("{place}{}", note.text))
    });
    lines.collect()
}

/// All that was understood.
pub fn shown(reading: &Reading, width: usize) -> String {
    let scenario = &reading.scenario;
    let format = reading.format.name();
    let mut text = TITLED.paragraph("scenario", &format!("{} ({format})", scenario.name));
    text += &TITLED.paragraph("machine", &machine(scenario));
    text += &TITLED.paragraph("ends", &end(scenario));
    let started = count(scenario.instances(), "task");
    let kinds = count(scenario.tasks.len() as u64, "program");
    text += &TITLED.paragraph("tasks", &format!("{started} of {kinds}"));
    text.push('\n');
    text += &table(scenario, width);
    let (first, left) = scenario.tasks.split_at(scenario.tasks.len().min(TASKS_MAX));
    for task in first {
        let _ = write!(text, "\n{}\n", plain(&task.name));
        text += &program::text(task, scenario);
    }
    if !left.is_empty() {
        let _ = writeln!(text, "\n… and {}", count(left.len() as u64, "program"));
    }
    text += &objects(&scenario.objects);
    if !reading.notes.is_empty() {
        text += "\nNotes\n";
        let all = [
            NoteKind::Doubt,
            NoteKind::Ignored,
            NoteKind::Assumed,
            NoteKind::Taken,
        ];
        text += &notes(&reading.notes, &all);
    }
    text
}

fn machine(scenario: &Scenario) -> String {
    let machine = &scenario.machine;
    let cpus = match machine.cpus {
        Some(cpus) => count(cpus.into(), "CPU"),
        None => "any number of CPUs".to_owned(),
    };
    match machine.rt_cpus.is_empty() {
        true => format!("{cpus}, none of them an RT CPU"),
        false => format!("{cpus}, RT CPUs {}", machine.rt_cpus),
    }
}

fn end(scenario: &Scenario) -> String {
    let mut ways = Vec::new();
    if let Some(duration_ns) = scenario.end.duration_ns {
        ways.push(format!("after {}", ns(duration_ns)));
    }
    if scenario.end.with_foreground {
        ways.push("with its foreground tasks".to_owned());
    }
    if !scenario.ends() {
        return "not by itself: with Ctrl-C".to_owned();
    }
    ways.push("when all tasks have ended".to_owned());
    ways.join(", or ")
}

fn table(scenario: &Scenario, width: usize) -> String {
    let mut table = Columns::new([
        ("class", Left),
        ("policy", Left),
        ("may use", Left),
        ("count", Right),
        ("starts", Right),
        ("name", Left),
    ]);
    for task in scenario.tasks.iter().take(TASKS_MAX) {
        table.push([
            task.class(&scenario.machine).name().to_owned(),
            task.policy.to_string(),
            may_use(task),
            task.count.to_string(),
            ns(task.start_ns),
            of_task(task, scenario),
        ]);
    }
    table.text(width)
}

fn may_use(task: &Task) -> String {
    match &task.cpus {
        None => "all".to_owned(),
        Some(cpus) => list_or_count(cpus, 11),
    }
}

/// Its name, and what is special of it.
fn of_task(task: &Task, scenario: &Scenario) -> String {
    let mut text = plain(&task.name);
    if let Some(group) = task.group {
        let _ = write!(text, ", in {}", plain(&scenario.objects.groups[group].name));
    }
    if task.is_foreground {
        text += ", foreground";
    }
    if let Some(deadline_ns) = task.deadline_ns {
        let _ = write!(text, ", deadline {}", ns(deadline_ns));
    }
    text
}

fn objects(objects: &Objects) -> String {
    let mut lines = Vec::new();
    for mutex in &objects.mutexes {
        let protocol = match mutex.protocol {
            Protocol::None => "no protocol".to_owned(),
            Protocol::Inheritance => "priority inheritance".to_owned(),
            Protocol::Ceiling(ceiling) => format!("ceiling {ceiling}"),
        };
        lines.push(format!("mutex {}: {protocol}", mutex.name));
    }
    for name in &objects.conditions {
        lines.push(format!("condition {name}"));
    }
    for semaphore in &objects.semaphores {
        let (name, value) = (&semaphore.name, semaphore.value);
        lines.push(format!("semaphore {name}: {value}"));
    }
    for barrier in &objects.barriers {
        let (name, parties) = (&barrier.name, barrier.parties);
        lines.push(format!("barrier {name}: {parties} parties"));
    }
    for channel in &objects.channels {
        let (name, bytes) = (&channel.name, channel.capacity_bytes);
        let medium = format!("{:?}", channel.medium).to_lowercase();
        lines.push(format!("{medium} {name}: {bytes} bytes"));
    }
    for timer in &objects.timers {
        let whose = if timer.is_shared { "shared" } else { "own" };
        let mode = if timer.is_relative {
            "relative"
        } else {
            "absolute"
        };
        let via = match timer.via {
            Via::Nanosleep => "",
            Via::Timerfd => ", timerfd",
        };
        lines.push(format!("timer {}: {whose}, {mode}{via}", timer.name));
    }
    for arrivals in &objects.arrivals {
        lines.push(format!(
            "arrivals {}: {}",
            arrivals.name,
            pattern(&arrivals.pattern)
        ));
    }
    for group in &objects.groups {
        let mut parts = Vec::new();
        parts.extend(group.weight.map(|weight| format!("weight {weight}")));
        let quota = group
            .quota
            .map(|it| format!("{} of {}", ns(it.quota_ns), ns(it.period_ns)));
        parts.extend(quota);
        parts.extend(group.cpus.as_ref().map(|cpus| format!("CPUs {cpus}")));
        lines.push(match parts.is_empty() {
            true => format!("group {}", group.name),
            false => format!("group {}: {}", group.name, parts.join(", ")),
        });
    }
    match lines.is_empty() {
        true => String::new(),
        false => {
            let lines: String = lines
                .iter()
                .map(|line| format!("  {}\n", plain(line)))
                .collect();
            format!("\nShared\n{lines}")
        }
    }
}

fn pattern(pattern: &Pattern) -> String {
    match pattern {
        Pattern::Listed(times) => count(times.len() as u64, "listed time"),
        Pattern::Periodic {
            first_ns,
            period_ns,
            jitter_ns,
        } => format!(
            "every {} from {}, up to {} later",
            ns(*period_ns),
            ns(*first_ns),
            ns(*jitter_ns)
        ),
        Pattern::Random { mean_ns } => format!("at random, every {} in the mean", ns(*mean_ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_scenario::read;

    #[test]
    fn what_was_understood_is_shown() {
        let text = "duration = \"2s\"\n[machine]\ncpus = 2\nrt = 1\n[mutex.map]\nceiling = 80\n\
                    [[task]]\nname = \"loop\"\nclass = \"rt0\"\ncpu = 1\n\
                    forever = [{ lock = \"map\" }, { compute = \"200us\" }, { unlock = \"map\" }, \
                    { every = \"1ms\" }]\n\
                    [[task]]\nname = \"build\"\ncount = 3\nrun = [{ loop = 5, steps = [{ compute = \
                    \"10ms\" }, { calls = 20 }] }, { acquire = \"never\" }]\n";
        let reading = read(text, None, "it").unwrap();
        let expected = "\
scenario  it (toml)
machine   2 CPUs, RT CPUs 1
ends      after 2 s, or when all tasks have ended
tasks     4 tasks of 2 programs

class  policy   may use  count  starts  name
RT0    FIFO 99  1            1    0 us  loop
Linux  OTHER    all          3    0 us  build

loop
  for ever
    lock map
    compute 200 us
    unlock map
    wait for the next 1 ms of timer own

build
  5 times
    compute 10 ms
    20 times
      the shortest system call
  acquire never

Shared
  mutex map: ceiling 80
  semaphore never: 0
  timer own: own, absolute

Notes
  doubt    semaphore never begins as 0 and is acquired, and nobody posts to it
";
        assert_eq!(shown(&reading, 100), expected);
        assert_eq!(brief("f", &reading), "f: toml, 4 tasks; 1 note\n");
    }
}
