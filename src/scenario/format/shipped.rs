// SPDX-License-Identifier: GPL-2.0-only
//! The scenarios below `lab/scenario`: each is read, and is what it says.

use super::{NoteKind, Reading, read};
use crate::model::*;
use std::collections::BTreeMap;
use std::path::Path;

fn all() -> BTreeMap<String, Reading> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/scenario");
    let files = std::fs::read_dir(folder).unwrap();
    let readings = files.map(|file| {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let reading = read(&text, None, &name).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, reading)
    });
    readings.collect()
}

#[test]
fn each_is_read_without_a_doubt_and_ends() {
    let all = all();
    assert!(all.len() >= 13, "{}", all.len());
    for (name, reading) in &all {
        let doubts = reading.notes.iter().filter(|it| it.kind == NoteKind::Doubt);
        assert_eq!(doubts.count(), 0, "{name}: {:?}", reading.notes);
        let scenario = &reading.scenario;
        assert!(scenario.ends(), "{name}");
        let rt_cpus = &scenario.machine.rt_cpus;
        assert!(!rt_cpus.is_empty(), "{name}");
        // rt-app's files have no machine.
        let has_machine = scenario.machine.cpus.is_some();
        assert!(has_machine || name.ends_with(".json"), "{name}");
        let classes = scenario
            .tasks
            .iter()
            .map(|task| task.class(&scenario.machine));
        assert!(
            classes.into_iter().all(|class| class != Class::Unbound),
            "{name}"
        );
    }
}

/// User work and sleeps of a task, ns.
fn times(task: &Task) -> (u64, u64) {
    let mut cursor = task.program.start();
    let mut times = (0, 0);
    while let Some(op) = cursor.advance(&task.program) {
        match op {
            Op::Compute(Work::Ns(ns)) => times.0 += ns,
            Op::Sleep { ns } => times.1 += ns,
            other => panic!("{other:?}"),
        }
    }
    times
}

#[test]
fn the_paper_s_scenario_is_13_and_3_tasks_of_90_per_cent() {
    let all = all();
    for (name, linux_s) in [("paper.lb", 43.0), ("paper-short.lb", 0.43)] {
        let scenario = &all[name].scenario;
        let of = |class| {
            let tasks = scenario.tasks.iter();
            tasks.filter(move |task| task.class(&scenario.machine) == class)
        };
        assert_eq!(
            (of(Class::Linux).count(), of(Class::Rt0).count()),
            (13, 3),
            "{name}"
        );
        for task in of(Class::Linux) {
            assert_eq!(times(task).0 as f64 / 1e9, linux_s, "{name}");
        }
        for task in of(Class::Rt0) {
            let (work, sleep) = times(task);
            let share = work as f64 / (work + sleep) as f64;
            assert!((0.89..0.95).contains(&share), "{name}: {share}");
        }
    }
}
