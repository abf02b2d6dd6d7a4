// SPDX-License-Identifier: GPL-2.0-only
//! The idle states of a CPU, from shallow to deep.
//!
//! Source: `Documentation/admin-guide/pm/cpuidle.rst`.

use super::{CpuList, Root, Unreadable};
use serde::Serialize;
use std::collections::BTreeMap;

/// One idle state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    /// As the driver calls it: `POLL`, `C1`, `C6`, `WFI`, …
    pub name: String,
    /// The longest time that leaving it takes, microseconds.
    pub exit_latency_us: u32,
    /// Whether somebody has switched it off.
    pub disabled: bool,
}

/// Leaving C1 takes a microsecond or two on every machine, leaving the next deeper state ten.
pub const C1_EXIT_LATENCY_US: u32 = 2;

/// An idle state that some CPUs may enter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Allowed {
    pub name: String,
    /// The longest time that leaving it takes, microseconds.
    pub exit_latency_us: u32,
    pub cpus: CpuList,
}

/// The folder of a CPU's idle states.
pub fn folder(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle")
}

/// Reads the idle states of a CPU; none where the kernel cannot choose among them.
///
/// # Errors
/// When a state exists and cannot be read or understood.
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

/// The states that are not switched off, shallow ones first, and on which of these CPUs.
///
/// # Errors
/// As [`states`].
pub fn allowed(root: &Root, cpus: &CpuList) -> Result<Vec<Allowed>, Unreadable> {
    let mut all: BTreeMap<(u32, String), CpuList> = BTreeMap::new();
    for cpu in cpus.iter() {
        for state in states(root, cpu)? {
            if !state.disabled {
                let key = (state.exit_latency_us, state.name);
                all.entry(key).or_default().insert(cpu);
            }
        }
    }
    let allowed = |((exit_latency_us, name), cpus)| Allowed {
        name,
        exit_latency_us,
        cpus,
    };
    Ok(all.into_iter().map(allowed).collect())
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
        let allowed = allowed(&root, &"2-3".parse().unwrap()).unwrap();
        assert_eq!(allowed.len(), 1);
        assert_eq!(
            (allowed[0].name.as_str(), allowed[0].cpus.first()),
            ("POLL", Some(3))
        );
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
