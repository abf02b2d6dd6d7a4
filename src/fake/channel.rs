// SPDX-License-Identifier: GPL-2.0-only
//! Channels for messages: pipes and pairs of sockets that all tasks have.

use super::Error;
use super::sync::again;
use artis_scenario::model::{Channel, Medium};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socketpair, sockopt};
use std::os::fd::{AsFd, OwnedFd};

/// Both ends of one.
pub struct Ends {
    pub read: OwnedFd,
    write: OwnedFd,
}

impl Ends {
    pub fn new(channel: &Channel) -> Result<Self, Error> {
        let what = |what: &str| Error::system(format!("{what} the channel {}", channel.name));
        let bytes = channel.capacity_bytes;
        Ok(match channel.medium {
            Medium::Pipe => {
                let (read, write) = nix::unistd::pipe().map_err(what("make"))?;
                let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
                fcntl(&write, FcntlArg::F_SETPIPE_SZ(bytes)).map_err(what("size"))?;
                Self { read, write }
            }
            Medium::Socket => {
                let (family, kind) = (AddressFamily::Unix, SockType::Stream);
                let (read, write) =
                    socketpair(family, kind, None, SockFlag::empty()).map_err(what("make"))?;
                setsockopt(&write, sockopt::SndBuf, &(bytes as usize)).map_err(what("size"))?;
                Self { read, write }
            }
        })
    }

    pub fn send(&self, message: &[u8]) -> Result<(), Errno> {
        let mut left = message;
        while !left.is_empty() {
            let written = again(|| nix::unistd::write(self.write.as_fd(), left))?;
            left = &left[written..];
        }
        Ok(())
    }

    /// Takes as many bytes as the buffer has.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<(), Errno> {
        let mut at = 0;
        while at < buffer.len() {
            match again(|| nix::unistd::read(self.read.as_fd(), &mut buffer[at..]))? {
                0 => return Err(Errno::EPIPE),
                read => at += read,
            }
        }
        Ok(())
    }
}
