// SPDX-License-Identifier: GPL-2.0-only
//! Lines of Bochs' debugger among the bytes of the guest, which come on the same output, a byte at
//! a time: a line may stand within a frame, and is never broken itself.

use std::io::{self, Write};

/// No line is longer: what is, belongs to the guest.
const LINE_MAX: usize = 400;

/// Passes the guest's bytes on, and holds what may be the begin of a line.
pub(super) struct Lines<W> {
    guests: W,
    held: Vec<u8>,
}

impl<W: Write> Lines<W> {
    pub fn new(guests: W) -> Self {
        Self {
            guests,
            held: Vec::new(),
        }
    }

    /// Takes more output. `read` is given each line with its end, and says how many of its bytes
    /// are the guest's: those before the debugger's.
    pub fn take(&mut self, bytes: &[u8], mut read: impl FnMut(&[u8]) -> usize) -> io::Result<()> {
        self.held.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(length) = memchr::memchr(b'\n', &self.held[from..]) {
            let line = &self.held[from..from + length + 1];
            from += length + 1;
            self.guests.write_all(&line[..read(line)])?;
        }
        self.held.drain(..from);
        Ok(())
    }

    /// A long rest without an end is the guest's: only its last part can begin a line.
    pub fn pass_long_rest(&mut self) -> io::Result<()> {
        let long = self.held.len().saturating_sub(LINE_MAX);
        self.guests.write_all(&self.held[..long])?;
        self.held.drain(..long);
        Ok(())
    }

    /// The output has ended, or pauses: all that is held is the guest's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.guests.write_all(&self.held)?;
        self.held.clear();
        self.guests.flush()
    }
}
