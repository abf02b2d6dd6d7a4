// SPDX-License-Identifier: GPL-2.0-only
//! Interrupts as a table: how often they came, where, and who handles them.

use super::columns::Columns;
use super::columns::Side::{Left, Right};
use super::list_or_count;
use super::words::plain;
use artis_machine::CpuList;
use artis_machine::interrupts::{self, Interrupt, Table};
use artis_machine::tasks::Task;
use serde::Serialize;
use std::collections::BTreeMap;

/// An interrupt: how often it came, and what is known of it.
#[derive(Debug, Serialize)]
pub struct Line {
    /// The interrupt's number, or the kernel's name of one that belongs to no device.
    pub label: String,
    pub name: String,
    /// Interrupts per second, on the CPUs that got any.
    pub per_second: BTreeMap<u32, f64>,
    /// CPUs that it may go to. None for an interrupt of no device, as are the next three.
    pub affinity: Option<CpuList>,
    /// CPUs that it goes to.
    pub effective: Option<CpuList>,
    /// Whether the kernel chooses its CPUs; none where the kernel does not say.
    pub managed: Option<bool>,
    /// Whether its affinity can be changed, as far as the kernel says.
    pub movable: Option<bool>,
    pub threads: Vec<Handler>,
}

/// A thread that handles an interrupt.
#[derive(Debug, Serialize)]
pub struct Handler {
    pub tid: i32,
    pub priority: u32,
}

/// The interrupts of `after`, counted since `before`, `seconds` ago.
pub fn lines(
    before: &Table,
    after: &Table,
    seconds: f64,
    devices: Vec<Interrupt>,
    tasks: &[Task],
) -> Vec<Line> {
    let mut devices: BTreeMap<String, Interrupt> = devices
        .into_iter()
        .map(|one| (one.number.to_string(), one))
        .collect();
    let rates = interrupts::since(before, after);
    let line = |(counts, came): (&interrupts::Counts, BTreeMap<u32, u64>)| {
        let device = devices.remove(&counts.label);
        let number = device.as_ref().map(|one| one.number);
        let handles = |task: &&Task| number.is_some() && interrupts::handled_by(task) == number;
        let threads = tasks.iter().filter(handles).map(|task| Handler {
            tid: task.tid,
            priority: task.priority,
        });
        let per_second = came.into_iter().filter(|(_, count)| *count > 0);
        Line {
            label: counts.label.clone(),
            per_second: per_second
                .map(|(cpu, count)| (cpu, count as f64 / seconds))
                .collect(),
            threads: threads.collect(),
            affinity: device.as_ref().and_then(|one| one.affinity.clone()),
            effective: device.as_ref().and_then(|one| one.effective.clone()),
            movable: device.as_ref().map(|one| one.movable),
            managed: device.as_ref().and_then(|one| one.managed),
            name: device.map_or_else(|| counts.description.clone(), |one| one.name),
        }
    };
    rates.into_iter().map(line).collect()
}

/// What the sign of life says: the most frequent so far.
pub fn so_far(before: &Table, now: &Table) -> String {
    let counted = interrupts::since(before, now).into_iter();
    let sums = counted.map(|(line, came)| (came.values().sum::<u64>(), &line.label));
    let most = sums.max_by_key(|(sum, _)| *sum);
    most.map_or_else(String::new, |(sum, label)| {
        format!("most often {label}, {sum} times")
    })
}

/// A line for each interrupt, and one for each CPU; they were counted for so many seconds.
/// No line is longer than `width` columns.
pub fn in_words(interrupts: &[Line], seconds: f64, width: usize) -> String {
    let mut table = Columns::new([
        ("irq", Right),
        ("a second", Right),
        ("busiest CPUs", Left),
        ("may go to", Left),
        ("goes to", Left),
        ("thread", Right),
        ("name", Left),
    ]);
    let is_device = |line: &Line| line.affinity.is_some();
    for line in interrupts {
        // An interrupt of no device is listed only when some arrived.
        if !is_device(line) && line.per_second.is_empty() {
            continue;
        }
        // The sum of nothing would be printed as -0.0.
        let rate = line.per_second.values().fold(0.0, |sum, rate| sum + rate);
        let priority = line.threads.iter().map(|one| one.priority).max();
        let fixed = match (line.managed, line.movable) {
            (Some(true), _) => " (managed)",
            (_, Some(false)) => " (fixed)",
            _ => "",
        };
        let name = plain(&line.name);
        table.push([
            plain(&line.label),
            format!("{rate:.1}"),
            busiest(&line.per_second),
            cpus(&line.affinity, 10),
            cpus(&line.effective, 9),
            priority.map_or_else(String::new, |priority| format!("FIFO {priority}")),
            format!("{name}{fixed}"),
        ]);
    }
    let mut text = table.text(width);
    text += &format!(
        "\n{:>5} {:>12} {:>14}\n",
        "CPU", "devices/s", "kernel's own/s"
    );
    let mut sums: BTreeMap<u32, [f64; 2]> = BTreeMap::new();
    for line in interrupts {
        for (cpu, rate) in &line.per_second {
            sums.entry(*cpu).or_default()[usize::from(!is_device(line))] += rate;
        }
    }
    for (cpu, [devices, own]) in sums {
        text += &format!("{cpu:>5} {devices:>12.1} {own:>14.1}\n");
    }
    text + &format!("counted for {seconds:.1} s\n")
}

fn cpus(list: &Option<CpuList>, width: usize) -> String {
    let list = list.as_ref();
    list.map_or_else(String::new, |cpus| list_or_count(cpus, width))
}

/// The two CPUs where most arrive, and how often.
fn busiest(per_second: &BTreeMap<u32, f64>) -> String {
    let mut all: Vec<(&u32, &f64)> = per_second.iter().collect();
    all.sort_by(|one, other| other.1.total_cmp(one.1));
    let words = all
        .iter()
        .take(2)
        .map(|(cpu, rate)| format!("{cpu}: {rate:.0}"));
    let more = if all.len() > 2 { ", ..." } else { "" };
    words.collect::<Vec<_>>().join(", ") + more
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_machine::interrupts::Counts;

    fn table(device: [u64; 2], timer: [u64; 2]) -> Table {
        let line = |label: &str, counts: [u64; 2], description: &str| Counts {
            label: label.to_owned(),
            counts: counts.to_vec(),
            description: description.to_owned(),
        };
        Table {
            cpus: vec![0, 4000],
            lines: vec![
                line("24", device, "PCI-MSIX 1-edge"),
                line("LOC", timer, "Local timer interrupts"),
                line("TRM", [0, 0], "Thermal event interrupts"),
                line("25", [7, 7], "PCI-MSI 2-edge"),
            ],
        }
    }

    fn two_seconds() -> Vec<Line> {
        let silent = Interrupt {
            number: 25,
            name: "silent".to_owned(),
            seen_on: "0".parse().unwrap(),
            affinity: Some("0".parse().unwrap()),
            effective: None,
            managed: None,
            movable: false,
        };
        let device = Interrupt {
            number: 24,
            name: "a device with a very long name and a b\x1b[2J".to_owned(),
            seen_on: "0".parse().unwrap(),
            affinity: Some("0,2,4,6,8,4000".parse().unwrap()),
            effective: Some("0".parse().unwrap()),
            managed: Some(true),
            movable: false,
        };
        let before = table([10, 0], [100, 100]);
        let after = table([2010, 6], [350, 100]);
        lines(&before, &after, 2.0, vec![device, silent], &[])
    }

    #[test]
    fn rates_are_of_one_second() {
        let interrupts = two_seconds();
        let rates = &interrupts[0].per_second;
        assert_eq!(*rates, BTreeMap::from([(0, 1000.0), (4000, 3.0)]));
        assert!(interrupts[2].per_second.is_empty());
    }

    #[test]
    fn lines_fit_the_width() {
        for width in [40, 80, 100] {
            let text = in_words(&two_seconds(), 2.0, width);
            let fits = |line: &str| line.chars().count() <= width;
            assert!(text.lines().all(fits), "{text}");
        }
        let text = in_words(&two_seconds(), 2.0, 120);
        assert!(text.contains(" 25       0.0 "), "{text}");
        for words in [
            "1003.0  0: 1000, 4000: 3",
            "6 CPUs",
            "LOC",
            "125.0",
            "silent (fixed)",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("TRM") && !text.contains('\x1b'), "{text}");
    }
}
