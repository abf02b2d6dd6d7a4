// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure latency` of normal tasks: threads that are not bound, nice values, `SCHED_EXT`.

use super::{document, measure, said, series, wait_for};
use crate::common::skipped;
use artis::machine::Root;
use artis::machine::tasks::{self, Policy, Task};
use artis::task::syscall::affinity;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::{Child, Stdio};

#[test]
fn every_source_wakes_threads_that_are_not_bound() {
    for source in ["timer", "nanosleep", "timerfd", "wake"] {
        let words = format!("latency -p 0 --unbound -t 3 -i 500 -l 50 --source {source}");
        let words: Vec<&str> = words.split(' ').collect();
        let document = document("every_source_wakes", &words, 0).unwrap();
        let options = &document["setup"]["options"];
        assert_eq!(options["unbound"], true);
        assert_eq!(
            (&options["policy"], &options["priority"]),
            (&"normal".into(), &0.into())
        );
        let latency = series(&document, "latency");
        assert_eq!(latency.len(), 3, "{source}");
        for (index, thread) in latency.iter().enumerate() {
            assert!(thread["cpu"].is_null(), "{thread}");
            assert_eq!(thread["thread"], index);
            assert_eq!(thread["count"], 50);
        }
    }
}

#[test]
fn nobody_asks_for_real_time_where_normal_tasks_are_measured() {
    let words = ["latency", "-p", "0", "--unbound", "-l", "20"];
    let document = document("nobody_asks_for_real_time", &words, 0).unwrap();
    assert_eq!(
        series(&document, "latency").len(),
        1,
        "one thread unless -t says otherwise"
    );
    let audit = document["audit"].as_array().unwrap();
    for id in [
        "policy",
        "memory",
        "real_time_threads",
        "rt_throttling",
        "isolated_cpus",
    ] {
        assert!(audit.iter().all(|warning| warning["id"] != id), "{audit:?}");
    }
}

#[test]
fn a_histogram_has_a_column_for_each_thread() {
    let words = "latency -p 0 --unbound -t 2 -l 30 -h 5 -q";
    let output = measure(&words.split(' ').collect::<Vec<_>>())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    for line in ["# Thread 0:", "# Thread 1:"] {
        assert!(text.lines().any(|one| one == line), "{text}");
    }
    let rows = text.lines().filter(|line| line.starts_with("00000"));
    assert!(
        rows.clone().all(|row| row.split_whitespace().count() == 3),
        "{text}"
    );
    assert_eq!(rows.count(), 5);
}

/// Starts a measurement of one thread, and gives that thread when it is at work.
fn started(words: &[&str]) -> (Child, Task) {
    let mut child = measure(&[&["latency", "-t", "1", "-D", "60", "-q"], words].concat())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (pid, root) = (child.id().cast_signed(), Root::default());
    // It has slept some periods.
    let at_work = |task: &Task| {
        let status = tasks::status(&root, task);
        status.is_some_and(|status| status.switches_voluntary > 20)
    };
    let measures = |task: &Task| task.pid == pid && task.name == "artis-measure-0";
    let thread = wait_for(|| {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "{words:?}: artis ended before: {ended:?}");
        let all = tasks::all(&root).unwrap();
        all.into_iter().find(|task| measures(task) && at_work(task))
    });
    (child, thread)
}

fn end(mut child: Child) {
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_thread_that_is_not_bound_may_use_every_cpu_and_has_no_timer_slack() {
    as_root_if_possible!("a_thread_that_is_not_bound_may_use_every_cpu_and_has_no_timer_slack");
    let (child, task) = started(&["-p", "0", "--unbound"]);
    assert_eq!(affinity(task.tid), affinity(0));
    assert_eq!(task.policy, Policy::Normal);
    match std::fs::read_to_string(format!("/proc/{}/timerslack_ns", task.tid)) {
        Ok(slack) => assert_eq!(slack.trim(), "1"),
        Err(error) => skipped("timer slack", &format!("needs CAP_SYS_NICE: {error}")),
    }
    end(child);
    let (child, task) = started(&["-p", "0"]);
    assert_eq!(affinity(task.tid).unwrap().len(), 1);
    end(child);
}

#[test]
fn normal_threads_have_the_nice_value_asked_for() {
    // The one that every user may choose, whatever the nice value of the tests.
    let (child, task) = started(&["--policy", "normal", "--nice", "19"]);
    assert_eq!((task.policy, task.nice), (Policy::Normal, 19));
    end(child);
}

#[test]
fn ext_threads_are_measured_or_refused_in_a_sentence() {
    let words = [
        "latency", "--policy", "ext", "--nice", "5", "-l", "20", "--json", "-",
    ];
    let output = measure(&words).output().unwrap();
    let said = said(&output);
    if output.status.code() == Some(1) {
        for part in [
            "SCHED_EXT, nice 5",
            "CONFIG_SCHED_CLASS_EXT",
            "--policy normal",
        ] {
            assert!(said.contains(part), "{said}");
        }
        return;
    }
    assert!(output.status.success(), "{said}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let options = &document["setup"]["options"];
    assert_eq!(
        (&options["policy"], &options["nice"]),
        (&"ext".into(), &5.into())
    );
    assert_eq!(series(&document, "latency")[0]["count"], 20);
    let found = document["audit"].as_array().unwrap();
    let alone = found.iter().any(|one| one["id"] == "policy");
    let is_on = !document["machine"]["scheduler"].is_null();
    assert!(alone != is_on, "{said}");
}
