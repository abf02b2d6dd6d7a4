// SPDX-License-Identifier: GPL-2.0-only
//! How a user without `CAP_SYS_NICE` can get it on this machine, or a limit that is enough.

use artis_machine::Root;
use artis_machine::privilege::{self, Capability, Limit, Privilege};

/// Where sudo is installed; the last is NixOS's place.
const SUDO: [&str; 4] = [
    "/usr/bin/sudo",
    "/bin/sudo",
    "/usr/local/bin/sudo",
    "/run/wrappers/bin/sudo",
];

/// What leads to the right here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// Root has it. `as_root` says how to become root, `logs_in` whether users log in here.
    Root {
        as_root: &'static str,
        logs_in: bool,
    },
    /// Not even root has it: a container of this kind was started without it.
    Container(String),
    /// A session or service without it, and no container is to be seen.
    Session,
    /// Another user namespace, where no capability counts for scheduling policies.
    UserNamespace,
}

/// A limit that also gives the right.
#[derive(Debug, Clone, Copy)]
pub enum Resource {
    RtPriority,
    Nice,
}

impl Way {
    /// The way of this process.
    pub fn of(root: &Root, this: &Privilege) -> Self {
        let container = privilege::container(root);
        if !this.initial_user_namespace {
            Self::UserNamespace
        } else if this.euid != 0 && root_may(root) {
            Self::Root {
                as_root: match SUDO.iter().any(|path| root.exists(path)) {
                    true => "run artis with sudo",
                    false => "run artis as root (there is no sudo here)",
                },
                logs_in: container.is_none(),
            }
        } else {
            container.map_or(Self::Session, Self::Container)
        }
    }

    /// What to do to have `CAP_SYS_NICE`.
    pub fn to_capability(&self) -> String {
        match self {
            Self::Root { as_root, .. } => (*as_root).to_owned(),
            Self::Container(kind) => format!(
                "the container ({kind}) must be started with the capability: `--cap-add SYS_NICE`"
            ),
            Self::Session => "this session may not have the capability; start artis from one that \
                              may, or from a systemd unit (CapabilityBoundingSet=CAP_SYS_NICE)"
                .to_owned(),
            Self::UserNamespace => {
                "capabilities of this user namespace do not count here; run artis as that user, or \
                 outside of the namespace"
                    .to_owned()
            }
        }
    }

    /// What to do to have the capability, or a limit of at least `wanted`.
    pub fn to_limit(&self, resource: Resource, wanted: u64, limit: Limit) -> String {
        let (ulimit, pam, systemd) = match resource {
            Resource::RtPriority => ("-r", "rtprio", "LimitRTPRIO"),
            Resource::Nice => ("-e", "nice", "LimitNICE"),
        };
        // PAM and systemd take the nice value itself, the limit counts down from 20.
        let value = match resource {
            Resource::RtPriority => wanted.to_string(),
            Resource::Nice => (20 - wanted.cast_signed()).to_string(),
        };
        if limit.may_reach(wanted) {
            return format!("raise it with `ulimit {ulimit} {wanted}`");
        }
        match self {
            Self::Root {
                as_root,
                logs_in: true,
            } => format!(
                "{as_root}, or put `USER - {pam} {value}` in /etc/security/limits.conf and log in \
                 again, or {systemd}={value} in the systemd unit"
            ),
            Self::Root {
                as_root,
                logs_in: false,
            } => (*as_root).to_owned(),
            Self::Container(_) => format!(
                "{}, or with the limit: `--ulimit {pam}={wanted}`",
                self.to_capability()
            ),
            Self::Session => format!("{}, or with {systemd}={value}", self.to_capability()),
            Self::UserNamespace => format!(
                "root and capabilities of this user namespace do not count here; raise the limit \
                 where the namespace was entered (`ulimit {ulimit} {wanted}` as root; docker and \
                 podman: `--ulimit {pam}={wanted}`)"
            ),
        }
    }
}

/// Whether this process would have `CAP_SYS_NICE` as root: what it starts has no more than its
/// bounding set, and with `no_new_privs` neither sudo nor su adds anything.
fn root_may(root: &Root) -> bool {
    let status = root.hint("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().to_owned())
    };
    let bounds = field("CapBnd:").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    let may = bounds.is_none_or(|mask| mask >> (Capability::SysNice as u32) & 1 == 1);
    may && field("NoNewPrivs:").as_deref() != Some("1")
}
