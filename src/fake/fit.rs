// SPDX-License-Identifier: GPL-2.0-only
//! Whether a scenario can run on the machine that is there.

use artis_machine::CpuList;
use artis_scenario::model::{Access, Medium, Op, Scenario};

/// The most tasks that are started: each is a process.
pub const INSTANCES_MAX: u64 = 4096;
/// The most channels: each takes two file descriptors of every process.
const CHANNELS_MAX: usize = 400;
/// The most memory of all buffers together.
const BUFFERS_MAX: u64 = 4 << 30;

/// Why it cannot, and what can be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(String);

/// Whether it fits on these CPUs; sentences about what differs.
///
/// # Errors
/// When it cannot run here.
pub fn fit(scenario: &Scenario, here: &CpuList) -> Result<Vec<String>, Unfit> {
    let instances = scenario.instances();
    if instances > INSTANCES_MAX {
        return Err(Unfit(format!(
            "the scenario has {instances} tasks; live, at most {INSTANCES_MAX} run"
        )));
    }
    if scenario.objects.channels.len() > CHANNELS_MAX {
        let count = scenario.objects.channels.len();
        return Err(Unfit(format!(
            "the scenario has {count} channels; live, it has at most {CHANNELS_MAX}"
        )));
    }
    for task in &scenario.tasks {
        let changes = task.program.ops().filter_map(|op| match op {
            Op::Become(change) => change.cpus.as_ref(),
            _ => None,
        });
        for cpus in task.cpus.iter().chain(changes) {
            if (cpus & here).is_empty() {
                return Err(Unfit(format!(
                    "task {} may use CPU {cpus} only, and this machine gives CPUs {here}; run it \
                     in the lab (artis lab scenario --cpus N), or change cpus",
                    task.name
                )));
            }
        }
    }
    let buffers = scenario.tasks.iter().map(|task| {
        let private = task.program.ops().filter_map(|op| match op {
            Op::Memory(memory) if memory.shared.is_none() => Some(memory.buffer_bytes),
            _ => None,
        });
        private.max().unwrap_or(0) * u64::from(task.count)
    });
    let bytes: u64 = buffers.sum::<u64>();
    if bytes > BUFFERS_MAX {
        return Err(Unfit(format!(
            "buffers of the tasks take {} MiB; live, they take at most {} MiB",
            bytes >> 20,
            BUFFERS_MAX >> 20
        )));
    }
    Ok(differences(scenario, here))
}

fn differences(scenario: &Scenario, here: &CpuList) -> Vec<String> {
    let mut found = Vec::new();
    let wanted = scenario.machine.cpus;
    if let Some(wanted) = wanted
        && wanted as usize != here.len()
    {
        found.push(format!(
            "the scenario is for {wanted} CPUs, and this machine gives {}",
            here.len()
        ));
    }
    let outside = &scenario.machine.rt_cpus - here;
    if !outside.is_empty() {
        found.push(format!("RT CPUs {outside} of the scenario are not here"));
    }
    if scenario
        .objects
        .channels
        .iter()
        .any(|it| it.medium == Medium::Socket)
    {
        found.push("the kernel rounds the capacity of sockets".to_owned());
    }
    let is_chase =
        |op: &Op| matches!(op, Op::Memory(it) if matches!(it.access, Access::Chase { .. }));
    let mut ops = scenario.tasks.iter().flat_map(|task| task.program.ops());
    if ops.any(is_chase) {
        found.push("chases go through as many places as fit the buffer".to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_scenario::read;

    #[test]
    fn what_cannot_run_here_is_said() {
        let here: CpuList = "0-1".parse().unwrap();
        let fit = |text: &str| fit(&read(text, None, "it").unwrap().scenario, &here);
        let task = |keys: &str| format!("[[task]]\n{keys}\nrun = [{{ sleep = \"1ms\" }}]\n");
        assert_eq!(fit(&task("")), Ok(vec![]));
        let error = fit(&task("cpu = 3")).unwrap_err().to_string();
        assert!(error.contains("may use CPU 3 only"), "{error}");
        let error = fit(&task("count = 5000")).unwrap_err().to_string();
        assert!(error.contains("at most 4096"), "{error}");
        let other = format!("[machine]\ncpus = 4\nrt = \"3\"\n{}", task(""));
        assert_eq!(fit(&other).unwrap().len(), 2);
    }
}
