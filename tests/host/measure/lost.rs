// SPDX-License-Identifier: GPL-2.0-only
//! No figure is lost: when a file cannot be written at the end, the table is printed all the same,
//! and the document is in another file, which the error names.

use super::common::skipped;
use super::said;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A command that ends by itself, one that runs until a signal, and a word of its table.
#[derive(Clone, Copy)]
struct Case {
    short: &'static str,
    endless: &'static str,
    word: &'static str,
}

const CASES: [Case; 5] = [
    Case {
        short: "measure latency -p 0 -t 1 -l 10",
        endless: "measure latency -p 0 -t 1",
        word: "latency, ",
    },
    Case {
        short: "measure exec -p 0 -D 50ms --unloaded 10ms --count 1000",
        endless: "measure exec -p 0 -D 1h --unloaded 10ms --count 1000",
        word: "Tmin",
    },
    Case {
        short: "measure jitter -D 50ms --unloaded 10ms --count 1000",
        endless: "measure jitter -D 1h --unloaded 10ms --count 1000",
        word: "ideal",
    },
    Case {
        short: "measure all -p 0 -D 50ms --unloaded 10ms --count 1000",
        endless: "measure all -p 0 -D 1h --unloaded 10ms --count 1000",
        word: "every 1000 us",
    },
    Case {
        short: "measure throughput --runs 1 -- true",
        endless: "measure throughput --runs 1000000 -- true",
        word: "real s",
    },
];

/// The loads alone are measured, too.
const LOAD: Case = Case {
    short: "load run compute -D 200ms",
    endless: "load run compute",
    word: "work/second",
};

fn cases() -> Vec<Case> {
    CASES.into_iter().chain([LOAD]).collect()
}

/// `artis` with these words and this folder for temporary files. The options come before what the
/// two words of the command are followed by: that may be a command itself.
fn artis(words: &str, options: &[&str], temporary: &Path) -> Command {
    let words: Vec<&str> = words.split(' ').collect();
    let (name, rest) = words.split_at(2);
    let mut command = Command::new(env!("CARGO_BIN_EXE_artis"));
    command.args(name).args(options).args(rest);
    command.env("TMPDIR", temporary);
    command
}

/// The files in a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).unwrap();
    all.map(|entry| entry.unwrap().path()).collect()
}

/// Checks that the table was printed and that the one file in `folder` is the document.
#[track_caller]
fn assert_kept(case: &Case, output: &Output, path: &str, folder: &Path) {
    let (said, table) = (said(output), String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(1), "{}: {said}", case.short);
    assert!(table.contains(case.word), "{}: {table}", case.short);
    let kept = files(folder);
    assert_eq!(kept.len(), 1, "{}: {said}", case.short);
    let words = format!("; the result is in {}", kept[0].display());
    assert!(
        said.contains(&format!("cannot write {path}: ")) && said.contains(&words),
        "{}: {said}",
        case.short
    );
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&kept[0]).unwrap()).unwrap();
    assert_eq!(document["schema"], "artis.result/1", "{}", case.short);
}

#[test]
fn a_full_disk_loses_neither_table_nor_document() {
    for case in cases() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = artis(case.short, &["--json", "/dev/full"], folder.path());
        let output = command.output().unwrap();
        assert_kept(&case, &output, "/dev/full", folder.path());
    }
}

#[test]
fn a_removed_folder_loses_neither_table_nor_document() {
    for case in cases() {
        let temporary = tempfile::tempdir().unwrap();
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("results");
        fs::create_dir(&folder).unwrap();
        let path = folder.join("result.json");
        let json = ["--json", path.to_str().unwrap()];
        let child = artis(case.endless, &json, temporary.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The file is opened before signals are caught.
        while !super::catches_interrupts(child.id()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::remove_dir_all(&folder).unwrap();
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
        let output = child.wait_with_output().unwrap();
        // Loads have files of their own there, and these are gone by now.
        assert_kept(&case, &output, path.to_str().unwrap(), temporary.path());
    }
}

#[test]
fn the_histogram_of_cyclictest_is_kept_as_the_document_is() {
    let folder = tempfile::tempdir().unwrap();
    let words = "measure latency -p 0 -t 1 -l 10 --json /dev/full --histfile /dev/full";
    let output = artis(words, &[], folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = said(&output);
    let kept = files(folder.path());
    assert_eq!(kept.len(), 2, "{said}");
    for path in &kept {
        assert!(said.contains(&path.display().to_string()), "{said}");
    }
    let texts: Vec<String> = kept
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert!(
        texts.iter().any(|text| text.contains("# Histogram")),
        "{texts:?}"
    );
}

#[test]
fn a_full_disk_at_the_beginning_is_refused_before_anything_is_measured() {
    as_root!("a_full_disk_at_the_beginning_is_refused_before_anything_is_measured");
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=64k none \"$1\" || exit 99\n\
                  exec \"$0\" measure latency -p 0 -l 10 --json \"$1/result.json\"";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_artis")])
        .arg(folder.path())
        .output();
    match output {
        Ok(output) if output.status.code() == Some(1) && said(&output).starts_with("artis: ") => {
            let said = said(&output);
            assert!(said.contains("no space is left in "), "{said}");
            assert!(output.stdout.is_empty());
        }
        other => skipped(
            "a_full_disk_at_the_beginning",
            &format!("a tmpfs cannot be mounted here (needs root): {other:?}"),
        ),
    }
}

#[test]
fn files_that_cannot_be_written_are_refused_with_the_reason() {
    for (path, words) in [
        ("/proc/version", "/proc takes no new files"),
        ("/no/such/folder/x", "/no/such/folder does not exist"),
        ("/tmp", "it is a folder"),
    ] {
        for option in ["--json", "--histfile"] {
            let words_given = format!("measure latency -p 0 -l 10 {option} {path}");
            let output = artis(&words_given, &[], Path::new("/tmp"))
                .output()
                .unwrap();
            let said = said(&output);
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains(path) && said.contains(words), "{said}");
            assert!(output.stdout.is_empty());
        }
    }
}

#[test]
fn a_table_that_cannot_be_printed_leaves_the_document() {
    for case in cases() {
        let folder = tempfile::tempdir().unwrap();
        let full = fs::File::create("/dev/full").unwrap();
        let mut command = artis(case.short, &[], folder.path());
        let output = command
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let kept = files(folder.path());
        assert_eq!(kept.len(), 1, "{said}");
        assert!(said.contains(&kept[0].display().to_string()), "{said}");
    }
}

#[test]
fn a_standard_error_that_takes_nothing_loses_nothing() {
    for case in cases() {
        let folder = tempfile::tempdir().unwrap();
        let full = fs::File::create("/dev/full").unwrap();
        let mut command = artis(case.short, &[], folder.path());
        let output = command
            .stdout(Stdio::piped())
            .stderr(full)
            .output()
            .unwrap();
        let table = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{}: {table}", case.short);
        assert!(table.contains(case.word), "{}: {table}", case.short);
    }
}
