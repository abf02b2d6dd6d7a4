// SPDX-License-Identifier: GPL-2.0-only
//! The victim, and what is done to it.

use crate::named;
use artis::explain::Lane;
use artis::machine::CpuList;
use artis::task::syscall::{self, affinity};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::hint::spin_loop;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The victim's period and priority.
const PERIOD_NS: u64 = 1_000_000;
const VICTIM: i32 = 50;
/// How long an injection lasts, where we can say.
const SPIN_NS: u64 = 400_000;
/// Between two injections, at random.
const PAUSE_MS: std::ops::Range<u64> = 8..31;
/// Sockets that one packet goes to, and instructions of each one's filter.
const SOCKETS: usize = 100;
const FILTER: usize = 4000;
/// Memory that is unmapped, and pages that the victim touches.
const LARGE: usize = 12 << 20;
const PAGES: usize = 256;

/// What is injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Fifo,
    Deadline,
    Softirq,
    Ipi,
    Kernel,
    Faults,
    Lock,
    Throttling,
}

impl Kind {
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "fifo" => Self::Fifo,
            "deadline" => Self::Deadline,
            "softirq" => Self::Softirq,
            "ipi" => Self::Ipi,
            "kernel" => Self::Kernel,
            "faults" => Self::Faults,
            "lock" => Self::Lock,
            "throttling" => Self::Throttling,
            _ => return None,
        })
    }

    /// Losses up to it are the victim's usual ones.
    pub fn threshold_ns(self) -> u64 {
        match self {
            // Each takes a few microseconds.
            Self::Ipi => 20_000,
            _ => 80_000,
        }
    }

    /// Whether the injection takes most of the time, and not only a part.
    pub fn is_chief(self) -> bool {
        self != Self::Ipi
    }

    /// Lane and culprit that are right.
    pub fn expects(self, lane: Lane, culprit: &str) -> bool {
        match self {
            Self::Fifo => lane == Lane::RealTimeTask && culprit.starts_with("inj-fifo"),
            Self::Deadline => lane == Lane::DeadlineTask && culprit.starts_with("inj-deadline"),
            Self::Softirq => lane == Lane::Softirq && culprit == "NET_RX",
            Self::Ipi => lane == Lane::HardInterrupt && culprit == "IPI from inj-ipi",
            // A long call has interrupts off in places.
            Self::Kernel => {
                matches!(lane, Lane::PreemptionOff | Lane::InterruptsOff)
                    && culprit.starts_with("inj-kernel")
            }
            Self::Faults => lane == Lane::OwnFault,
            Self::Lock => lane == Lane::Lock && culprit.starts_with("inj-middle"),
            Self::Throttling => lane == Lane::RtThrottling,
        }
    }
}

/// When something was done, on the victim's CPU.
#[derive(Clone, Copy, Debug)]
pub struct Injection {
    pub begin_ns: u64,
    pub end_ns: u64,
}

/// What the threads share.
pub struct Shared {
    pub victim: AtomicU32,
    pub done: AtomicBool,
    cpu: u32,
    other: u32,
    lock: std::cell::UnsafeCell<libc::pthread_mutex_t>,
    /// Counts the times that somebody took the lock, and had it long.
    held: AtomicU64,
}

// SAFETY: a pthread mutex is made to be used by several threads; the rest is atomic.
unsafe impl Sync for Shared {}

impl Shared {
    pub fn new() -> Self {
        let cpus = affinity(0).expect("an affinity");
        Self {
            victim: AtomicU32::new(0),
            done: AtomicBool::new(false),
            cpu: cpus.last().expect("a CPU"),
            other: cpus.first().expect("a CPU"),
            lock: std::cell::UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            held: AtomicU64::new(0),
        }
    }

    fn lock(&self) {
        // SAFETY: set up, and does not move while threads have it.
        assert_eq!(unsafe { libc::pthread_mutex_lock(self.lock.get()) }, 0);
    }

    fn unlock(&self) {
        // SAFETY: as above; the caller has it.
        unsafe { libc::pthread_mutex_unlock(self.lock.get()) };
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("the clock exists");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

fn sleep_until(ns: u64) {
    let time = TimeSpec::from_duration(Duration::from_nanos(ns));
    let absolute = ClockNanosleepFlags::TIMER_ABSTIME;
    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, absolute, &time);
}

fn bind(cpu: u32) {
    syscall::set_affinity(0, &CpuList::from_iter([cpu])).expect("an own CPU");
}

fn fifo(priority: i32) {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the parameters are alive.
    let set = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    assert_eq!(set, 0, "real time takes root");
}

/// A small random number; quality does not matter.
fn random(range: std::ops::Range<u64>) -> u64 {
    static STATE: AtomicU64 = AtomicU64::new(0);
    let mut x = STATE.load(Relaxed) ^ now_ns();
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    STATE.store(x, Relaxed);
    range.start + x % (range.end - range.start)
}

fn spin(ns: u64) {
    let end_ns = now_ns() + ns;
    while now_ns() < end_ns {
        spin_loop();
    }
}

/// The thread that is made late.
pub fn victim(kind: Kind, shared: &Shared) {
    bind(shared.cpu);
    fifo(VICTIM);
    shared.victim.store(named(c"victim"), Relaxed);
    let mut due_ns = now_ns();
    let mut held = 0;
    let mut next_fault_ns = due_ns;
    while !shared.done.load(Relaxed) {
        due_ns += PERIOD_NS;
        // One that was held up long does not try to catch up.
        due_ns = due_ns.max(now_ns());
        sleep_until(due_ns);
        let taken = shared.held.load(Relaxed);
        if kind == Kind::Lock && taken != held {
            held = taken;
            shared.lock();
            shared.unlock();
        }
        if kind == Kind::Faults && now_ns() > next_fault_ns {
            touch_new_memory();
            next_fault_ns = now_ns() + random(PAUSE_MS) * 1_000_000;
        }
    }
}

fn touch_new_memory() {
    let bytes = PAGES * 4096;
    let memory = map(bytes, 0);
    // SAFETY: a new mapping of that size. Huge pages would make one fault of all.
    unsafe { libc::madvise(memory.cast(), bytes, libc::MADV_NOHUGEPAGE) };
    for page in 0..PAGES {
        // SAFETY: within the mapping.
        unsafe { memory.add(page * 4096).write_volatile(1) };
    }
    // SAFETY: our own mapping.
    unsafe { libc::munmap(memory.cast(), bytes) };
}

fn map(bytes: usize, flags: libc::c_int) -> *mut u8 {
    // SAFETY: a new mapping at an address of the kernel's choice.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags,
            -1,
            0,
        )
    };
    assert_ne!(memory, libc::MAP_FAILED, "there is memory");
    memory.cast()
}

/// Does it so many times, at random moments; says when.
pub fn make(kind: Kind, shared: &Shared, times: usize) -> Vec<Injection> {
    match kind {
        Kind::Fifo => {
            bind(shared.cpu);
            named(c"inj-fifo");
            fifo(VICTIM + 10);
            repeat(times, || spin(SPIN_NS))
        }
        Kind::Deadline => {
            named(c"inj-deadline");
            become_deadline();
            // It has to be free to use every CPU, and counts only on the victim's.
            repeat_if(times, || {
                // SAFETY: takes nothing.
                let here = || u32::try_from(unsafe { libc::sched_getcpu() }) == Ok(shared.cpu);
                let began_here = here();
                spin(SPIN_NS);
                began_here && here()
            })
        }
        Kind::Softirq => softirq(shared, times),
        Kind::Ipi => {
            bind(shared.other);
            named(c"inj-ipi");
            // SAFETY: takes numbers only.
            let registered = unsafe {
                libc::syscall(
                    libc::SYS_membarrier,
                    libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
                    0,
                    0,
                )
            };
            assert_eq!(registered, 0, "membarrier can be used");
            favoured();
            let companion = Companion::start(shared.cpu);
            repeat(times, || companion.storm())
        }
        Kind::Kernel => {
            bind(shared.cpu);
            favoured();
            named(c"inj-kernel");
            repeat(times, || {
                let memory = map(LARGE, libc::MAP_POPULATE);
                // SAFETY: our own mapping.
                unsafe { libc::munmap(memory.cast(), LARGE) };
            })
        }
        Kind::Faults => {
            let end_ns = now_ns() + times as u64 * 20_000_000;
            sleep_until(end_ns);
            Vec::new()
        }
        Kind::Lock => lock(shared, times),
        Kind::Throttling => {
            bind(shared.cpu);
            named(c"inj-hog");
            fifo(VICTIM - 10);
            let injected = repeat(1, || spin(1_200_000_000 * times as u64));
            // Its effect ends a little later.
            sleep_until(now_ns() + 100_000_000);
            injected
        }
    }
}

/// Does the work at random moments. Counts only when this thread had the CPU nearly all the time:
/// otherwise it was somebody else who made the victim late.
fn repeat(times: usize, mut work: impl FnMut()) -> Vec<Injection> {
    repeat_if(times, || {
        work();
        true
    })
}

/// The same, for work that says itself whether it counts.
fn repeat_if(times: usize, mut work: impl FnMut() -> bool) -> Vec<Injection> {
    (0..times)
        .filter_map(|_| {
            std::thread::sleep(Duration::from_millis(random(PAUSE_MS)));
            std::thread::sleep(Duration::from_micros(random(0..1000)));
            let (begin_ns, used_ns) = (now_ns(), used_ns());
            work();
            let (end_ns, used_ns) = (now_ns(), self::used_ns() - used_ns);
            (used_ns as f64 > 0.9 * (end_ns - begin_ns) as f64)
                .then_some(Injection { begin_ns, end_ns })
        })
        .collect()
}

/// CPU time of this thread.
fn used_ns() -> u64 {
    let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("the clock exists");
    used.tv_sec() as u64 * 1_000_000_000 + used.tv_nsec() as u64
}

/// The first among normal tasks.
fn favoured() {
    // SAFETY: takes numbers only.
    let set = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    assert_eq!(set, 0, "a nice value takes root");
}

fn become_deadline() {
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

    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: 6,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: 2 * SPIN_NS,
        deadline: 10_000_000,
        period: 10_000_000,
    };
    // SAFETY: the attributes are alive and as sched_setattr(2) has them.
    let set = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    assert_eq!(set, 0, "a deadline takes root, and an affinity of all CPUs");
}

/// A thread of this process that has the victim's CPU during a storm, so that membarrier has to
/// interrupt it.
struct Companion(Arc<AtomicU32>);

const RESTS: u32 = 0;
const SPINS: u32 = 1;
const ENDS: u32 = 2;

impl Companion {
    fn start(cpu: u32) -> Self {
        let state = Arc::new(AtomicU32::new(RESTS));
        let seen = state.clone();
        std::thread::spawn(move || {
            bind(cpu);
            named(c"companion");
            fifo(VICTIM - 10);
            while seen.load(Relaxed) != ENDS {
                match seen.load(Relaxed) {
                    SPINS => spin_loop(),
                    _ => std::thread::sleep(Duration::from_micros(500)),
                }
            }
        });
        Self(state)
    }

    fn storm(&self) {
        self.0.store(SPINS, Relaxed);
        let end_ns = now_ns() + 5 * SPIN_NS;
        while now_ns() < end_ns {
            // SAFETY: takes numbers only.
            unsafe {
                libc::syscall(
                    libc::SYS_membarrier,
                    libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED,
                    0,
                    0,
                )
            };
        }
        self.0.store(RESTS, Relaxed);
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        self.0.store(ENDS, Relaxed);
    }
}

/// One packet that goes to many sockets, each with a long filter: one long softirq.
fn softirq(shared: &Shared, times: usize) -> Vec<Injection> {
    bind(shared.cpu);
    favoured();
    named(c"inj-softirq");
    let group = Ipv4Addr::new(239, 77, 77, 77);
    let first = receiver(0, group);
    let port = first.local_addr().expect("an address").port();
    let mut sockets = vec![first];
    sockets.extend((1..SOCKETS).map(|_| receiver(port, group)));
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let local = libc::in_addr {
        s_addr: u32::from(Ipv4Addr::LOCALHOST).to_be(),
    };
    option(&sender, libc::IPPROTO_IP, libc::IP_MULTICAST_IF, &local);
    repeat(times, || {
        sender.send_to(b"x", (group, port)).expect("a packet");
    })
}

fn receiver(port: u16, group: Ipv4Addr) -> UdpSocket {
    // SAFETY: takes numbers only; the socket is owned at once.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        assert!(fd >= 0, "a socket");
        <UdpSocket as std::os::fd::FromRawFd>::from_raw_fd(fd)
    };
    option(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, &1_i32);
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from(group).to_be(),
        },
        sin_zero: [0; 8],
    };
    // SAFETY: the address is alive and of that size.
    let bound = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_in>() as u32,
        )
    };
    assert_eq!(bound, 0, "an address");
    socket
        .join_multicast_v4(&group, &Ipv4Addr::LOCALHOST)
        .expect("a group of loopback");
    // Adds, over and over, and then drops the packet.
    let add = libc::sock_filter {
        code: 0x04,
        jt: 0,
        jf: 0,
        k: 1,
    };
    let mut filter = vec![add; FILTER];
    filter.push(libc::sock_filter {
        code: 0x06,
        jt: 0,
        jf: 0,
        k: 0,
    });
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    option(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program);
    socket
}

fn option<T>(socket: &UdpSocket, level: libc::c_int, name: libc::c_int, value: &T) {
    // SAFETY: the value is alive and of that size.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as u32,
        )
    };
    assert_eq!(set, 0, "option {name} of a socket");
}

/// The low thread takes the lock; the middle one keeps it from giving it back.
fn lock(shared: &Shared, times: usize) -> Vec<Injection> {
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
                    spin(3 * PERIOD_NS);
                }
            }
        });
        bind(shared.cpu);
        named(c"inj-low");
        fifo(VICTIM - 20);
        let injected = repeat(times, || {
            shared.lock();
            shared.held.fetch_add(1, Relaxed);
            wake.fetch_add(1, Relaxed);
            // Long enough for the victim to ask, and for the middle one to come.
            spin(3 * PERIOD_NS);
            shared.unlock();
        });
        done.store(true, Relaxed);
        injected
    })
}
