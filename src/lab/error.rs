// SPDX-License-Identifier: GPL-2.0-only
//! What can go wrong in the lab, and what to do about it.

use artis_guest::protocol::UnknownMessage;
use std::io;
use std::path::{Path, PathBuf};

/// An error of the lab; its text names what failed, on what, and what to do next. The system's
/// reason is its source.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine cannot report what a CPU does.
    #[error("this engine does not report what a CPU does; bochs does")]
    NotObservable,
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
    /// A program of guests is not installed.
    #[error(
        "{} is missing: the lab puts it into its guests, so it must be in the same folder as \
         artis, or in ../libexec/artis from there; build them (cargo build --release), or copy it",
        .0.display()
    )]
    NoGuestProgram(PathBuf),
    /// A host program failed.
    #[error("{program} failed: {reason}")]
    Program {
        /// The program and its task.
        program: String,
        /// What it said.
        reason: String,
    },
    /// A scheduler for guests could not be built.
    #[error("cannot build the scheduler {which}: {reason}")]
    NotBuilt {
        /// The crate and its version.
        which: String,
        /// Why not.
        reason: String,
    },
    /// A scheduler for guests reads the kernel's configuration, which Debian's archive has no more.
    #[error(
        "the scheduler {which} reads the configuration of the kernel before it starts, and that of \
         {release} is not in Debian's archive any more; choose another kernel (artis lab kernels)"
    )]
    NoConfiguration {
        /// The crate and its version.
        which: String,
        /// Kernel release.
        release: String,
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
    /// A word that is not the address of a mirror.
    #[error("{0:?} is not the address of a mirror; write it as http://deb.debian.org/debian")]
    NotAMirror(String),
    /// No temporary folder.
    #[error("cannot create a temporary folder in {}; name another folder with TMPDIR", path.display())]
    Scratch {
        /// Where it was to be.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// No kernel of that name.
    #[error("no kernel is called {name:?}; choose one of: newest, newest-rt, {}", known.join(", "))]
    UnknownKernel {
        /// What was asked for.
        name: String,
        /// Releases that exist, newest first.
        known: Vec<String>,
    },
    /// A kernel package without a kernel.
    #[error("{package} holds no kernel image; choose another kernel (artis lab kernels)")]
    NoImage {
        /// Package name.
        package: String,
    },
    /// The kernel lacks a driver that every guest needs.
    #[error("kernel {release} cannot run in the lab: it has no built-in {option}")]
    KernelLacks {
        /// Kernel release.
        release: String,
        /// Configuration option.
        option: &'static str,
    },
    /// The kernel is not of the preemption model that an experiment wants.
    #[error(
        "the configuration {configuration} has preemption = {preemption:?}, and the kernel \
         {release} is built {built} PREEMPT_RT; choose another kernel (artis lab kernels)"
    )]
    KernelUnfit {
        /// Its name in the file.
        configuration: String,
        /// What the file says.
        preemption: &'static str,
        /// Kernel release.
        release: String,
        /// "with" or "without".
        built: &'static str,
    },
    /// Debian's archive no longer has the modules.
    #[error(
        "Debian no longer has the modules of kernel {release} {version}; choose a newer kernel (artis lab kernels)"
    )]
    NoModules {
        /// Kernel release.
        release: String,
        /// Version of its packages.
        version: String,
    },
    /// Not what boots.
    #[error(
        "{path} is no bootable kernel image for PCs; give the one that lies in /boot or in \
         arch/x86/boot/bzImage of a build",
        path = .0.display()
    )]
    NotAKernel(PathBuf),
    /// The user's own kernel, and nobody said where its modules are.
    #[error(
        "the modules of {0} were not named; give their folder with --module-folder DIR \
         (/lib/modules/{0})"
    )]
    NoModuleFolder(String),
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
    #[error("the engine {engine} emulates at most {max} CPUs, not {cpus}")]
    TooManyCpus {
        /// The engine.
        engine: &'static str,
        /// Asked for.
        cpus: u32,
        /// Possible.
        max: u32,
    },
    /// More memory than the engine has.
    #[error("the engine {engine} gives a guest at most {max} MiB of memory, not {mib}")]
    TooMuchMemory {
        /// The engine.
        engine: &'static str,
        /// Asked for, in MiB.
        mib: u32,
        /// Possible.
        max: u32,
    },
    /// A device that the engine does not have.
    #[error(
        "the engine {engine} gives a guest no {device}; leave out {option}, or take another engine \
         (--engine qemu)"
    )]
    NoDevice {
        /// The engine.
        engine: &'static str,
        /// The device, in words.
        device: &'static str,
        /// The option that asked for it.
        option: &'static str,
    },
    /// A file cannot be put into the guest.
    #[error("cannot put {} into the guest: {reason}", path.display())]
    NotForGuest {
        /// File on the host.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The guest ended, or hung, without sending the command's exit status.
    #[error("{what} (whole console: {})\n{tail}", console.display())]
    GuestLost {
        /// What happened.
        what: String,
        /// Last lines of the console.
        tail: String,
        /// The whole console.
        console: PathBuf,
        /// What the emulator did wrong, when that was the reason: another try may do.
        fault: Option<&'static str>,
        /// Had its command begun?
        begun: bool,
    },
    /// The guest sent something that is not in the protocol.
    #[error(transparent)]
    Protocol(#[from] UnknownMessage),
    /// The reader of the command's output has gone, or a disk is full.
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
