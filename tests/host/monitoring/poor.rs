// SPDX-License-Identifier: GPL-2.0-only
//! Poor input, and machines that do not let artis do it: each gets a sentence, and what was there
//! stays.

use super::{ARTIS, artis, keeps, stderr, stdout};
use crate::common::skipped;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::Command;

#[track_caller]
fn refused(words: &[&str], status: i32, says: &[&str]) {
    let output = artis(words);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in says {
        assert!(said.contains(text), "{words:?}: no {text:?} in {said}");
    }
}

#[test]
fn wrong_words_are_refused() {
    for (address, says) in [
        ("0.0.0.0:9464", "only the loopback"),
        ("[::]:9464", "only the loopback"),
        ("localhost", "write an address and a port"),
        ("127.0.0.1:99999", "write an address and a port"),
    ] {
        refused(&["metrics", "--listen", address], 64, &["--listen", says]);
    }
    refused(&["metrics", "--every", "0"], 64, &["--every"]);
    refused(
        &["metrics", "--bound", "0"],
        64,
        &["--bound", "microseconds from 1 to"],
    );
    refused(&["top", "--json"], 64, &["--once"]);
    refused(
        &["top", "--once", "--cpus", "8000"],
        64,
        &["--cpus", "not online"],
    );
    refused(&["top", "--once", "--pid", "x"], 64, &["--pid"]);
}

#[test]
fn who_does_not_exist_cannot_be_watched() {
    // The greatest number that a thread may have.
    let gone = "4194303".to_owned();
    let says = [gone.as_str(), "does not exist", "artis tasks --rt"];
    refused(&["top", "--once", "--pid", &gone], 1, &says);
    refused(&["metrics", "--thread", &gone], 1, &says);
}

#[test]
fn without_a_terminal_the_screen_is_refused() {
    refused(&["top"], 1, &["no terminal", "artis top --once"]);
}

#[test]
fn a_port_in_use_is_said() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let says = [
        "could not listen on",
        &address,
        "another program has this port",
    ];
    refused(&["metrics", "--listen", &address], 1, &says);
}

#[test]
fn a_text_file_that_nobody_would_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    refused(
        &["metrics", "--textfile", &path("artis.txt")],
        1,
        &["end with .prom"],
    );
    let none = path("none/artis.prom");
    refused(
        &["metrics", "--textfile", &none],
        1,
        &["could not write", "create its folder"],
    );
}

#[test]
fn a_full_disk_leaves_the_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=4k", "tmpfs"])
        .arg(folder.path())
        .stderr(std::process::Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        return skipped(
            "a_full_disk_leaves_the_file_as_it_was",
            "no tmpfs can be mounted",
        );
    }
    let path = folder.path().join("artis.prom");
    std::fs::write(&path, "a 1\n").unwrap();
    let words = ["metrics", "--textfile", path.to_str().unwrap()];
    let output = artis(&words);
    let kept = std::fs::read_to_string(&path);
    let names = std::fs::read_dir(folder.path()).unwrap().count();
    let unmounted = Command::new("umount").arg(folder.path()).status().unwrap();
    assert!(unmounted.success());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("free space there; the file stays as it was"),
        "{said}"
    );
    assert_eq!(kept.unwrap(), "a 1\n");
    assert_eq!(names, 1, "a half one is left");
}

#[test]
fn who_is_not_root_sees_the_rest_and_why() {
    let nobody = Command::new(ARTIS)
        .args(["top", "--once", "--every", "100ms", "--json"])
        .uid(65534)
        .gid(65534)
        .output();
    let Ok(output) = nobody else {
        return skipped(
            "who_is_not_root_sees_the_rest",
            "only root becomes another user",
        );
    };
    assert!(output.status.success(), "{output:?}");
    let now: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(now["watch"]["is_on"], false);
    let unknown = now["unknown"].to_string();
    assert!(unknown.contains("wakeups cannot be watched"), "{unknown}");
    assert!(!now["cpus"].as_array().unwrap().is_empty());
    let metrics = Command::new(ARTIS)
        .args(["metrics", "--every", "100ms"])
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    assert!(stdout(&metrics).contains("\nartis_watch_on 0\n"));
    // What is unknown is no zero.
    assert!(!stdout(&metrics).contains("artis_watch_not_kept"));
    assert!(stderr(&metrics).contains("wakeups cannot be watched"));
}

#[test]
fn a_file_that_cannot_be_written_later_is_said_once_and_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("here");
    std::fs::create_dir(&place).unwrap();
    let path = place.join("artis.prom");
    let running = keeps(&path, &[("JOURNAL_STREAM", "1:2")]);
    std::fs::rename(&place, folder.path().join("there")).unwrap();
    let line = running.until("could not write");
    // As the journal takes the level of a warning.
    assert!(line.starts_with("<4>artis: "), "{line}");
    std::fs::create_dir(&place).unwrap();
    super::wait_for("the file", || path.exists().then_some(()));
    assert!(
        running
            .lines
            .try_iter()
            .all(|line| !line.contains("could not write"))
    );
}
