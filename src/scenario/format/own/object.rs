// SPDX-License-Identifier: GPL-2.0-only
//! Tables of objects: `[mutex.NAME]` and the like.

use super::super::builder::{Builder, What};
use super::super::place::Wrong;
use super::super::tree::{Kind, Member, Value, find};
use super::only;
use crate::model::*;

/// Reads all of them into the builder.
pub fn read(members: &[Member], builder: &mut Builder) -> Result<(), Wrong> {
    each(members, "mutex", |name, at, members| {
        let mutex = builder.mutex(name, at)?;
        let protocol = protocol(members, at)?;
        builder.scenario.objects.mutexes[mutex].protocol = protocol;
        Ok(())
    })?;
    each(members, "semaphore", |name, at, members| {
        only(members, &["value"])?;
        let semaphore = builder.semaphore(name, at)?;
        let value = find(members, "value").map(|it| it.whole("value", 0..=1 << 30));
        let value = value.transpose()?.unwrap_or(0) as u32;
        builder.scenario.objects.semaphores[semaphore].value = value;
        Ok(())
    })?;
    each(members, "barrier", |name, at, members| {
        only(members, &["parties"])?;
        let barrier = builder.barrier(name, at)?;
        let Some(parties) = find(members, "parties") else {
            return Err(Wrong::new(
                at,
                "parties is missing; write parties = 2 or more",
            ));
        };
        let parties = parties.whole("parties", 1..=INSTANCES_MAX as i64)? as u32;
        builder.scenario.objects.barriers[barrier].parties = parties;
        Ok(())
    })?;
    each(members, "channel", |name, at, members| {
        only(members, &["medium", "capacity"])?;
        let channel = builder.channel(name, at)?;
        let channel = &mut builder.scenario.objects.channels[channel];
        if let Some(medium) = find(members, "medium") {
            let known = [("pipe", Medium::Pipe), ("socket", Medium::Socket)];
            channel.medium = medium.one_of("medium", &known)?;
        }
        if let Some(capacity) = find(members, "capacity") {
            let bytes = capacity.bytes("capacity", 1 << 20)?;
            if bytes < 4096 {
                return Err(capacity.wrong("capacity", "write at least \"4KiB\""));
            }
            channel.capacity_bytes = bytes as u32;
        }
        Ok(())
    })?;
    each(members, "timer", |name, at, members| {
        let timer = timer(name, members)?;
        builder.timer(name, at, timer).map(drop)
    })?;
    each(members, "arrivals", |name, at, members| {
        let pattern = pattern(members, at)?;
        let made = Arrivals {
            name: name.to_owned(),
            pattern,
        };
        let find = builder.find(What::Arrivals, name, at, |objects| {
            objects.arrivals.push(made);
        });
        find.map(drop)
    })?;
    each(members, "group", |name, at, members| {
        let group = builder.group(name, at)?;
        let made = self::group(name, members, at)?;
        builder.scenario.objects.groups[group] = made;
        Ok(())
    })
}

/// Each table of a kind, with its name.
fn each(
    members: &[Member],
    kind: &str,
    mut read: impl FnMut(&str, usize, &[Member]) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    let Some(tables) = find(members, kind) else {
        return Ok(());
    };
    for Member { key, at, value } in tables.object(kind)? {
        let name = Value {
            at: *at,
            kind: Kind::Text(key.clone()),
        };
        read(name.name(kind)?, *at, value.object(key)?)?;
    }
    Ok(())
}

fn protocol(members: &[Member], at: usize) -> Result<Protocol, Wrong> {
    only(members, &["protocol", "ceiling"])?;
    let ceiling = match find(members, "ceiling") {
        Some(value) => Some(value.whole("ceiling", 1..=99)? as u8),
        None => None,
    };
    let said = match find(members, "protocol") {
        Some(value) => value.one_of(
            "protocol",
            &[("none", 0), ("inheritance", 1), ("ceiling", 2)],
        )?,
        None if ceiling.is_some() => 2,
        None => 0,
    };
    match (said, ceiling) {
        (0, None) => Ok(Protocol::None),
        (1, None) => Ok(Protocol::Inheritance),
        (2, Some(ceiling)) => Ok(Protocol::Ceiling(ceiling)),
        _ => Err(Wrong::new(
            at,
            "a ceiling goes with protocol = \"ceiling\" and no other; write ceiling = 1 to 99",
        )),
    }
}

fn timer(name: &str, members: &[Member]) -> Result<Timer, Wrong> {
    only(members, &["shared", "mode", "via"])?;
    let truth = |key: &str| find(members, key).map_or(Ok(false), |value| value.truth(key));
    let known = [("absolute", false), ("relative", true)];
    let vias = [("nanosleep", Via::Nanosleep), ("timerfd", Via::Timerfd)];
    Ok(Timer {
        name: name.to_owned(),
        is_shared: truth("shared")?,
        is_relative: match find(members, "mode") {
            Some(value) => value.one_of("mode", &known)?,
            None => false,
        },
        via: match find(members, "via") {
            Some(value) => value.one_of("via", &vias)?,
            None => Via::Nanosleep,
        },
    })
}

fn pattern(members: &[Member], at: usize) -> Result<Pattern, Wrong> {
    only(members, &["every", "first", "jitter", "random", "at"])?;
    let time = |key: &str| {
        find(members, key)
            .map(|value| value.time_ns(key))
            .transpose()
    };
    let distance = |key: &str| match time(key)? {
        Some(0) => Err(Wrong::new(at, format!("{key}: write a time above 0"))),
        other => Ok(other),
    };
    let (every, random) = (distance("every")?, distance("random")?);
    let (first, jitter) = (time("first")?, time("jitter")?);
    let listed = find(members, "at");
    match (every, random, listed) {
        (Some(period_ns), None, None) => Ok(Pattern::Periodic {
            first_ns: first.unwrap_or(0),
            period_ns,
            jitter_ns: jitter.unwrap_or(0),
        }),
        (None, Some(mean_ns), None) if first.is_none() && jitter.is_none() => {
            Ok(Pattern::Random { mean_ns })
        }
        (None, None, Some(value)) if first.is_none() && jitter.is_none() => {
            let times = value.list("at")?;
            if times.len() > ARRIVALS_MAX {
                return Err(value.wrong("at", &format!("write at most {ARRIVALS_MAX} times")));
            }
            let times: Vec<u64> = times
                .iter()
                .map(|time| time.time_ns("at"))
                .collect::<Result<_, Wrong>>()?;
            match times.is_sorted() {
                true => Ok(Pattern::Listed(times)),
                false => Err(value.wrong("at", "write the times in their order")),
            }
        }
        _ => Err(Wrong::new(
            at,
            "write every = \"10ms\", perhaps with first and jitter, or random = \"10ms\", the \
             mean distance, or at = [\"1ms\", \"5ms\"]",
        )),
    }
}

fn group(name: &str, members: &[Member], at: usize) -> Result<Group, Wrong> {
    only(members, &["weight", "quota", "period", "cpus"])?;
    let time = |key: &str| {
        find(members, key)
            .map(|value| value.time_ns(key))
            .transpose()
    };
    let (quota_ns, period_ns) = (time("quota")?, time("period")?);
    let is_allowed = |it: &u64| (1_000_000..=1_000_000_000).contains(it);
    let quota = match (quota_ns, period_ns.unwrap_or(100_000_000)) {
        (None, _) => None,
        (Some(quota_ns), period_ns) if quota_ns >= 1_000_000 && is_allowed(&period_ns) => {
            Some(Quota {
                quota_ns,
                period_ns,
            })
        }
        _ => {
            let reason = "write a quota from 1ms and a period from 1ms to 1s";
            return Err(Wrong::new(at, reason));
        }
    };
    let weight = match find(members, "weight") {
        Some(value) => Some(value.whole("weight", 1..=10_000)? as u32),
        None => None,
    };
    let cpus = find(members, "cpus").map(|value| value.cpus("cpus"));
    Ok(Group {
        name: name.to_owned(),
        weight,
        quota,
        cpus: cpus.transpose()?,
    })
}
