// SPDX-License-Identifier: GPL-2.0-only
//! Reads everything that a partition may change.

use artis::machine::{Root, kernel_threads};
use artis::task::syscall::{affinity, scheduling};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const FOLDERS: [&str; 4] = [
    "/proc/irq",
    "/sys/devices/virtual/workqueue",
    "/sys/kernel/debug/sched/fair_server",
    "/sys/kernel/debug/sched/ext_server",
];
const FILES: [&str; 7] = [
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/vm/stat_interval",
    "/proc/sys/kernel/watchdog_cpumask",
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/sys/fs/cgroup/cgroup.controllers",
    "/sys/fs/cgroup/cgroup.subtree_control",
    "/sys/fs/cgroup/cpuset.cpus.effective",
];
/// Statistics, and switches that have nothing to do with a partition.
const OTHERS: [&str; 3] = ["spurious", "uevent", "power"];

/// By file or thread.
pub type Settings = BTreeMap<String, String>;

pub fn read() -> Settings {
    let mut all = Settings::new();
    for folder in FOLDERS {
        read_folder(Path::new(folder), &mut all);
    }
    for file in FILES {
        read_file(Path::new(file), &mut all);
    }
    groups(&mut all);
    tasks(&mut all);
    all
}

pub fn print() {
    println!("{}", serde_json::to_string(&read()).expect("text"));
}

/// Prints what differs from a file that [`print`] filled, and the number of equal settings.
pub fn print_since(file: &str) {
    let text = fs::read_to_string(file).expect("a file of settings");
    let before: Settings = serde_json::from_str(&text).expect("settings");
    let differences = differences(&before, &read());
    for difference in &differences {
        println!("{difference}");
    }
    println!("differences {}", differences.len());
    println!("same {}", before.len() - differences.len());
}

/// What differs, in words. Threads that are only in one have ended or begun.
pub fn differences(before: &Settings, after: &Settings) -> Vec<String> {
    let names = before
        .keys()
        .chain(after.keys().filter(|name| !before.contains_key(*name)));
    names
        .filter(|name| before.get(*name) != after.get(*name))
        .filter(|name| {
            let in_both = before.contains_key(*name) && after.contains_key(*name);
            in_both || !name.starts_with("task ")
        })
        .map(|name| format!("{name}: {:?}, then {:?}", before.get(name), after.get(name)))
        .collect()
}

fn read_folder(folder: &Path, all: &mut Settings) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let kind = entry.file_type().expect("an entry has a type");
        if OTHERS.iter().any(|other| name == *other) || kind.is_symlink() {
            continue;
        }
        if kind.is_dir() {
            read_folder(&path, all);
        } else {
            read_file(&path, all);
        }
    }
}

fn read_file(path: &Path, all: &mut Settings) {
    let text = match fs::read_to_string(path) {
        Ok(text) => text.trim().to_owned(),
        Err(error) => format!("{error}"),
    };
    all.insert(path.display().to_string(), text);
}

/// Every control group, and its cpusets.
fn groups(all: &mut Settings) {
    for entry in fs::read_dir("/sys/fs/cgroup").expect("cgroups").flatten() {
        if !entry.file_type().expect("a type").is_dir() {
            continue;
        }
        all.insert(entry.path().display().to_string(), "a group".to_owned());
        for file in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
            if file.file_name().to_string_lossy().starts_with("cpuset.") {
                read_file(&file.path(), all);
            }
        }
    }
}

fn tasks(all: &mut Settings) {
    for process in fs::read_dir("/proc").expect("/proc").flatten() {
        let threads = fs::read_dir(process.path().join("task"));
        for thread in threads.into_iter().flatten().flatten() {
            let Some(tid) = thread
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            let name = fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
            let (Some(start), Ok(scheduling), Ok(cpus)) = (
                kernel_threads::start_ticks(&Root::default(), tid),
                scheduling(tid),
                affinity(tid),
            ) else {
                continue; // it has ended
            };
            // A kworker's name has its current work after the dash.
            let name = match name.trim() {
                worker if worker.starts_with("kworker/") => {
                    worker.split('-').next().unwrap_or(worker)
                }
                other => other,
            };
            let value = format!(
                "policy {} nice {} priority {} CPUs {cpus}",
                scheduling.policy, scheduling.nice, scheduling.priority
            );
            all.insert(format!("task {tid} {start} {name}"), value);
        }
    }
}
