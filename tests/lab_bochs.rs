// SPDX-License-Identifier: GPL-2.0-only
//! The deterministic engine and experiments in it: what goes in and comes out, that it repeats to
//! the byte, and that an interrupted experiment loses nothing.
//!
//! Boots kernels in Bochs: some twenty seconds each. One program after the other, because a guest
//! keeps a CPU of the host busy.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

const SMOKE: &str = "lab/smoke.toml";

fn artis(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_artis"));
    command.args(words).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Two guests side by side: their streams, status and files come back, and are the same to the
/// byte, clocks and random numbers included.
#[test]
fn a_guest_comes_back_whole_and_the_same_twice() {
    let script = r#"printf '\000\377 out'; printf 'to stderr\n' >&2; [ "$ARTIS_LAB_SEED" = 3 ]
        { cat /proc/uptime /proc/interrupts /proc/stat; head -c 16 /dev/urandom | od -x; date; } >facts
        head -c 100000 /dev/zero >zeros; exit 7"#;
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let guests = folders.each_ref().map(|folder| {
        artis(&["lab", "run", "--engine", "bochs", "--seed", "3", "--output"])
            .arg(folder.path())
            .args(["--", "sh", "-c", script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    });
    for guest in guests {
        let output = guest.wait_with_output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(7), "{said}");
        assert_eq!(output.stdout, b"\0\xff out");
        assert!(said.contains("to stderr\n"), "{said}");
        assert!(said.contains("us at 100 MIPS, emulated"), "{said}");
    }
    let [one, two] = folders
        .each_ref()
        .map(|folder| fs::read(folder.path().join("facts")).unwrap());
    assert!(one.len() > 500);
    assert_eq!(String::from_utf8_lossy(&one), String::from_utf8_lossy(&two));
    let zeros = fs::read(folders[0].path().join("zeros")).unwrap();
    assert_eq!(zeros, vec![0; 100_000]);
    let record = fs::read_to_string(folders[0].path().join("run.json")).unwrap();
    assert!(
        record.contains(r#""engine": "bochs""#) && record.contains(r#""seed": 3"#),
        "{record}"
    );
    assert!(record.contains("Bochs x86 Emulator 3"), "{record}");
}

/// The guest keeps the time limit, by its own clock.
#[test]
fn a_time_out_is_kept_in_virtual_time() {
    let output = artis(&["lab", "run", "--engine", "bochs", "--timeout", "1", "--"])
        .args(["sh", "-c", "echo begun; sleep 1000"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(124), "{}", stderr(&output));
    assert_eq!(output.stdout, b"begun\n");
}

/// Measured anew both times, with nothing of the first run but its file left.
#[test]
fn an_experiment_gives_the_same_file_twice() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str| {
        let path = folder.path().join(name);
        let output = artis(&["lab", "experiment", SMOKE, "--fresh", "--json"])
            .arg(&path)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let table = String::from_utf8(output.stdout).unwrap();
        (fs::read_to_string(path).unwrap(), table)
    };
    let (one, table) = run("one.json");
    let (two, _) = run("two.json");
    assert_eq!(one, two);
    assert!(
        table.contains("us at 100 MIPS, emulated (bochs)"),
        "{table}"
    );
    let document: serde_json::Value = serde_json::from_str(&one).unwrap();
    let artis = &document["rows"][1];
    assert_eq!(artis["configuration"], "artis");
    assert_eq!(artis["leaks"], 0, "{artis}");
    assert!(artis["samples"].as_u64().unwrap() >= 990, "{artis}");
    assert!(
        artis["rt_cpu_share_others"].as_f64().unwrap() > 0.5,
        "{artis}"
    );
}

/// Starts an experiment and ends it when it says `when`: everything it said.
fn interrupted(mut command: Command, when: &str) -> Vec<String> {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.contains(when) {
            kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
        }
        said.push(line);
    }
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15), "{said:?}");
    said
}

/// The first sample is kept, the second one begun; nothing half-done is left. Who starts over
/// finds nothing of before, also when that was interrupted.
#[test]
fn an_interrupted_experiment_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("result.json");
    // Another seed than the shipped one, so that no sample of another test will do.
    let file = folder.path().join("interrupted.toml");
    let text = fs::read_to_string(SMOKE)
        .unwrap()
        .replace("seeds = [1]", "seeds = [9]");
    fs::write(&file, text).unwrap();
    let start = || {
        let mut command = artis(&["lab", "experiment", "--jobs", "1"]);
        command.arg(&file).arg("--json").arg(&json);
        command
    };
    let over = || {
        let mut command = start();
        command.arg("--fresh");
        command
    };
    let says = |said: &[String], what: &str| said.iter().any(|line| line.contains(what));
    let said = interrupted(over(), "1 of 2 samples …");
    assert!(says(&said, "1 of 2 samples are kept"), "{said:?}");
    assert!(!json.exists());

    let output = start().output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("1 of 2 samples are in the cache"), "{said}");
    assert!(json.exists());
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");

    interrupted(over(), "0 of 2 samples …");
    let said = interrupted(start(), "0 of 2 samples …");
    assert!(!says(&said, "in the cache"), "{said:?}");
}

#[test]
fn what_cannot_be_run_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    fs::write(&file, "name = \"bad\"\nsecunds = 3\n").unwrap();
    let output = artis(&["lab", "experiment"]).arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    let said = stderr(&output);
    assert!(
        said.contains("bad.toml") && said.contains("unknown field `secunds`"),
        "{said}"
    );
    let many = artis(&[
        "lab", "run", "--engine", "bochs", "--cpus", "64", "--", "true",
    ])
    .output()
    .unwrap();
    assert_eq!(many.status.code(), Some(64));
    assert!(
        stderr(&many).contains("at most 8 CPUs, not 64; give fewer (--cpus N)"),
        "{}",
        stderr(&many)
    );
}
