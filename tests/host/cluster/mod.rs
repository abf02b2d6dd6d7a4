// SPDX-License-Identifier: GPL-2.0-only
//! What `packaging/` gives those who have more machines than one: read by its own validators, and
//! run on this machine as far as that goes.

mod kubernetes;
mod slurm;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Sweeps of it are short, and have RT0 and others.
const MIXED: &str = "name = \"mixed\"\nduration = \"100ms\"\n[machine]\ncpus = 2\nrt = \"1\"\n\
    [[task]]\nname = \"rt0\"\nclass = \"rt0\"\ncpu = 1\n\
    forever = [{ compute = \"300us\" }, { every = \"1ms\" }]\n\
    [[task]]\nname = \"hog\"\ncount = 2\nforever = [{ compute = \"10ms\" }]\n";

/// A sweep of seven simulations.
const SEEDS: &str = "7";

/// A file below packaging/.
fn packaged(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("packaging")
        .join(name)
}

/// A folder with the scenario, which everybody may write to.
fn shared() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mixed.toml"), MIXED).unwrap();
    let all = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder.path(), all).unwrap();
    folder
}

fn simulate(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_artis"));
    let command = command.current_dir(folder).arg("simulate").args(words);
    command.output().unwrap()
}

/// The parts are the whole to the byte.
#[track_caller]
fn assert_whole(folder: &Path, parts: usize) {
    let names: Vec<String> = (1..=parts).map(|part| format!("part-{part}")).collect();
    let names = names.iter().map(String::as_str);
    let merged = simulate(
        folder,
        &["--merge"].into_iter().chain(names).collect::<Vec<_>>(),
    );
    assert!(merged.status.success(), "{merged:?}");
    let whole = simulate(folder, &["mixed.toml", "--seeds", SEEDS]);
    assert!(!whole.stdout.is_empty() && merged.stdout == whole.stdout);
}
