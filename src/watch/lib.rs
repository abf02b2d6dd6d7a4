// SPDX-License-Identifier: GPL-2.0-only
//! The light watch: how late each wakeup of real-time threads was, as a histogram a thread.
//!
//! Owns the BPF program (`bpf/watch.bpf.c`), which reads the kernel's own account of a thread after
//! it has left its CPU, and the figures of what it counted. Explains nothing: who made a thread
//! late is the flight recorder's to say. Changes nothing on the machine; when the process ends, in
//! whatever way, nothing stays attached.

mod error;
mod histogram;
mod load;
mod thread;

pub use error::Error;
pub use histogram::{Histogram, MOST_NS};
pub use load::{LightWatch, Settings, Whom};
pub use thread::{Alert, Thread};

/// Where a loaded light watch is kept, by who loads it.
pub type Storage = std::mem::MaybeUninit<libbpf_rs::OpenObject>;

mod skeleton {
    #![allow(warnings, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/watch.skel.rs"));
}

mod constants {
    #![allow(
        dead_code,
        reason = "generated: not every number of the header is used"
    )]
    include!(concat!(env!("OUT_DIR"), "/constants.rs"));
}
