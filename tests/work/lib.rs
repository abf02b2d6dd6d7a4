// SPDX-License-Identifier: GPL-2.0-only
//! A work item of a CPU's own workqueue that lasts long, from a BPF program (`tests/bpf/work.bpf.c`).

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{OpenObject, ProgramInput};
use std::mem::MaybeUninit;

mod skeleton {
    #![allow(warnings, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/work.skel.rs"));
}

/// The loaded program.
pub struct Work<'obj>(skeleton::WorkSkel<'obj>);

impl<'obj> Work<'obj> {
    /// Loads it. `storage` is where libbpf keeps the object.
    ///
    /// # Errors
    /// On kernels before 6.10, whose BPF programs have no work items, and without privilege.
    pub fn load(storage: &'obj mut MaybeUninit<OpenObject>) -> libbpf_rs::Result<Self> {
        Ok(Self(
            skeleton::WorkSkelBuilder::default().open(storage)?.load()?,
        ))
    }

    /// Queues the item on the CPU of the caller, who stays there.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn queue(&mut self) -> Result<(), String> {
        let ran = self.0.progs.queue.test_run(ProgramInput::default());
        match ran.map_err(|error| error.to_string())?.return_value {
            0 => Ok(()),
            other => Err(format!("the work item cannot be queued ({other})")),
        }
    }

    /// How many items are done, and when the last one began and ended: ns of `CLOCK_MONOTONIC`.
    pub fn last(&self) -> (u64, u64, u64) {
        let Some(data) = self.0.maps.bss_data.as_deref() else {
            return (0, 0, 0);
        };
        let read = |value: &u64| {
            // SAFETY: a mapped integer that the kernel changes.
            unsafe { std::ptr::from_ref(value).read_volatile() }
        };
        (read(&data.items), read(&data.begin_ns), read(&data.end_ns))
    }
}
