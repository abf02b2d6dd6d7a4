// SPDX-License-Identifier: GPL-2.0-only
//! Published bugs of schedulers: each is a scenario in which artis has it once the rule that
//! prevents it is taken out of the policy, and has not with the rule.
//!
//! Sources: Lozi and others, "The Linux Scheduler: a Decade of Wasted Cores", EuroSys 2016 (CPUs
//! that idle while tasks wait at others, wakeups on busy CPUs); the kernel's bound of real-time
//! tasks (`sched_rt_runtime_us`) and its deadline servers for classes that real time starves; the
//! credit of sleepers in its fair class (`place_entity()`), which was bounded again and again, last
//! as EEVDF's lag.

use super::*;
use crate::layout::Part;
use artis_bpf_build::rules::policy;
use std::path::Path;

/// The policy with something in the place of something else, which is in it once.
fn changed(changes: &[(&str, &str)]) -> String {
    let mut text = policy(Path::new("../sched/bpf"));
    for (from, to) in changes {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text = text.replace(from, to);
    }
    text
}

fn rt1(name: &str) -> Task {
    with(hog(name), Policy::Ext { nice: 0 }, "")
}

fn longest_wait_ms(outcome: &Outcome, name: &str) -> u64 {
    let of_kind = |task: &&crate::result::TaskOutcome| {
        task.name == name || task.name.starts_with(&format!("{name}/"))
    };
    let waits = outcome.tasks.iter().filter(of_kind);
    waits.map(|task| task.waited_ns_max / MS).max().unwrap()
}

/// Idle time of some CPUs, in ms.
fn idle_ms(outcome: &Outcome, cpus: std::ops::Range<usize>) -> u64 {
    outcome.cpu_time[cpus]
        .iter()
        .map(|cpu| cpu.idle_ns / MS)
        .sum()
}

/// It works for that time, and then computes for ever.
fn from(name: &str, first: Vec<Op>) -> Task {
    let mut steps: Vec<Step> = first.into_iter().map(Step::Do).collect();
    steps.push(Step::Loop {
        times: None,
        body: vec![Step::Do(compute(10 * MS))],
    });
    Task::new(name, Program::new(steps))
}

/// A real-time task that sleeps, and then keeps its CPU.
fn runaway(after_ns: u64) -> Task {
    let task = from("runaway", vec![Op::Sleep { ns: after_ns }]);
    with(task, Policy::Fifo { priority: 50 }, "1")
}

#[test]
fn real_time_tasks_that_never_sleep_starve_others() {
    let set = scenario(vec![rt1("a"), rt1("b"), rt1("c"), hog("hog")]);
    let setup = || setup(Scheduler::Artis, 2, "");
    let rule = "others && artis_others_turn(turn, now_ns) ? ";
    let without = run_with_policy(&changed(&[(rule, "false ? ")]), &set, setup());
    let good = run(&set, setup());
    let (good, without) = (share(&good, "hog"), share(&without, "hog"));
    // A twentieth of the CPU for which it waits, of which ticks leave some.
    assert!((0.03..0.1).contains(&good), "{good}");
    assert!(without < good / 3.0, "{without} {good}");
}

#[test]
fn a_task_is_stranded_behind_a_class_above() {
    // It was lent the RT CPU when real time took it for good, and another CPU idles.
    let short = Task::new("short", Program::new(vec![Step::Do(compute(100 * MS))]));
    let set = scenario(vec![hog("lent"), short, runaway(50 * MS)]);
    let setup = || setup(Scheduler::Artis, 2, "1");
    let rule = "	return displaced_ns && (s64)(now_ns - displaced_ns) >= (s64)ARTIS_HAND_BACK_NS;";
    let without = run_with_policy(&changed(&[(rule, "	return false;")]), &set, setup());
    let good = run(&set, setup());
    assert!(
        longest_wait_ms(&good, "lent").max(longest_wait_ms(&good, "short")) < 100,
        "{good:?}"
    );
    assert!(idle_ms(&good, 0..1) < 10, "{good:?}");
    assert!(idle_ms(&without, 0..1) > 500, "{without:?}");
}

#[test]
fn idle_cpus_of_another_cache_leave_work_undone() {
    // All began at one cache, and may use the other since.
    let bound = |cpus: &str| {
        let change = artis_scenario::model::Change {
            cpus: Some(cpus.parse().unwrap()),
            ..Default::default()
        };
        Op::Become(Box::new(change))
    };
    let mut task = from("task", vec![compute(20 * MS), bound("0-3")]);
    task.cpus = Some("0-1".parse().unwrap());
    task.count = 6;
    let set = scenario(vec![task]);
    let setup = || {
        let mut setup = setup(Scheduler::Artis, 4, "");
        let part = |cpus: &str, near| Part {
            cpus: cpus.parse().unwrap(),
            near,
        };
        setup.layout.parts = vec![part("0-1", vec![0, 1]), part("2-3", vec![1, 0])];
        setup
    };
    let rule = "		case 6: return ARTIS_STEP_FAR;\n";
    let without = run_with_policy(
        &changed(&[(rule, "		case 6: return ARTIS_STEP_GO_ON;\n")]),
        &set,
        setup(),
    );
    let good = run(&set, setup());
    assert!(idle_ms(&good, 2..4) < 200, "{good:?}");
    assert!(
        idle_ms(&without, 2..4) > 2 * idle_ms(&good, 2..4) + 500,
        "{without:?}"
    );
}

#[test]
fn who_slept_long_takes_the_cpu_for_as_long() {
    let set = scenario(vec![
        hog("hog"),
        from("sleeper", vec![Op::Sleep { ns: 3 * SECOND }]),
    ]);
    let setup = || Setup {
        end_ns: 6 * SECOND,
        ..setup(Scheduler::Artis, 1, "")
    };
    // The sleeper stands where it stood when it fell asleep, however long ago.
    let without = changed(&[
        (
            "	u64 earliest = level - artis_distance(credit_ns, at->weight, at->all);",
            "	u64 earliest = vtime - (credit_ns & 0);",
        ),
        (
            "		vtime = artis_vtime_later(vtime, lag > 0 ? level - lag : level);\n",
            "",
        ),
        (
            "	if (artis_vtime_before(here, level - ARTIS_SERVED_APART_NS))\n",
            "	if (0)\n",
        ),
    ]);
    let without = run_with_policy(&without, &set, setup());
    let good = run(&set, setup());
    assert!(
        longest_wait_ms(&good, "hog") < 50,
        "{}",
        longest_wait_ms(&good, "hog")
    );
    assert!(
        longest_wait_ms(&without, "hog") > 500,
        "{}",
        longest_wait_ms(&without, "hog")
    );
}

#[test]
fn a_queue_that_is_not_compared_starves() {
    // Who computes waits for both sides, and others who call the kernel for one of them. Then real
    // time keeps the RT CPU.
    let callers = (0..3).map(|nth| caller(&format!("caller {nth}"), MS / 10, MS / 20));
    let mut tasks: Vec<Task> = callers.collect();
    tasks.extend([hog("hog"), hog("other"), runaway(400 * MS)]);
    let set = scenario(tasks);
    let setup = || Setup {
        end_ns: 3 * SECOND,
        ..lab(Scheduler::Artis, 2, "1")
    };
    let rule = "	if (artis_is_first(heads->both, heads->both_deadline, queue, deadline)) {";
    let without = changed(&[(rule, "	if (false) {")]);
    let without = run_with_policy(&without, &set, setup());
    let good = run(&set, setup());
    let (good, without) = (
        longest_wait_ms(&good, "hog"),
        longest_wait_ms(&without, "hog"),
    );
    assert!(good < 400, "{good}");
    assert!(without > 3 * good, "{without} {good}");
}

#[test]
fn a_woken_task_waits_behind_a_slice_it_could_displace() {
    // It is owed its share. Its period is none of ticks, at which who runs makes way in any case.
    let set = scenario(vec![
        hog("hog"),
        hog("other"),
        periodic("short", 2, 21 * MS + MS / 3, MS / 2),
    ]);
    let setup = || setup(Scheduler::Artis, 1, "");
    let rule = "	return rank != ARTIS_RANK_NEXT || !artis_is_protected(running, now_ns, true);";
    let never = "	return rank != ARTIS_RANK_NEXT;";
    let without = run_with_policy(&changed(&[(rule, never)]), &set, setup());
    let good = run(&set, setup());
    let worst = |outcome: &Outcome| outcome.tasks[2].wakeup_latency_ns_max;
    assert!(worst(&good) <= MS, "{}", worst(&good));
    assert!(
        worst(&without) >= 2 * worst(&good).max(MS),
        "{}",
        worst(&without)
    );
}
