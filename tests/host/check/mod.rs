// SPDX-License-Identifier: GPL-2.0-only
//! `artis check` as a user runs it: on canned machines, and on the one that runs the tests.

pub mod machines;

use machines::Machine;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Output};

fn check(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_artis"));
    command.arg("check").args(words).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The document of a canned machine, and the exit status.
fn document(machine: &str, words: &[&str]) -> (Value, i32) {
    let machine = Machine::unpack(machine);
    let root = machine.root.0.to_str().unwrap();
    let output = check(&[words, &["--json", "--root", root]].concat());
    assert_eq!(said(&output), "");
    let document = serde_json::from_slice(&output.stdout).unwrap();
    (document, output.status.code().unwrap())
}

/// Ids of the findings of this severity.
fn ids<'a>(document: &'a Value, severity: &str) -> BTreeSet<&'a str> {
    let findings = document["findings"].as_array().unwrap().iter();
    findings
        .filter(|finding| finding["severity"] == severity)
        .map(|finding| finding["id"].as_str().unwrap())
        .collect()
}

#[track_caller]
fn finding<'a>(document: &'a Value, id: &str) -> &'a Value {
    let mut findings = document["findings"].as_array().unwrap().iter();
    let found = findings.find(|finding| finding["id"] == id);
    found.unwrap_or_else(|| panic!("no {id} in {}", document["findings"]))
}

#[track_caller]
fn seen(document: &Value, id: &str, words: &str) {
    let seen = finding(document, id)["seen"].as_str().unwrap();
    assert!(seen.contains(words), "{id}: {seen}");
}

#[test]
fn a_small_virtual_machine() {
    let (document, status) = document("vm", &["--cpus", "1"]);
    assert_eq!(status, 2);
    assert_eq!(document["schema"], "artis.check/1");
    assert_eq!(
        ids(&document, "breaks"),
        BTreeSet::from(["preemption_model", "virtual_machine"])
    );
    let worse = ids(&document, "worsens");
    for id in [
        "not_preempt_rt",
        "irq_affinity",
        "watchdogs",
        "writeback_mask",
        "memory_counts",
        "steal_time",
    ] {
        assert!(worse.contains(id), "{id}: {worse:?}");
    }
    let notices = ids(&document, "notice");
    for id in ["no_sched_ext", "cgroup_v1", "no_debugfs", "mitigations"] {
        assert!(notices.contains(id), "{id}: {notices:?}");
    }
    seen(
        &document,
        "irq_affinity",
        "1 interrupt of a device goes to CPU 1: 36 (",
    );
    seen(&document, "kthread_affinity", "kthreadd");
    seen(&document, "kernel_real_time_threads", "migration/1 99");
    let irq = finding(&document, "irq_affinity");
    assert_eq!(irq["partition_fixes"], serde_json::json!(["irq-affinity"]));
    assert_eq!(irq["evidence"], "/proc/irq/*/effective_affinity_list");
    let preemption = finding(&document, "preemption_model");
    assert_eq!(preemption["evidence"], "/boot/config-6.18.44-micro");
    assert!(ids(&document, "worsens").is_disjoint(&BTreeSet::from(["unseen"])));
}

#[test]
fn a_hybrid_laptop() {
    let (document, status) = document("laptop", &[]);
    assert_eq!(status, 2);
    assert_eq!(
        ids(&document, "breaks"),
        BTreeSet::from(["no_real_time_right"])
    );
    assert_eq!(document["subject"]["chosen_by"], "nobody");
    seen(&document, "hybrid_cores", "efficient 8-15; performance 0-7");
    seen(&document, "smt_siblings", "(0-1), (2-3), (4-5), (6-7)");
    seen(&document, "idle_states", "C3_ACPI (1048 us)");
    seen(
        &document,
        "governor",
        "the governor powersave chooses the frequency of CPUs 0-15",
    );
    seen(
        &document,
        "deadline_servers",
        "fair_server on for CPUs 0-15",
    );
    seen(&document, "system_management_interrupts", "24 times in 2 h");
    seen(
        &document,
        "memory_overcommitted",
        "18.0 GiB of memory, and there are 16.0",
    );
    seen(&document, "swap", "/swap.img");
    seen(&document, "real_time_tasks", "data-loop.0 (FIFO 88)");
    seen(&document, "memory_lock_limit", "user 1000");
    seen(&document, "pressure_accounts", "PSI");
    let notices = ids(&document, "notice");
    assert!(!notices.contains("no_sched_ext") && !notices.contains("cgroup_v1"));
    assert!(notices.contains("no_cpu_apart"));
    // A slow core, which has no SMT, shares its cache with three others.
    let (document, _) = self::document("laptop", &["--cpus", "8"]);
    seen(
        &document,
        "shared_cache",
        "CPU 8 and other CPUs share a second-level cache: (8-11)",
    );
    assert!(!ids(&document, "worsens").contains("smt_siblings"));
}

#[test]
fn a_two_socket_server() {
    let (document, status) = document("server", &[]);
    assert_eq!(status, 2);
    assert_eq!(document["subject"]["cpus"], "28-31");
    assert_eq!(document["subject"]["chosen_by"], "isolation");
    assert_eq!(
        document["facts"]["isolcpus"]["value"]["flags"][0],
        "managed_irq"
    );
    assert_eq!(
        ids(&document, "breaks"),
        BTreeSet::from(["preemption_model"])
    );
    seen(&document, "preemption_model", "voluntary");
    seen(&document, "managed_interrupts", "98 (");
    seen(&document, "irqbalance", "leaves only CPUs 28-30 alone");
    seen(&document, "clock_source", "hpet");
    seen(&document, "isolated_cpus", "CPUs 28-31 are");
    seen(&document, "smt_siblings", "(28,60)");
    seen(&document, "tuned", "throughput-performance");
    seen(&document, "kubelet", "static");
    let worse = ids(&document, "worsens");
    for absent in [
        "irq_affinity",
        "default_irq_affinity",
        "watchdogs",
        "idle_states",
        "governor",
    ] {
        assert!(!worse.contains(absent), "{absent}");
    }
    // nohz_full= implies rcu_nocbs=.
    assert!(!worse.contains("rcu_callbacks"));
    assert!(worse.contains("numa_balancing") && worse.contains("same_page_merging"));
    let (document, _) = self::document("server", &["--cpus", "0,16"]);
    seen(&document, "numa_nodes", "node 0: 0; node 1: 16");
}

#[test]
fn an_arm_board() {
    let (document, status) = document("board", &[]);
    assert_eq!(status, 0, "{document}");
    assert_eq!(document["subject"]["cpus"], "3");
    assert_eq!(
        document["facts"]["kernel"]["value"]["preemption"],
        "preempt_rt"
    );
    seen(
        &document,
        "irq_thread_priority",
        "2 interrupt threads have the same priority, 50",
    );
    seen(&document, "kernel_real_time_threads", "ktimers/3 1");
    seen(&document, "governor", "ondemand");
    let worse = ids(&document, "worsens");
    for absent in [
        "irq_affinity",
        "not_preempt_rt",
        "rt_throttling",
        "workqueue_mask",
        "writeback_mask",
        "rcu_callbacks",
        "pressure_accounts",
    ] {
        assert!(!worse.contains(absent), "{absent}");
    }
}

#[test]
fn a_container() {
    let (document, status) = document("container", &[]);
    assert_eq!(status, 2);
    assert_eq!(
        ids(&document, "breaks"),
        BTreeSet::from(["no_real_time_right"])
    );
    let right = finding(&document, "no_real_time_right");
    assert!(
        right["fix"]
            .as_str()
            .unwrap()
            .contains("--cap-add SYS_NICE")
    );
    seen(&document, "container", "kubepods");
    seen(&document, "read_only_sysfs", "read-only");
    seen(&document, "memory_lock_limit", "65536");
    assert_eq!(
        document["facts"]["kernel"]["value"]["preemption_from"],
        "/proc/cmdline"
    );
}

/// What `artis partition` calls its changes.
const CHANGES: [&str; 16] = [
    "irq-affinity",
    "default-irq-affinity",
    "irqbalance-ban",
    "irq-thread-priority",
    "workqueue-mask",
    "rcu-callbacks",
    "timer-migration",
    "stat-interval",
    "writeback",
    "deadline-servers",
    "rt-throttling",
    "governor",
    "idle-states",
    "cpuset-shield",
    "watchdog-cpumask",
    "kthread-affinity",
];

#[test]
fn each_change_of_a_partition_fixes_something() {
    let mut fixing = BTreeSet::new();
    for (machine, cpus) in [
        ("vm", "1"),
        ("laptop", "2"),
        ("server", "28-31"),
        ("board", "3"),
    ] {
        let (document, _) = document(machine, &["--cpus", cpus]);
        for finding in document["findings"].as_array().unwrap() {
            for change in finding["partition_fixes"].as_array().unwrap() {
                fixing.insert(change.as_str().unwrap().to_owned());
            }
        }
    }
    assert_eq!(fixing, BTreeSet::from(CHANGES.map(str::to_owned)));
}

#[test]
fn every_machine_is_described_in_a_hundred_columns() {
    for name in ["vm", "laptop", "server", "board", "container"] {
        let machine = Machine::unpack(name);
        let output = check(&["--root", machine.root.0.to_str().unwrap()]);
        let text = String::from_utf8(output.stdout).unwrap();
        for line in text.lines() {
            let one_word = line.split_whitespace().count() == 1;
            assert!(line.chars().count() <= 100 || one_word, "{name}: {line}");
        }
        let first = text.lines().next().unwrap();
        assert!(first.contains("fit for real time: "), "{name}: {first}");
        // A fact that the machine does not have is not shown.
        assert!(!text.contains("SMIs") || name == "laptop", "{name}");
    }
}

#[test]
fn the_brief_form_fits_a_screen() {
    for name in ["vm", "laptop", "server", "board", "container"] {
        let machine = Machine::unpack(name);
        let output = check(&["--brief", "--root", machine.root.0.to_str().unwrap()]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.lines().count() <= 24, "{name}: {text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        let breaks = output.status.code() == Some(2);
        assert_eq!(
            text.starts_with("not fit for real time: "),
            breaks,
            "{text}"
        );
    }
}

#[test]
fn this_machine_is_checked() {
    let output = check(&["--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let broken = ids(&document, "breaks");
    let expected = if broken.is_empty() { 0 } else { 2 };
    assert_eq!(output.status.code(), Some(expected), "{broken:?}");
    for (id, shown) in [
        ("virtual_machine", "virtualisation"),
        ("container", "container"),
    ] {
        let all = document["findings"].as_array().unwrap();
        let found = all.iter().any(|finding| finding["id"] == id);
        assert_eq!(found, !document["facts"][shown]["value"].is_null(), "{id}");
    }
}

/// The document that another command prints of this machine.
fn of_this_machine(words: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_artis"));
    let output = command.args(words).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn interrupts_are_counted() {
    let document = of_this_machine(&["irq", "-D", "0.2", "--json"]);
    assert_eq!(document["schema"], "artis.irq/1");
    assert!(document["seconds"].as_f64().unwrap() >= 0.2);
    let all = document["interrupts"].as_array().unwrap();
    // A process that sleeps gets a timer's interrupt.
    assert!(
        all.iter()
            .any(|one| !one["per_second"].as_object().unwrap().is_empty())
    );
    let devices = all
        .iter()
        .filter(|one| one["label"].as_str().unwrap().parse::<u32>().is_ok());
    for device in devices.filter(|one| !one["affinity"].is_null()) {
        assert_ne!(device["name"], "", "{device}");
    }
}

#[test]
fn tasks_have_classes() {
    let document = of_this_machine(&["tasks", "--json"]);
    assert_eq!(document["schema"], "artis.tasks/1");
    let all = document["tasks"].as_array().unwrap();
    let own = u64::from(std::process::id());
    let test = all.iter().find(|task| task["tid"] == own).unwrap();
    assert_eq!(test["class"], "linux");
    assert!(test["switches_voluntary"].as_u64().unwrap() > 0);
    let document = of_this_machine(&["tasks", "--rt", "--json"]);
    for task in document["tasks"].as_array().unwrap() {
        let policy = task["policy"].as_str().unwrap();
        assert!(
            ["fifo", "round_robin", "deadline", "ext"].contains(&policy),
            "{task}"
        );
    }
}

#[test]
fn a_folder_that_is_no_machine_is_refused() {
    for root in ["/no/such/folder", "/dev/shm"] {
        let output = check(&["--root", root]);
        let sentence = format!("{root} is no copy of a machine: it has no proc/");
        assert_eq!(output.status.code(), Some(1), "{root}");
        assert!(said(&output).contains(&sentence), "{}", said(&output));
        assert!(output.stdout.is_empty());
    }
}
