// SPDX-License-Identifier: GPL-2.0-only
//! Our own format, in TOML: everything that the model has.
//!
//! `[machine]`, tables of objects such as `[mutex.NAME]`, and a `[[task]]` for each kind of task,
//! whose `run` is a list of steps. Objects that need nothing said are made when they are named
//! first.

mod object;
mod step;
mod task;
mod toml_tree;

use super::builder::{Builder, What};
use super::place::{Wrong, quoted};
use super::tree::{Member, Value, find};
use crate::model::*;

/// TOML's parser keeps more of a file than ours do.
const TOML_BYTES_MAX: usize = 4 << 20;

const KEYS: &[&str] = &[
    "name",
    "seed",
    "duration",
    "end",
    "machine",
    "mutex",
    "semaphore",
    "channel",
    "timer",
    "barrier",
    "arrivals",
    "group",
    "task",
];

/// Reads into the builder.
pub fn read(text: &str, builder: &mut Builder) -> Result<(), Wrong> {
    if text.len() > TOML_BYTES_MAX {
        let reason = format!("a TOML file has at most {TOML_BYTES_MAX} bytes; use count and loops");
        return Err(Wrong::new(0, reason));
    }
    let root = toml_tree::parse(text)?;
    let members = root.object("the file")?;
    only(members, KEYS)?;
    let scenario = &mut builder.scenario;
    if let Some(value) = find(members, "name") {
        value.name("name")?.clone_into(&mut scenario.name);
    }
    if let Some(value) = find(members, "seed") {
        scenario.seed = value.amount("seed", u64::MAX)?;
    }
    if let Some(value) = find(members, "duration") {
        let ns = value.time_ns("duration")?;
        if ns == 0 {
            return Err(value.wrong("duration", "write a time above 0, such as \"10s\""));
        }
        scenario.end.duration_ns = Some(ns);
    }
    if let Some(value) = find(members, "end") {
        let known = [("all", false), ("foreground", true)];
        scenario.end.with_foreground = value.one_of("end", &known)?;
    }
    if let Some(value) = find(members, "machine") {
        scenario.machine = machine(value)?;
    }
    object::read(members, builder)?;
    let Some(tasks) = find(members, "task") else {
        return Err(Wrong::new(
            text.len(),
            "there is no task; write a table [[task]] with run",
        ));
    };
    let tasks = tasks.list("task")?;
    if tasks.len() > TASKS_MAX {
        let reason = format!("there are more than {TASKS_MAX} tasks; use count");
        return Err(Wrong::new(0, reason));
    }
    for (place, task) in tasks.iter().enumerate() {
        let name = task::name(task, place)?;
        if builder.known(What::Task, &name).is_some() {
            let reason = format!("there are two tasks {}; name one otherwise", quoted(&name));
            return Err(Wrong::new(task.at, reason));
        }
        builder.name(What::Task, &name, place);
    }
    for (place, task) in tasks.iter().enumerate() {
        let task = task::read(task, place, builder)?;
        builder.scenario.tasks.push(task);
    }
    builder.places = tasks.iter().map(|task| task.at).collect();
    Ok(())
}

fn machine(value: &Value) -> Result<Machine, Wrong> {
    let members = value.object("machine")?;
    only(members, &["cpus", "rt", "cpus_per_cache", "cpus_per_node"])?;
    let most = i64::from(artis_machine::cpulist::CPUS_MAX);
    let number = |key: &str| {
        let value = find(members, key).map(|value| value.whole(key, 1..=most));
        Ok::<_, Wrong>(value.transpose()?.map(|number| number as u32))
    };
    Ok(Machine {
        cpus: number("cpus")?,
        rt_cpus: match find(members, "rt") {
            Some(value) => value.cpus("rt")?,
            None => Default::default(),
        },
        cpus_per_cache: number("cpus_per_cache")?,
        cpus_per_node: number("cpus_per_node")?,
    })
}

/// No other keys than these.
fn only(members: &[Member], known: &[&str]) -> Result<(), Wrong> {
    match members.iter().find(|it| !known.contains(&it.key.as_str())) {
        None => Ok(()),
        Some(member) => Err(Wrong::new(
            member.at,
            format!(
                "{} is no key here; write {}",
                quoted(&member.key),
                known.join(", ")
            ),
        )),
    }
}

#[cfg(test)]
mod tests;
