// SPDX-License-Identifier: GPL-2.0-only
//! What a person sees at a terminal: signs of life, all of it within the width, and after Ctrl-C
//! what there is.

use crate::common::skipped;
use crate::common::terminal::Terminal;
use std::process::{Command, Output, Stdio};

const ARTIS: &str = env!("CARGO_BIN_EXE_artis");

/// A verb that takes long; what its sign of life says beside the time; what it prints when it is
/// interrupted; whether it needs root and BPF.
type Row = (&'static str, &'static str, &'static str, bool);

const LONG: [Row; 14] = [
    ("irq -D 500", "most often", "counted for", false),
    ("load run compute -D 500", "s left", "compute", false),
    ("measure latency -p 0 -D 500", "worst", "latency, us", false),
    (
        "measure latency -p 0 -i 100000 -l 5000",
        "worst",
        "latency, us",
        false,
    ),
    (
        "measure exec -p 0 --unloaded 1ms -D 500",
        "worst excess",
        "Tmin",
        false,
    ),
    (
        "measure all -p 0 -i 100000 --unloaded 1ms -D 500",
        "worst",
        "Tmin",
        false,
    ),
    (
        "measure jitter --unloaded 1ms -D 500",
        "longest round",
        "ideal",
        false,
    ),
    ("measure commands -D 500", "longest", "times in", false),
    ("measure messages -D 500", "longest", "round trips", false),
    (
        "measure completion -p 0 -D 500",
        "worst start delay",
        "units of work",
        false,
    ),
    (
        "measure throughput --runs 900 -- sleep 0.1",
        "longest",
        "real s",
        false,
    ),
    (
        "demo inversion --rounds 10000",
        "worst",
        "us that high waits",
        true,
    ),
    ("explain run --comm artis* -D 500", "worst", "late", true),
    ("explain run --pid 1 -D 500", "worst", "late", true),
];

#[test]
fn every_long_verb_shows_its_time_and_keeps_what_it_has() {
    for (line, sign, kept, privileged) in LONG {
        let words: Vec<&str> = line.split(' ').collect();
        let mut terminal = Terminal::start(100, &words);
        if privileged && !can_record() {
            skipped(line, "the kernel lets nobody record here");
            terminal.interrupt();
            continue;
        }
        terminal.until("\x1b[K");
        terminal.until(sign);
        // The time of the whole, or an estimate of it.
        let time = match line.contains("throughput") || line.contains("inversion") {
            true => " s",
            false => " s of 500 s, ",
        };
        terminal.until(time);
        terminal.interrupt();
        let (status, said) = terminal.end();
        assert!(status.success(), "{line}: {status}: {said}");
        // The sign is gone before the result comes.
        let (_, result) = said.rsplit_once("\x1b[K").unwrap();
        assert!(result.contains(kept), "{line}: no {kept:?} in {said:?}");
    }
}

/// Whether the recorder can be loaded here.
fn can_record() -> bool {
    let words = ["explain", "run", "-q", "--pid", "1", "-D", "0.1"];
    Command::new(ARTIS)
        .args(words)
        .output()
        .unwrap()
        .status
        .success()
}

#[test]
fn nobody_gets_a_sign_who_cannot_read_it() {
    let long = "measure messages -D 2.5";
    let words = |line: &'static str| line.split(' ').collect::<Vec<&str>>();
    for (line, environment) in [
        ("measure messages -q -D 2.5", &[][..]),
        (long, &[("NO_COLOR", "1")]),
        (long, &[("TERM", "dumb")]),
    ] {
        let (status, said) = Terminal::start_in(100, &words(line), environment).end();
        assert!(status.success() && said.contains("round trips"), "{said}");
        let is_plain = !said.contains('\x1b') && !said.contains("s left");
        assert!(is_plain, "{line} {environment:?}: {said:?}");
    }
    let output = Command::new(ARTIS).args(words(long)).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains('\x1b') && !said.contains("left"), "{said:?}");
}

#[test]
fn a_signal_keeps_what_there_is() {
    for signal in ["INT", "TERM", "HUP"] {
        let child = Command::new(ARTIS)
            .args(["irq", "-D", "500"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        catches(child.id());
        let pid = child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(sent.unwrap().success());
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{signal}: {text}");
        assert!(text.contains("\ncounted for "), "{signal}: {text}");
    }
}

/// Waits until the process handles SIGHUP, the last that it asks for.
fn catches(pid: u32) {
    loop {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let signals = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
        if signals >> (nix::libc::SIGHUP - 1) & 1 == 1 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// What prints tables and paragraphs.
const TABLES: [&str; 6] = [
    "check",
    "check --brief",
    "tasks",
    "irq -D 0.1",
    "load list",
    "result show tests/data/decide/barrier-stock.json",
];

#[test]
fn every_line_fits_the_terminal() {
    for columns in [50, 80, 120] {
        for line in TABLES {
            let words: Vec<&str> = line.split(' ').collect();
            let (_, said) = Terminal::start(columns, &words).end();
            assert!(said.lines().count() > 3, "{line}: {said}");
            let is_long = |line: &&str| line.chars().count() > usize::from(columns);
            let long: Vec<&str> = said.lines().filter(is_long).collect();
            assert!(long.is_empty(), "{line} at {columns}: {long:#?}");
        }
    }
}

fn widest(output: &Output) -> usize {
    let text = String::from_utf8_lossy(&output.stdout);
    // Paths are not broken where nothing is known of a terminal.
    let prose = text.lines().filter(|line| !line.trim().starts_with('/'));
    prose.map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn without_a_terminal_it_is_80_columns_or_what_columns_says() {
    let check = |columns: Option<&str>| {
        let mut command = Command::new(ARTIS);
        command.arg("check").env_remove("COLUMNS");
        command.envs(columns.map(|columns| ("COLUMNS", columns)));
        widest(&command.output().unwrap())
    };
    assert!(check(None) <= 80 && check(None) > 60, "{}", check(None));
    assert!(check(Some("nonsense")) <= 80);
    assert!(check(Some("160")) > 100, "{}", check(Some("160")));
}
