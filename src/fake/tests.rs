// SPDX-License-Identifier: GPL-2.0-only
//! Short scenarios, run live. What is asserted does not depend on how busy the machine is.

use super::run;
use artis_machine::{Root, processes};
use artis_scenario::model::{Policy, Task};
use artis_scenario::{Ended, Outcome, TaskOutcome, read};
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

fn live(text: &str) -> Outcome {
    try_live(text).unwrap_or_else(|error| panic!("{error}"))
}

fn try_live(text: &str) -> Result<Outcome, super::Error> {
    let reading = read(text, None, "test").unwrap_or_else(|error| panic!("{error}"));
    run(&reading.scenario, &AtomicUsize::new(0), &mut |_| {})
}

fn named<'a>(outcome: &'a Outcome, name: &str) -> &'a TaskOutcome {
    let found = outcome.tasks.iter().find(|task| task.name == name);
    found.unwrap_or_else(|| panic!("{name} in {outcome:?}"))
}

#[test]
fn a_task_does_its_steps_and_ends() {
    let outcome = live(
        "[[task]]\nname = \"a\"\ncount = 2\nrun = [{ loop = 5, steps = [{ compute = \"1ms\" }, \
         { every = \"2ms\" }] }, { calls = 10 }, { kernel = \"50us\" }, { faults = 4 }, \
         { read = \"10KiB\" }, { write = \"10KiB\" }, { busy = \"1ms\" }, \"yield\", \
         { memory = \"1MiB\" }, { memory = 100, access = \"chase\", buffer = \"64KiB\" }, \
         { memory = \"64KiB\", access = \"read\", shared = \"s\" }]\n",
    );
    assert_eq!(outcome.ended, Ended::All);
    for name in ["a/1", "a/2"] {
        let task = named(&outcome, name);
        assert_eq!(task.steps, 10 + 10 + 9, "{task:?}");
        assert_eq!(task.activations, 5);
        // 5 timers from the start: no earlier than that.
        assert!(task.wall_ns.unwrap() >= 10_000_000 && task.wall_ns <= Some(outcome.wall_ns));
        // 5 ms of user work, calibrated; a host that is faster now than then has less.
        assert!(task.cpu_ns > 2_000_000, "{task:?}");
        let sum: f64 = task.shares.values().sum();
        assert!((sum - 1.0).abs() < 1e-9, "{task:?}");
    }
}

#[test]
fn tasks_wait_for_one_another() {
    let outcome = live(
        "[mutex.m]\nprotocol = \"inheritance\"\n[barrier.b]\nparties = 2\n\
         [channel.c]\nmedium = \"socket\"\n[arrivals.x]\nat = [\"1ms\", \"2ms\"]\n\
         [[task]]\nname = \"a\"\nrun = [{ barrier = \"b\" }, { lock = \"m\" }, \
         { wait = \"q\", mutex = \"m\" }, { unlock = \"m\" }, { acquire = \"s\" }, \
         { receive = \"p\", bytes = 3000 }, { send = \"c\", bytes = 10 }, { await = \"signalfd\" }, \
         { await = \"sigwait\" }, { poll = [{ receive = \"p\", bytes = 5 }, { signal = true }] }]\n\
         [[task]]\nname = \"b\"\nrun = [{ barrier = \"b\" }, { arrival = \"x\" }, \
         { arrival = \"x\" }, { loop = 20, steps = [{ lock = \"m\" }, { signal = \"q\" }, \
         { unlock = \"m\" }, { sleep = \"1ms\" }] }, { post = \"s\" }, { send = \"p\", bytes = 3000 }, \
         { receive = \"c\", bytes = 10 }, { raise = \"a\" }, { raise = \"a\" }, { send = \"p\", \
         bytes = 5 }, { join = \"a\" }]\n",
    );
    assert_eq!(outcome.ended, Ended::All, "{outcome:?}");
    let (a, b) = (named(&outcome, "a"), named(&outcome, "b"));
    assert_eq!((a.steps, b.steps), (10, 3 + 80 + 7));
    assert!(b.wall_ns >= a.wall_ns);
}

#[test]
fn forked_tasks_are_counted_and_joined() {
    let outcome = live(
        "[[task]]\nname = \"parent\"\nrun = [{ loop = 20, steps = [{ fork = \"child\" }] }, \
         { join = \"child\" }]\n\
         [[task]]\nname = \"child\"\ncount = 0\nrun = [{ compute = \"100us\" }, { sleep = \"1ms\" }]\n",
    );
    let child = named(&outcome, "child");
    assert!(child.is_forked && child.wall_ns.is_none());
    assert_eq!((child.count, child.steps), (20, 40));
    assert_eq!(outcome.ended, Ended::All);
}

#[test]
fn it_ends_with_its_time_or_its_foreground() {
    let forever = "[[task]]\nname = \"hog\"\nforever = [{ compute = \"1ms\" }]\n";
    let blocked = "[[task]]\nname = \"blocked\"\nrun = [{ acquire = \"never\" }]\n";
    let outcome = live(&format!("duration = \"50ms\"\n{forever}{blocked}"));
    assert_eq!(outcome.ended, Ended::Duration);
    assert!(outcome.wall_ns >= 49_000_000, "{outcome:?}");
    let hog = named(&outcome, "hog");
    assert!(hog.wall_ns.is_none() && hog.cpu_ns > 0, "{hog:?}");
    assert_eq!(named(&outcome, "blocked").steps, 0);
    let foreground = "[[task]]\nname = \"f\"\nforeground = true\nrun = [{ sleep = \"20ms\" }]\n";
    let outcome = live(&format!(
        "end = \"foreground\"\n{forever}{blocked}{foreground}"
    ));
    assert_eq!(outcome.ended, Ended::Foreground);
    assert!(named(&outcome, "f").wall_ns.is_some());
}

#[test]
fn a_deadline_that_cannot_be_met_is_missed() {
    let outcome = live(
        "[[task]]\nname = \"late\"\nrun = [{ loop = 4, steps = [{ busy = \"3ms\" }, \
         { every = \"1ms\" }] }]\n\
         [[task]]\nname = \"never\"\ndeadline = \"10m\"\nrun = [{ loop = 4, \
         steps = [{ every = \"2ms\" }] }]\n",
    );
    assert_eq!(named(&outcome, "late").missed, 4);
    let never = named(&outcome, "never");
    assert_eq!((never.activations, never.missed, never.met()), (4, 0, 4));
}

#[test]
fn what_is_refused_is_said_and_nothing_stays() {
    let cpu = artis_task::syscall::affinity(0).unwrap().first().unwrap();
    let error = try_live(&format!(
        "[[task]]\nname = \"a\"\ncpu = {cpu}\nrun = [{{ unlock = \"m\" }}]\n\
         [[task]]\nname = \"refused-hog\"\nforever = [{{ compute = \"1s\" }}]\n\
         [mutex.m]\nceiling = 1\n[[task]]\npolicy = \"fifo\"\npriority = 2\n\
         run = [{{ lock = \"m\" }}]\n"
    ))
    .unwrap_err()
    .to_string();
    // Without root it is the policy that is refused.
    assert!(error.starts_with("task "), "{error}");
    let mine = processes::below(&Root::default(), std::process::id() as i32);
    let is_hog = |pid: i32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name.trim() == "refused-hog")
    };
    let left = mine.iter().filter(|process| is_hog(process.pid)).count();
    assert_eq!(left, 0, "{mine:?}");
}

#[test]
fn shipped_scenarios_run() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/scenario");
    let here = artis_task::syscall::affinity(0).unwrap();
    let is_root = nix::unistd::geteuid().is_root();
    let mut ran = 0;
    for name in [
        "ping-pong.toml",
        "fork-storm.toml",
        "control-loop-build.toml",
        "pipeline.json",
    ] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let mut scenario = read(&text, None, name).unwrap().scenario;
        scenario.end.duration_ns = Some(150_000_000);
        let needs_root = |task: &Task| task.policy != Policy::default();
        if super::fit(&scenario, &here).is_err()
            || (!is_root && scenario.tasks.iter().any(needs_root))
        {
            eprintln!("SKIPPED: {name} needs root and CPUs 0 and 1");
            continue;
        }
        let outcome = run(&scenario, &AtomicUsize::new(0), &mut |_| {});
        let outcome = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            outcome.tasks.iter().all(|task| task.steps > 0),
            "{name}: {outcome:?}"
        );
        ran += 1;
    }
    assert!(ran > 0 || here.len() < 2);
}

#[test]
fn an_interrupted_run_says_what_there_is() {
    let text = "[[task]]\nname = \"hog\"\nforever = [{ compute = \"1ms\" }]\n";
    let scenario = read(text, None, "test").unwrap().scenario;
    let stop = AtomicUsize::new(0);
    let began = Instant::now();
    let outcome = run(&scenario, &stop, &mut |progress| {
        if progress.ns > 30_000_000 {
            stop.store(2, std::sync::atomic::Ordering::Relaxed);
        }
    })
    .unwrap();
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(outcome.ended, Ended::Interrupted);
    assert!(named(&outcome, "hog").steps > 0, "{outcome:?}");
}
