// SPDX-License-Identifier: GPL-2.0-only
//! The C library's mutex, because Rust's has no priority inheritance.

use nix::errno::Errno;
use std::cell::UnsafeCell;

/// A lock at a fixed place.
pub(super) struct Mutex(Box<UnsafeCell<libc::pthread_mutex_t>>);

// SAFETY: a pthread mutex is made to be used by several threads.
unsafe impl Sync for Mutex {}

impl Mutex {
    pub fn new(inherits: bool) -> Result<Self, Errno> {
        let lock = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        // SAFETY: zeros are a valid value of the attributes, which are set up next.
        let mut attributes: libc::pthread_mutexattr_t = unsafe { std::mem::zeroed() };
        let protocol = match inherits {
            true => libc::PTHREAD_PRIO_INHERIT,
            false => libc::PTHREAD_PRIO_NONE,
        };
        // SAFETY: attributes and lock are alive, and nobody else has them yet.
        unsafe {
            check(libc::pthread_mutexattr_init(&raw mut attributes))?;
            check(libc::pthread_mutexattr_setprotocol(
                &raw mut attributes,
                protocol,
            ))?;
            check(libc::pthread_mutex_init(lock.get(), &raw const attributes))?;
            check(libc::pthread_mutexattr_destroy(&raw mut attributes))?;
        }
        Ok(Self(lock))
    }

    /// Does `work` with the lock.
    pub fn hold<T>(&self, work: impl FnOnce() -> T) -> T {
        // SAFETY: the lock was set up, and does not move.
        let locked = unsafe { libc::pthread_mutex_lock(self.0.get()) };
        assert_eq!(locked, 0, "no thread asks for a lock that it has");
        let done = work();
        // SAFETY: as above; this thread has it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
        done
    }
}

impl Drop for Mutex {
    fn drop(&mut self) {
        // SAFETY: nobody has it: it is owned.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) };
    }
}

fn check(error: libc::c_int) -> Result<(), Errno> {
    match error {
        0 => Ok(()),
        error => Err(Errno::from_raw(error)),
    }
}
