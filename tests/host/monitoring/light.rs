// SPDX-License-Identifier: GPL-2.0-only
//! The light watch on this machine: it counts what a thread sees itself.

use crate::common::skipped;
use artis_machine::{CpuList, Root};
use artis_watch::{Error, LightWatch, Settings, Storage, Thread, Whom};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

const WAKEUPS: u64 = 400;
const PERIOD_NS: i64 = 1_000_000;

fn now_ns(clock: ClockId) -> i64 {
    let time = clock_gettime(clock).unwrap();
    time.tv_sec() * 1_000_000_000 + time.tv_nsec()
}

/// Makes the calling thread SCHED_FIFO 80 on CPU 0.
fn become_real_time() -> nix::Result<()> {
    let mut cpus = nix::sched::CpuSet::new();
    cpus.set(0)?;
    nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &cpus)?;
    let priority = libc::sched_param { sched_priority: 80 };
    // SAFETY: the pointer is to a live local.
    nix::errno::Errno::result(unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority)
    })?;
    Ok(())
}

/// Wakes up so many times by a timer of this clock; how late each time was as the thread sees it.
fn wake(clock: ClockId) -> Vec<u64> {
    let mut due = now_ns(clock) + PERIOD_NS;
    let mut late = Vec::new();
    for _ in 0..WAKEUPS {
        let request = TimeSpec::new(due / 1_000_000_000, due % 1_000_000_000);
        clock_nanosleep(clock, ClockNanosleepFlags::TIMER_ABSTIME, &request).unwrap();
        late.push((now_ns(clock) - due).cast_unsigned());
        due += PERIOD_NS;
    }
    late
}

/// Runs as a real-time thread on CPU 0 while it is watched; gives what was counted of it.
fn watched<T: Send>(
    name: &str,
    whom: impl FnOnce(u32) -> Whom,
    bound_ns: Option<u64>,
    work: impl FnOnce() -> T + Send,
    judge: impl FnOnce(&mut LightWatch<'_>, Option<Thread>, T),
) {
    let (begin, wait) = std::sync::mpsc::channel::<()>();
    let (say, heard) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        // Dropped on each way out: then the thread ends, too.
        let begin = begin;
        let thread = scope.spawn(move || {
            let tid = nix::unistd::gettid().as_raw().cast_unsigned();
            say.send((tid, become_real_time())).unwrap();
            wait.recv().ok().map(|()| work())
        });
        let (tid, allowed) = heard.recv().unwrap();
        if let Err(error) = allowed {
            return skipped(name, &format!("no real-time thread: {error}"));
        }
        let mut storage = Storage::uninit();
        let settings = Settings {
            whom: whom(tid),
            bound_ns,
            kernel_threads: false,
        };
        let mut watch = match LightWatch::load(&mut storage, &settings) {
            Ok(watch) => watch,
            Err(error @ (Error::Privilege | Error::Locked | Error::NoBtf(_))) => {
                return skipped(name, &error.to_string());
            }
            Err(error) => panic!("{error:?}"),
        };
        begin.send(()).unwrap();
        let done = thread.join().unwrap().unwrap();
        let found = watch.threads().into_iter().find(|one| one.tid == tid);
        judge(&mut watch, found, done);
    });
}

#[test]
fn each_wakeup_by_a_timer_is_counted_and_none_later_than_the_thread_itself_sees() {
    for clock in [ClockId::CLOCK_MONOTONIC, ClockId::CLOCK_REALTIME] {
        let name = "each_wakeup_by_a_timer_is_counted";
        let all = |_| Whom::Cpus(CpuList::from_kernel("0").unwrap());
        let judge = |watch: &mut LightWatch<'_>, found: Option<Thread>, mut seen: Vec<u64>| {
            let found = found.expect("it is a real-time thread of CPU 0");
            seen.sort_unstable();
            let absent = watch.absent();
            if absent.iter().any(|one| one.contains("unknown")) {
                return skipped(name, &absent.join("; "));
            }
            // It may have been woken before it slept, and the first time is before the watch.
            let late = found.late.count();
            println!("{clock:?}: {late} late, {} queued", found.queued.count());
            assert!((WAKEUPS * 9 / 10..=WAKEUPS).contains(&late), "{found:?}");
            assert!(found.wakeups() <= WAKEUPS + 2, "{found:?}");
            assert_eq!(watch.not_kept(), 0);
            // The watch is not told of the last part of the way, and may be a switch's time late.
            for share in [0.5, 0.9] {
                let own = seen[(seen.len() as f64 * share) as usize];
                let at = found.late.quantile_ns(share).unwrap();
                println!("{share}: {at} ns of {own} ns");
                assert!(at <= own + own / 8 + 2_000, "{share}: {at} of {own}");
                assert!(at * 20 > own, "{share}: {at} of {own}");
            }
            assert!(
                found.late.max_ns <= seen[seen.len() - 1] + 20_000,
                "{found:?}"
            );
        };
        watched(name, all, None, move || wake(clock), judge);
    }
}

#[test]
fn a_thread_that_another_wakes_is_queued_and_never_late() {
    let name = "a_thread_that_another_wakes_is_queued";
    let (give, take) = std::sync::mpsc::sync_channel::<()>(0);
    let waker = std::thread::spawn(move || {
        while give.send(()).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    });
    let work = move || {
        for _ in 0..100 {
            // Waits with a timer that is not the one that wakes it.
            let _ = take.recv_timeout(std::time::Duration::from_secs(60));
        }
    };
    let one = |tid| Whom::Numbers {
        processes: Vec::new(),
        threads: vec![tid],
    };
    watched(name, one, None, work, |_, found, ()| {
        let found = found.expect("it was asked for");
        assert!(found.queued.count() >= 80, "{found:?}");
        assert_eq!(found.late.count(), 0, "{found:?}");
    });
    waker.join().unwrap();
}

#[test]
fn what_is_above_the_bound_is_told_and_who_has_ended_is_forgotten() {
    let name = "what_is_above_the_bound_is_told";
    let own = |_| Whom::Numbers {
        processes: vec![std::process::id()],
        threads: Vec::new(),
    };
    let work = || wake(ClockId::CLOCK_MONOTONIC);
    watched(name, own, Some(1), work, |watch, found, _| {
        let found = found.expect("its process was asked for");
        let alerts = watch.alerts();
        // The newest are kept, and how many were not is known.
        assert!(alerts.len() >= 32, "{}", alerts.len());
        let above = found.above;
        assert_eq!(above, found.wakeups() - found.unseen);
        assert!(alerts.len() as u64 + watch.missed() >= above * 9 / 10);
        assert!(alerts.iter().all(|one| one.value_ns > 1));
        let ours = alerts.iter().filter(|one| one.tid == found.tid);
        assert!(ours.clone().count() > 0);
        assert!(ours.clone().all(|one| one.value_ns <= found.worst_ns()));
        assert_eq!(watch.alerts(), []);
        // Joined is a moment before it is gone.
        let mut gone = Vec::new();
        for _ in 0..1000 {
            gone.extend(watch.forget_ended(&Root::default()));
            if gone.iter().any(|one| one.tid == found.tid) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(gone.iter().any(|one| one.tid == found.tid), "{gone:?}");
        assert!(watch.threads().iter().all(|one| one.tid != found.tid));
    });
}

#[test]
fn too_many_numbers_are_refused() {
    let settings = Settings {
        whom: Whom::Numbers {
            processes: (1..=65).collect(),
            threads: Vec::new(),
        },
        bound_ns: None,
        kernel_threads: false,
    };
    let mut storage = Storage::uninit();
    match LightWatch::load(&mut storage, &settings) {
        Err(Error::TooMany {
            most: 64,
            asked: 65,
        }) => {}
        Err(error) => skipped("too_many_numbers_are_refused", &error.to_string()),
        Ok(_) => panic!("they were taken"),
    };
}
