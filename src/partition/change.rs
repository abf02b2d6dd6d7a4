// SPDX-License-Identifier: GPL-2.0-only
//! One change to the machine: what, where, from which value to which, and why.
//!
//! Values are text, as the kernel shows them, so that a plan, a journal and an error can all
//! print them. [`super::host`] reads and writes them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The kinds of change. `artis check` names the same ones where a partition fixes a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    DeadlineServers,
    RtThrottling,
    TimerMigration,
    StatInterval,
    IrqbalanceBan,
    DefaultIrqAffinity,
    IrqAffinity,
    IrqThreadPriority,
    KthreadAffinity,
    RcuCallbacks,
    RcuFirstLook,
    RcuThreadPriority,
    WorkqueueMask,
    Writeback,
    WatchdogCpumask,
    Governor,
    IdleStates,
    CpusetShield,
    CpuCycle,
}

impl Kind {
    /// As documents and tables have it.
    pub fn id(self) -> &'static str {
        match self {
            Self::DeadlineServers => "deadline-servers",
            Self::RtThrottling => "rt-throttling",
            Self::TimerMigration => "timer-migration",
            Self::StatInterval => "stat-interval",
            Self::IrqbalanceBan => "irqbalance-ban",
            Self::DefaultIrqAffinity => "default-irq-affinity",
            Self::IrqAffinity => "irq-affinity",
            Self::IrqThreadPriority => "irq-thread-priority",
            Self::KthreadAffinity => "kthread-affinity",
            Self::RcuCallbacks => "rcu-callbacks",
            Self::RcuFirstLook => "rcu-first-look",
            Self::RcuThreadPriority => "rcu-thread-priority",
            Self::WorkqueueMask => "workqueue-mask",
            Self::Writeback => "writeback",
            Self::WatchdogCpumask => "watchdog-cpumask",
            Self::Governor => "governor",
            Self::IdleStates => "idle-states",
            Self::CpusetShield => "cpuset-shield",
            Self::CpuCycle => "cpu-cycle",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

/// Where a value is set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Target {
    /// A file of `/proc` or `/sys`; `path` is absolute, below the machine's root.
    File {
        path: String,
        /// The file that shows the value, where it is not the one that is written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<String>,
    },
    /// Policy and priority of a thread, as in `SCHED_FIFO 50`.
    Scheduling { tid: i32, start_ticks: u64 },
    /// The CPUs of a thread.
    Affinity { tid: i32, start_ticks: u64 },
    /// A control group: [`ABSENT`] or [`PRESENT`].
    Group { path: String },
    /// A controller in a group's `cgroup.subtree_control`: [`OFF`] or [`ON`].
    Controller { path: String, name: String },
    /// The CPUs that irqbalance leaves alone, through its socket.
    Irqbalance { path: String },
}

/// There is no such group.
pub const ABSENT: &str = "absent";
/// There is such a group.
pub const PRESENT: &str = "present";
/// The children of the group do not have the controller.
pub const OFF: &str = "off";
/// They have it.
pub const ON: &str = "on";

impl Target {
    /// A file that shows what is written to it.
    pub fn file(path: impl Into<String>) -> Self {
        Self::File {
            path: path.into(),
            shown: None,
        }
    }

    /// The file that a person would look at.
    pub fn path(&self) -> String {
        match self {
            Self::File { path, .. }
            | Self::Group { path }
            | Self::Controller { path, .. }
            | Self::Irqbalance { path } => path.clone(),
            Self::Scheduling { tid, .. } | Self::Affinity { tid, .. } => format!("/proc/{tid}"),
        }
    }

    /// Where it is, for a table that has its name already: threads have no file worth opening.
    pub fn place(&self) -> String {
        match self {
            Self::Scheduling { tid, .. } | Self::Affinity { tid, .. } => format!("thread {tid}"),
            _ => self.path(),
        }
    }

    /// A new value shows some seconds later only.
    pub fn is_slow(&self) -> bool {
        matches!(self, Self::Irqbalance { .. })
    }

    /// Could artis have changed it? A second check of a journal, which only root can write anyway.
    pub fn is_plausible(&self) -> bool {
        let path = self.path();
        let known = ["/proc/", "/sys/", "/run/irqbalance/"]
            .iter()
            .any(|folder| path.starts_with(folder));
        known && !path.split('/').any(|part| part == "..")
    }
}

/// The way back for an interrupt, in two steps. An interrupt stays on its CPU as long as that CPU
/// is allowed. So it is first sent back to the CPU where it was, and then gets its old CPUs again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detour {
    /// Is written before the old value.
    pub through: String,
    /// This file shows the same value once it took effect: some interrupts move only when they
    /// next occur.
    pub shown: String,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    #[serde(rename = "id")]
    pub kind: Kind,
    /// What is changed, in words: `interrupt 24 (virtio0-config)`.
    pub what: String,
    #[serde(flatten)]
    pub target: Target,
    /// The value before, without white space at its ends.
    pub old: String,
    pub new: String,
    /// The way back to `old`, where that alone does not lead there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detour: Option<Detour>,
    pub reason: String,
}

impl Change {
    /// Whether a refusal by the machine is no error: what a kernel, a hypervisor or a container
    /// manager forbids is one change less. A CPU that does not go offline is what was asked for.
    pub fn may_be_refused(&self) -> bool {
        self.kind != Kind::CpuCycle
    }

    /// Whether it makes no sense without the other changes of its kind.
    pub fn is_part_of_a_whole(&self) -> bool {
        self.kind == Kind::CpusetShield
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &str| match value {
            "" => "nothing".to_owned(),
            value => value.to_owned(),
        };
        let (path, old, new) = (self.target.path(), shown(&self.old), shown(&self.new));
        write!(f, "{} ({path}) from {old} to {new}", self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_kind_is_its_name_in_documents() {
        for one in [
            Kind::DeadlineServers,
            Kind::IrqAffinity,
            Kind::IrqbalanceBan,
            Kind::WatchdogCpumask,
            Kind::CpusetShield,
            Kind::KthreadAffinity,
        ] {
            assert_eq!(serde_json::to_value(one).unwrap(), one.id());
        }
    }

    #[test]
    fn a_change_is_one_flat_object() {
        let change = Change {
            kind: Kind::IrqThreadPriority,
            what: "irq/9-acpi".to_owned(),
            target: Target::Scheduling {
                tid: 72,
                start_ticks: 5,
            },
            old: "SCHED_FIFO 50".to_owned(),
            new: "SCHED_FIFO 39".to_owned(),
            detour: None,
            reason: "why".to_owned(),
        };
        let json = serde_json::to_value(&change).unwrap();
        assert_eq!(json["id"], "irq-thread-priority");
        assert_eq!(json["kind"], "scheduling");
        assert_eq!(serde_json::from_value::<Change>(json).unwrap(), change);
        assert!(change.to_string().contains("(/proc/72) from SCHED_FIFO 50"));
    }

    #[test]
    fn other_peoples_files_are_not_plausible() {
        assert!(Target::file("/sys/kernel/x").is_plausible());
        for path in ["/etc/passwd", "/proc/../etc/passwd", "proc/x", ""] {
            assert!(!Target::file(path).is_plausible(), "{path}");
        }
    }
}
