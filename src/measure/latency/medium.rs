// SPDX-License-Identifier: GPL-2.0-only
//! What a thread that waits is woken through: a futex, a pipe, or a datagram.
//!
//! A medium only wakes. How often, and when, is in the memory that both threads share; so what is
//! left in a pipe or a socket of a turn that was seen without waiting ends the next wait at once,
//! and nothing else.

use super::source::Unavailable;
use nix::errno::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::OwnedFd;
use std::ptr::null;
use std::sync::atomic::AtomicU32;

/// So many wakeups are taken out of a pipe at once.
const PIECE: usize = 64;

/// Both ends.
pub(super) enum Medium {
    Futex,
    Pipe { from: File, to: File },
    Udp { from: UdpSocket, to: UdpSocket },
}

impl Medium {
    /// A new pipe.
    ///
    /// # Errors
    /// When the system refuses it.
    pub fn pipe() -> Result<Self, Unavailable> {
        let (from, to) = io::pipe().map_err(refused("make a pipe"))?;
        Ok(Self::Pipe {
            from: OwnedFd::from(from).into(),
            to: OwnedFd::from(to).into(),
        })
    }

    /// Two sockets on the loopback device.
    ///
    /// # Errors
    /// When the system refuses them.
    pub fn udp() -> Result<Self, Unavailable> {
        let socket = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
        let both = || {
            let (from, to) = (socket()?, socket()?);
            to.connect(from.local_addr()?)?;
            Ok(Self::Udp { from, to })
        };
        both().map_err(refused("send datagrams over the loopback device"))
    }

    /// Wakes the thread that waits. `turn` is the futex.
    pub fn wake(&self, turn: &AtomicU32) {
        // Nobody is woken when it fails; the waiting thread then counts a turn that it missed.
        let _ = match self {
            Self::Futex => futex(turn, libc::FUTEX_WAKE, 1).map_err(io::Error::from),
            Self::Pipe { to, .. } => (&*to).write_all(&[0]),
            Self::Udp { to, .. } => to.send(&[0]).map(drop),
        };
    }

    /// Waits until somebody wakes; with a futex only while `turn` still is `seen`. It may return
    /// without a new turn.
    ///
    /// # Errors
    /// `EINTR` when a signal ended the wait; others are failures.
    pub fn wait(&self, turn: &AtomicU32, seen: u32) -> Result<(), Errno> {
        let mut piece = [0; PIECE];
        let waited = match self {
            Self::Futex => {
                return match futex(turn, libc::FUTEX_WAIT, seen) {
                    // Handed over between the look and the wait.
                    Err(Errno::EAGAIN) => Ok(()),
                    other => other,
                };
            }
            Self::Pipe { from, .. } => (&*from).read(&mut piece),
            Self::Udp { from, .. } => from.recv(&mut piece),
        };
        let errno = |error: io::Error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO));
        waited.map(drop).map_err(errno)
    }
}

/// FUTEX_WAKE: `value` threads at most. FUTEX_WAIT: while the futex still is `value`.
fn futex(word: &AtomicU32, operation: i32, value: u32) -> Result<(), Errno> {
    // SAFETY: the word lives as long as the reference; no time-out is given.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            operation | libc::FUTEX_PRIVATE_FLAG,
            value,
            null::<libc::timespec>(),
        )
    };
    Errno::result(answer).map(drop)
}

fn refused(what: &'static str) -> impl FnOnce(io::Error) -> Unavailable {
    move |error| Unavailable::Refused {
        what: what.to_owned(),
        next: "use --source wake, which needs neither files nor a network",
        source: Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO)),
    }
}
