// SPDX-License-Identifier: GPL-2.0-only
//! How four streams share one port that takes a byte at a time and returns nothing.
//!
//! Bochs prints what a guest writes to I/O port 0xE9 on its own standard output, and prints its own
//! messages there before and after. So every piece of a stream is a frame: a byte that no text
//! contains, the stream's number, the length (two bytes, little-endian), and that many bytes.

use std::io::{self, Write};

/// The streams, by number: control, standard output, standard error, files.
pub const STREAMS: usize = 4;
/// The longest piece.
pub const PIECE_MAX: usize = 4096;

/// Begins a frame: not ASCII, and never a UTF-8 character's first byte.
const BEGIN: u8 = 0xff;
const HEADER: usize = 4;

/// The frame of `piece`, at most [`PIECE_MAX`] bytes, of stream `number`.
pub fn frame(number: usize, piece: &[u8]) -> Vec<u8> {
    assert!(number < STREAMS && piece.len() <= PIECE_MAX);
    let length = (piece.len() as u16).to_le_bytes();
    let mut frame = vec![BEGIN, number as u8, length[0], length[1]];
    frame.extend_from_slice(piece);
    frame
}

/// Takes what Bochs prints and passes each stream its bytes; what is in no frame is dropped.
pub struct Sorter<W> {
    streams: [W; STREAMS],
    held: Vec<u8>,
}

impl<W: Write> Sorter<W> {
    pub fn new(streams: [W; STREAMS]) -> Self {
        Self {
            streams,
            held: Vec::new(),
        }
    }

    /// Passes on the first complete frame; false when there is none yet.
    fn pass_one(&mut self) -> io::Result<bool> {
        let begin = memchr::memchr(BEGIN, &self.held).unwrap_or(self.held.len());
        self.held.drain(..begin);
        let Some(header) = self.held.first_chunk::<HEADER>() else {
            return Ok(false);
        };
        let length = usize::from(u16::from_le_bytes([header[2], header[3]]));
        let Some(stream) = self.streams.get_mut(usize::from(header[1])) else {
            self.held.drain(..1);
            return Ok(true);
        };
        let Some(piece) = self.held.get(HEADER..HEADER + length) else {
            return Ok(false);
        };
        // A stream that nobody reads any longer must not stop the others.
        let _ = stream.write_all(piece);
        self.held.drain(..HEADER + length);
        Ok(true)
    }
}

impl<W: Write> Write for Sorter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        while self.pass_one()? {}
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However the bytes are cut, and whatever text comes before the first frame and after the
        /// last.
        #[test]
        fn streams_arrive_whole(
            pieces in prop::collection::vec((0..STREAMS, prop::collection::vec(any::<u8>(), 0..50)), 0..20),
            text in "[ -~\n]{0,40}",
            cut in 1usize..50,
        ) {
            let mut sent = text.clone().into_bytes();
            let mut wanted: [Vec<u8>; STREAMS] = Default::default();
            for (number, piece) in &pieces {
                sent.extend(frame(*number, piece));
                wanted[*number].extend_from_slice(piece);
            }
            sent.extend_from_slice(text.as_bytes());
            let mut sorter = Sorter::new(<[Vec<u8>; STREAMS]>::default());
            for part in sent.chunks(cut) {
                sorter.write_all(part).unwrap();
            }
            prop_assert_eq!(sorter.streams, wanted);
        }

        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            Sorter::new(<[Vec<u8>; STREAMS]>::default()).write_all(&bytes).unwrap();
        }
    }
}
