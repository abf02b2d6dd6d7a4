// SPDX-License-Identifier: GPL-2.0-only
//! What a thread can lose its time to.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The kinds of delay, from the outside of the machine to the thread itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// The processor did nothing for the kernel, and was not stolen: firmware.
    Firmware,
    /// The hypervisor ran something else on the processor.
    Hypervisor,
    /// The CPU idled, and had to come out of it.
    IdleExit,
    /// The CPU waited for a device that it read from, with interrupts on.
    Device,
    /// The timer's interrupt waited for somebody who had interrupts off.
    InterruptsOff,
    /// An interrupt of a device, of a timer, or of another CPU.
    HardInterrupt,
    Softirq,
    /// A real-time task of the same or a higher priority.
    RealTimeTask,
    DeadlineTask,
    /// A normal task that a deadline server runs before real-time tasks.
    DeadlineServer,
    /// Real-time tasks had used up their budget.
    RtThrottling,
    /// A task that the thread goes before, and that could not be preempted in the kernel.
    PreemptionOff,
    /// A task that has the same right to the CPU.
    OtherTask,
    RunqueueLock,
    /// Waking and switching.
    Scheduler,
    /// The limit of the thread's cgroup, or its budget as a deadline task, is used up.
    Throttled,
    /// The thread is stopped by a signal, or frozen.
    Stopped,
    /// A tracer has stopped it.
    Traced,
    /// The thread waits for a lock.
    Lock,
    /// It waits in a call of its own for another task.
    Wait,
    /// The thread's timer slack: the kernel may be so late for it.
    Slack,
    /// Somebody set the clock that its timer goes by.
    ClockSet,
    OwnFault,
    OwnSystemCall,
    /// The thread itself in user mode: nothing is lost.
    OwnWork,
    Unknown,
}

/// All of them, in the order in which they are drawn.
pub const ALL: [Lane; 26] = [
    Lane::Firmware,
    Lane::Hypervisor,
    Lane::IdleExit,
    Lane::Device,
    Lane::InterruptsOff,
    Lane::HardInterrupt,
    Lane::Softirq,
    Lane::RealTimeTask,
    Lane::DeadlineTask,
    Lane::DeadlineServer,
    Lane::RtThrottling,
    Lane::PreemptionOff,
    Lane::OtherTask,
    Lane::RunqueueLock,
    Lane::Scheduler,
    Lane::Throttled,
    Lane::Stopped,
    Lane::Traced,
    Lane::Lock,
    Lane::Wait,
    Lane::Slack,
    Lane::ClockSet,
    Lane::OwnFault,
    Lane::OwnSystemCall,
    Lane::OwnWork,
    Lane::Unknown,
];

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Firmware => "firmware",
            Self::Hypervisor => "hypervisor",
            Self::IdleExit => "idle exit",
            Self::Device => "device",
            Self::InterruptsOff => "interrupts off",
            Self::HardInterrupt => "interrupt",
            Self::Softirq => "softirq",
            Self::RealTimeTask => "real-time task",
            Self::DeadlineTask => "deadline task",
            Self::DeadlineServer => "deadline server",
            Self::RtThrottling => "RT throttling",
            Self::PreemptionOff => "preemption off",
            Self::OtherTask => "other task",
            Self::RunqueueLock => "run queue lock",
            Self::Scheduler => "scheduler",
            Self::Throttled => "throttled",
            Self::Stopped => "stopped",
            Self::Traced => "traced",
            Self::Lock => "lock",
            Self::Wait => "wait",
            Self::Slack => "timer slack",
            Self::ClockSet => "clock set",
            Self::OwnFault => "own page fault",
            Self::OwnSystemCall => "own system call",
            Self::OwnWork => "own work",
            Self::Unknown => "unknown",
        })
    }
}
