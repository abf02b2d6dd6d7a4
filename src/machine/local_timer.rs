// SPDX-License-Identifier: GPL-2.0-only
//! How exact the timer of a CPU is that the kernel's timers use.

use crate::Root;
use crate::virtualisation::{CPU_FILE, has_flag};

/// Does a timer's interrupt come as soon as the CPU's clock says that it is due? It does where the
/// CPU compares the two itself (`tsc_deadline_timer`). Where a timer counts on its own, or a
/// hypervisor keeps it, the interrupt may come later. False where that is not known.
pub fn is_exact(root: &Root) -> bool {
    root.hint(CPU_FILE)
        .is_some_and(|cpus| has_flag(&cpus, "tsc_deadline_timer") && !has_flag(&cpus, "hypervisor"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::canned;

    #[test]
    fn a_cpu_that_compares_is_exact_unless_a_hypervisor_keeps_its_timer() {
        for (flags, exact) in [
            ("flags\t\t: tsc tsc_deadline_timer\n", true),
            ("flags\t\t: tsc\n", false),
            ("flags\t\t: tsc tsc_deadline_timer hypervisor\n", false),
        ] {
            let (_folder, root) = canned(&[("proc/cpuinfo", flags)]);
            assert_eq!(is_exact(&root), exact, "{flags}");
        }
        let (_folder, root) = canned(&[]);
        assert!(!is_exact(&root));
    }
}
