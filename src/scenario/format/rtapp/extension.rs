// SPDX-License-Identifier: GPL-2.0-only
//! What rt-app's users asked for and did not get, in the style of its files: the protocol and the
//! ceiling of a mutex, joining, signals, timerfd, epoll, messages. And `fork`, which it has.

use super::super::NoteKind;
use super::super::builder::{Builder, What};
use super::super::place::Wrong;
use super::super::tree::{Kind, Member, Value, find};
use super::event::timer;
use super::task::Context;
use crate::model::*;

/// The `resources` object. rt-app makes its objects when they are named first, and so do we; what
/// counts here is what it says of a mutex.
pub fn resources(members: &[Member], builder: &mut Builder) -> Result<(), Wrong> {
    for Member { key, at, value } in members {
        let parts = match &value.kind {
            Kind::Object(parts) => parts.as_slice(),
            _ => &[],
        };
        let kind = match find(parts, "type").map(|value| &value.kind) {
            None => "mutex",
            Some(Kind::Text(kind)) => kind,
            Some(_) => "",
        };
        if kind != "mutex" {
            continue;
        }
        let mutex = builder.mutex(key, *at)?;
        if let Some(protocol) = protocol(parts)? {
            builder.scenario.objects.mutexes[mutex].protocol = protocol;
        }
    }
    Ok(())
}

fn protocol(parts: &[Member]) -> Result<Option<Protocol>, Wrong> {
    let ceiling = find(parts, "ceiling");
    let said = match find(parts, "protocol") {
        Some(value) => {
            let known = [("none", 0), ("inheritance", 1), ("ceiling", 2)];
            value.one_of("protocol", &known)?
        }
        None if ceiling.is_some() => 2,
        None => return Ok(None),
    };
    Ok(Some(match (said, ceiling) {
        (0, _) => Protocol::None,
        (1, _) => Protocol::Inheritance,
        (_, Some(value)) => Protocol::Ceiling(value.whole("ceiling", 1..=99)? as u8),
        (_, None) => {
            let at = find(parts, "protocol").map_or(0, |value| value.at);
            let reason = "a ceiling is missing; write \"ceiling\" : 1 to 99";
            return Err(Wrong::new(at, reason));
        }
    }))
}

/// An event that rt-app does not have, or fork.
pub fn event(
    event: &str,
    member: &Member,
    context: &Context,
    builder: &mut Builder,
) -> Result<Op, Wrong> {
    let Member { key, at, value } = member;
    if event != "fork" {
        let text = format!("{event} is an addition: rt-app does not know it");
        builder.note(NoteKind::Taken, Some(*at), text);
    }
    Ok(match event {
        "fork" => Op::Fork {
            task: task(key, value, builder)?,
        },
        "join" => Op::Join {
            task: task(key, value, builder)?,
        },
        "kill" => Op::Raise {
            task: task(key, value, builder)?,
        },
        "signalfd" => Op::AwaitSignal {
            by_descriptor: true,
        },
        "sigwait" => Op::AwaitSignal {
            by_descriptor: false,
        },
        "timerfd" => {
            let (timer, period_ns) = timer(key, value, context, Via::Timerfd, builder)?;
            builder.scenario.objects.timers[timer].via = Via::Timerfd;
            Op::Timer { timer, period_ns }
        }
        "send" => {
            let (channel, bytes) = message(key, value, builder)?;
            Op::Send { channel, bytes }
        }
        "epoll" => Op::Poll(sources(key, value, context, builder)?),
        _ => {
            let (channel, bytes) = message(key, value, builder)?;
            Op::Receive { channel, bytes }
        }
    })
}

fn task(key: &str, value: &Value, builder: &Builder) -> Result<usize, Wrong> {
    let name = value.name(key)?;
    builder
        .known(What::Task, name)
        .ok_or_else(|| value.wrong(key, "write the name of a task of this file"))
}

fn message(key: &str, value: &Value, builder: &mut Builder) -> Result<(usize, u32), Wrong> {
    let members = value.object(key)?;
    let Some(name) = find(members, "ref") else {
        return Err(value.wrong(key, "write { \"ref\" : \"pipe\", \"bytes\" : 64 }"));
    };
    let bytes = match find(members, "bytes") {
        Some(bytes) => bytes.whole("bytes", 1..=i64::from(u32::MAX))? as u32,
        None => 1,
    };
    Ok((builder.channel(name.name("ref")?, name.at)?, bytes))
}

fn sources(
    key: &str,
    value: &Value,
    context: &Context,
    builder: &mut Builder,
) -> Result<Vec<Source>, Wrong> {
    let mut sources = Vec::new();
    for Member { key, value, .. } in value.object(key)? {
        sources.push(match key.as_str() {
            key if key.starts_with("timer") => {
                let (timer, period_ns) = timer(key, value, context, Via::Timerfd, builder)?;
                Source::Timer { timer, period_ns }
            }
            key if key.starts_with("signal") => Source::Signal,
            key if key.starts_with("rec") => {
                let (channel, bytes) = message(key, value, builder)?;
                Source::Channel { channel, bytes }
            }
            _ => return Err(value.wrong(key, "write \"timer\", \"signal\" or \"receive\"")),
        });
    }
    Ok(sources)
}
