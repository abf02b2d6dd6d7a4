// SPDX-License-Identifier: GPL-2.0-only
//! RCU: who runs its callbacks and whether they may wait, and the thread of its grace periods.
//!
//! Source: `Documentation/admin-guide/kernel-parameters.txt`, `rcu_nocbs=`,
//! `rcutree.enable_rcu_lazy=` and `rcutree.jiffies_till_first_fqs=`.

use super::kernel_threads::{self, KernelThread};
use super::{CpuList, Root, Unreadable};

/// The threads that drive grace periods: of preemptible RCU, and of the other kind.
const THREADS: [&str; 2] = ["rcu_preempt", "rcu_sched"];

/// How many ticks after a grace period began its thread looks for idle CPUs, which cannot report.
pub const FIRST_LOOK_FILE: &str = "/sys/module/rcutree/parameters/jiffies_till_first_fqs";

/// Exists in a kernel with `CONFIG_RCU_LAZY`.
pub const LAZY_FILE: &str = "/sys/module/rcutree/parameters/enable_rcu_lazy";

/// The threads that drive grace periods.
pub fn threads(root: &Root) -> impl Iterator<Item = KernelThread> {
    let threads = kernel_threads::read(root).into_iter();
    threads.filter(|thread| THREADS.contains(&thread.name.as_str()))
}

/// Such a thread that is no real-time task; it is one on `PREEMPT_RT`.
pub fn normal_thread(root: &Root) -> Option<KernelThread> {
    threads(root).find(|thread| thread.priority == 0)
}

/// Do callbacks wait, for seconds, where threads run them in place of softirqs?
///
/// # Errors
/// When the file exists and cannot be read.
pub fn may_wait(root: &Root) -> Result<bool, Unreadable> {
    Ok(root.read(LAZY_FILE)?.as_deref() == Some("Y"))
}

/// The boot argument that takes the work of RCU's callbacks off RT CPUs.
///
/// The callbacks of any CPU begin grace periods, and at the end of each an RT CPU reports, in a
/// softirq behind its tick. Where callbacks may wait those of all CPUs do, and few periods begin.
#[must_use]
pub fn callbacks_argument(may_wait: bool, rt: &CpuList) -> String {
    if may_wait {
        "rcu_nocbs=all".to_owned()
    } else {
        format!("rcu_nocbs={rt}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::canned;

    #[test]
    fn callbacks_wait_where_the_kernel_says_so() {
        for (files, waits, argument) in [
            (&[(LAZY_FILE, "Y\n")][..], true, "rcu_nocbs=all"),
            (&[(LAZY_FILE, "N\n")], false, "rcu_nocbs=2-3"),
            (&[], false, "rcu_nocbs=2-3"),
        ] {
            let (_folder, root) = canned(files);
            assert_eq!(may_wait(&root).unwrap(), waits);
            let rt: CpuList = "2-3".parse().unwrap();
            assert_eq!(callbacks_argument(waits, &rt), argument);
        }
    }
}
