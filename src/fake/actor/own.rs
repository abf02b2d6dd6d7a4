// SPDX-License-Identifier: GPL-2.0-only
//! What a task has for itself: its buffer, its file, its timers and descriptors, and its place in
//! the scheduler. All of it is made before the start.

use super::memory::Buffer;
use super::signals::Signals;
use super::waits::Timers;
use super::{Doing, Failure};
use crate::calibrate::Zero;
use crate::stage::Stage;
use artis_machine::CpuList;
use artis_scenario::model::{Change, Direction, Op, Policy, Source, Task};
use artis_task::syscall::{self, SCHED_EXT, Scheduling};
use nix::errno::Errno;
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::iter::Peekable;
use std::os::unix::fs::FileExt;

/// A piece of a file that one call reads or writes.
pub const PIECE_BYTES: usize = 64 << 10;
/// A file begins anew here.
const FILE_BYTES_MAX: u64 = 64 << 20;

type Times<'a> = Peekable<Box<dyn Iterator<Item = u64> + 'a>>;

pub struct Own<'a> {
    /// For work on memory; none: no step does any.
    pub buffer: Option<Buffer>,
    pub file: Option<OwnFile>,
    pub zero: Option<Zero>,
    pub timers: Timers,
    pub signals: Signals,
    /// Of each stream that a step waits for: its arrivals from the common start.
    pub arrivals: Vec<Option<Times<'a>>>,
    pub message: Vec<u8>,
}

/// A file in the run's folder, which is removed with it.
pub struct OwnFile {
    file: File,
    at: u64,
    length: u64,
    piece: Vec<u8>,
}

impl<'a> Own<'a> {
    pub fn new(stage: &'a Stage, task: &Task, slot: usize) -> Result<Self, Failure> {
        let title = CString::new(task.name.as_str()).unwrap_or_default();
        nix::sys::prctl::set_name(&title).map_err(|errno| Doing::Prepare.failed(errno))?;
        let ops = || task.program.ops();
        if ops().any(|op| matches!(op, Op::Faults { .. })) {
            // Each page is to fault, and not one in 512.
            let without = artis_task::huge_pages::go_without();
            without.map_err(|errno| Doing::Prepare.failed(errno))?;
        }
        let message = ops().filter_map(message_bytes).max().unwrap_or(0);
        let uses_kernel = ops().any(|op| matches!(op, Op::Kernel { ns: 1.. }));
        let zero = match uses_kernel {
            true => Some(Zero::open().map_err(|_| Doing::Kernel.failed(Errno::EACCES))?),
            false => None,
        };
        let mut arrivals: Vec<Option<Times>> = Vec::new();
        for (place, stream) in stage.scenario.objects.arrivals.iter().enumerate() {
            let is_used =
                ops().any(|op| matches!(op, Op::Arrival { arrivals } if *arrivals == place));
            arrivals.push(is_used.then(|| {
                let times = stream.times(stage.scenario.seed, place);
                let times: Box<dyn Iterator<Item = u64>> = Box::new(times);
                times.peekable()
            }));
        }
        Ok(Self {
            buffer: Buffer::of(task)?,
            file: OwnFile::of(stage, task, slot)?,
            zero,
            timers: Timers::of(stage, task)?,
            signals: Signals::of(task)?,
            arrivals,
            message: vec![0; message],
        })
    }

    /// Takes its place in the scheduler; real-time policies last, so that they disturb nobody
    /// before the start.
    pub fn enter(&mut self, stage: &Stage, task: &Task) -> Result<(), Failure> {
        if let Some(group) = task.group {
            enter_group(stage, group)?;
        }
        if let Some(cpus) = &task.cpus {
            bind(stage, cpus)?;
        }
        schedule(task.policy)
    }
}

fn message_bytes(op: &Op) -> Option<usize> {
    match op {
        Op::Send { bytes, .. } | Op::Receive { bytes, .. } => Some(*bytes as usize),
        Op::Poll(sources) => {
            let sources = sources.iter().filter_map(|source| match source {
                Source::Channel { bytes, .. } => Some(*bytes as usize),
                _ => None,
            });
            sources.max()
        }
        _ => None,
    }
}

/// Moves this process into a group of the scenario.
pub fn enter_group(stage: &Stage, group: usize) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Doing::Group.failed(Errno::from_raw(error.raw_os_error().unwrap_or(0)))
    };
    match stage.groups.get().and_then(|files| files.get(group)) {
        Some(file) => std::fs::write(file, "0").map_err(failed),
        None => Err(Doing::Group.failed(Errno::ENOENT)),
    }
}

/// Binds this process to those of the CPUs that are here.
pub fn bind(stage: &Stage, cpus: &CpuList) -> Result<(), Failure> {
    syscall::set_affinity(0, &(cpus & &stage.here)).map_err(|errno| Doing::Bind.failed(errno))
}

/// Changes how this process is scheduled.
pub fn become_as(stage: &Stage, change: &Change) -> Result<(), Failure> {
    if let Some(group) = change.group {
        enter_group(stage, group)?;
    }
    if let Some(cpus) = &change.cpus {
        bind(stage, cpus)?;
    }
    change.policy.map_or(Ok(()), schedule)
}

/// Gives this process a policy.
pub fn schedule(policy: Policy) -> Result<(), Failure> {
    let plain = |policy, nice, priority| Scheduling {
        policy,
        nice,
        priority,
        reset_on_fork: false,
    };
    let outcome = match policy {
        Policy::Deadline {
            runtime_ns,
            deadline_ns,
            period_ns,
        } => syscall::reserve(
            0,
            syscall::Reservation {
                runtime_ns,
                deadline_ns,
                period_ns,
            },
        ),
        Policy::Other { nice } => {
            syscall::set_scheduling(0, plain(libc::SCHED_OTHER, nice.into(), 0))
        }
        Policy::Batch { nice } => {
            syscall::set_scheduling(0, plain(libc::SCHED_BATCH, nice.into(), 0))
        }
        Policy::Idle => syscall::set_scheduling(0, plain(libc::SCHED_IDLE, 0, 0)),
        Policy::Ext { nice } => syscall::set_scheduling(0, plain(SCHED_EXT, nice.into(), 0)),
        Policy::Fifo { priority } => {
            syscall::set_scheduling(0, plain(libc::SCHED_FIFO, 0, priority.into()))
        }
        Policy::RoundRobin { priority } => {
            syscall::set_scheduling(0, plain(libc::SCHED_RR, 0, priority.into()))
        }
    };
    outcome.map_err(|errno| Doing::Schedule.failed(errno))
}

impl OwnFile {
    fn of(stage: &Stage, task: &Task, slot: usize) -> Result<Option<Self>, Failure> {
        let mut uses = task.program.ops().filter_map(|op| match op {
            Op::File { direction, bytes } => Some((*direction, *bytes)),
            _ => None,
        });
        let Some(first) = uses.next() else {
            return Ok(None);
        };
        let failed = |error: std::io::Error| {
            Doing::File.failed(Errno::from_raw(error.raw_os_error().unwrap_or(0)))
        };
        let path = stage
            .folder()
            .join(format!("{slot}-{}", std::process::id()));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .map_err(failed)?;
        let (mut length, mut reads) = (PIECE_BYTES as u64, false);
        for (direction, bytes) in std::iter::once(first).chain(uses) {
            length = length.max(bytes);
            reads |= direction == Direction::Read;
        }
        let mut made = Self {
            file,
            at: 0,
            length: length
                .min(FILE_BYTES_MAX)
                .next_multiple_of(PIECE_BYTES as u64),
            piece: vec![0xa5; PIECE_BYTES],
        };
        if reads {
            // What is read is in the page cache then.
            made.transfer(Direction::Write, made.length)
                .map_err(failed)?;
        }
        Ok(Some(made))
    }

    /// Reads or writes so many bytes, from where the last call ended.
    pub fn transfer(&mut self, direction: Direction, bytes: u64) -> std::io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let room = (self.length - self.at).min(PIECE_BYTES as u64).min(left);
            let piece = &mut self.piece[..room as usize];
            match direction {
                Direction::Read => self.file.read_exact_at(piece, self.at)?,
                Direction::Write => self.file.write_all_at(piece, self.at)?,
            }
            left -= room;
            self.at = (self.at + room) % self.length;
        }
        Ok(())
    }
}
