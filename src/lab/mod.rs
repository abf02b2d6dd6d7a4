// SPDX-License-Identifier: GPL-2.0-only
//! The lab: boots a stock Debian kernel in a virtual machine and runs one command there.
//!
//! Owns: which kernels exist and where they are kept ([`kernel`]), the guest's initramfs
//! ([`image`]), what guest and host say to each other ([`protocol`]), the machine that a command
//! runs in ([`machine`]) and the engines that run it ([`engine`]). Never changes the machine it runs on: the user's own package set-up is
//! only read, and all that is written lies in one cache folder and in the output folder.
//!
//! What runs inside a guest is a program of its own, `artis-guest` (`src/guest`), which must lie beside
//! artis: [`scheduler`], the guest's halves of [`experiment`] and [`demo`], and the engine's
//! [`ports`](engine::bochs::ports). A guest of an experiment holds it and no artis.
//!
//! QEMU translates the guest's instructions as fast as it can, so its times mean nothing: it answers
//! "does it work", never "how fast". Bochs counts them: the same experiment gives the same figures.

pub mod apt;
pub mod cache;
pub mod closure;
pub mod config;
pub mod demo;
pub mod devices;
pub mod emulator;
pub mod engine;
pub mod error;
pub mod experiment;
pub mod image;
pub mod index;
pub mod kernel;
pub mod machine;
pub mod modules;
pub mod output;
pub mod package;
pub mod progress;
pub mod protocol;
pub mod record;
pub mod scheduler;
pub mod session;
pub mod slim;
pub mod tool;
pub mod version;

pub use error::Error;
