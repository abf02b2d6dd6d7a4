// SPDX-License-Identifier: GPL-2.0-only
//! Memory, and what the kernel does with it without being asked by tasks.
//!
//! Source: `Documentation/filesystems/proc.rst`, `Documentation/admin-guide/sysctl/vm.rst`,
//! `Documentation/admin-guide/mm/transhuge.rst`, `ksm.rst`.

use super::{Root, Unreadable};
use serde::Serialize;

/// Sizes.
pub const FILE: &str = "/proc/meminfo";
/// The list of swap files and devices.
pub const SWAPS_FILE: &str = "/proc/swaps";
/// When the kernel makes huge pages by itself.
pub const THP_FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// How eagerly the kernel moves pages to make room for huge ones.
pub const COMPACTION_FILE: &str = "/proc/sys/vm/compaction_proactiveness";
/// Whether the kernel merges equal pages.
pub const KSM_FILE: &str = "/sys/kernel/mm/ksm/run";
/// Whether the kernel moves memory to the node of the CPU that uses it.
pub const NUMA_FILE: &str = "/proc/sys/kernel/numa_balancing";
/// How readily the kernel swaps.
pub const SWAPPINESS_FILE: &str = "/proc/sys/vm/swappiness";
/// Seconds between two rounds in which each CPU's counters are added up.
pub const STAT_INTERVAL_FILE: &str = "/proc/sys/vm/stat_interval";
/// Seconds between two counts that do not disturb real-time tasks. The machine's totals stay
/// correct enough without them: a CPU reports its counter when it exceeds a threshold.
pub const STAT_INTERVAL_CALM_S: u32 = 120;

/// Memory of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Memory {
    pub total_kib: u64,
    /// Memory that tasks could still get without swapping.
    pub available_kib: u64,
    /// Memory that tasks have been promised.
    pub committed_kib: u64,
    /// Files and devices that memory is swapped to.
    pub swaps: Vec<String>,
    /// 0 (hardly swaps) to 200; none where the kernel cannot swap.
    pub swappiness: Option<u32>,
    /// `always`, `madvise` or `never`; none in a kernel without transparent huge pages.
    pub thp: Option<String>,
    /// 0 (only on demand) to 100.
    pub compaction_proactiveness: Option<u32>,
    pub stat_interval_s: Option<u32>,
    pub merges_pages: bool,
    pub numa_balancing: bool,
}

/// Reads it; none on a machine without `/proc/meminfo`.
///
/// # Errors
/// When a file exists and cannot be read or understood.
pub fn read(root: &Root) -> Result<Option<Memory>, Unreadable> {
    let Some(text) = root.read(FILE)? else {
        return Ok(None);
    };
    let kib = |name: &str| {
        size_kib(&text, name).ok_or_else(|| root.malformed(FILE, format!("no number for {name}")))
    };
    let on = |file: &str| Ok(root.number::<u32>(file)?.is_some_and(|number| number > 0));
    Ok(Some(Memory {
        total_kib: kib("MemTotal")?,
        available_kib: kib("MemAvailable")?,
        committed_kib: kib("Committed_AS")?,
        swaps: swaps(&root.read(SWAPS_FILE)?.unwrap_or_default()),
        swappiness: root.number(SWAPPINESS_FILE)?,
        thp: root.read(THP_FILE)?.as_deref().and_then(in_brackets),
        compaction_proactiveness: root.number(COMPACTION_FILE)?,
        stat_interval_s: root.number(STAT_INTERVAL_FILE)?,
        // 2: the kernel has separated merged pages again, and merges no more.
        merges_pages: root.number(KSM_FILE)? == Some(1),
        numa_balancing: on(NUMA_FILE)?,
    }))
}

fn size_kib(text: &str, name: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// A line of titles, then one line for each file or device, its name first.
fn swaps(text: &str) -> Vec<String> {
    let names = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

/// `madvise` of `always [madvise] never`.
fn in_brackets(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;
    use proptest::prelude::*;

    const SIZES: (&str, &str) = (
        "proc/meminfo",
        "MemTotal:  2048 kB\nMemAvailable: 1024 kB\nCommitted_AS:   512 kB\n",
    );

    #[test]
    fn sizes_and_settings_are_read() {
        let (_folder, root) = canned(&[
            SIZES,
            (
                "proc/swaps",
                "Filename Type Size Used Priority\n/dev/sda2 partition 10 0 -2\n",
            ),
            (
                "sys/kernel/mm/transparent_hugepage/enabled",
                "[always] madvise never\n",
            ),
            ("sys/kernel/mm/ksm/run", "1\n"),
            ("proc/sys/vm/compaction_proactiveness", "20\n"),
        ]);
        let memory = read(&root).unwrap().unwrap();
        assert_eq!((memory.total_kib, memory.available_kib), (2048, 1024));
        assert_eq!(memory.committed_kib, 512);
        assert_eq!(memory.swaps, ["/dev/sda2"]);
        assert_eq!(memory.thp.as_deref(), Some("always"));
        assert_eq!(memory.compaction_proactiveness, Some(20));
        assert!(memory.merges_pages && !memory.numa_balancing);
        assert_eq!(memory.swappiness, None);
    }

    #[test]
    fn a_file_that_is_something_else_is_an_error() {
        let (_folder, root) = canned(&[("proc/meminfo", "MemTotal: much\n")]);
        assert!(
            read(&root)
                .unwrap_err()
                .source
                .to_string()
                .contains("MemTotal")
        );
        let (_folder, root) = canned(&[SIZES, ("sys/kernel/mm/ksm/run", "x\n")]);
        assert!(read(&root).is_err());
        let (_folder, root) = canned(&[]);
        assert_eq!(read(&root).unwrap(), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(MemTotal|:|\\[|\\]| kB|[0-9]|\n|.){0,30}") {
            size_kib(&text, "MemTotal");
            swaps(&text);
            in_brackets(&text);
        }
    }
}
