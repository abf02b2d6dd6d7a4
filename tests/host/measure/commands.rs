// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure commands`.

use super::{document, measure, said, series, wait_for};
use artis::task::syscall::affinity;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::Path;
use std::process::{Child, Stdio};

#[test]
fn without_a_name_true_is_run_so_often() {
    let document = document("without_a_name", &["commands", "-l", "5"], 0).unwrap();
    for name in ["command", "cpu_time"] {
        let all = series(&document, name);
        assert_eq!((all.len(), &all[0]["count"]), (1, &5.into()), "{name}");
        assert_eq!(all[0]["kind"], "duration");
    }
    assert!(series(&document, "command")[0]["min"].as_i64().unwrap() > 0);
    let options = &document["setup"]["options"];
    assert_eq!(
        (&options["command"], &options["loops"]),
        (&"true".into(), &5.into())
    );
    assert_eq!(options["policy"], "normal");
}

#[test]
fn a_command_is_run_once_more_than_it_is_recorded_with_pauses() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs");
    let script = format!("echo noise; echo run >> {}", file.display());
    let words = [
        "commands", "-l", "3", "-i", "20ms", "--", "sh", "-c", &script,
    ];
    let document = document("a_command_is_run", &words, 0).unwrap();
    assert_eq!(std::fs::read_to_string(file).unwrap().lines().count(), 4);
    assert_eq!(series(&document, "command")[0]["count"], 3);
    // Two pauses, between three commands.
    assert!(document["seconds"].as_f64().unwrap() >= 0.04);
}

#[test]
fn the_table_names_the_command_and_fits_80_columns() {
    let output = measure(&["commands", "-D", "100ms", "-q"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("true, normal\n"), "{text}");
    assert!(
        text.contains(" a second\n") && text.contains("CPU time"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}

#[test]
fn commands_stay_on_the_cpus_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cpus");
    let last = affinity(0).unwrap().last().unwrap().to_string();
    let script = format!(
        "grep Cpus_allowed_list /proc/self/status > {}",
        file.display()
    );
    let words = [
        "commands", "-l", "1", "-a", &last, "--", "sh", "-c", &script,
    ];
    document("commands_stay", &words, 0).unwrap();
    let allowed = std::fs::read_to_string(file).unwrap();
    assert_eq!(allowed.split_whitespace().last(), Some(&*last));
}

#[test]
fn a_command_that_fails_is_an_error_and_those_before_it_are_kept() {
    let words = ["commands", "--", "sh", "-c", "echo no luck >&2; exit 3"];
    let output = measure(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = said(&output);
    assert!(
        text.contains("exit status: 3") && text.contains("no luck"),
        "{text}"
    );
    assert!(output.stdout.is_empty());

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs");
    // Its fourth run fails: one is not recorded, two are.
    let script = format!("echo >> {0}; [ $(wc -l < {0}) -lt 4 ]", file.display());
    let words = ["commands", "-l", "5", "--", "sh", "-c", &script];
    let document = document("those_before_it", &words, 1).unwrap();
    assert_eq!(series(&document, "command")[0]["count"], 2);
    assert!(
        document["ended_early"]
            .as_str()
            .unwrap()
            .contains("exit status: 1")
    );
}

/// Starts a measurement whose command never ends: artis, and the command's number.
fn endless(folder: &Path) -> (Child, Pid) {
    let file = folder.join("pid");
    let script = format!(
        "echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600",
        file.display()
    );
    let artis = measure(&["commands", "--json", "-", "--", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = wait_for(|| std::fs::read_to_string(&file).ok());
    (artis, Pid::from_raw(pid.trim().parse().unwrap()))
}

fn gone(pid: Pid) {
    wait_for(|| kill(pid, None).err());
}

#[test]
fn no_command_outlives_artis() {
    let folder = tempfile::tempdir().unwrap();
    let (artis, command) = endless(folder.path());
    kill(Pid::from_raw(artis.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = artis.wait_with_output().unwrap();
    assert!(output.status.success());
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["ended_early"], "signal 2");
    gone(command);

    let folder = tempfile::tempdir().unwrap();
    let (mut artis, command) = endless(folder.path());
    artis.kill().unwrap();
    artis.wait().unwrap();
    gone(command);
}
