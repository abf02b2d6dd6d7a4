// SPDX-License-Identifier: GPL-2.0-only
//! Kernel work that keeps a CPU long, from BPF programs (`tests/bpf/work.bpf.c`).

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{OpenObject, ProgramInput};
use std::mem::MaybeUninit;
use std::time::Duration;

mod skeleton {
    #![allow(warnings, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/work.skel.rs"));
}

/// Where the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// By an item of the workqueue of the caller's CPU, some time later.
    Workqueue,
    /// In a system call of the caller, that cannot be preempted.
    PreemptionOff,
    /// In a system call of the caller, with interrupts off.
    InterruptsOff,
    /// In the interrupt that the caller's next membarrier(2) sends to another CPU.
    Barrier,
}

/// The loaded programs.
pub struct Work<'obj> {
    skeleton: skeleton::WorkSkel<'obj>,
    place: Place,
}

impl<'obj> Work<'obj> {
    /// Loads them for work of this length. `storage` is where libbpf keeps the object.
    ///
    /// # Errors
    /// On kernels that lack it (work items came with 6.10, and the others later), and without
    /// privilege.
    pub fn load(
        storage: &'obj mut MaybeUninit<OpenObject>,
        place: Place,
        length: Duration,
    ) -> libbpf_rs::Result<Self> {
        let mut open = skeleton::WorkSkelBuilder::default().open(storage)?;
        if let Some(rodata) = open.maps.rodata_data.as_deref_mut() {
            rodata.work_ns = length.as_nanos() as u64;
        }
        // A kernel that lacks what one needs may have what another does.
        let programs = &mut open.progs;
        programs.queue.set_autoload(place == Place::Workqueue);
        programs.keep.set_autoload(place == Place::PreemptionOff);
        programs.mask.set_autoload(place == Place::InterruptsOff);
        programs.on_barrier.set_autoload(place == Place::Barrier);
        let mut skeleton = open.load()?;
        if place == Place::Barrier {
            skeleton.links.on_barrier = Some(skeleton.progs.on_barrier.attach()?);
        }
        Ok(Self { skeleton, place })
    }

    /// Has it done once. The caller stays on its CPU.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn begin(&mut self) -> Result<(), String> {
        let programs = &mut self.skeleton.progs;
        let program = match self.place {
            Place::Workqueue => &mut programs.queue,
            Place::PreemptionOff => &mut programs.keep,
            Place::InterruptsOff => &mut programs.mask,
            Place::Barrier => {
                if let Some(data) = self.skeleton.maps.bss_data.as_deref_mut() {
                    data.armed = 1;
                }
                return Ok(());
            }
        };
        let ran = program.test_run(ProgramInput::default());
        match ran.map_err(|error| error.to_string())?.return_value {
            0 => Ok(()),
            other => Err(format!("this kernel does not let it be done ({other})")),
        }
    }

    /// How often it has been done, and when it began and ended last: ns of `CLOCK_MONOTONIC`.
    pub fn last(&self) -> (u64, u64, u64) {
        let Some(data) = self.skeleton.maps.bss_data.as_deref() else {
            return (0, 0, 0);
        };
        let read = |value: &u64| {
            // SAFETY: a mapped integer that the kernel changes.
            unsafe { std::ptr::from_ref(value).read_volatile() }
        };
        (read(&data.items), read(&data.begin_ns), read(&data.end_ns))
    }
}
