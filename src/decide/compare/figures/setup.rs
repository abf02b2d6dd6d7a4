// SPDX-License-Identifier: GPL-2.0-only
//! How something was measured, and on what: whatever should be alike where figures are compared.
//!
//! Nothing is refused here: each difference becomes a sentence, and so does what a file does not
//! say. Settings are compared by the names that result files give them, so a new one needs no
//! line here.

use super::cyclictest;
use super::machine::{HARDWARE, STATE};
use artis_result::names::{BEGAN_NS, RT_CPU_SHARE_OTHERS, SYSTEM_MANAGEMENT_INTERRUPTS};
use artis_result::{Document, LoadDone};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

pub const KERNEL: &str = "kernel";
pub const PREEMPTION: &str = "preemption";
pub const SCHEDULER: &str = "sched_ext scheduler";
pub const POLICY: &str = "policy";
/// The policy of threads that are no real-time ones.
pub const NORMAL: &str = "normal";
const BOOT_ARGUMENTS: &str = "boot arguments";
const INTERVAL: &str = "interval";
const MEASURED_CPUS: &str = "CPUs that were measured";
const LOADS: &str = "loads";

/// What each file should say; another setting belongs to some commands only.
const NEEDED: [&str; 7] = [
    "CPU model",
    "CPUs",
    "virtualisation",
    KERNEL,
    BOOT_ARGUMENTS,
    POLICY,
    INTERVAL,
];
/// Settings that say how long was measured, what was seen meanwhile, or that another aspect has.
const NOT_COMPARED: [&str; 13] = [
    "duration_s",
    "loops",
    "threshold_us",
    "unloaded_s",
    "load",
    "load_cpus",
    POLICY,
    "priority",
    "nice",
    "steps_per_us",
    BEGAN_NS,
    RT_CPU_SHARE_OTHERS,
    SYSTEM_MANAGEMENT_INTERRUPTS,
];
/// Boot arguments that name files and disks, or what is shown at boot.
const NO_SETTING: [&str; 7] = [
    "BOOT_IMAGE",
    "initrd",
    "root",
    "ro",
    "rw",
    "quiet",
    "splash",
];
/// More boot arguments than these are counted, not named.
const ARGUMENTS_MAX: usize = 6;

/// Each aspect with its values: several where the runs of a configuration differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup(BTreeMap<String, BTreeSet<String>>);

impl Setup {
    /// Of the files of one configuration.
    pub fn of(documents: &[Document]) -> Self {
        let mut all = Self::default();
        for document in documents {
            all.add_machine(document);
            all.add_settings(document);
            let cpus: BTreeSet<u32> = document.series.iter().filter_map(|one| one.cpu).collect();
            if !cpus.is_empty() {
                let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
                all.add(MEASURED_CPUS, cpus.join(","));
            }
            // An empty list in another program's file says nothing.
            if !document.load.is_empty() || is_ours(document) {
                all.add(LOADS, loads_in_words(&document.load));
            }
        }
        all
    }

    /// One of which no more is known, as of an experiment's row.
    pub fn of_row(kernel: &str, loads: &[String]) -> Self {
        let mut all = Self::default();
        all.add(KERNEL, kernel.to_owned());
        all.add(LOADS, counted(loads.iter().cloned()));
        all
    }

    fn add(&mut self, aspect: &str, value: String) {
        let values = self.0.entry(aspect.to_owned()).or_default();
        values.insert(value);
    }

    fn add_machine(&mut self, document: &Document) {
        let Some(machine) = &document.machine else {
            return;
        };
        for aspect in HARDWARE.iter().chain(&STATE) {
            if let Some(value) = (aspect.value)(machine) {
                self.add(aspect.what, value);
            }
        }
        if !machine.kernel.is_empty() {
            self.add(KERNEL, machine.kernel.clone());
        }
        // Whoever says the preemption model says the boot arguments, none included.
        if !(machine.preemption.is_empty() && machine.cmdline.is_empty()) {
            let words = machine.cmdline.split_whitespace();
            let key = |word: &&str| word.split('=').next().unwrap_or_default().to_owned();
            let words = words.filter(|word| !NO_SETTING.contains(&key(word).as_str()));
            let words: BTreeSet<&str> = words.collect();
            self.add(BOOT_ARGUMENTS, Vec::from_iter(words).join(" "));
        }
    }

    fn add_settings(&mut self, document: &Document) {
        let options = &document.setup.options;
        for (name, value) in options {
            if !NOT_COMPARED.contains(&name.as_str()) && !value.is_null() {
                let (name, unit) = name_and_unit(name);
                self.add(&name, in_words(value) + unit);
            }
        }
        let asked = cyclictest::asked(document).unwrap_or_default();
        let number = |name: &str| options.get(name).and_then(Value::as_i64);
        let named = options.get(POLICY).and_then(Value::as_str);
        match (number("priority").or(asked.priority), named) {
            (Some(priority @ 1..), _) => self.add(POLICY, format!("FIFO {priority}")),
            (Some(_), Some("ext")) => self.add(POLICY, "ext".to_owned()),
            (Some(_), _) => self.add(POLICY, NORMAL.to_owned()),
            (None, _) => {}
        }
        if let (None, Some(us)) = (options.get("interval_us"), asked.interval_us) {
            self.add(INTERVAL, format!("{us} us"));
        }
    }

    /// The values of an aspect: several where runs differ, none where no file says it.
    pub fn values(&self, aspect: &str) -> impl Iterator<Item = &str> {
        self.0.get(aspect).into_iter().flatten().map(String::as_str)
    }

    /// The same with other words for an aspect.
    pub fn with(mut self, aspect: &str, words: impl Fn(&str) -> String) -> Self {
        if let Some(values) = self.0.get_mut(aspect) {
            *values = values.iter().map(|value| words(value)).collect();
        }
        self
    }
}

/// Whether artis measured, whose files leave nothing out.
pub fn is_ours(document: &Document) -> bool {
    document.tool.starts_with("artis")
}

/// `interval_us` is the interval, in us.
fn name_and_unit(name: &str) -> (String, &'static str) {
    let units = [("_us", " us"), ("_ns", " ns"), ("_s", " s")];
    let found = units
        .into_iter()
        .find_map(|(end, unit)| Some((name.strip_suffix(end)?, unit)));
    let (name, unit) = found.unwrap_or((name, ""));
    (name.replace('_', " "), unit)
}

fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // 1000 and 1000.0 are one interval.
        Value::Number(number) => number
            .as_f64()
            .map_or_else(|| number.to_string(), |it| it.to_string()),
        other => other.to_string(),
    }
}

/// The loads of a run, with the CPUs that they were bound to.
pub fn loads_in_words(loads: &[LoadDone]) -> String {
    counted(loads.iter().map(|load| match &load.cpus {
        None => load.name.clone(),
        Some(cpus) if cpus.parse::<u32>().is_ok() => format!("{} on CPU {cpus}", load.name),
        Some(cpus) => format!("{} on CPUs {cpus}", load.name),
    }))
}

/// Each once and in order, with how often it is there.
pub fn counted(names: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let words = counts.into_iter().map(|(name, count)| match count {
        1 => name,
        more => format!("{more} x {name}"),
    });
    let words: Vec<String> = words.collect();
    match words.is_empty() {
        true => "none".to_owned(),
        false => words.join(" + "),
    }
}

/// What is not alike, a sentence each: first what differs, then what files do not say and others
/// do. `expected` are aspects in which these may differ.
pub fn unlike(all: &[(&str, &Setup)], expected: &[&str]) -> Vec<String> {
    let mut aspects: Vec<&str> = NEEDED.to_vec();
    for name in all.iter().flat_map(|(_, setup)| setup.0.keys()) {
        if !aspects.contains(&name.as_str()) {
            aspects.push(name);
        }
    }
    aspects.retain(|aspect| !expected.contains(aspect));
    let differences = aspects.iter().filter_map(|aspect| difference(all, aspect));
    let mut sentences: Vec<String> = differences.collect();
    for (name, setup) in all {
        let missing = aspects.iter().filter(|aspect| {
            let others = || all.iter().any(|(_, one)| one.0.contains_key(**aspect));
            NEEDED.contains(*aspect) && !setup.0.contains_key(**aspect) && others()
        });
        let missing: Vec<&str> = missing.copied().collect();
        if !missing.is_empty() {
            sentences.push(format!("{name} does not say its {}", missing.join(", ")));
        }
    }
    sentences
}

/// `interval: 1000 us in stock and artis, 10000 us in rt`.
fn difference(all: &[(&str, &Setup)], aspect: &str) -> Option<String> {
    let said: Vec<(&str, Vec<&str>)> = all
        .iter()
        .filter_map(|(name, setup)| {
            let values = setup.0.get(aspect)?;
            Some((*name, values.iter().map(String::as_str).collect()))
        })
        .collect();
    let first = &said.first()?.1;
    if first.len() == 1 && said.iter().all(|(_, values)| values == first) {
        return None;
    }
    let common = match aspect {
        BOOT_ARGUMENTS => common_words(said.iter().flat_map(|(_, values)| values)),
        _ => BTreeSet::new(),
    };
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, values) in &said {
        let values: Vec<String> = match aspect {
            BOOT_ARGUMENTS => values.iter().map(|all| others(all, &common)).collect(),
            _ => values.iter().map(|value| (*value).to_owned()).collect(),
        };
        let words = values.join(" and ");
        match groups.iter_mut().find(|(known, _)| *known == words) {
            Some((_, names)) => names.push(name),
            None => groups.push((words, vec![name])),
        }
    }
    let groups = groups
        .iter()
        .map(|(words, names)| format!("{words} in {}", names.join(" and ")));
    Some(format!("{aspect}: {}", Vec::from_iter(groups).join(", ")))
}

/// The boot arguments that all have.
fn common_words<'a>(all: impl Iterator<Item = &'a &'a str>) -> BTreeSet<&'a str> {
    let sets = all.map(|words| words.split(' ').collect::<BTreeSet<_>>());
    sets.reduce(|one, other| &one & &other).unwrap_or_default()
}

/// Those that not all have.
fn others(words: &str, common: &BTreeSet<&str>) -> String {
    let own: Vec<&str> = words
        .split(' ')
        .filter(|word| !word.is_empty() && !common.contains(word))
        .collect();
    match own.len() {
        0 => "none of these".to_owned(),
        1..=ARGUMENTS_MAX => own.join(" "),
        more => format!(
            "{} and {} more",
            own[..ARGUMENTS_MAX].join(" "),
            more - ARGUMENTS_MAX
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_result::{Distribution, Kind, Machine, Series, Unit};
    use serde_json::json;

    /// A result of artis.
    fn document(change: impl Fn(&mut Document)) -> Document {
        let mut document = Document::new(artis_result::Setup::default());
        let mut machine = Machine::of_kernel("6.12.48".to_owned());
        machine.preemption = "lazy".to_owned();
        machine.cmdline = "BOOT_IMAGE=/vmlinuz root=/dev/sda1 quiet".to_owned();
        machine.cpus = "0-3".to_owned();
        machine.cpu_model = Some("A 9000".to_owned());
        document.machine = Some(machine);
        for (name, value) in [("interval_us", json!(1000)), ("priority", json!(98))] {
            document.setup.options.insert(name.to_owned(), value);
        }
        document.series.push(Series {
            cpu: Some(1),
            ..Series::new(
                "latency",
                Kind::Latency,
                Unit::Nanoseconds,
                Distribution::new(),
            )
        });
        change(&mut document);
        document
    }

    fn sentences(one: &Document, other: &Document) -> Vec<String> {
        let [one, other] = [one, other].map(|it| Setup::of(std::slice::from_ref(it)));
        unlike(&[("a", &one), ("b", &other)], &[])
    }

    fn machine(document: &mut Document) -> &mut Machine {
        document.machine.as_mut().unwrap()
    }

    fn load(name: &str, cpus: Option<&str>) -> LoadDone {
        LoadDone {
            name: name.to_owned(),
            cpus: cpus.map(str::to_owned),
            command: String::new(),
            work: 1.0,
            unit: "rounds".to_owned(),
            seconds: 1.0,
            cpu_seconds: None,
        }
    }

    type Change = fn(&mut Document);

    #[test]
    fn each_difference_is_a_sentence() {
        let plain = document(|_| {});
        let set = |name: &'static str, value: Value| {
            document(|it| {
                it.setup.options.insert(name.to_owned(), value.clone());
            })
        };
        assert_eq!(sentences(&plain, &plain), [""; 0]);
        for (other, expected) in [
            (
                set("priority", json!(0)),
                "policy: FIFO 98 in a, normal in b",
            ),
            (
                set("priority", json!(80)),
                "policy: FIFO 98 in a, FIFO 80 in b",
            ),
            (
                set("interval_us", json!(10_000)),
                "interval: 1000 us in a, 10000 us in b",
            ),
        ] {
            assert_eq!(sentences(&plain, &other), [expected]);
        }
        let changes: [(Change, &str); 8] = [
            (
                |it| machine(it).kernel = "6.18.0".to_owned(),
                "kernel: 6.12.48 in a, 6.18.0 in b",
            ),
            (
                |it| machine(it).cmdline += " isolcpus=1 nohz_full=1",
                "boot arguments: none of these in a, isolcpus=1 nohz_full=1 in b",
            ),
            (
                |it| machine(it).cpu_model = Some("A 10".to_owned()),
                "CPU model: A 9000 in a, A 10 in b",
            ),
            (
                |it| machine(it).cpus = "0-1".to_owned(),
                "CPUs: 0-3 in a, 0-1 in b",
            ),
            (
                |it| machine(it).virtualisation = Some("kvm".to_owned()),
                "virtualisation: none in a, kvm in b",
            ),
            (
                |it| machine(it).preemption = "full".to_owned(),
                "preemption: lazy in a, full in b",
            ),
            (
                |it| it.series[0].cpu = Some(2),
                "CPUs that were measured: 1 in a, 2 in b",
            ),
            (
                |it| it.load = vec![load("compute", Some("0"))],
                "loads: none in a, compute on CPU 0 in b",
            ),
        ];
        for (change, expected) in changes {
            assert_eq!(sentences(&plain, &document(change)), [expected]);
        }
    }

    #[test]
    fn what_names_disks_or_how_long_is_no_difference() {
        let other = document(|it| {
            machine(it).cmdline = "BOOT_IMAGE=/other root=/dev/sdb ro".to_owned();
            let options = &mut it.setup.options;
            options.insert("duration_s".to_owned(), json!(60.0));
            options.insert("interval_us".to_owned(), json!(1000.0));
            // Not every command has it.
            options.insert("routine".to_owned(), json!("memory"));
        });
        assert_eq!(sentences(&document(|_| {}), &other), [""; 0]);
    }

    #[test]
    fn what_a_file_does_not_say_is_named_where_another_says_it() {
        let plain = document(|_| {});
        let silent = document(|it| machine(it).cpu_model = None);
        assert_eq!(sentences(&plain, &silent), ["b does not say its CPU model"]);
        assert_eq!(sentences(&silent, &silent), [""; 0]);
        let foreign = document(|it| {
            it.tool = "cyclictest 2.40".to_owned();
            it.machine = Some(Machine::of_kernel("6.12.48".to_owned()));
            it.setup.options.clear();
            it.setup.command = ["cyclictest", "-p0", "-i", "1000"]
                .map(str::to_owned)
                .to_vec();
        });
        assert_eq!(
            sentences(&plain, &foreign),
            [
                "policy: FIFO 98 in a, normal in b",
                "b does not say its CPU model, CPUs, virtualisation, boot arguments"
            ]
        );
    }

    #[test]
    fn runs_of_one_configuration_are_held_against_each_other() {
        let other = document(|it| machine(it).cmdline += " isolcpus=1");
        let both = Setup::of(&[document(|_| {}), other]);
        assert_eq!(
            unlike(&[("stock", &both)], &[]),
            ["boot arguments: none of these and isolcpus=1 in stock"]
        );
        assert_eq!(unlike(&[("stock", &both)], &[BOOT_ARGUMENTS]), [""; 0]);
    }

    #[test]
    fn loads_are_counted() {
        let loads = [
            load("compute", None),
            load("cache", None),
            load("compute", None),
        ];
        assert_eq!(loads_in_words(&loads), "cache + 2 x compute");
        assert_eq!(loads_in_words(&[]), "none");
    }
}
