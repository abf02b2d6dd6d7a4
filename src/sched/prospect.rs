// SPDX-License-Identifier: GPL-2.0-only
//! What comes of scheduling on a machine, asked before anything is changed.

use super::detector::Detector;
use super::program::CPUS_MAX;
use super::require;
use super::service::Error;
use artis_machine::cpus::Cpus;
use artis_machine::cpusets::{self, Claim};
use artis_machine::kernel::Kernel;
use artis_machine::kubelet;
use artis_machine::privilege::Privilege;
use artis_machine::rt_cpus::nrt_cpus;
use artis_machine::{CpuList, Root};
use artis_partition::plan::{Left, Plan};

/// For `artis sched run` and for its `--check`, which therefore agree.
#[derive(Debug)]
pub struct Prospect {
    pub kernel: Kernel,
    pub cpus: Cpus,
    pub nrt: CpuList,
    /// Settings that cannot be changed, and why.
    pub left: Vec<Left>,
    /// Groups of others that have RT CPUs.
    pub claims: Vec<Claim>,
}

impl Prospect {
    /// Looks at the machine, and changes nothing.
    ///
    /// # Errors
    /// What stands in the way, each with what to do.
    pub fn of(root: &Root, rt: &CpuList, detector: Detector) -> Result<Self, Error> {
        let cpus = Cpus::read(root)?;
        let nrt = check_cpus(rt, &cpus)?;
        kubelet::has_none_of(root, rt)?;
        let kernel = Kernel::read(root)?;
        let privilege = Privilege::of_self(root)?;
        let missing = require::missing(root, &kernel, &privilege, detector, rt, &cpus);
        if !missing.is_empty() {
            return Err(Error::Missing(missing));
        }
        let groups = cpusets::groups(root)?;
        let mut claims = cpusets::claims(&groups, rt, &cpus.online);
        claims.retain(|claim| claim.is_exclusive() || claim.is_all_it_has());
        Ok(Self {
            left: Plan::for_sharing(root, rt, &nrt).left,
            kernel,
            cpus,
            nrt,
            claims,
        })
    }
}

/// The NRT CPUs, if the RT CPUs make sense on this machine.
///
/// # Errors
/// [`Error::Cpus`], a sentence.
pub fn check_cpus(rt: &CpuList, cpus: &Cpus) -> Result<CpuList, Error> {
    let nrt = nrt_cpus(rt, cpus).map_err(|unfit| Error::Cpus(unfit.to_string()))?;
    if cpus.possible.last().is_some_and(|last| last >= CPUS_MAX) {
        return Err(Error::Cpus(format!(
            "this machine has CPUs beyond {}, more than artis is built for; boot with \
             possible_cpus={CPUS_MAX}",
            CPUS_MAX - 1
        )));
    }
    Ok(nrt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(online: &str, possible: &str) -> Cpus {
        Cpus {
            online: online.parse().unwrap(),
            possible: possible.parse().unwrap(),
            isolated: CpuList::new(),
            isolated_at_boot: CpuList::new(),
            nohz_full: CpuList::new(),
        }
    }

    fn refusal(rt: &str, cpus: &Cpus) -> String {
        check_cpus(&rt.parse().unwrap(), cpus)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn what_a_pod_has_alone_is_not_scheduled() {
        let (_folder, root) = artis_testing::with_pod();
        let of = |rt: &str| Prospect::of(&root, &rt.parse().unwrap(), Detector::Syscall);
        let words = of("2-3").unwrap_err().to_string();
        assert!(
            words.contains("CPU 3 to pod 5a1e, container motor alone"),
            "{words}"
        );
        // What is wrong beside that is said: this root has no kernel.
        let words = of("2").unwrap_err().to_string();
        assert!(!words.contains("pod"), "{words}");
    }

    #[test]
    fn cpus_beyond_what_the_program_is_built_for_are_refused_in_words() {
        assert!(refusal("1", &machine("0-1", "0-2000")).contains("beyond 1023"));
    }
}
