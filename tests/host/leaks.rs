// SPDX-License-Identifier: GPL-2.0-only
//! The observer on the kernel that runs the tests, whatever its scheduler.

use crate::common::skipped;
use artis::load::own::process::{Place, Process};
use artis::machine::CpuList;
use artis::measure::leaks::{Counts, Observer};
use artis::task::syscall;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::convert::Infallible;
use std::mem::MaybeUninit;

/// Counts what a stopped process does on its one CPU from when it goes on until it stops again.
///
/// Other tasks may enter the kernel on that CPU too, so the caller gets a lower bound that is
/// exact on a quiet machine. `None`, loudly, when BPF cannot be used here.
fn observe(name: &'static str, work: fn()) -> Option<Counts> {
    let mut storage = MaybeUninit::uninit();
    let observer = match Observer::load(&mut storage) {
        Ok(observer) => observer,
        // Root in a container, or a kernel in lockdown. Anything else is a fault of ours.
        Err(error) if error.is_refused() => {
            skipped(
                name,
                &format!("this kernel refuses BPF tracing, even to root: {error}"),
            );
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let last = syscall::affinity(0).unwrap().last().unwrap();
    let only = CpuList::from_iter([last]);
    let process = Process::start(name, Place::on(&only), move |_| -> Result<Infallible, _> {
        stop_here();
        work();
        stop_here();
        unreachable!("nobody lets it go on");
    })
    .unwrap();
    wait_for_stop(process.pid());
    let counted = || observer.counts(|cpu| cpu == last as usize);
    let before = counted();
    kill(process.pid(), Signal::SIGCONT).unwrap();
    wait_for_stop(process.pid());
    let counts = counted() - before;
    eprintln!("{name}: {counts:?}");
    Some(counts)
}

fn stop_here() {
    kill(nix::unistd::getpid(), Signal::SIGSTOP).unwrap();
}

fn wait_for_stop(pid: Pid) {
    let status = waitpid(pid, Some(WaitPidFlag::WUNTRACED)).unwrap();
    assert!(
        matches!(status, WaitStatus::Stopped(_, Signal::SIGSTOP)),
        "{status:?}"
    );
}

const TIMES: u64 = 100_000;

/// The calls that a stop ends or begins are seen at one end only, and calls of other tasks may
/// sleep in between and end on another CPU; they are few.
const HANDFUL: u64 = TIMES / 100;

#[test]
fn system_calls_of_a_bound_process_work_where_they_begin() {
    as_root!("system_calls_of_a_bound_process_work_where_they_begin");
    let Some(counts) = observe("getppid", || {
        for _ in 0..TIMES {
            // SAFETY: a system call without arguments.
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
    }) else {
        return;
    };
    assert!(counts.syscalls >= TIMES, "{counts:?}");
    assert!(
        counts.syscalls.abs_diff(counts.syscalls_returned) <= HANDFUL,
        "each call of a bound process returns where it works: {counts:?}"
    );
    assert!(counts.all() >= counts.syscalls + counts.signals);
}
