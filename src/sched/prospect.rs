// SPDX-License-Identifier: GPL-2.0-only
//! What comes of scheduling on a machine, asked before anything is changed.

use super::detector::Detector;
use super::program::CPUS_MAX;
use super::require;
use super::service::Error;
use artis_machine::cpus::Cpus;
use artis_machine::cpusets::{self, Claim};
use artis_machine::kernel::Kernel;
use artis_machine::privilege::Privilege;
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
    if rt.is_empty() {
        return Err(Error::Cpus("no RT CPU was given; try --rt 1".to_owned()));
    }
    let absent = rt - &cpus.possible;
    if !absent.is_empty() {
        return Err(Error::Cpus(format!(
            "this machine has no CPU {absent}; its CPUs are {}",
            cpus.possible
        )));
    }
    let offline = rt - &cpus.online;
    if !offline.is_empty() {
        return Err(Error::Cpus(format!(
            "CPU {offline} is offline; bring it online first (online are {})",
            cpus.online
        )));
    }
    let nrt = &cpus.online - rt;
    if nrt.is_empty() {
        return Err(Error::Cpus(format!(
            "RT CPUs {rt} leave no NRT CPU, and system calls need one; leave out at least one \
             of the CPUs {}",
            cpus.online
        )));
    }
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
    fn the_rest_of_the_online_cpus_is_nrt() {
        let nrt = check_cpus(&"2-3".parse().unwrap(), &machine("0-3", "0-7")).unwrap();
        assert_eq!(nrt.to_string(), "0-1");
    }

    #[test]
    fn lists_that_make_no_sense_here_are_refused_in_words() {
        let two = machine("0-1", "0-1");
        assert!(refusal("0-1", &two).contains("leave no NRT CPU"));
        assert!(refusal("9", &two).contains("no CPU 9"));
        assert!(refusal("3", &machine("0-2", "0-3")).contains("offline"));
        assert!(refusal("1", &machine("0-1", "0-2000")).contains("beyond 1023"));
    }
}
