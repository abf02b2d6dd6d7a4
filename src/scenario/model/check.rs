// SPDX-License-Identifier: GPL-2.0-only
//! Whether the parts of a scenario go together, whatever format it came from.

use super::*;

/// Two parts of a scenario that do not go together, with what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Contradiction {
    pub what: String,
    /// Which task it is about.
    pub task: Option<usize>,
}

/// Whether the scenario can be run: after this, every number names something, all sizes are within
/// their bounds, and no loop goes on for ever without a step that takes time.
///
/// # Errors
/// The first thing that does not fit.
pub fn check(scenario: &Scenario) -> Result<(), Contradiction> {
    let general = |what: String| Err(Contradiction { what, task: None });
    if scenario.tasks.is_empty() || scenario.tasks.len() > TASKS_MAX {
        let count = scenario.tasks.len();
        return general(format!("there are {count} tasks; give 1 to {TASKS_MAX}"));
    }
    let instances = scenario.instances();
    if instances == 0 {
        return general("no task starts; give one of them a count above 0".to_owned());
    }
    if instances > INSTANCES_MAX {
        return general(format!(
            "{instances} tasks start; let at most {INSTANCES_MAX} start"
        ));
    }
    let places = |task: &Task| task.program.code().len();
    let steps: usize = scenario.tasks.iter().map(places).sum();
    if steps > STEPS_MAX {
        return general(format!(
            "the programs have {steps} steps; use loops, so that there are at most {STEPS_MAX}"
        ));
    }
    if let Some(last) = scenario.machine.rt_cpus.last()
        && scenario.machine.cpus.is_some_and(|cpus| last >= cpus)
    {
        return general(format!("RT CPU {last} is no CPU of this machine"));
    }
    if scenario.end.with_foreground && !scenario.tasks.iter().any(|it| it.is_foreground) {
        return general("it ends with its foreground tasks, but no task is one".to_owned());
    }
    for (place, task) in scenario.tasks.iter().enumerate() {
        if let Err(what) = check_task(scenario, task) {
            return Err(Contradiction {
                what: format!("task {}: {what}", task.name),
                task: Some(place),
            });
        }
    }
    Ok(())
}

fn check_task(scenario: &Scenario, task: &Task) -> Result<(), String> {
    check_cpus(scenario, task.cpus.as_ref())?;
    if task.program.depth() > DEPTH_MAX {
        return Err(format!("more than {DEPTH_MAX} loops are in one another"));
    }
    if task
        .group
        .is_some_and(|it| it >= scenario.objects.groups.len())
    {
        return Err("it is in a group that is not there".to_owned());
    }
    for op in task.program.ops() {
        check_op(scenario, op)?;
    }
    check_loops(&task.program)
}

fn check_cpus(scenario: &Scenario, cpus: Option<&CpuList>) -> Result<(), String> {
    let (Some(list), Some(cpus)) = (cpus, scenario.machine.cpus) else {
        return Ok(());
    };
    match list.iter().any(|cpu| cpu < cpus) {
        true => Ok(()),
        false => Err(format!(
            "it may use CPU {list} only, and the machine has CPUs 0 to {}",
            cpus.saturating_sub(1)
        )),
    }
}

fn check_op(scenario: &Scenario, op: &Op) -> Result<(), String> {
    let objects = &scenario.objects;
    let is = |what: &str, place: usize, count: usize| match place < count {
        true => Ok(()),
        false => Err(format!("there is no {what} {place}")),
    };
    let (mutexes, conditions) = (objects.mutexes.len(), objects.conditions.len());
    let (channels, timers) = (objects.channels.len(), objects.timers.len());
    match op {
        Op::Lock(it) | Op::Unlock(it) => is("mutex", *it, mutexes),
        Op::Wait { condition, mutex } => {
            is("condition", *condition, conditions)?;
            is("mutex", *mutex, mutexes)
        }
        Op::Signal(it) | Op::Broadcast(it) => is("condition", *it, conditions),
        Op::Post(it) | Op::Acquire(it) => is("semaphore", *it, objects.semaphores.len()),
        Op::Barrier(it) => is("barrier", *it, objects.barriers.len()),
        Op::Send { channel, bytes } | Op::Receive { channel, bytes } => {
            is("channel", *channel, channels)?;
            check_message(&objects.channels[*channel], *bytes)
        }
        Op::Timer { timer, .. } => is("timer", *timer, timers),
        Op::Arrival { arrivals } => is("stream", *arrivals, objects.arrivals.len()),
        Op::Raise { task } | Op::Fork { task } | Op::Join { task } => {
            is("task", *task, scenario.tasks.len())
        }
        Op::Poll(sources) if sources.is_empty() || sources.len() > SOURCES_MAX => Err(format!(
            "a poll has {} sources; give 1 to {SOURCES_MAX}",
            sources.len()
        )),
        Op::Poll(sources) => sources.iter().try_for_each(|source| match source {
            Source::Channel { channel, bytes } => {
                is("channel", *channel, channels)?;
                check_message(&objects.channels[*channel], *bytes)
            }
            Source::Timer { timer, .. } => is("timer", *timer, timers),
            Source::Signal => Ok(()),
        }),
        Op::Become(change) => {
            check_cpus(scenario, change.cpus.as_ref())?;
            match change.group {
                Some(group) => is("group", group, objects.groups.len()),
                None => Ok(()),
            }
        }
        Op::Memory(memory) if !(64..=BYTES_MAX).contains(&memory.buffer_bytes) => Err(format!(
            "a buffer has {} bytes; give 64 to {BYTES_MAX}",
            memory.buffer_bytes
        )),
        _ => Ok(()),
    }
}

fn check_message(channel: &Channel, bytes: u32) -> Result<(), String> {
    match (1..=channel.capacity_bytes).contains(&bytes) {
        true => Ok(()),
        false => Err(format!(
            "a message of {bytes} bytes does not fit channel {}; give 1 to {}",
            channel.name, channel.capacity_bytes
        )),
    }
}

/// In each loop without end, a step takes time.
fn check_loops(program: &Program) -> Result<(), String> {
    // Of each open loop: whether it has no end, and whether something in it takes time.
    let mut open: Vec<(bool, bool)> = Vec::new();
    for code in program.code() {
        match code {
            Code::Do(op) if op.takes_time() => {
                if let Some(last) = open.last_mut() {
                    last.1 = true;
                }
            }
            Code::Do(_) => {}
            Code::Begin { times } => open.push((times.is_none(), false)),
            Code::End { .. } => match open.pop() {
                Some((true, false)) => {
                    return Err(
                        "a loop without end has no step that takes time; add one, such as a sleep"
                            .to_owned(),
                    );
                }
                Some((_, takes_time)) => {
                    if let Some(outer) = open.last_mut() {
                        outer.1 |= takes_time;
                    }
                }
                None => {}
            },
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(task: Task) -> Scenario {
        Scenario {
            tasks: vec![task],
            ..Scenario::default()
        }
    }

    fn forever(op: Op) -> Program {
        Program::new(vec![Step::Loop {
            times: None,
            body: vec![Step::Do(op)],
        }])
    }

    #[test]
    fn what_does_not_go_together_is_said() {
        let plain = || Task::new("one", forever(Op::Sleep { ns: 5 }));
        let check = |scenario: &Scenario| check(scenario).map_err(|error| error.what);
        assert_eq!(check(&of(plain())), Ok(()));
        let mut outside = of(plain());
        outside.machine.cpus = Some(2);
        outside.tasks[0].cpus = Some("4".parse().unwrap());
        let none = Task {
            count: 0,
            ..plain()
        };
        let wrong = [
            (Scenario::default(), "there are 0 tasks"),
            (of(none), "no task starts"),
            (
                of(Task::new("one", forever(Op::Yield))),
                "no step that takes time",
            ),
            (
                of(Task::new("one", forever(Op::Sleep { ns: 0 }))),
                "no step",
            ),
            (
                of(Task::new("one", forever(Op::Lock(0)))),
                "there is no mutex 0",
            ),
            (outside, "CPUs 0 to 1"),
        ];
        for (scenario, words) in wrong {
            let error = check(&scenario).unwrap_err();
            assert!(error.contains(words), "{error}: {words}");
        }
    }
}
