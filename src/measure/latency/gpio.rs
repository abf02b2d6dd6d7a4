// SPDX-License-Identifier: GPL-2.0-only
//! The tested side of a latency box: each edge on one GPIO line is answered on another.
//!
//! An external device (OSADL's latency box, an oscilloscope, a second machine) makes the edges and
//! may measure the answers; this side measures itself. Owns the two lines while it lives, through
//! the kernel's GPIO character device (uAPI v2, Linux 5.10). Makes no edges and keeps no figures.
//!
//! The kernel takes the time of an edge in the line's interrupt handler. So the time from the edge
//! to the handler is not in the figures; only the external device sees it. For a line behind a slow
//! bus (I2C, SPI) a thread takes the time, even later.

use super::source::{Event, Source};
use crate::clock::now_ns;
use gpiocdev_uapi::v2::{
    LineConfig, LineEdgeEvent, LineEdgeEventKind, LineFlags, LineRequest, LineValues, Name,
    Offsets, get_chip_info, get_line, read_event, set_line_values,
};
use nix::errno::Errno;
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::path::{Path, PathBuf};

/// Edges that the kernel queues, the most it can (include/uapi/linux/gpio.h). While this side is
/// late, the edges that follow are queued and show up as late, instead of being lost.
const EDGES_KEPT: u32 = 1024;

const EVENT_WORDS: usize = size_of::<LineEdgeEvent>() / size_of::<u64>();

/// Why the lines cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such device.
    #[error(
        "there is no GPIO chip {}; `ls /dev/gpiochip*` lists them, and when there is none load your board's \
         GPIO driver (or gpio-sim for a simulated one)", .0.display()
    )]
    NoChip(PathBuf),
    /// The device cannot be opened, or is no GPIO chip.
    #[error(
        "cannot use {} as GPIO chip; it must be a /dev/gpiochipN that you may open (root, or a group such as gpio)",
        path.display()
    )]
    Chip {
        /// The device.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The chip has fewer lines.
    #[error("{} has no line {line}: it has {lines} lines, counted from 0", chip.display())]
    NoLine {
        /// The device.
        chip: PathBuf,
        /// The line asked for.
        line: u32,
        /// How many there are.
        lines: u32,
    },
    /// One line cannot have both roles.
    #[error(
        "line {0} cannot be both input and output; name two lines that are not connected to each other"
    )]
    SameLine(u32),
    /// The kernel refuses the line.
    #[error("cannot use line {line} of {} as {role}; {hint}", chip.display())]
    Line {
        /// The device.
        chip: PathBuf,
        /// The line.
        line: u32,
        /// "input with edges" or "output".
        role: &'static str,
        /// What to do about it.
        hint: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

/// The two lines: the output follows the input.
pub struct Responder {
    input: File,
    output: File,
    event: [u64; EVENT_WORDS],
    /// The kernel's number of the last edge seen. It counts from 1 and includes dropped edges.
    seqno: u32,
    /// Edges before this are answered and not counted, ns since boot.
    start_ns: u64,
}

impl Responder {
    /// Takes both lines of `chip` (`/dev/gpiochipN`); the output starts inactive.
    ///
    /// # Errors
    /// When the chip or a line is not there, in use, or cannot do what is asked.
    pub fn open(chip: &Path, in_line: u32, out_line: u32) -> Result<Self, Error> {
        if in_line == out_line {
            return Err(Error::SameLine(in_line));
        }
        let refused = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => Error::NoChip(chip.to_owned()),
            _ => Error::Chip {
                path: chip.to_owned(),
                source,
            },
        };
        let device = File::open(chip).map_err(refused)?;
        let lines = get_chip_info(&device).map_err(|error| refused(errno(error).into()))?;
        for line in [in_line, out_line] {
            if line >= lines.num_lines {
                return Err(Error::NoLine {
                    chip: chip.to_owned(),
                    line,
                    lines: lines.num_lines,
                });
            }
        }
        let edges = LineFlags::INPUT | LineFlags::EDGE_RISING | LineFlags::EDGE_FALLING;
        Ok(Self {
            input: request(chip, &device, in_line, edges)?,
            output: request(chip, &device, out_line, LineFlags::OUTPUT)?,
            event: [0; EVENT_WORDS],
            seqno: 0,
            start_ns: 0,
        })
    }

    /// Waits for an edge and gives the output the input's new level.
    ///
    /// Due is the time of the edge in the kernel's handler; observed is the time of the answer.
    fn answer(&mut self) -> Result<Event, Errno> {
        let event = read_event(&self.input, &mut self.event)
            .and_then(|words| LineEdgeEvent::from_slice(&self.event[..words]))
            .map_err(errno)?;
        let active = event.kind == LineEdgeEventKind::RisingEdge as u32;
        let level = LineValues {
            bits: active.into(),
            mask: 1,
        };
        set_line_values(&self.output, &level).map_err(errno)?;
        let observed_ns = now_ns();
        let before = std::mem::replace(&mut self.seqno, event.line_seqno);
        Ok(Event {
            due_ns: event.timestamp_ns,
            observed_ns,
            // Edges that the kernel's queue had no room for.
            missed: event
                .line_seqno
                .wrapping_sub(before)
                .saturating_sub(1)
                .into(),
        })
    }
}

/// Takes one line.
fn request(chip: &Path, device: &File, line: u32, flags: LineFlags) -> Result<File, Error> {
    let request = LineRequest {
        offsets: Offsets::from_slice(&[line]),
        consumer: Name::from_bytes(b"artis"),
        config: LineConfig {
            flags,
            ..Default::default()
        },
        num_lines: 1,
        event_buffer_size: EDGES_KEPT,
        ..Default::default()
    };
    get_line(device, request).map_err(|error| {
        let source = io::Error::from(errno(error));
        Error::Line {
            chip: chip.to_owned(),
            line,
            role: match flags.contains(LineFlags::INPUT) {
                true => "input with edges",
                false => "output",
            },
            hint: match source.raw_os_error() {
                Some(libc::EBUSY) => {
                    "gpioinfo (Debian package gpiod) shows who has it; choose a free one"
                }
                Some(libc::EINVAL) => "this needs Linux 5.10 or newer",
                _ => "choose a line that the board leaves free for this",
            },
            source,
        }
    })
}

impl Source for Responder {
    fn start(&mut self, start_ns: u64) -> Result<(), Errno> {
        self.start_ns = start_ns;
        Ok(())
    }

    fn wait(&mut self) -> Result<Event, Errno> {
        loop {
            let event = self.answer()?;
            // Edges that come while the measurement is prepared say nothing about latency.
            if event.due_ns >= self.start_ns {
                return Ok(event);
            }
        }
    }
}

/// The system's reason for a failed call.
fn errno(error: gpiocdev_uapi::v2::Error) -> Errno {
    match error {
        gpiocdev_uapi::v2::Error::Os(errno) => Errno::from_raw(errno.0),
        // Half an event or no event: the chip is being removed.
        gpiocdev_uapi::v2::Error::UnderRead(_) => Errno::ENODEV,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(chip: &str, in_line: u32, out_line: u32) -> String {
        let refused = Responder::open(Path::new(chip), in_line, out_line);
        refused.err().expect("refused").to_string()
    }

    #[test]
    fn what_cannot_work_is_refused_in_words() {
        assert!(refusal("/dev/no-chip", 0, 1).contains("ls /dev/gpiochip*"));
        assert!(refusal("/dev/null", 0, 1).contains("/dev/null as GPIO chip"));
        assert!(refusal("/dev/null", 3, 3).contains("line 3"));
    }
}
