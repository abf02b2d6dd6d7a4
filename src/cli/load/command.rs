// SPDX-License-Identifier: GPL-2.0-only
//! The user's command beside a load: runs it to its end, to a time limit, or until artis is
//! asked to stop, and gives its exit status.

use crate::task::starter::ends_with;
use artis_run::start::not_started;
use artis_run::voice::Voice;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};
use std::ffi::OsString;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Exit status when the time was over, as timeout(1) has it.
const TIMED_OUT: u8 = 124;
/// How long a wait lasts before the stop flag is looked at again: a signal may have come just
/// before the wait began.
const PATIENCE: Duration = Duration::from_millis(200);
/// Time that a command has to end after each signal.
const GRACE: Duration = Duration::from_secs(5);

/// Runs the command, or only waits when there is none.
pub fn run(
    words: &[OsString],
    limit: Option<Duration>,
    stop: &AtomicUsize,
    voice: Voice,
) -> anyhow::Result<ExitCode> {
    let end = limit.map(|limit| Instant::now() + limit);
    let Some((program, arguments)) = words.split_first() else {
        // With a command the terminal is the command's.
        let _sign = voice.sign(limit);
        wait(None, end, stop)?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let starter = getpid();
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(move || ends_with(starter, Signal::SIGTERM)) };
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let (code, reason) = not_started(program, &error);
            say!("artis: could not run {}: {reason}", program.display());
            return Ok(ExitCode::from(code));
        }
    };
    let running = pidfd(&child)?;
    wait(Some(&running), end, stop)?;
    if let Some(status) = child.try_wait()? {
        return Ok(exit_code(status));
    }
    let stopped_by = stop.load(Ordering::Relaxed);
    let status = end_command(&mut child, &running, to_forward(stopped_by))?;
    Ok(match stopped_by {
        0 => ExitCode::from(TIMED_OUT),
        _ => exit_code(status),
    })
}

/// Until the command has ended, the time is over, or the flag is not 0.
fn wait(running: Option<&OwnedFd>, end: Option<Instant>, stop: &AtomicUsize) -> anyhow::Result<()> {
    while stop.load(Ordering::Relaxed) == 0 {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) || ended_within(running, left.unwrap_or(PATIENCE))? {
            break;
        }
    }
    Ok(())
}

/// Whether the command ended within this time, or [`PATIENCE`] if that is shorter.
fn ended_within(running: Option<&OwnedFd>, time: Duration) -> anyhow::Result<bool> {
    let mut fds: Vec<PollFd> = running
        .iter()
        .map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN))
        .collect();
    let milliseconds = time.min(PATIENCE).as_micros().div_ceil(1000);
    match poll(&mut fds, PollTimeout::try_from(milliseconds)?) {
        Ok(count) => Ok(count > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// What the command is sent at once when artis is to end for this reason, the value of the stop
/// flag: the signal that artis got, or SIGTERM when the time is over or a load has ended. Ctrl-C
/// went to the command as well, and many programs take a second one for "at once".
fn to_forward(stopped_by: usize) -> Option<Signal> {
    let signal = i32::try_from(stopped_by).ok().map(Signal::try_from);
    match signal {
        Some(Ok(Signal::SIGINT)) => None,
        Some(Ok(signal)) => Some(signal),
        _ => Some(Signal::SIGTERM),
    }
}

/// Sends the first signal, if any, and then SIGTERM and SIGKILL until the command has ended.
fn end_command(
    child: &mut Child,
    running: &OwnedFd,
    first: Option<Signal>,
) -> anyhow::Result<ExitStatus> {
    let pid = Pid::from_raw(child.id().cast_signed());
    let again = (first != Some(Signal::SIGTERM)).then_some(Some(Signal::SIGTERM));
    let steps = [Some(first), again, Some(Some(Signal::SIGKILL))];
    for signal in steps.into_iter().flatten() {
        if let Some(signal) = signal {
            // Not waited for yet, so the number is still its own.
            let _ = kill(pid, signal);
        }
        let end = Instant::now() + GRACE;
        while Instant::now() < end {
            if ended_within(Some(running), GRACE)? {
                return Ok(child.wait()?);
            }
        }
    }
    Ok(child.wait()?)
}

fn pidfd(child: &Child) -> anyhow::Result<OwnedFd> {
    // SAFETY: no pointer is passed.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    let fd = i32::try_from(Errno::result(fd)?)?;
    // SAFETY: the kernel has just opened it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// As a shell has it: 128 and the signal's number for one that was killed.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_terminals_own_signal_is_forwarded() {
        assert_eq!(to_forward(15), Some(Signal::SIGTERM));
        assert_eq!(to_forward(1), Some(Signal::SIGHUP));
        assert_eq!(to_forward(2), None);
        // The time is over; a load has ended.
        assert_eq!(to_forward(0), Some(Signal::SIGTERM));
        assert_eq!(to_forward(usize::MAX), Some(Signal::SIGTERM));
    }
}
