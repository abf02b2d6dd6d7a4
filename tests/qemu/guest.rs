// SPDX-License-Identifier: GPL-2.0-only
//! `artis lab run` as the tests call it: again when its emulator failed, and ended when nothing
//! more comes from a guest that should have said something.

use crate::common::report;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{ChildStdout, Command, Output, Stdio};
use std::time::Duration;

/// What artis says of a guest that neither its kernel nor the command brought down.
const FAULT: &str = "by a fault of the emulator";
/// How often such a guest is started again before its loss counts as a failure.
const RESTARTS: usize = 2;
/// What a kernel says when a CPU or a task of its own gets no further, after 20 to 120 s.
const COMPLAINTS: [&str; 5] = [
    "rcu: INFO",
    "soft lockup",
    "hard LOCKUP",
    "blocked for more than",
    "sched_ext:",
];

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
    again(|| run_once(command, &mut |_| (), None))
}

/// The same for a guest that keeps limits of its own, by which it says something. `watch` gets each
/// line of standard output when it comes. A guest that hangs keeps no limit: it is ended. Where its
/// kernel did not complain on the console, that counts as a fault of the emulator, too.
pub fn run_watched(
    command: &mut Command,
    silence: &Silence,
    mut watch: impl FnMut(&str),
) -> Output {
    again(|| run_once(command, &mut watch, Some(silence)))
}

/// When a guest has hung.
pub struct Silence<'a> {
    /// How long it may say nothing, by the host's clock.
    pub limit: Duration,
    /// The folder `--output`, with its console.
    pub output: &'a Path,
}

fn again(mut run: impl FnMut() -> Output) -> Output {
    let mut output = run();
    for _ in 0..RESTARTS {
        let said = stderr(&output);
        let Some(fault) = said.lines().find(|line| line.contains(FAULT)) else {
            break;
        };
        report(&format!("AGAIN: {fault}"));
        output = run();
    }
    output
}

fn run_once(
    command: &mut Command,
    watch: &mut impl FnMut(&str),
    silence: Option<&Silence>,
) -> Output {
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
    let mut fell_silent = None;
    loop {
        if let Some(silence) = silence
            && fell_silent.is_none()
            && !comes(&lines, silence.limit)
        {
            fell_silent = Some(why_silent(silence));
            kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
        }
        let begin = stdout.len();
        if lines.read_until(b'\n', &mut stdout).unwrap() == 0 {
            break;
        }
        watch(String::from_utf8_lossy(&stdout[begin..]).trim_end());
    }
    let mut output = Output {
        status: child.wait().unwrap(),
        stdout,
        stderr: complaint.join().unwrap(),
    };
    output
        .stderr
        .extend(fell_silent.unwrap_or_default().bytes());
    output
}

/// Does a line come, or the end, before the guest has been silent for too long?
fn comes(lines: &BufReader<ChildStdout>, limit: Duration) -> bool {
    let limit = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
    let mut waits = [PollFd::new(lines.get_ref().as_fd(), PollFlags::POLLIN)];
    !lines.buffer().is_empty() || poll(&mut waits, limit).unwrap() > 0
}

fn why_silent(silence: &Silence) -> String {
    let console = std::fs::read(silence.output.join("console.log")).unwrap_or_default();
    let console = text(&console);
    let limit = silence.limit;
    if COMPLAINTS.iter().any(|words| console.contains(words)) {
        format!("\nthe guest said nothing for {limit:?}; its console:\n{console}")
    } else {
        format!("\nthe guest said nothing for {limit:?} {FAULT}: its kernel did not complain\n")
    }
}

#[test]
fn a_guest_that_hangs_is_ended_and_its_console_says_whose_fault_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let silence = Silence {
        limit: Duration::from_millis(200),
        output: folder.path(),
    };
    // Once: what is started again counts in the summary of `make test`.
    let hung = || {
        let mut command = Command::new("sh");
        command.args(["-c", "echo a line; exec sleep 100000"]);
        let mut lines = Vec::new();
        let mut watch = |line: &str| lines.push(line.to_owned());
        let output = run_once(&mut command, &mut watch, Some(&silence));
        assert!(!output.status.success());
        assert_eq!(lines, ["a line"]);
        stderr(&output)
    };
    let said = hung();
    assert!(said.contains(FAULT), "{said}");
    let stalled = "rcu: INFO: rcu_preempt detected stalls";
    std::fs::write(folder.path().join("console.log"), stalled).unwrap();
    let said = hung();
    assert!(said.contains(stalled) && !said.contains(FAULT), "{said}");
}
