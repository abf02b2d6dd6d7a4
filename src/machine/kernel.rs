// SPDX-License-Identifier: GPL-2.0-only
//! The running kernel: release, preemption model, sched_ext, BTF, cgroups, RT throttling. Reports
//! what the kernel says about itself; each command decides what it needs of that. Source:
//! `Documentation/scheduler/sched-ext.rst`, `sched-rt-group.rst`, and `sched_dynamic_show()` in
//! `kernel/sched/debug.c`.

use super::boot_arguments::{self, BootArguments};
use super::build_config::BuildConfig;
use super::debugfs::Access;
use super::distribution::Distribution;
use super::scx::BTF_FILE;
use super::{Root, Unreadable};
use serde::{Deserialize, Serialize};
use std::fmt;

const VERSION: &str = "/proc/sys/kernel/version";
/// The file with which PREEMPT_RT kernels identify themselves.
const REALTIME: &str = "/sys/kernel/realtime";
/// Where the chosen model can be read and changed.
pub const DEBUGFS: &str = "/sys/kernel/debug/sched/preempt";

/// Which of its doors the kernel keeps shut.
pub const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// When a task can be preempted while the kernel works for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preemption {
    /// Only on the way back to user mode.
    None,
    /// At chosen points of long kernel paths.
    Voluntary,
    /// Real-time tasks at once, others at the next tick.
    Lazy,
    /// Everywhere outside spinlocks and interrupt handlers.
    Full,
    /// Nearly everywhere: spinlocks sleep, interrupt handlers are threads.
    PreemptRt,
    /// Preemptible; only debugfs would show whether lazy or full.
    LazyOrFull,
    /// Chosen at boot; only debugfs would show which one.
    Unknown,
}

impl Preemption {
    /// Whether kernel code can be preempted; `None` when this is not known.
    pub fn preemptible(self) -> Option<bool> {
        match self {
            Self::None | Self::Voluntary => Some(false),
            Self::Lazy | Self::Full | Self::PreemptRt | Self::LazyOrFull => Some(true),
            Self::Unknown => None,
        }
    }

    /// The name that the kernel's `preempt=` argument and debugfs use.
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "voluntary" => Some(Self::Voluntary),
            "lazy" => Some(Self::Lazy),
            "full" => Some(Self::Full),
            _ => None,
        }
    }
}

impl fmt::Display for Preemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Voluntary => "voluntary",
            Self::Lazy => "lazy",
            Self::Full => "full",
            Self::PreemptRt => "PREEMPT_RT",
            Self::LazyOrFull => "lazy or full",
            Self::Unknown => "unknown",
        })
    }
}

/// What sched_ext, the kernel's class of BPF schedulers, is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchedExt {
    /// `disabled`, `enabling`, `enabled` or `disabling`.
    pub state: String,
    /// Name of the BPF scheduler that is loaded.
    pub ops: Option<String>,
}

impl SchedExt {
    /// Whether a BPF scheduler is loaded, or being loaded.
    pub fn is_on(&self) -> bool {
        matches!(self.state.as_str(), "enabled" | "enabling")
    }
}

/// Which cgroup hierarchy carries the `cpu` controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CgroupVersion {
    V1,
    V2,
}

/// The limit on the time of all `SCHED_FIFO` and `SCHED_RR` tasks of a CPU together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RtThrottling {
    /// Microseconds of each period that they may run; `None` is no limit.
    pub runtime_us: Option<u64>,
    /// Length of the period, microseconds.
    pub period_us: u64,
}

/// What the running kernel is and has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// As `uname -r` prints it.
    pub release: String,
    /// As `uname -v` prints it.
    pub version: String,
    /// Boot arguments.
    pub cmdline: String,
    pub preemption: Preemption,
    /// The file that the preemption model was read from.
    pub preemption_from: String,
    /// `None`: the kernel was built without `CONFIG_SCHED_CLASS_EXT`.
    pub sched_ext: Option<SchedExt>,
    /// Whether the kernel describes its own types, which BPF programs need.
    pub btf: bool,
    /// `None`: no hierarchy with a `cpu` controller is mounted.
    pub cgroup: Option<CgroupVersion>,
    /// `None`: no such limit in this kernel.
    pub rt_throttling: Option<RtThrottling>,
    /// Its lockdown: `none`, `integrity` or `confidentiality`; `None`: it does not say.
    pub lockdown: Option<String>,
    /// How its scheduler's files in debugfs can be used.
    pub debugfs: Access,
    /// Whose it is.
    pub distribution: Distribution,
}

impl Kernel {
    /// Reads what the kernel says about itself.
    ///
    /// # Errors
    /// When `/proc` is not mounted or one of its files cannot be read.
    pub fn read(root: &Root) -> Result<Self, Unreadable> {
        let release = required(root, "/proc/sys/kernel/osrelease")?;
        let version = required(root, VERSION)?;
        let cmdline = root.read(boot_arguments::FILE)?.unwrap_or_default();
        let (preemption, preemption_from) = preemption(root, &release, &version, &cmdline);
        Ok(Self {
            preemption,
            preemption_from,
            sched_ext: sched_ext(root)?,
            btf: root.exists(BTF_FILE),
            cgroup: cgroup(root),
            rt_throttling: rt_throttling(root)?,
            lockdown: lockdown(root),
            debugfs: Access::of(root),
            distribution: Distribution::read(root),
            release,
            version,
            cmdline,
        })
    }
}

fn required(root: &Root, path: &str) -> Result<String, Unreadable> {
    root.read(path)?.ok_or_else(|| Unreadable {
        path: root.path(path),
        source: std::io::ErrorKind::NotFound.into(),
    })
}

/// The model, and the file that it was read from.
fn preemption(root: &Root, release: &str, version: &str, cmdline: &str) -> (Preemption, String) {
    let built_as = |flag| version.split_whitespace().any(|word| word == flag);
    let from = |file: &str| file.to_owned();
    // PREEMPT_RT first: on such a kernel debugfs says lazy or full too, which matters less.
    if root.hint(REALTIME).as_deref() == Some("1") {
        return (Preemption::PreemptRt, from(REALTIME));
    }
    if built_as("PREEMPT_RT") {
        return (Preemption::PreemptRt, from(VERSION));
    }
    let chosen = root
        .hint(DEBUGFS)
        .as_deref()
        .and_then(in_parentheses)
        .and_then(Preemption::from_name);
    if let Some(chosen) = chosen {
        return (chosen, from(DEBUGFS));
    }
    if built_as("PREEMPT_DYNAMIC") {
        // Without debugfs: the boot argument decides, and without one the build's default.
        return BootArguments::parse(cmdline)
            .value("preempt")
            .and_then(Preemption::from_name)
            .map(|model| (model, from(boot_arguments::FILE)))
            .or_else(|| build_default(root, release))
            .unwrap_or((Preemption::Unknown, from(VERSION)));
    }
    let undecided = if built_as("PREEMPT") {
        Preemption::LazyOrFull
    } else {
        // The kernel prints the same text for "none" and "voluntary"; neither is preemptible.
        Preemption::Voluntary
    };
    build_default(root, release).unwrap_or((undecided, from(VERSION)))
}

/// Its lockdown, as the kernel says, or as it was booted: its file needs securityfs.
pub fn lockdown(root: &Root) -> Option<String> {
    let shown = root.hint(LOCKDOWN);
    if let Some(level) = shown.as_deref().and_then(in_brackets) {
        return Some(level.to_owned());
    }
    let cmdline = root.hint(boot_arguments::FILE)?;
    let level = BootArguments::parse(&cmdline).value("lockdown")?.to_owned();
    matches!(level.as_str(), "integrity" | "confidentiality").then_some(level)
}

/// `none` of `[none] integrity confidentiality`.
fn in_brackets(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

/// `full` of `none voluntary (full) lazy`.
fn in_parentheses(text: &str) -> Option<&str> {
    Some(text.split_once('(')?.1.split_once(')')?.0)
}

/// The preemption model that the kernel was built with, and the file that says so.
fn build_default(root: &Root, release: &str) -> Option<(Preemption, String)> {
    let config = BuildConfig::read(root, release)?;
    let (_, model) = [
        ("CONFIG_PREEMPT_LAZY", Preemption::Lazy),
        ("CONFIG_PREEMPT", Preemption::Full),
        ("CONFIG_PREEMPT_VOLUNTARY", Preemption::Voluntary),
        ("CONFIG_PREEMPT_NONE", Preemption::None),
    ]
    .into_iter()
    .find(|(option, _)| config.is_set(option))?;
    Some((model, config.file))
}

/// What sched_ext is doing; none where the kernel does not have it.
///
/// # Errors
/// When its files cannot be read.
pub fn sched_ext(root: &Root) -> Result<Option<SchedExt>, Unreadable> {
    let Some(state) = root.read("/sys/kernel/sched_ext/state")? else {
        return Ok(None);
    };
    let ops = root
        .read("/sys/kernel/sched_ext/root/ops")?
        .filter(|name| !name.is_empty());
    Ok(Some(SchedExt { state, ops }))
}

fn cgroup(root: &Root) -> Option<CgroupVersion> {
    // The lines of /proc/self/cgroup are ID:CONTROLLERS:PATH; version 2 is `0::PATH`, and it
    // has the cpu controller only when no version 1 hierarchy took it.
    let lines = root.hint("/proc/self/cgroup")?;
    let controllers = |line: &str| line.split(':').nth(1).map(str::to_owned);
    let v1 = lines
        .lines()
        .filter_map(controllers)
        .any(|list| list.split(',').any(|name| name == "cpu"));
    if v1 {
        return Some(CgroupVersion::V1);
    }
    root.hint("/sys/fs/cgroup/cgroup.controllers")
        .is_some_and(|list| list.split_whitespace().any(|name| name == "cpu"))
        .then_some(CgroupVersion::V2)
}

/// Reads the limit of real-time tasks; `None`: no such limit in this kernel.
///
/// # Errors
/// When one of its files exists and cannot be read.
pub fn rt_throttling(root: &Root) -> Result<Option<RtThrottling>, Unreadable> {
    let number = |name: &str| -> Result<Option<i64>, Unreadable> {
        Ok(root
            .read(format!("/proc/sys/kernel/{name}"))?
            .and_then(|text| text.parse().ok()))
    };
    let (Some(runtime), Some(period)) = (
        number("sched_rt_runtime_us")?,
        number("sched_rt_period_us")?,
    ) else {
        return Ok(None);
    };
    Ok(Some(RtThrottling {
        runtime_us: u64::try_from(runtime).ok(), // -1: no limit
        period_us: period.unsigned_abs(),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    const RELEASE: (&str, &str) = ("proc/sys/kernel/osrelease", "7.2.13-amd64\n");
    const DYNAMIC: (&str, &str) = (
        "proc/sys/kernel/version",
        "#1 SMP PREEMPT_DYNAMIC Debian 7.2.13-1\n",
    );

    fn preemption_of(files: &[(&str, &str)]) -> Preemption {
        let (_folder, root) = canned(&[&[RELEASE], files].concat());
        Kernel::read(&root).unwrap().preemption
    }

    #[test]
    fn debugfs_shows_the_dynamic_model() {
        for (text, model) in [
            ("none voluntary (full) lazy\n", Preemption::Full),
            ("full (lazy)\n", Preemption::Lazy),
            ("(none) voluntary full\n", Preemption::None),
        ] {
            let file = ("sys/kernel/debug/sched/preempt", text);
            assert_eq!(preemption_of(&[DYNAMIC, file]), model);
        }
    }

    #[test]
    fn preempt_rt_wins_over_its_own_lazy_and_full() {
        let debugfs = ("sys/kernel/debug/sched/preempt", "full (lazy)\n");
        let version = ("proc/sys/kernel/version", "#1 SMP PREEMPT_RT Debian\n");
        assert_eq!(preemption_of(&[version, debugfs]), Preemption::PreemptRt);
        let file = ("sys/kernel/realtime", "1\n");
        assert_eq!(
            preemption_of(&[DYNAMIC, debugfs, file]),
            Preemption::PreemptRt
        );
    }

    #[test]
    fn without_debugfs_boot_arguments_count_and_then_the_build_configuration() {
        let config = ("boot/config-7.2.13-amd64", "CONFIG_PREEMPT_LAZY=y\n");
        let argument = ("proc/cmdline", "quiet preempt=full\n");
        assert_eq!(
            preemption_of(&[DYNAMIC, config, argument]),
            Preemption::Full
        );
        assert_eq!(preemption_of(&[DYNAMIC, config]), Preemption::Lazy);
        let unset = (
            "boot/config-7.2.13-amd64",
            "CONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_VOLUNTARY=y\n# CONFIG_PREEMPT is not set\n",
        );
        assert_eq!(preemption_of(&[DYNAMIC, unset]), Preemption::Voluntary);
        assert_eq!(preemption_of(&[DYNAMIC]), Preemption::Unknown);
    }

    #[test]
    fn a_static_model_is_in_the_version_string() {
        let version = |text| ("proc/sys/kernel/version", text);
        assert_eq!(
            preemption_of(&[version("#1 SMP PREEMPT Thu")]),
            Preemption::LazyOrFull
        );
        assert_eq!(
            preemption_of(&[version("#1 SMP Thu")]).preemptible(),
            Some(false)
        );
    }

    #[test]
    fn reads_a_kernel_with_a_bpf_scheduler() {
        let (_folder, root) = canned(&[
            RELEASE,
            DYNAMIC,
            ("proc/cmdline", "quiet\n"),
            ("proc/self/cgroup", "0::/user.slice\n"),
            (
                "sys/fs/cgroup/cgroup.controllers",
                "cpuset cpu io memory pids\n",
            ),
            ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
            ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
            ("sys/kernel/btf/vmlinux", ""),
            ("sys/kernel/sched_ext/state", "enabled\n"),
            ("sys/kernel/sched_ext/root/ops", "artis\n"),
        ]);
        let kernel = Kernel::read(&root).unwrap();
        let sched_ext = kernel.sched_ext.unwrap();
        assert!(sched_ext.is_on());
        assert_eq!(sched_ext.ops.as_deref(), Some("artis"));
        assert!(kernel.btf);
        assert_eq!(kernel.cgroup, Some(CgroupVersion::V2));
        let throttling = kernel.rt_throttling.unwrap();
        assert_eq!(
            (throttling.runtime_us, throttling.period_us),
            (Some(950_000), 1_000_000)
        );
    }

    #[test]
    fn reads_a_kernel_without_any_of_it() {
        let (_folder, root) = canned(&[
            RELEASE,
            DYNAMIC,
            ("proc/self/cgroup", "2:cpu,cpuacct:/\n0::/\n"),
            ("proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
            ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ]);
        let kernel = Kernel::read(&root).unwrap();
        assert_eq!(kernel.sched_ext, None);
        assert!(!kernel.btf);
        assert_eq!(kernel.cgroup, Some(CgroupVersion::V1));
        assert_eq!(kernel.rt_throttling.unwrap().runtime_us, None);
    }

    #[test]
    fn without_proc_the_error_names_the_file() {
        let (_folder, root) = canned(&[]);
        let error = Kernel::read(&root).unwrap_err().to_string();
        assert!(error.contains("osrelease"), "{error}");
    }

    #[test]
    fn this_kernel_agrees_with_uname() {
        let kernel = Kernel::read(&Root::default()).unwrap();
        let uname = nix::sys::utsname::uname().unwrap();
        assert_eq!(kernel.release, uname.release().to_str().unwrap());
        assert_eq!(kernel.version, uname.version().to_str().unwrap());
    }
}
