// SPDX-License-Identifier: GPL-2.0-only
//! A Debian program with its own libraries in the lab's cache, independent of what this machine's
//! distribution offers or has installed.
//!
//! The emulators come this way because a guest's behaviour depends on them. For instance, QEMU
//! before 8.1 now and then runs an instruction that the guest's kernel has patched away, and every
//! kernel that loads tracing or a scheduler patches itself. A program that runs in a guest comes
//! this way, too, when it has to be as new as the guest's kernel.

use super::apt::Apt;
use crate::Error;
use crate::host::cache::Cache;
use crate::host::tool;
use crate::progress::Progress;
use artis_machine::arch::{LIBRARIES, LOADER};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's stable release, whose versions do not change.
pub const STABLE: &[&str] = &["trixie"];

/// What is fetched, and which of its files is run.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Debian packages; the first one's name is the program's.
    pub packages: &'static [&'static str],
    /// Where they and their libraries come from: the first suite, the others for what it lacks.
    pub suites: &'static [&'static str],
    /// The program's path below the root folder.
    pub program: &'static str,
}

/// A program in the cache, complete.
#[derive(Clone, Debug)]
pub struct Program {
    root: PathBuf,
    program: &'static str,
}

impl Program {
    /// The program from the cache, fetched from `mirror` first when it is not there.
    ///
    /// # Errors
    /// When apt cannot fetch it or the cache cannot be written.
    pub fn resolve(
        wanted: Wanted,
        cache: &Cache,
        mirror: &str,
        progress: &mut dyn Progress,
    ) -> Result<Self, Error> {
        // The folder has its name from the first programs that came this way.
        let folder = format!("emulators/{}-{}", wanted.packages[0], wanted.suites[0]);
        let root = cache.path(&folder)?;
        let found = Self {
            root,
            program: wanted.program,
        };
        if found.root.exists() {
            return Ok(found);
        }
        let _lock =
            cache.lock(|| progress.note("waiting for another artis that is fetching something"))?;
        // Another run may have fetched it while this one waited.
        if found.root.exists() {
            return Ok(found);
        }
        let folder = cache.unfinished_folder(&found.root)?;
        let archives = folder.path().join("archives");
        Apt::new(cache, wanted.suites)?.download_closure(
            mirror,
            wanted.packages,
            &archives,
            progress,
        )?;
        unpack(&archives, folder.path(), progress)?;
        fs::remove_dir_all(&archives).map_err(Error::io("remove", &archives))?;
        cache.finish_folder(folder, &found.root)?;
        Ok(found)
    }

    /// A command that runs the program with the libraries it was packaged with.
    pub fn command(&self) -> Command {
        let libraries = self.path(LIBRARIES);
        let mut command =
            Command::new(libraries.join(Path::new(LOADER).file_name().unwrap_or_default()));
        command.arg("--library-path").arg(&libraries);
        command.arg(self.path(self.program));
        command
    }

    /// The place of a file of its packages, `usr/share/…`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

/// Unpacks every Debian package of `archives` into `root`.
fn unpack(archives: &Path, root: &Path, progress: &mut dyn Progress) -> Result<(), Error> {
    for entry in fs::read_dir(archives).map_err(Error::io("read", archives))? {
        let package = entry.map_err(Error::io("read", archives))?.path();
        if package.extension() != Some(OsStr::new("deb")) {
            continue;
        }
        progress.step("unpacking", None);
        let mut dpkg = Command::new(tool::find("dpkg-deb", "dpkg")?);
        tool::output(dpkg.arg("--extract").args([package.as_path(), root]))?;
    }
    progress.done();
    Ok(())
}
