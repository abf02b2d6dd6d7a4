// SPDX-License-Identifier: GPL-2.0-only
//! Many threads, many events, long runs: nothing is lost, and nothing grows.

use super::*;

#[test]
fn ten_thousand_threads_are_watched() {
    const TEST: &str = "ten_thousand_threads_are_watched";
    as_root!("ten_thousand_threads_are_watched");
    const THREADS: usize = 10_000;
    let mut storage = Storage::uninit();
    let mut recorder = recorder!(TEST, storage);
    let memory_bytes = recorder.memory_bytes();
    let (awake, all) = (Mutex::new(false), Condvar::new());
    let refused = std::thread::scope(|scope| {
        let mut refused = None;
        for _ in 0..THREADS {
            let started = std::thread::Builder::new()
                .stack_size(64 << 10)
                .spawn_scoped(scope, || {
                    let mut awake = awake.lock().unwrap();
                    while !*awake {
                        awake = all.wait(awake).unwrap();
                    }
                });
            if let Err(error) = started {
                refused = Some(error);
                break;
            }
        }
        if refused.is_none() {
            let own = Watched::Process(std::process::id());
            let added = recorder.watch(&own).unwrap();
            assert!(added > THREADS, "{added}");
            recorder.refresh(&own).unwrap();
            assert!(recorder.threads().len() > THREADS);
        }
        *awake.lock().unwrap() = true;
        all.notify_all();
        refused
    });
    if let Some(error) = refused {
        return skipped(TEST, &format!("no room for {THREADS} threads: {error}"));
    }
    // A thread's last steps are still to come when the scope ends.
    let own = Watched::Process(std::process::id());
    while recorder.threads().len() > 100 {
        recorder.poll();
        recorder.refresh(&own).unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(recorder.threads().iter().any(|one| one.ended));
    assert_eq!(recorder.memory_bytes(), memory_bytes);
}

/// Runs artis in namespaces of its own, after a preparation.
pub(super) fn unshared(options: &[&str], preparation: &str) -> std::process::Output {
    let script = format!("{preparation} exec {ARTIS} explain run -D 1 --pid 1");
    Command::new("unshare")
        .args(options)
        .args(["sh", "-c", &script])
        .output()
        .unwrap()
}

/// Makes events: two of each system call, because the thread is watched, as fast as asked for.
fn make_events(until: &AtomicBool, tids: &Mutex<Vec<u32>>, cpu: u32, per_ms: u64) {
    syscall::set_affinity(0, &CpuList::from_iter([cpu])).unwrap();
    tids.lock().unwrap().push(own_tid());
    let began = Instant::now();
    let mut made = 0;
    while !until.load(Relaxed) {
        let wanted = match per_ms {
            u64::MAX => made + 1000,
            per_ms => began.elapsed().as_millis() as u64 * per_ms,
        };
        while made < wanted {
            // SAFETY: takes nothing.
            unsafe { libc::syscall(libc::SYS_getppid) };
            made += 2;
        }
        if per_ms != u64::MAX {
            // So that there are wakeups, too.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// What this process has allocated and touched, bytes: without the recorder's rings, whose pages
/// are counted when they are read first.
fn allocated() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.unwrap().split_whitespace().next().unwrap();
    kib.parse::<u64>().unwrap() * 1024
}

/// What the worst recordings so far hold.
fn kept_events(recorder: &Recorder<'_>) -> u64 {
    recorder
        .kept()
        .iter()
        .map(|one| one.events.iter().len() as u64)
        .sum()
}

/// Watches one busy thread on each CPU. Looks at the recorder as the command does, calls `look`
/// each time, and ends when it says so. Gives the longest time between two looks.
fn watch_busy_threads(
    recorder: &mut Recorder<'_>,
    per_ms: u64,
    mut look: impl FnMut(&mut Recorder<'_>) -> bool,
) -> Duration {
    let (done, tids) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let cpus = syscall::affinity(0).unwrap();
    let mut longest = Duration::ZERO;
    std::thread::scope(|scope| {
        let (done, tids) = (&done, &tids);
        for cpu in cpus.iter() {
            scope.spawn(move || make_events(done, tids, cpu, per_ms));
        }
        while tids.lock().unwrap().len() < cpus.iter().count() {
            std::thread::yield_now();
        }
        for tid in tids.lock().unwrap().iter() {
            recorder.watch(&Watched::Thread(*tid)).unwrap();
        }
        let mut last = Instant::now();
        loop {
            std::thread::sleep(Duration::from_millis(20));
            longest = longest.max(last.elapsed());
            last = Instant::now();
            if !look(recorder) {
                break;
            }
        }
        done.store(true, Relaxed);
    });
    longest
}

#[test]
#[ignore = "minutes; `make soak` runs it"]
fn nothing_is_lost_at_200_000_events_a_second_and_cpu() {
    const TEST: &str = "nothing_is_lost_at_200_000_events_a_second_and_cpu";
    as_root!("nothing_is_lost_at_200_000_events_a_second_and_cpu");
    let mut storage = Storage::uninit();
    let mut recorder = recorder!(TEST, storage);
    let seconds = count(10, 60);
    let cpus = syscall::affinity(0).unwrap().iter().count() as u64;
    let (began, first) = (Instant::now(), recorder.events());
    let longest = watch_busy_threads(&mut recorder, 250, |recorder| {
        recorder.poll();
        began.elapsed() < Duration::from_secs(seconds)
    });
    let rate = (recorder.events() - first) as f64 / began.elapsed().as_secs_f64() / cpus as f64;
    let missed = recorder.missed();
    let kept = recorder.kept();
    let incomplete = kept.iter().filter(|one| one.is_incomplete()).count();
    report(&format!(
        "LOSS: {rate:.0} events a second and CPU on {cpus} CPUs, {missed:?}, {incomplete} of {} \
         incomplete, longest pause of the keeper {longest:?}",
        kept.len()
    ));
    if rate < 200_000.0 {
        return skipped(TEST, "this machine had no time for so many events");
    }
    assert_eq!(missed.events, 0);
    assert_eq!(missed.losses, 0);
    // A ring is as long as that; a keeper that had no CPU for longer is not the recorder's fault.
    assert_eq!(kept.len(), WORST.worst);
    if longest < Duration::from_millis(100) {
        assert_eq!(incomplete, 0);
    }
}

/// A day of watching has 10^9 events at 12,000 a second. Here they come as fast as they can, and
/// threads with names of their own come and go.
#[test]
#[ignore = "ten minutes; `make soak` runs it"]
fn a_day_of_watching_takes_no_more_memory_than_a_minute() {
    const TEST: &str = "a_day_of_watching_takes_no_more_memory_than_a_minute";
    as_root!("a_day_of_watching_takes_no_more_memory_than_a_minute");
    let mut storage = Storage::uninit();
    let mut recorder = recorder!(TEST, storage);
    let all = count(20_000_000, 1_000_000_000);
    let (memory_bytes, first) = (recorder.memory_bytes(), recorder.events());
    let own = Watched::Process(std::process::id());
    // More than are kept apart.
    const NAMES: u64 = 1100;
    let mut after_a_minute = None;
    let mut looks = 0_u64;
    watch_busy_threads(&mut recorder, u64::MAX, |recorder| {
        recorder.poll();
        looks += 1;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let name = std::ffi::CString::new(format!("worker-{looks}")).unwrap();
                prctl::set_name(&name).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            });
            if looks.is_multiple_of(50) {
                recorder.watch(&own).unwrap();
                recorder.refresh(&own).unwrap();
            }
        });
        let events = recorder.events() - first;
        // As many as a minute has at that rate, and all names of ended threads that are kept.
        if after_a_minute.is_none() && events > all / 1440 && looks > NAMES {
            after_a_minute = Some((allocated(), kept_events(recorder)));
        }
        events < all || looks < 2 * NAMES
    });
    let (before, kept_before) = after_a_minute.unwrap();
    let (after, kept) = (allocated(), kept_events(&recorder));
    report(&format!(
        "MEMORY: {} events, {looks} threads: {before} bytes after a minute's, of {kept_before} events \
         of the worst; {after} bytes at the end, of {kept}; the recorder has {memory_bytes}",
        recorder.events() - first
    ));
    assert_eq!(recorder.memory_bytes(), memory_bytes);
    // The ten worst may have become longer: an event and its stack are less than that.
    let longer = kept.saturating_sub(kept_before) * 1024;
    let grown = after.saturating_sub(before);
    assert!(grown < (2 << 20) + longer, "{grown} bytes more");
}
