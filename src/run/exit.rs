// SPDX-License-Identifier: GPL-2.0-only
//! Exit status of every command: 0 fine, 1 error, 2 a bound was missed, 3 the scheduler is not on
//! or a verdict is unknown, 64 usage.

use anyhow::Context;
use artis_result::claims::Conflict;
use artis_result::{file, import, target};
use signal_hook::consts::SIGXFSZ;
use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A bound or threshold was missed, as rtla has it; or not all that was asked for could be done.
pub const BOUND_MISSED: u8 = 2;

/// `artis sched status`: nothing is on, as systemctl and the LSB have it.
pub const NOT_RUNNING: u8 = 3;

/// `artis decide`: more has to be measured before there is an answer.
pub const UNKNOWN: u8 = 3;

/// Wrong words on the command line (`EX_USAGE` of sysexits.h).
pub const USAGE: u8 = 64;

/// An argument that parsed, but makes no sense on this machine. Ends with [`USAGE`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// Bounds that were missed, or cannot be judged. Ends with [`BOUND_MISSED`].
#[derive(Debug, thiserror::Error)]
#[error("not held: {0}")]
pub struct BoundMissed(pub String);

/// Prepares this process for what must not end it: a limit on the size of files is an error of the
/// write, and a panic says what it has to say through the filter for terminals.
///
/// # Errors
/// When the kernel refuses a handler.
pub fn prepare() -> anyhow::Result<()> {
    // A handler, because an ignored signal would stay ignored in the programs that artis starts.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))
        .context("cannot catch signals")?;
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = std::backtrace::Backtrace::capture();
        say!("artis: {panic}");
        if backtrace.status() == std::backtrace::BacktraceStatus::Captured {
            say!("{backtrace}");
        }
    }));
    Ok(())
}

/// Prints an error as its chain of causes, one line, and gives the exit status.
pub fn failure(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    say!("artis: {error:#}");
    if error.chain().any(is_usage) {
        ExitCode::from(USAGE)
    } else if error.is::<BoundMissed>() {
        ExitCode::from(BOUND_MISSED)
    } else {
        ExitCode::FAILURE
    }
}

/// Whether other words on the command line would help.
fn is_usage(cause: &(dyn Error + 'static)) -> bool {
    use file::Error::Conflict as Taken;
    let of_import = |error: &import::Error| matches!(error, import::Error::File(Taken(_)));
    let of_target = |error: &target::Error| matches!(error, target::Error::Conflict(_));
    cause.is::<UsageError>()
        || cause.is::<Conflict>()
        || cause
            .downcast_ref()
            .is_some_and(|error| matches!(error, Taken(_)))
        || cause.downcast_ref().is_some_and(of_import)
        || cause.downcast_ref().is_some_and(of_target)
}

/// Whether it is only that nobody reads the output any more.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
    })
}
