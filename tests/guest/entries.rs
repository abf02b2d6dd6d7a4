// SPDX-License-Identifier: GPL-2.0-only
//! Threads that enter the kernel on the RT CPU as often as artis lets them, by system calls, page
//! faults, signals and system calls of 32-bit programs in turn.
//!
//! Each computes until it finds itself there and a while longer, so that its stay pays and it is
//! let in again. Nothing but the entry itself calls the kernel meanwhile: the C library knows the
//! CPU and the time without asking.
//!
//! artis sends one task there at each tick of an NRT CPU, at most. So there are as many entries as
//! there are ticks: many where there are many NRT CPUs, which the guest is given for that.

use crate::{RT_CPU, become_rt, now_ns, sleep_until};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// For each CPU: so that others compute there when a tick comes.
const THREADS_PER_CPU: usize = 3;
/// On the RT CPU before the entry. The policy wants 0.2 ms, and RT0 has its part of this.
const STAY_NS: u64 = 350_000;
/// Pages that a thread touches before it gives them back.
const PAGES: usize = 1024;
const PAGE_BYTES: usize = 4096;

/// What the entries are, in the order of [`enter`].
const KINDS: [&str; 4] = ["syscall", "fault", "signal", "compat"];
/// `getcpu` of 32-bit programs.
const GETCPU_32: u64 = 318;

static DONE: AtomicBool = AtomicBool::new(false);
/// Entries begun there, as far as the threads know: a thread may be moved just before its own.
static BEGUN: [AtomicU64; KINDS.len()] = [const { AtomicU64::new(0) }; KINDS.len()];
/// System calls whose work was done there: each says itself where it ran.
static DONE_THERE: AtomicU64 = AtomicU64::new(0);

/// Goes on for so many seconds, beside an RT0 task with a timer of 2 ms. Prints the entries of each
/// kind.
pub fn make(seconds: u64) {
    // SAFETY: the handler changes nothing but the place where its thread goes on.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = skip as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGILL, &raw const action, std::ptr::null_mut());
    }
    let end_ns = now_ns() + seconds * 1_000_000_000;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for first in 0..cpus * THREADS_PER_CPU {
            scope.spawn(move || enter(first));
        }
        scope.spawn(move || {
            become_rt(RT_CPU, 98);
            let mut due_ns = now_ns();
            while due_ns < end_ns {
                due_ns += 2_000_000;
                sleep_until(due_ns);
            }
            DONE.store(true, Relaxed);
        });
    });
    for (kind, begun) in KINDS.iter().zip(&BEGUN) {
        println!("begun_{kind} {}", begun.load(Relaxed));
    }
    println!("done_there {}", DONE_THERE.load(Relaxed));
}

fn is_there() -> bool {
    // SAFETY: no pointers.
    unsafe { libc::sched_getcpu() == RT_CPU as i32 }
}

/// Where a system call ran. (The C library would answer without one.)
fn cpu_of_call() -> u32 {
    let mut cpu = u32::MAX;
    let nothing = std::ptr::null_mut::<u32>();
    // SAFETY: the kernel writes one number.
    unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, nothing, nothing) };
    cpu
}

/// The same by a system call of 32-bit programs, which 64-bit programs can make, too. The answer
/// is written to `low`, below 4 GiB.
fn cpu_of_32_bit_call(low: *mut u32) -> u32 {
    // SAFETY: the kernel writes one number to `low`. The call may change what the kernel does not
    // save for 32-bit programs.
    unsafe {
        low.write_volatile(u32::MAX);
        std::arch::asm!(
            "xchg {low}, rbx",
            "int 0x80",
            "xchg {low}, rbx",
            low = inout(reg) low as u64 => _,
            inlateout("rax") GETCPU_32 => _,
            in("rcx") 0_u64,
            in("rdx") 0_u64,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
        low.read_volatile()
    }
}

fn enter(first: usize) {
    let memory = map(PAGES, 0);
    let low = map(1, libc::MAP_32BIT | libc::MAP_POPULATE).cast();
    let mut page = 0;
    for kind in (0..KINDS.len()).cycle().skip(first % KINDS.len()) {
        while !is_there() {
            if DONE.load(Relaxed) {
                return;
            }
            std::hint::spin_loop();
        }
        let until_ns = now_ns() + STAY_NS;
        while now_ns() < until_ns {
            std::hint::spin_loop();
        }
        if !is_there() {
            continue;
        }
        BEGUN[kind].fetch_add(1, Relaxed);
        match kind {
            0 => {
                if cpu_of_call() == RT_CPU as u32 {
                    DONE_THERE.fetch_add(1, Relaxed);
                }
            }
            1 => {
                // SAFETY: the page is in the mapping, which this thread alone uses.
                unsafe { memory.add(page * PAGE_BYTES).write_volatile(1) };
                page += 1;
                if page == PAGES {
                    page = 0;
                    // SAFETY: the mapping is as long as that.
                    unsafe {
                        libc::madvise(memory.cast(), PAGES * PAGE_BYTES, libc::MADV_DONTNEED)
                    };
                }
            }
            // SAFETY: an instruction that is none, which the handler skips. (A signal that
            // the thread sends itself would begin with a system call.)
            2 => unsafe { std::arch::asm!("ud2") },
            _ => {
                if cpu_of_32_bit_call(low) == RT_CPU as u32 {
                    DONE_THERE.fetch_add(1, Relaxed);
                }
            }
        }
    }
}

/// Memory of so many pages, which it has not got yet unless `flags` ask for them; none is huge.
fn map(pages: usize, flags: i32) -> *mut u8 {
    // SAFETY: a new mapping of nothing.
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            pages * PAGE_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags,
            -1,
            0,
        );
        assert_ne!(memory, libc::MAP_FAILED, "{pages} pages of memory");
        libc::madvise(memory, pages * PAGE_BYTES, libc::MADV_NOHUGEPAGE);
        memory.cast()
    }
}

/// Goes on behind the two bytes of `ud2`.
extern "C" fn skip(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO this structure.
    unsafe {
        (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] += 2;
    }
}
