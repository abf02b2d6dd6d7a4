// SPDX-License-Identifier: GPL-2.0-only
//! What the lab needs of a Linux distribution. [`crate::debian`] is one; another begins here.
//!
//! The emulators are Debian's whatever the guest is: a guest's behaviour depends on them.

use crate::Error;
use crate::host::cache::Cache;
use crate::kernel::{Facts, Kernel, Listed};
use crate::progress::Progress;
use std::path::PathBuf;

/// Kernels of a distribution, in its archive and in the lab's cache.
pub trait Distro {
    /// The cache that they are kept in.
    fn cache(&self) -> &Cache;

    /// The mirror to fetch from.
    ///
    /// # Errors
    /// When none is known.
    fn mirror(&self) -> Result<String, Error>;

    /// The kernel that `name` means, from the cache, fetched first when it is not there.
    ///
    /// `name` is a release, `newest`, `newest-rt` or a package name. When the archive cannot be
    /// reached, a cached kernel that fits is used, with a note.
    ///
    /// # Errors
    /// When there is no such kernel, it cannot be fetched, or the mirror that was asked for by name
    /// cannot be reached.
    fn resolve(&self, name: &str, progress: &mut dyn Progress) -> Result<Kernel, Error>;

    /// All kernels, newest first. When the archive cannot be reached, the cached ones.
    ///
    /// # Errors
    /// When it cannot be reached and there is no kernel in the cache, or when the mirror that was
    /// asked for by name cannot be reached.
    fn list(&self, progress: &mut dyn Progress) -> Result<Vec<Listed>, Error>;

    /// The folder with every module of one of its kernels, filled first when it is not there.
    ///
    /// # Errors
    /// When they are no longer in the archive, or cannot be fetched.
    fn modules(&self, kernel: &Facts, progress: &mut dyn Progress) -> Result<PathBuf, Error>;
}
