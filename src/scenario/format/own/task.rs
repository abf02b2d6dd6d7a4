// SPDX-License-Identifier: GPL-2.0-only
//! A `[[task]]`: its class or policy, its count, and its program.

use super::super::builder::Builder;
use super::super::place::Wrong;
use super::super::tree::{Member, Value, find};
use super::{only, step};
use crate::model::*;
use artis_machine::CpuList;

const KEYS: &[&str] = &[
    "name",
    "class",
    "policy",
    "cpu",
    "cpus",
    "priority",
    "level",
    "nice",
    "runtime",
    "deadline",
    "period",
    "group",
    "count",
    "start",
    "foreground",
    "working_set",
    "run",
    "forever",
];

/// Keys that say how a task is scheduled.
pub const SCHEDULING: &[&str] = &[
    "class", "policy", "cpu", "cpus", "priority", "level", "nice", "runtime", "deadline", "period",
    "group",
];

/// The name of the task at this place.
pub fn name(value: &Value, place: usize) -> Result<String, Wrong> {
    match find(value.object("task")?, "name") {
        Some(name) => Ok(name.name("name")?.to_owned()),
        None => Ok(format!("task{}", place + 1)),
    }
}

/// Reads one task.
pub fn read(value: &Value, place: usize, builder: &mut Builder) -> Result<Task, Wrong> {
    let members = value.object("task")?;
    only(members, KEYS)?;
    let steps = match (find(members, "run"), find(members, "forever")) {
        (None, None) => {
            let reason = "a task needs run, a list of steps, or forever, one without end";
            return Err(Wrong::new(value.at, reason));
        }
        (run, forever) => {
            let mut steps = match run {
                Some(run) => step::list("run", run, place, builder)?,
                None => Vec::new(),
            };
            if let Some(forever) = forever {
                let body = step::list("forever", forever, place, builder)?;
                steps.push(Step::Loop { times: None, body });
            }
            steps
        }
    };
    let time = |key: &str| {
        find(members, key)
            .map(|value| value.time_ns(key))
            .transpose()
    };
    let policy = policy(members, value.at)?.unwrap_or_default();
    let count = match find(members, "count") {
        Some(count) => count.whole("count", 0..=INSTANCES_MAX as i64)? as u32,
        None => 1,
    };
    Ok(Task {
        policy,
        cpus: cpus(members, value.at)?,
        group: group(members, builder)?,
        count,
        start_ns: time("start")?.unwrap_or(0),
        // That of SCHED_DEADLINE is the same.
        deadline_ns: time("deadline")?,
        is_foreground: find(members, "foreground")
            .map_or(Ok(false), |value| value.truth("foreground"))?,
        working_set_bytes: find(members, "working_set")
            .map_or(Ok(0), |value| value.bytes("working_set", BYTES_MAX))?,
        ..Task::new(&name(value, place)?, Program::new(steps))
    })
}

/// Policy, CPUs and group of `become`.
pub fn change(value: &Value, builder: &mut Builder) -> Result<Change, Wrong> {
    let members = value.object("become")?;
    only(members, SCHEDULING)?;
    Ok(Change {
        policy: policy(members, value.at)?,
        cpus: cpus(members, value.at)?,
        group: group(members, builder)?,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Rt0,
    Rt1,
    Other,
    Batch,
    Idle,
    Fifo,
    RoundRobin,
    Deadline,
    Ext,
}

fn policy(members: &[Member], at: usize) -> Result<Option<Policy>, Wrong> {
    let classes = [
        ("rt0", Said::Rt0),
        ("rt1+", Said::Rt1),
        ("linux", Said::Other),
    ];
    let policies = [
        ("other", Said::Other),
        ("batch", Said::Batch),
        ("idle", Said::Idle),
        ("fifo", Said::Fifo),
        ("rr", Said::RoundRobin),
        ("deadline", Said::Deadline),
        ("ext", Said::Ext),
    ];
    let said = match (find(members, "class"), find(members, "policy")) {
        (Some(_), Some(policy)) => {
            return Err(policy.wrong("policy", "write class or policy, and not both"));
        }
        (Some(class), None) => class.one_of("class", &classes)?,
        (None, Some(policy)) => policy.one_of("policy", &policies)?,
        (None, None) => match find(members, "nice") {
            Some(_) => Said::Other,
            None => return refuse(members, &["priority", "level"], at).map(|()| None),
        },
    };
    let number = |key: &str, range, default: i64| match find(members, key) {
        Some(value) => value.whole(key, range),
        None => Ok(default),
    };
    let nice = || Ok::<i8, Wrong>(number("nice", -20..=19, 0)? as i8);
    let level = || number("level", 1..=40, 1);
    let priority = |default: Option<i64>| match (find(members, "priority"), default) {
        (None, None) => Err(Wrong::new(
            at,
            "priority is missing; write priority = 1 to 99",
        )),
        (_, default) => Ok(number("priority", 1..=99, default.unwrap_or(1))? as u8),
    };
    let (policy, strange): (_, &[&str]) = match said {
        Said::Other => (Policy::Other { nice: nice()? }, &["priority", "level"]),
        Said::Batch => (Policy::Batch { nice: nice()? }, &["priority", "level"]),
        Said::Idle => (Policy::Idle, &["priority", "level", "nice"]),
        Said::Ext => (Policy::Ext { nice: nice()? }, &["priority", "level"]),
        Said::Rt1 => {
            let nice = (level()? - 21) as i8;
            (Policy::Ext { nice }, &["priority", "nice"])
        }
        Said::Rt0 => {
            if cpus(members, at)?.is_none_or(|cpus| cpus.len() != 1) {
                return Err(Wrong::new(
                    at,
                    "an RT0 task is bound to one CPU; write cpu = 1",
                ));
            }
            let priority = priority(Some(99))?;
            (Policy::Fifo { priority }, &["level", "nice"])
        }
        Said::Fifo => (
            Policy::Fifo {
                priority: priority(None)?,
            },
            &["level", "nice"],
        ),
        Said::RoundRobin => {
            let priority = priority(None)?;
            (Policy::RoundRobin { priority }, &["level", "nice"])
        }
        Said::Deadline => (deadline(members, at)?, &["priority", "level", "nice"]),
    };
    refuse(members, strange, at)?;
    if said != Said::Deadline {
        refuse(members, &["runtime", "period"], at)?;
    }
    Ok(Some(policy))
}

/// Keys that mean nothing beside this class or policy.
fn refuse(members: &[Member], keys: &[&str], at: usize) -> Result<(), Wrong> {
    match keys.iter().find(|key| find(members, key).is_some()) {
        None => Ok(()),
        Some(key) => {
            let at = find(members, key).map_or(at, |value| value.at);
            let reason = format!("{key} does not go with this class or policy; remove it");
            Err(Wrong::new(at, reason))
        }
    }
}

fn deadline(members: &[Member], at: usize) -> Result<Policy, Wrong> {
    let time = |key: &str| {
        find(members, key)
            .map(|value| value.time_ns(key))
            .transpose()
    };
    let (Some(runtime_ns), Some(period_ns)) = (time("runtime")?, time("period")?) else {
        return Err(Wrong::new(
            at,
            "policy deadline needs runtime and period, such as \"10ms\"",
        ));
    };
    let deadline_ns = time("deadline")?.unwrap_or(period_ns);
    match 0 < runtime_ns && runtime_ns <= deadline_ns && deadline_ns <= period_ns {
        true => Ok(Policy::Deadline {
            runtime_ns,
            deadline_ns,
            period_ns,
        }),
        false => Err(Wrong::new(
            at,
            "write runtime above 0, up to deadline, and that up to period",
        )),
    }
}

fn cpus(members: &[Member], at: usize) -> Result<Option<CpuList>, Wrong> {
    match (find(members, "cpu"), find(members, "cpus")) {
        (Some(_), Some(_)) => Err(Wrong::new(at, "write cpu or cpus, and not both")),
        (Some(cpu), None) => {
            let cpus = cpu.cpus("cpu")?;
            match cpus.len() {
                1 => Ok(Some(cpus)),
                _ => Err(cpu.wrong("cpu", "write one number")),
            }
        }
        (None, cpus) => cpus.map(|value| value.cpus("cpus")).transpose(),
    }
}

fn group(members: &[Member], builder: &mut Builder) -> Result<Option<usize>, Wrong> {
    match find(members, "group") {
        Some(value) => builder.group(value.name("group")?, value.at).map(Some),
        None => Ok(None),
    }
}
