// SPDX-License-Identifier: GPL-2.0-only
//! The perf events that make the kernel call the hook of system calls, on RT CPUs only.
//!
//! An event makes the kernel call a BPF program, or a function that one hooks, on the event's CPU.
//! Nothing is ever read from the events. [`breakpoint`] and [`tracepoint`] know what they are set
//! on.

pub mod breakpoint;
pub mod tracepoint;

use artis_machine::CpuList;
use libbpf_rs::libbpf_sys::perf_event_attr;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

/// Of include/uapi/linux/perf_event.h.
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;

/// Why system calls cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Tracepoint(#[from] tracepoint::Error),
    #[error(transparent)]
    Breakpoint(#[from] breakpoint::Error),
    #[error("cannot open a perf event for system calls on CPU {cpu}: {reason}")]
    Refused { cpu: u32, reason: io::Error },
}

/// What the events are set on.
#[derive(Debug)]
pub enum Way {
    /// The tracepoint with this number.
    Tracepoint(u32),
    /// The kernel functions at these addresses, where the BPF program is run.
    Breakpoints {
        functions: Vec<u64>,
        program: OwnedFd,
    },
}

impl Way {
    /// Opens the events of `cpu`.
    fn open(&self, cpu: u32) -> io::Result<Vec<File>> {
        match self {
            Self::Tracepoint(id) => Ok(vec![open(tracepoint::attributes(*id), Of::Cpu(cpu))?]),
            Self::Breakpoints { functions, program } => functions
                .iter()
                .map(|function| breakpoint::set(*function, cpu, program.as_fd()))
                .collect(),
        }
    }
}

/// Whose system calls an event counts.
#[derive(Clone, Copy)]
enum Of {
    /// Everybody's on a CPU.
    Cpu(u32),
    /// Those of the thread that opens it.
    Thread,
}

/// The open events. Closing them ends the watch.
#[derive(Debug)]
pub struct Watch {
    way: Way,
    events: BTreeMap<u32, Vec<File>>,
}

impl Watch {
    /// Opens the events of `cpus`, which are online.
    ///
    /// # Errors
    /// When the kernel refuses one.
    pub fn open(way: Way, cpus: &CpuList) -> Result<Self, Error> {
        let mut watch = Self {
            way,
            events: BTreeMap::new(),
        };
        for cpu in cpus.iter() {
            watch.renew(cpu)?;
        }
        Ok(watch)
    }

    /// Opens the events of `cpu` again: the old ones ended when the CPU went offline.
    ///
    /// # Errors
    /// When the kernel refuses one; the CPU may have gone again.
    pub fn renew(&mut self, cpu: u32) -> Result<(), Error> {
        self.events.remove(&cpu);
        let events = self.way.open(cpu);
        let events = events.map_err(|reason| Error::Refused { cpu, reason })?;
        self.events.insert(cpu, events);
        Ok(())
    }
}

/// Opens an event.
fn open(mut attributes: perf_event_attr, of: Of) -> io::Result<File> {
    attributes.size = u32::try_from(size_of::<perf_event_attr>())
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let (process, cpu) = match of {
        Of::Cpu(cpu) => (-1, cpu as libc::c_int),
        Of::Thread => (0, -1),
    };
    let no_group = -1;
    // SAFETY: the kernel reads as many bytes of `attributes` as its size says.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            process,
            cpu,
            no_group,
            PERF_FLAG_FD_CLOEXEC,
        )
    };
    match i32::try_from(fd) {
        // SAFETY: the kernel has just opened it, and nobody else uses it.
        Ok(fd) if fd >= 0 => Ok(unsafe { File::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}
