// SPDX-License-Identifier: GPL-2.0-only
//! The guest's half of [`super::frames`]: reads the streams from named pipes, which take the place
//! of another engine's ports, and writes them to Bochs' debugging port.
//!
//! Sends the time on the control stream every virtual second. The host shows it as progress, and
//! knows by it that the guest lives. This process is bound to the first CPU, which is never an RT
//! CPU in an experiment, and wakes up once a second in every configuration alike.

use super::frames::{self, PIECE_MAX, STREAMS};
use super::protocol::{CONTROL, FILES, STDERR, STDOUT};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// The port, and how many there are from it on.
const PORT: u16 = 0xe9;
const PORTS: u64 = 1;
/// The control stream's number.
const CONTROL_NUMBER: usize = 0;

/// Why the streams cannot be passed on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A pipe.
    #[error("cannot {what} {}", path.display())]
    Pipe {
        /// "open" or "read".
        what: &'static str,
        /// The pipe, or the folder of pipes.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The emulator's port.
    #[error("cannot open the emulator's port {PORT:#x}")]
    Port(#[source] io::Error),
    /// Waiting for the pipes.
    #[error("cannot wait for the guest's pipes")]
    Wait(#[source] io::Error),
}

/// Passes on what comes through the pipes in `folder` until all of them have ended.
///
/// # Errors
/// When this is not an x86-64 machine, its kernel refuses the port, or a pipe cannot be read.
pub fn run(folder: &Path) -> Result<(), Error> {
    open_port()?;
    let mut first = CpuSet::new();
    // A guest without CPU 0 would be strange, and would still work.
    let _ = first
        .set(0)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &first));
    let mut pipes: [Option<File>; STREAMS] = Default::default();
    for (pipe, name) in pipes.iter_mut().zip([CONTROL, STDOUT, STDERR, FILES]) {
        let path = folder.join(name);
        *pipe = Some(File::open(&path).map_err(failed("open", &path))?);
    }
    let mut buffer = vec![0; PIECE_MAX];
    let mut sent = seconds();
    while pipes.iter().any(Option::is_some) {
        let ready = ready(&pipes)?;
        for (number, pipe) in pipes.iter_mut().enumerate() {
            let Some(file) = pipe.as_mut().filter(|_| ready[number]) else {
                continue;
            };
            let length = file.read(&mut buffer).map_err(failed("read", folder))?;
            match length {
                0 => *pipe = None,
                _ => write(&frames::frame(number, &buffer[..length])),
            }
        }
        let now = seconds();
        if now != sent {
            sent = now;
            let line = format!("at {now}\n");
            write(&frames::frame(CONTROL_NUMBER, line.as_bytes()));
        }
    }
    Ok(())
}

/// Which pipes have something to read, or have ended; waits at most a second.
fn ready(pipes: &[Option<File>; STREAMS]) -> Result<[bool; STREAMS], Error> {
    let mut polled = Vec::new();
    for (number, pipe) in pipes.iter().enumerate() {
        if let Some(pipe) = pipe {
            polled.push((number, PollFd::new(pipe.as_fd(), PollFlags::POLLIN)));
        }
    }
    let (numbers, mut fds): (Vec<usize>, Vec<PollFd>) = polled.into_iter().unzip();
    let mut ready = [false; STREAMS];
    match poll(&mut fds, PollTimeout::from(1000_u16)) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(errno) => return Err(Error::Wait(errno.into())),
    }
    for (number, fd) in numbers.into_iter().zip(fds) {
        ready[number] = fd.any().unwrap_or(false);
    }
    Ok(ready)
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Pipe { what, path, source }
}

/// Whole seconds since the guest was powered on.
fn seconds() -> i64 {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(0, |now| now.tv_sec())
}

#[cfg(target_arch = "x86_64")]
fn open_port() -> Result<(), Error> {
    // SAFETY: allows this thread to use one I/O port, which touches no memory.
    match unsafe { libc::ioperm(u64::from(PORT), PORTS, 1) } {
        0 => Ok(()),
        _ => Err(Error::Port(io::Error::last_os_error())),
    }
}

#[cfg(target_arch = "x86_64")]
fn write(bytes: &[u8]) {
    // SAFETY: reads `bytes.len()` bytes from a live slice; the port was opened.
    unsafe {
        std::arch::asm!(
            "rep outsb",
            in("dx") PORT,
            inout("rsi") bytes.as_ptr() => _,
            inout("rcx") bytes.len() => _,
            options(readonly, nostack, preserves_flags)
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn open_port() -> Result<(), Error> {
    Err(Error::Port(io::ErrorKind::Unsupported.into()))
}

#[cfg(not(target_arch = "x86_64"))]
fn write(_bytes: &[u8]) {}
