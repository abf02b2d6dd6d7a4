// SPDX-License-Identifier: GPL-2.0-only
//! Programs for the kernel tests inside the guest that no stock tool offers.
//!
//! `probe hog SECONDS`, `probe turns TASKS SECONDS`, `probe completions TASKS`, `probe calls
//! SECONDS`, `probe entries SECONDS`, `probe traced SECONDS`, `probe notify COMMAND…`, `probe split
//! TIMES`, `probe settings`, `probe since FILE`, `probe partition dies|fails CPUS EVERY` and `probe
//! confined CAPABILITIES COMMAND…`. Each prints what it saw, and the test outside judges. It is an
//! example of the package only so that cargo builds it with the tests.

mod confined;
mod entries;
mod partition;
mod settings;

use artis::measure::latency::split::{SlotReader, Split};
use artis::result::Distribution;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{self, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use nix::unistd::{ForkResult, Pid, gettid};
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const NS_PER_MS: u64 = 1_000_000;
const RT_CPU: usize = 1;
const TASKS: usize = 8;

/// The hog: 90 % of every 10 ms.
const HOG_PERIOD_NS: u64 = 10 * NS_PER_MS;
const HOG_BUSY_NS: u64 = 9 * NS_PER_MS;

/// The work of each task of `completions`: as in the paper's scenario.
const WORK_NS: u64 = 200 * NS_PER_MS;

/// Steps that take some milliseconds at an emulator's speed: long enough that the scheduler sends a
/// task that computes so between two system calls to an RT CPU.
const BETWEEN_CALLS: u64 = 200_000;

/// How often a watcher looks. When it is later than `STALL_NS`, the emulator did not run its CPU.
const LOOK_NS: u64 = 5 * NS_PER_MS;
const STALL_NS: u64 = 4 * LOOK_NS;

static PROGRESS: [AtomicU64; TASKS] = [const { AtomicU64::new(0) }; TASKS];
static SEEN_ALIVE_NS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static DONE: AtomicBool = AtomicBool::new(false);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("hog") => hog(words[1].parse().expect("seconds")),
        Some("turns") => turns(
            words[1].parse().expect("tasks"),
            words[2].parse().expect("seconds"),
        ),
        Some("completions") => completions(words[1].parse().expect("tasks")),
        Some("calls") => calls(words[1].parse().expect("seconds")),
        Some("entries") => entries::make(words[1].parse().expect("seconds")),
        Some("traced") => traced(words[1].parse().expect("seconds")),
        Some("notify") => notify(&words[1..]),
        Some("split") => split(words[1].parse().expect("times")),
        Some("settings") => settings::print(),
        Some("since") => settings::print_since(&words[1]),
        Some("partition") => partition::walk(&words[1..]),
        Some("confined") => confined::run(&words[1], &words[2..]),
        _ => panic!(
            "usage: probe hog|calls|entries|traced SECONDS | turns TASKS SECONDS | \
             completions TASKS | notify COMMAND... | split TIMES | settings | since FILE | \
             partition dies|fails CPUS EVERY | confined CAPABILITIES COMMAND..."
        ),
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("the clock exists");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

fn at(ns: u64) -> TimeSpec {
    TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64)
}

fn sleep_until(ns: u64) {
    let time = at(ns);
    // An early return only makes the caller look once more.
    let _ = clock_nanosleep(
        ClockId::CLOCK_MONOTONIC,
        ClockNanosleepFlags::TIMER_ABSTIME,
        &time,
    );
}

/// Makes this thread a SCHED_FIFO task of one CPU.
fn become_rt(cpu: usize, priority: i32) {
    let mut set = CpuSet::new();
    set.set(cpu).expect("a small CPU number");
    sched_setaffinity(Pid::from_raw(0), &set).expect("the CPU exists");
    let param = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the parameter outlives the call.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &param) };
    assert_eq!(result, 0, "SCHED_FIFO needs root");
}

/// A SCHED_FIFO task that is busy for 90 % of every 10 ms on this CPU. Returns its periods.
fn be_hog(cpu: usize, priority: i32, is_over: impl Fn() -> bool) -> u64 {
    become_rt(cpu, priority);
    let mut periods = 0;
    let mut release_ns = now_ns();
    while !is_over() {
        while now_ns() < release_ns + HOG_BUSY_NS {}
        periods += 1;
        release_ns += HOG_PERIOD_NS;
        sleep_until(release_ns);
    }
    periods
}

/// Eight normal tasks compute beside a hog on the RT CPU. Prints, for each task, the longest
/// time without progress.
///
/// The emulator sometimes does not run a virtual CPU for a while, and guest time goes on. A
/// watcher of higher priority than the hog notices that on each CPU. Such time is not the
/// scheduler's fault: it is printed and not counted.
fn hog(seconds: u64) {
    let end_ns = now_ns() + seconds * 1_000_000_000;
    let mut periods = 0u64;
    let mut stalled_ns = 0u64;
    let mut gap_ns_max = [0u64; TASKS];
    std::thread::scope(|scope| {
        for progress in &PROGRESS {
            scope.spawn(move || {
                while !DONE.load(Relaxed) {
                    progress.fetch_add(1, Relaxed);
                }
            });
        }
        let hog = scope.spawn(move || be_hog(RT_CPU, 98, || now_ns() >= end_ns));
        scope.spawn(move || {
            become_rt(RT_CPU, 99);
            while now_ns() < end_ns {
                SEEN_ALIVE_NS[RT_CPU].store(now_ns(), Relaxed);
                sleep_until(now_ns() + LOOK_NS);
            }
        });
        let watch = scope.spawn(move || {
            become_rt(0, 99);
            watch(end_ns)
        });
        periods = hog.join().expect("the hog ends");
        (stalled_ns, gap_ns_max) = watch.join().expect("the watcher ends");
        DONE.store(true, Relaxed);
    });
    println!("periods {periods}");
    println!("stalled_ms {}", stalled_ns / NS_PER_MS);
    for gap_ns in gap_ns_max {
        println!("gap_ms {}", gap_ns / NS_PER_MS);
    }
}

/// Returns the time that a CPU stood still, and each task's longest time without progress.
fn watch(end_ns: u64) -> (u64, [u64; TASKS]) {
    let mut stalled_ns = 0;
    let mut gap_ns_max = [0; TASKS];
    let mut gap_ns = [0; TASKS];
    let mut seen = [0; TASKS];
    // The watcher on the hog's CPU needs a moment to start.
    sleep_until(now_ns() + 500 * NS_PER_MS);
    let mut last_ns = now_ns();
    loop {
        sleep_until(last_ns + LOOK_NS);
        let now = now_ns();
        // The other watcher ends with the run, so its silence then is no stall.
        if now + STALL_NS > end_ns {
            return (stalled_ns, gap_ns_max);
        }
        let passed_ns = now - last_ns;
        let other_ns = now.saturating_sub(SEEN_ALIVE_NS[RT_CPU].load(Relaxed));
        last_ns = now;
        let stalled = passed_ns > STALL_NS || other_ns > STALL_NS;
        if stalled {
            stalled_ns += passed_ns;
        }
        for task in 0..TASKS {
            let progress = PROGRESS[task].load(Relaxed);
            if progress != seen[task] {
                seen[task] = progress;
                gap_ns[task] = 0;
            } else if !stalled {
                gap_ns[task] += passed_ns;
                gap_ns_max[task] = gap_ns_max[task].max(gap_ns[task]);
            }
        }
    }
}

/// Many normal tasks compute on the other CPU. Prints how long they wait for their turns, in
/// microseconds, between two looks at the clock: what 95 % of all waits do not exceed, and the
/// longest. What is over within a millisecond is no turn of another task.
fn turns(tasks: u64, seconds: u64) {
    let end_ns = now_ns() + seconds * 1_000_000_000;
    let all_ns = Mutex::new(Distribution::new());
    std::thread::scope(|scope| {
        for _ in 0..tasks {
            scope.spawn(|| {
                let mut set = CpuSet::new();
                set.set(0).expect("a small CPU number");
                sched_setaffinity(Pid::from_raw(0), &set).expect("the CPU exists");
                let mut last_ns = now_ns();
                let mut waits_ns = Vec::new();
                while last_ns < end_ns {
                    let now = now_ns();
                    if now - last_ns > NS_PER_MS {
                        waits_ns.push(now - last_ns);
                    }
                    last_ns = now;
                }
                let mut all_ns = all_ns.lock().expect("no task panics");
                for wait_ns in waits_ns {
                    all_ns.record(wait_ns as i64);
                }
            });
        }
    });
    let all_ns = all_ns.into_inner().expect("no task panics");
    for (name, percent) in [("usually_us", 95.0), ("longest_us", 100.0)] {
        let waited_ns = all_ns.percentile(percent).expect("somebody waited");
        println!("{name} {}", waited_ns / 1000);
    }
}

/// The paper's scenario for fairness: a hog on each CPU but the first, and so many normal tasks
/// with the same work. Prints when the first and the last of them was done, in milliseconds since
/// they began.
fn completions(tasks: u64) {
    let steps = steps_in(WORK_NS);
    let cpus = std::thread::available_parallelism().expect("CPUs").get();
    let done_ms: Vec<u64> = std::thread::scope(|scope| {
        for cpu in 1..cpus {
            scope.spawn(move || be_hog(cpu, 50, || DONE.load(Relaxed)));
        }
        sleep_until(now_ns() + 100 * NS_PER_MS);
        let begin_ns = now_ns();
        let workers = (0..tasks).map(|_| {
            scope.spawn(move || {
                compute(steps);
                (now_ns() - begin_ns) / NS_PER_MS
            })
        });
        let workers: Vec<_> = workers.collect();
        let done = workers.into_iter().map(|one| one.join().expect("it ends"));
        let done = done.collect();
        DONE.store(true, Relaxed);
        done
    });
    for (name, ms) in [
        ("first_ms", done_ms.iter().min()),
        ("last_ms", done_ms.iter().max()),
    ] {
        println!("{name} {}", ms.expect("a task"));
    }
}

/// How many steps of [`compute`] take so long here, where nothing else runs.
fn steps_in(wanted_ns: u64) -> u64 {
    const STEPS: u64 = 100_000;
    let begin_ns = now_ns();
    let mut steps = 0;
    while now_ns() - begin_ns < wanted_ns {
        compute(STEPS);
        steps += STEPS;
    }
    steps
}

/// Computes in user mode, some nanoseconds a step at an emulator's speed.
fn compute(steps: u64) {
    for step in 0..steps {
        std::hint::black_box(step);
    }
}

/// Tasks, more than there are CPUs, that compute and call the kernel in turn. Prints the calls.
fn calls(seconds: u64) {
    const THREADS: usize = 3;
    let end_ns = now_ns() + seconds * 1_000_000_000;
    let made = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while now_ns() < end_ns {
                    compute(BETWEEN_CALLS);
                    nix::unistd::getppid();
                    made.fetch_add(1, Relaxed);
                }
            });
        }
    });
    println!("calls {}", made.load(Relaxed));
}

/// A child that computes and calls the kernel now and then, and is stopped by ptrace at each call.
fn traced(seconds: u64) {
    let end_ns = now_ns() + seconds * 1_000_000_000;
    // SAFETY: this process has one thread.
    match unsafe { nix::unistd::fork() }.expect("a process") {
        ForkResult::Child => {
            ptrace::traceme().expect("a parent that traces");
            nix::sys::signal::raise(Signal::SIGSTOP).expect("a signal");
            while now_ns() < end_ns {
                compute(BETWEEN_CALLS);
                nix::unistd::getppid();
            }
            std::process::exit(0);
        }
        ForkResult::Parent { child } => {
            let mut stops = 0u64;
            while let WaitStatus::Stopped(..) = waitpid(child, None).expect("a child") {
                stops += 1;
                ptrace::syscall(child, None).expect("a stopped child");
            }
            println!("stops {stops}");
        }
    }
}

/// Starts a command as systemd starts a service of type "notify", and prints what it says.
fn notify(command: &[String]) {
    let path = format!("/tmp/notify.{}", std::process::id());
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a time-out");
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .env("NOTIFY_SOCKET", &path)
        .spawn()
        .expect("the command starts");
    let mut message = [0; 256];
    let length = socket
        .recv(&mut message)
        .expect("a message within a minute");
    println!(
        "notified {}",
        String::from_utf8_lossy(&message[..length]).trim()
    );
    // SAFETY: a signal to a child that has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    println!("ended {:?}", child.wait().expect("a child").code());
}

/// A real-time thread sleeps until a timer wakes it, again and again, and then looks into its
/// slot. Prints for each kind of timer how many wakeups there were, and how many of them the
/// kernel reported correctly.
fn split(times: u64) {
    let split = Split::attach(2).unwrap_or_else(|error| {
        let reason = std::error::Error::source(&error).map(ToString::to_string);
        println!("refused {error}: {}", reason.unwrap_or_default());
        std::process::exit(1);
    });
    let mut slot = split.slot(1).expect("there is room for two");
    assert!(split.slot(2).is_none(), "there is room for two only");
    let timerfd =
        TimerFd::new(timerfd::ClockId::CLOCK_MONOTONIC, TimerFlags::empty()).expect("a timer");
    let sleeper = std::thread::spawn(move || {
        become_rt(0, 50);
        slot.claim(gettid()).expect("a free slot");
        println!("sleep {}", reported(times, &mut slot, sleep_until));
        let reported = reported(times, &mut slot, |due_ns| {
            let due = timerfd::Expiration::OneShot(at(due_ns));
            timerfd
                .set(due, TimerSetTimeFlags::TFD_TIMER_ABSTIME)
                .expect("a time to come");
            timerfd.wait().expect("an expiry");
        });
        println!("timerfd {reported}");
    });
    sleeper.join().expect("the thread ends");
}

/// How many of so many wakeups by `wait` were reported, with due <= handler <= now.
fn reported(times: u64, slot: &mut SlotReader, wait: impl Fn(u64)) -> u64 {
    let mut reported = 0;
    for _ in 0..times {
        // Far enough ahead that the timer is started before it is due, on a busy host too.
        let due_ns = now_ns() + 20 * NS_PER_MS;
        wait(due_ns);
        let now = now_ns() as i64;
        reported += u64::from(slot.take().is_some_and(|expiry| {
            expiry.due_ns == due_ns as i64 && (expiry.due_ns..=now).contains(&expiry.handler_ns)
        }));
    }
    assert_eq!(slot.take(), None, "nothing is reported twice");
    reported
}
