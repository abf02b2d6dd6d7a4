// SPDX-License-Identifier: GPL-2.0-only
//! `artis decide --measure` on this machine: it goes on where it was killed, leaves nothing
//! changed, says what is not possible here, and hands on nothing personal. No latency is judged.

mod machines;
mod refused;

use crate::common::skipped;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const ARTIS: &str = env!("CARGO_BIN_EXE_artis");
/// What takes longer has hung.
const PATIENCE: Duration = Duration::from_secs(120);

/// The machine has one state of its settings, which these tests take in turn.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn output(words: &[&str]) -> Output {
    Command::new(ARTIS).args(words).output().unwrap()
}

/// The words of a short measurement in this folder.
fn measure(folder: &str) -> Vec<&str> {
    vec![
        "decide",
        "--deadline=1s",
        "--work=100us",
        "--period=2s",
        "--rest=compute",
        "--measure",
        "-D1s",
        "--runs=2",
        "--keep",
        folder,
    ]
}

/// Every setting that a partition would change, with its value now.
fn settings(rt: &str) -> BTreeMap<String, String> {
    let plan = output(&["partition", "plan", "--rt", rt, "--json"]);
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    let changes = plan["changes"].as_array().unwrap().iter();
    // Threads of the kernel come and go: the settings of files stay.
    let of = changes.filter_map(|change| {
        let path = change["path"].as_str()?.to_owned();
        Some((path, change["old"].to_string()))
    });
    of.collect()
}

fn in_force() -> usize {
    let show = output(&["partition", "show", "--json"]);
    let show: Value = serde_json::from_slice(&show.stdout).unwrap();
    show["in_force"].as_array().unwrap().len()
}

/// Waits for it.
#[track_caller]
fn until(what: &str, mut is: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < PATIENCE, "never {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts it, and kills it with SIGKILL while the configuration `tuned` is in force.
fn killed(words: &[&str], folder: &Path) {
    let mut first = Command::new(ARTIS)
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mark = folder.join("in-progress");
    until("partitioned", || {
        let ended = first.try_wait().unwrap();
        assert_eq!(ended, None, "it ended before the partition");
        let is_tuned = std::fs::read_to_string(&mark).is_ok_and(|way| way.trim() == "tuned");
        is_tuned && in_force() > 0
    });
    first.kill().unwrap();
    first.wait().unwrap();
}

/// Measures until enough runs count, each time as somebody would who was told that a run was
/// disturbed; gives what was said at the end. None: they were disturbed again and again.
fn finished(words: &[&str]) -> Option<(String, String)> {
    for _ in 0..5 {
        let done = output(words);
        let [text, errors] =
            [done.stdout, done.stderr].map(|said| String::from_utf8(said).unwrap());
        if !errors.contains("no run counts") {
            assert!(text.contains("This machine"), "{text}{errors}");
        }
        let plan = output(&[words, &["--plan"]].concat());
        let plan = String::from_utf8(plan.stdout).unwrap();
        if plan.contains("nothing is left to measure") {
            return Some((text, errors));
        }
        println!("measured again:\n{plan}\n{errors}");
    }
    None
}

/// What identifies this machine, read without artis.
fn secrets() -> Vec<String> {
    let files = [
        "/etc/machine-id",
        "/proc/sys/kernel/random/boot_id",
        "/sys/class/dmi/id/product_serial",
        "/sys/class/dmi/id/product_uuid",
        "/sys/class/net/eth0/address",
    ];
    let read = files
        .iter()
        .filter_map(|file| std::fs::read_to_string(file).ok());
    let all = read.map(|text| text.trim().to_owned());
    all.filter(|text| text.len() > 4).collect()
}

/// Runs as other kernels would have left them in the folder: the same command has nothing left to
/// measure, and shows all.
fn another_kernel_adds_columns(folder: &Path, words: &[&str]) {
    for (name, kernel, preemption, day) in [
        ("rt-1", "6.12.0-rt", "PREEMPT_RT", "2020-01-01"),
        ("stock-9", "6.1.0", "full", "2020-01-02"),
    ] {
        let text = std::fs::read(folder.join("stock-1.json")).unwrap();
        let mut run: Value = serde_json::from_slice(&text).unwrap();
        // Whatever disturbed it here, there it was not.
        run["audit"] = Value::Array(Vec::new());
        run["machine"]["kernel"] = kernel.into();
        run["machine"]["preemption"] = preemption.into();
        run["started"] = format!("{day}T10:00:00Z").into();
        std::fs::write(folder.join(format!("{name}.json")), run.to_string()).unwrap();
    }
    let before = std::fs::read_dir(folder).unwrap().count();
    let done = output(words);
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(errors.contains("nothing is left to measure"), "{errors}");
    assert_eq!(
        std::fs::read_dir(folder).unwrap().count(),
        before,
        "{errors}"
    );
    let text = String::from_utf8(done.stdout).unwrap();
    let (verdict, table) = text.split_once("This machine").unwrap();
    for row in ["rt 6.12.0-rt", "stock 6.1.0"] {
        assert!(
            table.lines().any(|line| line.starts_with(row)),
            "{row} in\n{text}"
        );
    }
    assert!(
        verdict.lines().any(|line| line.starts_with("rt ")),
        "{text}"
    );
    let said: Vec<&str> = verdict.split_whitespace().collect();
    let said = said.join(" ");
    assert!(said.contains("its runs on 6.1.0 (full)"), "{text}");
}

#[test]
fn a_killed_measurement_leaves_nothing_changed_and_goes_on() {
    const TEST: &str = "a_killed_measurement_leaves_nothing_changed_and_goes_on";
    as_root!("a_killed_measurement_leaves_nothing_changed_and_goes_on");
    let _alone = alone();
    let keep = tempfile::tempdir().unwrap();
    let folder = keep.path().join("runs");
    let mut words = measure(folder.to_str().unwrap());
    let plan = output(&[&words[..], &["--plan"]].concat());
    let plan = String::from_utf8(plan.stdout).unwrap();
    assert!(!folder.exists(), "a plan made {}", folder.display());
    if plan.contains("tuned     not possible") || plan.is_empty() {
        return skipped(TEST, "no partition is possible on this machine");
    }
    let cpus = nix::unistd::sysconf(nix::unistd::SysconfVar::_NPROCESSORS_ONLN);
    let rt = (cpus.unwrap().unwrap() - 1).to_string();
    let before = settings(&rt);
    assert!(!before.is_empty(), "{plan}");
    killed(&words, &folder);
    // Nobody types anything.
    until("taken back", || in_force() == 0);
    assert_eq!(settings(&rt), before);
    let stock = folder.join("stock-1.json");
    let first = std::fs::read(&stock).unwrap();
    let second = Command::new(ARTIS)
        .args(&words)
        .arg("--plan")
        .output()
        .unwrap();
    let second = String::from_utf8(second.stdout).unwrap();
    // A machine that somebody else uses may have disturbed the first run.
    assert!(
        second.contains("1 of 2 runs") || second.contains("1 more do not count"),
        "{second}"
    );
    assert!(second.contains("the last time in tuned"), "{second}");

    let handed_on = keep.path().join("machine.json");
    words.extend(["--hand-on", handed_on.to_str().unwrap()]);
    let Some((text, errors)) = finished(&words) else {
        assert_eq!((in_force(), settings(&rt)), (0, before));
        return skipped(TEST, "each of many runs was disturbed by somebody else");
    };
    assert_eq!((in_force(), settings(&rt)), (0, before));
    assert_eq!(
        std::fs::read(&stock).unwrap(),
        first,
        "a whole run was written again"
    );
    for way in ["stock", "tuned"] {
        for number in 1..=2 {
            let file = folder.join(format!("{way}-{number}.json"));
            assert!(file.exists(), "{}: {errors}", file.display());
        }
    }
    assert!(!folder.join("in-progress").exists());
    if !Path::new("/sys/kernel/sched_ext").exists() {
        let words: Vec<&str> = text.split_whitespace().collect();
        let said = words.join(" ");
        assert!(
            said.contains("artis was not measured: not possible: this kernel"),
            "{text}"
        );
        assert!(said.contains("has no sched_ext"), "{text}");
    }

    another_kernel_adds_columns(&folder, &words[..words.len() - 2]);
    let file = std::fs::read_to_string(&handed_on).unwrap();
    crate::schema::machine::published().assert_valid(&serde_json::from_str(&file).unwrap());
    for secret in secrets() {
        assert!(!file.contains(&secret), "{secret} in {file}");
    }
    let joined = output(&["report", handed_on.to_str().unwrap(), "--json"]);
    let joined: Value = serde_json::from_slice(&joined.stdout).unwrap();
    assert_eq!(joined["machines"], 1, "{joined}");
}
