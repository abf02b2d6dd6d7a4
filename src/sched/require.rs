// SPDX-License-Identifier: GPL-2.0-only
//! What the scheduler needs of a machine, asked before anything is loaded.
//!
//! Each missing thing is reported with what to do about it. The kernel would only say EINVAL.

use super::detector::Detector;
use super::watch::breakpoint;
use artis_check::obstacle::Obstacle;
use artis_machine::cpus::Cpus;
use artis_machine::cpusets;
use artis_machine::kernel::Kernel;
use artis_machine::privilege::{Capability, Privilege};
use artis_machine::scx::{self, Interface};
use artis_machine::{CpuList, Root, arch};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types;
use std::error::Error;

/// Kernel functions that the detectors hook.
pub const HOOKS: &[&str] = &[
    arch::DELIVERS_SIGNALS,
    "bpf_get_numa_node_id",
    "force_sig",
    "force_sig_fault",
    "get_signal",
    "handle_mm_fault",
    "perf_pending_irq",
    "perf_tp_event",
    "ptrace_notify",
    "sched_cpu_deactivate",
    "sched_tick",
];

/// Per-CPU variables of the kernel that the BPF program reads.
pub const VARIABLES: &[&str] = &[
    "__irq_regs",
    arch::PREEMPT_COUNT,
    "hrtimer_bases",
    "runqueues",
];

/// What is missing, each with what to do. Empty: the scheduler can be loaded.
pub fn missing(
    root: &Root,
    kernel: &Kernel,
    privilege: &Privilege,
    detector: Detector,
    rt: &CpuList,
    cpus: &Cpus,
) -> Vec<String> {
    let mut missing = privileges(privilege);
    missing.extend(shield(root, rt));
    if let Some(ext) = kernel.sched_ext.as_ref().filter(|ext| ext.is_on()) {
        missing.push(format!(
            "another sched_ext scheduler is on ({}); stop it first",
            ext.ops.as_deref().unwrap_or("of unknown name")
        ));
    }
    let btf = scx::read_btf(root).unwrap_or_else(|error| {
        missing.push(in_words(&error));
        None
    });
    let interface = btf.as_ref().map(Interface::of);
    let obstacles = Obstacle::all(kernel, interface.as_ref(), Some(cpus));
    missing.extend(
        obstacles
            .iter()
            .map(|one| format!("{}; {}", one.cause(kernel), one.remedy(kernel))),
    );
    match detector {
        // Who lacks privileges can try nothing out.
        Detector::Breakpoint if missing.is_empty() => {
            missing.extend(
                breakpoint::functions(root)
                    .err()
                    .map(|reason| format!("{reason}; use --detector syscall")),
            );
        }
        Detector::Syscall if !root.exists("/sys/kernel/tracing/events/raw_syscalls/sys_enter") => {
            missing.push(
                "the system call tracepoint is not in /sys/kernel/tracing; \
                 `mount -t tracefs tracefs /sys/kernel/tracing`, or boot a kernel with \
                 CONFIG_FTRACE_SYSCALLS=y"
                    .to_owned(),
            );
        }
        Detector::Entry if !rt.is_subset(&cpus.nohz_full) => missing.push(format!(
            "the entry detector needs context tracking on every RT CPU; boot with \
             nohz_full={rt}, or use --detector syscall"
        )),
        _ => {}
    }
    if let Some(btf) = &btf
        // With another kernel all of them may be there.
        && obstacles.is_empty()
    {
        missing.extend(symbols(btf, &kernel.release));
    }
    if !kernel.btf {
        missing.push(
            "the kernel does not describe its types (/sys/kernel/btf/vmlinux); boot one with \
             CONFIG_DEBUG_INFO_BTF=y"
                .to_owned(),
        );
    }
    missing
}

/// Does the kernel inform a scheduler of CPU cgroups (CONFIG_EXT_GROUP_SCHED)?
pub fn tells_of_cgroups() -> bool {
    tells_of("cgroup_init")
}

/// Does it tell of their limits? 6.17 and newer do.
pub fn tells_of_limits() -> bool {
    tells_of(SET_LIMIT)
}

/// The operation that tells of a limit.
pub(super) const SET_LIMIT: &str = "cgroup_set_bandwidth";

fn tells_of(operation: &str) -> bool {
    Btf::from_vmlinux().is_ok_and(|btf| has_operation(&btf, operation))
}

/// Does the kernel's `sched_ext_ops` have this operation?
pub(super) fn has_operation(btf: &Btf<'_>, operation: &str) -> bool {
    has_member(btf, "sched_ext_ops", operation)
}

/// Has the kernel deadline servers for tasks of a BPF scheduler?
pub(super) fn has_servers(btf: &Btf<'_>) -> bool {
    has_member(btf, "rq", "ext_server")
}

fn has_member(btf: &Btf<'_>, structure: &str, member: &str) -> bool {
    let structure = btf.type_by_name::<types::Struct<'_>>(structure);
    structure.is_some_and(|structure| {
        let mut members = structure.iter();
        members.any(|one| one.name.is_some_and(|name| name == member))
    })
}

/// The shield of `artis partition` keeps away those that RT CPUs are to be shared with.
fn shield(root: &Root, rt: &CpuList) -> Option<String> {
    let shield = match cpusets::shield(root) {
        Ok(shield) => &shield? & rt,
        Err(error) => return Some(error.in_words()),
    };
    (!shield.is_empty()).then(|| {
        format!(
            "the shield of artis partition keeps other tasks from {}; end it with `artis partition \
             reset`, and apply without --shield",
            shield.in_words()
        )
    })
}

fn privileges(privilege: &Privilege) -> Vec<String> {
    let needed = [
        (Capability::SysAdmin, "CAP_SYS_ADMIN"),
        (Capability::Bpf, "CAP_BPF"),
        (Capability::Perfmon, "CAP_PERFMON"),
    ];
    let lacking: Vec<&str> = needed
        .into_iter()
        .filter(|(capability, _)| !privilege.has(*capability))
        .map(|(_, name)| name)
        .collect();
    if lacking.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "loading a scheduler takes privileges this process lacks ({}); run it as root, with sudo \
         or as a systemd service",
        lacking.join(", ")
    )]
}

fn symbols(btf: &Btf<'_>, release: &str) -> Option<String> {
    let mut unknown = absent(HOOKS, |name| {
        btf.type_by_name::<types::Func<'_>>(name).is_some()
    });
    unknown.extend(absent(VARIABLES, |name| {
        btf.type_by_name::<types::Var<'_>>(name).is_some()
    }));
    if unknown.is_empty() {
        return None;
    }
    Some(format!(
        "this kernel ({release}) cannot be watched at {}: not a version or an architecture that \
         artis knows; please report it",
        unknown.join(", ")
    ))
}

/// An error with its causes.
fn in_words(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |error| (*error).source());
    let words = std::iter::once(error.to_string()).chain(causes.map(ToString::to_string));
    words.collect::<Vec<_>>().join(": ")
}

/// Those of the names that the kernel does not have.
fn absent(names: &[&'static str], has: impl Fn(&str) -> bool) -> Vec<&'static str> {
    names.iter().copied().filter(|name| !has(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_machine::debugfs::Access;
    use artis_machine::distribution::Distribution;
    use artis_machine::kernel::{Preemption, SchedExt};
    use artis_machine::privilege::Limit;
    use std::fs;

    fn kernel() -> Kernel {
        Kernel {
            release: "6.12.0".to_owned(),
            version: String::new(),
            cmdline: String::new(),
            preemption: Preemption::Lazy,
            preemption_from: String::new(),
            sched_ext: None,
            btf: true,
            cgroup: None,
            rt_throttling: None,
            lockdown: None,
            debugfs: Access::Open,
            distribution: Distribution::default(),
        }
    }

    fn root_privilege() -> Privilege {
        let unlimited = Limit {
            soft: None,
            hard: None,
        };
        Privilege {
            uid: 0,
            euid: 0,
            capabilities: u64::MAX,
            rtprio: unlimited,
            nice: unlimited,
            memlock: unlimited,
            initial_user_namespace: true,
            seccomp_filter: false,
        }
    }

    fn traced() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = Root(folder.path().to_owned());
        fs::create_dir_all(root.path("/sys/kernel/tracing/events/raw_syscalls/sys_enter")).unwrap();
        (folder, root)
    }

    fn two_cpus() -> Cpus {
        Cpus {
            online: "0-1".parse().unwrap(),
            possible: "0-1".parse().unwrap(),
            isolated: CpuList::new(),
            isolated_at_boot: CpuList::new(),
            nohz_full: CpuList::new(),
        }
    }

    fn ask(kernel: &Kernel, privilege: &Privilege, detector: Detector) -> Vec<String> {
        let (_folder, root) = traced();
        let rt = "1".parse().unwrap();
        missing(&root, kernel, privilege, detector, &rt, &two_cpus())
    }

    #[test]
    fn a_kernel_without_sched_ext_is_named_once_with_the_way_out() {
        let found = ask(&kernel(), &root_privilege(), Detector::Syscall);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("6.12.0") && found[0].contains("6.16 or newer"),
            "{found:?}"
        );
    }

    #[test]
    fn another_scheduler_is_named() {
        let kernel = Kernel {
            sched_ext: Some(SchedExt {
                state: "enabled".to_owned(),
                ops: Some("scx_other".to_owned()),
            }),
            btf: false,
            ..kernel()
        };
        let found = ask(&kernel, &root_privilege(), Detector::Syscall);
        assert!(found[0].contains("scx_other"), "{found:?}");
        assert!(found[1].contains("CONFIG_DEBUG_INFO_BTF"), "{found:?}");
    }

    #[test]
    fn a_kernel_that_is_not_preemptible_is_refused() {
        let kernel = Kernel {
            preemption: Preemption::Voluntary,
            ..kernel()
        };
        let found = ask(&kernel, &root_privilege(), Detector::Syscall);
        assert!(
            found
                .iter()
                .any(|text| text.contains("CONFIG_PREEMPT_DYNAMIC")),
            "{found:?}"
        );
    }

    #[test]
    fn missing_capabilities_are_named() {
        let privilege = Privilege {
            capabilities: 1 << Capability::Bpf as u64,
            ..root_privilege()
        };
        let found = ask(&kernel(), &privilege, Detector::Syscall);
        assert!(
            found[0].contains("(CAP_SYS_ADMIN, CAP_PERFMON)"),
            "{found:?}"
        );
    }

    #[test]
    fn the_entry_detector_wants_nohz_full() {
        let found = ask(&kernel(), &root_privilege(), Detector::Entry);
        assert!(
            found.iter().any(|text| text.contains("nohz_full=1")),
            "{found:?}"
        );
    }

    #[test]
    fn a_missing_tracefs_is_reported_with_the_mount_command() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root(folder.path().to_owned());
        let rt = "1".parse().unwrap();
        let found = missing(
            &root,
            &kernel(),
            &root_privilege(),
            Detector::Syscall,
            &rt,
            &two_cpus(),
        );
        assert!(
            found.iter().any(|text| text.contains("mount -t tracefs")),
            "{found:?}"
        );
    }
}
