// SPDX-License-Identifier: GPL-2.0-only
//! artis: what it promises, and that its policy alone decides.

use super::*;
use artis_bpf_build::rules::{policy, without_rules};
use std::path::Path;

fn rt0(timer: usize) -> Task {
    let work = periodic("rt0", timer, 2 * MS, MS / 2);
    with(work, Policy::Fifo { priority: 90 }, "1")
}

/// RT0 on the RT CPU of two, tasks that compute, and some that work in the kernel.
fn mixed() -> Scenario {
    scenario(vec![
        hog("hog"),
        hog("other"),
        caller("caller", MS, MS / 2),
        caller("short", MS / 10, MS / 50),
        periodic("sleeper", 4, 10 * MS, MS),
        rt0(5),
    ])
}

fn counter(outcome: &Outcome, name: &str) -> u64 {
    let found = outcome.counters.iter().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("no counter {name}")).1
}

#[test]
fn others_use_the_rt_cpu_and_rt0_does_not_feel_it() {
    let set = mixed();
    let isolated = run(&set, lab(Scheduler::Isolcpus, 2, "1"));
    let artis = run(&set, lab(Scheduler::Artis, 2, "1"));
    let stock = run(&set, lab(Scheduler::Stock, 2, "1"));
    let worst = |outcome: &Outcome| outcome.tasks[5].wakeup_latency_ns_max;
    // The calls of others: half a millisecond, of which a part cannot be preempted.
    assert!(
        worst(&stock) > 2 * worst(&isolated),
        "{} {}",
        worst(&stock),
        worst(&isolated)
    );
    assert!(
        worst(&artis) < worst(&stock),
        "{} {}",
        worst(&artis),
        worst(&stock)
    );
    let lent: u64 = artis.tasks[..5].iter().map(|task| task.cpu_rt_ns).sum();
    assert!(lent as f64 > 0.6 * SECOND as f64, "{lent}");
    let leaks = artis
        .counters
        .iter()
        .filter(|(name, _)| name.starts_with("leaks"));
    assert_eq!(leaks.map(|(_, count)| count).sum::<u64>(), 0);
    assert!(counter(&artis, "promotions") > 0 && counter(&artis, "displacements") > 100);
}

#[test]
fn who_enters_the_kernel_leaves_the_rt_cpu() {
    // It computes for long enough to be worth a move, and then calls.
    let set = scenario(vec![
        caller("one", 30 * MS, MS),
        caller("two", 30 * MS, MS),
        hog("hog"),
    ]);
    let outcome = run(&set, lab(Scheduler::Artis, 2, "1"));
    assert!(
        counter(&outcome, "entries_syscall") > 0,
        "{:?}",
        outcome.counters
    );
    assert_eq!(
        counter(&outcome, "entries_syscall"),
        counter(&outcome, "evictions_syscall")
    );
    assert_eq!(counter(&outcome, "leaks_syscall"), 0);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for scheduler in [Scheduler::Stock, Scheduler::Artis] {
        let text = || format!("{:?}", run(&mixed(), lab(scheduler, 4, "1,3")));
        assert_eq!(text(), text());
    }
}

#[test]
fn without_the_policys_rules_nobody_chooses() {
    let set = mixed();
    // Short: without rules each tick asks each queue.
    let short = || Setup {
        end_ns: 50 * MS,
        ..setup(Scheduler::Artis, 2, "1")
    };
    let with_rules = run(&set, short());
    let rules = policy(Path::new("../sched/bpf"));
    let without = run_with_policy(&without_rules(&rules), &set, short());
    // Real-time tasks are above the scheduler. All others are its own, and it answers 0.
    assert_eq!(without.tasks[5].cpu_ns, with_rules.tasks[5].cpu_ns);
    let others = |outcome: &Outcome| outcome.tasks[..5].iter().map(|it| it.cpu_ns).sum::<u64>();
    assert!(others(&with_rules) > 50 * MS, "{with_rules:?}");
    assert_eq!(others(&without), 0, "{without:?}");
}
