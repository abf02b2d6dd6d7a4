// SPDX-License-Identifier: GPL-2.0-only
//! Moves unbound workqueues away from RT CPUs: all of them through one mask, and writeback through
//! its own mask, which the user may have narrowed earlier.
//!
//! Source: `Documentation/core-api/workqueue.rst`.

use super::change::{Change, Kind, Target};
use super::plan::{Plan, Request, without_rt};
use artis_machine::workqueues;
use artis_machine::{CpuList, Root, Unreadable, cpumask};

/// All unbound workqueues. A delayed work's timer is armed on the CPU where the work is asked for,
/// often by its own last run, so this keeps the timers of unbound works away from RT CPUs, too.
pub(super) fn unbound(
    root: &Root,
    rt: &CpuList,
    nrt: &CpuList,
    plan: &mut Plan,
) -> Result<(), Unreadable> {
    let change = (
        Kind::WorkqueueMask,
        "unbound workqueues",
        "RT CPUs would do work that any CPU can do",
    );
    mask(root, None, change, |cpus| without_rt(cpus, rt, nrt), plan)
}

/// Writeback of files, which has a mask of its own.
pub(super) fn writeback(root: &Root, request: &Request, plan: &mut Plan) -> Result<(), Unreadable> {
    let change = (
        Kind::Writeback,
        "writeback of files",
        "writing back dirty pages takes milliseconds in the kernel",
    );
    let without_rt = |cpus: &CpuList| request.without_rt(cpus);
    mask(root, Some("writeback"), change, without_rt, plan)
}

fn mask(
    root: &Root,
    workqueue: Option<&str>,
    (kind, what, reason): (Kind, &str, &str),
    new: impl FnOnce(&CpuList) -> CpuList,
    plan: &mut Plan,
) -> Result<(), Unreadable> {
    let path = workqueues::file(workqueue);
    // `cpumask` lacks the CPUs of isolated partitions, which come back by themselves. Kernels from
    // 6.8 on show the mask that was asked for in this file.
    let requested = format!("{path}_requested");
    let shown = root.exists(&requested).then_some(requested);
    let file = shown.as_ref().unwrap_or(&path);
    let Some(old) = root.read(file)? else {
        plan.leave(
            kind,
            what,
            "this kernel does not show its workqueues (CONFIG_SYSFS), or /sys is a container's",
        );
        return Ok(());
    };
    let cpus = cpumask::parse(&old).map_err(|error| root.malformed(file, error.to_string()))?;
    plan.push(Change {
        kind,
        what: what.to_owned(),
        new: cpumask::format(&new(&cpus), &old),
        old,
        target: Target::File { path, shown },
        detour: None,
        reason: reason.to_owned(),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::request;
    use super::*;
    use artis_testing::canned;

    fn planned(root: &Root) -> Result<Plan, Unreadable> {
        let request = request();
        let mut plan = Plan::default();
        unbound(root, &request.rt, &request.nrt, &mut plan)?;
        writeback(root, &request, &mut plan)?;
        Ok(plan)
    }

    #[test]
    fn masks_keep_their_width() {
        let (_folder, root) = canned(&[
            ("sys/devices/virtual/workqueue/cpumask", "ff,ffffffff\n"),
            ("sys/devices/virtual/workqueue/writeback/cpumask", "8\n"),
        ]);
        let planned = planned(&root).unwrap();
        assert_eq!(planned.changes[0].new, "ff,fffffff7");
        assert_eq!(planned.changes[1].new, "7", "nothing else would be left");
    }

    #[test]
    fn the_requested_mask_counts() {
        let (_folder, root) = canned(&[
            ("sys/devices/virtual/workqueue/cpumask", "3\n"),
            ("sys/devices/virtual/workqueue/cpumask_requested", "f\n"),
        ]);
        let planned = planned(&root).unwrap();
        assert_eq!(planned.changes[0].old, "f");
        assert_eq!(planned.left.len(), 1, "no writeback here");
    }

    #[test]
    fn nonsense_is_an_error() {
        let (_folder, root) = canned(&[("sys/devices/virtual/workqueue/cpumask", "all\n")]);
        assert!(planned(&root).is_err());
    }
}
