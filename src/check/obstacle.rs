// SPDX-License-Identifier: GPL-2.0-only
//! Why `artis sched` cannot run on a kernel, as far as it can be seen without trying, and what the
//! users of its distribution can do. `artis check` and `artis sched run` say it in the same words.

use artis_machine::CpuList;
use artis_machine::cpus::Cpus;
use artis_machine::debugfs::Access;
use artis_machine::kernel::{DEBUGFS, Kernel, Preemption};
use artis_machine::scx::Interface;

/// A reason why `artis sched` cannot run on a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    NoSchedExt,
    /// Functions that are not there.
    TooOld(Vec<&'static str>),
    /// Functions that are described wrongly.
    Damaged(Vec<String>),
    /// PREEMPT_RT, where a kick waits for a thread.
    SoftKicks,
    NotPreemptible(Preemption),
    /// The level.
    Locked(String),
    /// CPUs that `isolcpus=` took out of the scheduler's domains.
    Isolated(CpuList),
}

impl Obstacle {
    /// What stands in the way on this kernel, as far as it can be seen without trying.
    pub fn all(kernel: &Kernel, interface: Option<&Interface>, cpus: Option<&Cpus>) -> Vec<Self> {
        let mut found = Vec::new();
        if kernel.sched_ext.is_none() {
            found.push(Self::NoSchedExt);
        } else if let Some(interface) = interface {
            // One reason for a change of kernel is enough.
            if !interface.damaged.is_empty() {
                found.push(Self::Damaged(interface.damaged.clone()));
            } else if !interface.lacks.is_empty() {
                found.push(Self::TooOld(interface.lacks.clone()));
            } else if kernel.preemption == Preemption::PreemptRt && !interface.hard_kicks {
                found.push(Self::SoftKicks);
            }
        }
        if kernel.preemption.preemptible() == Some(false) {
            found.push(Self::NotPreemptible(kernel.preemption));
        }
        // "integrity" only keeps debugfs from being written.
        if kernel.lockdown.as_deref() == Some("confidentiality") {
            found.push(Self::Locked("confidentiality".to_owned()));
        }
        // `scx_enable()` of kernel/sched/ext.c wants all CPUs in the domains.
        let isolated = cpus.map(|cpus| &cpus.isolated_at_boot);
        if let Some(isolated) = isolated.filter(|isolated| !isolated.is_empty()) {
            found.push(Self::Isolated(isolated.clone()));
        }
        found
    }

    /// A stable name.
    pub(super) fn id(&self) -> &'static str {
        match self {
            Self::NoSchedExt => "no_sched_ext",
            Self::TooOld(_) => "sched_ext_too_old",
            Self::Damaged(_) => "damaged_btf",
            Self::SoftKicks => "soft_kicks",
            Self::NotPreemptible(_) => "preemption_model",
            Self::Locked(_) => "lockdown",
            Self::Isolated(_) => "isolated_cpus",
        }
    }

    /// What it is, as a sentence without its full stop.
    pub fn cause(&self, kernel: &Kernel) -> String {
        let release = &kernel.release;
        match self {
            Self::NoSchedExt => format!("this kernel ({release}) has no sched_ext"),
            Self::TooOld(lacks) => format!(
                "the sched_ext of this kernel ({release}) is older than that of Linux 6.16: it \
                 lacks {}",
                few(lacks)
            ),
            Self::Damaged(functions) => format!(
                "this kernel ({release}) describes functions of sched_ext wrongly ({}: the BTF was \
                 made by an old pahole), so it refuses every scheduler that calls them",
                few(functions)
            ),
            Self::SoftKicks => format!(
                "on this PREEMPT_RT kernel ({release}) sched_ext cannot interrupt a CPU at once, \
                 which came with Linux 6.18: system calls would go on on RT CPUs"
            ),
            Self::NotPreemptible(model) => format!(
                "the kernel's preemption model is \"{model}\": RT0 would wait for other tasks' \
                 system calls"
            ),
            Self::Locked(level) => {
                format!("the kernel is locked down ({level}), and no BPF program may look into it")
            }
            Self::Isolated(cpus) => format!(
                "the kernel was booted with isolcpus= for {}, and then takes no BPF scheduler",
                cpus.in_words()
            ),
        }
    }

    /// What the user of this machine can do.
    pub fn remedy(&self, kernel: &Kernel) -> String {
        let distribution = &kernel.distribution;
        match self {
            Self::NoSchedExt | Self::TooOld(_) => format!(
                "boot Linux 6.16 or newer with CONFIG_SCHED_CLASS_EXT=y ({}), or try one in \
                 `artis lab run --kernel newest`",
                distribution.newest_kernel()
            ),
            Self::Damaged(_) => format!(
                "boot another kernel: 7.0 and older are never damaged, newer builds are good again \
                 ({})",
                distribution.newest_kernel()
            ),
            Self::SoftKicks => format!(
                "boot Linux 6.18 or newer, or the same version without PREEMPT_RT ({})",
                distribution.newest_kernel()
            ),
            Self::NotPreemptible(_) if !kernel.version.contains("PREEMPT_DYNAMIC") => format!(
                "it was built so; boot a kernel with CONFIG_PREEMPT_DYNAMIC=y ({})",
                distribution.newest_kernel()
            ),
            Self::NotPreemptible(_) => {
                let boot = distribution.boot_with("preempt=full");
                let now = format!("`echo full | sudo tee {DEBUGFS}`, and for each boot");
                match (kernel.debugfs, kernel.debugfs.remedy()) {
                    (Access::Open, _) => format!("{now} {boot}"),
                    (Access::NotMounted, Some(mount)) => format!("{mount}, then {now} {boot}"),
                    _ => boot,
                }
            }
            Self::Locked(_) => "boot without lockdown=confidentiality; where secure boot sets it, \
                                switch that off in the firmware"
                .to_owned(),
            Self::Isolated(cpus) => {
                format!("boot without isolcpus=, or with isolcpus=managed_irq,{cpus}")
            }
        }
    }
}

/// The first of many names.
fn few(names: &[impl AsRef<str>]) -> String {
    const SHOWN: usize = 2;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    let rest = names.len().saturating_sub(SHOWN);
    match rest {
        0 => shown.join(", "),
        rest => format!("{} and {rest} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_machine::kernel::SchedExt;
    use artis_testing::canned;

    const DEBIAN: &str = "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nID=debian\n";

    /// A machine that lacks nothing, with these files changed.
    fn kernel(files: &[(&str, &str)]) -> Kernel {
        let usual = [
            ("proc/sys/kernel/osrelease", "7.1.13\n"),
            (
                "proc/sys/kernel/version",
                "#1 SMP PREEMPT_DYNAMIC Debian 7.1.13-1\n",
            ),
            ("sys/kernel/debug/sched/preempt", "full (lazy)\n"),
            ("sys/kernel/sched_ext/state", "disabled\n"),
            (
                "sys/kernel/security/lockdown",
                "[none] integrity confidentiality\n",
            ),
            ("etc/os-release", DEBIAN),
        ];
        let (_folder, root) = canned(&[&usual, files].concat());
        Kernel::read(&root).unwrap()
    }

    /// The only obstacle, in one sentence.
    #[track_caller]
    fn sentence(kernel: &Kernel, interface: &Interface) -> String {
        let found = Obstacle::all(kernel, Some(interface), None);
        assert_eq!(found.len(), 1, "{found:?}");
        format!("{}; {}", found[0].cause(kernel), found[0].remedy(kernel))
    }

    fn good() -> Interface {
        Interface {
            hard_kicks: true,
            ..Interface::default()
        }
    }

    #[test]
    fn a_kernel_that_has_it_all_is_taken() {
        assert_eq!(Obstacle::all(&kernel(&[]), Some(&good()), None), []);
    }

    #[test]
    fn damaged_btf_is_recognised_by_its_functions_and_not_from_the_version() {
        let interface = Interface {
            damaged: vec!["scx_bpf_kick_cpu".to_owned()],
            ..good()
        };
        let text = sentence(&kernel(&[]), &interface);
        for words in ["7.1.13", "scx_bpf_kick_cpu", "pahole", "trixie-backports"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn an_old_sched_ext_is_recognised_by_what_it_lacks() {
        let interface = Interface {
            lacks: vec!["__scx_bpf_select_cpu_and", "scx_bpf_now", "c", "d"],
            ..good()
        };
        let text = sentence(&kernel(&[]), &interface);
        assert!(text.contains("scx_bpf_now and 2 more"), "{text}");
        assert!(text.contains("6.16"), "{text}");
    }

    #[test]
    fn preempt_rt_needs_kicks_that_interrupt() {
        let version = ("proc/sys/kernel/version", "#1 SMP PREEMPT_RT\n");
        let soft = Interface::default();
        let text = sentence(&kernel(&[version]), &soft);
        assert!(
            text.contains("PREEMPT_RT") && text.contains("6.18"),
            "{text}"
        );
        assert_eq!(Obstacle::all(&kernel(&[]), Some(&soft), None), []);
    }

    #[test]
    fn without_sched_ext_its_functions_are_not_listed() {
        let kernel = Kernel {
            sched_ext: None::<SchedExt>,
            ..kernel(&[])
        };
        let text = sentence(
            &kernel,
            &Interface {
                lacks: vec!["scx_bpf_now"],
                ..good()
            },
        );
        assert!(text.contains("has no sched_ext"), "{text}");
    }

    #[test]
    fn a_model_that_can_be_chosen_is_chosen_for_each_boot() {
        let voluntary = ("sys/kernel/debug/sched/preempt", "none (voluntary) full\n");
        let text = sentence(&kernel(&[voluntary]), &good());
        assert!(text.contains("echo full"), "{text}");
        assert!(text.contains("update-grub"), "{text}");
        // Nobody writes to debugfs where the kernel is locked down.
        let locked = ("sys/kernel/security/lockdown", "none [integrity]\n");
        let chosen = ("proc/cmdline", "preempt=voluntary");
        let text = sentence(&kernel(&[voluntary, locked, chosen]), &good());
        assert!(
            !text.contains("echo full") && text.contains("preempt=full"),
            "{text}"
        );
        let fixed = ("proc/sys/kernel/version", "#1 SMP\n");
        let no_debugfs = ("sys/kernel/debug/sched/preempt", "");
        let text = sentence(&kernel(&[fixed, no_debugfs]), &good());
        assert!(text.contains("CONFIG_PREEMPT_DYNAMIC"), "{text}");
    }

    #[test]
    fn isolcpus_is_named_where_it_takes_cpus_out_of_the_domains() {
        let found = |cmdline: &str, shown: &str| {
            let (_folder, root) = canned(&[
                ("proc/cmdline", cmdline),
                ("sys/devices/system/cpu/online", "0-1\n"),
                ("sys/devices/system/cpu/possible", "0-1\n"),
                ("sys/devices/system/cpu/isolated", shown),
            ]);
            let cpus = Cpus::read(&root).unwrap();
            Obstacle::all(&kernel(&[]), Some(&good()), Some(&cpus))
        };
        let isolated = found("isolcpus=domain,managed_irq,1", "1\n");
        assert_eq!(isolated, [Obstacle::Isolated("1".parse().unwrap())]);
        assert!(
            isolated[0]
                .remedy(&kernel(&[]))
                .contains("isolcpus=managed_irq,1")
        );
        assert_eq!(found("isolcpus=managed_irq,1", ""), []);
        assert_eq!(found("quiet", ""), []);
    }

    #[test]
    fn only_confidentiality_locks_it_out() {
        let level = |text| kernel(&[("sys/kernel/security/lockdown", text)]);
        let strict = level("none integrity [confidentiality]\n");
        assert!(sentence(&strict, &good()).contains("lockdown=confidentiality"));
        let mild = level("none [integrity] confidentiality\n");
        assert_eq!(Obstacle::all(&mild, Some(&good()), None), []);
    }
}
