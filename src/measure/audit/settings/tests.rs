// SPDX-License-Identifier: GPL-2.0-only

use super::super::tests::{ids, plan};
use super::*;
use artis_testing::canned;

fn found(files: &[(&str, &str)], plan: &Plan) -> Vec<Warning> {
    let (_folder, root) = canned(files);
    judge(&root, plan)
}

/// The only finding, with its id.
#[track_caller]
fn only(files: &[(&str, &str)], plan: &Plan, id: &str) -> Warning {
    let mut found = found(files, plan);
    assert_eq!(ids(&found), [id]);
    found.remove(0)
}

#[track_caller]
fn fine(files: &[(&str, &str)], plan: &Plan) {
    assert_eq!(ids(&found(files, plan)), [""; 0]);
}

#[test]
fn a_normal_policy_matters_where_real_time_is_measured() {
    let normal = Plan {
        policy: Policy::Normal,
        ..plan()
    };
    let warning = only(&[], &normal, "policy");
    assert!(warning.fix.unwrap().contains("-p 98"));
    let batch = Plan {
        wants_real_time: false,
        ..normal
    };
    fine(&[], &batch);
}

#[test]
fn normal_tasks_are_not_held_to_what_real_time_ones_need() {
    let normal = Plan {
        policy: Policy::Normal,
        wants_real_time: false,
        memory_locked: false,
        ..plan()
    };
    let isolated = [
        ("sys/devices/system/cpu/online", "0-7\n"),
        ("sys/devices/system/cpu/possible", "0-7\n"),
        ("sys/devices/system/cpu/isolated", "7\n"),
    ];
    fine(&isolated, &normal);
    fine(&THROTTLED, &normal);
    // What slows every task down is found nevertheless.
    only(&[(clock_source::FILE, "hpet\n")], &normal, "clock_source");
}

#[test]
fn ext_threads_need_a_scheduler_to_be_measured() {
    let ext = Plan {
        policy: Policy::Ext { nice: 0 },
        wants_real_time: false,
        ..plan()
    };
    let state = |text| [("sys/kernel/sched_ext/state", text)];
    let warning = only(&state("disabled\n"), &ext, "policy");
    assert!(warning.seen.contains("no BPF scheduler is on"));
    fine(&state("enabled\n"), &ext);
}

#[test]
fn unlocked_memory_is_found_with_what_is_locked() {
    let unlocked = Plan {
        memory_locked: false,
        ..plan()
    };
    let status = ("proc/self/status", "VmLck:\t       0 kB\n");
    let warning = only(&[status], &unlocked, "memory");
    assert!(warning.seen.contains("0 KiB"), "{}", warning.seen);
    only(&[], &unlocked, "memory");
}

const THROTTLED: [(&str, &str); 2] = [
    ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
    ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
];

#[test]
fn throttling_can_hit_unless_it_is_off_or_replaced() {
    let warning = only(&THROTTLED, &plan(), "rt_throttling");
    assert!(warning.seen.contains("950000 us of each 1000000"));
    assert!(warning.why.contains("50 ms"));
    let off = ("proc/sys/kernel/sched_rt_runtime_us", "-1\n");
    fine(&[off, THROTTLED[1]], &plan());
    let server = ("sys/kernel/debug/sched/fair_server/cpu0/runtime", "0\n");
    fine(&[THROTTLED[0], THROTTLED[1], server], &plan());
    let release = |text| ("proc/sys/kernel/osrelease", text);
    for newer in ["6.12.0-rc1\n", "6.18.4-amd64\n", "7.0\n"] {
        fine(&[THROTTLED[0], THROTTLED[1], release(newer)], &plan());
    }
    let older = [THROTTLED[0], THROTTLED[1], release("6.1.0-32-amd64\n")];
    only(&older, &plan(), "rt_throttling");
}

#[test]
fn deadline_servers_of_measured_cpus_are_found() {
    let one = (
        "sys/kernel/debug/sched/fair_server/cpu1/runtime",
        "50000000\n",
    );
    let other = (
        "sys/kernel/debug/sched/fair_server/cpu2/runtime",
        "50000000\n",
    );
    let warning = only(&[one, other], &plan(), "deadline_servers");
    assert!(
        warning.seen.starts_with("fair_server on CPU 1 "),
        "{}",
        warning.seen
    );
    assert!(warning.fix.unwrap().contains("for n in 1;"));
    fine(&[other], &plan());
}

#[test]
fn servers_that_cannot_be_seen_are_not_passed_over() {
    let empty = ("sys/kernel/debug/other/file", "\n");
    let warning = only(&[empty], &plan(), "deadline_servers");
    assert!(warning.seen.contains("could not be checked"));
    assert!(warning.seen.contains("mount -t debugfs"));
}

fn state(name: &'static str, latency: &'static str) -> [(String, &'static str); 2] {
    let folder = "sys/devices/system/cpu/cpu1/cpuidle/state0";
    [
        (format!("{folder}/name"), name),
        (format!("{folder}/latency"), latency),
    ]
}

#[test]
fn deep_idle_states_matter_to_threads_that_sleep() {
    let deep = state("C6\n", "133\n");
    let deep: Vec<(&str, &str)> = deep
        .iter()
        .map(|(file, text)| (file.as_str(), *text))
        .collect();
    let free = Plan {
        dma_latency_held: false,
        ..plan()
    };
    let warning = only(&deep, &free, "idle_states");
    assert!(
        warning.seen.starts_with("CPU 1 may go into"),
        "{}",
        warning.seen
    );
    assert!(warning.seen.contains("C6") && warning.why.contains("133 us"));
    fine(&deep, &plan());
    let awake = Plan {
        sleeps: false,
        ..free.clone()
    };
    fine(&deep, &awake);
    let shallow = state("C1\n", "2\n");
    let shallow: Vec<(&str, &str)> = shallow
        .iter()
        .map(|(file, text)| (file.as_str(), *text))
        .collect();
    fine(&shallow, &free);
}

#[test]
fn what_cannot_be_understood_is_a_finding_that_names_the_file() {
    let odd = state("C1\n", "soon\n");
    let odd: Vec<(&str, &str)> = odd
        .iter()
        .map(|(file, text)| (file.as_str(), *text))
        .collect();
    let free = Plan {
        dma_latency_held: false,
        ..plan()
    };
    let warning = only(&odd, &free, "idle_states");
    assert!(warning.seen.contains("could not be checked"));
    assert!(warning.seen.contains("state0/latency"), "{}", warning.seen);
}

#[test]
fn frequency_must_be_the_highest() {
    let file = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    let warning = only(&[(file, "powersave\n")], &plan(), "frequency");
    assert!(warning.seen.contains("powersave"));
    fine(&[(file, "performance\n")], &plan());
}

#[test]
fn isolated_cpus_should_be_measured() {
    let cpus = |isolated| {
        [
            ("sys/devices/system/cpu/online", "0-7\n"),
            ("sys/devices/system/cpu/possible", "0-7\n"),
            ("sys/devices/system/cpu/isolated", isolated),
        ]
    };
    let warning = only(&cpus("1,6-7\n"), &plan(), "isolated_cpus");
    assert_eq!(warning.fix.unwrap(), "measure them: -a 6-7");
    fine(&cpus("1\n"), &plan());
    fine(&cpus("\n"), &plan());
}

#[test]
fn slow_clocks_and_virtual_machines_are_found() {
    let warning = only(&[(clock_source::FILE, "hpet\n")], &plan(), "clock_source");
    assert!(warning.seen.contains("hpet"));
    fine(&[(clock_source::FILE, "arch_sys_counter\n")], &plan());
    let guest = ("proc/cpuinfo", "flags\t\t: fpu hypervisor tsc\n");
    only(&[guest], &plan(), "virtual_machine");
}
