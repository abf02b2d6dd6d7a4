// SPDX-License-Identifier: GPL-2.0-only
//! How large a scenario may be: no file takes memory or time without limit.

/// The longest file, in bytes.
pub const FILE_BYTES_MAX: usize = 16 << 20;
/// The most kinds of tasks.
pub const TASKS_MAX: usize = 100_000;
/// The most tasks at the start, all counts together.
pub const INSTANCES_MAX: u64 = 1_000_000;
/// The most steps of all programs together, each loop counted once.
pub const STEPS_MAX: usize = 1_000_000;
/// The most loops in one another.
pub const DEPTH_MAX: usize = 8;
/// The most objects of one kind.
pub const OBJECTS_MAX: usize = 100_000;
/// The longest time, one day.
pub const TIME_NS_MAX: u64 = 86_400_000_000_000;
/// The most instructions, bytes or loops of one step.
pub const AMOUNT_MAX: u64 = 1 << 50;
/// The largest buffer, message or file: what a live run takes from the machine.
pub const BYTES_MAX: u64 = 1 << 30;
/// The most pages of one step of faults.
pub const PAGES_MAX: u32 = 1 << 18;
/// Names have at most so many bytes.
pub const NAME_MAX: usize = 64;
/// The most arrival times that are listed one by one.
pub const ARRIVALS_MAX: usize = 1_000_000;
/// The most sources of one poll.
pub const SOURCES_MAX: usize = 64;
