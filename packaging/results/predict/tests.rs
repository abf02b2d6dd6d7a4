// SPDX-License-Identifier: GPL-2.0-only
//! What is held, what is missed, and what is decided rightly.

use super::*;

fn figure(criterion: Criterion, lab_ns: u64, simulated_ns: u64) -> Figure {
    Figure {
        criterion,
        of: "it".to_owned(),
        lab_ns: Some(lab_ns),
        simulated_ns: Some(simulated_ns),
    }
}

fn task(name: &str, is_forked: bool, cpu_ns: u64) -> TaskOutcome {
    TaskOutcome {
        name: name.to_owned(),
        is_forked,
        cpu_ns,
        ..TaskOutcome::default()
    }
}

fn simulated(name: &str, class: &str, cpu_ns: u64) -> SimulatedTask {
    SimulatedTask {
        name: name.to_owned(),
        class: class.to_owned(),
        wall_ns: 100,
        has_ended: false,
        cpu_ns,
        wakeup_latency_ns_max: 40,
    }
}

fn both(tasks: Vec<TaskOutcome>, same: Vec<SimulatedTask>) -> Both {
    Both {
        lab: Lab {
            wall_ns: 100,
            ended: Ended::Duration,
            step_ns: 1.0,
            kernel_bytes_per_ns: 1.0,
            start_late_ns_max: 0,
            tasks,
        },
        simulated: Simulated {
            simulated_ns: 100,
            tasks: same,
        },
    }
}

#[test]
fn a_figure_is_held_up_to_its_bound_on_both_sides() {
    for (criterion, low, high) in [
        (Criterion::Cpu, 950, 1_050),
        (Criterion::Wall, 900, 1_100),
        (Criterion::Rt0Worst, 750, 1_250),
    ] {
        assert!(figure(criterion, 1_000, low).is_held());
        assert!(figure(criterion, 1_000, high).is_held());
        assert!(!figure(criterion, 1_000, low - 1).is_held());
        assert!(!figure(criterion, 1_000, high + 1).is_held());
    }
    assert!(figure(Criterion::Cpu, 0, 0).is_held());
    assert!(!figure(Criterion::Cpu, 0, 1).is_held());
    let none = Figure {
        simulated_ns: None,
        ..figure(Criterion::Wall, 1, 1)
    };
    assert!(!none.is_held());
}

#[test]
fn a_pair_is_right_wrong_or_too_close_to_call() {
    let right = |lab, simulated| {
        let of = String::new();
        Pair { of, lab, simulated }.is_right()
    };
    assert_eq!(right([100.0, 50.0], [80.0, 79.0]), Some(true));
    assert_eq!(right([50.0, 100.0], [79.0, 80.0]), Some(true));
    assert_eq!(right([100.0, 50.0], [79.0, 80.0]), Some(false));
    assert_eq!(right([100.0, 50.0], [80.0, 80.0]), Some(false));
    assert_eq!(right([100.0, 99.0], [80.0, 79.0]), None);
}

#[test]
fn tasks_are_found_by_number_and_forked_ones_together() {
    let lab = [
        task("a/1", false, 1),
        task("a/2", false, 2),
        task("b", true, 7),
    ];
    let same = [
        simulated("a/0", "Linux", 10),
        simulated("a/1", "Linux", 20),
        simulated("b", "Linux", 3),
        simulated("b/1", "Linux", 4),
    ];
    let sums: Vec<(u64, u64)> = partners(&lab, &same)
        .iter()
        .map(|(task, same)| (task.cpu_ns, same.iter().map(|one| one.cpu_ns).sum()))
        .collect();
    assert_eq!(sums, [(1, 10), (2, 20), (7, 7)]);
}

#[test]
fn the_table_counts_what_is_held_and_names_the_worst() {
    let rt0 = |late| TaskOutcome {
        activations: 1,
        late_ns_max: late,
        ..task("rt", false, 100)
    };
    let same = || vec![simulated("rt", "RT0", 101), simulated("l", "Linux", 110)];
    let stock = both(vec![rt0(45), task("l", false, 100)], same());
    let artis = both(vec![rt0(90), task("l", false, 109)], same());
    let mut all = Prediction::default();
    all.add("s, stock", &stock);
    all.add("s, artis", &artis);
    all.decide("s", &stock, &artis);
    let (text, is_held) = all.table();
    assert!(!is_held);
    let has = |row: &str| assert!(text.contains(row), "{text}");
    has("| CPU time of a task, within 5 % | 3 of 4 | 10.0 % | s, stock, l |");
    has("| RT0's worst, within 25 % | 1 of 2 | 55.6 % | s, artis |");
    has("| which of stock and artis is better, 95 % | 0 of 2 | | s, RT0's worst |");
}
