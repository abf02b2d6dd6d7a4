// SPDX-License-Identifier: GPL-2.0-only
//! Which system calls a thread waits in for its next activation, and which are a part of this one.
//!
//! Any call may sleep. Asleep in `clock_nanosleep` or `poll` a thread has nothing to do; in `fsync`
//! or `flock` it is in the midst of its work. In `read` or `futex` it is either: a loop that a
//! timer wakes is in the midst of its work there, and one that is woken by such calls is not.

/// A bit for each system call.
pub(crate) type Calls = [u64; 8];

/// Those in which a thread has nothing to do.
pub(crate) fn idle() -> Calls {
    calls(&[
        libc::SYS_nanosleep,
        libc::SYS_clock_nanosleep,
        libc::SYS_poll,
        libc::SYS_ppoll,
        libc::SYS_select,
        libc::SYS_pselect6,
        libc::SYS_epoll_wait,
        libc::SYS_epoll_pwait,
        libc::SYS_epoll_pwait2,
        libc::SYS_pause,
        libc::SYS_rt_sigsuspend,
        libc::SYS_rt_sigtimedwait,
        libc::SYS_io_getevents,
        libc::SYS_io_uring_enter,
        libc::SYS_wait4,
        libc::SYS_waitid,
        libc::SYS_restart_syscall,
        libc::SYS_sched_yield,
    ])
}

/// Those in which it has nothing to do, if its activation did not begin with a timer.
pub(crate) fn event() -> Calls {
    calls(&[
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_pread64,
        libc::SYS_futex,
        libc::SYS_accept,
        libc::SYS_accept4,
        libc::SYS_recvfrom,
        libc::SYS_recvmsg,
        libc::SYS_recvmmsg,
        libc::SYS_msgrcv,
        libc::SYS_semop,
        libc::SYS_semtimedop,
        libc::SYS_mq_timedreceive,
        libc::SYS_ioctl,
    ])
}

fn calls(numbers: &[libc::c_long]) -> Calls {
    let mut calls = Calls::default();
    for number in numbers.iter().filter_map(|one| usize::try_from(*one).ok()) {
        if let Some(bits) = calls.get_mut(number / 64) {
            *bits |= 1 << (number % 64);
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_of_one_kind_at_most() {
        let has = |calls: &Calls, number: libc::c_long| {
            calls[number as usize / 64] & 1 << (number % 64) != 0
        };
        let (idle, event) = (idle(), event());
        assert!(idle.iter().zip(event).all(|(one, other)| one & other == 0));
        assert!(has(&idle, libc::SYS_clock_nanosleep) && has(&event, libc::SYS_read));
        for work in [libc::SYS_flock, libc::SYS_fsync, libc::SYS_write] {
            assert!(!has(&idle, work) && !has(&event, work));
        }
    }
}
