// SPDX-License-Identifier: GPL-2.0-only
//! One fake task: a process that follows its program, step by step.
//!
//! What it needs is made before the start. From then on it makes no system call but those of its
//! program: where it computes, it counts and looks whether it has to stop in shared memory.

pub mod account;
mod memory;
mod own;
mod signals;
mod step;
mod waits;

use super::arena::Slot;
use super::stage::Stage;
use super::sync::{futex_wait, futex_wake};
use artis_measure::clock::now_ns;
use artis_scenario::model::{Cursor, Op, Task};
use nix::errno::Errno;
use own::Own;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// What a task could not do, for [`super::Error::Task`].
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    pub doing: Doing,
    pub errno: Errno,
}

/// What tasks do that the system may refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Doing {
    Prepare = 1,
    Schedule,
    Bind,
    Group,
    Memory,
    File,
    Lock,
    Message,
    Signal,
    Fork,
    Poll,
    Timer,
    Kernel,
}

impl Doing {
    const ALL: [Self; 13] = [
        Self::Prepare,
        Self::Schedule,
        Self::Bind,
        Self::Group,
        Self::Memory,
        Self::File,
        Self::Lock,
        Self::Message,
        Self::Signal,
        Self::Fork,
        Self::Poll,
        Self::Timer,
        Self::Kernel,
    ];

    pub fn of(number: u64) -> Self {
        let found = Self::ALL.into_iter().find(|it| *it as u64 == number);
        found.unwrap_or(Self::Prepare)
    }

    /// What it was, and what to do when it was refused.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Prepare => ("prepare itself", ""),
            Self::Schedule => (
                "get its policy and priority",
                "; real-time policies need root, or a larger limit (ulimit -r)",
            ),
            Self::Bind => ("bind itself to its CPUs", ""),
            Self::Group => ("enter its control group", "; groups need root"),
            Self::Memory => ("map memory", ""),
            Self::File => (
                "use its file",
                "; name a folder on a larger disk with TMPDIR",
            ),
            Self::Lock => (
                "use a lock",
                "; below a ceiling, no task may have a higher priority than it, and it needs root",
            ),
            Self::Message => ("send or receive a message", ""),
            Self::Signal => ("send or await a signal", "; see ulimit -i"),
            Self::Fork => ("fork", "; see ulimit -u"),
            Self::Poll => ("wait with epoll", ""),
            Self::Timer => ("wait for a timer", ""),
            Self::Kernel => ("read /dev/zero", ""),
        }
    }

    /// For `map_err`.
    pub fn failed(self, errno: Errno) -> Failure {
        Failure { doing: self, errno }
    }
}

/// Whether the task goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Go,
    Stop,
}

/// A task while it lives.
struct Actor<'a> {
    stage: &'a Stage,
    task: &'a Task,
    slot: &'a Slot,
    slot_number: usize,
    is_forked: bool,
    /// When its first step began, or should have begun.
    start_ns: u64,
    /// Of the activation that it works on, where it has one.
    release_ns: Option<u64>,
    /// State of the integer work, and the part of a step that is owed.
    state: u64,
    owed: f64,
    own: Own<'a>,
}

/// The whole life of an instance; true: its end was in order. `slot` is its own, or that of all
/// forked instances of its task.
pub fn live(stage: &Stage, task: usize, slot_number: usize, is_forked: bool) -> bool {
    let slot = &stage.shared.slots[slot_number];
    match act(stage, task, slot_number, is_forked) {
        Ok(()) => true,
        Err(Failure { doing, errno }) => {
            let failed = (doing as u64) << 32 | (errno as i32 as u64 & 0xffff_ffff);
            slot.failed.store(failed, Release);
            // Who waits for it need not wait any longer.
            stage.shared.gate().stop.store(1, Release);
            false
        }
    }
}

fn act(stage: &Stage, task: usize, slot_number: usize, is_forked: bool) -> Result<(), Failure> {
    let kind = &stage.shared.kinds[task];
    let task_number = task;
    let task = &stage.scenario.tasks[task_number];
    let slot = &stage.shared.slots[slot_number];
    let entry = match is_forked {
        true => Some(signals::enter(stage, task_number)?),
        false => None,
    };
    let mut own = Own::new(stage, task, slot_number)?;
    own.enter(stage, task)?;
    let start_ns = match is_forked {
        true => now_ns(),
        false => begin(stage, task, slot),
    };
    let mut actor = Actor {
        stage,
        task,
        slot,
        slot_number,
        is_forked,
        start_ns,
        release_ns: None,
        state: artis_load::own::compute::START,
        owed: 0.0,
        own,
    };
    if actor.perform(&mut task.program.start())? == Flow::Go {
        slot.end_ns.store(now_ns(), Relaxed);
        slot.has_ended.store(1, Release);
    }
    actor.account();
    if let Some(entry) = entry {
        entry.store(0, Release);
    }
    if kind.alive.fetch_sub(1, AcqRel) == 1 {
        futex_wake(&kind.alive);
    }
    let gate = stage.shared.gate();
    if task.is_foreground
        && !is_forked
        && gate.foreground.fetch_sub(1, AcqRel) == 1
        && stage.scenario.end.with_foreground
    {
        gate.foreground_ended.store(1, Release);
        gate.stop.store(1, Release);
    }
    Ok(())
}

/// Waits for the common start, and until this task's own.
fn begin(stage: &Stage, task: &Task, slot: &Slot) -> u64 {
    let gate = stage.shared.gate();
    account::before_start(slot);
    gate.ready.fetch_add(1, AcqRel);
    futex_wait(&gate.open, 0);
    let start_ns = gate.start_ns.load(Acquire).saturating_add(task.start_ns);
    waits::sleep_until(start_ns);
    slot.begin_late_ns
        .store(now_ns().saturating_sub(start_ns), Relaxed);
    account::at_start(slot);
    start_ns
}

impl<'a> Actor<'a> {
    fn perform(&mut self, cursor: &mut Cursor) -> Result<Flow, Failure> {
        let task = self.task;
        while let Some(op) = cursor.advance(&task.program) {
            if self.must_stop() || self.step(op)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            self.slot.steps.fetch_add(1, Relaxed);
        }
        Ok(Flow::Go)
    }

    fn must_stop(&self) -> bool {
        self.stage.shared.must_stop(now_ns())
    }

    fn step(&mut self, op: &'a Op) -> Result<Flow, Failure> {
        step::step(self, op)
    }
}
