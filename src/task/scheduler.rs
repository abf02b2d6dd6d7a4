// SPDX-License-Identifier: GPL-2.0-only
//! The RT CPUs of the running artis scheduler, for commands that place tasks.
//!
//! Reads what `artis sched run` leaves in its state file; never writes it.

use artis_machine::{CpuList, Root, Unreadable};
use serde::Deserialize;

/// Where the running scheduler describes itself.
pub const STATE_FILE: &str = "/run/artis/sched.json";
/// Where a kernel that has sched_ext describes it.
pub const SCHED_EXT: &str = "/sys/kernel/sched_ext";
/// Start of the scheduler's name in `root/ops` there.
const OPS_PREFIX: &str = "artis";

/// The running artis scheduler, as far as placing tasks needs it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Scheduler {
    pub rt_cpus: CpuList,
    pub nrt_cpus: CpuList,
    /// The process that loaded it.
    pub pid: i32,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error(
        "the artis scheduler is on, but {STATE_FILE}, where it keeps its CPU lists, does not exist"
    )]
    Absent,
    #[error("could not understand {STATE_FILE}")]
    Malformed(#[from] serde_json::Error),
}

/// The artis scheduler that is on now; `None` when the kernel has no or another one.
///
/// The kernel's file decides whether it is on, because a killed scheduler leaves its own behind.
///
/// # Errors
/// When the scheduler is on and its file is absent, unreadable or malformed.
pub fn running(root: &Root) -> Result<Option<Scheduler>, Error> {
    let loaded = root
        .read(format!("{SCHED_EXT}/root/ops"))?
        .is_some_and(|ops| ops.starts_with(OPS_PREFIX));
    if !loaded {
        return Ok(None);
    }
    let text = root.read(STATE_FILE)?.ok_or(Error::Absent)?;
    Ok(Some(serde_json::from_str(&text)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    const OPS: (&str, &str) = ("sys/kernel/sched_ext/root/ops", "artis\n");
    const STATE: (&str, &str) = (
        "run/artis/sched.json",
        r#"{"rt_cpus": "1,3", "nrt_cpus": "0,2", "pid": 7, "more": []}"#,
    );

    #[test]
    fn the_running_scheduler_names_its_cpus() {
        let (_folder, root) = canned(&[OPS, STATE]);
        let scheduler = running(&root).unwrap().unwrap();
        assert_eq!(scheduler.rt_cpus.to_string(), "1,3");
        assert_eq!(scheduler.nrt_cpus.to_string(), "0,2");
        assert_eq!(scheduler.pid, 7);
    }

    #[test]
    fn a_file_left_behind_is_no_scheduler_and_neither_is_another_one() {
        let (_folder, root) = canned(&[STATE]);
        assert_eq!(running(&root).unwrap(), None);
        let (_folder, root) = canned(&[STATE, ("sys/kernel/sched_ext/root/ops", "simple\n")]);
        assert_eq!(running(&root).unwrap(), None);
    }

    #[test]
    fn a_scheduler_without_a_usable_file_is_an_error() {
        let (_folder, root) = canned(&[OPS]);
        assert!(matches!(running(&root).unwrap_err(), Error::Absent));
        let (_folder, root) = canned(&[OPS, (STATE.0, "{")]);
        assert!(matches!(running(&root).unwrap_err(), Error::Malformed(_)));
    }
}
