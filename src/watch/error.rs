// SPDX-License-Identifier: GPL-2.0-only
//! Why wakeups cannot be watched.

use artis_machine::Root;
use artis_machine::kernel::lockdown;
use libbpf_rs::ErrorKind;

/// What can go wrong with the light watch.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel does not describe its types.
    #[error(
        "wakeups cannot be watched: this kernel has no BTF; use one with CONFIG_DEBUG_INFO_BTF=y"
    )]
    NoBtf(#[source] libbpf_rs::Error),
    /// The kernel keeps no account of its threads.
    #[error(
        "wakeups cannot be watched: this kernel does not note when threads arrive on their CPU; \
         use one with CONFIG_SCHED_INFO=y"
    )]
    NoAccount,
    /// Not allowed to trace the kernel.
    #[error(
        "wakeups cannot be watched: BPF tracing is not permitted; run artis as root, or with the \
         capabilities CAP_BPF and CAP_PERFMON"
    )]
    Privilege,
    /// The kernel is locked down so far that no program may read its memory.
    #[error(
        "wakeups cannot be watched: the kernel is locked down (confidentiality); boot without \
         lockdown=confidentiality"
    )]
    Locked,
    /// More processes and threads were asked for than there is room for.
    #[error(
        "the light watch takes {most} processes and threads by number and {asked} were given; \
             leave them out to watch every real-time thread"
    )]
    TooMany {
        /// What there is room for.
        most: u32,
        /// How many were asked for.
        asked: usize,
    },
    /// The kernel or libbpf refused something.
    #[error("wakeups cannot be watched: cannot {doing}; `artis check` says what this kernel lacks")]
    Bpf {
        /// What failed.
        doing: &'static str,
        source: libbpf_rs::Error,
    },
}

impl Error {
    /// Why the kernel did not take the program, on this machine.
    pub(crate) fn refused(source: libbpf_rs::Error, root: &Root, is_root: bool) -> Self {
        let is_denied = source.kind() == ErrorKind::PermissionDenied;
        if lockdown(root).as_deref() == Some("confidentiality") {
            Self::Locked
        } else if is_denied && !is_root {
            Self::Privilege
        } else {
            Self::bpf("load the BPF program")(source)
        }
    }

    pub(crate) fn bpf(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |source| Self::Bpf { doing, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_machine::kernel::LOCKDOWN;
    use artis_testing::canned;

    #[test]
    fn a_refusal_is_explained_by_what_the_machine_says() {
        let refused = |lockdown: &str, number, is_root| {
            let (_folder, root) = canned(&[(LOCKDOWN, lockdown)]);
            let error = libbpf_rs::Error::from_raw_os_error(number);
            Error::refused(error, &root, is_root).to_string()
        };
        let (locked, open) = (
            "none integrity [confidentiality]\n",
            "[none] integrity confidentiality\n",
        );
        assert!(refused(locked, libc::EINVAL, false).contains("locked down"));
        assert!(refused(locked, libc::EPERM, true).contains("locked down"));
        assert!(refused(open, libc::EPERM, false).contains("run artis as root"));
        // Root need not be told to become root.
        assert!(refused(open, libc::EPERM, true).contains("artis check"));
        assert!(refused(open, libc::EINVAL, false).contains("artis check"));
    }
}
