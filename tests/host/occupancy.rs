// SPDX-License-Identifier: GPL-2.0-only
//! The observer on the kernel that runs the tests, whatever its scheduler.

use crate::common::skipped;
use artis::load::own::process::{Place, Process};
use artis::machine::CpuList;
use artis::task::syscall;
use artis::trace::occupancy::{Counts, Error, Occupancy};
use libbpf_rs::ErrorKind;
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
    let observer = match Occupancy::load(&mut storage) {
        Ok(observer) => observer,
        // Root in a container, or a kernel in lockdown. Anything else is a fault of ours.
        Err(Error::Bpf { reason, .. }) if reason.kind() == ErrorKind::PermissionDenied => {
            skipped(
                name,
                &format!("this kernel refuses BPF tracing, even to root: {reason}"),
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
    let before = observer.snapshot();
    kill(process.pid(), Signal::SIGCONT).unwrap();
    wait_for_stop(process.pid());
    let counts = observer
        .snapshot()
        .since(&before, |cpu| cpu == last as usize);
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

/// On a scheduler that moves nobody in between, each entry's work is where it began. Signals and a
/// stop on the way in or out belong to the two ends, and calls of other tasks may sleep in between
/// and end on another CPU; they are few.
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
    assert!(counts.syscalls.begun >= TIMES);
    assert!(counts.syscalls.worked >= TIMES);
    assert!(
        counts.syscalls.begun.abs_diff(counts.syscalls.worked) <= HANDFUL,
        "each call that begins on a CPU works there"
    );
    assert!(
        counts.syscalls.begun.abs_diff(counts.syscalls_returned) <= HANDFUL,
        "each call that begins on a bound process' CPU returns there"
    );
    assert!(counts.others_ns > 0, "the process had the CPU for a while");
}
