// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs can be RT CPUs of a machine: what every command refuses in the same words.

use crate::cpulist::CpuList;
use crate::cpus::Cpus;

/// Why some CPUs cannot be RT CPUs here.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("no RT CPU was given; try --rt 1")]
    Nobody,
    #[error("this machine has no CPU {absent}; its CPUs are {possible}")]
    Absent { absent: CpuList, possible: CpuList },
    #[error("CPU {offline} is offline; bring it online first (online are {online})")]
    Offline { offline: CpuList, online: CpuList },
    #[error(
        "RT CPUs {rt} leave no NRT CPU, and interrupts, kernel threads and system calls need one; \
         leave out at least one of the CPUs {online}"
    )]
    NoOther { rt: CpuList, online: CpuList },
}

/// The NRT CPUs beside these RT CPUs.
///
/// # Errors
/// When the machine lacks one of them, one is offline, or no other CPU is left.
pub fn nrt_cpus(rt: &CpuList, cpus: &Cpus) -> Result<CpuList, Unfit> {
    let (online, possible) = (cpus.online.clone(), cpus.possible.clone());
    let (absent, offline, nrt) = (rt - &possible, rt - &online, &online - rt);
    if rt.is_empty() {
        Err(Unfit::Nobody)
    } else if !absent.is_empty() {
        Err(Unfit::Absent { absent, possible })
    } else if !offline.is_empty() {
        Err(Unfit::Offline { offline, online })
    } else if nrt.is_empty() {
        let rt = rt.clone();
        Err(Unfit::NoOther { rt, online })
    } else {
        Ok(nrt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_online_cpus_are_nrt_and_lists_that_make_no_sense_are_refused_in_words() {
        let nrt = |rt: &str, online: &str, possible: &str| {
            let list = |text: &str| CpuList::from_kernel(text).unwrap();
            let cpus = Cpus {
                online: list(online),
                possible: list(possible),
                isolated: CpuList::new(),
                isolated_at_boot: CpuList::new(),
                nohz_full: CpuList::new(),
            };
            match nrt_cpus(&list(rt), &cpus) {
                Ok(nrt) => nrt.to_string(),
                Err(why) => why.to_string(),
            }
        };
        assert_eq!(nrt("2-3", "0-3", "0-7"), "0-1");
        assert_eq!(nrt("4095", "0,2,4095", "0-4095"), "0,2");
        for (rt, online, possible, words) in [
            ("", "0-1", "0-1", "no RT CPU was given"),
            ("0-1", "0-1", "0-1", "leave no NRT CPU"),
            ("9", "0-1", "0-1", "no CPU 9; its CPUs are 0-1"),
            ("3", "0-2", "0-3", "CPU 3 is offline"),
        ] {
            let said = nrt(rt, online, possible);
            assert!(said.contains(words), "{said}");
        }
    }
}
