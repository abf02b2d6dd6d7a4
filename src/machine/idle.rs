// SPDX-License-Identifier: GPL-2.0-only
//! The idle states of a CPU, from shallow to deep.
//!
//! Source: `Documentation/admin-guide/pm/cpuidle.rst`.

use super::{Root, Unreadable};

/// One idle state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    /// As the driver calls it: `POLL`, `C1`, `C6`, `WFI`, …
    pub name: String,
    /// How long leaving it takes at most, microseconds.
    pub exit_latency_us: u32,
    /// Whether somebody has switched it off.
    pub disabled: bool,
}

/// The folder of a CPU's idle states.
pub fn folder(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle")
}

/// Reads the idle states of a CPU; none where the kernel or the machine has no choice of them.
///
/// # Errors
/// When a state is there and cannot be read or understood.
pub fn states(root: &Root, cpu: u32) -> Result<Vec<IdleState>, Unreadable> {
    let mut states = Vec::new();
    loop {
        let state = format!("{}/state{}", folder(cpu), states.len());
        let Some(name) = root.read(format!("{state}/name"))? else {
            return Ok(states);
        };
        states.push(IdleState {
            name,
            exit_latency_us: root.number(format!("{state}/latency"))?.unwrap_or(0),
            disabled: root
                .number::<u32>(format!("{state}/disable"))?
                .is_some_and(|disable| disable != 0),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn states_are_read_in_order() {
        let (_folder, root) = canned(&[
            ("sys/devices/system/cpu/cpu3/cpuidle/state0/name", "POLL\n"),
            ("sys/devices/system/cpu/cpu3/cpuidle/state0/latency", "0\n"),
            ("sys/devices/system/cpu/cpu3/cpuidle/state0/disable", "0\n"),
            ("sys/devices/system/cpu/cpu3/cpuidle/state1/name", "C6\n"),
            (
                "sys/devices/system/cpu/cpu3/cpuidle/state1/latency",
                "133\n",
            ),
            ("sys/devices/system/cpu/cpu3/cpuidle/state1/disable", "1\n"),
        ]);
        let states = states(&root, 3).unwrap();
        assert_eq!(states.len(), 2);
        assert_eq!(states[0].name, "POLL");
        assert_eq!((states[1].exit_latency_us, states[1].disabled), (133, true));
    }

    #[test]
    fn no_states_are_none_and_nonsense_is_an_error() {
        let (_folder, root) = canned(&[]);
        assert_eq!(states(&root, 0).unwrap(), []);
        let (_folder, root) = canned(&[
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "C1\n"),
            (
                "sys/devices/system/cpu/cpu0/cpuidle/state0/latency",
                "soon\n",
            ),
        ]);
        let error = states(&root, 0).unwrap_err();
        assert!(error.path.ends_with("state0/latency"));
    }
}
