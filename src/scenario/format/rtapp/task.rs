// SPDX-License-Identifier: GPL-2.0-only
//! A task of rt-app: its phases, and what changes from one to the next.

use super::super::NoteKind;
use super::super::builder::Builder;
use super::super::place::Wrong;
use super::super::tree::{Kind, Member, Value, find};
use super::{Global, event, legacy, scheduling, us};
use crate::model::*;
use artis_machine::CpuList;

/// Keys of tasks and phases that are no events.
const OF_BOTH: [&str; 11] = [
    "loop",
    "policy",
    "priority",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "cpus",
    "util_min",
    "util_max",
    "nodes_membind",
    "taskgroup",
];
const OF_TASKS: [&str; 6] = [
    "instance",
    "delay",
    "phases",
    "foreground",
    "period",
    "deadline",
];

/// What events need to know of their task.
pub struct Context<'a> {
    pub name: &'a str,
    pub instances: u32,
    pub global: &'a Global,
}

/// Reads one task into the builder.
pub fn read(member: &Member, global: &Global, builder: &mut Builder) -> Result<(), Wrong> {
    let members = member.value.object(&member.key)?;
    let name = checked_name(member)?;
    let number = |key: &str, range, default| match find(members, key) {
        Some(value) => value.whole(key, range),
        None => Ok(default),
    };
    let instances = number("instance", 0..=INSTANCES_MAX as i64, 1)? as u32;
    let context = Context {
        name,
        instances,
        global,
    };
    let policy = scheduling::of_task(members, global.policy, member.at)?;
    let cpus = cpus(members)?;
    let group = group(members, builder)?;
    note_ignored(members, builder);
    let base = Base {
        policy,
        cpus,
        group,
    };
    let steps = match (find(members, "phases"), find(members, "exec")) {
        (None, Some(exec)) => legacy::steps(members, exec, &context, builder)?,
        (None, None) => {
            note_unknown(members, true, builder);
            let steps = event::steps(members, member.at, &context, builder)?;
            // Without phases, the loop is that of the one phase, and a task without it goes on.
            vec![repeat(number("loop", -1..=i64::MAX, -1)?, steps)]
        }
        (Some(phases), _) => {
            let events = members.iter().filter(|it| event::is_event(&it.key));
            for Member { key, at, .. } in events {
                let text = format!("{key}: events beside phases have no effect");
                builder.note(NoteKind::Ignored, Some(*at), text);
            }
            note_unknown(members, true, builder);
            let steps = phased(phases.object("phases")?, &base, &context, builder)?;
            vec![repeat(number("loop", -1..=i64::MAX, -1)?, steps)]
        }
    };
    let Base {
        policy,
        cpus,
        group,
    } = base;
    let task = Task {
        policy,
        cpus,
        group,
        count: instances,
        start_ns: find(members, "delay").map_or(Ok(0), |value| us("delay", value))?,
        // Of the oldest files; newer ones have it in SCHED_DEADLINE.
        deadline_ns: match (find(members, "exec"), find(members, "deadline")) {
            (Some(_), Some(value)) => Some(us("deadline", value)?),
            _ => None,
        },
        is_foreground: find(members, "foreground")
            .map_or(Ok(false), |value| value.truth("foreground"))?,
        ..Task::new(&free_name(name, builder), Program::new(steps))
    };
    builder.scenario.tasks.push(task);
    builder.places.push(member.at);
    Ok(())
}

/// As rt-app's workgen does, a name that comes again has a number behind it.
fn free_name(name: &str, builder: &Builder) -> String {
    let tasks = &builder.scenario.tasks;
    let place = builder.known(super::super::builder::What::Task, name);
    match place == Some(tasks.len()) {
        true => name.to_owned(),
        false => format!("{name}.{}", tasks.len() + 1),
    }
}

fn checked_name(member: &Member) -> Result<&str, Wrong> {
    let value = Value {
        at: member.at,
        kind: Kind::Text(member.key.clone()),
    };
    value.name("a task's name")?;
    Ok(&member.key)
}

/// How a task begins.
struct Base {
    policy: Policy,
    cpus: Option<CpuList>,
    group: Option<usize>,
}

fn phased(
    phases: &[Member],
    base: &Base,
    context: &Context,
    builder: &mut Builder,
) -> Result<Vec<Step>, Wrong> {
    if phases.is_empty() {
        let reason = format!("task {} has no phase; write its events", context.name);
        return Err(Wrong::new(
            builder.places.last().copied().unwrap_or(0),
            reason,
        ));
    }
    let own: Vec<Option<CpuList>> = phases
        .iter()
        .map(|phase| cpus(phase.value.object(&phase.key)?))
        .collect::<Result<_, Wrong>>()?;
    let moves = own.iter().any(Option::is_some);
    let mut policy = base.policy;
    let mut steps = Vec::new();
    for (phase, own) in phases.iter().zip(own) {
        let members = phase.value.object(&phase.key)?;
        note_ignored(members, builder);
        note_unknown(members, false, builder);
        let changed = scheduling::of_phase(members, policy, phase.at)?;
        policy = changed.unwrap_or(policy);
        let change = Change {
            policy: changed,
            // A phase without CPUs has those of the task, or all.
            cpus: moves.then(|| own.or_else(|| base.cpus.clone()).unwrap_or_else(all_cpus)),
            group: group(members, builder)?,
        };
        if change != Change::default() {
            steps.push(Step::Do(Op::Become(Box::new(change))));
        }
        let body = event::steps(members, phase.at, context, builder)?;
        let times = match find(members, "loop") {
            Some(value) => value.whole("loop", -1..=i64::MAX)?,
            None => 1,
        };
        steps.push(repeat(times, body));
    }
    Ok(steps)
}

/// -1 is for ever.
fn repeat(times: i64, body: Vec<Step>) -> Step {
    let times = u64::try_from(times).ok();
    Step::Loop { times, body }
}

fn all_cpus() -> CpuList {
    (0..artis_machine::cpulist::CPUS_MAX).collect()
}

fn cpus(members: &[Member]) -> Result<Option<CpuList>, Wrong> {
    find(members, "cpus")
        .map(|value| value.cpus("cpus"))
        .transpose()
}

fn group(members: &[Member], builder: &mut Builder) -> Result<Option<usize>, Wrong> {
    let Some(value) = find(members, "taskgroup") else {
        return Ok(None);
    };
    if value.kind == Kind::Text(String::new()) {
        return Ok(None);
    }
    let path = value.name("taskgroup")?;
    let Some(below) = path.strip_prefix('/') else {
        return Err(value.wrong(
            "taskgroup",
            "write a path from the root, such as \"/tg1/tg11\"",
        ));
    };
    match below {
        // The run has a group of its own there.
        "" => builder.group("root", value.at).map(Some),
        below => builder.group(below, value.at).map(Some),
    }
}

fn note_ignored(members: &[Member], builder: &mut Builder) {
    for Member { key, at, .. } in members {
        let why = match key.as_str() {
            "util_min" | "util_max" => "utilization is not clamped",
            "nodes_membind" => "memory is not bound to nodes",
            "dl-runtime" | "dl-period" | "dl-deadline"
                if !matches!(find(members, "policy").map(|it| &it.kind),
                    Some(Kind::Text(policy)) if policy == "SCHED_DEADLINE") =>
            {
                "it counts for SCHED_DEADLINE only"
            }
            _ => continue,
        };
        builder.note(NoteKind::Ignored, Some(*at), format!("{key}: {why}"));
    }
}

fn note_unknown(members: &[Member], is_task: bool, builder: &mut Builder) {
    for Member { key, at, .. } in members {
        let is_known = OF_BOTH.contains(&key.as_str())
            || (is_task && OF_TASKS.contains(&key.as_str()))
            || event::is_event(key);
        if !is_known {
            let text = format!("{key:?} is no event and no property of rt-app");
            builder.note(NoteKind::Doubt, Some(*at), text);
        }
    }
}
