// SPDX-License-Identifier: GPL-2.0-only
//! `artis load` as a whole: loads work and are counted, their failures are explained, and nothing
//! of them is left, however artis ends. No speed is judged.

mod place;

use crate::common;
use artis::result::{Document, file};
use nix::sys::signal::Signal;
use place::Place;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

/// Skips the test when a program is not installed.
macro_rules! need {
    ($test:literal, $($program:literal),+) => {
        for program in [$($program),+] {
            if which::which(program).is_err() {
                return common::skipped($test, &format!("{program} is not installed"));
            }
        }
    };
}

fn read(path: &Path) -> Document {
    file::read(path).unwrap()
}

#[test]
fn every_load_works_and_is_counted() {
    need!("every_load_works", "stress-ng", "hackbench", "cc", "make");
    let place = Place::new();
    let json = place.outside("result.json");
    let path = json.to_str().unwrap();
    // Half a second is enough for each of them, unless the machine has other work.
    let mut output = None;
    for duration in ["500ms", "5", "60"] {
        let words = ["run", "all", "-D", duration, "--json", path];
        let ended = place.load(&words).output().unwrap();
        let idle = String::from_utf8_lossy(&ended.stderr).contains("did no work");
        output = Some(ended);
        if !idle {
            break;
        }
    }
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    let document = read(&json);
    let names: Vec<&str> = document
        .load
        .iter()
        .map(|load| load.name.as_str())
        .collect();
    let all = [
        "compute",
        "io",
        "network",
        "locks",
        "cache",
        "fork",
        "faults",
        "signals",
        "mixed",
        "hackbench",
        "build",
        "hackbench-processes",
        "stress-ng-cpu",
        "stress-ng-hdd",
        "stress-ng-sock",
        "stress-ng-flock",
        "stress-ng-cache",
        "stress-ng-fork",
    ];
    assert_eq!(names, all);
    for load in &document.load {
        assert!(load.work > 0.0 && load.seconds > 0.0, "{load:?}");
        assert!(load.cpu_seconds.unwrap() > 0.0, "{load:?}");
    }
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(all.iter().all(|name| table.contains(name)), "{table}");
    place.must_be_empty();
}

#[test]
fn the_command_decides_how_it_ends() {
    let place = Place::new();
    let script = "ls -d $TMPDIR/artis-load-*/compute && exit 3";
    let output = place
        .load(&["run", "compute", "--", "sh", "-c", script])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    // The load's files existed, so the command ran while the load did.
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("compute")
    );
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("units of integer work")
    );
    for (words, status) in [(&["sleep", "600"][..], 124), (&["no-such-command"], 127)] {
        let words = [&["run", "compute", "-D", "100ms", "--"], words].concat();
        assert_eq!(
            place.load(&words).output().unwrap().status.code(),
            Some(status)
        );
    }
    place.must_be_empty();
}

#[test]
fn two_network_loads_work_side_by_side() {
    need!("two_network_loads", "stress-ng");
    let place = Place::new();
    let artis = ["first.json", "second.json"].map(|name| {
        let json = place.outside(name);
        let words = ["run", "network,stress-ng-sock", "-D", "2", "--json"];
        let mut command = place.load(&words);
        command.arg(&json).stdout(Stdio::null());
        (command.stderr(Stdio::piped()).spawn().unwrap(), json)
    });
    for (child, json) in artis {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        assert!(read(&json).load.iter().all(|load| load.work > 0.0));
    }
    place.must_be_empty();
}

#[test]
fn the_loads_stay_on_their_cpus_and_are_no_real_time_tasks() {
    need!("the_loads_stay", "stress-ng", "hackbench", "chrt");
    let place = Place::new();
    let words = ["run", "cache,stress-ng-cache,hackbench", "--cpus", "0"];
    let (mut artis, _) = if nix::unistd::geteuid().is_root() {
        place.at_work_below(&["chrt", "-f", "3"], &words)
    } else {
        place.at_work(&words)
    };
    let tasks = place.processes_at_least(5);
    for task in tasks.iter().filter(|task| **task != artis.id()) {
        let Ok(stat) = fs::read_to_string(format!("/proc/{task}/stat")) else {
            continue;
        };
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        let policy = fields[41 - 3];
        assert_eq!(policy, "0", "{stat}");
        let status = fs::read_to_string(format!("/proc/{task}/status")).unwrap_or_default();
        let cpus = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        assert!(cpus.is_none_or(|cpus| cpus.trim() == "0"), "{status}");
    }
    place::signal(&artis, Signal::SIGINT);
    assert!(artis.wait().unwrap().success());
    place.must_be_empty();
}

#[test]
fn a_signal_ends_it_in_order() {
    need!("a_signal_ends_it", "stress-ng", "make", "cc");
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let place = Place::new();
        let json = place.outside("result.json");
        let path = json.to_str().unwrap();
        let (mut artis, _) = place.at_work(&["run", "io,stress-ng-fork,build", "--json", path]);
        place::signal(&artis, signal);
        assert!(artis.wait().unwrap().success());
        place.must_be_empty();
        let document = read(&json);
        assert_eq!(
            document.ended_early,
            Some(format!("signal {}", signal as i32))
        );
        assert_eq!(document.load.len(), 3);
    }
}

#[test]
fn the_command_gets_the_signal_that_artis_got() {
    need!("the_command_gets_the_signal", "stress-ng");
    for (signal, code) in [(Signal::SIGTERM, 7), (Signal::SIGHUP, 8)] {
        let place = Place::new();
        let ready = place.outside("ready");
        let script = format!(
            "trap 'exit 7' TERM; trap 'exit 8' HUP; : >{}; while :; do sleep 0.1; done",
            ready.display()
        );
        let words = ["run", "compute", "--", "sh", "-c", &script];
        let (mut artis, _) = place.at_work(&words);
        place.wait_for(|| ready.exists().then_some(()));
        place::signal(&artis, signal);
        assert_eq!(artis.wait().unwrap().code(), Some(code));
        place.must_be_empty();
    }
}

#[test]
fn kill_9_leaves_nothing() {
    need!(
        "kill_9_leaves_nothing",
        "stress-ng",
        "hackbench",
        "make",
        "cc"
    );
    for with in [&[][..], &["--", "sleep", "600"]] {
        let place = Place::new();
        let (mut artis, _) = place.at_work(&[&["run", "all"], with].concat());
        assert!(place.processes().len() > 10);
        artis.kill().unwrap();
        artis.wait().unwrap();
        place.becomes_empty();
    }
}

#[test]
fn a_load_that_dies_is_an_error_with_its_own_output() {
    let place = Place::new();
    // Workers that compute, so that the load counts as at work, and then the end.
    place.program(
        "stress-ng",
        "#!/bin/sh\n(while :; do :; done) & (while :; do :; done) &\n\
         while ! [ -e $TMPDIR/now ]; do sleep 0.01; done\necho out of patience; exit 7\n",
    );
    let json = place.outside("result.json");
    let words = [
        "run",
        "stress-ng-cpu",
        "--cpus",
        "0",
        "--json",
        json.to_str().unwrap(),
    ];
    let (artis, _) = place.at_work(&words);
    place.touch("now");
    let output = artis.wait_with_output().unwrap();
    let said = place.said();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("`stress-ng-cpu` ended early: exit status: 7"),
        "{said}"
    );
    assert!(said.contains("out of patience"), "{said}");
    let document = read(&json);
    assert!(document.ended_early.unwrap().contains("out of patience"));
    place.remove("now");
    place.must_be_empty();
}

#[test]
fn a_killed_load_is_an_error_too() {
    need!("a_killed_load_is_an_error", "stress-ng");
    for (load, process) in [
        ("stress-ng-cpu", "stress-ng\n"),
        ("compute", "load-compute\n"),
    ] {
        let place = Place::new();
        let loads = format!("locks,{load}");
        let (mut artis, _) = place.at_work(&["run", &loads, "--", "sleep", "600"]);
        place.kill_one(process);
        assert_eq!(artis.wait().unwrap().code(), Some(1));
        let said = place.said();
        let early = format!("`{load}` ended early: signal: 9 (SIGKILL)");
        assert!(said.contains(&early), "{said}");
        place.must_be_empty();
    }
}

#[test]
fn a_killed_supervisor_is_an_error_and_leaves_nothing() {
    need!("a_killed_supervisor", "stress-ng");
    let place = Place::new();
    let loads = "io,network,locks,signals,stress-ng-fork";
    let (mut artis, _) = place.at_work(&["run", loads]);
    place.kill_one("artis-load\n");
    assert_eq!(artis.wait().unwrap().code(), Some(1));
    place.becomes_empty();
}

#[test]
fn a_load_that_does_nothing_is_an_error() {
    let place = Place::new();
    // It works and ends as asked, but reports no work, as stress-ng does for a skipped stressor.
    place.program(
        "stress-ng",
        "#!/bin/sh\n(while :; do :; done) &\ntrap 'kill %1; echo skipped it; exit 0' INT\nwait\nwait\n",
    );
    let output = place
        .load(&["run", "stress-ng-hdd", "--cpus", "0", "-D", "100ms"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("`stress-ng-hdd` did no work") && said.contains("skipped it"),
        "{said}"
    );
    place.must_be_empty();
}

#[test]
fn a_missing_tool_names_its_package() {
    let place = Place::new();
    let empty = place.outside("empty");
    fs::create_dir(&empty).unwrap();
    for (load, package) in [
        ("stress-ng-cpu", "stress-ng"),
        ("stress-ng-sock", "stress-ng"),
        ("hackbench", "rt-tests"),
        ("hackbench-processes", "rt-tests"),
        ("build", "make"),
    ] {
        let output = place
            .load(&["run", load, "-D", "1"])
            .env("PATH", &empty)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(&format!("apt install {package}")), "{said}");
    }
    // With make installed, the compiler is missing.
    fs::write(empty.join("make"), "").unwrap();
    fs::set_permissions(empty.join("make"), fs::Permissions::from_mode(0o755)).unwrap();
    let output = place
        .load(&["run", "build", "-D", "1"])
        .env("PATH", &empty)
        .output()
        .unwrap();
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("apt install gcc")
    );
    place.must_be_empty();
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let place = Place::new();
    for (folder, reason) in [
        ("/proc/1", "lets nobody make files"),
        ("/no/such/folder", "No such file"),
    ] {
        let words = ["run", "io", "-D", "1"];
        let output = place.load(&words).env("TMPDIR", folder).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        for words in [folder, reason, "TMPDIR"] {
            assert!(said.contains(words), "{said}");
        }
    }
}

#[test]
fn every_load_is_listed() {
    let place = Place::new();
    let output = place.load(&["list"]).output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().lines().count(),
        19
    );
}
