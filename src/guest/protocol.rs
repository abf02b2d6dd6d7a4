// SPDX-License-Identifier: GPL-2.0-only
//! What guest and host send to each other. The guest's side is `lab/init`.
//!
//! Four byte streams besides the kernel's console:
//!
//! | name     | guest to host                                  | host to guest    |
//! |----------|------------------------------------------------|------------------|
//! | control  | lines: `ready`; sometimes `at SECONDS`, `late`, `cut`; `exit N` | lines: `stop`, `bye` |
//! | stdout   | what the command writes, then the end mark     |                  |
//! | stderr   | the same                                       |                  |
//! | files    | a tar archive, then the end mark               |                  |
//!
//! The host cannot see that a guest closes a virtual serial port, hence the end mark: a line with
//! 128 random bits, new in every run. `stop` asks for the command's end. `bye` says that all three
//! streams arrived whole. Only then does the guest power off: data still on its way would be lost
//! otherwise.

use std::fs::File;
use std::io::{self, Read, Write};

/// The host's request to end the command.
pub const STOP: &[u8] = b"stop\n";
/// The host's word that everything arrived.
pub const BYE: &[u8] = b"bye\n";

/// Name of the guest's control port, as `lab/init` looks it up.
pub const CONTROL: &str = "artis.control";
/// The command's standard output.
pub const STDOUT: &str = "artis.stdout";
/// The command's standard error.
pub const STDERR: &str = "artis.stderr";
/// The archive of files the command wrote.
pub const FILES: &str = "artis.files";

/// Where the random bits of end marks come from.
pub const RANDOM: &str = "/dev/urandom";

/// A guest sent a line that is not in the protocol.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the guest sent {0:?}, which the lab does not understand; is its init older than this artis?"
)]
pub struct UnknownMessage(pub String);

/// A new end mark: printable, so that a shell script can hold it.
///
/// # Errors
/// When [`RANDOM`] cannot be read.
pub fn end_mark() -> io::Result<String> {
    let mut random = [0u8; 16];
    File::open(RANDOM)?.read_exact(&mut random)?;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("[artis end {hex}]"))
}

/// A line the guest sent on its control port.
#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    /// The guest is up and the command starts now.
    Ready,
    /// The guest's clock, seconds since it was powered on; only an engine that counts time sends
    /// it.
    At(u64),
    /// The time limit that the guest keeps has passed; the command is being ended.
    Late,
    /// Not all files could be packed: the guest's memory is full, for instance.
    Cut,
    /// The command ended with this status, 128 + signal when killed.
    Exit(u8),
}

impl Message {
    /// Reads one line without its end.
    ///
    /// # Errors
    /// [`UnknownMessage`].
    pub fn parse(line: &str) -> Result<Self, UnknownMessage> {
        let refused = || UnknownMessage(line.to_owned());
        let (word, number) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "ready" if number.is_empty() => Ok(Message::Ready),
            "late" if number.is_empty() => Ok(Message::Late),
            "cut" if number.is_empty() => Ok(Message::Cut),
            "at" => number.parse().map(Message::At).map_err(|_| refused()),
            "exit" => number.parse().map(Message::Exit).map_err(|_| refused()),
            _ => Err(refused()),
        }
    }
}

/// Passes a stream on, byte for byte, up to its end mark.
pub struct Stream {
    end: Vec<u8>,
    /// Bytes that may be the beginning of the end mark.
    held: Vec<u8>,
    ended: bool,
}

impl Stream {
    /// A stream that ends with the mark `end`.
    pub fn new(end: &str) -> Self {
        Self {
            end: end.as_bytes().to_vec(),
            held: Vec::new(),
            ended: false,
        }
    }

    /// Has the end mark arrived?
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Takes what arrived and writes what is certainly not part of the end mark.
    ///
    /// # Errors
    /// When `sink` cannot be written.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut dyn Write) -> io::Result<()> {
        if self.ended {
            return Ok(());
        }
        self.held.extend_from_slice(bytes);
        let whole = memchr::memmem::find(&self.held, &self.end);
        let passed = whole.unwrap_or_else(|| self.held.len() - self.undecided());
        sink.write_all(&self.held[..passed])?;
        sink.flush()?;
        self.held.drain(..passed);
        self.ended = whole.is_some();
        Ok(())
    }

    /// Writes what was held back: the guest died, and no end mark will come.
    ///
    /// # Errors
    /// When `sink` cannot be written.
    pub fn give_up(&mut self, sink: &mut dyn Write) -> io::Result<()> {
        if !self.ended {
            sink.write_all(&self.held)?;
            self.held.clear();
        }
        sink.flush()
    }

    /// Length of the longest tail that the end mark starts with.
    fn undecided(&self) -> usize {
        let longest = self.held.len().min(self.end.len() - 1);
        (1..=longest)
            .rev()
            .find(|length| self.held.ends_with(&self.end[..*length]))
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However the bytes are cut into pieces, and however much they resemble the mark.
        #[test]
        fn streams_are_byte_exact(
            content in proptest::collection::vec(prop_oneof![Just(b'['), Just(b'a'), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(1usize..40, 1..20),
        ) {
            let end = "[ab[ab]";
            prop_assume!(memchr::memmem::find(&content, end.as_bytes()).is_none());
            let mut sent = content.clone();
            sent.extend_from_slice(end.as_bytes());
            let (mut stream, mut got) = (Stream::new(end), Vec::new());
            let mut cuts = cuts.iter().cycle();
            let mut rest = sent.as_slice();
            while !rest.is_empty() {
                let (piece, later) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                prop_assert!(!stream.ended());
                stream.feed(piece, &mut got).unwrap();
                rest = later;
            }
            prop_assert!(stream.ended());
            prop_assert_eq!(got, content);
        }
    }

    #[test]
    fn only_a_possible_end_mark_is_held_back_and_nothing_is_lost() {
        let (mut stream, mut got) = (Stream::new("[end]"), Vec::new());
        stream.feed(b"progress: 1", &mut got).unwrap();
        assert_eq!(got, b"progress: 1");
        stream.feed(b"[en", &mut got).unwrap();
        assert_eq!(got, b"progress: 1");
        stream.give_up(&mut got).unwrap();
        assert_eq!(got, b"progress: 1[en");
    }

    #[test]
    fn messages_are_understood_or_refused() {
        assert_eq!(Message::parse("ready").unwrap(), Message::Ready);
        assert_eq!(Message::parse("cut").unwrap(), Message::Cut);
        assert_eq!(Message::parse("exit 139").unwrap(), Message::Exit(139));
        assert_eq!(Message::parse("late").unwrap(), Message::Late);
        assert_eq!(Message::parse("at 12").unwrap(), Message::At(12));
        for bad in ["", "exit", "exit 256", "exit -1", "at", "ready 1", "hello"] {
            assert!(Message::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn every_end_mark_is_new() {
        assert_ne!(end_mark().unwrap(), end_mark().unwrap());
    }
}
