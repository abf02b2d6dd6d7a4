// SPDX-License-Identifier: GPL-2.0-only
//! The victim, and what is done to it.

mod freezer;
mod halts;
mod interrupts;
mod kinds;
mod memory;
mod softirq;
mod swap;
mod tasks;
mod work;

use crate::named;
use artis::machine::CpuList;
use artis::task::syscall::{self, affinity};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::fs::File;
use std::hint::spin_loop;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

pub use kinds::{Evidence, Kind};

/// The victim's period and priority.
const PERIOD_NS: u64 = 1_000_000;
const VICTIM: i32 = 50;
/// How long an injection lasts, where we can say and nobody says otherwise.
pub const SPIN: Duration = Duration::from_micros(400);
/// Between two injections, at random.
const PAUSE_MS: std::ops::Range<u64> = 8..31;
/// How long before the victim is due an injection begins.
const AIM_NS: std::ops::Range<u64> = 20_000..320_000;

/// When something was done: on the victim's CPU, or to it.
#[derive(Clone, Copy, Debug)]
pub struct Injection {
    pub begin_ns: u64,
    pub end_ns: u64,
    /// How long it waited for the CPU meanwhile, if it needed it.
    pub waited_ns: u64,
}

/// What the threads share.
pub struct Shared {
    pub victim: AtomicU32,
    pub done: AtomicBool,
    spin_ns: u64,
    /// All that this program may use; the victim's, and another.
    cpus: CpuList,
    cpu: u32,
    other: u32,
    /// When the victim wants to run next.
    due_ns: AtomicU64,
    /// In memory that a child shares.
    lock: *mut libc::pthread_mutex_t,
    /// Counts what the victim is to answer: somebody took the lock, or did something to its memory.
    asked: AtomicU64,
    answered: AtomicU64,
    /// The name of the interrupt.
    device: OnceLock<String>,
}

// SAFETY: a pthread mutex is made to be used by several threads; the rest is atomic.
unsafe impl Sync for Shared {}

impl Shared {
    /// `spin`: how long an injection lasts.
    pub fn new(spin: Duration) -> Self {
        let cpus = affinity(0).expect("an affinity");
        Self {
            victim: AtomicU32::new(0),
            done: AtomicBool::new(false),
            spin_ns: spin.as_nanos() as u64,
            cpu: cpus.last().expect("a CPU"),
            other: cpus.first().expect("a CPU"),
            due_ns: AtomicU64::new(0),
            lock: shared_lock(),
            asked: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            device: OnceLock::new(),
            cpus,
        }
    }

    /// A thread that reads the clock all the time had no CPU when so long passed between two times.
    fn gap_ns(&self) -> u64 {
        self.spin_ns / 4
    }

    fn lock(&self) {
        // SAFETY: set up, and does not move while threads have it.
        assert_eq!(unsafe { libc::pthread_mutex_lock(self.lock) }, 0);
    }

    fn unlock(&self) {
        // SAFETY: as above; the caller has it.
        unsafe { libc::pthread_mutex_unlock(self.lock) };
    }

    /// Has the victim do its part, and waits until it has.
    fn ask(&self) {
        self.asked.fetch_add(1, Relaxed);
        self.wait_for_answers();
    }

    fn wait_for_answers(&self) {
        let number = self.asked.load(Relaxed);
        while self.answered.load(Relaxed) < number {
            std::thread::sleep(Duration::from_micros(500));
        }
    }
}

/// A lock that other processes may take, too.
fn shared_lock() -> *mut libc::pthread_mutex_t {
    let lock: *mut libc::pthread_mutex_t =
        memory::map_shared(size_of::<libc::pthread_mutex_t>()).cast();
    let mut attributes = std::mem::MaybeUninit::uninit();
    // SAFETY: attributes and lock are there, of the right size, and nobody has the lock yet.
    unsafe {
        libc::pthread_mutexattr_init(attributes.as_mut_ptr());
        libc::pthread_mutexattr_setpshared(attributes.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED);
        assert_eq!(libc::pthread_mutex_init(lock, attributes.as_ptr()), 0);
    }
    lock
}

/// The thread that is made late. Says when it did something to itself.
pub fn victim(kind: Kind, shared: &Shared) -> Vec<Injection> {
    bind(shared.cpu);
    fifo(VICTIM);
    let mut memory = memory::Memory::of(kind);
    let mut own = Vec::with_capacity(100_000);
    let waiting = Waiting::here();
    shared.victim.store(named(c"victim"), Relaxed);
    let clock = kind.clock();
    let mut due_ns = now_by(clock);
    while !shared.done.load(Relaxed) {
        due_ns += PERIOD_NS;
        // A thread that was held up long does not try to catch up.
        due_ns = due_ns.max(now_by(clock));
        shared.due_ns.store(due_ns, Relaxed);
        // Before the sleep: a thread that was woken and has no CPU yet is within its activation.
        let waited_before_ns = waiting.ns();
        sleep_by(clock, due_ns);
        let asked = shared.asked.load(Relaxed);
        if asked == shared.answered.load(Relaxed) {
            continue;
        }
        if let Some(memory) = &memory {
            memory.prepare();
        }
        let begin_ns = now_ns();
        match &mut memory {
            Some(memory) => memory.touch(),
            None => {
                shared.lock();
                shared.unlock();
            }
        }
        let end_ns = now_ns();
        if own.len() < own.capacity() {
            own.push(Injection {
                begin_ns,
                end_ns,
                waited_ns: waiting.ns() - waited_before_ns,
            });
        }
        shared.answered.store(asked, Relaxed);
    }
    own
}

/// Does it so many times, at random moments; says when.
///
/// # Errors
/// A sentence where this machine cannot do it.
pub fn make(kind: Kind, shared: &Shared, times: usize) -> Result<Vec<Injection>, String> {
    Ok(match kind {
        Kind::Fifo => tasks::fifo_task(shared, times),
        Kind::Deadline => tasks::deadline(shared, times),
        Kind::Softirq => softirq::softirq(shared, times),
        Kind::Ipi => interrupts::membarriers(shared, times),
        Kind::Tlb => interrupts::shootdowns(shared, times),
        Kind::Device => interrupts::reads(shared, times)?,
        Kind::Kernel => memory::unmappings(shared, times),
        Kind::Work | Kind::Kept | Kind::Masked | Kind::Barrier => work::work(kind, shared, times)?,
        Kind::Faults | Kind::Disk => memory::ask(shared, times),
        Kind::Stopped | Kind::Frozen => halts::holder(kind, shared, times)?,
        Kind::Budget => tasks::budget(shared, times),
        Kind::Traced => halts::tracer(shared, times)?,
        Kind::Clock => halts::clock(shared, times)?,
        Kind::Swap => {
            let _area = swap::Area::on()?;
            memory::ask(shared, times)
        }
        Kind::Cow => memory::forks(shared, times),
        Kind::Lock => tasks::lock(shared, times),
        Kind::Throttling => tasks::throttling(shared, times),
    })
}

fn now_by(clock: ClockId) -> u64 {
    let now = clock_gettime(clock).expect("the clock exists");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

fn now_ns() -> u64 {
    now_by(ClockId::CLOCK_MONOTONIC)
}

fn sleep_by(clock: ClockId, ns: u64) {
    let time = TimeSpec::from_duration(Duration::from_nanos(ns));
    let _ = clock_nanosleep(clock, ClockNanosleepFlags::TIMER_ABSTIME, &time);
}

fn sleep_until(ns: u64) {
    sleep_by(ClockId::CLOCK_MONOTONIC, ns);
}

/// Sleeps a random time, and then until the victim is due soon.
fn pause(shared: &Shared) {
    std::thread::sleep(Duration::from_millis(random(PAUSE_MS)));
    // Not the next due time, which may be too near.
    let due_ns = shared.due_ns.load(Relaxed) + PERIOD_NS;
    sleep_until(due_ns - random(AIM_NS));
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

/// Has the CPU so long, and says whether nobody took it meanwhile.
fn spin(shared: &Shared, ns: u64) -> bool {
    let mut last_ns = now_ns();
    let end_ns = last_ns + ns;
    let mut alone = true;
    while last_ns < end_ns {
        spin_loop();
        let now = now_ns();
        alone &= now - last_ns < shared.gap_ns();
        last_ns = now;
    }
    alone
}

/// Does the work at random moments, about when the victim is due.
fn repeat(shared: &Shared, times: usize, mut work: impl FnMut()) -> Vec<Injection> {
    repeat_if(shared, times, || {
        work();
        true
    })
}

/// The same, for work that says itself whether it counts.
fn repeat_if(shared: &Shared, times: usize, mut work: impl FnMut() -> bool) -> Vec<Injection> {
    let mut injected = Vec::new();
    let waiting = Waiting::here();
    for _ in 0..times {
        pause(shared);
        let waited_before_ns = waiting.ns();
        let begin_ns = now_ns();
        let counts = work();
        let end_ns = now_ns();
        if counts {
            injected.push(Injection {
                begin_ns,
                end_ns,
                waited_ns: waiting.ns() - waited_before_ns,
            });
        }
    }
    injected
}

/// How long a thread has been ready without having a CPU. Interrupts are no waiting.
struct Waiting(File);

impl Waiting {
    /// Of this thread.
    fn here() -> Self {
        Self(File::open("/proc/thread-self/schedstat").expect("a kernel with CONFIG_SCHED_INFO"))
    }

    /// In short: a victim asks within its activation.
    fn ns(&self) -> u64 {
        let mut bytes = [0; 96];
        let read = self.0.read_at(&mut bytes, 0).expect("the thread is here");
        let text = std::str::from_utf8(&bytes[..read]).expect("text");
        let waited = text.split_whitespace().nth(1).expect("three numbers");
        waited.parse().expect("a number")
    }
}

/// The first among normal tasks.
fn favoured() {
    // SAFETY: takes numbers only.
    let set = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    assert_eq!(set, 0, "a nice value takes root");
}
