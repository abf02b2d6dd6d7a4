// SPDX-License-Identifier: GPL-2.0-only
//! Mutexes, conditions, semaphores and barriers that processes share, and futexes.

use super::Error;
use super::arena::{Arena, Part, Zeroed};
use artis_scenario::model::{Objects, Protocol};
use nix::errno::Errno;
use std::cell::UnsafeCell;
use std::mem::zeroed;
use std::sync::atomic::{AtomicU32, Ordering::Acquire};

/// A value of the C library, made for several processes.
#[repr(transparent)]
pub struct Shareable<T>(UnsafeCell<T>);

// SAFETY: the C library's objects are made to be used by several threads and processes.
unsafe impl<T> Sync for Shareable<T> {}
// SAFETY: zeros are valid storage; each is initialised before its first use.
unsafe impl<T> Zeroed for Shareable<T> {}

/// All of a scenario, by their places.
pub struct Locks {
    mutexes: Part<Shareable<libc::pthread_mutex_t>>,
    conditions: Part<Shareable<libc::pthread_cond_t>>,
    semaphores: Part<Shareable<libc::sem_t>>,
    barriers: Part<Shareable<libc::pthread_barrier_t>>,
}

impl Locks {
    /// What they take of an arena.
    pub fn bytes(objects: &Objects) -> usize {
        Arena::bytes::<libc::pthread_mutex_t>(objects.mutexes.len())
            + Arena::bytes::<libc::pthread_cond_t>(objects.conditions.len())
            + Arena::bytes::<libc::sem_t>(objects.semaphores.len())
            + Arena::bytes::<libc::pthread_barrier_t>(objects.barriers.len())
    }

    pub fn new(arena: &mut Arena, objects: &Objects) -> Result<Self, Error> {
        let made = Self {
            mutexes: arena.take(objects.mutexes.len()),
            conditions: arena.take(objects.conditions.len()),
            semaphores: arena.take(objects.semaphores.len()),
            barriers: arena.take(objects.barriers.len()),
        };
        for (place, mutex) in objects.mutexes.iter().enumerate() {
            let what = format!("make the mutex {}", mutex.name);
            made.make_mutex(place, mutex.protocol)
                .map_err(Error::system(what))?;
        }
        for (place, name) in objects.conditions.iter().enumerate() {
            let what = format!("make the condition {name}");
            made.make_condition(place).map_err(Error::system(what))?;
        }
        for (place, semaphore) in objects.semaphores.iter().enumerate() {
            // SAFETY: storage of this type that nobody uses yet.
            let status =
                unsafe { libc::sem_init(made.semaphores[place].0.get(), 1, semaphore.value) };
            let what = format!("make the semaphore {}", semaphore.name);
            Errno::result(status).map_err(Error::system(what))?;
        }
        for (place, barrier) in objects.barriers.iter().enumerate() {
            let what = format!("make the barrier {}", barrier.name);
            made.make_barrier(place, barrier.parties)
                .map_err(Error::system(what))?;
        }
        Ok(made)
    }

    fn make_mutex(&self, place: usize, protocol: Protocol) -> Result<(), Errno> {
        let (kind, ceiling) = match protocol {
            Protocol::None => (libc::PTHREAD_PRIO_NONE, None),
            Protocol::Inheritance => (libc::PTHREAD_PRIO_INHERIT, None),
            Protocol::Ceiling(ceiling) => (PRIO_PROTECT, Some(ceiling)),
        };
        // SAFETY: zeros are valid storage of the attributes, which are set up next; the mutex is
        // storage that nobody uses yet.
        unsafe {
            let mut attributes: libc::pthread_mutexattr_t = zeroed();
            let it = &raw mut attributes;
            check(libc::pthread_mutexattr_init(it))?;
            check(libc::pthread_mutexattr_setpshared(
                it,
                libc::PTHREAD_PROCESS_SHARED,
            ))?;
            check(libc::pthread_mutexattr_setprotocol(it, kind))?;
            if let Some(ceiling) = ceiling {
                check(pthread_mutexattr_setprioceiling(it, ceiling.into()))?;
            }
            check(libc::pthread_mutex_init(self.mutexes[place].0.get(), it))?;
            check(libc::pthread_mutexattr_destroy(it))
        }
    }

    fn make_condition(&self, place: usize) -> Result<(), Errno> {
        // SAFETY: as for mutexes.
        unsafe {
            let mut attributes: libc::pthread_condattr_t = zeroed();
            let it = &raw mut attributes;
            check(libc::pthread_condattr_init(it))?;
            check(libc::pthread_condattr_setpshared(
                it,
                libc::PTHREAD_PROCESS_SHARED,
            ))?;
            check(libc::pthread_cond_init(self.conditions[place].0.get(), it))?;
            check(libc::pthread_condattr_destroy(it))
        }
    }

    fn make_barrier(&self, place: usize, parties: u32) -> Result<(), Errno> {
        // SAFETY: as for mutexes.
        unsafe {
            let mut attributes: libc::pthread_barrierattr_t = zeroed();
            let it = &raw mut attributes;
            check(libc::pthread_barrierattr_init(it))?;
            check(libc::pthread_barrierattr_setpshared(
                it,
                libc::PTHREAD_PROCESS_SHARED,
            ))?;
            let barrier = self.barriers[place].0.get();
            check(libc::pthread_barrier_init(barrier, it, parties.max(1)))?;
            check(libc::pthread_barrierattr_destroy(it))
        }
    }

    pub fn lock(&self, place: usize) -> Result<(), Errno> {
        // SAFETY: initialised by `new`, and in memory that outlives all tasks.
        check(unsafe { libc::pthread_mutex_lock(self.mutexes[place].0.get()) })
    }

    pub fn unlock(&self, place: usize) -> Result<(), Errno> {
        // SAFETY: as above.
        check(unsafe { libc::pthread_mutex_unlock(self.mutexes[place].0.get()) })
    }

    pub fn wait(&self, condition: usize, mutex: usize) -> Result<(), Errno> {
        let (condition, mutex) = (
            self.conditions[condition].0.get(),
            self.mutexes[mutex].0.get(),
        );
        // SAFETY: as above.
        check(unsafe { libc::pthread_cond_wait(condition, mutex) })
    }

    pub fn signal(&self, place: usize) -> Result<(), Errno> {
        // SAFETY: as above.
        check(unsafe { libc::pthread_cond_signal(self.conditions[place].0.get()) })
    }

    pub fn broadcast(&self, place: usize) -> Result<(), Errno> {
        // SAFETY: as above.
        check(unsafe { libc::pthread_cond_broadcast(self.conditions[place].0.get()) })
    }

    pub fn post(&self, place: usize) -> Result<(), Errno> {
        // SAFETY: as above.
        Errno::result(unsafe { libc::sem_post(self.semaphores[place].0.get()) }).map(drop)
    }

    pub fn acquire(&self, place: usize) -> Result<(), Errno> {
        // SAFETY: as above.
        again(|| Errno::result(unsafe { libc::sem_wait(self.semaphores[place].0.get()) }).map(drop))
    }

    pub fn barrier(&self, place: usize) -> Result<(), Errno> {
        // SAFETY: as above.
        match unsafe { libc::pthread_barrier_wait(self.barriers[place].0.get()) } {
            libc::PTHREAD_BARRIER_SERIAL_THREAD => Ok(()),
            error => check(error),
        }
    }
}

/// `PTHREAD_PRIO_PROTECT` of pthread.h, which the libc crate leaves out on Linux.
const PRIO_PROTECT: libc::c_int = 2;

unsafe extern "C" {
    // POSIX, and in every libc; the libc crate does not declare it.
    fn pthread_mutexattr_setprioceiling(
        attributes: *mut libc::pthread_mutexattr_t,
        ceiling: libc::c_int,
    ) -> libc::c_int;
}

fn check(error: libc::c_int) -> Result<(), Errno> {
    match error {
        0 => Ok(()),
        error => Err(Errno::from_raw(error)),
    }
}

/// Goes on after a signal.
pub fn again<T>(mut work: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match work() {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

/// Waits until `word` is no longer `value`.
pub fn futex_wait(word: &AtomicU32, value: u32) {
    while word.load(Acquire) == value {
        // SAFETY: a live word; the kernel only reads it. Every outcome leads to another look.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT,
                value,
                std::ptr::null::<libc::timespec>(),
            )
        };
    }
}

/// Wakes all that wait for a word.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: a live word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}
