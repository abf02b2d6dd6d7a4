// SPDX-License-Identifier: GPL-2.0-only
//! EDF with restricted supply, jitter and sections, beside pyRTA 0.1.1, which computes what is
//! proved in PROSA: 1,000 random sets. `../data/pyrta.py` made the values and says what they are.

use artis_admit::analysis::cpu::{Cpu, Share};
use artis_admit::analysis::demand::dues;
use artis_admit::analysis::edf;
use artis_admit::analysis::stream::{Meter, Why};
use artis_admit::model::{Policy, Set, Task};

const VALUES: &str = include_str!("../data/pyrta.txt");

struct Row {
    /// Period, jitter, cost, section, deadline.
    task: [u64; 5],
    bound: Option<u64>,
}

fn numbers<const N: usize>(text: &str) -> [u64; N] {
    let all: Vec<u64> = text.split(',').map(|it| it.parse().unwrap()).collect();
    all.try_into().unwrap()
}

fn set(line: &str) -> (Option<Share>, Vec<Row>) {
    let mut words = line.split(' ');
    let [period_ns, budget_ns, delay_ns] = numbers(words.next().unwrap());
    let share = (period_ns > 0).then_some(Share {
        period_ns,
        budget_ns,
        delay_ns,
    });
    let rows = words.map(|word| {
        let (task, bound) = word.rsplit_once(',').unwrap();
        Row {
            task: numbers(task),
            bound: bound.parse().ok(),
        }
    });
    (share, rows.collect())
}

fn cpu(share: Option<Share>, rows: &[Row]) -> Cpu {
    let tasks = rows.iter().enumerate().map(|(at, row)| {
        let [period, _, cost, section, deadline] = row.task;
        Task {
            deadline_ns: deadline,
            // What others have begun they have begun a unit before.
            section_ns: section - 1,
            ..Task::new(&format!("t{at}"), cost, period)
        }
    });
    let set = Set::new(Policy::Edf, tasks.collect());
    let all: Vec<usize> = (0..rows.len()).collect();
    let mut cpu = Cpu::new(&set, 1, &all, &[]);
    for member in &mut cpu.members {
        // There a deadline counts from the release, which is late by the jitter.
        member.stream.jitter_ns = rows[member.task].task[1];
    }
    cpu.share = share;
    cpu
}

#[test]
fn bounds_are_those_of_pyrta() {
    let (mut same, mut tighter, mut looser, mut none) = (0, 0, 0, 0);
    for line in VALUES.lines() {
        let (share, rows) = set(line);
        let cpu = cpu(share, &rows);
        let dues = dues(&cpu);
        for member in &cpu.members {
            let meter = Meter::new(20_000_000);
            let found = edf::worst(&cpu, member, &dues, &meter, None);
            let expected = rows[member.task].bound;
            match (found.map(|job| job.response_ns()), expected) {
                (Ok(ours), Some(theirs)) if ours == theirs => same += 1,
                (Ok(ours), Some(theirs)) if ours < theirs => {
                    println!("{line}: task {}: {ours} of {theirs}", member.task);
                    tighter += 1;
                }
                (Ok(_), Some(_)) => looser += 1,
                (Err(Why::Endless | Why::Spent), None) => none += 1,
                (ours, theirs) => panic!("{line}: task {}: {ours:?}, {theirs:?}", member.task),
            }
        }
    }
    println!("{same} bounds are the same, {looser} of ours are larger, {tighter} are smaller");
    println!("{none} have no bound");
    assert_eq!(tighter, 0);
    assert!(looser * 100 <= same, "{looser} of {same}");
}
