// SPDX-License-Identifier: GPL-2.0-only
//! What series and ordinary work are called, in one list. Whoever measures, stores, compares or
//! prints them takes the name from here; a new one begins here.

/// Wakeup latency, and its two parts.
pub const LATENCY: &str = "latency";
pub const DUE_TO_HANDLER: &str = "due_to_handler";
pub const HANDLER_TO_TASK: &str = "handler_to_task";

/// The same as rtla calls them.
pub const TIMER_TO_IRQ: &str = "timer_to_irq";
pub const TIMER_TO_THREAD: &str = "timer_to_thread";
pub const TIMER_TO_USER: &str = "timer_to_user";

/// Execution time of a piece of work: loaded, before any load ran, and beyond the shortest.
pub const EXECUTION_TIME: &str = "execution_time";
pub const EXECUTION_TIME_UNLOADED: &str = "execution_time_unloaded";
pub const EXCESS: &str = "excess";

/// OS jitter: a round of all threads, what it lost, and of each thread the noise, how often it was
/// the slowest, and a piece before any load ran.
pub const ROUND: &str = "round";
pub const LOST: &str = "lost";
pub const NOISE: &str = "noise";
pub const SLOWEST: &str = "slowest";
pub const PIECE_UNLOADED: &str = "piece_unloaded";

/// Messages: a round trip, the wakeups of it, and rates.
pub const ROUND_TRIP: &str = "round_trip";
pub const WAKEUP: &str = "wakeup";
pub const PER_SECOND: &str = "messages_per_second";
pub const PER_CPU_SECOND: &str = "messages_per_cpu_second";

/// Short commands: the time and the CPU time that one took.
pub const COMMAND: &str = "command";
pub const CPU_TIME: &str = "cpu_time";

/// Of a guest of an experiment: latency up to the task, and up to the timer's handler in the
/// kernel.
pub const USER_LATENCY: &str = "user_latency";
pub const KERNEL_LATENCY: &str = "kernel_latency";

/// Settings in a result that say what was seen: when the threads started, ns since boot; the part
/// that others got of what the real-time thread left of its CPU; how often the firmware came in
/// between.
pub const BEGAN_NS: &str = "began_ns";
pub const RT_CPU_SHARE_OTHERS: &str = "rt_cpu_share_others";
pub const SYSTEM_MANAGEMENT_INTERRUPTS: &str = "system_management_interrupts";

/// Ordinary work whose answers an experiment times beside RT0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ordinary {
    /// Wakeups of a normal task that may use every CPU.
    Normal,
    /// Wakeups of a normal task that is bound to the first CPU.
    Bound,
    /// Wakeups of a task of policy `SCHED_EXT` and nice -20, RT1+ level 1.
    Rt1Level1,
    /// Wakeups of a task of policy `SCHED_EXT` and nice -1, RT1+ level 20.
    Rt1Level20,
    /// Short commands, from the fork until they have been waited for.
    Commands,
    /// A message to one thread and its answer.
    Messages,
    /// Messages to many threads and all of their answers.
    MessagesToMany,
}

impl Ordinary {
    /// All, in the order that tables have them.
    pub const ALL: [Self; 7] = [
        Self::Normal,
        Self::Bound,
        Self::Rt1Level1,
        Self::Rt1Level20,
        Self::Commands,
        Self::Messages,
        Self::MessagesToMany,
    ];

    /// Its key in experiment files, and its head in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Bound => "bound",
            Self::Rt1Level1 => "rt1-1",
            Self::Rt1Level20 => "rt1-20",
            Self::Commands => "commands",
            Self::Messages => "messages",
            Self::MessagesToMany => "messages-to-many",
        }
    }

    /// The series of a guest's sample that holds its times.
    pub fn series(self) -> &'static str {
        match self {
            Self::Normal => "normal_latency",
            Self::Bound => "bound_latency",
            Self::Rt1Level1 => "rt1_level_1_latency",
            Self::Rt1Level20 => "rt1_level_20_latency",
            Self::Commands => "commands",
            Self::Messages => "messages",
            Self::MessagesToMany => "messages_to_many",
        }
    }

    /// That of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}
