// SPDX-License-Identifier: GPL-2.0-only
//! Why threads cannot be watched.

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
    #[error(
        "threads cannot be watched: cannot {doing}; is the kernel in lockdown (/sys/kernel/security/lockdown)?"
    )]
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
    pub(crate) fn bpf(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |source| Self::Bpf { doing, source }
    }
}
