// SPDX-License-Identifier: GPL-2.0-only
//! The steps of a program, each a table whose first key says what is done.

use super::super::builder::{Builder, What};
use super::super::place::Wrong;
use super::super::tree::{Kind, Member, Value, find};
use super::{only, task};
use crate::model::*;

/// What a step can be, in the words of errors.
const STEPS: &str = "compute, instructions, busy, memory, calls, kernel, faults, read, write, \
                     sleep, every, arrival, lock, unlock, wait, signal, broadcast, post, acquire, \
                     barrier, send, receive, raise, await, poll, fork, join, become, yield, loop \
                     or forever";

/// Loops in one another before the model's own bound is looked at: what recursion may take.
const DEPTH_MAX: usize = 4 * super::DEPTH_MAX;

/// A list of steps, of the task at `place`.
pub fn list(
    key: &str,
    value: &Value,
    place: usize,
    builder: &mut Builder,
) -> Result<Vec<Step>, Wrong> {
    steps(key, value, place, 0, builder)
}

fn steps(
    key: &str,
    value: &Value,
    place: usize,
    depth: usize,
    builder: &mut Builder,
) -> Result<Vec<Step>, Wrong> {
    if depth > DEPTH_MAX {
        return Err(value.wrong(key, "write fewer loops in one another"));
    }
    let mut found = Vec::new();
    for value in value.list(key)? {
        found.push(step(value, place, depth, builder)?);
    }
    match found.is_empty() {
        false => Ok(found),
        true => Err(value.wrong(key, "write one step or more, such as { compute = \"1ms\" }")),
    }
}

fn step(value: &Value, place: usize, depth: usize, builder: &mut Builder) -> Result<Step, Wrong> {
    // A word alone, for what needs nothing else.
    if value.kind == Kind::Text("yield".to_owned()) {
        return Ok(Step::Do(Op::Yield));
    }
    let members = match &value.kind {
        Kind::Object(members) if !members.is_empty() => members,
        _ => {
            let allowed = format!("write a table such as {{ compute = \"1ms\" }} with {STEPS}");
            return Err(value.wrong("a step", &allowed));
        }
    };
    let first = &members[0];
    let key = first.key.as_str();
    let repeat = |times, body| Step::Loop { times, body };
    Ok(match key {
        "loop" => {
            only(members, &["loop", "steps"])?;
            let times = first.value.whole(key, 1..=i64::MAX)?.unsigned_abs();
            let Some(body) = find(members, "steps") else {
                return Err(first.value.wrong(key, "write { loop = 10, steps = [ … ] }"));
            };
            repeat(
                Some(times),
                steps("steps", body, place, depth + 1, builder)?,
            )
        }
        "forever" => {
            only(members, &[key])?;
            repeat(None, steps(key, &first.value, place, depth + 1, builder)?)
        }
        "calls" => {
            only(members, &[key])?;
            let times = first.value.amount(key, AMOUNT_MAX)?;
            repeat(Some(times), vec![Step::Do(Op::Kernel { ns: 0 })])
        }
        _ => Step::Do(op(members, first, place, builder)?),
    })
}

/// What other keys a step may have.
fn beside(key: &str) -> &'static [&'static str] {
    match key {
        "memory" => &["memory", "access", "buffer", "stride", "random", "shared"],
        "every" => &["every", "timer"],
        "wait" => &["wait", "mutex"],
        "send" => &["send", "bytes"],
        "receive" => &["receive", "bytes"],
        _ => &[],
    }
}

fn op(
    members: &[Member],
    first: &Member,
    place: usize,
    builder: &mut Builder,
) -> Result<Op, Wrong> {
    let (key, value, at) = (first.key.as_str(), &first.value, first.value.at);
    match beside(key) {
        [] => only(members, &[key])?,
        known => only(members, known)?,
    }
    Ok(match key {
        "compute" => Op::Compute(Work::Ns(value.time_ns(key)?)),
        "instructions" => Op::Compute(Work::Instructions(value.amount(key, AMOUNT_MAX)?)),
        "busy" => Op::Busy {
            ns: value.time_ns(key)?,
        },
        "memory" => Op::Memory(memory(members, value, builder)?),
        "kernel" => Op::Kernel {
            ns: value.time_ns(key)?,
        },
        "faults" => Op::Faults {
            pages: value.whole(key, 1..=i64::from(PAGES_MAX))? as u32,
        },
        "read" | "write" => Op::File {
            direction: match key {
                "read" => Direction::Read,
                _ => Direction::Write,
            },
            bytes: value.bytes(key, BYTES_MAX)?,
        },
        "sleep" => Op::Sleep {
            ns: value.time_ns(key)?,
        },
        "every" => {
            let (timer, period_ns) = timer(members, value, place, builder)?;
            Op::Timer { timer, period_ns }
        }
        "arrival" => {
            let name = value.name(key)?;
            let known = builder.known(What::Arrivals, name);
            let allowed = format!("write a stream, and a table [arrivals.{name}] for it");
            Op::Arrival {
                arrivals: known.ok_or_else(|| value.wrong(key, &allowed))?,
            }
        }
        "lock" => Op::Lock(builder.mutex(value.name(key)?, at)?),
        "unlock" => Op::Unlock(builder.mutex(value.name(key)?, at)?),
        "wait" => {
            let Some(mutex) = find(members, "mutex") else {
                return Err(value.wrong(key, "write { wait = \"condition\", mutex = \"map\" }"));
            };
            Op::Wait {
                condition: builder.condition(value.name(key)?, at)?,
                mutex: builder.mutex(mutex.name("mutex")?, mutex.at)?,
            }
        }
        "signal" => Op::Signal(builder.condition(value.name(key)?, at)?),
        "broadcast" => Op::Broadcast(builder.condition(value.name(key)?, at)?),
        "post" => Op::Post(builder.semaphore(value.name(key)?, at)?),
        "acquire" => Op::Acquire(builder.semaphore(value.name(key)?, at)?),
        _ => return other(members, first, place, builder),
    })
}

fn other(
    members: &[Member],
    first: &Member,
    place: usize,
    builder: &mut Builder,
) -> Result<Op, Wrong> {
    let (key, value) = (first.key.as_str(), &first.value);
    let task = |builder: &Builder| {
        let known = builder.known(What::Task, value.name(key)?);
        known.ok_or_else(|| value.wrong(key, "write the name of a [[task]] of this file"))
    };
    Ok(match key {
        "barrier" => {
            let known = builder.known(What::Barrier, value.name(key)?);
            let allowed = "write a barrier, and a table [barrier.NAME] with parties for it";
            Op::Barrier(known.ok_or_else(|| value.wrong(key, allowed))?)
        }
        "send" => {
            let (channel, bytes) = message(members, first, builder)?;
            Op::Send { channel, bytes }
        }
        "receive" => {
            let (channel, bytes) = message(members, first, builder)?;
            Op::Receive { channel, bytes }
        }
        "raise" => Op::Raise {
            task: task(builder)?,
        },
        "await" => Op::AwaitSignal {
            by_descriptor: value.one_of(key, &[("signalfd", true), ("sigwait", false)])?,
        },
        "poll" => Op::Poll(sources(value, place, builder)?),
        "fork" => Op::Fork {
            task: task(builder)?,
        },
        "join" => Op::Join {
            task: task(builder)?,
        },
        "become" => Op::Become(Box::new(task::change(value, builder)?)),
        "yield" => match value.truth(key)? {
            true => Op::Yield,
            false => return Err(value.wrong(key, "write \"yield\"")),
        },
        _ => {
            let reason = format!("{key:?} is no step; write {STEPS}");
            return Err(Wrong::new(first.at, reason));
        }
    })
}

/// The timer of a step and its period: a named one, or the task's own.
fn timer(
    members: &[Member],
    value: &Value,
    place: usize,
    builder: &mut Builder,
) -> Result<(usize, u64), Wrong> {
    let period_ns = value.time_ns("every")?;
    if period_ns == 0 {
        return Err(value.wrong("every", "write a time above 0, such as \"1ms\""));
    }
    let timer = match find(members, "timer") {
        Some(name) => {
            let known = builder.known(What::Timer, name.name("timer")?);
            let allowed = "write a timer, and a table [timer.NAME] for it";
            known.ok_or_else(|| name.wrong("timer", allowed))?
        }
        None => {
            let made = Timer {
                name: "own".to_owned(),
                is_shared: false,
                is_relative: false,
                via: Via::Nanosleep,
            };
            builder.timer(&format!("own\n{place}"), value.at, made)?
        }
    };
    Ok((timer, period_ns))
}

fn memory(members: &[Member], value: &Value, builder: &mut Builder) -> Result<Memory, Wrong> {
    let access = match find(members, "access") {
        Some(it) => it.one_of("access", &[("write", 0), ("read", 1), ("chase", 2)])?,
        None => 0,
    };
    let is_random = find(members, "random").map_or(Ok(true), |it| it.truth("random"))?;
    let stride = match find(members, "stride") {
        Some(it) => it.whole("stride", 8..=1 << 20)? as u32,
        None => 64,
    };
    let amount = match &value.kind {
        Kind::Text(_) => value.bytes("memory", AMOUNT_MAX)?,
        _ => value.amount("memory", AMOUNT_MAX)?,
    };
    let shared = match find(members, "shared") {
        Some(name) => Some(builder.buffer(name.name("shared")?, name.at)?),
        None => None,
    };
    Ok(Memory {
        access: match access {
            0 => Access::Write,
            1 => Access::Read,
            _ => Access::Chase { stride, is_random },
        },
        amount,
        buffer_bytes: match find(members, "buffer") {
            Some(it) => it.bytes("buffer", BYTES_MAX)?,
            None => amount.clamp(64, BYTES_MAX),
        },
        shared,
    })
}

fn message(
    members: &[Member],
    first: &Member,
    builder: &mut Builder,
) -> Result<(usize, u32), Wrong> {
    let name = first.value.name(&first.key)?;
    let bytes = match find(members, "bytes") {
        Some(it) => it.whole("bytes", 1..=1 << 20)? as u32,
        None => 1,
    };
    Ok((builder.channel(name, first.value.at)?, bytes))
}

fn sources(value: &Value, place: usize, builder: &mut Builder) -> Result<Vec<Source>, Wrong> {
    let mut sources = Vec::new();
    for value in value.list("poll")? {
        let members = value.object("poll")?;
        let first = members.first();
        let allowed = "write { receive = \"NAME\" }, { every = \"1ms\" } or { signal = true }";
        let first = first.ok_or_else(|| value.wrong("poll", allowed))?;
        only(members, beside(&first.key)).or_else(|wrong| match first.key.as_str() {
            "signal" => Ok(()),
            _ => Err(wrong),
        })?;
        sources.push(match first.key.as_str() {
            "receive" => {
                let (channel, bytes) = message(members, first, builder)?;
                Source::Channel { channel, bytes }
            }
            "every" => {
                let (timer, period_ns) = timer(members, &first.value, place, builder)?;
                Source::Timer { timer, period_ns }
            }
            "signal" => Source::Signal,
            _ => return Err(value.wrong("poll", allowed)),
        });
    }
    Ok(sources)
}
