// SPDX-License-Identifier: GPL-2.0-only
//! A small Debian system for a guest: packages with all that they depend on, in one archive whose
//! bytes depend on the packages only.

use super::program::{Program, STABLE, Wanted};
use crate::Error;
use crate::host::cache::Cache;
use crate::host::tool;
use crate::progress::Progress;
use std::path::PathBuf;
use std::process::Command;

/// What no program needs to run; all of it has to be unpacked in the guest.
const LEFT_OUT: &[&str] = &[
    "./usr/share/doc",
    "./usr/share/info",
    "./usr/share/lintian",
    "./usr/share/locale",
    "./usr/share/man",
    "./usr/lib/x86_64-linux-gnu/gconv",
    "./usr/lib/x86_64-linux-gnu/perl-base",
    "./usr/share/perl5",
];

/// The archive (tar) of `packages` from the cache, fetched from `mirror` first if it is not there.
///
/// # Errors
/// When apt cannot fetch them, tar is missing, or the cache cannot be written.
pub fn pack(
    packages: &'static [&'static str],
    cache: &Cache,
    mirror: &str,
    progress: &mut dyn Progress,
) -> Result<PathBuf, Error> {
    let wanted = Wanted {
        packages,
        suites: STABLE,
        program: "usr/bin/dash",
    };
    let root = Program::resolve(wanted, cache, mirror, progress)?.path("");
    let archive = cache.path(&format!("programs/{}.tar", packages.join("+")))?;
    if !archive.exists() {
        let mut tar = Command::new(tool::find("tar", "tar")?);
        tar.args(["--create", "--sort=name", "--mtime=@0", "--format=ustar"]);
        tar.args(["--owner=0", "--group=0", "--numeric-owner"]);
        tar.args(LEFT_OUT.iter().map(|folder| format!("--exclude={folder}")));
        tar.arg("--directory").arg(&root).arg(".");
        cache.write_file(&archive, &tool::output(&mut tar)?)?;
    }
    Ok(archive)
}
