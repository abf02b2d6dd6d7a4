// SPDX-License-Identifier: GPL-2.0-only
//! The lab: boots a stock Debian kernel in a virtual machine and runs one command there.
//!
//! Layers, the lowest first; each uses only those before it:
//!
//! | folder           | owns                                                                  |
//! |------------------|-----------------------------------------------------------------------|
//! | [`host`]         | the cache folder, temporary folders, and programs of this machine     |
//! | [`kernel`]       | a kernel that guests boot, its modules, and the user's own            |
//! | [`distribution`] | what is needed of a Linux distribution                                |
//! | [`debian`]       | one: its packages of kernels, modules and emulators                   |
//! | [`image`]        | the guest's file system (initramfs)                                   |
//! | [`engine`]       | what runs a guest, over a small description of the hardware           |
//! | [`machine`]      | one run of one command in one guest, and its record                   |
//! | [`experiment`]   | many guests, their samples in the cache, and the table                |
//! | [`explain`]      | one guest of an experiment again, watched: who made its worst samples |
//!
//! Never changes the machine it runs on: the user's own package set-up is only read, and all that
//! is written goes to one cache folder, to the output folder and to temporary folders.
//!
//! What runs inside a guest is a program of its own, `artis-guest` ([`artis_guest`]), which must
//! be in the same folder as artis. A guest of an experiment contains it and no artis, and where
//! artis schedules `artis-guest-sched`, the scheduler.
//!
//! QEMU translates the guest's instructions as fast as it can, so its times mean nothing: it
//! answers "does it work", never "how fast". Bochs counts instructions: the same experiment gives
//! the same figures.

pub mod debian;
pub mod distribution;
pub mod engine;
pub mod error;
pub mod experiment;
pub mod explain;
pub mod host;
pub mod image;
pub mod kernel;
pub mod machine;
pub mod progress;

pub use error::Error;
