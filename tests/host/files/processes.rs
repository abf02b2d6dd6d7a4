// SPDX-License-Identifier: GPL-2.0-only
//! What a command starts ends with it, and only one measurement runs at a time.

use super::{ARTIS, said};
use crate::common;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The processes whose parent is this one, with their command lines.
fn children(parent: i32) -> Vec<(i32, String)> {
    let processes = fs::read_dir("/proc").unwrap();
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<i32>().ok();
    let pids = processes.filter_map(|entry| number(entry.ok()?));
    let child = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let rest = stat.rsplit_once(") ")?.1;
        let its = rest.split(' ').nth(1)?.parse::<i32>().ok()?;
        let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        (its == parent).then_some((pid, words))
    };
    pids.filter_map(child).collect()
}

/// Waits until there is something to see.
fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        match look() {
            Some(seen) => return seen,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Whether a process runs: one that has ended, and that nobody has waited for yet, does not.
fn runs(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn a_killed_decide_ends_its_measurement_and_load() {
    as_root!("a_killed_decide_ends_its_measurement_and_load");
    let words = "decide --measure -D 1h --deadline 250us --work 100us --period 1ms --rest compute";
    let mut decide = Command::new(ARTIS)
        .args(words.split(' '))
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = decide.id().cast_signed();
    let measures = |pid: i32| {
        let all = children(pid);
        all.into_iter()
            .find(|(_, words)| words.contains("measure all"))
    };
    let measurement = wait_for(|| match decide.try_wait().unwrap() {
        Some(_) => Some(None),
        None => measures(pid).map(|(child, _)| Some(child)),
    });
    let Some(measurement) = measurement else {
        let reason = said(&decide.wait_with_output().unwrap());
        common::skipped(
            "a_killed_decide_ends_its_measurement_and_load",
            reason.trim(),
        );
        return;
    };
    // The load's own process, below its supervisor.
    let (supervisor, load) = wait_for(|| {
        let supervisor = children(measurement).first()?.0;
        let load = children(supervisor).first()?.0;
        Some((supervisor, load))
    });
    decide.kill().unwrap();
    decide.wait().unwrap();
    for process in [measurement, supervisor, load] {
        wait_for(|| (!runs(process)).then_some(()));
    }
}

/// A measurement that runs until it is killed, and has begun.
fn endless() -> Child {
    let mut child = lonely("measure latency -p 0 -t 1");
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    // Whoever waits for others says so first; what comes then is about the measurement.
    let mut line = String::new();
    while line.is_empty() || line.contains("waiting for another") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "it has ended");
    }
    // Goes on to take what it says.
    child.stderr = Some(lines.into_inner());
    child
}

/// A command that waits for other measurements, as those of users do.
fn lonely(words: &str) -> Child {
    Command::new(ARTIS)
        .args(words.split(' '))
        .env_remove("ARTIS_CONCURRENT")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads standard error up to the line that says that it waits, and gives that.
fn wait_words(child: &mut Child) -> String {
    let mut line = String::new();
    let stderr = child.stderr.as_mut().unwrap();
    BufReader::new(stderr).read_line(&mut line).unwrap();
    line
}

#[test]
fn a_second_measurement_waits_until_the_first_has_ended() {
    as_root!("a_second_measurement_waits_until_the_first_has_ended");
    let mut first = endless();
    let mut second = lonely("measure exec -p 0 -q -D 50ms --unloaded 10ms --count 1000");
    let words = wait_words(&mut second);
    assert!(words.contains("waiting for another measurement"), "{words}");
    assert!(
        words.contains(&format!("process {}", first.id())),
        "{words}"
    );

    // A signal ends the wait, with a word.
    let mut third = lonely("measure commands -q -l 1");
    let words = wait_words(&mut third);
    assert!(words.contains("waiting"), "{words}");
    kill(Pid::from_raw(third.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = third.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("nothing was measured"),
        "{}",
        said(&output)
    );

    // Knowingly beside it; the result says so.
    let beside = Command::new(ARTIS)
        .args("measure latency -p 0 -t 1 -q -l 5 --json -".split(' '))
        .env("ARTIS_CONCURRENT", "1")
        .output()
        .unwrap();
    let document = String::from_utf8_lossy(&beside.stdout).into_owned();
    assert!(document.contains("concurrent_measurement"), "{document}");

    first.kill().unwrap();
    first.wait().unwrap();
    let mut table = String::new();
    second
        .stdout
        .as_mut()
        .unwrap()
        .read_to_string(&mut table)
        .unwrap();
    assert!(second.wait().unwrap().success());
    assert!(table.contains("Tmin"), "{table}");
}

#[test]
fn what_a_measurement_starts_is_part_of_it() {
    let inner = format!("{ARTIS} measure latency -p 0 -t 1 -q -l 5");
    let outer = format!("measure commands -q -l 1 -- {inner}");
    let output = lonely(&outer).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn a_command_that_is_watched_ends_with_its_watcher() {
    as_root!("a_command_that_is_watched_ends_with_its_watcher");
    let mut watcher = Command::new(ARTIS)
        .args(["explain", "run", "-q", "--", "sleep", "1000"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = watcher.id().cast_signed();
    let command = wait_for(|| match watcher.try_wait().unwrap() {
        Some(_) => Some(None),
        None => {
            let all = children(pid);
            let sleeps = all
                .into_iter()
                .find(|(_, words)| words.starts_with("sleep "));
            sleeps.map(|(pid, _)| Some(pid))
        }
    });
    let Some(command) = command else {
        let reason = said(&watcher.wait_with_output().unwrap());
        common::skipped(
            "a_command_that_is_watched_ends_with_its_watcher",
            reason.trim(),
        );
        return;
    };
    watcher.kill().unwrap();
    watcher.wait().unwrap();
    wait_for(|| (!runs(command)).then_some(()));
}
