// SPDX-License-Identifier: GPL-2.0-only
//! The events of rt-app: what a key does is said by its beginning, so that `run0` is a run.

use super::super::NoteKind;
use super::super::builder::Builder;
use super::super::place::Wrong;
use super::super::tree::{Member, Value, find};
use super::task::Context;
use super::{BUFFER_BYTES_MIN, extension, us};
use crate::model::*;

/// The beginnings of keys, in an order in which none hides a longer one.
const EVENTS: [&str; 29] = [
    "runtime", "run", "sleep", "memrun", "mem", "iorun", "lock", "unlock", "signalfd", "signal",
    "broad", "wait", "sync", "barrier", "timerfd", "timer", "resume", "suspend", "yield", "fork",
    "sem_post", "sem_wait", "sigwait", "kill", "join", "epoll", "send", "receive", "recv",
];

fn event_of(key: &str) -> Option<&'static str> {
    EVENTS.into_iter().find(|event| key.starts_with(event))
}

/// Whether a key is an event.
pub fn is_event(key: &str) -> bool {
    // Of the oldest files: a list, which is no event.
    key != "lock_order" && event_of(key).is_some()
}

/// All events of an object, in their order.
pub fn steps(
    members: &[Member],
    at: usize,
    context: &Context,
    builder: &mut Builder,
) -> Result<Vec<Step>, Wrong> {
    let mut steps = Vec::new();
    for member in members.iter().filter(|member| is_event(&member.key)) {
        let Some(event) = event_of(&member.key) else {
            continue;
        };
        event_steps(event, member, context, builder, &mut steps)?;
    }
    match steps.is_empty() {
        false => Ok(steps),
        true => Err(Wrong::new(
            at,
            format!(
                "task {} has no event here; write one, such as \"run\" : 1000",
                context.name
            ),
        )),
    }
}

fn event_steps(
    event: &'static str,
    member: &Member,
    context: &Context,
    builder: &mut Builder,
    steps: &mut Vec<Step>,
) -> Result<(), Wrong> {
    let Member { key, at, value } = member;
    let at = *at;
    let mut add = |op| steps.push(Step::Do(op));
    match event {
        "run" => add(Op::Compute(Work::Ns(us(key, value)?))),
        "runtime" => add(Op::Busy {
            ns: us(key, value)?,
        }),
        "sleep" => add(Op::Sleep {
            ns: us(key, value)?,
        }),
        "mem" => add(Op::Memory(Memory {
            access: Access::Write,
            amount: value.amount(key, AMOUNT_MAX)?,
            buffer_bytes: context.global.buffer_bytes,
            shared: None,
        })),
        "memrun" => add(Op::Memory(memory(key, value, builder)?)),
        "iorun" => steps.extend(written(key, value, context)?),
        "lock" => add(Op::Lock(builder.mutex(value.name(key)?, at)?)),
        "unlock" => add(Op::Unlock(builder.mutex(value.name(key)?, at)?)),
        "signal" => add(Op::Signal(builder.condition(value.name(key)?, at)?)),
        "broad" => add(Op::Broadcast(builder.condition(value.name(key)?, at)?)),
        "wait" | "sync" => {
            let (condition, mutex) = waited(key, value, builder)?;
            if event == "sync" {
                add(Op::Signal(condition));
            }
            add(Op::Wait { condition, mutex });
        }
        "barrier" => {
            let barrier = builder.barrier(value.name(key)?, at)?;
            let parties = &mut builder.scenario.objects.barriers[barrier].parties;
            *parties = parties.saturating_add(context.instances);
            add(Op::Barrier(barrier));
        }
        "timer" => {
            let (timer, period_ns) = timer(key, value, context, Via::Nanosleep, builder)?;
            add(Op::Timer { timer, period_ns });
        }
        "suspend" => {
            let (condition, mutex) = suspended(value, context, at, builder)?;
            let wait = Op::Wait { condition, mutex };
            [Op::Lock(mutex), wait, Op::Unlock(mutex)]
                .into_iter()
                .for_each(add);
        }
        "resume" => {
            let name = value.name(key)?;
            let (mutex, condition) = (builder.mutex(name, at)?, builder.condition(name, at)?);
            [Op::Lock(mutex), Op::Broadcast(condition), Op::Unlock(mutex)]
                .into_iter()
                .for_each(add);
        }
        "yield" => add(Op::Yield),
        "sem_post" => add(Op::Post(builder.semaphore(value.name(key)?, at)?)),
        "sem_wait" => add(Op::Acquire(builder.semaphore(value.name(key)?, at)?)),
        other => add(extension::event(other, member, context, builder)?),
    }
    Ok(())
}

/// A task waits for its own name, whatever it says.
fn suspended(
    value: &Value,
    context: &Context,
    at: usize,
    builder: &mut Builder,
) -> Result<(usize, usize), Wrong> {
    if let Ok(said) = value.name("suspend")
        && said != context.name
    {
        let text = format!(
            "suspend waits for a resume of {:?}, the task's own name, and not of {said:?}, as in \
             rt-app",
            context.name
        );
        builder.note(NoteKind::Doubt, Some(at), text);
    }
    let condition = builder.condition(context.name, at)?;
    Ok((condition, builder.mutex(context.name, at)?))
}

fn waited(key: &str, value: &Value, builder: &mut Builder) -> Result<(usize, usize), Wrong> {
    let members = value.object(key)?;
    let part = |part: &str| match find(members, part) {
        Some(value) => value.name(part),
        None => Err(value.wrong(key, "write { \"ref\" : \"queue\", \"mutex\" : \"mutex\" }")),
    };
    let (condition, mutex) = (part("ref")?, part("mutex")?);
    let condition = builder.condition(condition, value.at)?;
    Ok((condition, builder.mutex(mutex, value.at)?))
}

/// The timer of an event and its period. One whose name begins with "unique" is the task's own.
pub fn timer(
    key: &str,
    value: &Value,
    context: &Context,
    via: Via,
    builder: &mut Builder,
) -> Result<(usize, u64), Wrong> {
    let members = value.object(key)?;
    let name = match find(members, "ref") {
        Some(name) => name.name("ref")?,
        None => "unknown",
    };
    let period_ns = match find(members, "period") {
        Some(period) => us("period", period)?,
        None => 0,
    };
    let is_absolute = match find(members, "mode") {
        Some(mode) => mode.one_of("mode", &[("relative", false), ("absolute", true)])?,
        None => false,
    };
    let is_shared = !name.starts_with("unique");
    let known = match is_shared {
        true => name.to_owned(),
        // No other timer's name has a line break in it.
        false => format!("{name}\n{}", context.name),
    };
    let made = Timer {
        name: name.to_owned(),
        is_shared,
        is_relative: true,
        via,
    };
    let timer = builder.timer(&known, value.at, made)?;
    if is_absolute {
        builder.scenario.objects.timers[timer].is_relative = false;
    }
    Ok((timer, period_ns))
}

fn memory(key: &str, value: &Value, builder: &mut Builder) -> Result<Memory, Wrong> {
    let members = value.object(key)?;
    let need = |part: &str| {
        let allowed = "write { \"type\" : \"read\", \"size\" : 65536, \"count\" : 1000 }";
        find(members, part).ok_or_else(|| value.wrong(key, allowed))
    };
    let amount = need("count")?.amount("count", AMOUNT_MAX)?;
    let buffer_bytes = need("size")?.amount("size", BYTES_MAX)?;
    let what = need("type")?.one_of("type", &[("read", 0), ("write", 1), ("chase", 2)])?;
    let access = match what {
        0 => Access::Read,
        1 => Access::Write,
        _ => Access::Chase {
            stride: match find(members, "stride") {
                Some(stride) => stride.whole("stride", 8..=1 << 20)? as u32,
                None => 64,
            },
            is_random: match find(members, "pattern") {
                Some(it) => it.one_of("pattern", &[("random", true), ("sequential", false)])?,
                None => true,
            },
        },
    };
    let shared = match find(members, "ref") {
        Some(name) => Some(builder.buffer(name.name("ref")?, name.at)?),
        None => None,
    };
    Ok(Memory {
        access,
        amount,
        buffer_bytes: buffer_bytes.max(BUFFER_BYTES_MIN),
        shared,
    })
}

/// Writes of a buffer each, to /dev/null, where they are short calls, or to a file.
fn written(key: &str, value: &Value, context: &Context) -> Result<Vec<Step>, Wrong> {
    if !context.global.io_is_null {
        let bytes = value.amount(key, BYTES_MAX)?;
        let direction = Direction::Write;
        return Ok(vec![Step::Do(Op::File { direction, bytes })]);
    }
    let bytes = value.amount(key, AMOUNT_MAX)?;
    let calls = bytes.div_ceil(context.global.buffer_bytes);
    Ok(vec![Step::Loop {
        times: Some(calls),
        body: vec![Step::Do(Op::Kernel { ns: 0 })],
    }])
}
