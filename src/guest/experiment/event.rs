// SPDX-License-Identifier: GPL-2.0-only
//! What wakes RT0 up in an experiment.

use super::Task;
use artis_load::seed::Seed;
use artis_machine::CpuList;
use artis_measure::latency::source::{Request, SourceKind};
use serde::{Deserialize, Serialize};

/// The device of a PC's real-time clock.
const RTC: &str = "/dev/rtc0";
/// Its period: 1024 Hz, of the rates it has the one next to RT0's usual period.
const RTC_INTERVAL_NS: u64 = 976_562;

/// The events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A timer of its own, on its own CPU, each period.
    #[default]
    Timer,
    /// A futex, by a thread on another CPU, at random moments; so are the next two.
    Futex,
    /// A byte in a pipe.
    Pipe,
    /// A datagram over the loopback device.
    Udp,
    /// An interrupt of the real-time clock, 1024 Hz, on the CPU that the kernel gives it. Its
    /// latency is against the wakeup before: a punctual one after a late one counts as early.
    Rtc,
}

impl Event {
    /// Its name, in files and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timer => "timer",
            Self::Futex => "futex",
            Self::Pipe => "pipe",
            Self::Udp => "udp",
            Self::Rtc => "rtc",
        }
    }

    /// What RT0 waits for on `cpu`; who wakes it may use the other CPUs of `allowed`. The loads'
    /// own draws of the seed stay as they are.
    pub(super) fn request(self, task: &Task, seed: &Seed, cpu: u32, allowed: CpuList) -> Request {
        Request {
            kind: self.source(),
            interval_ns: self.interval_ns(task),
            seed: Some(seed.clone().draw()),
            cpu: Some(cpu),
            allowed,
            rtc: RTC.into(),
            gpio: None,
        }
    }

    fn source(self) -> SourceKind {
        match self {
            Self::Timer => SourceKind::Timer,
            Self::Futex => SourceKind::Wake,
            Self::Pipe => SourceKind::Pipe,
            Self::Udp => SourceKind::Udp,
            Self::Rtc => SourceKind::Rtc,
        }
    }

    /// RT0's period in `task`.
    fn interval_ns(self, task: &Task) -> u64 {
        match self {
            Self::Rtc => RTC_INTERVAL_NS,
            Self::Timer | Self::Futex | Self::Pipe | Self::Udp => task.interval_us * 1000,
        }
    }
}
