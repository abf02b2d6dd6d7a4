// SPDX-License-Identifier: GPL-2.0-only
//! What each CPU has done with its time since boot.
//!
//! Source: `Documentation/filesystems/proc.rst`, "Miscellaneous kernel statistics in
//! /proc/stat".

use super::{Root, Unreadable};
use serde::Serialize;
use std::collections::BTreeMap;

/// The file.
pub const FILE: &str = "/proc/stat";

/// Time of one CPU, in ticks of `USER_HZ`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CpuTimes {
    /// In user mode, in the kernel and in interrupts.
    pub busy: u64,
    /// Idle, or waiting for I/O.
    pub idle: u64,
    /// Time in which it was ready to run, and the hypervisor ran something else.
    pub steal: u64,
}

impl CpuTimes {
    /// The time since `before`.
    pub fn since(self, before: Self) -> Self {
        // The kernel's idle and I/O counters may step back a little.
        Self {
            busy: self.busy.saturating_sub(before.busy),
            idle: self.idle.saturating_sub(before.idle),
            steal: self.steal.saturating_sub(before.steal),
        }
    }

    /// The sum.
    pub fn total(self) -> u64 {
        self.busy + self.idle + self.steal
    }
}

/// Reads the times of every online CPU; none on a machine without `/proc/stat`.
///
/// # Errors
/// When the file cannot be read or understood.
pub fn read(root: &Root) -> Result<BTreeMap<u32, CpuTimes>, Unreadable> {
    let text = root.read(FILE)?.unwrap_or_default();
    let mut times = BTreeMap::new();
    for line in text.lines() {
        // The line without a number is the sum.
        let Some((cpu, fields)) = line
            .strip_prefix("cpu")
            .and_then(|line| line.split_once(' '))
            .filter(|(cpu, _)| !cpu.is_empty())
        else {
            continue;
        };
        let parsed = cpu.parse().ok().zip(parse(fields));
        let (cpu, of_cpu) =
            parsed.ok_or_else(|| root.malformed(FILE, format!("not a line of times: {line:?}")))?;
        times.insert(cpu, of_cpu);
    }
    Ok(times)
}

/// `user nice system idle iowait irq softirq steal guest guest_nice`; user and nice contain
/// the guests' time.
fn parse(fields: &str) -> Option<CpuTimes> {
    let ticks: Vec<u64> = fields
        .split_whitespace()
        .map(|field| field.parse().ok())
        .collect::<Option<_>>()?;
    let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = ticks[..] else {
        return None;
    };
    let sum = |parts: &[u64]| {
        parts
            .iter()
            .try_fold(0_u64, |sum, part| sum.checked_add(*part))
    };
    Some(CpuTimes {
        busy: sum(&[user, nice, system, irq, softirq])?,
        idle: sum(&[idle, iowait])?,
        steal,
    })
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_read_for_each_cpu() {
        let (_folder, root) = canned(&[(
            FILE,
            "cpu  11 0 0 0 0 0 0 0 0 0\ncpu0 1 2 3 40 5 6 7 8 0 0\ncpu12 10 0 0 9 0 0 0 0 0 0\n\
             intr 5 6\n",
        )]);
        let times = read(&root).unwrap();
        assert_eq!(times.len(), 2);
        let expected = CpuTimes {
            busy: 19,
            idle: 45,
            steal: 8,
        };
        assert_eq!(times[&0], expected);
        assert_eq!(times[&12].total(), 19);
        assert_eq!(times[&0].since(CpuTimes::default()), expected);
    }

    #[test]
    fn this_machine_has_times() {
        assert!(!read(&Root::default()).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_times_or_an_error(text in "(cpu[0-9]{0,3} [ 0-9a-z]{0,60}\n){0,4}") {
            let (_folder, root) = canned(&[(FILE, &text)]);
            let _ = read(&root);
        }
    }
}
