// SPDX-License-Identifier: GPL-2.0-only
//! Published sched_ext schedulers, for guests only: cargo builds each once, into the lab's cache.
//!
//! Owns the cache's `schedulers` folder, one folder for each crate and version. No part of artis
//! depends on these crates, and their programs run in guests alone.

use super::cache::Cache;
use super::tool;
use crate::Error;
use crate::progress::Progress;
use artis_result::experiment::Published;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// The folder in the cache.
pub(super) const FOLDER: &str = "schedulers";
/// How often a build is looked at.
const BEAT: Duration = Duration::from_millis(500);
/// Lines of cargo's complaint that are quoted.
const LINES: usize = 8;
/// Versions of clang that are looked for by name (`clang-NN`), as `make setup` does.
const CLANGS: std::ops::RangeInclusive<u32> = 14..=40;
/// Names the compiler of BPF programs to the build scripts of these crates.
const CLANG_VARIABLE: &str = "BPF_CLANG";

/// The program of each of `wanted`, from the cache, built first when it is not there. A number in
/// `stop` ends a build.
///
/// # Errors
/// [`Error::NotBuilt`] when cargo or clang is missing, the crate is not published or cannot be
/// built, or `stop` came.
pub fn programs(
    wanted: &BTreeSet<Published>,
    cache: &Cache,
    stop: &AtomicUsize,
    progress: &mut dyn Progress,
) -> Result<BTreeMap<Published, PathBuf>, Error> {
    let folder = |which: &Published| cache.path(&format!("{FOLDER}/{which}"));
    let mut programs = BTreeMap::new();
    let mut missing = Vec::new();
    for which in wanted {
        let folder = folder(which)?;
        if !folder.exists() {
            missing.push(which);
        }
        programs.insert(which.clone(), program(&folder, which));
    }
    if missing.is_empty() {
        return Ok(programs);
    }
    let _lock = cache
        .lock(|| progress.note("waiting for another artis that fetches or builds something"))?;
    // Many dependencies are the same for all of them.
    let objects = cache.unfinished_folder(&cache.path(&format!("{FOLDER}/objects"))?)?;
    for which in missing {
        let place = folder(which)?;
        // Another run may have built it while this one waited.
        if place.exists() {
            continue;
        }
        let root = cache.unfinished_folder(&place)?;
        build(which, root.path(), objects.path(), stop, progress)?;
        cache.finish_folder(root, &place)?;
    }
    Ok(programs)
}

/// Where cargo puts the program below the root that it is given.
fn program(root: &Path, which: &Published) -> PathBuf {
    root.join("bin").join(which.name())
}

fn build(
    which: &Published,
    root: &Path,
    objects: &Path,
    stop: &AtomicUsize,
    progress: &mut dyn Progress,
) -> Result<(), Error> {
    let refused = |reason: String| Error::NotBuilt {
        which: which.to_string(),
        reason,
    };
    let cargo = which::which("cargo").map_err(|_| {
        refused("it needs cargo, which is not in PATH; install Rust (`make setup`)".to_owned())
    })?;
    let clang = clang().ok_or_else(|| {
        refused(format!(
            "it needs clang, which is not in PATH; install it (apt install clang), or name one \
             with {CLANG_VARIABLE}=/path/to/clang"
        ))
    })?;
    let log = root.join("log");
    let complaints = File::create(&log).map_err(Error::io("create", &log))?;
    let mut command = Command::new(cargo);
    command
        .args(["install", "--locked", "--root"])
        .arg(root)
        .arg("--target-dir")
        .arg(objects)
        .arg(which.to_string())
        // Not where a project's settings for cargo could be found.
        .current_dir(root)
        .env(CLANG_VARIABLE, clang)
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .env_remove("CARGO_BUILD_TARGET")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(complaints)
        // With the compilers that it starts, it is ended as one.
        .process_group(0);
    tool::ends_with_us(&mut command);
    let mut cargo = command
        .spawn()
        .map_err(|error| refused(format!("cannot run cargo: {error}")))?;
    progress.step(&format!("building {which} (it may take minutes)"), None);
    let ended = wait(&mut cargo, stop);
    progress.done();
    let said = fs::read_to_string(&log).unwrap_or_default();
    match ended.map_err(|error| refused(format!("cannot wait for cargo: {error}")))? {
        None => return Err(refused("it was interrupted".to_owned())),
        Some(status) if !status.success() => return Err(refused(complaint(&said))),
        Some(_) => {}
    }
    if !program(root, which).is_file() {
        return Err(refused(format!(
            "the crate has no program called {}",
            which.name()
        )));
    }
    fs::remove_file(&log).map_err(Error::io("remove", &log))
}

/// The compiler that the user named, or the one called clang, or the newest with a number.
fn clang() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(CLANG_VARIABLE) {
        return Some(named.into());
    }
    let numbered = CLANGS.rev().map(|version| format!("clang-{version}"));
    let mut names = std::iter::once("clang".to_owned()).chain(numbered);
    names.find_map(|name| which::which(name).ok())
}

/// Waits for the end; none when `stop` came first, and then everything of it is ended.
fn wait(cargo: &mut Child, stop: &AtomicUsize) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = cargo.try_wait()? {
            return Ok(Some(status));
        }
        if stop.load(Ordering::Relaxed) != 0 {
            // It may have ended just now.
            let _ = killpg(Pid::from_raw(cargo.id().cast_signed()), Signal::SIGKILL);
            cargo.wait()?;
            return Ok(None);
        }
        sleep(BEAT);
    }
}

/// Why cargo failed, in its own words: from its first error on, in one line.
fn complaint(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    let first = lines.iter().position(|line| line.starts_with("error"));
    let from = first.unwrap_or(lines.len().saturating_sub(LINES));
    let quoted = lines[from..].iter().filter(|line| !line.is_empty());
    let quoted: Vec<&str> = quoted.copied().take(LINES).collect();
    match quoted.is_empty() {
        true => "cargo said nothing".to_owned(),
        false => quoted.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_first_error_is_quoted_in_one_line() {
        let said = "  Updating index\nerror: could not find `scx_x`\n\n  in registry\n";
        assert_eq!(complaint(said), "error: could not find `scx_x` in registry");
        assert_eq!(complaint(""), "cargo said nothing");
        assert_eq!(complaint("  Compiling a\n"), "Compiling a");
    }
}
