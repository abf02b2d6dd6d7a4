// SPDX-License-Identifier: GPL-2.0-only
//! Tasks that go before the victim, or keep from running whom it waits for.

use super::{
    Injection, PERIOD_NS, Shared, VICTIM, Waiting, bind, favoured, fifo, now_ns, pause, repeat,
    repeat_if, spin,
};
use crate::named;
use artis::task::syscall;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A deadline task looks so often where it is.
const PART_NS: u64 = 10_000;
/// The kernel takes 2^22 us (`kernel.sched_deadline_period_max_us`).
const DEADLINE_PERIOD_NS_MAX: u64 = 4_000_000_000;

pub(super) fn fifo_task(shared: &Shared, times: usize) -> Vec<Injection> {
    bind(shared.cpu);
    named(c"inj-fifo");
    fifo(VICTIM + 10);
    repeat_if(shared, times, || spin(shared, shared.spin_ns))
}

/// It has to be free to use every CPU, and counts only on the victim's.
pub(super) fn deadline(shared: &Shared, times: usize) -> Vec<Injection> {
    named(c"inj-deadline");
    // SAFETY: takes nothing.
    let here = || u32::try_from(unsafe { libc::sched_getcpu() }) == Ok(shared.cpu);
    let mut injected = Vec::new();
    for _ in 0..times {
        // A task stays where it slept, unless another deadline task is there.
        if !here() || injected.is_empty() {
            become_normal();
            bind(shared.cpu);
            syscall::set_affinity(0, &shared.cpus).expect("the CPUs from the beginning");
            become_deadline(shared);
        }
        injected.extend(repeat_if(shared, 1, || {
            let parts = shared.spin_ns / PART_NS;
            // Not even in between it was elsewhere.
            (0..parts).all(|_| here() && spin(shared, PART_NS) && here())
        }));
    }
    injected
}

fn become_normal() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters are alive.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameters) };
}

fn become_deadline(shared: &Shared) {
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }

    let period_ns = (25 * shared.spin_ns).min(DEADLINE_PERIOD_NS_MAX);
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: 6,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: 2 * shared.spin_ns,
        deadline: period_ns,
        period: period_ns,
    };
    // SAFETY: the attributes are alive and as sched_setattr(2) has them.
    let set = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    assert_eq!(set, 0, "a deadline takes root, and an affinity of all CPUs");
}

/// The low thread takes the lock; the middle one keeps it from giving it back.
pub(super) fn lock(shared: &Shared, times: usize) -> Vec<Injection> {
    let wake = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            bind(shared.cpu);
            named(c"inj-middle");
            fifo(VICTIM - 10);
            let mut seen = 0;
            while !done.load(Relaxed) {
                std::thread::sleep(Duration::from_micros(500));
                let now = wake.load(Relaxed);
                if now != seen {
                    seen = now;
                    spin(shared, 3 * PERIOD_NS);
                }
            }
        });
        bind(shared.cpu);
        named(c"inj-low");
        fifo(VICTIM - 20);
        let injected = repeat(shared, times, || {
            shared.lock();
            shared.asked.fetch_add(1, Relaxed);
            wake.fetch_add(1, Relaxed);
            // Long enough for the victim to ask, and for the middle one to come.
            spin(shared, 3 * PERIOD_NS);
            shared.unlock();
        });
        done.store(true, Relaxed);
        injected
    })
}

/// Who has the lock uses up its budget as a deadline task.
pub(super) fn budget(shared: &Shared, times: usize) -> Vec<Injection> {
    named(c"inj-budget");
    syscall::set_affinity(0, &shared.cpus).expect("the CPUs from the beginning");
    become_deadline(shared);
    let injected = repeat(shared, times, || {
        shared.lock();
        shared.asked.fetch_add(1, Relaxed);
        // Beyond its budget, and the tick at which a kernel may look.
        spin(shared, 15 * shared.spin_ns);
        shared.unlock();
    });
    become_normal();
    injected
}

/// No interrupt takes as long: somebody else had the CPU.
const INTERRUPTED_NS: u64 = 1_000_000;

/// A real-time task that never ends, so that the kernel gives a normal one its share. Says when the
/// normal one ran: at these times the real-time tasks were held back. On a busy machine it shares
/// that with other normal tasks, whose part is not its doing.
pub(super) fn throttling(shared: &Shared, times: usize) -> Vec<Injection> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            bind(shared.cpu);
            named(c"inj-hog");
            fifo(VICTIM - 10);
            while !done.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        bind(shared.cpu);
        favoured();
        named(c"inj-normal");
        pause(shared);
        let mut ran = Vec::new();
        let waiting = Waiting::here();
        let mut waited_before_ns = waiting.ns();
        let mut begin_ns = now_ns();
        let mut last_ns = begin_ns;
        // Once a second.
        let end_ns = begin_ns + times as u64 * 1_000_000_000;
        while last_ns < end_ns {
            let now = now_ns();
            last_ns = if now - last_ns > INTERRUPTED_NS {
                let waited_until_now_ns = waiting.ns();
                ran.push(Injection {
                    begin_ns,
                    end_ns: last_ns,
                    // Not what it waited since.
                    waited_ns: (waited_until_now_ns - waited_before_ns)
                        .saturating_sub(now - last_ns),
                });
                waited_before_ns = waited_until_now_ns;
                begin_ns = now_ns();
                begin_ns
            } else {
                now
            };
        }
        done.store(true, Relaxed);
        ran
    })
}
