// SPDX-License-Identifier: GPL-2.0-only
//! Interrupts: how often each occurred on each CPU.
//!
//! [`super::irq_affinity`] reads which CPUs each may go to.
//!
//! Source: `show_interrupts()` in `kernel/irq/proc.c`.

use super::irq_affinity::{self, Irq};
use super::tasks::Task;
use super::{CpuList, Root, Unreadable};
use serde::Serialize;
use std::collections::BTreeMap;

/// The counters.
pub const FILE: &str = "/proc/interrupts";

/// One line of [`FILE`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// A number, or the name of an interrupt that belongs to no device: `LOC`, `NMI`.
    pub label: String,
    /// Since boot, in the order of [`Table::cpus`]; shorter where the kernel only has a sum.
    pub counts: Vec<u64>,
    /// Chip and trigger, and the drivers that handle it.
    pub description: String,
}

/// [`FILE`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    /// The CPUs of the columns; offline CPUs have no column.
    pub cpus: Vec<u32>,
    pub lines: Vec<Counts>,
}

/// A device's interrupt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Interrupt {
    pub number: u32,
    /// The drivers that handle it, or the kernel's description.
    pub name: String,
    /// CPUs on which it occurred since boot.
    pub seen_on: CpuList,
    /// CPUs that it may go to; none on a kernel for one CPU.
    pub affinity: Option<CpuList>,
    /// As [`Irq::effective`].
    pub effective: Option<CpuList>,
    /// As [`Irq::managed`].
    pub managed: Option<bool>,
    /// As [`Irq::movable`].
    pub movable: bool,
}

impl Interrupt {
    /// CPUs that it interrupts: those that the chip uses, or may use where the kernel does not show
    /// more. Empty for an interrupt of every CPU, such as a timer's, or one that is switched off.
    pub fn target(&self) -> CpuList {
        let known = self.effective.as_ref().or(self.affinity.as_ref());
        known.cloned().unwrap_or_default()
    }
}

/// Reads the counters; none on a machine without them.
///
/// # Errors
/// When the file exists and cannot be read or understood.
pub fn table(root: &Root) -> Result<Option<Table>, Unreadable> {
    let Some(text) = root.read(FILE)? else {
        return Ok(None);
    };
    let table = parse(&text);
    let malformed = || root.malformed(FILE, "its first line does not name CPUs".to_owned());
    table.map(Some).ok_or_else(malformed)
}

/// Reads the interrupts that a driver handles.
///
/// # Errors
/// When a file exists and cannot be read or understood.
pub fn all(root: &Root) -> Result<Vec<Interrupt>, Unreadable> {
    table(root)?.map_or_else(|| Ok(Vec::new()), |table| of(root, &table))
}

/// As [`all`], from a table that was read already.
///
/// # Errors
/// As [`all`].
pub fn of(root: &Root, table: &Table) -> Result<Vec<Interrupt>, Unreadable> {
    let mut interrupts = Vec::new();
    for line in &table.lines {
        let Ok(number) = line.label.parse() else {
            continue;
        };
        let seen_on = table.cpus.iter().zip(&line.counts);
        let irq = irq_affinity::one(root, number)?;
        interrupts.push(Interrupt {
            number,
            name: name(irq.as_ref(), &line.description),
            seen_on: seen_on
                .filter(|(_, n)| **n > 0)
                .map(|(cpu, _)| *cpu)
                .collect(),
            managed: irq.as_ref().and_then(|irq| irq.managed),
            movable: irq.as_ref().is_some_and(|irq| irq.movable),
            effective: irq.as_ref().and_then(|irq| irq.effective.clone()),
            affinity: irq.map(|irq| irq.allowed),
        });
    }
    Ok(interrupts)
}

/// How often each interrupt of `after` occurred on each CPU since `before`. For a new interrupt or
/// a new CPU that is its counter.
pub fn since<'a>(before: &Table, after: &'a Table) -> Vec<(&'a Counts, BTreeMap<u32, u64>)> {
    let counts = |table: &Table, line: &Counts| -> BTreeMap<u32, u64> {
        let of_cpus = table.cpus.iter().zip(&line.counts);
        of_cpus.map(|(cpu, count)| (*cpu, *count)).collect()
    };
    let earlier: BTreeMap<&str, BTreeMap<u32, u64>> = before
        .lines
        .iter()
        .map(|line| (line.label.as_str(), counts(before, line)))
        .collect();
    let came = |line: &'a Counts| {
        let mut came = counts(after, line);
        if let Some(earlier) = earlier.get(line.label.as_str()) {
            for (cpu, count) in &mut came {
                // A driver that was loaded again starts from 0.
                *count = count.saturating_sub(earlier.get(cpu).copied().unwrap_or(0));
            }
        }
        (line, came)
    };
    after.lines.iter().map(came).collect()
}

/// The number of the interrupt that a thread of the kernel handles: 24 of `irq/24-eth0`.
pub fn handled_by(task: &Task) -> Option<u32> {
    let name = task.name.strip_prefix("irq/").filter(|_| task.is_kernel)?;
    name.split('-').next()?.parse().ok()
}

/// The drivers' names; where the kernel does not give them, the whole description.
fn name(irq: Option<&Irq>, description: &str) -> String {
    irq.map(|irq| irq.handlers.join(", "))
        .filter(|names| !names.is_empty())
        .unwrap_or_else(|| description.to_owned())
}

/// A line of CPUs, then lines of `LABEL: COUNT... DESCRIPTION`.
fn parse(text: &str) -> Option<Table> {
    let mut lines = text.lines();
    let cpus: Vec<u32> = lines
        .next()?
        .split_whitespace()
        .map(|word| word.strip_prefix("CPU")?.parse().ok())
        .collect::<Option<_>>()?;
    // A CpuList has room for the CPUs of every kernel.
    if cpus.is_empty() || cpus.iter().any(|cpu| *cpu >= super::cpulist::CPUS_MAX) {
        return None;
    }
    let line = |line: &str| {
        let (label, rest) = line.split_once(':')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let counts: Vec<u64> = words
            .iter()
            .take(cpus.len())
            .map_while(|word| word.parse().ok())
            .collect();
        Some(Counts {
            label: label.trim().to_owned(),
            description: words[counts.len()..].join(" "),
            counts,
        })
    };
    let lines = lines.filter_map(line).collect();
    Some(Table { cpus, lines })
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;
    use proptest::prelude::*;

    /// CPU 1 is offline.
    const TEXT: &str = "           CPU0       CPU2\n\
        \x20 9:          0         12   IO-APIC   9-fasteoi   acpi\n\
        \x2024:          5          0  PCI-MSIX-0000:00:01.0   0-edge      eth0-rx, eth0-tx\n\
        \x2011:          3          3   GICv2  30 Level     arch_timer\n\
        LOC:      40110      52001   Local timer interrupts\n\
        ERR:          0\n";

    #[test]
    fn lines_have_a_count_for_each_online_cpu() {
        let table = parse(TEXT).unwrap();
        assert_eq!(table.cpus, [0, 2]);
        assert_eq!(table.lines.len(), 5);
        assert_eq!(table.lines[0].counts, [0, 12]);
        assert_eq!(table.lines[0].description, "IO-APIC 9-fasteoi acpi");
        assert_eq!(table.lines[3].label, "LOC");
        assert_eq!(table.lines[4].counts, [0]);
        assert_eq!(parse(""), None);
        assert_eq!(parse("9: 0 0\n"), None);
        assert_eq!(parse("CPU0 CPU99999\n"), None);
    }

    #[test]
    fn differences_are_computed_for_each_cpu() {
        let before = parse("CPU0 CPU2\n9: 5 6 a\n").unwrap();
        let after = parse("CPU0 CPU1 CPU2\n9: 7 1 3 a\n10: 2 0 0 b\n").unwrap();
        let since = since(&before, &after);
        assert_eq!(since[0].1, BTreeMap::from([(0, 2), (1, 1), (2, 0)]));
        assert_eq!(since[1].1[&0], 2);
    }

    #[test]
    fn affinities_are_read_for_devices() {
        let (_folder, root) = canned(&[
            ("proc/interrupts", TEXT),
            ("proc/irq/9/smp_affinity_list", "0-2\n"),
            ("proc/irq/9/effective_affinity_list", "2\n"),
            ("sys/kernel/irq/9/actions", "acpi\n"),
            ("proc/irq/24/smp_affinity_list", "0\n"),
            ("proc/irq/11/smp_affinity_list", "0-2\n"),
            ("proc/irq/11/effective_affinity_list", "\n"),
            (
                "sys/kernel/debug/irq/irqs/24",
                "dstate: IRQD_AFFINITY_MANAGED\n",
            ),
        ]);
        let all = all(&root).unwrap();
        assert_eq!(all.len(), 3);
        assert!(all[2].target().is_empty() && all[2].name.starts_with("GICv2 30"));
        assert_eq!((all[0].name.as_str(), all[0].number), ("acpi", 9));
        assert_eq!(all[0].seen_on.to_string(), "2");
        assert_eq!(all[0].target().to_string(), "2");
        assert_eq!(all[0].managed, None);
        assert_eq!(all[1].target().to_string(), "0");
        assert_eq!((all[1].managed, all[1].movable), (Some(true), false));
        assert!(all[0].movable);
        assert!(all[1].name.ends_with("eth0-rx, eth0-tx"));
    }

    #[test]
    fn what_is_absent_is_empty_and_nonsense_is_an_error() {
        let (_folder, root) = canned(&[]);
        assert!(all(&root).unwrap().is_empty());
        let (_folder, root) = canned(&[("proc/interrupts", "nonsense\n")]);
        assert!(all(&root).is_err());
        let (_folder, root) = canned(&[
            ("proc/interrupts", TEXT),
            ("proc/irq/9/smp_affinity_list", "all\n"),
        ]);
        assert!(all(&root).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_table_or_none(text in "( *CPU[0-9]{1,5}){0,4}\n((.{0,4}:)?( |[0-9]|.){0,20}\n){0,4}") {
            parse(&text);
        }
    }
}
