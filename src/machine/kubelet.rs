// SPDX-License-Identifier: GPL-2.0-only
//! CPUs that the kubelet's static CPU manager has given to containers alone: they are not taken
//! for anything else.
//!
//! Owns the reading of its state file. Source: Kubernetes, "Control CPU Management Policies on the
//! Node", and `pkg/kubelet/cm/cpumanager/state/checkpoint.go`: policyName, defaultCpuSet, and in
//! `entries` the CPUs of each pod's containers. Without a kubelet there is no such file.

use super::cpulist::CpuList;
use super::{Root, Unreadable};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::ErrorKind;

/// What the kubelet keeps over its restarts.
const STATE: &str = "/var/lib/kubelet/cpu_manager_state";

/// Why CPUs cannot be RT CPUs as far as the kubelet is concerned.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error(
        "could not understand {STATE} ({0}), so nobody knows which CPUs pods have alone; repair or \
         remove it while the kubelet is stopped"
    )]
    Malformed(String),
    #[error(
        "the kubelet has given CPU {cpus} to {pods} alone, and what a pod has alone is not taken; \
         choose other RT CPUs, and keep them from pods with the kubelet's reservedSystemCPUs"
    )]
    Taken { cpus: CpuList, pods: String },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct State {
    policy_name: String,
    /// CPUs by the UID of a pod and the name of a container; empty for those without.
    #[serde(default)]
    entries: Option<BTreeMap<String, BTreeMap<String, String>>>,
}

/// CPUs of containers, each with `pod UID, container NAME`. Who may not read the file is not root,
/// and changes nothing that a pod has: a plan is made without it.
///
/// # Errors
/// When the file is there and cannot be read or understood.
pub fn exclusive(root: &Root) -> Result<Vec<(String, CpuList)>, Error> {
    let text = match root.read(STATE) {
        Err(error) if error.source.kind() == ErrorKind::PermissionDenied => None,
        text => text?,
    };
    let Some(text) = text else {
        return Ok(Vec::new());
    };
    let malformed = |error: &dyn std::fmt::Display| Error::Malformed(error.to_string());
    let state: State = serde_json::from_str(&text).map_err(|error| malformed(&error))?;
    match state.policy_name.as_str() {
        // Pods share all CPUs; what the file may still have is of an earlier policy.
        "none" => return Ok(Vec::new()),
        "static" => {}
        other => return Err(malformed(&format!("its policy is {other}"))),
    }
    let mut all = Vec::new();
    for (pod, containers) in state.entries.unwrap_or_default() {
        for (name, cpus) in containers {
            let cpus = CpuList::from_kernel(&cpus).map_err(|error| malformed(&error))?;
            all.push((format!("pod {pod}, container {name}"), cpus));
        }
    }
    Ok(all)
}

/// Whether no pod has one of these CPUs alone.
///
/// # Errors
/// [`Error::Taken`]: one has. Others: nobody knows.
pub fn has_none_of(root: &Root, rt: &CpuList) -> Result<(), Error> {
    let taken: Vec<(String, CpuList)> = exclusive(root)?
        .into_iter()
        .map(|(who, cpus)| (who, &cpus & rt))
        .filter(|(_, cpus)| !cpus.is_empty())
        .collect();
    if taken.is_empty() {
        return Ok(());
    }
    let pods: Vec<&str> = taken.iter().map(|(who, _)| who.as_str()).collect();
    Err(Error::Taken {
        pods: pods.join(" and "),
        cpus: taken.iter().flat_map(|(_, cpus)| cpus.iter()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    /// What it says of RT CPUs 2-3 with this file; empty: they are free.
    fn said(state: &str) -> String {
        let (_folder, root) = canned(&[("var/lib/kubelet/cpu_manager_state", state)]);
        let answer = has_none_of(&root, &CpuList::from_kernel("2-3").unwrap());
        answer
            .err()
            .map_or_else(String::new, |error| error.to_string())
    }

    fn with(policy: &str, entries: &str) -> String {
        format!(
            r#"{{"policyName":"{policy}","defaultCpuSet":"0,4-7","entries":{entries},"checksum":7}}"#
        )
    }

    #[test]
    fn what_a_pod_has_alone_is_not_taken() {
        let one = r#"{"5a1e":{"motor":"3","side":"5"},"77b2":{"video":"1,6"}}"#;
        let words = said(&with("static", one));
        assert!(
            words.contains("given CPU 3 to pod 5a1e, container motor alone")
                && words.contains("reservedSystemCPUs"),
            "{words}"
        );
        let two = r#"{"5a1e":{"a":"2","b":"3"}}"#;
        assert!(said(&with("static", two)).contains("CPU 2-3 to pod 5a1e, container a and pod"));
    }

    #[test]
    fn cpus_that_no_pod_has_alone_are_free() {
        for state in [
            with("static", r#"{"77b2":{"video":"1,6","none":""}}"#),
            with("static", "{}"),
            with("static", "null"),
            with("none", r#"{"5a1e":{"motor":"3"}}"#),
            r#"{"policyName":"none","defaultCpuSet":"","checksum":1353318690}"#.to_owned(),
        ] {
            assert_eq!(said(&state), "", "{state}");
        }
        let (_folder, root) = canned(&[]);
        assert!(exclusive(&root).unwrap().is_empty());
    }

    #[test]
    fn what_nobody_understands_is_not_taken_either() {
        for state in [
            "",
            "{",
            r#"{"entries":{}}"#,
            &with("static", r#"{"5a1e":{"motor":"three"}}"#),
            &with("static", r#"{"5a1e":"3"}"#),
            &with("clever", "{}"),
        ] {
            let words = said(state);
            assert!(
                words.contains("nobody knows which CPUs"),
                "{state}: {words}"
            );
        }
    }
}
