// SPDX-License-Identifier: GPL-2.0-only
//! What a result says of the machine it was measured on.

use artis_machine::cpus::{self, Cpus};
use artis_machine::kernel::{Kernel, SchedExt};
use artis_machine::virtualisation::virtualisation;
use artis_machine::{Root, Unreadable};
use artis_result as result;

/// The machine could not be described.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error(transparent)]
    Cpus(#[from] cpus::Error),
}

/// Describes the machine.
///
/// # Errors
/// When `/proc` or `/sys` is not mounted or cannot be read.
pub fn describe(root: &Root) -> Result<result::Machine, Error> {
    let kernel = Kernel::read(root)?;
    let cpus = Cpus::read(root)?;
    Ok(result::Machine {
        preemption: kernel.preemption.to_string(),
        cpus: cpus.online.to_string(),
        cpu_model: root.hint("/proc/cpuinfo").as_deref().and_then(cpu_model),
        scheduler: kernel
            .sched_ext
            .filter(SchedExt::is_on)
            .map(|scheduler| scheduler.ops.unwrap_or_else(|| "sched_ext".to_owned())),
        virtualisation: virtualisation(root),
        kernel: kernel.release,
        cmdline: kernel.cmdline,
    })
}

/// x86 has "model name", Arm boards "Model" or "Hardware".
fn cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "Model", "Hardware"].iter().find_map(|name| {
        let line = cpuinfo.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim_start_matches([' ', '\t', ':']).trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_described() {
        let machine = describe(&Root::default()).unwrap();
        assert!(!machine.kernel.is_empty() && !machine.cpus.is_empty());
    }

    #[test]
    fn cpu_names_are_found_on_each_architecture() {
        let name = |text| cpu_model(text).unwrap();
        assert_eq!(name("processor\t: 0\nmodel name\t: A 9000\n"), "A 9000");
        assert_eq!(name("processor : 0\nModel : A Pi\n"), "A Pi");
        assert_eq!(cpu_model("processor : 0\n"), None);
    }
}
