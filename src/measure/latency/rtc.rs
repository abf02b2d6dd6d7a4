// SPDX-License-Identifier: GPL-2.0-only
//! The source `rtc`: periodic interrupts of the real-time clock, read from `/dev/rtc`. The
//! method of Realfeel.
//!
//! The figure is how much the time between two wakeups differs from the period, since the device
//! does not say when an interrupt was due. A punctual wakeup after a late one makes it negative.

use super::source::{Event, Source, Unavailable};
use crate::clock::{SECOND_NS, now_ns};
use nix::errno::Errno;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The rates of the kernel's interface: powers of two.
pub const RATE_HZ_MIN: u64 = 2;
/// See [`RATE_HZ_MIN`].
pub const RATE_HZ_MAX: u64 = 8192;

mod ioctl {
    nix::ioctl_none!(periodic_on, b'p', 0x05);
    nix::ioctl_none!(periodic_off, b'p', 0x06);
    // The argument is the rate itself, although the ioctl number says "pointer to a long".
    nix::ioctl_write_int_bad!(
        set_rate_hz,
        nix::request_code_write!(b'p', 0x0c, size_of::<libc::c_ulong>())
    );
}

/// A real-time clock that interrupts periodically until this is dropped.
pub struct Rtc {
    device: File,
    period_ns: u64,
    /// When the last interrupt was seen; 0 before the first.
    last_ns: u64,
}

/// The rate whose period is `interval_ns`; none when the clock has no such rate.
pub fn rate_hz(interval_ns: u64) -> Option<u64> {
    (1..=13)
        .map(|power| 1 << power)
        // People type whole microseconds: 122 for 8192 Hz.
        .find(|rate: &u64| (SECOND_NS / rate).abs_diff(interval_ns) < 1000)
}

impl Rtc {
    /// Opens the clock and sets its rate; `interval_ns` must be a period it has.
    ///
    /// # Errors
    /// When there is no clock, it is in use, or the rate is above what this user may have.
    pub fn open(path: &Path, interval_ns: u64) -> Result<Self, Unavailable> {
        let rate = rate_hz(interval_ns).ok_or_else(|| Unavailable::Absent {
            what: format!(
                "{} has no period of {} us",
                path.display(),
                interval_ns / 1000
            ),
            next: "its rates are the powers of two from 2 to 8192 Hz, for instance -i 976 for 1024 Hz",
        })?;
        let device = File::open(path).map_err(|error| match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) | None => Unavailable::Absent {
                what: format!("this machine has no real-time clock at {}", path.display()),
                next: "load its driver (on a PC: modprobe rtc_cmos) or name another with --rtc /dev/rtcN",
            },
            Some(errno) => Unavailable::Refused {
                what: format!("open {}", path.display()),
                next: if errno == libc::EBUSY {
                    "another program has it open (fuser names it)"
                } else {
                    "run artis as root"
                },
                source: Errno::from_raw(errno),
            },
        })?;
        // SAFETY: the descriptor is open; the argument is a number.
        unsafe { ioctl::set_rate_hz(device.as_raw_fd(), rate as libc::c_int) }.map_err(
            |source| Unavailable::Refused {
                what: format!("set {} to {rate} Hz", path.display()),
                next: "rates above /sys/class/rtc/rtc0/max_user_freq are for root; \
                       a clock without periodic interrupts cannot be used",
                source,
            },
        )?;
        Ok(Self {
            device,
            period_ns: SECOND_NS / rate,
            last_ns: 0,
        })
    }

    /// Waits for an interrupt: when it was seen, and how many came since the last one.
    fn interrupt(&mut self) -> Result<(u64, u64), Errno> {
        let mut word = [0; size_of::<libc::c_ulong>()];
        let read = nix::unistd::read(&self.device, &mut word);
        let observed_ns = now_ns();
        read?;
        // The lowest byte has the kinds of interrupts, the rest their number.
        Ok((observed_ns, libc::c_ulong::from_ne_bytes(word) >> 8))
    }
}

impl Source for Rtc {
    fn start(&mut self, _start_ns: u64) -> Result<(), Errno> {
        // SAFETY: the descriptor is an open real-time clock.
        unsafe { ioctl::periodic_on(self.device.as_raw_fd()) }.map(drop)
    }

    fn wait(&mut self) -> Result<Event, Errno> {
        if self.last_ns == 0 {
            // The first interrupt only begins the first period.
            self.last_ns = self.interrupt()?.0;
        }
        let (observed_ns, interrupts) = self.interrupt()?;
        let due_ns = self.last_ns + self.period_ns;
        self.last_ns = observed_ns;
        Ok(Event {
            due_ns,
            observed_ns,
            missed: interrupts.saturating_sub(1),
        })
    }
}

impl Drop for Rtc {
    fn drop(&mut self) {
        // Closing the device ends the interrupts as well.
        // SAFETY: the descriptor is an open real-time clock.
        let _ = unsafe { ioctl::periodic_off(self.device.as_raw_fd()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_those_of_powers_of_two() {
        assert_eq!(rate_hz(976_562), Some(1024));
        assert_eq!(rate_hz(976_000), Some(1024));
        assert_eq!(rate_hz(122_000), Some(8192));
        assert_eq!(rate_hz(15_625_000), Some(64));
        assert_eq!(rate_hz(1_000_000), None);
    }

    #[test]
    fn a_missing_clock_says_what_to_load() {
        let error = Rtc::open(Path::new("/dev/no-such-rtc"), 976_562)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("modprobe"), "{error}");
    }
}
