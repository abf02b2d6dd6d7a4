// SPDX-License-Identifier: GPL-2.0-only
//! The perf events that make the kernel call a program at the end of each page fault, for kernels
//! that let no program wait for the end of a function.

use libbpf_rs::libbpf_sys::{
    PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_TYPE_SOFTWARE,
    perf_event_attr,
};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Of include/uapi/linux/perf_event.h.
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;

/// Opens the events of all CPUs that are online: of faults that are served at once, and of those
/// that wait for a disk.
///
/// # Errors
/// What the kernel says when it refuses one.
pub(crate) fn open(cpus: u64) -> io::Result<Vec<OwnedFd>> {
    let mut events = Vec::new();
    for cpu in 0..cpus {
        for which in [PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ] {
            match open_on(cpu, which) {
                Ok(event) => events.push(event),
                // This CPU is not online.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(events)
}

fn open_on(cpu: u64, which: u32) -> io::Result<OwnedFd> {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: u32::try_from(size_of::<perf_event_attr>()).map_err(io::Error::other)?,
        config: which.into(),
        ..Default::default()
    };
    // Each of them, not each hundredth.
    attributes.__bindgen_anon_1.sample_period = 1;
    let (every_process, no_group) = (-1, -1);
    // SAFETY: the kernel reads as many bytes of `attributes` as its size says.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            every_process,
            cpu as libc::c_int,
            no_group,
            PERF_FLAG_FD_CLOEXEC,
        )
    };
    match i32::try_from(fd) {
        // SAFETY: the kernel has just opened it, and nobody else uses it.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}
