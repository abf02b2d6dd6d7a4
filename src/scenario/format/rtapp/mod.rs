// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's files: `tasks`, `global` and `resources`, in lenient JSON.
//!
//! What its documentation and its program differ in is read as its program has it. Times are
//! microseconds there, the duration seconds. What rt-app has nothing for, and its users asked for
//! (its issue 137), is understood where it is written in the same style: a protocol and a ceiling
//! of each mutex, `join`, foreground tasks, `timerfd`, `signalfd`, `sigwait`, `kill`, `epoll`,
//! `send` and `receive`.
//!
//! Source: rt-app 1.0 and its `doc/tutorial.txt`.

mod event;
mod extension;
mod legacy;
mod scheduling;
mod task;

use super::NoteKind;
use super::builder::Builder;
use super::lenient::{self, Taken};
use super::place::Wrong;
use super::tree::{Kind, Member, Value, find};
use crate::model::*;

/// What the `global` object says to tasks.
struct Global {
    policy: scheduling::Kind,
    /// The file that `iorun` writes to has no page cache: it is /dev/null, as if nothing was said.
    io_is_null: bool,
    buffer_bytes: u64,
}

/// rt-app's buffer where nothing is said, 4 MiB.
const BUFFER_BYTES: u64 = 4 << 20;
/// Microseconds of a day, the longest time.
const US_MAX: u64 = TIME_NS_MAX / 1000;
/// The least buffer of the model: a cache line.
const BUFFER_BYTES_MIN: u64 = 64;

/// Reads into the builder.
pub fn read(text: &str, builder: &mut Builder) -> Result<(), Wrong> {
    let (root, taken) = lenient::parse(text)?;
    notes_of(&taken, builder);
    let members = root.object("the file")?;
    let Some(tasks) = find(members, "tasks") else {
        let reason = "tasks is missing; write \"tasks\" : { \"name\" : { \"run\" : 1000 } }";
        return Err(Wrong::new(root.at, reason));
    };
    for member in members {
        if !["tasks", "global", "resources"].contains(&member.key.as_str()) {
            let text = format!("{:?} is no part of an rt-app file", member.key);
            builder.note(NoteKind::Ignored, Some(member.at), text);
        }
    }
    let global = match find(members, "global") {
        Some(value) => global(value.object("global")?, builder)?,
        None => Global {
            policy: scheduling::Kind::Other,
            io_is_null: true,
            buffer_bytes: BUFFER_BYTES,
        },
    };
    if let Some(resources) = find(members, "resources") {
        extension::resources(resources.object("resources")?, builder)?;
    }
    let tasks = tasks.object("tasks")?;
    if tasks.len() > TASKS_MAX {
        let reason = format!("there are more than {TASKS_MAX} tasks; use \"instance\"");
        return Err(Wrong::new(root.at, reason));
    }
    for (place, member) in tasks.iter().enumerate() {
        if builder
            .known(super::builder::What::Task, &member.key)
            .is_none()
        {
            builder.name(super::builder::What::Task, &member.key, place);
        }
    }
    for member in tasks {
        task::read(member, &global, builder)?;
    }
    builder.assume_rt_cpus("a TOML file can say otherwise");
    let any = builder.scenario.tasks.iter().any(|task| task.is_foreground);
    builder.scenario.end.with_foreground |= any;
    Ok(())
}

fn notes_of(taken: &Taken, builder: &mut Builder) {
    for (what, (count, at)) in taken {
        let times = if *count == 1 { "time" } else { "times" };
        let text = format!("{}, {count} {times}", what.words());
        builder.note(NoteKind::Taken, Some(*at), text);
    }
}

fn global(members: &[Member], builder: &mut Builder) -> Result<Global, Wrong> {
    let mut global = Global {
        policy: scheduling::Kind::Other,
        io_is_null: true,
        buffer_bytes: BUFFER_BYTES,
    };
    for Member { key, at, value } in members {
        let mut ignore = |why: &str| {
            builder.note(NoteKind::Ignored, Some(*at), format!("{key}: {why}"));
        };
        match key.as_str() {
            "duration" => {
                let seconds = value.whole(key, -1..=(TIME_NS_MAX / 1_000_000_000) as i64)?;
                let ns = u64::try_from(seconds).ok().map(|it| it * 1_000_000_000);
                builder.scenario.end.duration_ns = ns;
            }
            "default_policy" => global.policy = scheduling::Kind::of(key, value)?,
            "pi_enabled" => {
                if value.truth(key)? {
                    builder.protocol = Protocol::Inheritance;
                }
            }
            "io_device" => {
                global.io_is_null = value.kind == Kind::Text("/dev/null".to_owned());
                if !global.io_is_null {
                    ignore("each task writes to a file of its own, which is removed");
                }
            }
            "mem_buffer_size" => {
                let bytes = value.amount(key, BYTES_MAX)?;
                global.buffer_bytes = bytes.max(BUFFER_BYTES_MIN);
            }
            "ends_with_foreground" => builder.scenario.end.with_foreground = value.truth(key)?,
            "calibration" => ignore("work is calibrated on the machine that runs it"),
            "lock_pages" => ignore("pages are touched before the start, and not locked"),
            "logdir" | "log_basename" | "log_size" | "ftrace" | "gnuplot" | "frag"
            | "cumulative_slack" => ignore("rt-app's logs are not written"),
            _ => ignore("not known"),
        }
    }
    Ok(global)
}

/// Microseconds as nanoseconds.
fn us(key: &str, value: &Value) -> Result<u64, Wrong> {
    Ok(value.amount(key, US_MAX)? * 1000)
}

#[cfg(test)]
mod tests;
