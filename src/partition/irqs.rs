// SPDX-License-Identifier: GPL-2.0-only
//! Moves interrupts away from RT CPUs, except those that RT0 waits for.
//!
//! Source: `Documentation/core-api/irq/irq-affinity.rst`.

use super::change::{Change, Detour, Kind, Target};
use super::plan::{Plan, Request};
use artis_machine::irq_affinity::{self, DEFAULT_FILE, Irq, effective_file, file};
use artis_machine::{CpuList, Root, Unreadable, cpumask};

const REASON: &str = "an interrupt on an RT CPU preempts RT0";
const WANTED: &str = "RT0 waits for it, so it is handled where RT0 runs";
const COMING: &str = "interrupts of drivers loaded later would go to RT CPUs";

pub(super) fn plan(root: &Root, request: &Request, plan: &mut Plan) -> Result<(), Unreadable> {
    for irq in &irq_affinity::read(root)? {
        one(request, irq, plan);
    }
    Ok(())
}

/// The interrupts of drivers that are loaded later.
pub(super) fn default(root: &Root, request: &Request, plan: &mut Plan) -> Result<(), Unreadable> {
    let Some(cpus) = irq_affinity::default(root)? else {
        plan.leave(
            Kind::DefaultIrqAffinity,
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
    plan.file(root, Kind::DefaultIrqAffinity, file, |old| {
        Some(cpumask::format(&request.without_rt(&cpus), old))
    })?;
    Ok(())
}

fn one(request: &Request, irq: &Irq, plan: &mut Plan) {
    let for_rt0 = request.rt0_irqs.contains(&irq.number);
    // No driver uses it; a driver that does later gets the default affinity.
    if irq.handlers.is_empty() && !for_rt0 {
        return;
    }
    let what = match irq.handlers.join(", ") {
        names if names.is_empty() => format!("interrupt {}", irq.number),
        names => format!("interrupt {} ({names})", irq.number),
    };
    if !irq.movable {
        if request.touches_rt(irq.taken_by()) && !for_rt0 {
            plan.leave(
                Kind::IrqAffinity,
                what,
                format!(
                    "the kernel places it (managed), or its controller cannot move it; boot \
                     with isolcpus=managed_irq,{}, or give the device fewer queues",
                    request.rt
                ),
            );
        }
        return;
    }
    let new = if for_rt0 {
        request.rt.clone()
    } else {
        request.without_rt(&irq.allowed)
    };
    plan.push(Change {
        kind: Kind::IrqAffinity,
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

/// The CPU that handles it now, if the interrupt can be sent back to that CPU alone.
fn moved_from<'a>(irq: &'a Irq, new: &CpuList) -> Option<&'a CpuList> {
    irq.effective
        .as_ref()
        .filter(|cpus| cpus.len() == 1 && cpus.is_subset(&irq.allowed) && !cpus.is_subset(new))
        .filter(|cpus| **cpus != irq.allowed)
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::request;
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
            // No driver uses this one.
            ("proc/irq/10/smp_affinity_list", "0-3\n"),
        ])
    }

    #[test]
    fn interrupts_leave_rt_cpus_and_get_a_way_back() {
        let (_folder, root) = machine();
        let mut planned = Plan::default();
        default(&root, &request(), &mut planned).unwrap();
        plan(&root, &request(), &mut planned).unwrap();
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
        let request = Request {
            rt0_irqs: BTreeSet::from([25]),
            ..request()
        };
        let mut planned = Plan::default();
        plan(&root, &request, &mut planned).unwrap();
        let change = planned.changes.last().unwrap();
        assert_eq!((change.old.as_str(), change.new.as_str()), ("0-1", "3"));
    }

    #[test]
    fn an_interrupt_that_does_not_exist_is_refused_beside_those_that_do() {
        let (_folder, root) = machine();
        let allowed = request().with_rt0_irqs(&root, &[24, 9]).unwrap();
        assert_eq!(allowed.rt0_irqs, BTreeSet::from([9, 24]));
        let error = request().with_rt0_irqs(&root, &[9, 9999]).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("no interrupt 9999") && error.contains("9-10,24-25"),
            "{error}"
        );
    }

    #[test]
    fn managed_ones_are_named_as_impossible() {
        let (_folder, root) = machine();
        let path = root.path("/proc/irq/24/smp_affinity_list");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o444)).unwrap();
        let mut planned = Plan::default();
        plan(&root, &request(), &mut planned).unwrap();
        assert_eq!(planned.left.len(), 1);
        assert!(planned.left[0].what.contains("24 (eth0-rx)"));
        assert!(planned.left[0].why.contains("managed"));
    }
}
