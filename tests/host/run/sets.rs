// SPDX-License-Identifier: GPL-2.0-only
//! Sets of both kinds of policies, admitted and run: a few seconds, or a minute in a soak; and an
//! overrun on purpose. What is judged does not depend on how busy the machine is: a reservation
//! gives a thread no more than its budget of each period, whoever else runs.

use super::admitted::{alone, cpu, until};
use super::process::Task;
use super::{ARTIS, NORMAL, artis, common, obstacle, stderr, succeeded};
use nix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Period, budget and work of the jobs, ms.
const TASKS: [(u64, u64, u64); 2] = [(10, 3, 1), (25, 6, 2)];
const FIFO: u32 = 1;
const DEADLINE: u32 = 6;

/// What a thread of a set and its test say to each other.
#[derive(Default)]
struct Shared {
    tid: AtomicI32,
    overrun: AtomicBool,
    stop: AtomicBool,
    /// The CPU time of the thread, as it saw it last.
    executed_ns: AtomicU64,
}

/// A thread with a job each period, which takes so much of its own CPU time.
struct Periodic {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

fn executed() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .unwrap()
        .into()
}

fn jobs(shared: &Shared, period: Duration, work: Duration) {
    shared.tid.store(nix::unistd::gettid().as_raw(), SeqCst);
    let mut next = Instant::now();
    while !shared.stop.load(SeqCst) {
        next += period;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let began = executed();
        let goes_on = || shared.overrun.load(SeqCst) && !shared.stop.load(SeqCst);
        while executed() - began < work || goes_on() {
            shared
                .executed_ns
                .store(executed().as_nanos() as u64, SeqCst);
        }
    }
}

impl Periodic {
    fn start(period_ms: u64, work_ms: u64) -> Self {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let [period, work] = [period_ms, work_ms].map(Duration::from_millis);
        let thread = std::thread::spawn(move || jobs(&own, period, work));
        until("it has begun", || shared.tid.load(SeqCst) != 0);
        Self {
            shared,
            thread: Some(thread),
        }
    }

    fn tid(&self) -> String {
        self.shared.tid.load(SeqCst).to_string()
    }

    fn task(&self) -> Task {
        Task::read(Path::new(&format!("/proc/self/task/{}", self.tid()))).unwrap()
    }

    fn executed(&self) -> Duration {
        Duration::from_nanos(self.shared.executed_ns.load(SeqCst))
    }
}

impl Drop for Periodic {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Both tasks, admitted on one CPU.
fn admitted(policy: &str, more: &[&str]) -> Vec<Periodic> {
    let cpu = cpu();
    let all = TASKS.map(|(period_ms, budget_ms, work_ms)| {
        let one = Periodic::start(period_ms, work_ms);
        let (tid, period, budget) = (
            one.tid(),
            format!("{period_ms}ms"),
            format!("{budget_ms}ms"),
        );
        let words = [
            "rt0", "--thread", "--pid", &tid, "--cpu", &cpu, "--policy", policy, "--period",
            &period, "--budget", &budget,
        ];
        succeeded(&artis(&[&words[..], more].concat()));
        one
    });
    all.into()
}

/// What `artis tasks --model` sees of the jobs in so long.
fn seen(seconds: u64) -> Value {
    let mut command = Command::new(ARTIS);
    command.args(["tasks", "--model", "--json", "-D", &seconds.to_string()]);
    let output = command.output().unwrap();
    // On a busy machine jobs may be late, which is status 2.
    assert!(
        matches!(output.status.code(), Some(0 | 2)),
        "{}",
        stderr(&output)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn admitted_sets_run_and_an_overrun_is_stopped() {
    need!("admitted_sets_run_and_an_overrun_is_stopped", obstacle());
    let _alone = alone();
    let seconds = common::count(2, 60);
    for (policy, kernels, more) in [
        ("edf", DEADLINE, &[][..]),
        ("rm", FIFO, &["--on-overrun", "demote"]),
    ] {
        let all = admitted(policy, more);
        let document = seen(seconds);
        let tasks = document["cpus"][0]["tasks"].as_array().unwrap();
        assert_eq!(tasks.len(), 2, "{document}");
        for task in tasks {
            println!("{policy}: {task}");
            assert_eq!(task["not_in_force"], Value::Null, "{document}");
            assert!(task["seen"]["jobs"].as_u64().unwrap() > 0, "{document}");
        }
        // The slower one goes on and on.
        let (period_ms, budget_ms, _) = TASKS[1];
        let hog = &all[1];
        if policy == "rm" {
            hog.shared.overrun.store(true, SeqCst);
            until("it is demoted", || hog.task().policy == NORMAL);
            assert_eq!(all[0].task().policy, kernels);
            continue;
        }
        assert!(all.iter().all(|one| one.task().policy == kernels));
        let (began, before) = (Instant::now(), hog.executed());
        hog.shared.overrun.store(true, SeqCst);
        std::thread::sleep(Duration::from_secs(seconds.min(5)));
        let (given, lasted) = (hog.executed() - before, began.elapsed());
        // One budget at each end of the stretch, and what a tick takes to notice.
        let most = lasted.mul_f64(budget_ms as f64 / period_ms as f64)
            + Duration::from_millis(2 * budget_ms + 10);
        println!("edf: a job without an end had {given:?} of {lasted:?}");
        assert!(
            given > Duration::ZERO && given <= most,
            "{given:?} of {most:?}"
        );
    }
    let empty = seen(1);
    assert_eq!(empty["cpus"], serde_json::json!([]), "{empty}");
}
