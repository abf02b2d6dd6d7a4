// SPDX-License-Identifier: GPL-2.0-only
//! The model of a scenario, which every format is read into and everybody who runs one follows.
//!
//! Times are nanoseconds. Things are named by their place in the lists of [`Scenario`]; a name is
//! for people. What each step does is said at [`Op`]: live runs and the simulator must agree on it.

mod arrivals;
mod bounds;
mod check;
mod object;
mod op;
mod policy;
mod program;
mod task;

pub use arrivals::{Arrivals, Pattern};
pub use bounds::*;
pub use check::{Contradiction, check};
pub use object::{Barrier, Channel, Group, Medium, Mutex, Protocol, Quota, Semaphore, Timer, Via};
pub use op::{Access, Change, Direction, Memory, Op, Source, Work};
pub use policy::{Class, Policy};
pub use program::{Code, Cursor, Program, Step};
pub use task::Task;

use artis_machine::CpuList;
use serde::Serialize;

/// A set of tasks and what they share.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Scenario {
    pub name: String,
    pub machine: Machine,
    /// What random arrivals depend on, and nothing else does.
    pub seed: u64,
    pub end: End,
    pub tasks: Vec<Task>,
    pub objects: Objects,
}

/// The machine that the scenario is for. A live run takes the machine that is there, and says
/// where it differs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Machine {
    /// CPUs 0 to this minus 1; none: any number will do.
    pub cpus: Option<u32>,
    /// The RT CPUs; empty: no CPU is.
    pub rt_cpus: CpuList,
    /// So many CPUs, one after the other, share their last cache; none: all of them.
    pub cpus_per_cache: Option<u32>,
    /// So many CPUs, one after the other, are a memory node; none: all of them.
    pub cpus_per_node: Option<u32>,
}

/// When a scenario ends. In any case, when all tasks have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct End {
    /// So long after the common start; tasks that go on then are stopped where they are.
    pub duration_ns: Option<u64>,
    /// When all tasks with [`Task::is_foreground`] have ended.
    pub with_foreground: bool,
}

/// What tasks share. An operation names one by its place here.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Objects {
    pub mutexes: Vec<Mutex>,
    /// Condition variables, by their names.
    pub conditions: Vec<String>,
    pub semaphores: Vec<Semaphore>,
    pub barriers: Vec<Barrier>,
    pub channels: Vec<Channel>,
    pub timers: Vec<Timer>,
    pub arrivals: Vec<Arrivals>,
    pub groups: Vec<Group>,
}

impl Scenario {
    /// How many tasks are there at the common start.
    pub fn instances(&self) -> u64 {
        self.tasks.iter().map(|task| u64::from(task.count)).sum()
    }

    /// Whether it ends by itself, however long that takes: it has a duration, ends with its
    /// foreground tasks, or no program has a loop without end.
    pub fn ends(&self) -> bool {
        let goes_on = |task: &&Task| task.program.is_endless();
        let endless = match self.end.with_foreground {
            true => self
                .tasks
                .iter()
                .filter(|it| it.is_foreground)
                .any(|it| goes_on(&it)),
            false => self.tasks.iter().any(|it| goes_on(&it)),
        };
        self.end.duration_ns.is_some() || !endless
    }
}
