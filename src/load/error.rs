// SPDX-License-Identifier: GPL-2.0-only
//! The errors of loads.

/// Why a load did not start, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call refused.
    #[error("{what}: {errno}")]
    System {
        /// What was tried, and on what.
        what: String,
        /// The system's reason.
        errno: nix::errno::Errno,
    },
    /// A load that never ends by itself has ended.
    #[error("the load `{name}` ended early ({status}); its own message, if there is one, is above")]
    EndedEarly {
        /// Which load.
        name: &'static str,
        /// How it ended.
        status: String,
    },
    /// A program that the load runs is not installed.
    #[error(
        "`{load}` runs the program {program}, which is not on PATH; install it (`apt install {package}`)"
    )]
    MissingProgram {
        /// Which load or workload.
        load: &'static str,
        /// The program.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A program that the load runs could not be started, or failed.
    #[error("{program}: {reason}")]
    ProgramFailed {
        /// The program and its arguments.
        program: String,
        /// Its exit status, or why it could not be started, and its last output.
        reason: String,
    },
    /// A load that runs, but does no work.
    #[error("the load `{name}` did no work {when}; {words}")]
    Idle {
        /// Which load.
        name: &'static str,
        /// For how long, or until when.
        when: String,
        /// The last output of its program.
        words: String,
    },
    /// The folder for a load's files cannot be made or written.
    #[error("cannot use {} for the load's files: {reason}; name a folder on a disk with TMPDIR", folder.display())]
    Folder {
        folder: std::path::PathBuf,
        reason: std::io::Error,
    },
    /// The memory of a real-time load cannot be kept in RAM.
    #[error("{0} (needs CAP_IPC_LOCK or a larger RLIMIT_MEMLOCK)")]
    Memory(#[from] artis_task::memory::Error),
    /// What a supervised process reported before it ended.
    #[error("{0}")]
    Reported(String),
}

impl Error {
    /// The error of a system call that was `what`; for `map_err`.
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(nix::errno::Errno) -> Self {
        let what = what.into();
        move |errno| Self::System { what, errno }
    }

    /// As [`Error::system`], for errors of the standard library.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::System {
            what,
            errno: nix::errno::Errno::from_raw(error.raw_os_error().unwrap_or(0)),
        }
    }
}
