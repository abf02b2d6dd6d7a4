// SPDX-License-Identifier: GPL-2.0-only
//! From the file's text to a set: which keys there are, and what each may say.

use super::written::{Text, Written};
use super::{
    CPUS_MAX, Error, Execution, Held, Interrupt, Lock, Measured, OnOverrun, Part, Platform, Policy,
    Protocol, Set, TASKS_MAX, Task, Tick, Who,
};
use artis_machine::CpuList;
use artis_result::damage::Fault;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    name: Option<Written>,
    policy: Option<Written>,
    cpus: Option<Written>,
    preemptive: Option<Written>,
    platform: Option<StoredPlatform>,
    #[serde(default)]
    locks: BTreeMap<String, Written>,
    #[serde(default)]
    task: Vec<StoredTask>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPlatform {
    wakeup: Option<Written>,
    jitter: Option<Written>,
    switch: Option<Written>,
    release: Option<Written>,
    section: Option<Written>,
    tick: Option<StoredTick>,
    #[serde(default)]
    interrupt: Vec<StoredInterrupt>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredTick {
    period: Written,
    length: Written,
    phase: Option<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredInterrupt {
    name: Option<Written>,
    period: Option<Written>,
    per_second: Option<Written>,
    length: Written,
    jitter: Option<Written>,
    cpu: Option<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredTask {
    name: Option<Written>,
    period: Option<Written>,
    distance: Option<Written>,
    deadline: Option<Written>,
    execution: Written,
    jitter: Option<Written>,
    offset: Option<Written>,
    priority: Option<Written>,
    cpu: Option<Written>,
    section: Option<Written>,
    #[serde(default)]
    locks: BTreeMap<String, Written>,
    command: Option<Written>,
    threads: Option<Written>,
    on_overrun: Option<Written>,
    server: Option<Value>,
}

const POLICIES: [(&str, Policy); 5] = [
    ("rm", Policy::Rm),
    ("dm", Policy::Dm),
    ("given", Policy::Given),
    ("edf", Policy::Edf),
    ("fifo", Policy::Fifo),
];
const PROTOCOLS: [(&str, Protocol); 3] = [
    ("ceiling", Protocol::Ceiling),
    ("inheritance", Protocol::Inheritance),
    ("none", Protocol::None),
];
const OVERRUNS: [(&str, OnOverrun); 3] = [
    ("demote", OnOverrun::Demote),
    ("end", OnOverrun::End),
    ("report", OnOverrun::Report),
];
/// Names of threads have at most so many bytes.
const THREAD_NAME_MAX: usize = 15;

/// The set that a text says.
pub fn read(text: &str) -> Result<Set, Error> {
    let stored: Stored = toml::from_str(text)
        .map_err(|error| Fault::in_toml(text, error.span(), error.message(), &|_| None))?;
    let text = Text(text);
    if stored.task.is_empty() || stored.task.len() > TASKS_MAX {
        return Err(Error::Contradiction(format!(
            "there are {} tasks; give 1 to {TASKS_MAX}, each a table [[task]] with name, period \
             and execution",
            stored.task.len()
        )));
    }
    let cpus = match &stored.cpus {
        None => vec![1],
        Some(value) => cpus(&text, value)?,
    };
    let is_preemptive = match &stored.preemptive {
        None => true,
        Some(value) => truth(&text, "preemptive", value)?,
    };
    let locks = stored.locks.iter().map(|(name, value)| {
        Ok(Lock {
            name: name.clone(),
            protocol: text.one_of(&format!("locks.{name}"), value, &PROTOCOLS)?,
        })
    });
    let locks: Vec<Lock> = locks.collect::<Result<_, Error>>()?;
    let tasks = stored.task.iter().enumerate();
    let tasks = tasks.map(|(at, stored)| task(&text, stored, at, &locks));
    Ok(Set {
        name: match &stored.name {
            None => "tasks".to_owned(),
            Some(value) => text.words("name", value)?,
        },
        policy: match &stored.policy {
            None => Policy::Dm,
            Some(value) => text.one_of("policy", value, &POLICIES)?,
        },
        cpus,
        is_preemptive,
        platform: platform(&text, stored.platform.as_ref())?,
        tasks: tasks.collect::<Result<_, Error>>()?,
        locks,
    })
}

fn cpus(text: &Text, value: &Written) -> Result<Vec<u32>, Error> {
    let list = match value.get_ref() {
        Value::Integer(number) => number.to_string().parse::<CpuList>().ok(),
        Value::String(list) => list.parse::<CpuList>().ok(),
        _ => None,
    };
    let found: Option<Vec<u32>> = list.map(|list| list.iter().collect());
    found
        .filter(|list| (1..=CPUS_MAX).contains(&list.len()))
        .ok_or_else(|| {
            let allowed = format!("write 1 to {CPUS_MAX} CPUs in quotes: \"1\", \"1-3,5\"");
            text.fault("cpus", value, &allowed)
        })
}

fn truth(text: &Text, key: &str, value: &Written) -> Result<bool, Error> {
    let found = value.get_ref().as_bool();
    found.ok_or_else(|| text.fault(key, value, "write true or false"))
}

fn platform(text: &Text, stored: Option<&StoredPlatform>) -> Result<Platform, Error> {
    let Some(stored) = stored else {
        return Ok(Platform::default());
    };
    let wakeup_ns = text.time_or_zero("wakeup", stored.wakeup.as_ref())?;
    let tick = match &stored.tick {
        None => None,
        Some(tick) => Some(Tick {
            period_ns: text.time("period", &tick.period, 1)?,
            length_ns: text.time("length", &tick.length, 1)?,
            phase_ns: text.time_or_zero("phase", tick.phase.as_ref())?,
        }),
    };
    let interrupts = stored.interrupt.iter().enumerate();
    let interrupts = interrupts.map(|(at, one)| interrupt(text, one, at));
    Ok(Platform {
        wakeup_ns,
        // Where nobody knows how it varies, it may be anything.
        jitter_ns: match &stored.jitter {
            None => wakeup_ns,
            Some(value) => text.time("jitter", value, 0)?,
        },
        switch_ns: text.time_or_zero("switch", stored.switch.as_ref())?,
        release_ns: text.time_or_zero("release", stored.release.as_ref())?,
        section_ns: text.time_or_zero("section", stored.section.as_ref())?,
        tick,
        interrupts: interrupts.collect::<Result<_, Error>>()?,
    })
}

/// The platform that a text says.
pub fn read_platform(text: &str) -> Result<Platform, Error> {
    #[derive(Deserialize)]
    struct Only {
        platform: Option<StoredPlatform>,
    }
    let stored: Only = toml::from_str(text)
        .map_err(|error| Fault::in_toml(text, error.span(), error.message(), &|_| None))?;
    if stored.platform.is_none() {
        return Err(Error::Contradiction(
            "it has no table [platform]; artis measure costs prints one".to_owned(),
        ));
    }
    platform(&Text(text), stored.platform.as_ref())
}

fn interrupt(text: &Text, stored: &StoredInterrupt, at: usize) -> Result<Interrupt, Error> {
    let period_ns = match (&stored.period, &stored.per_second) {
        (Some(period), None) => text.time("period", period, 1)?,
        (None, Some(rate)) => {
            let rate = text.between("per_second", rate, (0.0, 1e9))?;
            // The shorter distance is the safe one.
            ((1e9 / rate).floor() as u64).clamp(1, super::TIME_NS_MAX)
        }
        _ => {
            return Err(Error::Contradiction(
                "each [[platform.interrupt]] has either period or per_second; give one of them"
                    .to_owned(),
            ));
        }
    };
    Ok(Interrupt {
        name: match &stored.name {
            None => format!("interrupt {}", at + 1),
            Some(value) => text.words("name", value)?,
        },
        period_ns,
        length_ns: text.time("length", &stored.length, 1)?,
        jitter_ns: text.time_or_zero("jitter", stored.jitter.as_ref())?,
        cpu: cpu(text, stored.cpu.as_ref())?,
    })
}

fn cpu(text: &Text, value: Option<&Written>) -> Result<Option<u32>, Error> {
    let number = value.map(|value| text.whole("cpu", value, &(0..=65_535)));
    number.transpose()
}

fn task(text: &Text, stored: &StoredTask, at: usize, locks: &[Lock]) -> Result<Task, Error> {
    let name = match &stored.name {
        None => format!("task {}", at + 1),
        Some(value) => text.words("name", value)?,
    };
    let (period_ns, is_periodic) = match (&stored.period, &stored.distance) {
        (Some(period), None) => (text.time("period", period, 1)?, true),
        (None, Some(distance)) => (text.time("distance", distance, 1)?, false),
        _ => {
            return Err(Error::Contradiction(format!(
                "task {name}: give either period, of a timer, or distance, the least time between \
                 two events"
            )));
        }
    };
    let held = stored.locks.iter().map(|(lock, value)| {
        let found = locks.iter().position(|one| one.name == *lock);
        let lock = found.ok_or_else(|| {
            let allowed = format!(
                "say the protocol of this lock once, as in [locks] {lock} = \"inheritance\""
            );
            text.fault(&format!("locks.{lock}"), value, &allowed)
        })?;
        let time_ns = text.time("locks", value, 1)?;
        Ok(Held { lock, time_ns })
    });
    let priority = stored.priority.as_ref();
    let priority = priority.map(|value| text.whole("priority", value, &(1..=99)));
    Ok(Task {
        period_ns,
        is_periodic,
        deadline_ns: match &stored.deadline {
            None => period_ns,
            Some(value) => text.time("deadline", value, 1)?,
        },
        execution: execution(text, &stored.execution)?,
        jitter_ns: text.time_or_zero("jitter", stored.jitter.as_ref())?,
        offset_ns: match &stored.offset {
            None => None,
            Some(value) => Some(text.time("offset", value, 0)?),
        },
        priority: priority.transpose()?.map(|number| number as u8),
        cpu: cpu(text, stored.cpu.as_ref())?,
        section_ns: text.time_or_zero("section", stored.section.as_ref())?,
        locks: held.collect::<Result<_, Error>>()?,
        who: who(text, stored, &name)?,
        on_overrun: match &stored.on_overrun {
            None => None,
            Some(value) => Some(text.one_of("on_overrun", value, &OVERRUNS)?),
        },
        has_server: stored.server.is_some(),
        name,
    })
}

fn execution(text: &Text, value: &Written) -> Result<Execution, Error> {
    let Value::Table(table) = value.get_ref() else {
        return Ok(Execution::Ns(text.time("execution", value, 1)?));
    };
    let allowed = "write a time such as \"250us\", or { file = \"exec.json\", quantile = 0.9999 }, \
                   or { file = \"exec.json\", probability = 1e-9 }; a quantile is above 0, up to \
                   1, a probability above 0 and below 1";
    let wrong = || text.fault("execution", value, allowed);
    let number = |key: &str| {
        let value = table.get(key)?;
        value
            .as_float()
            .or_else(|| value.as_integer().map(|it| it as f64))
    };
    let keys = ["file", "quantile", "probability"];
    let known = table.keys().all(|key| keys.contains(&key.as_str()));
    let file = table.get("file").and_then(Value::as_str);
    let part = match (number("quantile"), number("probability")) {
        (Some(q), None) if q > 0.0 && q <= 1.0 => Part::Quantile(q),
        (None, Some(p)) if p > 0.0 && p < 1.0 => Part::Probability(p),
        _ => return Err(wrong()),
    };
    match file.filter(|file| known && table.len() == 2 && !file.is_empty()) {
        None => Err(wrong()),
        Some(file) => Ok(Execution::Measured(Measured {
            file: file.to_owned(),
            part,
            ns: None,
            doubt: String::new(),
        })),
    }
}

fn who(text: &Text, stored: &StoredTask, name: &str) -> Result<Who, Error> {
    match (&stored.command, &stored.threads) {
        (None, None) => Ok(Who::Nobody),
        (Some(_), Some(_)) => Err(Error::Contradiction(format!(
            "task {name}: it is a command or threads of a running program; give one of them"
        ))),
        (Some(value), None) => {
            let words = value.get_ref().as_array().map(|words| {
                let words = words.iter().map(|word| word.as_str().map(str::to_owned));
                words.collect::<Option<Vec<String>>>()
            });
            match words
                .flatten()
                .filter(|it| it.first().is_some_and(|one| !one.is_empty()))
            {
                Some(words) => Ok(Who::Command(words)),
                None => Err(text.fault(
                    "command",
                    value,
                    "write a command and its words, such as [\"./controller\", \"--fast\"]",
                )),
            }
        }
        (None, Some(value)) => {
            let name = text.words("threads", value)?;
            if name.len() > THREAD_NAME_MAX {
                let allowed =
                    "write the name of the threads, at most 15 bytes, as `ps -L` shows it";
                return Err(text.fault("threads", value, allowed));
            }
            Ok(Who::Threads(name))
        }
    }
}
