// SPDX-License-Identifier: GPL-2.0-only
//! The flight recorder beside threads that end, fork, move and are renamed, beside many of them,
//! and for a long time.

use crate::common::{count, report, skipped};
use artis::explain::cut;
use artis::explain::recording::{Recording, What};
use artis::machine::CpuList;
use artis::recorder::{Recorder, Settings, Storage, Watched};
use artis::task::syscall;
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use nix::sys::prctl;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, sigaction};
use nix::sys::wait::waitpid;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use nix::unistd::{ForkResult, Pid, fork, gettid};
use std::ffi::CStr;
use std::num::NonZeroUsize;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::Relaxed};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

const ARTIS: &str = env!("CARGO_BIN_EXE_artis");
const WORST: Settings = Settings {
    worst: 10,
    threshold_ns: 0,
    until_ns: None,
};
/// Wakeups that are enough to see that a thread is watched.
const ENOUGH: u64 = 20;

/// Loads the recorder, or skips the test where the kernel lets nobody watch.
macro_rules! recorder {
    ($test:expr, $storage:ident) => {
        match Recorder::load(&mut $storage, WORST) {
            Ok(recorder) => recorder,
            Err(error) => return skipped($test, &error.to_string()),
        }
    };
}

mod long;

use long::unshared;

/// How often this thread was woken; none: it is not watched.
fn wakeups(recorder: &Recorder<'_>, tid: u32) -> Option<u64> {
    let threads = recorder.threads();
    let found = threads.iter().find(|one| one.tid == tid && !one.ended);
    found.map(|one| one.wakeups.count)
}

/// Looks at the recorder until something holds. Never gives up: a test that hangs is seen.
fn until(recorder: &mut Recorder<'_>, mut holds: impl FnMut(&Recorder<'_>) -> bool) {
    while !holds(recorder) {
        recorder.poll();
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn own_tid() -> u32 {
    gettid().as_raw().cast_unsigned()
}

#[test]
fn a_thread_may_change_its_name_and_its_cpu() {
    const TEST: &str = "a_thread_may_change_its_name_and_its_cpu";
    as_root!("a_thread_may_change_its_name_and_its_cpu");
    let mut storage = Storage::uninit();
    let mut recorder = recorder!(TEST, storage);
    let (tid, done) = (AtomicU32::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            prctl::set_name(c"before").unwrap();
            tid.store(own_tid(), Relaxed);
            let cpus = syscall::affinity(0).unwrap();
            for cpu in cpus.iter().collect::<Vec<_>>().into_iter().cycle() {
                if done.load(Relaxed) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
                syscall::set_affinity(0, &CpuList::from_iter([cpu])).unwrap();
                prctl::set_name(c"after").unwrap();
            }
        });
        until(&mut recorder, |_| tid.load(Relaxed) != 0);
        let tid = tid.load(Relaxed);
        assert_eq!(recorder.watch(&Watched::Thread(tid)).unwrap(), 1);
        // A thread that is watched already keeps what was counted.
        until(&mut recorder, |one| wakeups(one, tid) >= Some(ENOUGH));
        assert_eq!(recorder.watch(&Watched::Thread(tid)).unwrap(), 0);
        assert!(wakeups(&recorder, tid) >= Some(ENOUGH));
        recorder.refresh(&Watched::Thread(tid)).unwrap();
        let threads = recorder.threads();
        assert_eq!(threads.len(), 1, "{threads:?}");
        assert_eq!(threads[0].name, "after");
        done.store(true, Relaxed);
    });
    recorder.finish();
    let kept = recorder.kept();
    assert_eq!(kept.len(), WORST.worst);
    for recording in &kept {
        recording.check().unwrap();
        let subject = &recording.subject;
        let sum: u64 = cut(recording).iter().map(|one| one.ns()).sum();
        assert_eq!(sum, subject.end_ns - subject.due_ns, "{subject:?}");
    }
}

/// The timers of all delayed works have the same function: it is the work's that says who is due.
#[test]
fn delayed_works_are_named() {
    const TEST: &str = "delayed_works_are_named";
    as_root!("delayed_works_are_named");
    let mut storage = Storage::uninit();
    let mut recorder = recorder!(TEST, storage);
    if let Some(hidden) = recorder
        .absent()
        .iter()
        .find(|one| one.contains("kptr_restrict"))
    {
        return skipped(TEST, hidden);
    }
    let (lock, tid, done) = (Mutex::new(()), AtomicU32::new(0), AtomicBool::new(false));
    let mut works = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            tid.store(own_tid(), Relaxed);
            while !done.load(Relaxed) {
                drop(lock.lock().unwrap());
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        until(&mut recorder, |_| tid.load(Relaxed) != 0);
        recorder.watch(&Watched::Thread(tid.load(Relaxed))).unwrap();
        // A recording holds what all CPUs did while the thread waited for the lock. The kernel has
        // some delayed work every second or two.
        until(&mut recorder, |one| {
            let held = lock.lock().unwrap();
            std::thread::sleep(Duration::from_millis(500));
            drop(held);
            works = delayed_works(&one.kept());
            !works.is_empty()
        });
        done.store(true, Relaxed);
    });
    for work in &works {
        let name = work
            .strip_prefix(" (")
            .and_then(|one| one.strip_suffix(')'));
        let name = name.unwrap_or_else(|| panic!("{works:?}"));
        assert!(!name.is_empty() && !name.starts_with("0x"), "{works:?}");
    }
}

/// What is said of each delayed work behind its timer's function.
fn delayed_works(recordings: &[Recording]) -> Vec<String> {
    let events = recordings.iter().flat_map(|one| &one.events);
    let works = events.filter_map(|event| match &event.what {
        What::WheelTimerBegins { function } => function.strip_prefix("delayed_work_timer_fn"),
        _ => None,
    });
    works.map(str::to_owned).collect()
}

/// A thread that has used up its period asks to sleep until a time that has passed. It is woken
/// before it could leave the CPU, and what it lost before counts all the same.
#[test]
fn what_an_overrun_lost_is_counted() {
    const TEST: &str = "what_an_overrun_lost_is_counted";
    as_root!("what_an_overrun_lost_is_counted");
    const PAGE: usize = 4096;
    const TIMES: usize = 20;
    let mut storage = Storage::uninit();
    let mut recorder = recorder!(TEST, storage);
    assert_eq!(recorder.watch(&Watched::Thread(own_tid())).unwrap(), 1);
    let bytes = NonZeroUsize::new(TIMES * 256 * PAGE).unwrap();
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // The allocator may have pages that other tests have written to.
    // SAFETY: a new mapping, of which nobody else knows.
    let memory = unsafe { mmap_anonymous(None, bytes, access, MapFlags::MAP_PRIVATE) }.unwrap();
    // SAFETY: all of it, which stays until the end.
    let all = unsafe { std::slice::from_raw_parts_mut(memory.as_ptr().cast(), bytes.get()) };
    for pages in all.chunks_exact_mut(256 * PAGE) {
        std::thread::sleep(Duration::from_millis(1));
        let due = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
        for page in pages.chunks_exact_mut(PAGE) {
            // A fault in user mode.
            page[0] = 1_u8;
        }
        // Returns at once.
        clock_nanosleep(
            ClockId::CLOCK_MONOTONIC,
            ClockNanosleepFlags::TIMER_ABSTIME,
            &due,
        )
        .unwrap();
    }
    std::thread::sleep(Duration::from_millis(1));
    let lost_ns = recorder.threads()[0].activations.ns_sum;
    // SAFETY: nobody uses it any more.
    unsafe { munmap(memory, bytes.get()) }.unwrap();
    // A fault takes the kernel far more than 100 ns.
    assert!(lost_ns > (TIMES * 256 * 100) as u64, "{lost_ns} ns");
}

/// Lets the thread go on that wrote where it must not, as collectors of garbage do.
extern "C" fn open_up(_: i32) {
    // SAFETY: the page that the test below mapped; the call may be made in a handler.
    unsafe { libc::mprotect(CLOSED.load(Relaxed), 1, libc::PROT_READ | libc::PROT_WRITE) };
}

/// Who writes to it has a fault.
static CLOSED: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());

#[test]
fn the_end_of_a_fault_may_be_a_signal() {
    const TEST: &str = "the_end_of_a_fault_may_be_a_signal";
    as_root!("the_end_of_a_fault_may_be_a_signal");
    let mut storage = Storage::uninit();
    let mut recorder = recorder!(TEST, storage);
    let bytes = NonZeroUsize::new(4096).unwrap();
    // SAFETY: a new mapping, of which nobody else knows.
    let page = unsafe { mmap_anonymous(None, bytes, ProtFlags::PROT_NONE, MapFlags::MAP_PRIVATE) }
        .unwrap();
    CLOSED.store(page.as_ptr(), Relaxed);
    let action = SigAction::new(
        SigHandler::Handler(open_up),
        SaFlags::empty(),
        SigSet::empty(),
    );
    // SAFETY: the handler makes one call that handlers may make.
    let before = unsafe { sigaction(Signal::SIGSEGV, &action) }.unwrap();
    assert_eq!(recorder.watch(&Watched::Thread(own_tid())).unwrap(), 1);
    // At the first time the signal's frame may have a fault of its own, whose end is seen.
    for _ in 0..3 {
        // A CPU knows whom it runs from the next switch on.
        std::thread::sleep(Duration::from_millis(1));
        // SAFETY: the page is there, and can be written to when the handler is over.
        unsafe {
            mprotect(page, bytes.get(), ProtFlags::PROT_NONE).unwrap();
            page.cast::<u8>().write_volatile(1);
        }
    }
    // SAFETY: what was there before, and a page that nobody uses any more.
    unsafe {
        sigaction(Signal::SIGSEGV, &before).unwrap();
        munmap(page, bytes.get()).unwrap();
    }
    assert_eq!(recorder.missed().events, 0);
}

/// A process that sleeps over and over until it is killed, or this thread ends.
fn sleeper(name: &CStr) -> Pid {
    // SAFETY: the child calls nothing that takes a lock.
    match unsafe { fork() }.unwrap() {
        ForkResult::Parent { child } => child,
        ForkResult::Child => sleep_on(name),
    }
}

fn sleep_on(name: &CStr) -> ! {
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
    let _ = prctl::set_name(name);
    loop {
        // SAFETY: takes a number.
        unsafe { libc::usleep(1000) };
    }
}

/// A child with this process id, which nobody may have; none where the kernel does not know clone3,
/// or somebody took the number.
fn sleeper_with(pid: Pid, name: &CStr) -> Option<Pid> {
    #[repr(C)]
    #[derive(Default)]
    struct Arguments {
        flags: u64,
        pidfd: u64,
        child_tid: u64,
        parent_tid: u64,
        exit_signal: u64,
        stack: u64,
        stack_size: u64,
        tls: u64,
        set_tid: u64,
        set_tid_size: u64,
        cgroup: u64,
    }

    let wanted = pid.as_raw();
    let arguments = Arguments {
        exit_signal: libc::SIGCHLD as u64,
        set_tid: (&raw const wanted) as u64,
        set_tid_size: 1,
        ..Default::default()
    };
    // SAFETY: as fork(2): no memory is shared, and the arguments are alive.
    match unsafe {
        libc::syscall(
            libc::SYS_clone3,
            &raw const arguments,
            size_of::<Arguments>(),
        )
    } {
        0 => sleep_on(name),
        child => (child > 0).then(|| Pid::from_raw(child as i32)),
    }
}

fn end(child: Pid) {
    kill(child, Signal::SIGKILL).unwrap();
    waitpid(child, None).unwrap();
}

#[test]
fn a_number_that_is_used_again_is_another_thread() {
    const TEST: &str = "a_number_that_is_used_again_is_another_thread";
    as_root!("a_number_that_is_used_again_is_another_thread");
    let mut storage = Storage::uninit();
    let mut recorder = recorder!(TEST, storage);
    for forgotten in [true, false] {
        let first = sleeper(c"first");
        let tid = first.as_raw().cast_unsigned();
        let watched = Watched::Thread(tid);
        recorder.watch(&watched).unwrap();
        until(&mut recorder, |one| wakeups(one, tid) >= Some(ENOUGH));
        assert!(recorder.is_alive());
        end(first);
        assert!(!recorder.is_alive());
        // The keeper may have heard of the end, or not yet.
        if forgotten {
            recorder.refresh(&watched).unwrap();
        }
        let Some(second) = sleeper_with(first, c"second") else {
            return skipped(TEST, "this kernel gives out no number that is asked for");
        };
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(wakeups(&recorder, tid), None, "the second is watched");
        assert!(!recorder.is_alive());
        recorder.refresh(&watched).unwrap();
        let threads = recorder.threads();
        assert!(
            threads.iter().all(|one| one.name != "second"),
            "{threads:?}"
        );
        end(second);
    }
    let threads = recorder.threads();
    let first = threads.iter().find(|one| one.name == "first");
    assert!(first.is_some_and(|one| one.ended && one.wakeups.count >= ENOUGH));
}

#[test]
fn a_fork_is_watched_with_its_family_and_not_with_its_process() {
    const TEST: &str = "a_fork_is_watched_with_its_family_and_not_with_its_process";
    as_root!("a_fork_is_watched_with_its_family_and_not_with_its_process");
    let mut storage = Storage::uninit();
    let mut recorder = recorder!(TEST, storage);
    for (family, expected) in [(true, Some(ENOUGH)), (false, None)] {
        // SAFETY: the child calls nothing that takes a lock.
        let child = match unsafe { fork() }.unwrap() {
            ForkResult::Parent { child } => child,
            ForkResult::Child => loop {
                let _ = prctl::set_pdeathsig(Signal::SIGKILL);
                // It is watched when it forks, or not yet; the last one is.
                let child = sleeper(c"grandchild");
                for _ in 0..200 {
                    // SAFETY: takes a number.
                    unsafe { libc::usleep(1000) };
                }
                end(child);
            },
        };
        let tid = child.as_raw().cast_unsigned();
        let watched = match family {
            true => Watched::Family(tid),
            false => Watched::Process(tid),
        };
        recorder.watch(&watched).unwrap();
        let grandchildren = |one: &Recorder<'_>| {
            let threads = one.threads();
            let others = threads.iter().filter(|one| one.tid != tid && !one.ended);
            others.map(|one| one.wakeups.count).max()
        };
        match family {
            true => until(&mut recorder, |one| grandchildren(one) >= expected),
            false => {
                // It has forked at least once since.
                until(&mut recorder, |one| wakeups(one, tid) >= Some(300));
                assert_eq!(grandchildren(&recorder), expected);
            }
        }
        end(child);
        until(&mut recorder, |one| !one.is_alive());
        recorder.refresh(&watched).unwrap();
    }
}

#[test]
fn what_a_kernel_lacks_is_a_sentence() {
    const TEST: &str = "what_a_kernel_lacks_is_a_sentence";
    as_root!("what_a_kernel_lacks_is_a_sentence");
    let hidden = "mount --bind /dev/null /sys/kernel/btf/vmlinux || exit 77;";
    for (options, preparation, says) in [
        (&["--mount"][..], hidden, "has no BTF"),
        (
            &["--pid", "--fork", "--mount-proc"],
            "",
            "run artis on the host",
        ),
    ] {
        let output = unshared(options, preparation);
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(77) || said.contains("unshare") {
            skipped(TEST, said.trim());
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(said.contains("threads cannot be watched"), "{said}");
        assert!(said.contains(says), "{said}");
    }
}
