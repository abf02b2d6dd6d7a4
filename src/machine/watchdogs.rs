// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's lockup detectors, which notice CPUs that hang.
//!
//! Source: `Documentation/admin-guide/lockup-watchdogs.rst`.

use super::{CpuList, Root, Unreadable};
use serde::Serialize;

/// The CPUs that are watched.
pub const CPUS_FILE: &str = "/proc/sys/kernel/watchdog_cpumask";

/// The lockup detectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Watchdogs {
    /// A timer and a thread of highest priority check that tasks can still run.
    pub soft: bool,
    /// An interrupt that cannot be disabled checks that timers still run.
    pub nmi: bool,
    pub cpus: CpuList,
}

/// Reads the detectors; none in a kernel without them.
///
/// # Errors
/// When a file exists and cannot be read or understood.
pub fn read(root: &Root) -> Result<Option<Watchdogs>, Unreadable> {
    let Some(cpus) = root.cpus(CPUS_FILE)? else {
        return Ok(None);
    };
    let on = |name: &str| {
        let number = root.number::<i64>(format!("/proc/sys/kernel/{name}"))?;
        Ok(number.is_some_and(|number| number != 0))
    };
    Ok(Some(Watchdogs {
        soft: on("soft_watchdog")?,
        nmi: on("nmi_watchdog")?,
        cpus,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn the_detectors_are_read() {
        let cpus = ("proc/sys/kernel/watchdog_cpumask", "0-3\n");
        let (_folder, root) = canned(&[
            cpus,
            ("proc/sys/kernel/soft_watchdog", "1\n"),
            ("proc/sys/kernel/nmi_watchdog", "0\n"),
        ]);
        let watchdogs = read(&root).unwrap().unwrap();
        assert!(watchdogs.soft && !watchdogs.nmi);
        assert_eq!(watchdogs.cpus.to_string(), "0-3");
        let (_folder, root) = canned(&[cpus, ("proc/sys/kernel/nmi_watchdog", "on\n")]);
        assert!(read(&root).is_err());
        let (_folder, root) = canned(&[]);
        assert_eq!(read(&root).unwrap(), None);
    }
}
