// SPDX-License-Identifier: GPL-2.0-only
//! Why threads cannot be watched.

use artis_machine::Root;
use artis_machine::kernel::lockdown;
use libbpf_rs::ErrorKind;

/// What can go wrong with the recorder.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel does not describe its types.
    #[error(
        "threads cannot be watched: this kernel has no BTF; use one with CONFIG_DEBUG_INFO_BTF=y"
    )]
    NoBtf(#[source] libbpf_rs::Error),
    /// Not allowed to trace the kernel.
    #[error(
        "threads cannot be watched: BPF tracing is not permitted; run artis as root, or with the \
         capabilities CAP_BPF and CAP_PERFMON"
    )]
    Privilege,
    /// The kernel is locked down so far that no program may read its memory.
    #[error(
        "threads cannot be watched: the kernel is locked down (confidentiality); boot without \
         lockdown=confidentiality"
    )]
    Locked,
    /// Thread ids here are not the kernel's own.
    #[error(
        "threads cannot be watched from within a container: the kernel's thread ids differ from those \
         in this pid namespace; run artis on the host"
    )]
    PidNamespace,
    /// A hook without which nothing can be said.
    #[error("threads cannot be watched: this kernel has no tracepoint {0}")]
    NoTracepoint(&'static str),
    /// More CPUs than the recorder has room for.
    #[error(
        "the recorder has room for {room} CPUs and this machine may have {possible}; raise RECORDER_CPUS_MAX and build again"
    )]
    TooManyCpus { room: usize, possible: usize },
    /// No room for another thread.
    #[error(
        "the recorder has room for {0} threads; watch fewer, for example with --thread or --comm"
    )]
    TooManyThreads(u32),
    /// The kernel or libbpf refused something.
    #[error("threads cannot be watched: cannot {doing}; `artis check` says what this kernel lacks")]
    Bpf {
        /// What failed.
        doing: &'static str,
        source: libbpf_rs::Error,
    },
    /// The shared memory could not be mapped.
    #[error("threads cannot be watched: cannot map the recorder's memory")]
    Memory(#[source] std::io::Error),
}

impl Error {
    /// Why the kernel did not take the program, on this machine.
    pub(crate) fn refused(source: libbpf_rs::Error, root: &Root) -> Self {
        if lockdown(root).as_deref() == Some("confidentiality") {
            return Self::Locked;
        }
        match source.kind() {
            ErrorKind::PermissionDenied => Self::Privilege,
            _ => Self::Bpf {
                doing: "load the BPF program",
                source,
            },
        }
    }

    pub(crate) fn bpf(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |source| Self::Bpf { doing, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    #[test]
    fn a_refusal_is_explained_by_what_the_machine_says() {
        let said = |lockdown: &str, error: libbpf_rs::Error| {
            let (_folder, root) = canned(&[("sys/kernel/security/lockdown", lockdown)]);
            Error::refused(error, &root).to_string()
        };
        let denied = || libbpf_rs::Error::from_raw_os_error(libc::EPERM);
        let invalid = || libbpf_rs::Error::from_raw_os_error(libc::EINVAL);
        let locked = "none integrity [confidentiality]\n";
        let open = "[none] integrity confidentiality\n";
        assert!(said(locked, invalid()).contains("boot without lockdown=confidentiality"));
        assert!(said(locked, denied()).contains("locked down"));
        assert!(said(open, denied()).contains("run artis as root"));
        assert!(said(open, invalid()).contains("artis check"));
    }
}
