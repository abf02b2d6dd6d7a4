// SPDX-License-Identifier: GPL-2.0-only
//! The tested side of a latency box: each edge on one GPIO line is answered on another.
//!
//! A box outside (OSADL's latency box, an oscilloscope, a second machine) makes the edges and may
//! measure the answers; this side measures itself. Owns the two lines while it lives, through the
//! kernel's GPIO character device (uAPI v2, Linux 5.10), and neither makes edges nor keeps figures.
//!
//! The kernel stamps an edge in the line's interrupt handler, so what comes before that, from the
//! edge to the handler, is not in the figures: only the box sees it. A line behind a slow bus
//! (I2C, SPI) is stamped in a thread, later still.

use super::source::{Event, Source};
use crate::measure::clock::now_ns;
use gpiocdev_uapi::v2::{
    LineConfig, LineEdgeEvent, LineEdgeEventKind, LineFlags, LineRequest, LineValues, Name,
    Offsets, get_chip_info, get_line, read_event, set_line_values,
};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Edges the kernel keeps for us, the most it may (include/uapi/linux/gpio.h): while we are late,
/// those that follow wait their turn and show up as late too, instead of being lost.
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
    /// The device cannot be opened, or is none.
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
    /// Both roles cannot be one line's.
    #[error(
        "line {0} cannot be both input and output; name two lines that are not connected to each other"
    )]
    SameLine(u32),
    /// The kernel does not give us the line.
    #[error("cannot have line {line} of {} as {role}; {hint}", chip.display())]
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
    /// While measuring.
    #[error("cannot {doing} of {}; has the chip been removed?", chip.display())]
    Lost {
        /// What failed, on which line.
        doing: String,
        /// The device.
        chip: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// An edge that was answered; times in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// When the kernel's handler saw the edge.
    pub edge_ns: u64,
    /// When the edge had been read here.
    pub read_ns: u64,
    /// When the answering line had been set.
    pub answered_ns: u64,
    /// Edges before this one that the kernel had no room to keep.
    pub lost: u32,
}

/// The two lines: what goes in comes out again.
pub struct Responder {
    chip: PathBuf,
    in_line: u32,
    out_line: u32,
    input: File,
    output: File,
    event: [u64; EVENT_WORDS],
    line_seqno: u32,
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
        let lines = get_chip_info(&device).map_err(|error| refused(system(error)))?;
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
            chip: chip.to_owned(),
            in_line,
            out_line,
            event: [0; EVENT_WORDS],
            line_seqno: 0,
        })
    }

    /// Waits for an edge and gives the output the input's new level; none when `timeout` passed
    /// or a signal came first.
    ///
    /// # Errors
    /// When the chip went away.
    pub fn next(&mut self, timeout: PollTimeout) -> Result<Option<Answer>, Error> {
        let mut waiting = [PollFd::new(self.input.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waiting, timeout) {
            Ok(0) | Err(Errno::EINTR) => return Ok(None),
            Ok(_) => {}
            Err(errno) => return Err(self.lost("wait for line", self.in_line, errno.into())),
        }
        let event = read_event(&self.input, &mut self.event)
            .and_then(|words| LineEdgeEvent::from_slice(&self.event[..words]))
            .map_err(|error| self.lost("read line", self.in_line, system(error)))?;
        let read_ns = now_ns();
        let active = event.kind == LineEdgeEventKind::RisingEdge as u32;
        let level = LineValues {
            bits: active.into(),
            mask: 1,
        };
        set_line_values(&self.output, &level)
            .map_err(|error| self.lost("set line", self.out_line, system(error)))?;
        let answered_ns = now_ns();
        let before = std::mem::replace(&mut self.line_seqno, event.line_seqno);
        Ok(Some(Answer {
            edge_ns: event.timestamp_ns,
            read_ns,
            answered_ns,
            // The kernel counts the line's edges from 1, those it drops too.
            lost: event.line_seqno.wrapping_sub(before).saturating_sub(1),
        }))
    }

    fn lost(&self, doing: &str, line: u32, source: io::Error) -> Error {
        Error::Lost {
            doing: format!("{doing} {line}"),
            chip: self.chip.clone(),
            source,
        }
    }
}

/// Takes one line for ourselves.
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
        let source = system(error);
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
                _ => "choose one that the board lets you use so",
            },
            source,
        }
    })
}

impl Source for Responder {
    fn start(&mut self, _start_ns: u64) -> Result<(), Errno> {
        Ok(())
    }

    /// Due is the edge, observed the moment its answer was given.
    fn wait(&mut self) -> Result<Event, Errno> {
        match self.next(PollTimeout::NONE) {
            Ok(Some(answer)) => Ok(Event {
                due_ns: answer.edge_ns,
                observed_ns: answer.answered_ns,
                missed: answer.lost.into(),
            }),
            Ok(None) => Err(Errno::EINTR),
            Err(Error::Lost { source, .. }) => Err(Errno::from_raw(
                source.raw_os_error().unwrap_or(libc::ENODEV),
            )),
            Err(_) => Err(Errno::ENODEV),
        }
    }
}

/// What the library tells of a failed call, as the system's error.
fn system(error: gpiocdev_uapi::v2::Error) -> io::Error {
    match error {
        gpiocdev_uapi::v2::Error::Os(errno) => io::Error::from_raw_os_error(errno.0),
        short @ gpiocdev_uapi::v2::Error::UnderRead(_) => io::Error::other(short),
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
