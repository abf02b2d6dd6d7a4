// SPDX-License-Identifier: GPL-2.0-only
//! The tasks of rt-app's first versions: `exec` in each `period`, with locks held for a part of it.
//!
//! Source: rt-app's `doc/examples/merge`. A job takes its locks in their order, holds each for its
//! duration together with those it gives access to, executes the rest, and waits for the period.

use super::super::NoteKind;
use super::super::builder::Builder;
use super::super::place::Wrong;
use super::super::tree::{Kind, Member, Value, find};
use super::task::Context;
use super::us;
use crate::model::*;

/// The program of such a task.
pub fn steps(
    members: &[Member],
    exec: &Value,
    context: &Context,
    builder: &mut Builder,
) -> Result<Vec<Step>, Wrong> {
    let text = "a task of rt-app's first versions: exec is used up in each period, first with its \
                locks in their order";
    builder.note(NoteKind::Assumed, Some(exec.at), text);
    let period_ns = match find(members, "period") {
        Some(value) => us("period", value)?,
        None => return Err(exec.wrong("exec", "write \"period\" beside it")),
    };
    let mut left_ns = us("exec", exec)?;
    let mut body = Vec::new();
    let resources = match find(members, "resources") {
        Some(value) => value.object("resources")?,
        None => &[],
    };
    for name in order(members, resources)? {
        let (name, at) = name;
        let Some(resource) = find(resources, name) else {
            let reason = format!("{name:?} is not in resources; write it there");
            return Err(Wrong::new(at, reason));
        };
        let parts = resource.object(name)?;
        let held_ns = match find(parts, "duration") {
            Some(value) => us("duration", value)?,
            None => 0,
        };
        let mut held = vec![builder.mutex(name, at)?];
        if let Some(access) = find(parts, "access") {
            for other in access.list("access")? {
                held.push(builder.mutex(other.name("access")?, other.at)?);
            }
        }
        body.extend(held.iter().map(|mutex| Step::Do(Op::Lock(*mutex))));
        body.push(Step::Do(Op::Compute(Work::Ns(held_ns))));
        body.extend(held.iter().rev().map(|mutex| Step::Do(Op::Unlock(*mutex))));
        left_ns = left_ns.saturating_sub(held_ns);
    }
    body.push(Step::Do(Op::Compute(Work::Ns(left_ns))));
    let timer = Timer {
        name: "period".to_owned(),
        is_shared: false,
        is_relative: false,
        via: Via::Nanosleep,
    };
    let known = format!("period\n{}", context.name);
    let timer = builder.timer(&known, exec.at, timer)?;
    body.push(Step::Do(Op::Timer { timer, period_ns }));
    Ok(vec![Step::Loop { times: None, body }])
}

/// The names of locks, in their order.
fn order<'a>(
    members: &'a [Member],
    resources: &'a [Member],
) -> Result<Vec<(&'a str, usize)>, Wrong> {
    let Some(order) = find(members, "lock_order") else {
        return Ok(resources
            .iter()
            .map(|it| (it.key.as_str(), it.at))
            .collect());
    };
    let names = order.list("lock_order")?.iter();
    names
        .map(|value| match &value.kind {
            Kind::Text(name) => Ok((name.as_str(), value.at)),
            _ => Err(value.wrong("lock_order", "write names of resources in quotes")),
        })
        .collect()
}
