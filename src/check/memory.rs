// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel does with memory without being asked by tasks.

use super::finding::{Finding, Severity, few};
use super::subject::Subject;
use artis_machine::facts::Facts;
use artis_machine::memory::{self, Memory};

pub(super) fn judge(facts: &Facts, _subject: &Subject) -> Vec<Finding> {
    let Some(memory) = facts.memory.get() else {
        return Vec::new();
    };
    let all = [
        overcommitted(memory),
        swap(memory),
        huge_pages(memory),
        merging(memory),
        balancing(memory),
        compaction(memory),
        counting(memory),
    ];
    all.into_iter().flatten().collect()
}

fn overcommitted(memory: &Memory) -> Option<Finding> {
    if memory.committed_kib <= memory.total_kib {
        return None;
    }
    let gib = |kib: u64| kib as f64 / f64::from(1 << 20);
    Some(Finding {
        id: "memory_overcommitted",
        severity: Severity::Worsens,
        seen: format!(
            "tasks have been promised {:.1} GiB of memory, and there are {:.1} GiB",
            gib(memory.committed_kib),
            gib(memory.total_kib)
        ),
        evidence: format!("{} (Committed_AS, MemTotal)", memory::FILE),
        why:
            "if they use it, pages are taken away and read back, or a task is killed; no real-time \
              response can be expected then"
                .to_owned(),
        source: "McKenney, Real Time vs. Real Fast, section 5, principle 3",
        fix: Some("lock the memory of real-time tasks, and run fewer other tasks".to_owned()),
        partition_fixes: &[],
    })
}

fn swap(memory: &Memory) -> Option<Finding> {
    if memory.swaps.is_empty() {
        return None;
    }
    Some(Finding {
        id: "swap",
        severity: Severity::Worsens,
        seen: format!("memory may be swapped out to {}", few(&memory.swaps)),
        evidence: memory::SWAPS_FILE.to_owned(),
        why:
            "a page that is not locked may have to be read back: milliseconds in the middle of work"
                .to_owned(),
        source: "McKenney, Real Time vs. Real Fast, section 5, principle 3; mlock(2)",
        fix: Some("mlockall(2) in each real-time program, or `sudo swapoff -a`".to_owned()),
        partition_fixes: &[],
    })
}

fn huge_pages(memory: &Memory) -> Option<Finding> {
    if memory.thp.as_deref() != Some("always") {
        return None;
    }
    Some(Finding {
        id: "transparent_huge_pages",
        severity: Severity::Worsens,
        seen: "the kernel makes huge pages for every program".to_owned(),
        evidence: memory::THP_FILE.to_owned(),
        why: "a page fault may have to clear 2 MiB, and khugepaged moves pages, also locked ones, \
              while a task uses them"
            .to_owned(),
        source: "Documentation/admin-guide/mm/transhuge.rst",
        fix: Some(format!("`echo madvise | sudo tee {}`", memory::THP_FILE)),
        partition_fixes: &[],
    })
}

fn merging(memory: &Memory) -> Option<Finding> {
    if !memory.merges_pages {
        return None;
    }
    Some(Finding {
        id: "same_page_merging",
        severity: Severity::Worsens,
        seen: "the kernel merges equal pages".to_owned(),
        evidence: memory::KSM_FILE.to_owned(),
        why: "the first write to a merged page is a page fault with a copy".to_owned(),
        source: "Documentation/admin-guide/mm/ksm.rst",
        fix: Some(format!("`echo 2 | sudo tee {}`", memory::KSM_FILE)),
        partition_fixes: &[],
    })
}

fn balancing(memory: &Memory) -> Option<Finding> {
    if !memory.numa_balancing {
        return None;
    }
    Some(Finding {
        id: "numa_balancing",
        severity: Severity::Worsens,
        seen: "the kernel moves memory towards the node that uses it".to_owned(),
        evidence: memory::NUMA_FILE.to_owned(),
        why:
            "it removes mappings to see which tasks use them: page faults and copies, even in locked \
              memory"
                .to_owned(),
        source: "Documentation/admin-guide/sysctl/kernel.rst (numa_balancing)",
        fix: Some("`sudo sysctl kernel.numa_balancing=0`".to_owned()),
        partition_fixes: &[],
    })
}

fn compaction(memory: &Memory) -> Option<Finding> {
    let eagerness = memory
        .compaction_proactiveness
        .filter(|number| *number > 0)?;
    Some(Finding {
        id: "compaction",
        severity: Severity::Notice,
        seen: format!("memory is compacted in the background (proactiveness {eagerness} of 100)"),
        evidence: memory::COMPACTION_FILE.to_owned(),
        why: "pages move while tasks use them, locked ones too unless vm.compact_unevictable_allowed \
              is 0: who touches one waits"
            .to_owned(),
        source: "Documentation/admin-guide/sysctl/vm.rst (compaction_proactiveness)",
        fix: Some(
            "`sudo sysctl vm.compaction_proactiveness=0 vm.compact_unevictable_allowed=0`".to_owned(),
        ),
        partition_fixes: &[],
    })
}

/// Counting at this interval is frequent enough for every reader, and rare enough for most
/// real-time tasks. tuned's real-time profile has the same number of seconds.
const STAT_INTERVAL_MIN_S: u32 = 10;

fn counting(memory: &Memory) -> Option<Finding> {
    let seconds = memory
        .stat_interval_s
        .filter(|seconds| *seconds < STAT_INTERVAL_MIN_S)?;
    Some(Finding {
        id: "memory_counts",
        severity: Severity::Worsens,
        seen: format!("each CPU's counters of memory are added up every {seconds} s"),
        evidence: memory::STAT_INTERVAL_FILE.to_owned(),
        why: "a kernel thread does it on each CPU that has used memory, so it delays a real-time task \
              there"
            .to_owned(),
        source: "Documentation/admin-guide/sysctl/vm.rst (stat_interval); mm/vmstat.c",
        fix: Some(format!(
            "`sudo sysctl vm.stat_interval={}`",
            memory::STAT_INTERVAL_CALM_S
        )),
        partition_fixes: &["stat-interval"],
    })
}
