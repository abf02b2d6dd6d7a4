// SPDX-License-Identifier: GPL-2.0-only
//! Debian's packages: which kernels its suites offer, and fetching kernels, their modules and
//! programs, such as the emulators.
//!
//! Owns the lab's private apt ([`apt`]) and all that is read out of package lists ([`index`]) and
//! packages ([`package`]). Nothing is installed: packages are unpacked into the cache.

pub mod apt;
pub mod index;
pub mod kernel;
pub mod package;
pub mod program;
pub mod tree;
pub mod version;
