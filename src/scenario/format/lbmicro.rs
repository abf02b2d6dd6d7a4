// SPDX-License-Identifier: GPL-2.0-only
//! The syntax of piel-artis, figure 4: tasks in brackets, `key = value`, comments from `#`.
//!
//! The paper shows `cpu_mask`, `sched`, `priority`, `loop` (how many rounds of computing there
//! are in all), `sloop` (after so many rounds the task sleeps) and `sleep`. It gives no units. They
//! follow from its own figures (section 3.3): 4 CPUs, 3 RT0 tasks of 110,000,000 rounds that use
//! about 90 % of a CPU each, and 13 tasks of 10,000,000 rounds that take some 430 s on the 1.3 CPUs
//! that are left. So a round takes 1.3 x 430 s / 130,000,000 = 4.3 us, 4000 rounds 17 ms, and 90 %
//! only comes out when the sleep of 1,000,000 is nanoseconds, ended by the next tick.
//!
//! Of our own, in front of the tasks: `name`, `cpus`, `rt_mask`, `loop_ns`; in a task: `name`,
//! `count`, `nice`.

use super::NoteKind;
use super::builder::Builder;
use super::place::{Wrong, quoted};
use crate::model::*;
use artis_machine::CpuList;

/// What one round takes where a file does not say: see the module.
pub const LOOP_NS: u64 = 4300;

/// `key = value`, with their bytes.
struct Setting<'a> {
    key: &'a str,
    at: usize,
    value: &'a str,
    value_at: usize,
}

const KEYS: &str = "cpu_mask, sched, priority, loop, sloop or sleep, or of ours: name, count, nice";
const SETTINGS: &str = "name, cpus, rt_mask or loop_ns, or a task in brackets { }";

/// Reads into the builder.
pub fn read(text: &str, builder: &mut Builder) -> Result<(), Wrong> {
    let mut words = Words { text, at: 0 };
    let mut loop_ns = None;
    let mut rt_cpus = None;
    let mut tasks: Vec<(usize, Vec<Setting>)> = Vec::new();
    loop {
        words.space();
        match words.next_letter() {
            None => break,
            Some('{') => {
                let at = words.at;
                words.at += 1;
                if tasks.len() >= TASKS_MAX {
                    let reason = format!("there are more than {TASKS_MAX} tasks; use count");
                    return Err(Wrong::new(at, reason));
                }
                tasks.push((at, words.block(at)?));
            }
            Some(_) => {
                let setting = words.setting(SETTINGS)?;
                match setting.key {
                    "name" => builder.scenario.name = setting.name()?,
                    "cpus" => {
                        let last = u64::from(artis_machine::cpulist::CPUS_MAX);
                        builder.scenario.machine.cpus = Some(setting.number(1, last)? as u32);
                    }
                    "loop_ns" => loop_ns = Some(setting.number(1, 1_000_000_000)?),
                    "rt_mask" => rt_cpus = Some(setting.mask()?),
                    _ => return Err(setting.unknown(SETTINGS)),
                }
            }
        }
    }
    if tasks.is_empty() {
        return Err(Wrong::new(
            words.at,
            format!("there is no task; write {SETTINGS}"),
        ));
    }
    if loop_ns.is_none() {
        let text = format!(
            "a round of loop takes {LOOP_NS} ns, as in the paper's own figures; loop_ns = … in \
             front of the tasks says otherwise"
        );
        builder.note(NoteKind::Assumed, None, text);
    }
    for (at, settings) in &tasks {
        let task = task(
            settings,
            *at,
            tasks.len(),
            loop_ns.unwrap_or(LOOP_NS),
            builder,
        )?;
        builder.scenario.tasks.push(task);
        builder.places.push(*at);
    }
    match rt_cpus {
        Some(cpus) => builder.scenario.machine.rt_cpus = cpus,
        None => builder.assume_rt_cpus("rt_mask = … in front of the tasks says otherwise"),
    }
    Ok(())
}

/// What a task says, before defaults.
#[derive(Default)]
struct Said {
    name: Option<String>,
    cpus: Option<CpuList>,
    sched: Option<String>,
    priority: Option<u8>,
    nice: Option<i8>,
    rounds: Option<u64>,
    between: Option<u64>,
    sleep_ns: Option<u64>,
    count: Option<u32>,
}

fn task(
    settings: &[Setting],
    at: usize,
    tasks: usize,
    loop_ns: u64,
    builder: &mut Builder,
) -> Result<Task, Wrong> {
    let mut said = Said::default();
    for setting in settings {
        match setting.key {
            "cpu_mask" => said.cpus = Some(setting.mask()?),
            "sched" => said.sched = Some(setting.value.to_ascii_uppercase()),
            "priority" => said.priority = Some(setting.number(0, 99)? as u8),
            "nice" => said.nice = Some(setting.signed(-20, 19)? as i8),
            "loop" => said.rounds = Some(setting.number(1, AMOUNT_MAX)?),
            "sloop" => said.between = Some(setting.number(1, AMOUNT_MAX)?),
            "sleep" => said.sleep_ns = Some(setting.number(0, TIME_NS_MAX)?),
            "name" => said.name = Some(setting.name()?),
            "count" => said.count = Some(setting.number(1, INSTANCES_MAX)? as u32),
            _ => return Err(setting.unknown(KEYS)),
        }
    }
    let Some(rounds) = said.rounds else {
        return Err(Wrong::new(
            at,
            "this task has no loop; write loop = 10000000",
        ));
    };
    let policy = policy(&said, settings, at)?;
    let name = said.name.take().unwrap_or_else(|| {
        let number = builder.scenario.tasks.len() + 1;
        let width = tasks.to_string().len();
        format!("task{number:0width$}")
    });
    let mut task = Task::new(&name, program(&said, rounds, loop_ns, at)?);
    task.policy = policy;
    task.cpus = said.cpus;
    task.count = said.count.unwrap_or(1);
    Ok(task)
}

fn policy(said: &Said, settings: &[Setting], at: usize) -> Result<Policy, Wrong> {
    let place = |key: &str| {
        let found = settings.iter().find(|setting| setting.key == key);
        found.map_or(at, |setting| setting.value_at)
    };
    let priority = || match said.priority {
        Some(priority @ 1..) => Ok(priority),
        _ => Err(Wrong::new(
            place("priority"),
            "a FIFO or RR task needs a priority; write priority = 1 to 99",
        )),
    };
    let nice = said.nice.unwrap_or(0);
    Ok(match said.sched.as_deref().unwrap_or("OTHER") {
        "FIFO" => Policy::Fifo {
            priority: priority()?,
        },
        "RR" => Policy::RoundRobin {
            priority: priority()?,
        },
        "OTHER" | "NORMAL" => Policy::Other { nice },
        "BATCH" => Policy::Batch { nice },
        "IDLE" => Policy::Idle,
        "EXT" => Policy::Ext { nice },
        other => {
            let reason = format!(
                "sched: {} is not known here; write FIFO, RR, OTHER, BATCH, IDLE or EXT",
                quoted(other)
            );
            return Err(Wrong::new(place("sched"), reason));
        }
    })
}

fn program(said: &Said, rounds: u64, loop_ns: u64, at: usize) -> Result<Program, Wrong> {
    let compute = |rounds: u64| match rounds.checked_mul(loop_ns) {
        Some(ns) if ns <= TIME_NS_MAX => Ok(Step::Do(Op::Compute(Work::Ns(ns)))),
        _ => {
            let most = TIME_NS_MAX / loop_ns;
            let reason = format!("{rounds} rounds take more than a day; write at most {most}");
            Err(Wrong::new(at, reason))
        }
    };
    let (Some(between), Some(ns)) = (said.between, said.sleep_ns) else {
        if said.between.is_some() != said.sleep_ns.is_some() {
            return Err(Wrong::new(
                at,
                "sloop and sleep need one another: after sloop rounds, the task sleeps for sleep \
                 nanoseconds",
            ));
        }
        return Ok(Program::new(vec![compute(rounds)?]));
    };
    let mut steps = vec![Step::Loop {
        times: Some(rounds / between),
        body: vec![compute(between)?, Step::Do(Op::Sleep { ns })],
    }];
    if !rounds.is_multiple_of(between) {
        steps.push(compute(rounds % between)?);
    }
    Ok(Program::new(steps))
}

struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next_letter(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Goes on behind white space, commas, semicolons and comments.
    fn space(&mut self) {
        loop {
            let rest = self.rest();
            let next =
                rest.trim_start_matches(|it: char| it.is_whitespace() || ",;\u{feff}".contains(it));
            self.at += rest.len() - next.len();
            if !next.starts_with('#') {
                return;
            }
            self.at += next.find('\n').unwrap_or(next.len());
        }
    }

    fn block(&mut self, begin: usize) -> Result<Vec<Setting<'a>>, Wrong> {
        let mut settings: Vec<Setting> = Vec::new();
        loop {
            self.space();
            match self.next_letter() {
                None => {
                    let reason = "this task has no end; write } behind it";
                    return Err(Wrong::new(begin, reason));
                }
                Some('}') => {
                    self.at += 1;
                    return Ok(settings);
                }
                Some(_) => {
                    let setting = self.setting(KEYS)?;
                    if settings.iter().any(|it| it.key == setting.key) {
                        let reason =
                            format!("{} comes twice in this task; remove one", setting.key);
                        return Err(Wrong::new(setting.at, reason));
                    }
                    settings.push(setting);
                    // Every key that is known comes once.
                    if settings.len() > 16 {
                        return Err(settings[16].unknown(KEYS));
                    }
                }
            }
        }
    }

    fn setting(&mut self, keys: &str) -> Result<Setting<'a>, Wrong> {
        let at = self.at;
        let key = self.word(|it| it.is_alphanumeric() || it == '_');
        if key.is_empty() {
            let letter = self.next_letter().unwrap_or(' ');
            return Err(Wrong::new(
                at,
                format!("{letter:?} does not fit here; write {keys}"),
            ));
        }
        self.blank();
        if self.next_letter() != Some('=') {
            let reason = format!("a value is missing behind {}; write {key} = …", quoted(key));
            return Err(Wrong::new(self.at, reason));
        }
        self.at += 1;
        self.blank();
        let value_at = self.at;
        let mut value = self.word(|it| !(it.is_whitespace() || "{}=,;#\"".contains(it)));
        if value.is_empty() && self.next_letter() == Some('"') {
            self.at += 1;
            value = self.word(|it| !"\"\n".contains(it));
            if self.next_letter() != Some('"') {
                return Err(Wrong::new(
                    value_at,
                    "this text has no end on its line; write \"",
                ));
            }
            self.at += 1;
        }
        Ok(Setting {
            key,
            at,
            value,
            value_at,
        })
    }

    fn blank(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    }

    fn word(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }
}

impl Setting<'_> {
    fn unknown(&self, keys: &str) -> Wrong {
        let reason = format!("{} is no key here; write {keys}", quoted(self.key));
        Wrong::new(self.at, reason)
    }

    fn wrong(&self, allowed: &str) -> Wrong {
        let (key, found) = (self.key, quoted(self.value));
        Wrong::new(
            self.value_at,
            format!("{key}: {found} does not fit; {allowed}"),
        )
    }

    fn name(&self) -> Result<String, Wrong> {
        let is_name = (1..=NAME_MAX).contains(&self.value.len());
        let allowed = format!("write a name, up to {NAME_MAX} bytes");
        let name = is_name.then(|| self.value.to_owned());
        name.ok_or_else(|| self.wrong(&allowed))
    }

    fn number(&self, least: u64, most: u64) -> Result<u64, Wrong> {
        let digits = self.value.strip_prefix("0x");
        let number = match digits {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => self.value.parse().ok(),
        };
        number
            .filter(|it| (least..=most).contains(it))
            .ok_or_else(|| self.wrong(&format!("write a whole number from {least} to {most}")))
    }

    fn signed(&self, least: i64, most: i64) -> Result<i64, Wrong> {
        let number: Option<i64> = self.value.parse().ok();
        number
            .filter(|it| (least..=most).contains(it))
            .ok_or_else(|| self.wrong(&format!("write a whole number from {least} to {most}")))
    }

    /// A mask of CPUs: bit 0 is CPU 0.
    fn mask(&self) -> Result<CpuList, Wrong> {
        let allowed = "write a mask of CPUs, such as 0xf for CPUs 0 to 3; up to 2048 digits";
        let digits = match self.value.strip_prefix("0x") {
            Some(digits) => digits.to_owned(),
            None => format!(
                "{:x}",
                self.number(1, u64::MAX).map_err(|_| self.wrong(allowed))?
            ),
        };
        let mut cpus = CpuList::new();
        let most = artis_machine::cpulist::CPUS_MAX as usize / 4;
        if digits.len() > most {
            return Err(self.wrong(allowed));
        }
        for (place, digit) in (0_u32..).zip(digits.chars().rev()) {
            let digit = digit.to_digit(16).ok_or_else(|| self.wrong(allowed))?;
            let bits = (0..4).filter(|bit| digit >> bit & 1 == 1);
            bits.for_each(|bit| cpus.insert(place * 4 + bit));
        }
        match cpus.is_empty() {
            true => Err(self.wrong(allowed)),
            false => Ok(cpus),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Format, read};
    use super::*;

    #[test]
    fn the_paper_s_tasks_are_what_they_were() {
        let reading = read(include_str!("examples/all.lb"), None, "it").unwrap();
        assert_eq!(reading.format, Format::LbMicro);
        let Scenario { tasks, machine, .. } = &reading.scenario;
        let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["task1", "task2", "many", "idle"]);
        let classes: Vec<&str> = tasks
            .iter()
            .map(|task| task.class(machine).name())
            .collect();
        assert_eq!(classes, ["Linux", "RT0", "Linux", "Linux"]);
        assert_eq!(tasks[0].cpus.as_ref().unwrap().to_string(), "0-15");
        let mut cursor = tasks[1].program.start();
        let ops: Vec<&Op> = std::iter::from_fn(|| cursor.advance(&tasks[1].program)).collect();
        let part = |ns| Op::Compute(Work::Ns(ns));
        let sleep = Op::Sleep { ns: 1_000_000 };
        let (round, rest) = (part(4_000_000), part(3_000_000));
        assert_eq!(ops, [&round, &sleep, &round, &sleep, &rest]);
        assert_eq!(
            (tasks[2].count, tasks[2].policy),
            (3, Policy::Other { nice: -5 })
        );
    }

    #[test]
    fn what_is_wrong_has_its_place_and_a_remedy() {
        for (text, place, words) in [
            ("# nothing", "line 1, column 10", "there is no task"),
            ("{ loop = 5", "line 1, column 1", "write } behind it"),
            ("{\n loop 5 }", "line 2, column 7", "write loop = …"),
            ("{ loops = 5 }", "line 1, column 3", "write cpu_mask, sched"),
            ("{ loop = x }", "line 1, column 10", "from 1 to"),
            ("{ loop = 5 loop = 6 }", "line 1, column 12", "comes twice"),
            (
                "{ cpu_mask = 0 loop = 5 }",
                "line 1, column 14",
                "write a mask",
            ),
            (
                "{ sched = FIFO loop = 5 }",
                "line 1, column 1",
                "priority = 1 to 99",
            ),
            (
                "{ sched = FAST loop = 5 }",
                "line 1, column 11",
                "write FIFO, RR",
            ),
            (
                "{ sloop = 5 loop = 5 }",
                "line 1, column 1",
                "need one another",
            ),
            ("{ priority = 5 }", "line 1, column 1", "write loop ="),
            (
                "cpus = 0 { loop = 5 }",
                "line 1, column 8",
                "from 1 to 8192",
            ),
            ("} { loop = 5 }", "line 1, column 1", "'}' does not fit"),
            (
                "{ loop = 999999999999 }",
                "line 1, column 1",
                "more than a day",
            ),
        ] {
            let error = read(text, Some(Format::LbMicro), "it")
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with(place) && error.contains(words),
                "{text}: {error}"
            );
        }
    }
}
