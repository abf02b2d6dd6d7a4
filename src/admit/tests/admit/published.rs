// SPDX-License-Identifier: GPL-2.0-only
//! Published sets and their published answers, each with its source. A unit of a set is a
//! microsecond here.

use artis_admit::analysis::Fits;
use artis_admit::model::{Held, Lock, Policy, Protocol, Set, Task};
use artis_admit::{Admission, Verdict, admit};

const US: u64 = 1000;

/// Tasks of execution time, period and deadline.
fn set(policy: Policy, tasks: &[(u64, u64, u64)]) -> Set {
    let tasks = tasks
        .iter()
        .enumerate()
        .map(|(at, (execution, period, deadline))| Task {
            deadline_ns: deadline * US,
            ..Task::new(&format!("t{at}"), execution * US, period * US)
        });
    Set::new(policy, tasks.collect())
}

/// With deadlines at the ends of periods.
fn implicit(policy: Policy, tasks: &[(u64, u64)]) -> Set {
    let all: Vec<_> = tasks.iter().map(|(c, t)| (*c, *t, *t)).collect();
    set(policy, &all)
}

/// The bounds in the order of the set's tasks.
fn bounds_us(answer: &Admission) -> Vec<u64> {
    let mut tasks: Vec<_> = answer.cpus.iter().flat_map(|cpu| &cpu.tasks).collect();
    tasks.sort_by_key(|task| task.name[1..].parse::<u32>().unwrap());
    tasks
        .iter()
        .map(|task| task.bound_ns.unwrap() / US)
        .collect()
}

#[track_caller]
fn verdict(set: &Set, expected: Verdict) -> Admission {
    let answer = admit(set);
    assert_eq!(answer.verdict, expected, "{answer:#?}");
    for task in answer.cpus.iter().flat_map(|cpu| &cpu.tasks) {
        if let (Some(parts), Some(bound)) = (task.parts, task.bound_ns) {
            assert_eq!(parts.sum(), bound as i64, "{task:?}");
        }
    }
    answer
}

/// C. Liu, J. Layland, 1973, section 4: C = 1 and 1 of T = 2 and 5, and C2 may grow to 2.
#[test]
fn liu_and_layland() {
    let tasks = [(1, 2), (1, 5)];
    let answer = verdict(&implicit(Policy::Rm, &tasks), Verdict::Schedulable);
    assert_eq!(bounds_us(&answer), [1, 2]);
    verdict(
        &implicit(Policy::Rm, &[(1, 2), (2, 5)]),
        Verdict::Schedulable,
    );
    // With the longer period first, C2 of 1 is already all.
    let mut other = implicit(Policy::Given, &tasks);
    other.tasks[0].priority = Some(1);
    other.tasks[1].priority = Some(2);
    verdict(&other, Verdict::Schedulable);
    other.tasks[1] = Task {
        priority: Some(2),
        ..Task::new("t1", 2 * US, 5 * US)
    };
    verdict(&other, Verdict::Refused);
    // EDF takes all of the CPU.
    verdict(
        &implicit(Policy::Edf, &[(1, 2), (1, 3), (1, 6)]),
        Verdict::Schedulable,
    );
    verdict(
        &implicit(Policy::Edf, &[(1, 2), (1, 3), (2, 11)]),
        Verdict::Refused,
    );
}

/// J. Lehoczky, RTSS 1990, table 1: C = 26 and 62, T = 70 and 100; the worst of the second is its
/// fifth job of seven, 118.
#[test]
fn lehoczky_arbitrary_deadlines() {
    let of = |deadline| set(Policy::Rm, &[(26, 70, 70), (62, 100, deadline)]);
    let answer = verdict(&of(118), Verdict::Schedulable);
    assert_eq!(bounds_us(&answer), [26, 118]);
    let worst = answer.cpus[0].tasks[1].parts.unwrap();
    assert_eq!((worst.before_ns, worst.earlier_ns), (-400_000, 248_000));
    verdict(&of(117), Verdict::Refused);
}

/// G. Buttazzo, "Hard Real-Time Computing Systems", 3rd edition, section 4.3 (RM fails at a
/// utilisation of 0.97, EDF does not) and section 4.5.2 (response times of DM).
#[test]
fn buttazzo() {
    let tasks = [(2, 5), (4, 7)];
    verdict(&implicit(Policy::Rm, &tasks), Verdict::Refused);
    verdict(&implicit(Policy::Edf, &tasks), Verdict::Schedulable);
    let dm = set(Policy::Dm, &[(1, 4, 3), (1, 5, 4), (2, 6, 5), (1, 11, 10)]);
    let answer = verdict(&dm, Verdict::Schedulable);
    assert_eq!(bounds_us(&answer), [1, 2, 4, 10]);
}

/// SchedCAT, tests/fp.py: UniprocessorRTA and UniprocessorSelfSuspensions without suspension.
#[test]
fn schedcat_fixed_priorities() {
    let answer = verdict(
        &implicit(Policy::Rm, &[(1, 4), (1, 5), (3, 9), (3, 18)]),
        Verdict::Schedulable,
    );
    assert_eq!(bounds_us(&answer), [1, 2, 7, 18]);
    let answer = verdict(
        &implicit(Policy::Rm, &[(1, 2), (5, 20), (1, 20)]),
        Verdict::Schedulable,
    );
    assert_eq!(bounds_us(&answer), [1, 10, 12]);
}

/// SchedCAT, tests/edf.py: Test_QPA, and the same with a task that is too much.
#[test]
fn schedcat_edf() {
    let mut tasks = vec![
        (6000, 31_000, 18_000),
        (2000, 9800, 9000),
        (1000, 17_000, 12_000),
        (90, 4200, 3000),
        (8, 96, 78),
        (2, 12, 16),
        (10, 280, 120),
        (26, 660, 160),
    ];
    verdict(&set(Policy::Edf, &tasks), Verdict::Schedulable);
    tasks.push((10, 100, 15));
    verdict(&set(Policy::Edf, &tasks), Verdict::Refused);
}

/// N. Audsley and others, "Applying new scheduling theory to static priority pre-emptive
/// scheduling", 1993, table 3: cost, period, deadline, blocking by a lower task, jitter, response.
#[test]
fn audsley_with_blocking_and_jitter() {
    let rows: [(u64, u64, u64, u64, u64, u64); 18] = [
        (51, 1000, 1000, 0, 0, 51),
        (3000, 2_000_000, 5000, 300, 0, 3504),
        (2000, 25_000, 25_000, 600, 0, 5906),
        (5000, 25_000, 25_000, 900, 0, 11_512),
        (1000, 40_000, 40_000, 1350, 0, 13_064),
        (3000, 50_000, 50_000, 1350, 0, 16_217),
        (5000, 50_000, 50_000, 750, 0, 20_821),
        (8000, 59_000, 59_000, 750, 0, 36_637),
        (9000, 80_000, 80_000, 1350, 0, 47_798),
        (2000, 80_000, 80_000, 450, 0, 48_949),
        (5000, 100_000, 100_000, 1050, 0, 99_150),
        (1000, 200_000, 200_000, 450, 1000, 99_550),
        (3000, 200_000, 200_000, 450, 0, 140_641),
        (1000, 200_000, 200_000, 450, 0, 141_692),
        (1000, 200_000, 200_000, 1350, 0, 143_694),
        (3000, 1_000_000, 1_000_000, 0, 0, 145_446),
        (1000, 1_000_000, 1_000_000, 0, 0, 146_497),
        (1000, 1_000_000, 1_000_000, 0, 0, 147_548),
    ];
    // Each row alone is judged, with its blocking as a section of the kernel.
    for (at, (_, _, _, blocking, jitter, response)) in rows.iter().enumerate() {
        let all: Vec<_> = rows.iter().map(|row| (row.0, row.1, row.2)).collect();
        let mut set = set(Policy::Given, &all);
        for (place, task) in set.tasks.iter_mut().enumerate() {
            task.priority = Some(50 - place as u8);
            task.jitter_ns = rows[place].4 * US;
        }
        set.platform.section_ns = blocking * US;
        let answer = admit(&set);
        assert_eq!(bounds_us(&answer)[at], response + jitter, "row {at}");
    }
}

/// np-schedulability-analysis, examples/fig1a.csv (M. Nasri, B. Brandenburg, "An exact and
/// sustainable analysis of non-preemptive scheduling", RTSS 2017, figure 1): EDF without
/// preemption misses.
#[test]
fn nasri_fig1a() {
    let tasks = [(2, 10), (8, 30), (13, 60)];
    let mut set = implicit(Policy::Edf, &tasks);
    verdict(&set, Verdict::Schedulable);
    set.is_preemptive = false;
    verdict(&set, Verdict::Refused);
    set.policy = Policy::Rm;
    verdict(&set, Verdict::Refused);
}

/// R. Davis and others, "Controller Area Network (CAN) schedulability analysis", 2007, table 1:
/// without preemption the second job of the lowest message is late, 3.5 ms of 3.25 ms.
#[test]
fn davis_can() {
    let mut set = set(
        Policy::Given,
        &[(1000, 2500, 2500), (1000, 3500, 3250), (1000, 3500, 3250)],
    );
    set.is_preemptive = false;
    for (at, task) in set.tasks.iter_mut().enumerate() {
        task.priority = Some(30 - at as u8);
    }
    let answer = verdict(&set, Verdict::Refused);
    assert_eq!(bounds_us(&answer), [2000, 3000, 3500]);
}

/// N. Audsley, 1991: priorities by deadlines are not the best with jitter; the search finds some.
#[test]
fn audsley_search() {
    let mut set = set(Policy::Dm, &[(20, 100, 60), (30, 200, 62)]);
    set.tasks[1].jitter_ns = 30 * US;
    verdict(&set, Verdict::Refused);
    set.policy = Policy::Given;
    let answer = verdict(&set, Verdict::Schedulable);
    assert_eq!(answer.cpus[0].tasks[0].name, "t1");
}

/// L. Sha, R. Rajkumar, J. Lehoczky, 1990: with inheritance each lower task holds up once, with a
/// ceiling one alone.
#[test]
fn locks() {
    let mut set = implicit(Policy::Rm, &[(10, 100), (10, 200), (10, 400)]);
    for name in ["a", "b"] {
        set.locks.push(Lock {
            name: name.to_owned(),
            protocol: Protocol::Inheritance,
        });
    }
    let held = |lock, us: u64| Held {
        lock,
        time_ns: us * US,
    };
    set.tasks[0].locks = vec![held(0, 1), held(1, 1)];
    set.tasks[1].locks = vec![held(0, 4)];
    set.tasks[2].locks = vec![held(1, 5)];
    let answer = verdict(&set, Verdict::Schedulable);
    assert_eq!(bounds_us(&answer), [19, 25, 30]);
    for lock in &mut set.locks {
        lock.protocol = Protocol::Ceiling;
    }
    let answer = verdict(&set, Verdict::Schedulable);
    assert_eq!(bounds_us(&answer), [15, 25, 30]);
    set.locks[0].protocol = Protocol::None;
    let answer = verdict(&set, Verdict::Unknown);
    assert!(answer.settle[0].contains("PROTOCOL") || answer.settle[0].contains("protocol"));
}

/// Up to twelve tasks are placed in all ways: first fit, largest first, needs a third CPU for
/// 0.5, 0.4, 0.3, 0.3, 0.25, 0.25 (0.5 + 0.4, then 0.3 + 0.3 + 0.25, then 0.25).
#[test]
fn places_that_first_fit_does_not_find() {
    let parts = [50, 40, 30, 30, 25, 25];
    let tasks: Vec<_> = parts.iter().map(|part| (*part, 100)).collect();
    let mut set = implicit(Policy::Edf, &tasks);
    set.cpus = vec![1, 2];
    let answer = verdict(&set, Verdict::Schedulable);
    assert_eq!(answer.cpus.len(), 2);
    // Nothing is left of two CPUs, and one more is too much.
    set.tasks.push(Task::new("t6", US, 100 * US));
    verdict(&set, Verdict::Refused);
}

#[test]
fn a_whole_cpu_and_a_hundred_thousand_tasks_get_an_answer() {
    let begun = std::time::Instant::now();
    // Exactly 1.0 with periods that share nothing.
    let primes = [(1009, 3 * 1009), (1013, 3 * 1013), (1019, 3 * 1019)];
    verdict(&implicit(Policy::Edf, &primes), Verdict::Schedulable);
    let answer = admit(&implicit(Policy::Rm, &primes));
    assert_ne!(answer.verdict, Verdict::Unknown);
    for policy in [Policy::Rm, Policy::Edf] {
        let tasks = (0..100_000_u64).map(|at| {
            let period = 1_000_000_000 + 7919 * at;
            Task::new(&format!("t{at}"), period / 110_000, period)
        });
        let answer = admit(&Set::new(policy, tasks.collect()));
        assert_ne!(answer.verdict, Verdict::Refused, "{}", answer.because);
        let all = answer.cpus[0].tasks.iter();
        let meets = all.filter(|task| task.meets != Fits::No).count();
        assert_eq!(meets, 100_000);
        println!(
            "{policy:?}: {:?} after {:?}",
            answer.verdict,
            begun.elapsed()
        );
    }
}
