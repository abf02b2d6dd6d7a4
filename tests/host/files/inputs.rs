// SPDX-License-Identifier: GPL-2.0-only
//! Reading ends: only regular files and pipes are read, and not more than a limit.

use super::{folder, said, shell};

/// What each verb that reads says of `{}`.
const VERBS: &[&str] = &[
    "artis result show {}",
    "artis result convert {} --to csv",
    "artis result merge a.json {} -o x",
    "artis compare a.json {}",
    "artis compare {}",
    "artis report {} -o x.html",
    "artis report a.json --job {} -o x.html",
    "artis decide --deadline 250us --work 100us --period 1ms stock={}",
    "artis decide --deadline 250us --work-file {} --period 1ms",
    "artis explain show {}",
    "artis lab experiment {}",
    "artis lab explain {} --configuration a --seed 1",
    "artis sched run --config {} --check",
    "artis measure completion --like {}",
    "artis lab run --file {}:/x -- true",
];

#[test]
fn every_verb_refuses_what_has_no_end() {
    let folder = folder();
    let done = shell(folder.path(), "mkfifo pipe && truncate -s 20G sparse");
    assert!(done.status.success());
    for verb in VERBS {
        for (input, says) in [
            ("/dev/zero", "no regular file but a device"),
            ("/dev/tty", "no regular file but a device"),
            (".", "no regular file but a folder"),
            ("pipe", "no regular file but a named pipe"),
            ("sparse", "larger than 512 MiB"),
        ] {
            // What would read on without end ends here.
            let line = format!("ulimit -v 4000000; {}", verb.replace("{}", input));
            let output = shell(folder.path(), &line);
            let said = said(&output);
            // A guest has its own limit: its memory.
            let (says, status) = match (input, verb.contains("lab run")) {
                ("sparse", true) => ("larger than the guest's memory", 64),
                _ => (says, 1),
            };
            assert_eq!(output.status.code(), Some(status), "{line}: {said}");
            assert!(
                said.contains(says) && said.lines().count() == 1,
                "{line}: {said}"
            );
        }
    }
}

#[test]
fn pipes_are_read_and_devices_are_no_standard_input() {
    let folder = folder();
    for (line, status) in [
        ("artis result show - <a.json", 0),
        ("cat a.json | artis result show -", 0),
        ("cat a.json | artis result show /dev/stdin", 0),
        ("artis compare <(cat a.json) <(cat b.json)", 0),
        ("artis result show - <pipe & cat a.json >pipe; wait $!", 0),
        ("artis result show - </dev/zero", 1),
        ("artis result show - </dev/null", 1),
    ] {
        let output = shell(folder.path(), &format!("mkfifo pipe 2>/dev/null; {line}"));
        assert_eq!(
            output.status.code(),
            Some(status),
            "{line}: {}",
            said(&output)
        );
    }
}
