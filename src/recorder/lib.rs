// SPDX-License-Identifier: GPL-2.0-only
//! The flight recorder: watches threads from within the kernel, and keeps what happened when one of
//! them was late.
//!
//! Owns the BPF program ([`Recorder`], `bpf/recorder.bpf.c`), its memory ([`mod@rings`]) and the
//! names of what it saw ([`mod@symbols`]). Judges nothing: what it keeps are recordings of
//! `artis-explain`. Changes nothing on the machine; when the process ends, in whatever way, nothing
//! stays attached.

mod calls;
mod cgroups;
mod convert;
mod error;
mod faults;
mod history;
mod hooks;
mod part;
mod rings;
mod symbols;
mod targets;
mod threads;
mod watch;

pub use error::Error;
pub use targets::{Follow, Watched};
pub use watch::{Recorder, Settings};

/// Where a loaded recorder is kept, by who loads it.
pub type Storage = std::mem::MaybeUninit<libbpf_rs::OpenObject>;

mod skeleton {
    #![allow(warnings, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/recorder.skel.rs"));
}
