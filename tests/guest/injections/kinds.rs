// SPDX-License-Identifier: GPL-2.0-only
//! What can be injected, and what the explanation is to say then.

use super::Shared;
use artis::explain::Lane;
use nix::time::ClockId;

/// What is injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Fifo,
    Deadline,
    Softirq,
    /// membarrier(2) from another CPU.
    Ipi,
    /// A page of the process is made read-only on another CPU.
    Tlb,
    /// Reads of a disk whose interrupts come to the victim's CPU.
    Device,
    /// A large address space is unmapped.
    Kernel,
    /// A work item of the CPU's own workqueue.
    Work,
    Faults,
    /// Pages that a fork(2) made shared.
    Cow,
    /// Pages that have to be read from a disk.
    Disk,
    /// Pages that were swapped out.
    Swap,
    Lock,
    Throttling,
    /// A system call in which a normal task cannot be preempted, on any kernel.
    Kept,
    /// One with interrupts off.
    Masked,
    /// One long interrupt from another CPU.
    Barrier,
    /// Who has the lock is stopped by a signal.
    Stopped,
    /// It is frozen.
    Frozen,
    /// It has used up its budget as a deadline task.
    Budget,
    /// A tracer stops the victim.
    Traced,
    /// The victim's clock is set.
    Clock,
}

/// By their names on the command line.
pub const KINDS: [(&str, Kind); 22] = [
    ("fifo", Kind::Fifo),
    ("deadline", Kind::Deadline),
    ("softirq", Kind::Softirq),
    ("ipi", Kind::Ipi),
    ("tlb", Kind::Tlb),
    ("device", Kind::Device),
    ("kernel", Kind::Kernel),
    ("work", Kind::Work),
    ("faults", Kind::Faults),
    ("cow", Kind::Cow),
    ("disk", Kind::Disk),
    ("swap", Kind::Swap),
    ("lock", Kind::Lock),
    ("throttling", Kind::Throttling),
    ("kept", Kind::Kept),
    ("masked", Kind::Masked),
    ("barrier", Kind::Barrier),
    ("stopped", Kind::Stopped),
    ("frozen", Kind::Frozen),
    ("budget", Kind::Budget),
    ("traced", Kind::Traced),
    ("clock", Kind::Clock),
];

/// How it is known, without the recorder, that an injection made a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It had the CPU for most of the loss: it has to be the chief culprit.
    Covers,
    /// It did so many things within the loss, which a task made long: the segments are counted. Of
    /// `percent` of them there has to be a segment, and at least one.
    Within { percent: usize },
    /// The victim did it to itself within an activation, and did not wait for the CPU meanwhile for
    /// a large part of the loss: it has to be the chief culprit.
    Own,
    /// The victim asked for a lock.
    Lock,
}

impl Kind {
    pub fn named(name: &str) -> Option<Self> {
        let found = KINDS.iter().find(|(one, _)| *one == name);
        found.map(|(_, kind)| *kind)
    }

    /// Losses up to it are the victim's usual ones.
    pub fn threshold_ns(self) -> u64 {
        match self {
            // On a kernel that is not preemptible others cause such losses, too.
            Self::Kernel | Self::Work | Self::Softirq => 150_000,
            // The share of normal tasks is tens of milliseconds.
            Self::Throttling => 5_000_000,
            // It is set, and they are halted, by more.
            Self::Clock | Self::Traced => 1_000_000,
            _ => 80_000,
        }
    }

    pub fn evidence(self) -> Evidence {
        match self {
            Self::Ipi | Self::Tlb => Evidence::Within { percent: 90 },
            // One interrupt may report several requests.
            Self::Device => Evidence::Within { percent: 0 },
            Self::Faults | Self::Cow | Self::Disk | Self::Swap => Evidence::Own,
            Self::Lock | Self::Stopped | Self::Frozen | Self::Budget => Evidence::Lock,
            _ => Evidence::Covers,
        }
    }

    /// Lane and culprit that are right.
    pub fn expects(self, lane: Lane, culprit: &str, shared: &Shared) -> bool {
        match self {
            Self::Fifo => lane == Lane::RealTimeTask && culprit.starts_with("inj-fifo"),
            Self::Deadline => lane == Lane::DeadlineTask && culprit.starts_with("inj-deadline"),
            Self::Softirq => lane == Lane::Softirq && culprit == "NET_RX",
            Self::Ipi | Self::Tlb | Self::Barrier => {
                lane == Lane::HardInterrupt && culprit == "IPI from inj-ipi"
            }
            Self::Device => {
                let device = shared.device.get().map_or("", String::as_str);
                let named = culprit.strip_prefix("interrupt of ");
                // The recorder keeps the first letters of a long name.
                lane == Lane::HardInterrupt && named.is_some_and(|name| device.starts_with(name))
            }
            // A long call has interrupts off in places.
            Self::Kernel => {
                matches!(lane, Lane::PreemptionOff | Lane::InterruptsOff)
                    && culprit.starts_with("inj-kernel")
            }
            Self::Kept => lane == Lane::PreemptionOff && culprit.starts_with("inj-kept"),
            // Where the victim was woken just before, it waits for the same task to let go.
            Self::Masked => {
                matches!(lane, Lane::PreemptionOff | Lane::InterruptsOff)
                    && culprit.starts_with("inj-masked")
            }
            Self::Work => {
                matches!(lane, Lane::PreemptionOff | Lane::InterruptsOff)
                    && culprit.starts_with("kworker/")
            }
            Self::Faults | Self::Cow | Self::Disk | Self::Swap => lane == Lane::OwnFault,
            Self::Stopped | Self::Frozen => lane == Lane::Lock && culprit.starts_with("inj-holder"),
            Self::Budget => {
                lane == Lane::Throttled && culprit.contains("deadline budget of inj-budget")
            }
            Self::Traced => lane == Lane::Traced && culprit == "inj-tracer",
            Self::Clock => lane == Lane::ClockSet && culprit == "inj-clock",
            Self::Lock => lane == Lane::Lock && culprit.starts_with("inj-middle"),
            // A kernel with a deadline server for normal tasks throttles nobody: it runs one.
            Self::Throttling => {
                lane == Lane::RtThrottling
                    || lane == Lane::DeadlineServer && culprit.starts_with("inj-normal")
            }
        }
    }

    /// What stands beside them, of the code and the chain.
    pub fn says(self) -> &'static str {
        match self {
            // Who sent them is known unless the sender had left the CPU by then.
            Self::Softirq => "packets of lo",
            Self::Stopped => "is stopped by a signal of inj-halt",
            Self::Frozen => "is frozen",
            _ => "",
        }
    }

    /// The clock that the victim sleeps by.
    pub fn clock(self) -> ClockId {
        match self {
            Self::Clock => ClockId::CLOCK_REALTIME,
            _ => ClockId::CLOCK_MONOTONIC,
        }
    }
}
