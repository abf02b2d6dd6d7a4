// SPDX-License-Identifier: GPL-2.0-only
//! The machines: what is changed of the workstation, and what each command has to say of it.

use artis::machine::Root;
use artis::partition::change::Kind;
use artis_sched::require;

/// One machine.
pub struct Row {
    pub name: &'static str,
    /// Files with their new text; none: the file or folder is removed.
    pub changes: &'static [(&'static str, Option<&'static str>)],
    pub rt: &'static str,
    /// Words of what keeps the scheduler from running; empty: it runs.
    pub missing: &'static str,
    /// What the plan leaves as it is, and words of why.
    pub left: &'static [(Kind, &'static str)],
    /// Words of why `apply --shield` changes nothing; empty: it goes on.
    pub refused: &'static str,
    /// A finding of `artis check`, and words of what it saw.
    pub finding: Option<(&'static str, &'static str)>,
}

/// CPU 1 is RT, nothing is missing, nothing is refused.
const PLAIN: Row = Row {
    name: "",
    changes: &[],
    rt: "1",
    missing: "",
    left: &[],
    refused: "",
    finding: None,
};

const CMDLINE: &str = "/proc/cmdline";
const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";
const DEBUGFS: &str = "/sys/kernel/debug/sched";
const MOUNTS: &str = "/proc/self/mounts";
const STATUS: &str = "/proc/self/status";

pub const ROWS: &[Row] = &[
    Row {
        name: "Secure Boot",
        changes: &[(LOCKDOWN, Some("none [integrity] confidentiality"))],
        left: &[(Kind::DeadlineServers, "locked down (Secure Boot)")],
        finding: Some(("no_debugfs", "locked down (Secure Boot)")),
        ..PLAIN
    },
    Row {
        name: "Secure Boot, securityfs not mounted, debugfs neither",
        changes: &[
            (LOCKDOWN, None),
            (CMDLINE, Some("quiet lockdown=integrity")),
            (DEBUGFS, None),
            (MOUNTS, Some("sysfs /sys sysfs rw 0 0")),
            ("/boot/config-7.3.4-amd64", Some("CONFIG_PREEMPT_LAZY=y")),
        ],
        left: &[(Kind::DeadlineServers, "locked down (Secure Boot)")],
        finding: Some(("no_debugfs", "locked down (Secure Boot)")),
        ..PLAIN
    },
    Row {
        name: "locked down more strictly",
        changes: &[(LOCKDOWN, Some("none integrity [confidentiality]"))],
        missing: "lockdown=confidentiality",
        left: &[(Kind::DeadlineServers, "locked down")],
        finding: Some(("lockdown", "confidentiality")),
        ..PLAIN
    },
    Row {
        name: "debugfs not mounted",
        changes: &[
            (DEBUGFS, None),
            (MOUNTS, Some("sysfs /sys sysfs rw 0 0")),
            (CMDLINE, Some("quiet preempt=full")),
        ],
        left: &[(Kind::DeadlineServers, "mount -t debugfs")],
        finding: Some(("no_debugfs", "not mounted")),
        ..PLAIN
    },
    Row {
        name: "debugfs=off",
        changes: &[
            (DEBUGFS, None),
            (MOUNTS, Some("sysfs /sys sysfs rw 0 0")),
            (CMDLINE, Some("quiet preempt=full debugfs=off")),
        ],
        left: &[(Kind::DeadlineServers, "boot without debugfs=")],
        finding: Some(("no_debugfs", "booted without debugfs")),
        ..PLAIN
    },
    Row {
        name: "a kernel that shows no scheduler in debugfs",
        changes: &[(DEBUGFS, None), (CMDLINE, Some("quiet preempt=full"))],
        left: &[(Kind::DeadlineServers, "does not show them")],
        finding: Some(("no_debugfs", "does not show them")),
        ..PLAIN
    },
    Row {
        name: "isolcpus=domain,managed_irq",
        changes: &[
            (CMDLINE, Some("quiet isolcpus=domain,managed_irq,1")),
            (ISOLATED, Some("1")),
            ("/sys/fs/cgroup/cpuset.cpus.isolated", Some("1")),
        ],
        missing: "booted with isolcpus= for CPU 1",
        finding: Some((
            "isolated_cpus",
            "CPU 1 is left out by the kernel's scheduler (isolcpus=)",
        )),
        ..PLAIN
    },
    Row {
        name: "isolcpus= of another CPU, as a range with steps",
        changes: &[
            (CMDLINE, Some("quiet isolcpus=2-3:1/1")),
            (ISOLATED, Some("2-3")),
        ],
        missing: "booted with isolcpus= for CPUs 2-3",
        finding: Some(("isolated_cpus", "booted with isolcpus= for CPUs 2-3")),
        ..PLAIN
    },
    Row {
        name: "isolcpus=managed_irq",
        changes: &[(CMDLINE, Some("quiet isolcpus=managed_irq,1"))],
        ..PLAIN
    },
    Row {
        name: "isolcpus=nohz",
        changes: &[(CMDLINE, Some("quiet isolcpus=nohz,1"))],
        ..PLAIN
    },
    Row {
        name: "a pod of Kubernetes' static policy",
        changes: &[
            ("/sys/fs/cgroup/kubepods/cpuset.cpus", Some("")),
            ("/sys/fs/cgroup/kubepods/pod/cpuset.cpus", Some("1")),
            ("/sys/fs/cgroup/kubepods/shared/cpuset.cpus", Some("0,2-3")),
        ],
        refused: "/sys/fs/cgroup/kubepods/pod may run on CPU 1 only",
        finding: Some((
            "claimed_cpus",
            "/sys/fs/cgroup/kubepods/pod may run on CPU 1 only",
        )),
        ..PLAIN
    },
    Row {
        name: "somebody's isolated partition",
        changes: &[
            ("/sys/fs/cgroup/other/cpuset.cpus", Some("1")),
            (
                "/sys/fs/cgroup/other/cpuset.cpus.partition",
                Some("isolated"),
            ),
            ("/sys/fs/cgroup/cpuset.cpus.isolated", Some("1")),
        ],
        left: &[(Kind::CpusetShield, "cpuset partition /sys/fs/cgroup/other")],
        finding: Some((
            "isolated_cpus",
            "CPU 1 is left out by the kernel's scheduler (a cpuset",
        )),
        ..PLAIN
    },
    Row {
        name: "somebody's exclusive CPUs",
        changes: &[
            ("/sys/fs/cgroup/other/cpuset.cpus", Some("")),
            ("/sys/fs/cgroup/other/cpuset.cpus.exclusive", Some("1-2")),
        ],
        left: &[(
            Kind::CpusetShield,
            "reserved for the group /sys/fs/cgroup/other",
        )],
        finding: Some((
            "claimed_cpus",
            "reserved for the group /sys/fs/cgroup/other",
        )),
        ..PLAIN
    },
    Row {
        name: "artis's own shield",
        changes: &[
            ("/sys/fs/cgroup/artis-rt/cpuset.cpus", Some("1")),
            (
                "/sys/fs/cgroup/artis-rt/cpuset.cpus.partition",
                Some("isolated"),
            ),
        ],
        missing: "artis partition reset",
        finding: Some(("isolated_cpus", "the shield of artis partition")),
        ..PLAIN
    },
    Row {
        name: "managed interrupts",
        changes: &[
            (
                "/sys/kernel/debug/irq/irqs/24",
                Some("IRQD_AFFINITY_MANAGED"),
            ),
            ("/proc/irq/24/smp_affinity_list", Some("1")),
        ],
        left: &[(Kind::IrqAffinity, "managed")],
        ..PLAIN
    },
    Row {
        name: "real-time group scheduling",
        changes: &[("/boot/config-7.3.4-amd64", Some("CONFIG_RT_GROUP_SCHED=y"))],
        left: &[(Kind::CpusetShield, "rt_group_sched=0")],
        finding: Some(("no_real_time_budget", "/user.slice")),
        ..PLAIN
    },
    Row {
        name: "a container without privileges",
        changes: &[
            ("/.dockerenv", Some("")),
            ("/sys/fs/cgroup/cgroup.type", Some("domain")),
            (DEBUGFS, None),
            (MOUNTS, Some("sysfs /sys sysfs ro 0 0")),
            (CMDLINE, Some("quiet preempt=full")),
            (STATUS, Some("Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb")),
        ],
        missing: "privileges this process lacks (CAP_SYS_ADMIN, CAP_BPF, CAP_PERFMON)",
        left: &[
            (Kind::DeadlineServers, "run artis on the host"),
            (Kind::CpusetShield, "container"),
        ],
        finding: Some(("no_debugfs", "a container does not see them")),
        ..PLAIN
    },
    Row {
        name: "CPUs offline",
        changes: &[("/sys/devices/system/cpu/online", Some("0-1,3"))],
        rt: "3",
        ..PLAIN
    },
    Row {
        name: "no sched_ext",
        changes: &[("/sys/kernel/sched_ext", None)],
        missing: "has no sched_ext",
        finding: Some(("no_sched_ext", "has no sched_ext")),
        ..PLAIN
    },
    Row {
        name: "another scheduler",
        changes: &[
            ("/sys/kernel/sched_ext/state", Some("enabled")),
            ("/sys/kernel/sched_ext/root/ops", Some("scx_other")),
        ],
        missing: "another sched_ext scheduler is on (scx_other)",
        finding: Some(("other_scheduler", "scx_other")),
        ..PLAIN
    },
    Row {
        name: "not preemptible, and locked down",
        changes: &[
            (LOCKDOWN, Some("none [integrity] confidentiality")),
            (CMDLINE, Some("quiet preempt=none")),
            ("/sys/kernel/debug/sched/preempt", Some("")),
        ],
        missing: "the kernel's preemption model is \"none\"",
        finding: Some(("preemption_model", "none")),
        ..PLAIN
    },
    Row {
        name: "cgroup v1",
        changes: &[
            ("/sys/fs/cgroup/cgroup.controllers", None),
            ("/sys/fs/cgroup/cpuset/pod/cpuset.cpus", Some("1")),
            (
                "/proc/self/cgroup",
                Some("3:cpuset:/\n2:cpu,cpuacct:/\n0::/"),
            ),
        ],
        left: &[(Kind::CpusetShield, "cgroup v1")],
        finding: Some((
            "claimed_cpus",
            "/sys/fs/cgroup/cpuset/pod may run on CPU 1 only",
        )),
        ..PLAIN
    },
    Row {
        name: "256 CPUs",
        changes: &[
            ("/sys/devices/system/cpu/online", Some("0-255")),
            ("/sys/devices/system/cpu/possible", Some("0-255")),
            ("/sys/devices/virtual/workqueue/cpumask", Some(ALL_256)),
            (
                "/sys/devices/virtual/workqueue/writeback/cpumask",
                Some(ALL_256),
            ),
            ("/proc/irq/default_smp_affinity", Some(ALL_256)),
            ("/proc/irq/24/smp_affinity_list", Some("0-255")),
            ("/proc/sys/kernel/watchdog_cpumask", Some("0-255")),
            (
                "/sys/kernel/debug/sched/fair_server/cpu{200-255}/runtime",
                Some("50000000"),
            ),
            ("/sys/fs/cgroup/pods/cpuset.cpus", Some("240-247")),
        ],
        rt: "240-255",
        refused: "/sys/fs/cgroup/pods may run on CPUs 240-247 only",
        finding: Some(("claimed_cpus", "pods may run on CPUs 240-247 only")),
        ..PLAIN
    },
    Row {
        name: "settings that nobody can read",
        changes: &[
            ("/proc/sys/kernel/watchdog_cpumask", Some("no list")),
            ("/sys/devices/virtual/workqueue/cpumask", Some("no mask")),
        ],
        left: &[
            (Kind::WatchdogCpumask, "could not read"),
            (Kind::WorkqueueMask, "could not read"),
        ],
        finding: Some(("unseen", "could not read")),
        ..PLAIN
    },
];

const ALL_256: &str = "ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff";

/// Functions that BPF may call on a kernel that lacks nothing; each has a parameter.
const FUNCTIONS: &[&str] = &[
    "__scx_bpf_select_cpu_and",
    "scx_bpf_now",
    "scx_bpf_dsq_insert___v2",
    "__scx_bpf_dsq_insert_vtime",
    "scx_bpf_dsq_move_to_local___v2",
    "scx_bpf_dsq_move",
    "bpf_iter_scx_dsq_destroy",
    "bpf_iter_scx_dsq_new",
    "bpf_iter_scx_dsq_next",
    "scx_bpf_create_dsq",
    "scx_bpf_dsq_nr_queued",
    "scx_bpf_exit_bstr",
    "scx_bpf_kick_cpu",
    "scx_bpf_pick_idle_cpu",
    "scx_bpf_task_running",
    "scx_bpf_cpu_curr",
];

/// Gives the machine's kernel a description of its types.
pub fn describe_types(root: &Root) {
    let functions: Vec<(&str, &[&str])> = FUNCTIONS
        .iter()
        .chain(require::HOOKS)
        .map(|name| (*name, &["p"] as _))
        .collect();
    let file = root.path("/sys/kernel/btf/vmlinux");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, artis_testing::btf(&functions, require::VARIABLES)).unwrap();
}
