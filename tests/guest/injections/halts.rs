// SPDX-License-Identifier: GPL-2.0-only
//! Processes that halt the victim, or are halted while they have the lock that it waits for; and a
//! clock that is set.

use super::freezer::Freezer;
use super::{Injection, Kind, PAUSE_MS, Shared, bind, fifo, now_ns, pause, random, sleep_until};
use crate::named;
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeSpec;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::time::{ClockId, clock_gettime, clock_settime};
use nix::unistd::{ForkResult, Pid, fork};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::time::Duration;

/// How long somebody is halted, and by how much the clock is set.
const HALT: Duration = Duration::from_millis(3);
/// Only where it is set, the clock is.
const MAY_SET_CLOCK: &str = "ARTIS_TEST_SETS_CLOCK";

/// Ends with this process' interest in it, however it was left.
struct Child(Pid);

impl Drop for Child {
    fn drop(&mut self) {
        let _ = kill(self.0, Signal::SIGKILL);
        let _ = waitpid(self.0, None);
    }
}

/// A process of its own that does this, and then ends.
fn child(work: impl FnOnce()) -> Child {
    // SAFETY: the child only calls the kernel, and changes memory that is its own or shared.
    match unsafe { fork() }.expect("room for a process") {
        ForkResult::Parent { child } => Child(child),
        ForkResult::Child => {
            work();
            // SAFETY: takes a number.
            unsafe { libc::_exit(0) }
        }
    }
}

/// The holder takes the lock when it gets a byte, says so, and gives it back when it gets another.
fn holds(shared: &Shared, mut asked: PipeReader, mut says: PipeWriter) {
    bind(shared.other);
    named(c"inj-holder");
    // Nobody else keeps it from its CPU.
    fifo(2);
    let mut byte = [0];
    while asked.read_exact(&mut byte).is_ok() {
        shared.lock();
        let _ = says.write_all(&byte);
        let _ = asked.read_exact(&mut byte);
        shared.unlock();
    }
}

/// A holder of the lock is stopped by a signal, or frozen, while the victim asks for it.
pub(super) fn holder(kind: Kind, shared: &Shared, times: usize) -> Result<Vec<Injection>, String> {
    let pipe = || std::io::pipe().map_err(|error| error.to_string());
    let ((asked, mut asks), (mut said, says)) = (pipe()?, pipe()?);
    let holder = child(|| holds(shared, asked, says));
    let group = match kind {
        Kind::Frozen => Some(Freezer::of(holder.0)?),
        _ => None,
    };
    let halt = |halts: bool| match (&group, halts) {
        (Some(group), _) => group.freeze(halts),
        (None, true) => kill(holder.0, Signal::SIGSTOP).map_err(|errno| errno.to_string()),
        (None, false) => kill(holder.0, Signal::SIGCONT).map_err(|errno| errno.to_string()),
    };
    bind(shared.other);
    named(c"inj-halt");
    fifo(1);
    let mut byte = [0];
    for _ in 0..times {
        pause(shared);
        asks.write_all(&byte).map_err(|error| error.to_string())?;
        said.read_exact(&mut byte)
            .map_err(|error| error.to_string())?;
        halt(true)?;
        shared
            .asked
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        std::thread::sleep(HALT);
        halt(false)?;
        asks.write_all(&byte).map_err(|error| error.to_string())?;
    }
    shared.wait_for_answers();
    Ok(Vec::new())
}

/// A tracer stops the victim, and lets it go on.
pub(super) fn tracer(shared: &Shared, times: usize) -> Result<Vec<Injection>, String> {
    let (mut told, mut tells) = std::io::pipe().map_err(|error| error.to_string())?;
    let victim = Pid::from_raw(
        shared
            .victim
            .load(std::sync::atomic::Ordering::Relaxed)
            .cast_signed(),
    );
    let tracer = child(|| {
        bind(shared.other);
        named(c"inj-tracer");
        let traced = ptrace::seize(victim, ptrace::Options::empty());
        for _ in 0..times {
            std::thread::sleep(Duration::from_millis(random(PAUSE_MS)));
            let begin_ns = now_ns();
            let stopped = traced
                .and_then(|()| ptrace::interrupt(victim))
                .and_then(|()| waitpid(victim, Some(WaitPidFlag::__WALL)));
            std::thread::sleep(HALT);
            if stopped.and_then(|_| ptrace::cont(victim, None)).is_err() {
                return;
            }
            for ns in [begin_ns, now_ns()] {
                let _ = tells.write_all(&ns.to_ne_bytes());
            }
        }
    });
    let mut injected = Vec::new();
    let mut times_ns = [[0; 8]; 2];
    for _ in 0..times {
        for time in &mut times_ns {
            told.read_exact(time)
                .map_err(|_| "this machine lets nobody trace its parent".to_owned())?;
        }
        let [begin_ns, end_ns] = times_ns.map(u64::from_ne_bytes);
        injected.push(Injection {
            begin_ns,
            end_ns,
            waited_ns: 0,
        });
    }
    drop(tracer);
    Ok(injected)
}

/// How far `CLOCK_REALTIME` is from `CLOCK_MONOTONIC`.
fn offset() -> Duration {
    let monotonic = Duration::from_nanos(now_ns());
    let real = clock_gettime(ClockId::CLOCK_REALTIME).expect("the clock exists");
    Duration::from(real) - monotonic
}

fn set_clock(offset: Duration) -> Result<(), String> {
    let time = TimeSpec::from_duration(Duration::from_nanos(now_ns()) + offset);
    clock_settime(ClockId::CLOCK_REALTIME, time).map_err(|errno| errno.to_string())
}

/// The clock that the victim sleeps by is set forward, and back again. When it was not due yet:
/// until then.
pub(super) fn clock(shared: &Shared, times: usize) -> Result<Vec<Injection>, String> {
    if std::env::var_os(MAY_SET_CLOCK).is_none() {
        return Err(format!("the clock is set only if {MAY_SET_CLOCK} is"));
    }
    bind(shared.other);
    named(c"inj-clock");
    let offset = offset();
    let mut injected = Vec::new();
    for _ in 0..times {
        std::thread::sleep(Duration::from_millis(random(PAUSE_MS)));
        set_clock(offset + HALT)?;
        let end_ns = now_ns();
        injected.push(Injection {
            begin_ns: end_ns - HALT.as_nanos() as u64,
            end_ns,
            waited_ns: 0,
        });
        sleep_until(end_ns + 2 * HALT.as_nanos() as u64);
        set_clock(offset)?;
        std::thread::sleep(HALT);
    }
    Ok(injected)
}
