// SPDX-License-Identifier: GPL-2.0-only
//! A kernel that guests boot, whoever built it: what is known of it, its image and its modules.
//!
//! Where kernels come from is a [`crate::distribution::Distro`]'s, or the user's own ([`own`]).

pub mod config;
pub mod modules;
pub mod own;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// A kernel on this machine, ready to boot.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// What is known about it.
    pub facts: Facts,
    /// The bootable image.
    pub vmlinuz: PathBuf,
    /// Where its modules come from.
    pub modules: Modules,
}

impl Kernel {
    /// The configuration that it was built with, where that is known.
    pub fn config(&self) -> Option<PathBuf> {
        config_of(&self.vmlinuz, &self.facts.release)
    }
}

/// The configuration of the kernel in an image: beside it, under the name that distributions give
/// it or the lab's cache does.
pub(crate) fn config_of(vmlinuz: &Path, release: &str) -> Option<PathBuf> {
    let folder = vmlinuz.parent()?;
    let names = [format!("config-{release}"), "config".to_owned()];
    let mut paths = names.iter().map(|name| folder.join(name));
    paths.find(|path| path.exists())
}

/// Where the modules of a kernel come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Modules {
    /// The distribution's packages that belong to it.
    Packages,
    /// A folder, at any depth.
    Folder(PathBuf),
    /// It is the user's own, and nobody said.
    Unknown,
}

/// A line of `artis lab kernels`: offered, cached, or both.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    /// What `uname -r` says.
    pub release: String,
    /// Which of Debian's builds.
    pub flavour: Flavour,
    /// Exact package version.
    pub version: String,
    /// Suite that offers it, or offered it.
    pub suite: String,
    /// Is it the newest of its flavour?
    pub newest: bool,
    /// Is it in the cache?
    pub cached: bool,
    /// Size of the download, bytes; none when it is no longer offered.
    pub download_bytes: Option<u64>,
    /// Can it load a sched_ext scheduler? None: not known before it is fetched, or not at all.
    pub sched_ext: Option<bool>,
    /// Preemption model; none as above.
    pub preemption: Option<String>,
}

/// Which of the builds of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// The stock kernel for PCs.
    Normal,
    /// The same with `PREEMPT_RT`.
    Rt,
}

impl Flavour {
    /// The name that asks for the newest kernel of this flavour.
    pub fn newest_name(self) -> &'static str {
        match self {
            Flavour::Normal => "newest",
            Flavour::Rt => "newest-rt",
        }
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Flavour::Normal => "normal",
            Flavour::Rt => "rt",
        })
    }
}

/// What is known about a fetched kernel; `kernel.json` beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// What `uname -r` says.
    pub release: String,
    /// Which of Debian's builds.
    pub flavour: Flavour,
    /// Package that holds the image.
    pub package: String,
    /// Exact version of that package.
    pub version: String,
    /// Suite it came from.
    pub suite: String,
    /// Mirror it came from.
    pub mirror: String,
    /// Can it load a sched_ext scheduler? None: the distribution no longer has its configuration.
    pub sched_ext: Option<bool>,
    /// Preemption model that it starts with; none as above.
    pub preemption: Option<String>,
    /// The downloads and their verified hashes.
    pub packages: Vec<Package>,
}

/// A package as a signed list describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Package name.
    pub name: String,
    /// Exact version.
    pub version: String,
    /// Size of the download, bytes.
    pub size_bytes: u64,
    /// Hash of the package file, hexadecimal; the download was checked against it.
    pub sha256: String,
}
