// SPDX-License-Identifier: GPL-2.0-only
//! Unusual machines; the usual ones are in `tests/check`.

use super::*;
use artis_machine::{CpuList, Root};
use artis_testing::canned;
use proptest::prelude::*;

const RELEASE: (&str, &str) = ("proc/sys/kernel/osrelease", "7.2.0\n");
const VERSION: (&str, &str) = ("proc/sys/kernel/version", "#1 SMP PREEMPT_RT\n");

fn report(files: &[(&str, &str)], cpus: Option<&str>) -> Report {
    let (_folder, root) = canned(&[&[RELEASE, VERSION], files].concat());
    let facts = Facts::read(&root);
    let asked = cpus.map(|cpus| cpus.parse().unwrap());
    let subject = Subject::choose(&facts, asked, None);
    Report::new(facts, subject)
}

fn ids(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.id).collect()
}

#[track_caller]
fn found<'a>(report: &'a Report, id: &str) -> &'a Finding {
    let finding = report.findings.iter().find(|finding| finding.id == id);
    finding.unwrap_or_else(|| panic!("no {id} in {:?}", ids(report)))
}

#[test]
fn a_machine_without_sysfs_gets_a_sentence() {
    let report = report(&[("proc/stat", "cpu0 1 0 0 9 0 0 0 0 0 0\n")], None);
    let finding = found(&report, "unseen");
    assert!(finding.seen.contains("is /sys mounted"), "{}", finding.seen);
    assert!(finding.fix.as_ref().unwrap().contains("mounted"));
    assert_eq!(report.subject.cpus.to_string(), "0");
    found(&report, "no_cgroup");
}

#[test]
fn a_file_of_debugfs_is_advised_after_its_mount() {
    let none = [
        ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n"),
        ("proc/cmdline", "preempt=none\n"),
    ];
    let fix = |files: &[(&str, &str)]| {
        let report = report(files, None);
        found(&report, "preemption_model").fix.clone().unwrap()
    };
    let hidden = fix(&none);
    assert!(
        hidden.starts_with("`sudo mount -t debugfs none /sys/kernel/debug`, then `echo full"),
        "{hidden}"
    );
    let shown = [("sys/kernel/debug/sched/preempt", "(none) voluntary full\n")];
    let visible = fix(&[&none[..], &shown].concat());
    assert!(visible.starts_with("`echo full"), "{visible}");
}

#[test]
fn offline_cpus_and_holes_are_no_reason_to_stop() {
    let report = report(
        &[
            ("sys/devices/system/cpu/online", "0,2,5-6\n"),
            ("sys/devices/system/cpu/possible", "0-7\n"),
            (
                "proc/interrupts",
                "   CPU0 CPU2 CPU5 CPU6\n 9: 0 1 0 0 IO-APIC 9-fasteoi acpi\n",
            ),
            ("proc/irq/9/smp_affinity_list", "0-7\n"),
            ("proc/irq/9/effective_affinity_list", "2\n"),
        ],
        Some("2,6"),
    );
    assert_eq!(report.subject.others.to_string(), "0,5");
    let finding = found(&report, "irq_affinity");
    assert!(finding.seen.contains("CPUs 2,6: 9 ("), "{}", finding.seen);
    assert!(
        finding
            .fix
            .as_ref()
            .unwrap()
            .contains("echo 0,5 | sudo tee")
    );
    assert_eq!(finding.partition_fixes, ["irq-affinity"]);
}

#[test]
fn callbacks_of_all_cpus_are_to_wait_where_they_can() {
    const ALL: &str = "boot with rcu_nocbs=all";
    for (waits, cmdline, fixes) in [
        ("Y\n", "quiet\n", [Some(ALL), Some(ALL)]),
        ("Y\n", "rcu_nocbs=1\n", [None, Some(ALL)]),
        ("Y\n", "rcu_nocbs=all\n", [None, None]),
        ("N\n", "quiet\n", [Some("boot with rcu_nocbs=1"), None]),
        ("N\n", "rcu_nocbs=1\n", [None, None]),
    ] {
        let report = report(
            &[
                ("sys/devices/system/cpu/online", "0-1\n"),
                ("sys/devices/system/cpu/possible", "0-1\n"),
                ("proc/cmdline", cmdline),
                ("sys/module/rcutree/parameters/enable_rcu_lazy", waits),
            ],
            Some("1"),
        );
        let seen = ["rcu_callbacks", "rcu_grace_periods"].map(|id| {
            let finding = report.findings.iter().find(|finding| finding.id == id)?;
            finding.fix.as_deref()
        });
        assert_eq!(seen, fixes, "{waits}{cmdline}");
    }
}

#[test]
fn four_thousand_cpus_are_judged() {
    let mask = vec!["ffffffff"; 128].join(",");
    let report = report(
        &[
            ("sys/devices/system/cpu/online", "0-4095\n"),
            ("sys/devices/system/cpu/possible", "0-8191\n"),
            ("proc/irq/default_smp_affinity", &mask),
            ("sys/devices/virtual/workqueue/cpumask", &mask),
        ],
        Some("4000-4095"),
    );
    let finding = found(&report, "workqueue_mask");
    assert!(finding.seen.ends_with("CPUs 4000-4095"), "{}", finding.seen);
    found(&report, "default_irq_affinity");
    assert_eq!(report.subject.others.len(), 4000);
}

#[test]
fn each_unreadable_file_is_reported() {
    let report = report(
        &[
            ("sys/devices/system/cpu/online", "0-1\n"),
            ("sys/devices/system/cpu/possible", "0-1\n"),
            ("proc/irq/default_smp_affinity", "all\n"),
            ("proc/meminfo", "empty\n"),
            ("proc/cmdline", "isolcpus=x rcu_nocbs=y\n"),
            // A folder where a file should be cannot be read.
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor/x", ""),
        ],
        None,
    );
    let unseen: Vec<&str> = report
        .findings
        .iter()
        .filter(|finding| finding.id == "unseen" && !finding.seen.contains("rights"))
        .map(|finding| finding.seen.as_str())
        .collect();
    for what in [
        "isolcpus=",
        "rcu_nocbs=",
        "governors",
        "default affinity",
        "memory",
    ] {
        assert!(
            unseen.iter().any(|seen| seen.contains(what)),
            "{what}: {unseen:?}"
        );
    }
    assert_eq!(unseen.len(), 5, "{unseen:?}");
}

#[test]
fn findings_are_sorted_by_severity_and_complete() {
    let facts = Facts::read(&Root::default());
    let subject = Subject::choose(&facts, None, None);
    let report = Report::new(facts, subject);
    assert!(report.findings.is_sorted_by_key(|finding| finding.severity));
    for finding in &report.findings {
        for text in [&finding.seen, &finding.evidence, &finding.why] {
            assert!(!text.is_empty(), "{finding:?}");
        }
        assert!(!finding.source.is_empty() && finding.fix.as_deref() != Some(""));
    }
    assert_eq!(report.principles.len(), 6);
}

#[test]
fn the_subject_is_what_was_asked_for_else_the_schedulers_cpus_else_those_set_apart() {
    let (_folder, root) = canned(&[
        ("sys/devices/system/cpu/online", "0-7\n"),
        ("sys/devices/system/cpu/possible", "0-7\n"),
        ("sys/devices/system/cpu/isolated", "6\n"),
        ("sys/devices/system/cpu/nohz_full", "7\n"),
    ]);
    let facts = Facts::read(&root);
    let list = |text: &str| Some(text.parse::<CpuList>().unwrap());
    let chosen = |asked, scheduler| Subject::choose(&facts, asked, scheduler).cpus.to_string();
    assert_eq!(chosen(list("1"), list("2")), "1");
    assert_eq!(chosen(None, list("2")), "2");
    assert_eq!(chosen(None, None), "6-7");
}

/// Files that may contain anything.
const FILES: [&str; 18] = [
    "proc/cmdline",
    "proc/cpuinfo",
    "proc/interrupts",
    "proc/irq/default_smp_affinity",
    "proc/irq/9/smp_affinity_list",
    "proc/meminfo",
    "proc/self/cgroup",
    "proc/self/limits",
    "proc/self/status",
    "proc/stat",
    "proc/swaps",
    "proc/sys/kernel/sched_rt_runtime_us",
    "proc/uptime",
    "proc/9/stat",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/possible",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "sys/devices/virtual/workqueue/cpumask",
];

proptest! {
    #[test]
    fn no_text_anywhere_makes_it_panic(
        texts in proptest::collection::vec("(CPU0|9:|cpu0 |[0-9]|,|-| |\n|.){0,12}", FILES.len())
    ) {
        let files: Vec<(&str, &str)> = FILES
            .into_iter()
            .zip(texts.iter().map(String::as_str))
            .collect();
        let report = report(&files, None);
        prop_assert!(serde_json::to_string(&report).is_ok());
    }
}
