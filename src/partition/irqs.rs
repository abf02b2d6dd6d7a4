// SPDX-License-Identifier: GPL-2.0-only
//! Interrupts leave RT CPUs, except those that RT0 waits for.
//!
//! Source: `Documentation/core-api/irq/irq-affinity.rst`.

use super::change::{Change, Detour, Move, Target};
use super::plan::{Plan, Wish};
use artis_machine::irq_affinity::{self, DEFAULT_FILE, Irq, effective_file, file};
use artis_machine::{CpuList, Root, Unreadable, cpumask};

const REASON: &str = "an interrupt on an RT CPU preempts RT0";
const WANTED: &str = "RT0 waits for it, so it is taken where RT0 runs";
const COMING: &str = "interrupts of drivers loaded later would go to RT CPUs";

pub(super) fn plan(root: &Root, wish: &Wish, plan: &mut Plan) -> Result<(), Unreadable> {
    default(root, wish, plan)?;
    let irqs = irq_affinity::read(root)?;
    for irq in &irqs {
        one(wish, irq, plan);
    }
    for number in &wish.rt0_irqs {
        if !irqs.iter().any(|irq| irq.number == *number) {
            plan.leave(
                Move::IrqAffinity,
                format!("interrupt {number}"),
                "this machine has no such interrupt; /proc/interrupts lists the ones there are",
            );
        }
    }
    Ok(())
}

fn default(root: &Root, wish: &Wish, plan: &mut Plan) -> Result<(), Unreadable> {
    let Some(cpus) = irq_affinity::default(root)? else {
        plan.leave(
            Move::DefaultIrqAffinity,
            "interrupts to come",
            "this kernel has no default affinity: it is built for one CPU, or /proc is a container's",
        );
        return Ok(());
    };
    let file = (
        "interrupts to come".to_owned(),
        DEFAULT_FILE.to_owned(),
        COMING,
    );
    plan.file(root, Move::DefaultIrqAffinity, file, |old| {
        Some(cpumask::format(&wish.without_rt(&cpus), old))
    })?;
    Ok(())
}

fn one(wish: &Wish, irq: &Irq, plan: &mut Plan) {
    let for_rt0 = wish.rt0_irqs.contains(&irq.number);
    // Nobody asked for it; who does later gets the default.
    if irq.handlers.is_empty() && !for_rt0 {
        return;
    }
    let what = match irq.handlers.join(", ") {
        names if names.is_empty() => format!("interrupt {}", irq.number),
        names => format!("interrupt {} ({names})", irq.number),
    };
    if !irq.movable {
        if wish.touches_rt(irq.taken_by()) && !for_rt0 {
            plan.leave(
                Move::IrqAffinity,
                what,
                format!(
                    "the kernel places it itself (managed), or its controller cannot move it; boot \
                     with isolcpus=managed_irq,{}, or give the device fewer queues",
                    wish.rt
                ),
            );
        }
        return;
    }
    let new = if for_rt0 {
        wish.rt.clone()
    } else {
        wish.without_rt(&irq.allowed)
    };
    plan.push(Change {
        kind: Move::IrqAffinity,
        what,
        target: Target::file(file(irq.number)),
        old: irq.allowed.to_string(),
        detour: moved_from(irq, &new).map(|cpus| Detour {
            through: cpus.to_string(),
            shown: effective_file(irq.number),
        }),
        new: new.to_string(),
        reason: if for_rt0 { WANTED } else { REASON }.to_owned(),
    });
}

/// The CPU that takes it now, if it can be sent back there alone.
fn moved_from<'a>(irq: &'a Irq, new: &CpuList) -> Option<&'a CpuList> {
    irq.effective
        .as_ref()
        .filter(|cpus| cpus.len() == 1 && cpus.is_subset(&irq.allowed) && !cpus.is_subset(new))
        .filter(|cpus| **cpus != irq.allowed)
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::wish;
    use super::*;
    use artis_testing::canned;
    use std::collections::BTreeSet;
    use std::os::unix::fs::PermissionsExt;

    fn machine() -> (tempfile::TempDir, Root) {
        canned(&[
            ("proc/irq/default_smp_affinity", "f\n"),
            ("proc/irq/9/smp_affinity_list", "0-3\n"),
            ("proc/irq/9/effective_affinity_list", "3\n"),
            ("proc/irq/9/acpi/x", ""),
            ("proc/irq/24/smp_affinity_list", "3\n"),
            ("proc/irq/24/effective_affinity_list", "3\n"),
            ("proc/irq/24/eth0-rx/x", ""),
            ("proc/irq/25/smp_affinity_list", "0-1\n"),
            ("proc/irq/25/eth0-tx/x", ""),
            // Nobody asked for this one.
            ("proc/irq/10/smp_affinity_list", "0-3\n"),
        ])
    }

    #[test]
    fn interrupts_leave_rt_cpus_and_find_back() {
        let (_folder, root) = machine();
        let mut planned = Plan::default();
        plan(&root, &wish(), &mut planned).unwrap();
        let changes: Vec<_> = planned
            .changes
            .iter()
            .map(|one| {
                let through = one.detour.as_ref().map(|detour| detour.through.as_str());
                (one.old.as_str(), one.new.as_str(), through)
            })
            .collect();
        assert_eq!(
            changes,
            [
                ("f", "7", None),
                ("0-3", "0-2", Some("3")),
                ("3", "0-2", None),
                ("0-1", "0-1", None),
            ]
        );
    }

    #[test]
    fn what_rt0_waits_for_comes_to_it() {
        let (_folder, root) = machine();
        let wish = Wish {
            rt0_irqs: BTreeSet::from([25, 77]),
            ..wish()
        };
        let mut planned = Plan::default();
        plan(&root, &wish, &mut planned).unwrap();
        let change = planned.changes.last().unwrap();
        assert_eq!((change.old.as_str(), change.new.as_str()), ("0-1", "3"));
        assert!(planned.left[0].what.contains("77"));
    }

    #[test]
    fn managed_ones_are_named_as_impossible() {
        let (_folder, root) = machine();
        let path = root.path("/proc/irq/24/smp_affinity_list");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o444)).unwrap();
        let mut planned = Plan::default();
        plan(&root, &wish(), &mut planned).unwrap();
        assert_eq!(planned.left.len(), 1);
        assert!(planned.left[0].what.contains("24 (eth0-rx)"));
        assert!(planned.left[0].why.contains("managed"));
    }
}
