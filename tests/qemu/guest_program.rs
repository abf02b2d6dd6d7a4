// SPDX-License-Identifier: GPL-2.0-only
//! artis-guest is part of every guest whose figures repeat, and artis-guest-sched of those in which
//! artis schedules, so they must not depend on who builds them.

use artis::lab::image::slim::loaded_part;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each, and a source file of C whose name is in it.
const PROGRAMS: [(&str, &str); 2] = [
    ("artis-guest", "./latency/bpf/split.bpf.c"),
    ("artis-guest-sched", "./bpf/artis.bpf.c"),
];

/// Beside artis, where artis looks for it.
fn guest(name: &str) -> PathBuf {
    crate::common::artis().with_file_name(name)
}

/// Where cargo keeps the sources of other packages.
fn cargo_home() -> PathBuf {
    let named = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    named.unwrap_or_else(|| home().join(".cargo"))
}

fn home() -> PathBuf {
    PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into()))
}

#[test]
fn they_hold_no_path_of_the_machine_that_built_them() {
    for (name, source) in PROGRAMS {
        holds_no_path(&guest(name), source);
    }
}

/// Fails when `guest`, which has the name of `source` in it, holds a path of this machine.
#[track_caller]
fn holds_no_path(guest: &Path, source: &str) {
    let loaded = loaded_part(std::fs::read(guest).unwrap());
    let holds = |path: &Path| {
        let path = path.to_str().unwrap();
        memchr::memmem::find(&loaded, path.as_bytes()).is_some()
    };
    // Paths are there to be found, or the search would prove nothing.
    assert!(holds(Path::new(source)), "{source}");
    assert!(holds(Path::new("library/core/src")));
    let target = guest.parent().unwrap().parent().unwrap();
    let paths = [
        PathBuf::from(env!("CARGO_MANIFEST_DIR")),
        target.to_owned(),
        cargo_home(),
        home().join(".rustup"),
        std::env::temp_dir().join(".tmp"),
    ];
    for path in paths {
        assert!(
            !holds(&path),
            "{} holds {}; was it built without scripts/rustc (is RUSTC_WRAPPER set)?",
            guest.display(),
            path.display()
        );
    }
}

#[test]
fn they_say_what_they_are_when_a_person_starts_it() {
    for (name, _) in PROGRAMS {
        let output = Command::new(guest(name)).arg("--help").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("in the lab's guests"), "{name}: {said}");
    }
}
