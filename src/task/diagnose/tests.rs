// SPDX-License-Identifier: GPL-2.0-only
//! Canned machines, one for each cause of a refusal.

use super::*;
use artis_testing::canned;

const TID: i32 = 42;
const NORMAL: Scheduling = Scheduling {
    policy: libc::SCHED_OTHER,
    nice: 0,
    priority: 0,
    reset_on_fork: false,
};
const FIFO: Scheduling = Scheduling {
    policy: libc::SCHED_FIFO,
    priority: 80,
    ..NORMAL
};
const LEVEL_1: Scheduling = Scheduling {
    policy: SCHED_EXT,
    nice: -20,
    ..NORMAL
};
const SYS_NICE: u64 = 1 << Capability::SysNice as u64;

/// One machine: this process and task 42 as the arguments say, and more files.
struct Machine<'a> {
    capabilities: u64,
    rtprio: &'a str,
    nice: &'a str,
    /// The user who runs artis, and the owner of task 42.
    user: u32,
    owner: u32,
    user_namespace: bool,
    seccomp: u32,
    /// More lines of /proc/self/status.
    status: &'a str,
    files: &'a [(&'a str, &'a str)],
}

const PLAIN: Machine = Machine {
    capabilities: 0,
    rtprio: "0 0",
    nice: "0 0",
    user: 1000,
    owner: 1000,
    user_namespace: false,
    seccomp: 0,
    status: "",
    files: &[("usr/bin/sudo", "")],
};

const ROOT: Machine = Machine {
    capabilities: SYS_NICE,
    ..PLAIN
};

impl Machine<'_> {
    fn explain(&self, before: Scheduling, step: Step, errno: Errno) -> Refusal {
        let status = |uid: u32| {
            format!(
                "Uid:\t{uid}\t{uid}\t{uid}\t{uid}\nCapEff:\t{:016x}\nSeccomp:\t{}\n{}",
                self.capabilities, self.seccomp, self.status
            )
        };
        let limits = format!(
            "Max nice priority {}\nMax realtime priority {}\n",
            self.nice, self.rtprio
        );
        let (mine, theirs) = (status(self.user), status(self.owner));
        let basic = [
            ("proc/self/status", mine.as_str()),
            ("proc/self/limits", &limits),
            ("proc/42/status", &theirs),
            ("proc/42/limits", &limits),
            ("sys/devices/system/cpu/online", "0-1"),
            ("sys/devices/system/cpu/possible", "0-3"),
        ];
        let (_folder, root) = canned(&[&basic, self.files].concat());
        if self.user_namespace {
            let link = root.path("/proc/self/ns/user");
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink("user:[4026532001]", link).unwrap();
        }
        explain(&root, TID, before, step, errno)
    }

    fn fifo(&self) -> Refusal {
        self.explain(NORMAL, Step::Policy(FIFO), Errno::EPERM)
    }
}

fn has(refusal: &Refusal, words: &[&str]) {
    let text = refusal.to_string();
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

#[test]
fn a_limit_of_zero_names_sudo_limits_conf_and_systemd() {
    let refusal = PLAIN.fifo();
    assert!(matches!(refusal, Refusal::RtprioLimit { wanted: 80, .. }));
    has(
        &refusal,
        &[
            "CAP_SYS_NICE",
            "soft 0, hard 0",
            "sudo",
            "USER - rtprio 80",
            "LimitRTPRIO=80",
        ],
    );
}

#[test]
fn a_limit_that_may_be_raised_names_ulimit() {
    let machine = Machine {
        rtprio: "10 90",
        ..PLAIN
    };
    has(&machine.fifo(), &["soft 10, hard 90", "`ulimit -r 80`"]);
}

#[test]
fn a_sufficient_limit_is_not_blamed() {
    let machine = Machine {
        rtprio: "80 80",
        ..PLAIN
    };
    assert_eq!(machine.fifo(), Refusal::Unknown);
    // Without a change of policy or a higher priority, no limit is asked for.
    let already = PLAIN.explain(FIFO, Step::Policy(FIFO), Errno::EPERM);
    assert_eq!(already, Refusal::Unknown);
}

/// The words for a machine where `RLIMIT_RTPRIO` is too low, with this user, these lines of
/// /proc/self/status, and these files.
fn advice(user: u32, status: &str, files: &[(&str, &str)]) -> String {
    let machine = Machine {
        user,
        owner: user,
        status,
        files,
        ..PLAIN
    };
    machine.fifo().to_string()
}

const DOCKER: (&str, &str) = (".dockerenv", "");
const SUDO: (&str, &str) = ("usr/bin/sudo", "");
const UNBOUNDED: &str = "CapBnd:\t000001ffffffffff\nNoNewPrivs:\t0\n";
const BOUNDED: &str = "CapBnd:\t00000000a80425fb\nNoNewPrivs:\t0\n";
const NO_NEW: &str = "CapBnd:\t000001ffffffffff\nNoNewPrivs:\t1\n";

#[test]
fn advice_can_work_where_it_is_given() {
    let flags = ["docker", "--cap-add SYS_NICE", "--ulimit rtprio=80"];
    for (text, words, others) in [
        // The container gives root the capability: sudo is enough, and nobody logs in there.
        (
            advice(1000, UNBOUNDED, &[DOCKER, SUDO]),
            &["run artis with sudo"][..],
            &["--cap-add", "limits.conf"][..],
        ),
        (
            advice(1000, UNBOUNDED, &[DOCKER]),
            &["run artis as root (there is no sudo here)"],
            &["--cap-add", "with sudo"],
        ),
        // It does not: not even root can.
        (advice(1000, BOUNDED, &[DOCKER, SUDO]), &flags, &["sudo"]),
        (advice(0, BOUNDED, &[DOCKER, SUDO]), &flags, &["sudo"]),
        (advice(0, UNBOUNDED, &[DOCKER, SUDO]), &flags, &["sudo"]),
        // No container, and root has lost it, or sudo gives nothing.
        (
            advice(0, BOUNDED, &[SUDO]),
            &["CapabilityBoundingSet=CAP_SYS_NICE", "LimitRTPRIO=80"],
            &["sudo", "limits.conf", "--cap-add"],
        ),
        (
            advice(1000, NO_NEW, &[SUDO]),
            &["this session", "LimitRTPRIO=80"],
            &["sudo", "limits.conf"],
        ),
        (
            advice(1000, UNBOUNDED, &[]),
            &["as root (there is no sudo here)", "limits.conf"],
            &["with sudo"],
        ),
    ] {
        for word in words {
            assert!(text.contains(word), "{word:?} is not in: {text}");
        }
        for word in others {
            assert!(!text.contains(word), "{word:?} is in: {text}");
        }
    }
}

#[test]
fn a_capability_in_a_user_namespace_does_not_count() {
    let machine = Machine {
        user_namespace: true,
        ..ROOT
    };
    has(
        &machine.fifo(),
        &[
            "soft 0, hard 0",
            "capabilities of this user namespace do not count",
            "ulimit -r 80",
        ],
    );
}

#[test]
fn another_users_task_names_its_owner() {
    let machine = Machine {
        owner: 1001,
        ..PLAIN
    };
    has(&machine.fifo(), &["user 1001", "sudo"]);
    let bind = machine.explain(NORMAL, Step::Bind(1), Errno::EPERM);
    has(&bind, &["user 1001", "sudo"]);
    assert!(matches!(bind, Refusal::NotOwner { owner: 1001, .. }));
}

#[test]
fn nice_values_have_their_own_limit() {
    let step = Step::Policy(LEVEL_1);
    has(
        &PLAIN.explain(NORMAL, step, Errno::EPERM),
        &["40 is needed", "USER - nice -20", "LimitNICE=-20"],
    );
    let enough = Machine {
        nice: "40 40",
        ..PLAIN
    };
    assert_eq!(enough.explain(NORMAL, step, Errno::EPERM), Refusal::Unknown);
    let idle = Scheduling {
        policy: libc::SCHED_IDLE,
        nice: 5,
        ..NORMAL
    };
    let refusal = PLAIN.explain(idle, Step::Policy(NORMAL), Errno::EPERM);
    assert!(matches!(refusal, Refusal::NiceLimit { wanted: 20, .. }));
}

#[test]
fn a_version_1_cgroup_without_budget_is_named() {
    let files = |runtime| {
        [
            ("proc/42/cgroup", "3:cpu,cpuacct:/jobs\n0::/\n"),
            ("sys/fs/cgroup/cpu/jobs/cpu.rt_runtime_us", runtime),
        ]
    };
    let machine = Machine {
        files: &files("0\n"),
        ..ROOT
    };
    has(
        &machine.fifo(),
        &["/sys/fs/cgroup/cpu/jobs/cpu.rt_runtime_us is 0", "echo 42"],
    );
    let machine = Machine {
        files: &files("950000\n"),
        ..ROOT
    };
    assert_eq!(machine.fifo(), Refusal::Unknown);
}

#[test]
fn version_2_cgroups_have_no_budget_at_all() {
    let files = |cmdline, cgroup| {
        [
            ("proc/42/cgroup", cgroup),
            ("proc/cmdline", cmdline),
            ("proc/sys/kernel/osrelease", "7.2.13\n"),
            ("boot/config-7.2.13", "CONFIG_RT_GROUP_SCHED=y\n"),
        ]
    };
    for (cmdline, cgroup, blamed) in [
        ("quiet\n", "0::/user.slice\n", true),
        ("rt_group_sched=0\n", "0::/user.slice\n", false),
        ("quiet\n", "0::/\n", false),
    ] {
        let machine = Machine {
            files: &files(cmdline, cgroup),
            ..ROOT
        };
        let refusal = machine.fifo();
        assert_eq!(
            matches!(refusal, Refusal::RtGroupV2 { .. }),
            blamed,
            "{refusal}"
        );
    }
}

#[test]
fn a_seccomp_filter_is_blamed_when_nothing_else_is() {
    let machine = Machine { seccomp: 2, ..ROOT };
    assert_eq!(machine.fifo(), Refusal::Seccomp);
    let bind = machine.explain(NORMAL, Step::Bind(1), Errno::EPERM);
    assert_eq!(bind, Refusal::Seccomp);
    assert_eq!(ROOT.fifo(), Refusal::Unknown);
}

#[test]
fn an_impossible_cpu_is_offline_or_outside_the_cpuset() {
    has(
        &ROOT.explain(NORMAL, Step::Bind(2), Errno::EINVAL),
        &["CPU 2 is not online, only 0-1"],
    );
    for files in [
        [
            ("proc/42/cgroup", "4:cpuset:/small\n0::/\n"),
            ("sys/fs/cgroup/cpuset/small/cpuset.effective_cpus", "0\n"),
        ],
        // The leaf has no cpuset controller, its parent decides.
        [
            ("proc/42/cgroup", "0::/small/leaf\n"),
            ("sys/fs/cgroup/small/cpuset.cpus.effective", "0\n"),
        ],
    ] {
        let machine = Machine {
            files: &files,
            ..ROOT
        };
        has(
            &machine.explain(NORMAL, Step::Bind(1), Errno::EINVAL),
            &["excludes CPU 1", files[1].0, "is 0;"],
        );
    }
}

#[test]
fn deadline_tasks_and_kernels_without_sched_ext_are_named() {
    let deadline = Scheduling {
        policy: SCHED_DEADLINE,
        ..NORMAL
    };
    has(
        &ROOT.explain(deadline, Step::Bind(1), Errno::EBUSY),
        &["SCHED_DEADLINE", "artis run linux --pid 42"],
    );
    let step = Step::Policy(LEVEL_1);
    has(
        &ROOT.explain(NORMAL, step, Errno::EINVAL),
        &[
            "no sched_ext",
            "CONFIG_SCHED_CLASS_EXT",
            "`renice -n -20 -p 42`",
        ],
    );
    let machine = Machine {
        files: &[("sys/kernel/sched_ext/state", "disabled\n")],
        ..ROOT
    };
    assert_eq!(
        machine.explain(NORMAL, step, Errno::EINVAL),
        Refusal::Unknown
    );
}

#[test]
fn what_was_about_to_start_is_not_named_by_a_number_that_is_gone() {
    let (_folder, root) = canned(&[]);
    let tid = nix::unistd::gettid().as_raw();
    let refusal = explain(&root, tid, NORMAL, Step::Policy(LEVEL_1), Errno::EINVAL);
    has(&refusal, &["`nice -n -20 CMD`"]);
    let deadline = Scheduling {
        policy: SCHED_DEADLINE,
        ..NORMAL
    };
    let refusal = explain(&root, tid, deadline, Step::Bind(1), Errno::EBUSY);
    has(&refusal, &["artis run linux --pid $$"]);
}

#[test]
fn a_kernel_thread_that_is_bound_is_named() {
    // PF_KTHREAD and PF_NO_SETAFFINITY.
    let stat = format!(
        "42 (kworker/0:1) S 2 0 0 0 -1 {}{}",
        0x0420_0000,
        " 0".repeat(44)
    );
    let machine = Machine {
        files: &[("proc/42/stat", &stat)],
        ..ROOT
    };
    let refusal = machine.explain(NORMAL, Step::Bind(1), Errno::EINVAL);
    has(&refusal, &["kernel thread kworker/0:1"]);
}
