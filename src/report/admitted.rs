// SPDX-License-Identifier: GPL-2.0-only
//! The admitted tasks in words: each beside its bound and what was seen of it, and which of the
//! model's numbers did not hold.

use super::admit::{cut, percent, word};
use super::columns::Columns;
use super::columns::Side::{Left, Right};
use super::comparison::WIDTH;
use super::paragraph::Layout;
use artis_admit::Verdict;
use artis_admit::answer::time;
use serde::Serialize;

/// Names that are longer are cut in tables.
const NAME_MAX: usize = 20;

/// The tasks of one CPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfCpu {
    pub cpu: u32,
    pub policy: &'static str,
    pub verdict: Verdict,
    pub because: String,
    /// Parts of the CPU's time that tasks and interrupts take.
    pub utilisation: f64,
    pub taken: f64,
    /// Most urgent first.
    pub tasks: Vec<Line>,
    /// What the analysis does not know of.
    pub warnings: Vec<String>,
}

/// An admitted task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    pub name: String,
    pub pid: i32,
    pub tid: i32,
    /// As the kernel has it now.
    pub scheduling: String,
    /// What it should be, where it is not.
    pub not_in_force: Option<String>,
    pub forced: bool,
    /// What was to happen at an overrun, where nobody watches any more.
    pub unwatched: Option<&'static str>,
    pub execution_ns: u64,
    pub period_ns: u64,
    pub deadline_ns: u64,
    pub bound_ns: Option<u64>,
    /// The longest execution, with what interrupts may take meanwhile.
    pub budget_ns: u64,
    /// The shortest distance of two wakeups that the model allows.
    pub distance_ns: u64,
    /// None: not measured.
    pub seen: Option<Seen>,
}

/// What was seen of a task's jobs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Seen {
    pub seconds: f64,
    pub jobs: u64,
    pub overruns: u64,
    /// Jobs that may be several: longer than the period.
    pub merged: u64,
    pub execution_ns_max: u64,
    /// From a wakeup to the end of its job.
    pub response_ns_max: u64,
    pub distance_ns_min: Option<u64>,
}

/// Whether the tasks fit, and none of the model's numbers was seen to be wrong.
pub fn holds(cpu: &OfCpu) -> bool {
    let task = |one: &Line| {
        let seen = one.seen.as_ref();
        let in_time = |seen: &Seen| seen.response_ns_max <= one.bound_ns.unwrap_or(u64::MAX);
        one.not_in_force.is_none()
            && one.unwatched.is_none()
            && seen.is_none_or(|seen| numbers(one, seen).is_empty() && in_time(seen))
    };
    cpu.verdict == Verdict::Schedulable && cpu.tasks.iter().all(task)
}

/// All of it.
pub fn text(cpus: &[OfCpu]) -> String {
    if cpus.is_empty() {
        return "no task is admitted; `artis run rt0 --period 1ms --budget 200us -- CMD` admits one\n"
            .to_owned();
    }
    let each: Vec<String> = cpus.iter().map(of_cpu).collect();
    each.join("\n")
}

fn of_cpu(cpu: &OfCpu) -> String {
    let layout = Layout {
        margin: 0,
        indent: 2,
        width: WIDTH,
    };
    let head = format!(
        "CPU {}, policy {}: {} for tasks, {} for interrupts; {}: {}",
        cpu.cpu,
        cpu.policy,
        percent(cpu.utilisation),
        percent(cpu.taken),
        word(cpu.verdict),
        cpu.because
    );
    let mut text = layout.paragraph("", &head) + &table(&cpu.tasks);
    let points: Vec<String> = cpu.tasks.iter().flat_map(|one| broken(one, cpu)).collect();
    for point in points.iter().chain(&cpu.warnings) {
        text += &layout.paragraph("-", point);
    }
    text
}

fn table(tasks: &[Line]) -> String {
    let mut table = Columns::new([
        ("tid", Right),
        ("execution", Right),
        ("seen", Right),
        ("period", Right),
        ("deadline", Right),
        ("bound", Right),
        ("seen", Right),
        ("jobs", Right),
        ("task", Left),
    ]);
    for task in tasks {
        let seen = |figure: fn(&Seen) -> String| {
            let seen = task.seen.as_ref().filter(|seen| seen.jobs > 0);
            seen.map_or_else(|| "-".to_owned(), figure)
        };
        table.push([
            task.tid.to_string(),
            time(task.execution_ns),
            seen(|seen| time(seen.execution_ns_max)),
            time(task.period_ns),
            time(task.deadline_ns),
            task.bound_ns.map_or_else(|| "none".to_owned(), time),
            seen(|seen| time(seen.response_ns_max)),
            seen(|seen| seen.jobs.to_string()),
            format!("{} ({})", cut(&task.name, NAME_MAX), task.scheduling),
        ]);
    }
    table.text(WIDTH)
}

/// What does not hold of a task, a sentence each, with the measured number.
fn broken(task: &Line, cpu: &OfCpu) -> Vec<String> {
    let name = &task.name;
    let mut points = Vec::new();
    if task.forced {
        points.push(format!("{name} was forced in; the set did not fit with it"));
    }
    if let Some(wanted) = &task.not_in_force {
        points.push(format!(
            "{name} runs as {}, and should as {wanted}",
            task.scheduling
        ));
    }
    if let Some(action) = task.unwatched {
        points.push(format!(
            "the watch of {name} (--on-overrun {action}) has ended; `sudo artis run overruns {}` \
             starts it again",
            task.tid
        ));
    }
    let Some(seen) = task.seen.as_ref().filter(|seen| seen.jobs > 0) else {
        points.push(format!(
            "{name}: not measured; `sudo artis tasks --model -D 1m` does, and so does --on-overrun \
             report from its start on"
        ));
        return points;
    };
    points.extend(numbers(task, seen));
    if seen.merged > 0 {
        points.push(format!(
            "{} times {name} did not sleep for longer than its period: jobs so late cannot be told \
             apart, and only as much is said of them as is sure",
            seen.merged
        ));
    }
    let bound_ns = task.bound_ns.unwrap_or(u64::MAX);
    if seen.response_ns_max > bound_ns {
        let of_others = cpu.tasks.iter().filter(|other| other.tid != task.tid);
        let others: Vec<&str> = of_others
            .filter(|other| {
                other
                    .seen
                    .as_ref()
                    .is_some_and(|it| !numbers(other, it).is_empty())
            })
            .map(|other| other.name.as_str())
            .collect();
        let why = match (numbers(task, seen).is_empty(), others.is_empty()) {
            (false, _) => "its own numbers do not hold, see above".to_owned(),
            (true, false) => format!("the numbers of {} do not hold", others.join(", ")),
            (true, true) => format!(
                "the measured numbers hold, so it is what the machine takes: interrupts, sections \
                 with preemption off, switches; `sudo artis explain run -D 1m --pid {}` names it",
                task.pid
            ),
        };
        points.push(format!(
            "{name} was done {}{} after a wakeup, and its bound is {}: {why}",
            time(seen.response_ns_max),
            if seen.merged > 0 { " or later" } else { "" },
            time(bound_ns)
        ));
    }
    points
}

/// The numbers of a task's own that did not hold.
fn numbers(task: &Line, seen: &Seen) -> Vec<String> {
    let name = &task.name;
    let mut points = Vec::new();
    if seen.execution_ns_max > task.budget_ns {
        points.push(format!(
            "{name} executed {} in a job, and the model says {}; {} of {} jobs were too long",
            time(seen.execution_ns_max),
            time(task.budget_ns),
            seen.overruns,
            seen.jobs
        ));
    }
    if let Some(least) = seen
        .distance_ns_min
        .filter(|least| *least < task.distance_ns)
    {
        points.push(format!(
            "two jobs of {name} began {} apart, and the model says {} at least, with the jitter of the \
             task and of [platform] (`artis measure costs`)",
            time(least),
            time(task.distance_ns)
        ));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, seen: Option<Seen>) -> Line {
        Line {
            name: name.to_owned(),
            pid: 4_194_303,
            tid: 4_194_303,
            scheduling: "FIFO 98".to_owned(),
            not_in_force: None,
            forced: false,
            unwatched: None,
            execution_ns: 200_000,
            period_ns: 1_000_000,
            deadline_ns: 800_000,
            bound_ns: Some(456_789),
            budget_ns: 212_000,
            distance_ns: 990_000,
            seen,
        }
    }

    fn seen(execution_us: u64, response_us: u64, distance_us: u64) -> Option<Seen> {
        Some(Seen {
            seconds: 60.0,
            jobs: 60_000,
            overruns: 3,
            merged: 0,
            execution_ns_max: execution_us * 1000,
            response_ns_max: response_us * 1000,
            distance_ns_min: Some(distance_us * 1000),
        })
    }

    fn said(tasks: Vec<Line>) -> String {
        let cpu = OfCpu {
            cpu: 1,
            policy: "rm",
            verdict: Verdict::Schedulable,
            because: "every deadline is met".to_owned(),
            utilisation: 0.2,
            taken: 0.01,
            tasks,
            warnings: vec!["CPU 1 has other real-time tasks".to_owned()],
        };
        let text = text(&[cpu]);
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_holds_needs_no_words_and_what_was_not_measured_is_said() {
        let text = said(vec![line("a", seen(200, 300, 995))]);
        assert!(!text.contains("- a"), "{text}");
        assert!(text.contains("- CPU 1 has other"), "{text}");
        let text = said(vec![line("a", None)]);
        assert!(
            text.contains("- a: not measured; `sudo artis tasks"),
            "{text}"
        );
    }

    #[test]
    fn a_broken_assumption_is_named_with_the_measured_number() {
        for (seen, words) in [
            (
                seen(310, 320, 995),
                "a executed 310 us in a job, and the model says 212 us; 3 of",
            ),
            (
                seen(200, 300, 500),
                "two jobs of a began 500 us apart, and the model says 990 us",
            ),
            (
                seen(200, 700, 995),
                "its bound is 456.789 us: the measured numbers hold",
            ),
            (seen(310, 700, 995), "its own numbers do not hold"),
        ] {
            let text = said(vec![line("a", seen)]);
            assert!(text.contains(words), "{words}\n{text}");
        }
        let text = said(vec![line("a", seen(310, 320, 995)), {
            let mut other = line("b", seen(200, 700, 995));
            other.tid = 5;
            other
        }]);
        assert!(text.contains("the numbers of a do not hold"), "{text}");
    }

    #[test]
    fn a_task_that_left_its_policy_is_said() {
        let mut one = line("a", seen(200, 300, 995));
        one.scheduling = "NORMAL".to_owned();
        one.not_in_force = Some("FIFO 98".to_owned());
        one.forced = true;
        one.unwatched = Some("demote");
        let text = said(vec![one]);
        assert!(
            text.contains("a runs as NORMAL, and should as FIFO 98"),
            "{text}"
        );
        assert!(text.contains("a was forced in"), "{text}");
        assert!(text.contains("(--on-overrun demote) has ended"), "{text}");
    }
}
