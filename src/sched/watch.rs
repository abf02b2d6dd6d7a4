// SPDX-License-Identifier: GPL-2.0-only
//! The perf events that make the kernel call the hook of system calls, on RT CPUs only.
//!
//! A counting event on a tracepoint makes the kernel call `perf_tp_event`, which the BPF program
//! hooks, on the event's CPU; the other CPUs find an empty list and go on. Nothing is ever read
//! from the events.

use artis_machine::{CpuList, Root, Unreadable};
use libbpf_rs::libbpf_sys::{PERF_TYPE_TRACEPOINT, perf_event_attr};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Of include/uapi/linux/perf_event.h.
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;

/// The tracepoint's number, where tracefs is mounted.
const ID: &str = "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id";

/// Why system calls cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("there is no {ID}; mount tracefs: mount -t tracefs tracefs /sys/kernel/tracing")]
    Unnumbered,
    #[error("cannot open a perf event for system calls on CPU {cpu}: {reason}")]
    Refused { cpu: u32, reason: io::Error },
}

/// The number of the tracepoint, as perf knows it.
///
/// # Errors
/// When tracefs is not mounted, or the kernel has no system call tracepoints.
pub fn tracepoint(root: &Root) -> Result<u32, Error> {
    root.number::<u32>(ID)?
        .filter(|id| *id != 0)
        .ok_or(Error::Unnumbered)
}

/// The open events. Closing them ends the watch.
#[derive(Debug)]
pub struct Watch {
    tracepoint: u32,
    events: BTreeMap<u32, OwnedFd>,
}

impl Watch {
    /// Opens the events of `cpus`, which are online.
    ///
    /// # Errors
    /// When the kernel refuses one.
    pub fn open(tracepoint: u32, cpus: &CpuList) -> Result<Self, Error> {
        let mut watch = Self {
            tracepoint,
            events: BTreeMap::new(),
        };
        for cpu in cpus.iter() {
            watch.renew(cpu)?;
        }
        Ok(watch)
    }

    /// Opens the event of `cpu` again: the old one ended when the CPU went offline.
    ///
    /// # Errors
    /// When the kernel refuses one; the CPU may have gone again.
    pub fn renew(&mut self, cpu: u32) -> Result<(), Error> {
        self.events.remove(&cpu);
        self.events.insert(cpu, open(self.tracepoint, cpu)?);
        Ok(())
    }
}

fn open(id: u32, cpu: u32) -> Result<OwnedFd, Error> {
    let refused = |reason| Error::Refused { cpu, reason };
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_TRACEPOINT,
        config: id.into(),
        ..Default::default()
    };
    attributes.size = u32::try_from(size_of::<perf_event_attr>())
        .map_err(|_| refused(io::ErrorKind::InvalidInput.into()))?;
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
        _ => Err(refused(io::Error::last_os_error())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_number_is_read_or_its_lack_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root(folder.path().to_owned());
        assert!(matches!(tracepoint(&root), Err(Error::Unnumbered)));
        let file = folder.path().join(&ID[1..]);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "348\n").unwrap();
        assert_eq!(tracepoint(&root).unwrap(), 348);
    }
}
