// SPDX-License-Identifier: GPL-2.0-only
//! `artis explain`: whom it blames for what a program of ours does on purpose, what it prints
//! again, and what it says to wrong input.

use crate::common::{count, probe, skipped};
use artis::explain::Document;
use artis::report::explain::{perfetto, picture, text};
use libbpf_rs::query::ProgInfoIter;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const ARTIS: &str = env!("CARGO_BIN_EXE_artis");

/// What the kernel says where it lets nobody watch.
fn refuses(test: &str, said: &str) -> bool {
    let refused = said.contains("cannot be watched");
    if refused {
        skipped(test, said.lines().last().unwrap_or_default());
    }
    refused
}

/// Injects one kind of culprit. Which losses are judged is decided by the program: those of which
/// it knows that the injection made them, so another load on this machine makes them fewer, and not
/// wrong. `times`: in the short run, and in the long one.
fn inject(test: &str, kind: &str, (short, long): (u64, u64)) {
    let times = count(short, long);
    let program = probe().with_file_name("culprits");
    let output = Command::new(program)
        .args([kind, &times.to_string()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    if refuses(test, &said) {
        return;
    }
    assert!(output.status.success(), "{output:?}");
    if said.starts_with("cannot be done here") {
        return skipped(test, said.trim());
    }
    let words: Vec<&str> = said.split_whitespace().collect();
    let figures: BTreeMap<&str, u64> = words
        .chunks(2)
        .map(|pair| (pair[0], pair[1].parse().unwrap()))
        .collect();
    eprintln!("{kind}: {said}");
    if figures["judged"] < 4 {
        // What the victim did to itself is kept, unless worse was.
        let seen = ["judged", "stolen", "waited", "overwritten"].map(|name| figures[name]);
        const OWN: [&str; 7] = ["faults", "cow", "disk", "swap", "lock", "stopped", "frozen"];
        let own = OWN.contains(&kind);
        assert!(
            !own || figures["kept"] == 4 * times || seen.iter().sum::<u64>() >= 4,
            "{said}"
        );
        return skipped(test, &format!("too few late wakeups to judge: {said}"));
    }
    // Few are judged in the short run, and one may meet a stop of the whole machine.
    let long_run = figures["judged"] >= 50;
    let share = if long_run { 95 } else { 75 };
    assert!(
        figures["right"] * 100 >= figures["judged"] * share,
        "{said}\n{wrong}"
    );
    if long_run {
        assert!(figures["unknown_ns"] * 20 < figures["of_ns"], "{said}");
        assert!(figures["overwritten"] * 20 < figures["judged"], "{said}");
    }
}

macro_rules! injected {
    ($($test:ident, $name:literal: $kind:literal, $times:expr;)*) => {
        $(
            #[test]
            fn $test() {
                as_root!($name);
                inject($name, $kind, $times);
            }
        )*
    };
}

injected! {
    a_real_time_task_is_blamed, "a_real_time_task_is_blamed": "fifo", (15, 100);
    a_deadline_task_is_blamed, "a_deadline_task_is_blamed": "deadline", (30, 300);
    a_softirq_is_blamed, "a_softirq_is_blamed": "softirq", (15, 100);
    who_sends_barriers_is_blamed, "who_sends_barriers_is_blamed": "ipi", (15, 100);
    who_changes_memory_is_blamed, "who_changes_memory_is_blamed": "tlb", (15, 100);
    a_disk_is_blamed, "a_disk_is_blamed": "device", (15, 100);
    a_long_system_call_is_blamed, "a_long_system_call_is_blamed": "kernel", (60, 1500);
    a_work_item_is_blamed, "a_work_item_is_blamed": "work", (30, 200);
    own_page_faults_are_blamed, "own_page_faults_are_blamed": "faults", (15, 100);
    pages_shared_by_a_fork_are_blamed, "pages_shared_by_a_fork_are_blamed": "cow", (15, 100);
    swapped_pages_are_blamed, "swapped_pages_are_blamed": "swap", (15, 100);
    pages_of_a_disk_are_blamed, "pages_of_a_disk_are_blamed": "disk", (15, 100);
    who_preempts_the_holder_of_a_lock_is_blamed, "who_preempts_the_holder_of_a_lock_is_blamed": "lock", (15, 100);
    who_cannot_be_preempted_is_blamed, "who_cannot_be_preempted_is_blamed": "kept", (15, 100);
    who_has_interrupts_off_is_blamed, "who_has_interrupts_off_is_blamed": "masked", (30, 100);
    who_stops_the_holder_of_a_lock_is_named, "who_stops_the_holder_of_a_lock_is_named": "stopped", (15, 100);
    a_frozen_holder_of_a_lock_is_seen, "a_frozen_holder_of_a_lock_is_seen": "frozen", (15, 100);
    a_used_up_budget_is_blamed, "a_used_up_budget_is_blamed": "budget", (15, 100);
    a_tracer_is_blamed, "a_tracer_is_blamed": "traced", (15, 100);
    who_sets_the_clock_is_blamed, "who_sets_the_clock_is_blamed": "clock", (15, 100);
    the_share_of_normal_tasks_is_blamed, "the_share_of_normal_tasks_is_blamed": "throttling", (6, 60);
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/explain")
        .join(name)
}

/// Recordings of a real machine, and what is printed of them.
#[test]
fn canned_recordings_are_printed_as_they_were() {
    for name in ["late", "inversion"] {
        let document = std::fs::read(data(&format!("{name}.json"))).unwrap();
        let document = Document::read(&document).unwrap();
        let expected = std::fs::read_to_string(data(&format!("{name}.txt"))).unwrap();
        let printed = text(&document);
        assert!(printed == expected, "{name}:\n{printed}");
        assert!(printed.lines().all(|line| line.chars().count() <= 80));
        let picture = picture::draw(1, &document.worst[0], &artis::report::Sheet::FILE);
        assert!(picture.ends_with("</svg>\n"));
        // As the generated code of the crate prost wrote them.
        let file = std::fs::read(data(&format!("{name}.trace"))).unwrap();
        assert!(perfetto::bytes(&document) == file, "{name}.trace");
        let trace = perfetto::trace(&document);
        let events = trace
            .packet
            .iter()
            .filter_map(|one| one.track_event.as_ref());
        let (mut begun, mut ended) = (0, 0);
        for event in events {
            match event.kind {
                Some(1) => begun += 1,
                Some(2) => ended += 1,
                other => panic!("{other:?}"),
            }
        }
        let losses = document.worst.len();
        let segments: usize = document.worst.iter().map(|one| one.segments.len()).sum();
        assert_eq!((begun, ended), (segments + losses, segments + losses));
    }
}

fn artis(words: &[&str]) -> Output {
    Command::new(ARTIS).args(words).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Who has no such name yet is waited for, and watched from its first moment on, however short it
/// lives.
#[test]
fn threads_of_a_name_are_waited_for() {
    const TEST: &str = "threads_of_a_name_are_waited_for";
    as_root!("threads_of_a_name_are_waited_for");
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("late.json");
    let mut watching = Command::new(ARTIS)
        .args(["explain", "run", "-D", "5", "--comm", "short-lived*"])
        .arg("--json")
        .arg(&json)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watching.stderr.take().unwrap()).lines();
    let words = lines.by_ref().map(Result::unwrap);
    let words: Vec<String> = words
        .take_while(|line| !line.contains("waiting for the first"))
        .collect();
    let until = Instant::now() + Duration::from_secs(60);
    while watching.try_wait().unwrap().is_none() && Instant::now() < until {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                nix::sys::prctl::set_name(c"short-lived-1").unwrap();
                std::thread::sleep(Duration::from_micros(100));
            });
        });
        std::thread::sleep(Duration::from_millis(20));
    }
    let status = watching.wait().unwrap();
    if refuses(TEST, &words.join("\n")) {
        return;
    }
    assert!(status.success(), "{words:?}");
    let document = Document::read(&std::fs::read(&json).unwrap()).unwrap();
    let wakeups: u64 = document.threads.iter().map(|one| one.wakeups.count).sum();
    assert!(wakeups > 10, "{:?}", document.threads);
}

#[test]
fn a_command_is_watched_to_its_end_and_ends_as_it_does() {
    const TEST: &str = "a_command_is_watched_to_its_end_and_ends_as_it_does";
    as_root!("a_command_is_watched_to_its_end_and_ends_as_it_does");
    let script = "for i in 1 2 3; do sleep 0.01; done; exit 7";
    let output = artis(&["explain", "run", "--", "sh", "-c", script]);
    if refuses(TEST, &said(&output)) {
        return;
    }
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    // The children are watched, too, whose names the shell did not have.
    assert!(text.contains("sleep/"), "{text}");
    assert!(text.contains("who made the late wakeups"), "{text}");
    let output = artis(&["explain", "run", "--", "/no/such/program"]);
    assert_eq!(output.status.code(), Some(127), "{output:?}");
    let output = artis(&["explain", "run", "--until", "0", "--", "sleep", "0.2"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn watching_ends_with_the_watched_thread() {
    const TEST: &str = "watching_ends_with_the_watched_thread";
    as_root!("watching_ends_with_the_watched_thread");
    let mut child = Command::new("sleep").arg("0.5").spawn().unwrap();
    let pid = child.id().to_string();
    // The child is waited for meanwhile, so that it is gone and no zombie.
    let waiting = std::thread::spawn(move || child.wait());
    let output = artis(&["explain", "run", "--pid", &pid, "-D", "10m"]);
    waiting.join().unwrap().unwrap();
    // A busy host may have started artis only when the thread was gone.
    let late = output.status.code() == Some(64);
    if refuses(TEST, &said(&output)) || late {
        return;
    }
    assert!(output.status.success(), "{output:?}");
}

/// Numbers of the BPF programs that a process has open.
fn programs_of(pid: u32) -> BTreeSet<u32> {
    let folder = format!("/proc/{pid}/fdinfo");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    texts
        .flat_map(|text| {
            let ids = text
                .lines()
                .filter_map(|line| line.strip_prefix("prog_id:"));
            ids.filter_map(|id| id.trim().parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}

#[test]
fn nothing_stays_attached_after_a_kill() {
    const TEST: &str = "nothing_stays_attached_after_a_kill";
    as_root!("nothing_stays_attached_after_a_kill");
    let own = std::process::id().to_string();
    let mut child = Command::new(ARTIS)
        .args(["explain", "run", "--pid", &own, "-D", "10m"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut programs = BTreeSet::new();
    let patience = Instant::now();
    // It has attached all when their number no longer grows.
    while child.try_wait().unwrap().is_none() && patience.elapsed() < Duration::from_secs(60) {
        let seen = programs_of(child.id());
        if seen.len() > 20 && seen == programs {
            break;
        }
        programs = seen;
        std::thread::sleep(Duration::from_millis(300));
    }
    if let Some(status) = child.try_wait().unwrap() {
        assert_eq!(status.code(), Some(1));
        return skipped(TEST, "this kernel lets nobody watch");
    }
    assert!(programs.len() > 20, "{programs:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    let left =
        |programs: &BTreeSet<u32>| ProgInfoIter::default().any(|info| programs.contains(&info.id));
    // The kernel frees them when it has the time.
    let patience = Instant::now();
    while left(&programs) && patience.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(!left(&programs), "{programs:?}");
}

#[test]
fn without_privilege_it_says_what_to_type() {
    const TEST: &str = "without_privilege_it_says_what_to_type";
    as_root!("without_privilege_it_says_what_to_type");
    let nobody = Command::new(ARTIS)
        .args(["explain", "run", "-D", "1", "--pid", "1"])
        .uid(65534)
        .gid(65534)
        .output();
    let Ok(output) = nobody else {
        return skipped(TEST, "another user may not run programs of this folder");
    };
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(said(&output).contains("run artis as root"), "{output:?}");
}
