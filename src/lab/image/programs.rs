// SPDX-License-Identifier: GPL-2.0-only
//! Which programs a guest gets: those of artis itself, and those of the host.

use crate::Error;
use artis_guest::scheduler;
use artis_machine::arch::OF_GUESTS;
use std::path::{Path, PathBuf};

/// Which host programs a guest has beside busybox and artis-guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programs {
    /// All of them, and artis.
    All,
    /// Only these, by name. A small image boots sooner where every byte is emulated, and an image
    /// without artis stays the same when artis changes.
    Only(&'static [&'static str]),
}

impl Programs {
    pub(super) fn include(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(&name),
        }
    }
}

/// The name of artis in a guest.
pub(super) const ARTIS: &str = "artis";
/// The name of the program that is the guest's half of the lab.
pub(super) const ARTIS_GUEST: &str = "artis-guest";
/// Where `make install` puts the programs of guests, from the folder of artis: nobody types their
/// names.
const LIBEXEC: &str = "../libexec/artis";

/// The programs of artis itself.
#[derive(Clone, Debug)]
pub struct Own {
    pub(super) artis: PathBuf,
    pub(super) guest: PathBuf,
    pub(super) scheduler: PathBuf,
}

impl Own {
    /// This very program, and those of its guests.
    ///
    /// # Errors
    /// When this machine is not x86-64, this program's own file cannot be found, or one of the
    /// others is neither beside it nor where it is installed.
    pub fn installed() -> Result<Self, Error> {
        if std::env::consts::ARCH != OF_GUESTS {
            return Err(Error::Architecture(std::env::consts::ARCH));
        }
        let artis = std::env::current_exe();
        Self::beside(artis.map_err(Error::io("find", Path::new("/proc/self/exe")))?)
    }

    /// The artis whose file is `artis`, and the programs of guests beside it, as cargo builds
    /// them, or in [`LIBEXEC`], as they are installed.
    ///
    /// # Errors
    /// [`Error::NoGuestProgram`].
    fn beside(artis: PathBuf) -> Result<Self, Error> {
        let find = |name: &str| {
            let built = artis.with_file_name(name);
            let folder = artis.parent().unwrap_or(Path::new("/"));
            let installed = folder.join(LIBEXEC).join(name);
            let found = [&built, &installed].into_iter().find(|path| path.is_file());
            found.cloned().ok_or(Error::NoGuestProgram(built))
        };
        let (guest, scheduler) = (find(ARTIS_GUEST)?, find(scheduler::PROGRAM)?);
        Ok(Self {
            artis,
            guest,
            scheduler,
        })
    }
}

/// Host programs for guests: name, and the Debian package to install when it is missing.
pub(super) const PROGRAMS: &[(&str, &str)] = &[
    ("cyclictest", "rt-tests"),
    ("hackbench", "rt-tests"),
    ("pi_stress", "rt-tests"),
    ("rt-migrate-test", "rt-tests"),
    ("signaltest", "rt-tests"),
    ("stress-ng", "stress-ng"),
    // Debian's static busybox lacks these two.
    ("chrt", "util-linux"),
    ("taskset", "util-linux"),
];

/// Programs of rt-tests that not every version of it has.
pub(super) const PROGRAMS_WHERE_FOUND: &[&str] = &[
    "cyclicdeadline",
    "deadline_test",
    "oslat",
    "pip_stress",
    "pmqtest",
    "ptsematest",
    "queuelat",
    "sigwaittest",
    "ssdd",
    "svsematest",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artis_without_a_program_of_guests_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let beside = || Own::beside(folder.path().join("artis"));
        let error = beside().unwrap_err().to_string();
        assert!(error.contains("artis-guest is missing"), "{error}");
        std::fs::write(folder.path().join("artis-guest"), "").unwrap();
        let error = beside().unwrap_err().to_string();
        assert!(error.contains("artis-guest-sched is missing"), "{error}");
        std::fs::write(folder.path().join("artis-guest-sched"), "").unwrap();
        assert!(beside().is_ok());
    }

    #[test]
    fn an_installed_artis_finds_the_programs_of_guests_in_libexec() {
        let prefix = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = prefix.path().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            folder
        };
        for name in ["artis-guest", "artis-guest-sched"] {
            std::fs::write(folder("libexec/artis").join(name), "").unwrap();
        }
        let own = Own::beside(folder("bin").join("artis")).unwrap();
        for (found, installed) in [
            (own.guest, "libexec/artis/artis-guest"),
            (own.scheduler, "libexec/artis/artis-guest-sched"),
        ] {
            assert!(found.canonicalize().unwrap().ends_with(installed));
        }
    }
}
