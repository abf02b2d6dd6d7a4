// SPDX-License-Identifier: GPL-2.0-only
//! What the scheduler needs of a machine, asked before anything is loaded.
//!
//! Each missing thing is reported with what to do about it. The kernel would only say EINVAL.

use super::detector::Detector;
use artis_machine::kernel::Kernel;
use artis_machine::privilege::{Capability, Privilege};
use artis_machine::{CpuList, Root};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types;

/// Where to get a kernel that has it all.
const NEWER_KERNEL: &str = "boot Linux 7.1 or newer with CONFIG_SCHED_CLASS_EXT=y (Debian: \
     linux-image-amd64 from trixie-backports), or try it in `artis lab run --kernel newest`";

/// Kernel functions that the BPF program calls; the newest of them came with Linux 7.1.
const FUNCTIONS: &[&str] = &[
    "bpf_iter_scx_dsq_destroy",
    "bpf_iter_scx_dsq_new",
    "bpf_iter_scx_dsq_next",
    "__scx_bpf_dsq_insert_vtime",
    "__scx_bpf_select_cpu_and",
    "scx_bpf_create_dsq",
    "scx_bpf_dsq_insert",
    "scx_bpf_dsq_move",
    "scx_bpf_dsq_move_to_local___v2",
    "scx_bpf_dsq_nr_queued",
    "scx_bpf_dsq_peek",
    "scx_bpf_dsq_reenq",
    "scx_bpf_exit_bstr",
    "scx_bpf_kick_cpu",
    "scx_bpf_now",
    "scx_bpf_pick_idle_cpu",
    "scx_bpf_task_cpu",
    "scx_bpf_task_running",
    "scx_bpf_task_set_slice",
];

/// Kernel functions that the detectors hook.
const HOOKS: &[&str] = &[
    "arch_do_signal_or_restart",
    "bpf_get_numa_node_id",
    "get_signal",
    "handle_mm_fault",
    "perf_tp_event",
    "ptrace_notify",
    "sched_cpu_deactivate",
    "sched_tick",
];

/// Per-CPU variables of the kernel that the BPF program reads.
const VARIABLES: &[&str] = &[
    "__irq_regs",
    "__preempt_count",
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
    tickless: &CpuList,
) -> Vec<String> {
    let mut missing = privileges(privilege);
    match &kernel.sched_ext {
        None => missing.push(format!(
            "this kernel ({}) has no sched_ext; {NEWER_KERNEL}",
            kernel.release
        )),
        Some(ext) if ext.is_on() => missing.push(format!(
            "another sched_ext scheduler is on ({}); stop it first",
            ext.ops.as_deref().unwrap_or("of unknown name")
        )),
        Some(_) => {}
    }
    if kernel.preemption.preemptible() == Some(false) {
        missing.push(format!(
            "the kernel's preemption model is {:?}: RT0 would wait for other tasks' system calls; \
             boot with preempt=lazy or preempt=full, or write that word to \
             /sys/kernel/debug/sched/preempt",
            kernel.preemption.to_string()
        ));
    }
    match detector {
        Detector::Syscall if !root.exists("/sys/kernel/tracing/events/raw_syscalls/sys_enter") => {
            missing.push(
                "the system call tracepoint is not in /sys/kernel/tracing; \
                 `mount -t tracefs tracefs /sys/kernel/tracing`, or boot a kernel with \
                 CONFIG_FTRACE_SYSCALLS=y"
                    .to_owned(),
            );
        }
        Detector::Entry if !rt.is_subset(tickless) => missing.push(format!(
            "the entry detector needs context tracking on every RT CPU; boot with \
             nohz_full={rt}, or use --detector syscall"
        )),
        _ => {}
    }
    if kernel.btf {
        // Without sched_ext it is enough to say that: no list of its functions.
        if kernel.sched_ext.is_some() {
            missing.extend(symbols(&kernel.release));
        }
    } else {
        missing.push(
            "the kernel does not describe its types (/sys/kernel/btf/vmlinux); boot one with \
             CONFIG_DEBUG_INFO_BTF=y"
                .to_owned(),
        );
    }
    missing
}

/// Does the kernel tell a scheduler of CPU cgroups (CONFIG_EXT_GROUP_SCHED)?
pub fn hands_over_cgroups() -> bool {
    let Ok(btf) = Btf::from_vmlinux() else {
        return false;
    };
    let operations = btf.type_by_name::<types::Struct<'_>>("sched_ext_ops");
    operations.is_some_and(|operations| {
        operations
            .iter()
            .any(|member| member.name.is_some_and(|name| name == "cgroup_init"))
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

fn symbols(release: &str) -> Vec<String> {
    let btf = match Btf::from_vmlinux() {
        Ok(btf) => btf,
        Err(error) => return vec![format!("could not read the kernel's BTF: {error:#}")],
    };
    let has_function = |name: &str| btf.type_by_name::<types::Func<'_>>(name).is_some();
    let has_variable = |name: &str| btf.type_by_name::<types::Var<'_>>(name).is_some();
    let mut missing = Vec::new();
    let functions = absent(FUNCTIONS, has_function);
    if !functions.is_empty() {
        missing.push(format!(
            "this kernel ({release}) lacks {}; {NEWER_KERNEL}",
            functions.join(", ")
        ));
    }
    let mut unknown = absent(HOOKS, has_function);
    unknown.extend(absent(VARIABLES, has_variable));
    if !unknown.is_empty() {
        missing.push(format!(
            "this kernel ({release}) cannot be watched at {}: not a version or an architecture \
             that artis knows; please report it",
            unknown.join(", ")
        ));
    }
    missing
}

/// Those of the names that the kernel does not have.
fn absent(names: &[&'static str], has: impl Fn(&str) -> bool) -> Vec<&'static str> {
    names.iter().copied().filter(|name| !has(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
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

    fn ask(kernel: &Kernel, privilege: &Privilege, detector: Detector) -> Vec<String> {
        let (_folder, root) = traced();
        let rt = "1".parse().unwrap();
        missing(&root, kernel, privilege, detector, &rt, &CpuList::new())
    }

    #[test]
    fn a_kernel_without_sched_ext_is_told_once_with_the_way_out() {
        let found = ask(&kernel(), &root_privilege(), Detector::Syscall);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("6.12.0") && found[0].contains("trixie-backports"),
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
            found.iter().any(|text| text.contains("preempt=lazy")),
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
            &CpuList::new(),
        );
        assert!(
            found.iter().any(|text| text.contains("mount -t tracefs")),
            "{found:?}"
        );
    }
}
