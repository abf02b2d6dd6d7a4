// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure exec` and `artis measure jitter` on this machine, as their users see them.

use artis::result::{Document, Moments, file};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const ARTIS: &str = env!("CARGO_BIN_EXE_artis");
/// Short runs: whether it works, not how fast this machine is.
const SHORT: [&str; 4] = ["-D", "300ms", "--unloaded", "100ms"];

fn artis(words: &[&str]) -> Output {
    let mut command = Command::new(ARTIS);
    command.arg("measure").args(words).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a short measurement and reads its result file.
#[track_caller]
fn measured(words: &[&str]) -> (Document, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let json = ["--json", path.to_str().unwrap()];
    let output = artis(&[words, &SHORT, &json].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let table = String::from_utf8(output.stdout).unwrap();
    (file::read(&path).unwrap(), table)
}

#[track_caller]
fn moments(document: &Document, name: &str) -> Moments {
    document.merged(name).unwrap().moments().unwrap()
}

#[test]
fn every_routine_gives_times_and_their_excess_over_the_unloaded_run() {
    as_root!("every_routine_gives_times_and_their_excess_over_the_unloaded_run");
    for routine in ["integer", "memory", "float", "syscall"] {
        let (document, table) = measured(&["exec", "--routine", routine, "--count", "20000"]);
        let t_min_ns = moments(&document, "execution_time_unloaded").min;
        let (time, excess) = (
            moments(&document, "execution_time"),
            moments(&document, "excess"),
        );
        assert!(t_min_ns > 0 && time.count > 0, "{routine}");
        assert_eq!(time.count, excess.count);
        assert_eq!(time.max - t_min_ns, excess.max);
        assert_eq!(time.min - t_min_ns, excess.min);
        assert_eq!(document.setup.options["routine"], routine);
        assert_eq!(document.setup.options["priority"], 98);
        assert!(document.seconds.unwrap() >= 0.3);
        assert!(
            table.contains("Tmin") && table.contains("excess %"),
            "{table}"
        );
        // 300 ms are not enough for 99.999 %, and the result says so.
        assert!(
            document
                .audit
                .iter()
                .any(|warning| warning.id == "few_samples")
        );
        assert!(document.audit.iter().all(|warning| warning.id != "memory"));
    }
}

#[test]
fn jitter_counts_every_round_of_every_thread() {
    as_root!("jitter_counts_every_round_of_every_thread");
    for priority in ["0", "10"] {
        let (document, table) = measured(&["jitter", "--count", "20000", "-p", priority]);
        let rounds = moments(&document, "round").count;
        let threads = || {
            document
                .series
                .iter()
                .filter(|series| series.name == "noise")
        };
        assert!(rounds > 0);
        assert!(threads().all(|noise| noise.distribution.count() == rounds));
        let slowest: i64 = document
            .series
            .iter()
            .filter(|series| series.name == "slowest")
            .map(|series| series.distribution.moments().unwrap().max)
            .sum();
        assert_eq!(slowest.unsigned_abs(), rounds);
        let lost = moments(&document, "lost");
        assert_eq!(lost.count, rounds);
        // As long as it took: the last round may end late on a busy machine.
        let total = format!("% of {:.1} s lost", document.seconds.unwrap());
        assert!(table.contains(&total), "{table}");
        let lines = table.lines().filter(|line| line.starts_with("CPU "));
        assert_eq!(lines.count(), threads().count());
    }
}

#[test]
fn standard_output_is_either_a_table_or_the_document() {
    let words = ["jitter", "--count", "20000", "--json", "-"];
    let output = artis(&[&words[..], &SHORT].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let document: Document = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document.setup.options["count"], 20_000);
}

/// Whether a process handles SIGINT by now.
fn catches_interrupts(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let signals = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
    signals >> (libc::SIGINT - 1) & 1 == 1
}

#[test]
fn a_signal_ends_the_measurement_and_keeps_its_samples() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let child = Command::new(ARTIS)
        .args(["measure", "jitter", "--count", "20000", "--unloaded", "1ms"])
        .args(["-D", "1h", "--json", path.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !catches_interrupts(child.id()) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let document = file::read(&path).unwrap();
    assert_eq!(document.ended_early.as_deref(), Some("signal 2"));
    assert!(moments(&document, "round").count > 0);
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    for kind in ["exec", "jitter"] {
        let words = [kind, "-p", "0", "--json", "/no/such/folder/result.json"];
        let output = artis(&[&words[..], &SHORT].concat());
        assert_eq!(output.status.code(), Some(1), "{kind}");
        let text = stderr(&output);
        assert!(text.contains("/no/such/folder/result.json"), "{text}");
    }
}

/// Runs artis as nobody, who may neither use real-time priorities nor lock memory. `folder` gets
/// a copy that nobody may run.
fn as_nobody(folder: &Path, words: &[&str]) -> Output {
    let copy = folder.join("artis");
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let copied = Command::new("cp").arg(ARTIS).arg(&copy).status().unwrap();
    assert!(copied.success());
    Command::new("prlimit")
        .args(["--rtprio=0", "--memlock=65536", "setpriv"])
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(copy)
        .arg("measure")
        .args([words, &SHORT].concat())
        .current_dir("/")
        .output()
        .unwrap()
}

#[test]
fn without_privilege_the_priority_is_refused_with_the_way_out() {
    as_root!("without_privilege_the_priority_is_refused_with_the_way_out");
    let folder = tempfile::tempdir().unwrap();
    for words in [&["exec"][..], &["jitter", "-p", "5"]] {
        let output = as_nobody(folder.path(), words);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        for word in ["SCHED_FIFO", "CAP_SYS_NICE", "RLIMIT_RTPRIO", "-p 0"] {
            assert!(text.contains(word), "{word:?} is not in: {text}");
        }
    }
}

#[test]
fn a_measurement_without_privilege_says_what_it_is_not_worth() {
    as_root!("a_measurement_without_privilege_says_what_it_is_not_worth");
    let folder = tempfile::tempdir().unwrap();
    let output = as_nobody(
        folder.path(),
        &["exec", "-p", "0", "--verbose", "--json", "-"],
    );
    let text = stderr(&output);
    assert!(output.status.success(), "{text}");
    let document: Document = serde_json::from_slice(&output.stdout).unwrap();
    for id in ["policy", "memory", "few_samples"] {
        assert!(
            document.audit.iter().any(|warning| warning.id == id),
            "{id}"
        );
        assert!(text.contains(&format!("artis: warning: {id}: ")), "{text}");
    }
    assert!(text.contains("fix: "), "{text}");
}
