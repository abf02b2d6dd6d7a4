// SPDX-License-Identifier: GPL-2.0-only
//! Work on memory: reads, writes, and chases through a buffer.

use super::{Doing, Failure};
use artis_scenario::model::{Access, Memory, Op, Task};
use nix::errno::Errno;
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A line of every cache that artis runs on.
const LINE_BYTES: usize = 64;

/// The buffer of a task.
pub struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// One as large as the largest that a step of the task needs for itself.
    pub fn of(task: &Task) -> Result<Option<Self>, Failure> {
        let sizes = task.program.ops().filter_map(|op| match op {
            Op::Memory(memory) if memory.shared.is_none() => Some(memory.buffer_bytes),
            _ => None,
        });
        let Some(size) = sizes.max() else {
            return Ok(None);
        };
        let size = usize::try_from(size).map_err(|_| Doing::Memory.failed(Errno::ENOMEM))?;
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(size).is_err() {
            return Err(Doing::Memory.failed(Errno::ENOMEM));
        }
        // Written, so that no step faults on it.
        bytes.resize(size, 1);
        Ok(Some(Self { bytes }))
    }

    /// Does work on the own buffer.
    pub fn work(&mut self, memory: &Memory) {
        let length = self.bytes.len().min(memory.buffer_bytes as usize);
        let bytes = &mut self.bytes[..length];
        match memory.access {
            Access::Read => passes(length, memory.amount, |from, to| {
                black_box(bytes[from..to].iter().fold(0_u8, |sum, it| sum ^ it));
            }),
            Access::Write => passes(length, memory.amount, |from, to| {
                bytes[from..to].fill(from as u8);
                black_box(&bytes);
            }),
            Access::Chase { stride, is_random } => {
                let read = |at: usize| bytes[at];
                chase(length, stride as usize, is_random, memory.amount, read);
            }
        }
    }
}

/// Does work on a buffer that several tasks have.
pub fn work_shared(bytes: &[AtomicU8], memory: &Memory) {
    let length = bytes.len().min(memory.buffer_bytes as usize);
    match memory.access {
        Access::Read => passes(length, memory.amount, |from, to| {
            let sum = bytes[from..to].iter().step_by(LINE_BYTES);
            black_box(sum.fold(0_u8, |sum, it| sum ^ it.load(Relaxed)));
        }),
        Access::Write => passes(length, memory.amount, |from, to| {
            let lines = bytes[from..to].iter().step_by(LINE_BYTES);
            lines.for_each(|it| it.store(from as u8, Relaxed));
        }),
        Access::Chase { stride, is_random } => {
            let read = |at: usize| bytes[at].load(Relaxed);
            chase(length, stride as usize, is_random, memory.amount, read);
        }
    }
}

/// `amount` bytes of a buffer, from its start again where it ends.
fn passes(length: usize, amount: u64, mut work: impl FnMut(usize, usize)) {
    let mut left = amount;
    while left > 0 {
        let part = usize::try_from(left).map_or(length, |left| left.min(length));
        work(0, part);
        left -= part as u64;
    }
}

/// Reads of which each needs the value of the one before: the places are a permutation of the
/// buffer's, by a linear congruence with full period (Hull and Dobell, 1962), or one after another.
fn chase(length: usize, stride: usize, is_random: bool, amount: u64, read: impl Fn(usize) -> u8) {
    let places = 1_usize << (length / stride).max(1).ilog2();
    let (factor, step) = if is_random { (5, 0x9e37_79b1) } else { (1, 1) };
    let mut place = 0_usize;
    for _ in 0..amount {
        // All bytes are 0 or 1 or alike; what counts is that the next place waits for this value.
        let value = usize::from(black_box(read(place * stride))) & places;
        place = (place
            .wrapping_mul(factor)
            .wrapping_add(step)
            .wrapping_add(value))
            & (places - 1);
    }
    black_box(place);
}
