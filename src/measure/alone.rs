// SPDX-License-Identifier: GPL-2.0-only
//! One measurement at a time. Two would falsify each other, also on different CPUs: they share
//! caches, memory, interrupts and the idle states that each asks for.
//!
//! The lock is a name in Linux's abstract socket namespace: any user may take it, the kernel
//! releases it when its process ends in whatever way, and says who has it (unix(7), `SO_PEERCRED`).
//! That namespace is one for each network namespace, so a container with a network of its own does
//! not see the others. What the holder started itself is part of its measurement.

use artis_machine::{Root, processes};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use std::fmt;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The name of the lock.
const NAME: &str = "artis-measurement";
/// How often a wait looks at the stop flag.
const LOOK_MS: u16 = 100;
/// So much of another command is shown, characters.
const COMMAND_CHARS_MAX: usize = 80;

/// The right to measure, until it is dropped.
#[derive(Debug)]
pub struct Alone {
    _lock: Option<UnixListener>,
    /// The measurement that goes on at the same time, where that was allowed.
    pub other: Option<Other>,
}

/// Another measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// 0 where it cannot be seen from here: it is outside of this container.
    pub pid: i32,
    pub user: u32,
    /// Empty where it cannot be read.
    pub command: String,
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pid, user) = (self.pid, self.user);
        match (pid, self.command.as_str()) {
            (0, _) => write!(f, "a process outside of this container, of user {user}"),
            (_, "") => write!(f, "process {pid} of user {user}"),
            (_, command) => write!(f, "`{command}`, process {pid} of user {user}"),
        }
    }
}

/// A signal ended the wait.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a signal ended the wait for another measurement ({0}); nothing was measured")]
pub struct Stopped(Other);

/// What is there at the moment.
enum Found {
    Mine(Alone),
    Others(Other, UnixStream),
}

impl Alone {
    /// Takes the right to measure. While another process has it, calls `wait` once and waits, until
    /// it ends or `stop` is not 0; with `beside`, goes on at once.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn take(
        beside: bool,
        stop: &AtomicUsize,
        wait: &mut dyn FnMut(&Other),
    ) -> Result<Self, Stopped> {
        Self::named(NAME, beside, stop, wait)
    }

    fn named(
        name: &str,
        beside: bool,
        stop: &AtomicUsize,
        wait: &mut dyn FnMut(&Other),
    ) -> Result<Self, Stopped> {
        let mut waits_for = None;
        loop {
            // Where the system gives no socket, there is no lock, and that is no reason to stop.
            let (other, holder) = match look(name) {
                Ok(Found::Mine(alone)) => return Ok(alone),
                Ok(Found::Others(other, _)) if has_started(other.pid) => return Ok(unlocked(None)),
                Ok(Found::Others(other, _)) if beside => return Ok(unlocked(Some(other))),
                Ok(Found::Others(other, holder)) => (other, holder),
                // It has just ended.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
                Err(_) => return Ok(unlocked(None)),
            };
            if waits_for.as_ref() != Some(&other) {
                wait(&other);
                waits_for = Some(other.clone());
            }
            while !has_ended(&holder) {
                if stop.load(Ordering::Relaxed) != 0 {
                    return Err(Stopped(other));
                }
            }
        }
    }
}

fn unlocked(other: Option<Other>) -> Alone {
    Alone { _lock: None, other }
}

/// Takes the name, or finds who has it.
fn look(name: &str) -> io::Result<Found> {
    let address = SocketAddr::from_abstract_name(name)?;
    match UnixListener::bind_addr(&address) {
        Ok(lock) => Ok(Found::Mine(Alone {
            _lock: Some(lock),
            other: None,
        })),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let holder = UnixStream::connect_addr(&address)?;
            let credentials = getsockopt(&holder, PeerCredentials)?;
            let other = Other {
                pid: credentials.pid(),
                user: credentials.uid(),
                command: command(credentials.pid()),
            };
            Ok(Found::Others(other, holder))
        }
        Err(error) => Err(error),
    }
}

/// Waits a moment for the end of the process that holds the other end.
fn has_ended(holder: &UnixStream) -> bool {
    let mut fds = [PollFd::new(holder.as_fd(), PollFlags::POLLIN)];
    matches!(poll(&mut fds, PollTimeout::from(LOOK_MS)), Ok(count) if count > 0)
}

/// The command line of a process.
fn command(pid: i32) -> String {
    let words = Root::default().hint(format!("/proc/{pid}/cmdline"));
    let words = words.unwrap_or_default().replace('\0', " ");
    words.trim().chars().take(COMMAND_CHARS_MAX).collect()
}

/// Whether this process descends from that one.
fn has_started(ancestor: i32) -> bool {
    let root = Root::default();
    let mut pid = nix::unistd::getpid().as_raw();
    while pid > 1 {
        let Some(process) = processes::one(&root, pid) else {
            return false;
        };
        pid = process.parent;
        if pid == ancestor {
            return pid > 0;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{Signal, kill};
    use nix::sys::wait::waitpid;
    use nix::unistd::{ForkResult, fork, pause};

    /// A process that takes `name`, and then sleeps until it is killed.
    fn holder(name: &str) -> nix::unistd::Pid {
        let address = SocketAddr::from_abstract_name(name).unwrap();
        let (mut done, mut says) = std::io::pipe().unwrap();
        // SAFETY: the child makes system calls and sleeps.
        match unsafe { fork() }.unwrap() {
            ForkResult::Parent { child } => {
                drop(says);
                std::io::Read::read_exact(&mut done, &mut [0]).unwrap();
                child
            }
            ForkResult::Child => {
                let lock = UnixListener::bind_addr(&address);
                let _ = std::io::Write::write_all(&mut says, &[u8::from(lock.is_ok())]);
                loop {
                    pause();
                }
            }
        }
    }

    #[test]
    fn the_second_waits_until_the_first_has_been_killed() {
        let name = format!("artis-test-wait-{}", std::process::id());
        let first = holder(&name);
        let mut seen = None;
        let stop = AtomicUsize::new(0);
        let alone = Alone::named(&name, false, &stop, &mut |other| {
            seen = Some(other.clone());
            kill(first, Signal::SIGKILL).unwrap();
            waitpid(first, None).unwrap();
        });
        assert!(alone.unwrap()._lock.is_some());
        let seen = seen.unwrap();
        assert_eq!(seen.pid, first.as_raw());
        assert!(
            seen.to_string().contains(&format!("process {first}")),
            "{seen}"
        );
    }

    #[test]
    fn a_stop_ends_the_wait_and_beside_there_is_none() {
        let name = format!("artis-test-stop-{}", std::process::id());
        let first = holder(&name);
        let stop = AtomicUsize::new(2);
        let refused = Alone::named(&name, false, &stop, &mut |_| ()).unwrap_err();
        assert_eq!(refused.0.pid, first.as_raw());
        let beside = Alone::named(&name, true, &AtomicUsize::new(0), &mut |_| {
            panic!("it does not wait");
        });
        assert_eq!(beside.unwrap().other.unwrap().pid, first.as_raw());
        kill(first, Signal::SIGKILL).unwrap();
        waitpid(first, None).unwrap();
    }

    #[test]
    fn what_the_holder_started_is_part_of_it() {
        assert!(has_started(nix::unistd::getppid().as_raw()));
        assert!(!has_started(nix::unistd::getpid().as_raw()));
    }
}
