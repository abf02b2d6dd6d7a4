// SPDX-License-Identifier: GPL-2.0-only
//! Breakpoints on the kernel functions that call those of system calls.
//!
//! Each CPU has four breakpoint registers of its own, so a breakpoint on RT CPUs costs the other
//! CPUs nothing. Where one is hit, perf runs the BPF program in the exception, which is like an
//! NMI. If that answers 1, perf raises an interrupt of its own, which comes when the exception
//! ends, in which more is allowed.
//! Source: Intel SDM, volume 3, chapter "Debug, Branch Profile, TSC, and Intel RDT Features".

use super::{Of, open};
use artis_machine::Root;
use artis_machine::arch::CALLS as FUNCTIONS;
use artis_machine::kernel::{Kernel, Preemption};
use libbpf_rs::libbpf_sys::{PERF_TYPE_BREAKPOINT, perf_event_attr};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Where the kernel lists its functions.
const LIST: &str = "/proc/kallsyms";

/// Of include/uapi/linux/hw_breakpoint.h: when the CPU is about to execute what is there.
const HW_BREAKPOINT_X: u32 = 4;

/// Why no breakpoints are used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{LIST} cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("{LIST} hides the kernel's addresses (kernel.kptr_restrict, CAP_SYSLOG)")]
    Hidden,
    #[error("this kernel has no function {}", FUNCTIONS[0])]
    Absent,
    /// Its interrupt for a task that must leave would come too late.
    #[error("PREEMPT_RT handles perf's interrupt in a thread")]
    Threaded,
    #[error("the kernel refuses a breakpoint on system calls: {0}")]
    Refused(io::Error),
    #[error("a system call did not hit the breakpoint on {}", FUNCTIONS[0])]
    Missed,
}

impl Error {
    /// May it be otherwise soon? Somebody else, as a debugger, holds too many breakpoints.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Refused(error) if error.raw_os_error() == Some(libc::ENOSPC))
    }
}

/// The addresses of [`FUNCTIONS`] that this kernel has, when breakpoints on them are hit: that is
/// tried, by a system call of this thread.
///
/// # Errors
/// Why they cannot be used.
pub fn functions(root: &Root) -> Result<Vec<u64>, Error> {
    if Kernel::read(root).is_ok_and(|kernel| kernel.preemption == Preemption::PreemptRt) {
        return Err(Error::Threaded);
    }
    let list = File::open(root.path(LIST)).map_err(Error::Unreadable)?;
    let functions = find(BufReader::new(list))?;
    try_out(&functions)?;
    Ok(functions)
}

/// Sets breakpoints on all of them, for this thread, and sees whether its system calls hit the
/// first: a compiler may have copied that function into its caller.
fn try_out(functions: &[u64]) -> Result<(), Error> {
    let events = functions
        .iter()
        .map(|one| open(attributes(*one), Of::Thread));
    let events = events.collect::<io::Result<Vec<File>>>();
    let events = events.map_err(Error::Refused)?;
    let mut hits = [0; size_of::<u64>()];
    if let Some(mut of_64_bit) = events.first() {
        of_64_bit.read_exact(&mut hits).map_err(Error::Refused)?;
    }
    match u64::from_ne_bytes(hits) {
        0 => Err(Error::Missed),
        _ => Ok(()),
    }
}

/// Finds the functions in the kernel's list, which has hundreds of thousands of lines.
fn find(list: impl BufRead) -> Result<Vec<u64>, Error> {
    let mut found = [None; FUNCTIONS.len()];
    for line in list.lines() {
        let line = line.map_err(Error::Unreadable)?;
        let mut words = line.split_whitespace();
        let (Some(address), Some(_), Some(name)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let places = FUNCTIONS.iter().zip(&mut found);
        for (_, place) in places.filter(|(function, _)| **function == name) {
            *place = u64::from_str_radix(address, 16).ok();
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    match found[0] {
        None => Err(Error::Absent),
        Some(0) => Err(Error::Hidden),
        Some(_) => Ok(found.into_iter().flatten().collect()),
    }
}

/// Sets a breakpoint of `cpu` that runs `program`.
pub(super) fn set(function: u64, cpu: u32, program: BorrowedFd<'_>) -> io::Result<File> {
    let mut attributes = attributes(function);
    // What only counts runs no program.
    attributes.__bindgen_anon_1.sample_period = 1;
    let event = open(attributes, Of::Cpu(cpu))?;
    // SAFETY: both are open, and the kernel keeps the program.
    unsafe { set_program(event.as_raw_fd(), program.as_raw_fd() as libc::c_ulong) }?;
    // perf raises its interrupt for an event that may have to send a signal. Nobody is named to
    // whom, so none is sent.
    fcntl(&event, FcntlArg::F_SETFL(OFlag::O_ASYNC))?;
    Ok(event)
}

nix::ioctl_write_int!(
    /// `PERF_EVENT_IOC_SET_BPF` of include/uapi/linux/perf_event.h.
    set_program,
    b'$',
    8
);

fn attributes(function: u64) -> perf_event_attr {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_BREAKPOINT,
        bp_type: HW_BREAKPOINT_X,
        ..Default::default()
    };
    attributes.__bindgen_anon_3.bp_addr = function;
    attributes.__bindgen_anon_4.bp_len = size_of::<libc::c_long>() as u64;
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_are_found_as_far_as_the_kernel_has_them() {
        let all = "ffffffff81000000 T _text\nffffffff812a07b0 T x64_sys_call\n\
                   ffffffff812a0f00 T ia32_sys_call\nffffffff812a1f00 T x32_sys_call\n\
                   ffffffff812a1f00 t x64_sys_call\t[module]\n";
        let addresses = [0xffff_ffff_812a_07b0, 0xffff_ffff_812a_0f00];
        let x32 = 0xffff_ffff_812a_1f00;
        assert_eq!(
            find(all.as_bytes()).unwrap(),
            [&addresses[..], &[x32]].concat()
        );
        let few: String = all
            .lines()
            .take(3)
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(find(few.as_bytes()).unwrap(), addresses);
    }

    #[test]
    fn hidden_addresses_and_a_kernel_without_the_function_are_told_apart() {
        let hidden = "0000000000000000 T x64_sys_call\n";
        assert!(matches!(find(hidden.as_bytes()), Err(Error::Hidden)));
        let other = "ffffffff81000000 T ia32_sys_call\n";
        assert!(matches!(find(other.as_bytes()), Err(Error::Absent)));
    }
}
