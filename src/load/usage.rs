// SPDX-License-Identifier: GPL-2.0-only
//! What a process used, as the kernel reports it when the process is waited for.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// What a process used, with its threads and the children that it has waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub user: Duration,
    pub system: Duration,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

/// Waits for a child as wait4(2) does: `which` is its first argument, `options` its third. Gives
/// the child's number, how it ended and what it used; none when no such child has ended, or
/// none exists.
pub fn wait_for(which: i32, options: i32) -> Option<(i32, ExitStatus, Usage)> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid, and the kernel fills it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live values.
    let pid = unsafe { libc::wait4(which, &raw mut status, options, &raw mut usage) };
    (pid > 0).then(|| (pid, ExitStatus::from_raw(status), Usage::from(usage)))
}

impl From<libc::rusage> for Usage {
    fn from(usage: libc::rusage) -> Self {
        // The kernel's counts are never negative.
        let number = |count: i64| u64::try_from(count).unwrap_or(0);
        let time = |time: libc::timeval| {
            Duration::from_secs(number(time.tv_sec)) + Duration::from_micros(number(time.tv_usec))
        };
        Self {
            user: time(usage.ru_utime),
            system: time(usage.ru_stime),
            voluntary_switches: number(usage.ru_nvcsw),
            involuntary_switches: number(usage.ru_nivcsw),
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.user += other.user;
        self.system += other.system;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
    }
}
