// SPDX-License-Identifier: GPL-2.0-only
//! Moves unbound workqueues away from RT CPUs: all of them through one mask, and writeback through
//! its own mask, which the user may have narrowed earlier.
//!
//! Source: `Documentation/core-api/workqueue.rst`.

use super::change::{Change, Kind, Target};
use super::plan::{Plan, Request};
use artis_machine::{Root, Unreadable, cpumask};

const FOLDER: &str = "/sys/devices/virtual/workqueue";

pub(super) fn plan(root: &Root, request: &Request, plan: &mut Plan) -> Result<(), Unreadable> {
    mask(
        root,
        request,
        plan,
        (
            Kind::WorkqueueMask,
            "unbound workqueues",
            FOLDER,
            "RT CPUs would do work that any CPU can do",
        ),
    )?;
    mask(
        root,
        request,
        plan,
        (
            Kind::Writeback,
            "writeback of files",
            &format!("{FOLDER}/writeback"),
            "writing back dirty pages takes milliseconds in the kernel",
        ),
    )
}

fn mask(
    root: &Root,
    request: &Request,
    plan: &mut Plan,
    (kind, what, folder, reason): (Kind, &str, &str, &str),
) -> Result<(), Unreadable> {
    let path = format!("{folder}/cpumask");
    // `cpumask` lacks the CPUs of isolated partitions, which come back by themselves. Kernels from
    // 6.8 on show the mask that was asked for in this file.
    let requested = format!("{folder}/cpumask_requested");
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
        new: cpumask::format(&request.without_rt(&cpus), &old),
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

    #[test]
    fn masks_keep_their_width() {
        let (_folder, root) = canned(&[
            ("sys/devices/virtual/workqueue/cpumask", "ff,ffffffff\n"),
            ("sys/devices/virtual/workqueue/writeback/cpumask", "8\n"),
        ]);
        let mut planned = Plan::default();
        plan(&root, &request(), &mut planned).unwrap();
        assert_eq!(planned.changes[0].new, "ff,fffffff7");
        assert_eq!(planned.changes[1].new, "7", "nothing else would be left");
    }

    #[test]
    fn the_requested_mask_counts() {
        let (_folder, root) = canned(&[
            ("sys/devices/virtual/workqueue/cpumask", "3\n"),
            ("sys/devices/virtual/workqueue/cpumask_requested", "f\n"),
        ]);
        let mut planned = Plan::default();
        plan(&root, &request(), &mut planned).unwrap();
        assert_eq!(planned.changes[0].old, "f");
        assert_eq!(planned.left.len(), 1, "no writeback here");
    }

    #[test]
    fn nonsense_is_an_error() {
        let (_folder, root) = canned(&[("sys/devices/virtual/workqueue/cpumask", "all\n")]);
        assert!(plan(&root, &request(), &mut Plan::default()).is_err());
    }
}
