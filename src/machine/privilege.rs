// SPDX-License-Identifier: GPL-2.0-only
//! What a process may do: capabilities, limits, and the container that it may be in.
//!
//! Facts only. `task::diagnose` explains a refused system call.
//! Source: capabilities(7), getrlimit(2), user_namespaces(7).

use super::{Root, Unreadable};
use serde::Serialize;
use std::fmt;

/// Capabilities that artis needs or reports; the value is the kernel's bit number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    IpcLock = 14,
    SysAdmin = 21,
    SysNice = 23,
    SysResource = 24,
    Perfmon = 38,
    Bpf = 39,
}

/// A resource limit. `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// The limit in force.
    pub soft: Option<u64>,
    /// The largest soft limit that the process may set itself.
    pub hard: Option<u64>,
}

impl Limit {
    /// Whether the soft limit allows this value.
    pub fn allows(self, value: u64) -> bool {
        self.soft.is_none_or(|soft| value <= soft)
    }

    /// Whether the process may raise its soft limit to this value.
    pub fn may_reach(self, value: u64) -> bool {
        self.hard.is_none_or(|hard| value <= hard)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |limit: Option<u64>| limit.map_or("unlimited".to_owned(), |n| n.to_string());
        write!(f, "soft {}, hard {}", word(self.soft), word(self.hard))
    }
}

/// What one process may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Privilege {
    /// Real and effective user.
    pub uid: u32,
    pub euid: u32,
    /// Effective capabilities, one bit each.
    pub capabilities: u64,
    /// Largest `SCHED_FIFO` priority without `CAP_SYS_NICE`.
    pub rtprio: Limit,
    /// 20 minus the lowest nice value without `CAP_SYS_NICE`.
    pub nice: Limit,
    /// The most bytes of memory that it may lock without `CAP_IPC_LOCK`.
    pub memlock: Limit,
    /// Whether capabilities count for the whole machine. In another user namespace the kernel
    /// ignores them for scheduling policies.
    pub initial_user_namespace: bool,
    /// Whether a seccomp filter may refuse system calls.
    pub seccomp_filter: bool,
}

impl Privilege {
    /// Reads what this process may do.
    ///
    /// # Errors
    /// When its files below `/proc` are absent or cannot be read.
    pub fn of_self(root: &Root) -> Result<Self, Unreadable> {
        Self::of(root, "self")
    }

    /// Reads what another task may do.
    ///
    /// # Errors
    /// As [`Privilege::of_self`]. The files of a task that has ended are absent.
    pub fn of_task(root: &Root, tid: i32) -> Result<Self, Unreadable> {
        Self::of(root, &tid.to_string())
    }

    fn of(root: &Root, who: &str) -> Result<Self, Unreadable> {
        let required = |name: &str| {
            let path = format!("/proc/{who}/{name}");
            root.read(&path)?.ok_or_else(|| Unreadable {
                path: root.path(&path),
                source: std::io::ErrorKind::NotFound.into(),
            })
        };
        let status = required("status")?;
        let limits = required("limits")?;
        let uids = field(&status, "Uid:");
        let uid = |index| {
            uids.split_whitespace()
                .nth(index)
                .and_then(|text| text.parse().ok())
                .unwrap_or(u32::MAX) // (uid_t)-1 is nobody's
        };
        Ok(Self {
            uid: uid(0),
            euid: uid(1),
            capabilities: u64::from_str_radix(field(&status, "CapEff:"), 16).unwrap_or(0),
            rtprio: limit(&limits, "Max realtime priority"),
            nice: limit(&limits, "Max nice priority"),
            memlock: limit(&limits, "Max locked memory"),
            initial_user_namespace: initial_user_namespace(root, who),
            seccomp_filter: field(&status, "Seccomp:") == "2",
        })
    }

    pub fn has(&self, capability: Capability) -> bool {
        self.capabilities >> (capability as u32) & 1 == 1
    }
}

/// The container that this process is in, when a file shows it: `docker`, `podman`…
pub fn container(root: &Root) -> Option<String> {
    container_and_file(root).map(|(name, _)| name)
}

/// As [`container`], with the file that shows it.
pub fn container_and_file(root: &Root) -> Option<(String, &'static str)> {
    const SYSTEMD: &str = "/run/systemd/container";
    const CGROUP: &str = "/proc/self/cgroup";
    if let Some(name) = root.hint(SYSTEMD) {
        return Some((name, SYSTEMD));
    }
    for (file, name) in [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")] {
        if root.exists(file) {
            return Some((name.to_owned(), file));
        }
    }
    let cgroup = root.hint(CGROUP)?;
    ["kubepods", "docker", "libpod", "lxc"]
        .into_iter()
        .find(|name| cgroup.contains(name))
        .map(|name| (name.to_owned(), CGROUP))
}

/// The rest of the line that starts with `name`, or nothing.
fn field<'a>(text: &'a str, name: &str) -> &'a str {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap_or("")
        .trim()
}

/// A line of `/proc/PID/limits`: name, soft, hard, unit.
fn limit(limits: &str, name: &str) -> Limit {
    let mut values = field(limits, name)
        .split_whitespace()
        // "unlimited" is no number
        .map(|text| text.parse().ok());
    Limit {
        soft: values.next().unwrap_or(Some(0)),
        hard: values.next().unwrap_or(Some(0)),
    }
}

fn initial_user_namespace(root: &Root, who: &str) -> bool {
    // PROC_USER_INIT_INO of include/linux/proc_ns.h. A kernel without user namespaces does not
    // have the link, and nobody may look at the link of another user's process.
    let link = std::fs::read_link(root.path(format!("/proc/{who}/ns/user")));
    link.map_or(true, |target| target.as_os_str() == "user:[4026531837]")
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    const STATUS: &str = "Name:\tcat\nUid:\t1000\t1001\t1000\t1000\n\
                          CapEff:\t0000000000800000\nSeccomp:\t2\n";
    const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units     
Max locked memory         8388608              unlimited            bytes     
Max nice priority         0                    40                   
Max realtime priority     10                   unlimited            
Max realtime timeout      unlimited            unlimited            us        
";

    #[test]
    fn reads_users_capabilities_and_limits() {
        let (_folder, root) = canned(&[("proc/42/status", STATUS), ("proc/42/limits", LIMITS)]);
        let privilege = Privilege::of_task(&root, 42).unwrap();
        assert_eq!((privilege.uid, privilege.euid), (1000, 1001));
        assert!(privilege.has(Capability::SysNice));
        assert!(!privilege.has(Capability::SysAdmin));
        assert!(privilege.seccomp_filter);
        assert_eq!(privilege.rtprio.to_string(), "soft 10, hard unlimited");
        assert_eq!(
            privilege.memlock.to_string(),
            "soft 8388608, hard unlimited"
        );
        assert!(privilege.rtprio.allows(10) && !privilege.rtprio.allows(11));
        assert!(privilege.rtprio.may_reach(99));
        assert!(!privilege.nice.allows(1) && privilege.nice.may_reach(40));
        assert!(privilege.initial_user_namespace);
    }

    #[test]
    fn recognises_another_user_namespace() {
        let (_folder, root) = canned(&[("proc/self/status", STATUS), ("proc/self/limits", LIMITS)]);
        let link = root.path("/proc/self/ns/user");
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("user:[4026532001]", &link).unwrap();
        assert!(!Privilege::of_self(&root).unwrap().initial_user_namespace);
    }

    #[test]
    fn names_the_container() {
        for (file, text, name) in [
            ("run/systemd/container", "lxc\n", "lxc"),
            (".dockerenv", "", "docker"),
            ("run/.containerenv", "", "podman"),
            ("proc/self/cgroup", "0::/kubepods/pod1\n", "kubepods"),
        ] {
            let (_folder, root) = canned(&[(file, text)]);
            assert_eq!(container(&root).as_deref(), Some(name));
            let (_, shown_by) = container_and_file(&root).unwrap();
            assert_eq!(shown_by, format!("/{file}"));
        }
        let (_folder, root) = canned(&[("proc/self/cgroup", "0::/user.slice\n")]);
        assert_eq!(container(&root), None);
    }

    #[test]
    fn this_process_agrees_with_the_system_calls() {
        let privilege = Privilege::of_self(&Root::default()).unwrap();
        assert_eq!(privilege.euid, nix::unistd::geteuid().as_raw());
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: `limit` is a live rlimit to write to.
        assert_eq!(
            unsafe { libc::getrlimit(libc::RLIMIT_RTPRIO, &mut limit) },
            0
        );
        let known = |value| (value != libc::RLIM_INFINITY).then_some(value);
        assert_eq!(privilege.rtprio.soft, known(limit.rlim_cur));
        assert_eq!(privilege.rtprio.hard, known(limit.rlim_max));
    }
}
