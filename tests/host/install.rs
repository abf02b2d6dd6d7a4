// SPDX-License-Identifier: GPL-2.0-only
//! `make install` and `make uninstall`, into a folder of their own.
//!
//! What is installed here stands in for what `make build` makes: the build takes minutes, and
//! `make deb-test` installs the real programs. Pages are tested where they are made
//! (`packaging/pages`).

use crate::common;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const BUILT: [&str; 5] = [
    "target/release/artis",
    "target/release/artis-guest",
    "target/release/artis-guest-sched",
    "target/share/man/man1/artis.1",
    "target/share/bash-completion/completions/artis",
];

/// A folder with what `scripts/install` needs of the repository.
fn sources() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in [
        "Makefile",
        "Cargo.toml",
        "scripts",
        "packaging",
        "docs",
        "src",
    ] {
        std::os::unix::fs::symlink(repository.join(name), folder.path().join(name)).unwrap();
    }
    for name in BUILT {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n# {name}\n")).unwrap();
    }
    folder
}

fn make(sources: &Path, target: &str, place: &Path, more: &[&str]) -> Output {
    let mut command = Command::new("make");
    command.args(["-s", target]).args(more).current_dir(sources);
    // Variables of a make that runs these tests are not meant for this one.
    command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    command.arg(format!("DESTDIR={}", place.display()));
    command.output().unwrap()
}

#[track_caller]
fn made(sources: &Path, target: &str, place: &Path, more: &[&str]) -> String {
    let output = make(sources, target, place, more);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{target}: {stderr}");
    stderr
}

/// Every file and folder below this one.
fn tree(folder: &Path) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(tree(&path));
        }
        all.insert(path);
    }
    all
}

#[test]
fn uninstall_leaves_nothing_that_install_made() {
    let (sources, place) = (sources(), tempfile::tempdir().unwrap());
    fs::create_dir_all(place.path().join("usr/share/man")).unwrap();
    let before = tree(place.path());
    let prefix = ["PREFIX=/usr"];
    made(sources.path(), "install", place.path(), &prefix);
    for (name, mode) in [
        ("usr/bin/artis", 0o755),
        ("usr/libexec/artis/artis-guest", 0o755),
        ("usr/libexec/artis/artis-guest-sched", 0o755),
        ("usr/share/man/man1/artis.1", 0o644),
        ("usr/share/bash-completion/completions/artis", 0o644),
        ("usr/share/artis/result.schema.json", 0o644),
        ("usr/share/artis/kubernetes/nodes.yaml", 0o644),
        ("usr/include/artis.h", 0o644),
        ("usr/share/pkgconfig/artis.pc", 0o644),
        ("usr/share/artis/examples/control.c", 0o644),
        ("usr/share/artis/monitoring/alerts.yml", 0o644),
        ("usr/share/artis/monitoring/dashboard.json", 0o644),
        ("usr/share/artis/slurm/sweep.sh", 0o644),
        ("etc/artis/sched.toml", 0o644),
    ] {
        let data = fs::metadata(place.path().join(name)).unwrap_or_else(|_| panic!("no {name}"));
        assert_eq!(data.permissions().mode() & 0o777, mode, "{name}");
    }
    for (name, starts) in [
        ("artis-sched", "sched run --config /etc/artis/sched.toml"),
        ("artis-metrics", "metrics --quiet --listen 127.0.0.1:9464"),
    ] {
        let unit = format!("usr/lib/systemd/system/{name}.service");
        let unit = fs::read_to_string(place.path().join(unit)).unwrap();
        assert!(
            unit.contains(&format!("ExecStart=/usr/bin/artis {starts}\n")),
            "{unit}"
        );
        // What is left of these is systemd's: @system-service.
        assert!(!unit.contains("dir@"), "{unit}");
    }
    builds_the_example(place.path());
    // Once more, as after a newer build.
    made(sources.path(), "install", place.path(), &prefix);
    made(sources.path(), "uninstall", place.path(), &prefix);
    assert_eq!(tree(place.path()), before);
}

/// As its first lines say, with the header and the file of pkg-config that were installed.
fn builds_the_example(place: &Path) {
    let [Ok(compiler), Ok(config)] = ["cc", "pkg-config"].map(which::which) else {
        return common::skipped("the example of artis.h", "needs cc and pkg-config");
    };
    let mut command = Command::new(config);
    command.args(["--cflags", "--define-variable=prefix=/usr", "artis"]);
    command.env("PKG_CONFIG_SYSROOT_DIR", place);
    command.env("PKG_CONFIG_LIBDIR", place.join("usr/share/pkgconfig"));
    // Else it leaves out what a compiler looks at anyway.
    command.env("PKG_CONFIG_ALLOW_SYSTEM_CFLAGS", "1");
    let flags = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(flags.contains("usr/include"), "{flags:?}");
    let program = tempfile::tempdir().unwrap();
    let mut command = Command::new(compiler);
    command
        .args(["-Wall", "-Wextra", "-Werror"])
        .args(flags.split_whitespace());
    command.arg("-o").arg(program.path().join("control"));
    command.arg(place.join("usr/share/artis/examples/control.c"));
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
}

#[test]
fn a_configuration_that_was_changed_stays() {
    let (sources, place) = (sources(), tempfile::tempdir().unwrap());
    made(sources.path(), "install", place.path(), &[]);
    let config = place.path().join("etc/artis/sched.toml");
    fs::write(&config, "rt = \"3\"\n").unwrap();
    let said = made(sources.path(), "install", place.path(), &[]);
    assert!(said.contains("is kept as it is"), "{said}");
    let said = made(sources.path(), "uninstall", place.path(), &[]);
    assert!(said.contains("was changed, and stays"), "{said}");
    assert_eq!(fs::read_to_string(&config).unwrap(), "rt = \"3\"\n");
    let folders = [place.path().join("etc"), place.path().join("etc/artis")];
    assert_eq!(
        tree(place.path()),
        BTreeSet::from([folders[0].clone(), folders[1].clone(), config])
    );
}

#[test]
fn what_cannot_be_installed_or_removed_is_refused_in_words() {
    let (sources, place) = (sources(), tempfile::tempdir().unwrap());
    let refused = |target, more: &[&str]| {
        let output = make(sources.path(), target, place.path(), more);
        assert!(!output.status.success(), "{target} {more:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused("uninstall", &[]);
    assert!(
        said.contains("nothing was installed with PREFIX=/usr/local"),
        "{said}"
    );
    let said = refused("install", &["PREFIX=here"]);
    assert!(said.contains("must begin with /"), "{said}");
    fs::remove_file(sources.path().join(BUILT[1])).unwrap();
    let said = refused("install", &[]);
    assert!(
        said.contains("artis-guest is missing; run make build first"),
        "{said}"
    );
    assert_eq!(tree(place.path()), BTreeSet::new());
}
