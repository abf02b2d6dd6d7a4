// SPDX-License-Identifier: GPL-2.0-only
//! Where the events come from whose lateness is measured: one trait, one file a source.

use super::medium::Medium;
use super::{gpio, nanosleep, rtc, timer, timerfd, wake};
use crate::clock::difference_ns;
use artis_machine::CpuList;
use nix::errno::Errno;
use std::fmt;
use std::path::PathBuf;

/// One event, as the waiting thread saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it was due, ns since boot.
    pub due_ns: u64,
    /// When it was observed, ns since boot.
    pub observed_ns: u64,
    /// Periods that passed unserved before the next one.
    pub missed: u64,
}

impl Event {
    /// Observed minus requested time, ns; negative when early.
    pub fn latency_ns(&self) -> i64 {
        difference_ns(self.observed_ns, self.due_ns)
    }
}

/// Something that a thread can wait for.
///
/// Nothing here may allocate, lock or log.
pub trait Source: Send {
    /// The measurement begins at `start_ns`: from now on events count.
    ///
    /// # Errors
    /// When the system refuses to start it.
    fn start(&mut self, start_ns: u64) -> Result<(), Errno>;

    /// Waits for the next event.
    ///
    /// # Errors
    /// `EINTR` when a signal ended the wait, which is no failure; others are.
    fn wait(&mut self) -> Result<Event, Errno>;
}

/// The sources, as `--source` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SourceKind {
    /// clock_nanosleep to absolute times
    Timer,
    /// nanosleep by relative times: may be early, too
    Nanosleep,
    /// A periodic timerfd
    Timerfd,
    /// Periodic interrupts of /dev/rtc, 2 to 8192 Hz in powers of 2
    Rtc,
    /// A futex handed over by a thread on another CPU, or anywhere with --unbound
    Wake,
    /// A byte in a pipe, from such a thread
    Pipe,
    /// A datagram over the loopback device, from such a thread
    Udp,
    /// An edge on one GPIO line, answered on another
    Gpio,
}

impl SourceKind {
    /// Can its latency be negative?
    pub fn is_signed(self) -> bool {
        matches!(self, Self::Nanosleep | Self::Rtc)
    }

    /// Does a kernel timer end the wait, so that its expiry can be observed?
    pub fn is_timer(self) -> bool {
        matches!(self, Self::Timer | Self::Nanosleep | Self::Timerfd)
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Timer => "timer",
            Self::Nanosleep => "nanosleep",
            Self::Timerfd => "timerfd",
            Self::Rtc => "rtc",
            Self::Wake => "wake",
            Self::Pipe => "pipe",
            Self::Udp => "udp",
            Self::Gpio => "gpio",
        })
    }
}

/// Why a source cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// The machine has none.
    #[error("{what}; {next}")]
    Absent {
        /// What is missing.
        what: String,
        /// What to do.
        next: &'static str,
    },
    /// The system refused.
    #[error("could not {what}; {next}")]
    Refused {
        /// What was tried, and on what.
        what: String,
        /// What to do.
        next: &'static str,
        /// The system's reason.
        source: Errno,
    },
    /// The GPIO lines cannot be used.
    #[error(transparent)]
    Gpio(#[from] gpio::Error),
}

/// What a source is made of.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which source.
    pub kind: SourceKind,
    /// Its period, ns.
    pub interval_ns: u64,
    /// Other threads wake at moments that are drawn with this seed, from half a period to one and
    /// a half apart; none: each period.
    pub seed: Option<u64>,
    /// CPU of the thread that waits; none: it may move.
    pub cpu: Option<u32>,
    /// CPUs this process may use.
    pub allowed: CpuList,
    /// The real-time clock's device.
    pub rtc: PathBuf,
    /// The GPIO lines; for [`SourceKind::Gpio`] only, and then needed.
    pub gpio: Option<GpioLines>,
}

/// Which lines the source `gpio` uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpioLines {
    /// `/dev/gpiochipN`.
    pub chip: PathBuf,
    /// The line with the edges.
    pub input: u32,
    /// The line that answers.
    pub output: u32,
}

/// Opens the source that `request` asks for.
///
/// # Errors
/// [`Unavailable`] says what the machine lacks.
pub fn open(request: &Request) -> Result<Box<dyn Source>, Unavailable> {
    let interval_ns = request.interval_ns;
    Ok(match request.kind {
        SourceKind::Timer => Box::new(timer::Timer::new(interval_ns)),
        SourceKind::Nanosleep => Box::new(nanosleep::Nanosleep::new(interval_ns)),
        SourceKind::Timerfd => Box::new(timerfd::PeriodicFd::new(interval_ns)?),
        SourceKind::Rtc => Box::new(rtc::Rtc::open(&request.rtc, interval_ns)?),
        SourceKind::Gpio => {
            let lines = request.gpio.as_ref().ok_or_else(|| Unavailable::Absent {
                what: "the source gpio needs its lines".to_owned(),
                next: "name them: --gpio-chip /dev/gpiochip0 --gpio-in LINE --gpio-out LINE",
            })?;
            Box::new(gpio::Responder::open(
                &lines.chip,
                lines.input,
                lines.output,
            )?)
        }
        SourceKind::Wake => Box::new(wake::Wake::new(request, Medium::Futex)?),
        SourceKind::Pipe => Box::new(wake::Wake::new(request, Medium::pipe()?)?),
        SourceKind::Udp => Box::new(wake::Wake::new(request, Medium::udp()?)?),
    })
}
