// SPDX-License-Identifier: GPL-2.0-only
//! Keeps the frequency of RT CPUs and keeps them out of deep idle states.
//!
//! Source: `Documentation/admin-guide/pm/cpufreq.rst` and `cpuidle.rst`.

use super::change::Kind;
use super::plan::{Plan, Request};
use artis_machine::frequency::governor_file;
use artis_machine::idle::{self, IdleState};
use artis_machine::{Root, Unreadable};

const PERFORMANCE: &str = "performance";

pub(super) fn plan(root: &Root, request: &Request, plan: &mut Plan) {
    governors(root, request, plan);
    idle_states(root, request, plan);
}

fn governors(root: &Root, request: &Request, plan: &mut Plan) {
    let mut found = false;
    for cpu in request.rt.iter() {
        let path = governor_file(cpu);
        let choice = root.hint(path.replace("scaling_governor", "scaling_available_governors"));
        let offered = choice
            .as_ref()
            .is_none_or(|names| names.split_whitespace().any(|name| name == PERFORMANCE));
        let what = format!("frequency governor of CPU {cpu}");
        if !offered {
            found = true;
            let why = format!(
                "the kernel offers only {}; load cpufreq_performance with modprobe",
                choice.unwrap_or_default()
            );
            plan.leave(Kind::Governor, what, why);
            continue;
        }
        let reason = "changing the frequency takes time, and a low one makes everything slow";
        let file = (what.clone(), path, reason);
        plan.part(Kind::Governor, &what, |plan| {
            // What is there and cannot be read is named as that.
            let there = plan.file(root, Kind::Governor, file, |_| Some(PERFORMANCE.to_owned()));
            found |= !matches!(there, Ok(false));
            there.map(drop)
        });
    }
    if !found {
        plan.leave(
            Kind::Governor,
            "frequency governor",
            "this kernel changes no frequencies; the hypervisor or the firmware may",
        );
    }
}

fn idle_states(root: &Root, request: &Request, plan: &mut Plan) {
    let mut found = false;
    for cpu in request.rt.iter() {
        let what = format!("idle states of CPU {cpu}");
        plan.part(Kind::IdleStates, &what, |plan| {
            let states = idle::states(root, cpu).inspect_err(|_| found = true)?;
            found |= !states.is_empty();
            deep_states(root, request, cpu, states, plan)
        });
    }
    if !found {
        plan.leave(
            Kind::IdleStates,
            "idle states",
            "this kernel cannot choose them: the hypervisor does, or idle= or cpuidle.off was given",
        );
    }
}

fn deep_states(
    root: &Root,
    request: &Request,
    cpu: u32,
    states: Vec<IdleState>,
    plan: &mut Plan,
) -> Result<(), Unreadable> {
    for (number, state) in states.into_iter().enumerate() {
        if state.exit_latency_us <= request.exit_latency_us_max {
            continue;
        }
        let what = format!(
            "idle state {} of CPU {cpu} ({} us to leave), off",
            state.name, state.exit_latency_us
        );
        let file = (
            what,
            format!("{}/state{number}/disable", idle::folder(cpu)),
            "the time to leave a deep idle state adds to each wakeup latency",
        );
        plan.file(root, Kind::IdleStates, file, |_| Some("1".to_owned()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::request;
    use super::*;
    use artis_testing::canned;

    #[test]
    fn rt_cpus_stay_fast_and_awake() {
        let (_folder, root) = canned(&[
            (
                "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor",
                "schedutil\n",
            ),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                "schedutil\n",
            ),
            ("sys/devices/system/cpu/cpu3/cpuidle/state0/name", "POLL\n"),
            ("sys/devices/system/cpu/cpu3/cpuidle/state0/latency", "0\n"),
            ("sys/devices/system/cpu/cpu3/cpuidle/state0/disable", "0\n"),
            ("sys/devices/system/cpu/cpu3/cpuidle/state1/name", "C6\n"),
            (
                "sys/devices/system/cpu/cpu3/cpuidle/state1/latency",
                "133\n",
            ),
            ("sys/devices/system/cpu/cpu3/cpuidle/state1/disable", "0\n"),
        ]);
        let mut planned = Plan::default();
        plan(&root, &request(), &mut planned);
        let changes: Vec<_> = planned
            .changes
            .iter()
            .map(|one| (one.kind.id(), one.old.as_str(), one.new.as_str()))
            .collect();
        assert_eq!(
            changes,
            [
                ("governor", "schedutil", "performance"),
                ("idle-states", "0", "1")
            ]
        );
    }

    #[test]
    fn a_governor_that_is_not_built_is_not_set() {
        let (_folder, root) = canned(&[
            (
                "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor",
                "powersave\n",
            ),
            (
                "sys/devices/system/cpu/cpu3/cpufreq/scaling_available_governors",
                "powersave ondemand\n",
            ),
        ]);
        let mut planned = Plan::default();
        plan(&root, &request(), &mut planned);
        assert!(planned.changes.is_empty());
        assert!(planned.left[0].why.contains("powersave ondemand"));
    }
}
