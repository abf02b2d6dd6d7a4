// SPDX-License-Identifier: GPL-2.0-only
//! The victim, and what is done to it.

mod interrupts;
mod memory;
mod softirq;
mod swap;
mod tasks;
mod work;

use crate::named;
use artis::explain::Lane;
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

/// The victim's period and priority.
const PERIOD_NS: u64 = 1_000_000;
const VICTIM: i32 = 50;
/// How long an injection lasts, where we can say and nobody says otherwise.
pub const SPIN: Duration = Duration::from_micros(400);
/// Between two injections, at random.
const PAUSE_MS: std::ops::Range<u64> = 8..31;
/// How long before the victim is due an injection begins.
const AIM_NS: std::ops::Range<u64> = 20_000..320_000;

/// What is injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Fifo,
    Deadline,
    Softirq,
    /// membarrier(2) from another CPU.
    Ipi,
    /// A page of the process is made read-only on another CPU.
    Tlb,
    /// Reads of a disk whose interrupts come to the victim's CPU.
    Device,
    /// A large address space is unmapped.
    Kernel,
    /// A work item of the CPU's own workqueue.
    Work,
    Faults,
    /// Pages that a fork(2) made shared.
    Cow,
    /// Pages that have to be read from a disk.
    Disk,
    /// Pages that were swapped out.
    Swap,
    Lock,
    Throttling,
    /// A system call in which a normal task cannot be preempted, on any kernel.
    Kept,
    /// One with interrupts off.
    Masked,
    /// One long interrupt from another CPU.
    Barrier,
}

/// By their names on the command line.
pub const KINDS: [(&str, Kind); 17] = [
    ("fifo", Kind::Fifo),
    ("deadline", Kind::Deadline),
    ("softirq", Kind::Softirq),
    ("ipi", Kind::Ipi),
    ("tlb", Kind::Tlb),
    ("device", Kind::Device),
    ("kernel", Kind::Kernel),
    ("work", Kind::Work),
    ("faults", Kind::Faults),
    ("cow", Kind::Cow),
    ("disk", Kind::Disk),
    ("swap", Kind::Swap),
    ("lock", Kind::Lock),
    ("throttling", Kind::Throttling),
    ("kept", Kind::Kept),
    ("masked", Kind::Masked),
    ("barrier", Kind::Barrier),
];

/// How it is known, without the recorder, that an injection made a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It had the CPU for most of the loss: it has to be the chief culprit.
    Covers,
    /// It did so many things within the loss, which a task made long: the segments are counted. Of
    /// `percent` of them there has to be a segment, and at least one.
    Within { percent: usize },
    /// The victim did it to itself within an activation, and did not wait for the CPU meanwhile for
    /// a large part of the loss: it has to be the chief culprit.
    Own,
    /// The victim asked for a lock.
    Lock,
}

impl Kind {
    pub fn named(name: &str) -> Option<Self> {
        let found = KINDS.iter().find(|(one, _)| *one == name);
        found.map(|(_, kind)| *kind)
    }

    /// Losses up to it are the victim's usual ones.
    pub fn threshold_ns(self) -> u64 {
        match self {
            // On a kernel that is not preemptible others cause such losses, too.
            Self::Kernel | Self::Work | Self::Softirq => 150_000,
            // The share of normal tasks is tens of milliseconds.
            Self::Throttling => 5_000_000,
            _ => 80_000,
        }
    }

    pub fn evidence(self) -> Evidence {
        match self {
            Self::Ipi | Self::Tlb => Evidence::Within { percent: 90 },
            // One interrupt may report several requests.
            Self::Device => Evidence::Within { percent: 0 },
            Self::Faults | Self::Cow | Self::Disk | Self::Swap => Evidence::Own,
            Self::Lock => Evidence::Lock,
            _ => Evidence::Covers,
        }
    }

    /// Lane and culprit that are right.
    pub fn expects(self, lane: Lane, culprit: &str, shared: &Shared) -> bool {
        match self {
            Self::Fifo => lane == Lane::RealTimeTask && culprit.starts_with("inj-fifo"),
            Self::Deadline => lane == Lane::DeadlineTask && culprit.starts_with("inj-deadline"),
            Self::Softirq => lane == Lane::Softirq && culprit == "NET_RX",
            Self::Ipi | Self::Tlb | Self::Barrier => {
                lane == Lane::HardInterrupt && culprit == "IPI from inj-ipi"
            }
            Self::Device => {
                let device = shared.device.get().map_or("", String::as_str);
                let named = culprit.strip_prefix("interrupt of ");
                // The recorder keeps the first letters of a long name.
                lane == Lane::HardInterrupt && named.is_some_and(|name| device.starts_with(name))
            }
            // A long call has interrupts off in places.
            Self::Kernel => {
                matches!(lane, Lane::PreemptionOff | Lane::InterruptsOff)
                    && culprit.starts_with("inj-kernel")
            }
            Self::Kept => lane == Lane::PreemptionOff && culprit.starts_with("inj-kept"),
            // Where the victim was woken just before, it waits for the same task to let go.
            Self::Masked => {
                matches!(lane, Lane::PreemptionOff | Lane::InterruptsOff)
                    && culprit.starts_with("inj-masked")
            }
            Self::Work => {
                matches!(lane, Lane::PreemptionOff | Lane::InterruptsOff)
                    && culprit.starts_with("kworker/")
            }
            Self::Faults | Self::Cow | Self::Disk | Self::Swap => lane == Lane::OwnFault,
            Self::Lock => lane == Lane::Lock && culprit.starts_with("inj-middle"),
            // A kernel with a deadline server for normal tasks throttles nobody: it runs one.
            Self::Throttling => {
                lane == Lane::RtThrottling
                    || lane == Lane::DeadlineServer && culprit.starts_with("inj-normal")
            }
        }
    }
}

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
    lock: std::cell::UnsafeCell<libc::pthread_mutex_t>,
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
            lock: std::cell::UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
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
        assert_eq!(unsafe { libc::pthread_mutex_lock(self.lock.get()) }, 0);
    }

    fn unlock(&self) {
        // SAFETY: as above; the caller has it.
        unsafe { libc::pthread_mutex_unlock(self.lock.get()) };
    }

    /// Has the victim do its part, and waits until it has.
    fn ask(&self) {
        let number = self.asked.fetch_add(1, Relaxed) + 1;
        while self.answered.load(Relaxed) < number {
            std::thread::sleep(Duration::from_micros(500));
        }
    }
}

/// The thread that is made late. Says when it did something to itself.
pub fn victim(kind: Kind, shared: &Shared) -> Vec<Injection> {
    bind(shared.cpu);
    fifo(VICTIM);
    let mut memory = memory::Memory::of(kind);
    let mut own = Vec::with_capacity(100_000);
    let waiting = Waiting::here();
    shared.victim.store(named(c"victim"), Relaxed);
    let mut due_ns = now_ns();
    while !shared.done.load(Relaxed) {
        due_ns += PERIOD_NS;
        // A thread that was held up long does not try to catch up.
        due_ns = due_ns.max(now_ns());
        shared.due_ns.store(due_ns, Relaxed);
        // Before the sleep: a thread that was woken and has no CPU yet is within its activation.
        let waited_before_ns = waiting.ns();
        sleep_until(due_ns);
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
        Kind::Swap => {
            let _area = swap::Area::on()?;
            memory::ask(shared, times)
        }
        Kind::Cow => memory::forks(shared, times),
        Kind::Lock => tasks::lock(shared, times),
        Kind::Throttling => tasks::throttling(shared, times),
    })
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
