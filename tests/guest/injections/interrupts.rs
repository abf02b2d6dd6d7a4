// SPDX-License-Identifier: GPL-2.0-only
//! Interrupts of the victim's CPU. Each is short, so a task of higher priority makes the victim's
//! loss long meanwhile, and what happens within it is counted.

use super::memory::{PAGE, map};
use super::{Injection, Shared, VICTIM, bind, fifo, now_ns, pause};
use crate::named;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::sync_channel;

/// Does something over and over while a companion on the victim's CPU makes the victim late. Says
/// when each began and ended, of those that lie within the companion's time.
fn while_late(
    shared: &Shared,
    times: usize,
    spin_ns: u64,
    mut one: impl FnMut(),
) -> Vec<Injection> {
    let spins = AtomicBool::new(false);
    let enough = AtomicBool::new(false);
    let (begin, begins) = sync_channel::<()>(0);
    std::thread::scope(|scope| {
        let (spins, enough) = (&spins, &enough);
        scope.spawn(move || {
            bind(shared.cpu);
            named(c"companion");
            fifo(VICTIM + 10);
            while begins.recv().is_ok() {
                // It lets go of the CPU by itself.
                let until_ns = now_ns() + 5 * shared.spin_ns;
                spins.store(true, SeqCst);
                while !enough.load(SeqCst) && now_ns() < until_ns {
                    std::hint::spin_loop();
                }
                spins.store(false, SeqCst);
            }
        });
        bind(shared.other);
        named(c"inj-ipi");
        fifo(1);
        let mut injected = Vec::new();
        for _ in 0..times {
            pause(shared);
            enough.store(false, SeqCst);
            if begin.send(()).is_err() {
                break;
            }
            let until_ns = now_ns() + spin_ns;
            while now_ns() < until_ns {
                if !spins.load(SeqCst) {
                    std::hint::spin_loop();
                    continue;
                }
                let begin_ns = now_ns();
                one();
                let end_ns = now_ns();
                if spins.load(SeqCst) {
                    injected.push(Injection {
                        begin_ns,
                        end_ns,
                        waited_ns: 0,
                    });
                }
            }
            enough.store(true, SeqCst);
        }
        drop(begin);
        injected
    })
}

pub(super) fn membarrier(command: libc::c_int) -> libc::c_long {
    // SAFETY: takes numbers only.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}

pub(super) fn register_for_barriers() {
    let registered = membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    assert_eq!(registered, 0, "membarrier can be used");
}

/// Barriers, for which the kernel interrupts every CPU that runs a thread of this process.
pub(super) fn membarriers(shared: &Shared, times: usize) -> Vec<Injection> {
    register_for_barriers();
    while_late(shared, times, shared.spin_ns, || {
        membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    })
}

/// Takes the right to write from a page: each CPU that runs the process has to forget it.
pub(super) fn shootdowns(shared: &Shared, times: usize) -> Vec<Injection> {
    let page = map(PAGE, libc::MAP_POPULATE);
    let protect = |rights: libc::c_int| {
        // SAFETY: our own page.
        unsafe { libc::mprotect(page.cast(), PAGE, rights) };
    };
    while_late(shared, times, shared.spin_ns, || {
        protect(libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: within the mapping, which can be written now.
        unsafe { page.write_volatile(1) };
        protect(libc::PROT_READ);
    })
}

/// Reads of a file past the page cache, each of which ends with an interrupt.
pub(super) fn reads(shared: &Shared, times: usize) -> Result<Vec<Injection>, String> {
    const BYTES: usize = 64 * PAGE;
    // It has no name: nothing is left after a kill.
    let mut file = tempfile::tempfile_in(".").map_err(|error| error.to_string())?;
    file.write_all(&vec![1; BYTES])
        .and_then(|()| file.sync_all())
        .map_err(|error| error.to_string())?;
    let direct = File::options()
        .read(true)
        .custom_flags(libc::O_DIRECT)
        .open(format!("/proc/self/fd/{}", file.as_raw_fd()))
        .map_err(|error| format!("this folder's disk cannot be read directly: {error}"))?;
    let buffer = map(PAGE, libc::MAP_POPULATE);
    let mut at = 0;
    let mut read = || {
        at = (at + PAGE) % BYTES;
        // SAFETY: the buffer is a page.
        let bytes =
            unsafe { libc::pread(direct.as_raw_fd(), buffer.cast(), PAGE, at as libc::off_t) };
        assert_eq!(bytes, PAGE as isize, "a disk that works");
    };
    bind(shared.other);
    let before = interrupts(shared.cpu);
    const READS: u64 = 200;
    for _ in 0..READS {
        read();
    }
    let after = interrupts(shared.cpu);
    let of_disk = after.iter().find(|(name, count)| {
        let old = before.iter().find(|(other, _)| other == name);
        old.is_some_and(|(_, old)| count - old >= READS)
    });
    let (name, _) =
        of_disk.ok_or("the interrupts of this folder's disk do not come to the last CPU")?;
    let _ = shared.device.set(name.clone());
    Ok(while_late(shared, times, 3 * shared.spin_ns, read))
}

/// Counts of the devices' interrupts on one CPU, by their names.
fn interrupts(cpu: u32) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string("/proc/interrupts").unwrap_or_default();
    let mut lines = text.lines();
    let cpus = lines.next().unwrap_or_default().split_whitespace();
    let column = cpus
        .clone()
        .position(|name| name == format!("CPU{cpu}"))
        .unwrap_or(0);
    let columns = cpus.count();
    let of_device = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = words.first()?.strip_suffix(':')?;
        number.parse::<u32>().ok()?;
        let count = words.get(1 + column)?.parse().ok()?;
        (words.len() > columns + 1).then_some(())?;
        Some(((*words.last()?).to_owned(), count))
    };
    lines.filter_map(of_device).collect()
}
