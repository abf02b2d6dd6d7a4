// SPDX-License-Identifier: GPL-2.0-only
//! What each step does, live. The meanings are those of [`artis_scenario::model::Op`].

use super::{Actor, Doing, Failure, Flow, live, memory, own, signals, waits};
use crate::calibrate::{counted, piece};
use crate::stage::Stage;
use crate::sync::{futex_wait, futex_wake};
use artis_load::own::faults::Region;
use artis_measure::clock::now_ns;
use artis_scenario::model::{Op, Work};
use nix::errno::Errno;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// Pieces between two looks at the clock, which may need the kernel on some machines.
const PIECES: u32 = 25;
/// Of work that ends by the clock.
const BUSY_NS: f64 = 2_000.0;

pub(super) fn step<'a>(actor: &mut Actor<'a>, op: &'a Op) -> Result<Flow, Failure> {
    let stage = actor.stage;
    let message = |errno| Doing::Message.failed(errno);
    match op {
        Op::Compute(Work::Ns(ns)) => return Ok(actor.compute(*ns as f64 / stage.rates.step_ns)),
        Op::Compute(Work::Instructions(count)) => {
            return Ok(actor.compute(*count as f64 / stage.instructions_per_step));
        }
        Op::Busy { ns } => return Ok(actor.busy(*ns)),
        Op::Memory(work) => match work.shared {
            Some(buffer) => memory::work_shared(&stage.buffers[buffer], work),
            None => {
                if let Some(buffer) = &mut actor.own.buffer {
                    buffer.work(work);
                }
            }
        },
        Op::Kernel { ns: 0 } => {
            // The shortest there is; the number is not wanted.
            std::hint::black_box(nix::unistd::getppid());
        }
        Op::Kernel { ns } => {
            let bytes = *ns as f64 * stage.rates.kernel_bytes_per_ns;
            if let Some(zero) = &actor.own.zero {
                let cleared = zero.clear_all(bytes as u64);
                cleared.map_err(|errno| Doing::Kernel.failed(errno))?;
            }
        }
        Op::Faults { pages } => {
            let region = Region::map(*pages as usize);
            region
                .map_err(|_| Doing::Memory.failed(Errno::ENOMEM))?
                .touch();
        }
        Op::File { direction, bytes } => {
            if let Some(file) = &mut actor.own.file {
                let moved = file.transfer(*direction, *bytes);
                moved.map_err(|error| {
                    Doing::File.failed(Errno::from_raw(error.raw_os_error().unwrap_or(0)))
                })?;
            }
        }
        Op::Sleep { ns } => waits::sleep_until(now_ns().saturating_add(*ns)),
        Op::Timer { timer, period_ns } => return actor.timer(*timer, *period_ns),
        Op::Arrival { arrivals } => return actor.arrival(*arrivals),
        Op::Send { channel, bytes } => {
            let text = &actor.own.message[..*bytes as usize];
            stage.channels[*channel].send(text).map_err(message)?;
        }
        Op::Receive { channel, bytes } => {
            let text = &mut actor.own.message[..*bytes as usize];
            stage.channels[*channel].receive(text).map_err(message)?;
        }
        Op::Raise { task } => signals::raise(stage, *task)?,
        Op::AwaitSignal { by_descriptor } => actor.own.signals.take(*by_descriptor)?,
        Op::Poll(sources) => return actor.poll(sources),
        Op::Fork { task } => actor.fork(*task)?,
        Op::Join { task } => join(stage, *task),
        Op::Become(change) => own::become_as(stage, change)?,
        Op::Yield => {
            // SAFETY: a call without arguments.
            unsafe { libc::sched_yield() };
        }
        Op::Lock(_)
        | Op::Unlock(_)
        | Op::Wait { .. }
        | Op::Signal(_)
        | Op::Broadcast(_)
        | Op::Post(_)
        | Op::Acquire(_)
        | Op::Barrier(_) => on_lock(stage, op).map_err(|errno| Doing::Lock.failed(errno))?,
    }
    Ok(Flow::Go)
}

fn join(stage: &Stage, task: usize) {
    let alive = &stage.shared.kinds[task].alive;
    loop {
        match alive.load(Acquire) {
            0 => return,
            count => futex_wait(alive, count),
        }
    }
}

fn on_lock(stage: &Stage, op: &Op) -> Result<(), Errno> {
    let sync = &stage.sync;
    match op {
        Op::Lock(it) => sync.lock(*it),
        Op::Unlock(it) => sync.unlock(*it),
        Op::Wait { condition, mutex } => sync.wait(*condition, *mutex),
        Op::Signal(it) => sync.signal(*it),
        Op::Broadcast(it) => sync.broadcast(*it),
        Op::Post(it) => sync.post(*it),
        Op::Acquire(it) => sync.acquire(*it),
        Op::Barrier(it) => sync.barrier(*it),
        _ => Ok(()),
    }
}

impl Actor<'_> {
    /// So many steps of integer work; what is left of one is owed to the next time.
    fn compute(&mut self, count: f64) -> Flow {
        let exact = count + self.owed;
        let mut left = exact.max(0.0) as u64;
        self.owed = exact - left as f64;
        let piece = piece(self.stage.rates.step_ns);
        let mut pieces = 0;
        while left > 0 {
            let part = left.min(piece);
            self.work(part);
            left -= part;
            pieces += 1;
            let is_over = match pieces % PIECES {
                0 => self.must_stop(),
                _ => self.stage.shared.gate().stop.load(Relaxed) != 0,
            };
            if is_over && left > 0 {
                return Flow::Stop;
            }
        }
        Flow::Go
    }

    /// Until the clock has gone on by so much.
    fn busy(&mut self, ns: u64) -> Flow {
        let until_ns = now_ns().saturating_add(ns);
        let part = ((BUSY_NS / self.stage.rates.step_ns) as u64).max(1);
        loop {
            let now_ns = now_ns();
            if now_ns >= until_ns {
                return Flow::Go;
            }
            if self.stage.shared.must_stop(now_ns) {
                return Flow::Stop;
            }
            self.work(part);
        }
    }

    /// Steps, counted for the CPU that they end on.
    fn work(&mut self, count: u64) {
        let units = self.stage.shared.units_of(self.slot_number);
        self.state = counted(self.state, count, units);
    }

    fn fork(&mut self, task: usize) -> Result<(), Failure> {
        let (stage, slot) = (self.stage, self.stage.forked_slot(task));
        let alive = &stage.shared.kinds[task].alive;
        alive.fetch_add(1, AcqRel);
        // SAFETY: this process has one thread; the child lives in `live` and ends in `_exit`.
        match unsafe { nix::unistd::fork() } {
            Ok(nix::unistd::ForkResult::Parent { .. }) => Ok(()),
            Ok(nix::unistd::ForkResult::Child) => {
                let in_order = live(stage, task, slot, true);
                // SAFETY: ends this process without the destructors of its parent.
                unsafe { libc::_exit(i32::from(!in_order)) }
            }
            Err(errno) => {
                if alive.fetch_sub(1, AcqRel) == 1 {
                    futex_wake(alive);
                }
                Err(Doing::Fork.failed(errno))
            }
        }
    }
}
