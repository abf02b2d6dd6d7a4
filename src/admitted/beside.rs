// SPDX-License-Identifier: GPL-2.0-only
//! What runs on an RT CPU beside its admitted tasks, and is in no analysis.

use crate::entry::{OfCpu, Register};
use artis_admit::model::Policy;
use artis_machine::tasks::{self, Task};
use artis_machine::{CpuList, Root, deadline_servers};
use artis_task::syscall;

/// Below this part of the CPU, normal tasks get their 5 % in what is left, and the kernel takes
/// nothing from real-time tasks for them.
const SAFE_UTILISATION: f64 = 0.94;

/// A sentence for each thing that the analysis does not know of; `utilisation` is that of tasks and
/// interrupts together.
pub fn warnings(root: &Root, register: &Register, of_cpu: &OfCpu, utilisation: f64) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    let all = tasks::all(root).unwrap_or_default();
    let known = |task: &Task| register.tasks().any(|(_, one)| one.tid == task.tid);
    let others = all.iter().filter(|task| !known(task));
    let others = others.filter(|task| is_in_the_way(root, of_cpu, task));
    let names: Vec<String> = others
        .map(|task| format!("{} ({}, {})", task.name, task.tid, task.policy))
        .collect();
    if !names.is_empty() {
        warnings.push(format!(
            "CPU {} has other real-time tasks, which were not admitted and count nowhere: {}",
            of_cpu.cpu,
            names.join(", ")
        ));
    }
    warnings.extend(server(root, of_cpu.cpu, utilisation));
    warnings
}

/// Whether a task may run there before the admitted ones.
fn is_in_the_way(root: &Root, of_cpu: &OfCpu, task: &Task) -> bool {
    if task.is_kernel || !task.policy.is_real_time() {
        return false;
    }
    let priorities = of_cpu.tasks.iter().filter_map(|one| {
        let now = syscall::scheduling(one.tid).ok()?;
        Some(now.priority)
    });
    let lowest = priorities.min().unwrap_or(0);
    let is_above = match of_cpu.policy {
        Policy::Edf => task.policy == tasks::Policy::Deadline,
        _ => task.policy == tasks::Policy::Deadline || task.priority >= lowest,
    };
    is_above && tasks::status(root, task).is_some_and(|it| it.allowed.contains(of_cpu.cpu))
}

/// Whether the kernel may take the CPU for normal tasks.
fn server(root: &Root, cpu: u32, utilisation: f64) -> Option<String> {
    if utilisation <= SAFE_UTILISATION {
        return None;
    }
    let state = match deadline_servers::on(root, &CpuList::from_iter([cpu])) {
        Ok(Some(on)) if on.is_empty() => return None,
        Ok(Some(_)) => "gives",
        _ => "may give",
    };
    Some(format!(
        "with {:.1} % of CPU {cpu} taken, the kernel {state} normal tasks some 5 % of it before the \
         admitted ones; `artis partition apply --rt {cpu}` switches that off",
        utilisation * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    fn of_cpu() -> OfCpu {
        OfCpu::new(1, Policy::Edf)
    }

    #[test]
    fn the_servers_matter_only_where_little_is_left() {
        let file = |runtime| ("sys/kernel/debug/sched/fair_server/cpu1/runtime", runtime);
        let (_folder, root) = canned(&[]);
        let of = |root: &Root, part| warnings(root, &Register::default(), &of_cpu(), part);
        assert_eq!(of(&root, 0.9), Vec::<String>::new());
        assert!(of(&root, 0.96)[0].contains("may give"));
        let (_folder, root) = canned(&[file("50000000\n")]);
        assert!(of(&root, 0.96)[0].contains("partition apply --rt 1"));
    }

    #[test]
    fn deadline_tasks_of_others_are_named() {
        let rest = "0 ".repeat(16);
        let stat = format!("9 (x) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 {rest}1 0 6 0 0\n");
        let (_folder, root) = canned(&[
            ("proc/9/stat", &stat),
            ("proc/9/task/9/status", "Cpus_allowed_list:\t0-1\n"),
        ]);
        let found = warnings(&root, &Register::default(), &of_cpu(), 0.5);
        assert!(found[0].contains("x (9, DEADLINE)"), "{found:?}");
        let elsewhere = OfCpu::new(2, Policy::Edf);
        let found = warnings(&root, &Register::default(), &elsewhere, 0.5);
        assert_eq!(found, Vec::<String>::new());
    }
}
