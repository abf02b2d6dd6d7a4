// SPDX-License-Identifier: GPL-2.0-only
//! The same schedules as SimSo (Chéramy, Hladik, Déplanche, 2014), where nothing costs anything:
//! 200 random sets. `data/jobs.py` made the values and says what they are.

use super::*;
use crate::Trace;

const VALUES: &str = include_str!("data/jobs.txt");

const US: u64 = 1000;
const LENGTH_NS: u64 = 60 * MS;

struct Row {
    period_ns: u64,
    work_ns: u64,
    cpu: String,
    ends_us: Vec<u64>,
}

fn row(text: &str) -> Row {
    let (numbers, ends) = text.split_once(':').unwrap();
    let numbers: Vec<&str> = numbers.split(',').collect();
    let number = |text: &str| text.parse::<u64>().unwrap();
    Row {
        period_ns: number(numbers[0]) * US,
        work_ns: number(numbers[1]) * US,
        cpu: numbers[2].replace('-', ""),
        ends_us: ends
            .split('+')
            .filter(|it| !it.is_empty())
            .map(number)
            .collect(),
    }
}

/// The priority of each, as the policy says.
fn policy(name: &str, rows: &[Row], nth: usize) -> Policy {
    let period_ns = rows[nth].period_ns;
    match name {
        "EDF" => Policy::Deadline {
            runtime_ns: rows[nth].work_ns,
            deadline_ns: period_ns,
            period_ns,
        },
        "RM" => {
            let shorter = rows.iter().filter(|row| row.period_ns < period_ns).count();
            Policy::Fifo {
                priority: 90 - shorter as u8,
            }
        }
        _ => Policy::Fifo {
            priority: 90 - nth as u8,
        },
    }
}

/// When the jobs of each task end, by what it ran.
fn ends(sim: &Sim<'_>, rows: &[Row]) -> Vec<Vec<u64>> {
    let mut ran = vec![0; rows.len()];
    let mut ends = vec![Vec::new(); rows.len()];
    for run in sim.trace.as_ref().unwrap().runs() {
        let task = run.task as usize;
        let (before, work) = (ran[task], rows[task].work_ns);
        ran[task] += run.to_ns - run.from_ns;
        for job in before / work + 1..=ran[task] / work {
            ends[task].push((run.from_ns + job * work - before) / US);
        }
    }
    ends
}

#[test]
fn jobs_end_when_simso_says() {
    for (number, line) in VALUES.lines().enumerate() {
        let mut words = line.split(' ');
        let (name, cpus) = (words.next().unwrap(), words.next().unwrap());
        let cpus: u32 = cpus.parse().unwrap();
        let rows: Vec<Row> = words.skip(1).map(row).collect();
        let task = |(nth, row): (usize, &Row)| {
            let task = periodic(&format!("t{nth}"), nth, row.period_ns, row.work_ns);
            with(task, policy(name, &rows, nth), &row.cpu)
        };
        let set = scenario(rows.iter().enumerate().map(task).collect());
        let setup = Setup {
            end_ns: LENGTH_NS,
            ..setup(Scheduler::Stock, cpus, "")
        };
        let mut sim = Sim::new(&set, setup).unwrap();
        sim.trace(Trace::new(cpus, usize::MAX));
        sim.run();
        for (nth, (found, row)) in ends(&sim, &rows).iter().zip(&rows).enumerate() {
            // A job may end in the very moment in which both stop.
            let within: Vec<u64> = found
                .iter()
                .copied()
                .filter(|at| at * US < LENGTH_NS)
                .collect();
            assert_eq!(
                within,
                row.ends_us,
                "set {}, task {nth}: {line}",
                number + 1
            );
        }
    }
}
