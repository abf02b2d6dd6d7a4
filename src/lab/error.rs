// SPDX-License-Identifier: GPL-2.0-only
//! What can go wrong in the lab, each with what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the lab; its text names what failed, on what, and what to do next. The system's
/// reason is its source.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be used.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// The verb: "read", "write", "create" …
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A host program is not installed.
    #[error("{tool} is not installed; install it: apt install {package}")]
    MissingTool {
        /// Name of the program or file.
        tool: String,
        /// Debian package that holds it.
        package: &'static str,
    },
    /// Half of this very program is not installed.
    #[error(
        "{} is missing: the lab puts it into its guests, and it belongs beside artis; \
         build both (cargo build --release), or copy it there", .0.display()
    )]
    NoGuestProgram(PathBuf),
    /// A host program ended badly.
    #[error("{program} failed: {reason}")]
    Program {
        /// The program and what it was to do.
        program: String,
        /// What it said.
        reason: String,
    },
    /// The lab's kernels and tools exist for x86-64 only.
    #[error("the lab boots x86-64 kernels with this machine's own programs; this machine is {0}")]
    Architecture(&'static str),
    /// The user's apt has no Debian mirror to take kernels from.
    #[error(
        "apt on this machine has no Debian mirror to take kernels from; \
         name one with --mirror URL (or run apt-get update first, if it has one)"
    )]
    NoMirror,
    /// A path or address that cannot be written into apt's configuration.
    #[error("{0:?} cannot be used in apt's configuration: it holds a quote, space or line break")]
    NotForApt(String),
    /// No kernel of that name.
    #[error("no kernel is called {name:?}; choose one of: newest, newest-rt, {}", known.join(", "))]
    UnknownKernel {
        /// What was asked for.
        name: String,
        /// Releases that exist, newest first.
        known: Vec<String>,
    },
    /// A Debian package without the file a kernel package should have.
    #[error("{package} holds no kernel image; choose another kernel (artis lab kernels)")]
    NoImage {
        /// Package name.
        package: String,
    },
    /// The kernel lacks a driver the guest cannot do without.
    #[error("kernel {release} cannot run in the lab: it has no built-in {option}")]
    KernelLacks {
        /// Kernel release.
        release: String,
        /// Configuration option.
        option: &'static str,
    },
    /// The archive has dropped them.
    #[error(
        "Debian no longer has the modules of kernel {release} {version}; choose a newer kernel (artis lab kernels)"
    )]
    NoModules {
        /// Kernel release.
        release: String,
        /// Version of its packages.
        version: String,
    },
    /// No module of that name.
    #[error("kernel {release} has no module {name:?}; what is built in needs no --module{hint}")]
    UnknownModule {
        /// What was asked for.
        name: String,
        /// Kernel release.
        release: String,
        /// Names like it, or nothing.
        hint: String,
    },
    /// More CPUs than the engine has.
    #[error(
        "Bochs emulates at most {max} CPUs, not {cpus}; give fewer: --cpus N, or cpus in the file of an experiment"
    )]
    TooManyCpus {
        /// Asked for.
        cpus: u32,
        /// Possible.
        max: u32,
    },
    /// A file cannot be put into the guest.
    #[error("cannot put {} into the guest: {reason}", path.display())]
    Guest {
        /// File on the host.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The guest ended, or hung, without telling the command's exit status.
    #[error("{what} (whole console: {})\n{tail}", console.display())]
    GuestLost {
        /// What happened.
        what: String,
        /// Last lines of the console.
        tail: String,
        /// The whole console.
        console: PathBuf,
    },
    /// The guest sent something that is not in the protocol.
    #[error(
        "the guest sent {0:?}, which the lab does not understand; is its init older than this artis?"
    )]
    Protocol(String),
    /// The reader of the command's output went away, or a disk is full.
    #[error("cannot pass on the command's {stream}")]
    Sink {
        /// "stdout", "stderr" or "files".
        stream: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

impl Error {
    /// For `map_err`: an [`Error::Io`] that says what was done to which path.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { what, path, source }
    }
}
