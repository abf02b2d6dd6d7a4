// SPDX-License-Identifier: GPL-2.0-only
//! The control groups of a run: made beside this process's own, and removed with it.
//!
//! Source: `Documentation/admin-guide/cgroup-v2.rst`, and `scheduler/sched-design-CFS.rst` for
//! machines whose CPU controller is still in version 1.

use super::Error;
use artis_machine::{Root, cgroup};
use artis_scenario::model::Group;
use std::fs;
use std::path::{Path, PathBuf};

/// The groups of a run. Dropping it removes them; they have to be empty then.
pub struct Groups {
    /// Of the run, and each of the scenario, by its place.
    made: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

/// Where groups with the CPU controller are made.
struct Place {
    folder: PathBuf,
    is_v2: bool,
}

impl Groups {
    /// Makes the groups; none is made for none.
    ///
    /// # Errors
    /// When the machine has no such groups, or they may not be made.
    pub fn new(groups: &[Group]) -> Result<Self, Error> {
        let mut these = Self {
            made: Vec::new(),
            folders: Vec::new(),
        };
        if groups.is_empty() {
            return Ok(these);
        }
        let place = place()?;
        let base = place
            .folder
            .join(format!("artis-scenario-{}", std::process::id()));
        these.make(&base, place.is_v2)?;
        for group in groups {
            let mut folder = base.clone();
            for part in group.name.split('/') {
                folder.push(part);
                if !folder.is_dir() {
                    these.make(&folder, place.is_v2)?;
                }
            }
            set(&folder, group, place.is_v2)?;
            these.folders.push(folder);
        }
        Ok(these)
    }

    /// Of each group, the file that takes processes into it.
    pub fn files(&self) -> Vec<PathBuf> {
        let files = self
            .folders
            .iter()
            .map(|folder| folder.join("cgroup.procs"));
        files.collect()
    }

    fn make(&mut self, folder: &Path, is_v2: bool) -> Result<(), Error> {
        fs::create_dir(folder).map_err(refused("make", folder))?;
        self.made.push(folder.to_owned());
        if is_v2 {
            // Only the last of a path has processes, so the others may pass controllers on. The
            // CPU sets are wanted by few.
            for controller in ["+cpu", "+cpuset"] {
                let _ = fs::write(folder.join("cgroup.subtree_control"), controller);
            }
        }
        Ok(())
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for folder in self.made.iter().rev() {
            // The kernel may need a moment until a killed process has left its group.
            for _ in 0..100 {
                if fs::remove_dir(folder).is_ok() || !folder.exists() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
    }
}

fn place() -> Result<Place, Error> {
    let root = Root::default();
    let own = cgroup::v2_path(&root, "self");
    let own = own.as_deref().unwrap_or("/").trim_start_matches('/');
    // Beside the own group: one with processes in it passes no controllers on.
    let beside = Path::new(own).parent().unwrap_or(Path::new(""));
    for mount in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
        let folder = Path::new(mount).join(beside);
        let controllers = fs::read_to_string(folder.join("cgroup.controllers"));
        if controllers.is_ok_and(|it| it.split_whitespace().any(|it| it == "cpu")) {
            let control = folder.join("cgroup.subtree_control");
            let passed = fs::write(&control, "+cpu");
            passed.map_err(refused("pass the CPU controller on in", &control))?;
            // CPU sets are wanted by few, who are told where they are missing.
            let _ = fs::write(&control, "+cpuset");
            let is_v2 = true;
            return Ok(Place { folder, is_v2 });
        }
    }
    if let Some(own) = cgroup::v1_path(&root, "self", "cpu") {
        let folder = Path::new("/sys/fs/cgroup/cpu").join(own.trim_start_matches('/'));
        if folder.join("cpu.shares").exists() {
            let is_v2 = false;
            return Ok(Place { folder, is_v2 });
        }
    }
    Err(Error::Group(
        "this machine has no control groups with a CPU controller; mount cgroup2 on \
         /sys/fs/cgroup, or take the groups out of the scenario"
            .to_owned(),
    ))
}

fn set(folder: &Path, group: &Group, is_v2: bool) -> Result<(), Error> {
    let write = |file: &str, value: String| {
        let path = folder.join(file);
        fs::write(&path, &value).map_err(refused(&format!("write {value} to"), &path))
    };
    if let Some(weight) = group.weight {
        match is_v2 {
            true => write("cpu.weight", weight.to_string())?,
            // 1024 shares are what 100 of weight are.
            false => write("cpu.shares", (weight * 1024 / 100).max(2).to_string())?,
        }
    }
    if let Some(quota) = group.quota {
        let (quota_us, period_us) = (quota.quota_ns / 1000, quota.period_ns / 1000);
        match is_v2 {
            true => write("cpu.max", format!("{quota_us} {period_us}"))?,
            false => {
                write("cpu.cfs_period_us", period_us.to_string())?;
                write("cpu.cfs_quota_us", quota_us.to_string())?;
            }
        }
    }
    match &group.cpus {
        None => Ok(()),
        Some(cpus) if is_v2 => write("cpuset.cpus", cpus.to_string()),
        Some(_) => Err(Error::Group(format!(
            "group {} has CPUs, which need control groups of version 2; write them at the tasks",
            group.name
        ))),
    }
}

fn refused(what: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let words = format!("could not {what} {}", path.display());
    move |error| Error::Group(format!("{words}: {error}; groups need root"))
}
