// SPDX-License-Identifier: GPL-2.0-only
//! `artis lab run` as the tests call it: again when its emulator failed, and with what it printed
//! last when nothing more comes.

use crate::common::report;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

/// What artis says of a guest that neither its kernel nor the command brought down.
const FAULT: &str = "by a fault of the emulator";
/// How often such a guest is started again before its loss counts as a failure.
const RESTARTS: usize = 2;

pub fn artis(words: &[&str]) -> Command {
    let mut command = Command::new(crate::common::artis());
    command.args(words);
    command
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn stderr(output: &Output) -> String {
    text(&output.stderr)
}

/// Runs an `artis lab run` to its end; again when its emulator failed, which it says.
pub fn run(command: &mut Command) -> Output {
    run_watched(command, |_| ())
}

/// The same. `watch` gets each line of standard output when it comes.
pub fn run_watched(command: &mut Command, mut watch: impl FnMut(&str)) -> Output {
    let mut output = run_once(command, &mut watch);
    for _ in 0..RESTARTS {
        let said = stderr(&output);
        let Some(fault) = said.lines().find(|line| line.contains(FAULT)) else {
            break;
        };
        report(&format!("AGAIN: {fault}"));
        output = run_once(command, &mut watch);
    }
    output
}

fn run_once(command: &mut Command, watch: &mut impl FnMut(&str)) -> Output {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut complaint = child.stderr.take().unwrap();
    let complaint = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        complaint.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut stdout = Vec::new();
    loop {
        let begin = stdout.len();
        if lines.read_until(b'\n', &mut stdout).unwrap() == 0 {
            break;
        }
        watch(String::from_utf8_lossy(&stdout[begin..]).trim_end());
    }
    Output {
        status: child.wait().unwrap(),
        stdout,
        stderr: complaint.join().unwrap(),
    }
}
