// SPDX-License-Identifier: GPL-2.0-only
//! The control groups of an experiment's guest: who has which.
//!
//! `systemd` is the tree that systemd makes of cgroup v2, because that is what people have:
//!
//! | path | what runs there |
//! |---|---|
//! | `/system.slice/rt0.service` | RT0, and the process that measures it |
//! | `/system.slice/load-NAME.service` | all processes of a load |
//! | `/system.slice/scheduler.service` | a scheduler in user mode |
//! | `/user.slice/user-1000.slice/session-1.scope` | the ordinary tasks that are measured |
//!
//! The cpu controller is on in each slice, and all weights are the kernel's own 100. With `none`
//! the loads have a group each, by which their CPU time is counted, and no controller is on.

use super::run::{Error, system};
use artis_load::own::Load;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Where the kernel shows its tree.
const ROOT: &str = "/sys/fs/cgroup";
const SYSTEM: &str = "system.slice";
const USERS: [&str; 2] = ["user.slice", "user-1000.slice"];
const SESSION: &str = "session-1.scope";

/// Which tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Groups {
    /// Slices, services and a session, with the cpu controller.
    #[default]
    Systemd,
    /// A group for each load, without a controller.
    None,
}

impl Groups {
    /// Its word in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::None => "none",
        }
    }

    /// Makes the slices.
    ///
    /// # Errors
    /// When the kernel refuses a group or the controller.
    pub(super) fn make(self) -> Result<(), Error> {
        if self == Self::None {
            return Ok(());
        }
        slice(Path::new(ROOT))?;
        slice(&Path::new(ROOT).join(SYSTEM))?;
        let mut path = PathBuf::from(ROOT);
        for name in USERS {
            path.push(name);
            slice(&path)?;
        }
        Ok(())
    }

    /// Makes a load's group; returns its folder.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub(super) fn of_load(self, load: Load) -> Result<PathBuf, Error> {
        let folder = self.folder_of_load(load);
        make(&folder)?;
        Ok(folder)
    }

    pub(super) fn folder_of_load(self, load: Load) -> PathBuf {
        let name = format!("load-{}", load.name());
        match self {
            Self::Systemd => service(&name),
            Self::None => Path::new(ROOT).join(name),
        }
    }

    /// Moves this process into the service `name`.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub(super) fn enter_service(self, name: &str) -> Result<(), Error> {
        match self {
            Self::Systemd => enter(&service(name)),
            Self::None => Ok(()),
        }
    }

    /// Moves this process into the session of the ordinary tasks.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub(super) fn enter_session(self) -> Result<(), Error> {
        let mut folder = PathBuf::from(ROOT);
        folder.extend(USERS);
        match self {
            Self::Systemd => enter(&folder.join(SESSION)),
            Self::None => Ok(()),
        }
    }
}

fn service(name: &str) -> PathBuf {
    Path::new(ROOT).join(SYSTEM).join(format!("{name}.service"))
}

fn make(folder: &Path) -> Result<(), Error> {
    let what = format!("make the control group {}", folder.display());
    fs::create_dir_all(folder).map_err(system(what))
}

/// A group whose groups share its CPU time by their weights.
fn slice(folder: &Path) -> Result<(), Error> {
    make(folder)?;
    let what = format!("switch the cpu controller on in {}", folder.display());
    fs::write(folder.join("cgroup.subtree_control"), "+cpu").map_err(system(what))
}

fn enter(folder: &Path) -> Result<(), Error> {
    make(folder)?;
    let what = format!("enter the control group {}", folder.display());
    fs::write(folder.join("cgroup.procs"), "0").map_err(system(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_a_service_of_the_system_slice() {
        let of = |groups: Groups| groups.folder_of_load(Load::Io).display().to_string();
        assert_eq!(
            of(Groups::Systemd),
            "/sys/fs/cgroup/system.slice/load-io.service"
        );
        assert_eq!(of(Groups::None), "/sys/fs/cgroup/load-io");
    }

    #[test]
    fn the_word_in_files_is_the_name() {
        for groups in [Groups::Systemd, Groups::None] {
            let word = serde_json::to_value(groups).unwrap();
            assert_eq!(word, groups.name());
        }
    }
}
