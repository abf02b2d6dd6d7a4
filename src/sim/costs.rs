// SPDX-License-Identifier: GPL-2.0-only
//! What things cost: a profile of a machine, as TOML.
//!
//! Owns the names of the costs. It never invents one: a profile says for each value where it was
//! measured, or that it was not.

use serde::Deserialize;

/// The deterministic lab's.
pub const LAB: &str = include_str!("profiles/lab.toml");
/// Where nothing costs anything.
pub const NONE: &str = include_str!("profiles/none.toml");

/// One cost.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    pub ns: f64,
    /// Where it was measured, or that it was not.
    pub source: String,
}

/// Where a task can be preempted in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preemption {
    /// Wherever it is not in a section.
    #[default]
    Full,
    /// The same for real-time tasks; for others at a tick, or where it goes back to user mode.
    Lazy,
    /// Only where it goes back to user mode.
    None,
}

/// All costs of a machine. What a profile leaves out costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    pub name: String,
    pub preemption: Preemption,
    /// How far ticks are apart.
    pub tick_ns: u64,
    /// Any interrupt, to and fro.
    pub interrupt: Cost,
    /// The work of a tick.
    pub tick: Cost,
    /// The work of who wakes up a task.
    pub wakeup: Cost,
    /// A switch of tasks.
    pub switch: Cost,
    /// What artis adds to a switch.
    pub switch_of_artis: Cost,
    /// Until another CPU has an interrupt that this one sends.
    pub ipi: Cost,
    /// How long a run queue is locked for a wakeup or a move: so long another CPU may wait.
    pub lock: Cost,
    /// The shortest system call.
    pub call: Cost,
    /// What artis adds to each on an RT CPU.
    pub watched_call: Cost,
    /// What a message adds to its call.
    pub message: Cost,
    pub fault: Cost,
    pub fork: Cost,
    pub exit: Cost,
    /// A byte through the page cache.
    pub file_byte: Cost,
    /// An instruction in user mode.
    pub instruction: Cost,
    /// A byte of memory that is read or written one after the other.
    pub memory_byte: Cost,
    /// A read that needs the one before it.
    pub chase: Cost,
    /// A move to another CPU.
    #[serde(rename = "move")]
    pub moving: Cost,
    /// A byte of the working set, at a move to another cache.
    pub dirty_byte: Cost,
    /// The longest stretch of kernel work that cannot be preempted.
    pub section: Cost,
    /// A turn of a loop that waits.
    pub spin: Cost,
}

/// A profile that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BadProfile {
    #[error("the profile is no TOML of costs: {0}")]
    Syntax(#[from] toml::de::Error),
    #[error("the profile's {name} is {value}; give a number of ns from 0 to 1e9")]
    Range { name: &'static str, value: f64 },
    #[error("the profile's tick_ns is {0}; give 100000 to 100000000, such as 4000000 for HZ=250")]
    Tick(u64),
}

impl Costs {
    /// A profile.
    ///
    /// # Errors
    /// What is wrong with it, with line and column.
    pub fn parse(text: &str) -> Result<Self, BadProfile> {
        let costs: Self = toml::from_str(text)?;
        for (name, cost) in costs.all() {
            if !(0.0..=1e9).contains(&cost.ns) {
                let value = cost.ns;
                return Err(BadProfile::Range { name, value });
            }
        }
        if !(100_000..=100_000_000).contains(&costs.tick_ns) {
            return Err(BadProfile::Tick(costs.tick_ns));
        }
        if costs.spin.ns < 1.0 {
            let value = costs.spin.ns;
            return Err(BadProfile::Range {
                name: "spin",
                value,
            });
        }
        Ok(costs)
    }

    /// All costs by their names in the file.
    pub fn all(&self) -> [(&'static str, &Cost); 21] {
        [
            ("interrupt", &self.interrupt),
            ("tick", &self.tick),
            ("wakeup", &self.wakeup),
            ("switch", &self.switch),
            ("switch_of_artis", &self.switch_of_artis),
            ("ipi", &self.ipi),
            ("lock", &self.lock),
            ("call", &self.call),
            ("watched_call", &self.watched_call),
            ("message", &self.message),
            ("fault", &self.fault),
            ("fork", &self.fork),
            ("exit", &self.exit),
            ("file_byte", &self.file_byte),
            ("instruction", &self.instruction),
            ("memory_byte", &self.memory_byte),
            ("chase", &self.chase),
            ("move", &self.moving),
            ("dirty_byte", &self.dirty_byte),
            ("section", &self.section),
            ("spin", &self.spin),
        ]
    }
}

impl Cost {
    /// The whole of it, in ns.
    pub fn once(&self) -> u64 {
        self.ns as u64
    }

    /// So often.
    pub fn times(&self, count: u64) -> u64 {
        (self.ns * count as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_profiles_say_where_each_value_comes_from() {
        let lab = Costs::parse(LAB).unwrap();
        for (name, cost) in lab.all() {
            assert!(!cost.source.is_empty(), "{name}");
        }
        assert_eq!(Costs::parse(NONE).unwrap().switch.once(), 0);
    }

    #[test]
    fn a_bad_profile_says_what_is_wrong() {
        let error = |text: &str| Costs::parse(text).unwrap_err().to_string();
        assert!(
            error("tick_ns = 5").contains("100000 to"),
            "{}",
            error("tick_ns = 5")
        );
        let negative = "tick_ns = 1000000\n[call]\nns = -1\nsource = \"\"";
        assert!(
            error(negative).contains("call is -1"),
            "{}",
            error(negative)
        );
        assert!(
            error("calls = 3").contains("line 1, column 1"),
            "{}",
            error("calls = 3")
        );
    }
}
