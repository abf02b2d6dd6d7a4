// SPDX-License-Identifier: GPL-2.0-only
//! One way to run the machine, and the facts about it.

use super::Error;
use super::busy::Busy;
use crate::compare::figures::extent::interval_us;
use crate::compare::figures::machine::one_machine;
use crate::compare::figures::setup::{counted, loads_in_words};
use crate::compare::figures::{of_experiment, of_one_measurement, of_results};
use crate::compare::metric::{Quantity, Stat};
use crate::compare::{Configuration, Metric};
use crate::completion::{self, Curve};
use artis_result::experiment::{Experiment, Scheduler};
use artis_result::names::{EXECUTION_TIME, EXECUTION_TIME_UNLOADED, LATENCY};
use artis_result::{Blocks, Distribution, Document, Machine};
use serde::Serialize;
use std::fmt;

/// The setting of `artis measure completion` that says how much work a unit is.
const STEPS: &str = "steps_per_us";

/// The ways, from the one that changes least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    Stock,
    Tuned,
    Shield,
    Artis,
    PreemptRt,
    ArtisOnPreemptRt,
    CoKernel,
}

impl Way {
    /// Those that Linux alone can be.
    pub const LINUX: [Self; 6] = [
        Self::Stock,
        Self::Tuned,
        Self::Shield,
        Self::Artis,
        Self::PreemptRt,
        Self::ArtisOnPreemptRt,
    ];

    /// The way that a configuration's name says; none when it says none.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let words: Vec<&str> = name
            .split(|one: char| !one.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let has = |all: &[&str]| words.iter().any(|word| all.contains(word));
        let real_time = has(&["rt", "preemptrt", "preempt"]);
        let found = [
            (has(&["xenomai", "evl", "rtai", "cobalt"]), Self::CoKernel),
            (has(&["artis"]) && real_time, Self::ArtisOnPreemptRt),
            (has(&["artis"]), Self::Artis),
            (real_time, Self::PreemptRt),
            (
                has(&["shield", "shielded", "isolcpus", "isolated"]),
                Self::Shield,
            ),
            (has(&["tuned", "tune", "partition"]), Self::Tuned),
            (has(&["stock", "default", "linux"]), Self::Stock),
        ];
        found.into_iter().find_map(|(is, way)| is.then_some(way))
    }

    /// Whether its kernel is PREEMPT_RT.
    pub fn is_preempt_rt(self) -> bool {
        matches!(self, Self::PreemptRt | Self::ArtisOnPreemptRt)
    }

    fn is_artis(self) -> bool {
        matches!(self, Self::Artis | Self::ArtisOnPreemptRt)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(match self {
            Self::Stock => "stock",
            Self::Tuned => "tuned",
            Self::Shield => "shield",
            Self::Artis => "artis",
            Self::PreemptRt => "PREEMPT_RT",
            Self::ArtisOnPreemptRt => "artis on PREEMPT_RT",
            Self::CoKernel => "co-kernel",
        })
    }
}

/// Where the facts come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The machine in question.
    Measured,
    /// An emulator that counts instructions: they hold relative to each other only.
    Emulated,
    /// Another program on a machine that its file does not describe.
    Elsewhere,
}

/// Where a command's times are, the first that is there: of `measure throughput`, of `commands`.
const COMMAND_SERIES: [&str; 2] = ["real", "command"];

/// Times of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandTimes {
    /// As the file says it; none in one that does not.
    pub words: Option<String>,
    pub mean_ns: f64,
    /// The mean of each file.
    pub runs_ns: Vec<f64>,
}

/// One way with its facts.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub way: Way,
    pub origin: Origin,
    pub configuration: Configuration,
    /// What ran beside it, and where.
    pub loads: String,
    /// How busy that kept the machine.
    pub busy: Busy,
    /// The period that was measured, us.
    pub interval_us: Option<f64>,
    /// Of each run, where the measurement kept them.
    pub blocks: Vec<Blocks>,
    pub machine: Option<Machine>,
    /// Times of a fixed piece of work under the loads, and its shortest time without, ns.
    pub execution: Option<(Distribution, f64)>,
    /// How long the same command took, which stands for the rest of the machine's work.
    pub command: Option<CommandTimes>,
    /// Mean time of a barrier's round, us.
    pub round_us: Option<f64>,
    pub curves: Vec<Curve>,
    /// The steps that a unit of their work has, as the file says.
    pub steps: Option<String>,
}

impl Candidate {
    /// From the runs of one configuration.
    ///
    /// # Errors
    /// [`Error`].
    pub fn of_results(name: &str, documents: &[Document]) -> Result<Self, Error> {
        one_machine(name, documents)?;
        let runs = of_one_measurement(documents);
        one_load(name, &runs)?;
        let configuration = of_results(name, &runs)?;
        let tools = documents.iter().map(|one| one.tool.to_lowercase());
        let co_kernel = |tool: &String| {
            ["xenomai", "evl", "latmus", "rtai", "cobalt"]
                .iter()
                .any(|word| tool.contains(word))
        };
        let is_co_kernel = tools.clone().any(|tool| co_kernel(&tool));
        let machine = documents.iter().find_map(|one| one.machine.clone());
        let way = match is_co_kernel {
            true => Way::CoKernel,
            false => Way::of_name(name).ok_or_else(|| Error::NoWay(name.to_owned()))?,
        };
        for machine in documents.iter().filter_map(|one| one.machine.as_ref()) {
            contradiction(name, way, machine)?;
        }
        let origin = if configuration.unit != "us" {
            Origin::Emulated
        } else if way == Way::CoKernel {
            Origin::Elsewhere
        } else {
            Origin::Measured
        };
        let merged = |series: &str| {
            let mut all: Option<Distribution> = None;
            for one in documents.iter().filter_map(|one| one.merged(series)) {
                match &mut all {
                    Some(all) => all.merge(&one),
                    None => all = Some(one),
                }
            }
            all
        };
        let moments = |series: &str| merged(series).and_then(|all| all.moments());
        let unloaded = moments(EXECUTION_TIME_UNLOADED).map(|moments| moments.min as f64);
        let execution = merged(EXECUTION_TIME).filter(|all| !all.is_summary());
        let latencies = documents.iter().flat_map(|one| &one.series);
        Ok(Self {
            way,
            origin,
            loads: runs.first().map_or_else(String::new, loads_of),
            busy: Busy::of(&runs, &configuration),
            interval_us: runs.iter().find_map(interval_us),
            blocks: latencies
                .filter(|series| series.name == LATENCY)
                .filter_map(|series| series.blocks.clone())
                .collect(),
            machine,
            execution: execution.zip(unloaded.filter(|min| *min > 0.0)),
            command: COMMAND_SERIES.into_iter().find_map(|series| {
                let of_run = |one: &Document| Some(one.merged(series)?.moments()?.mean);
                Some(CommandTimes {
                    words: command_of(documents),
                    mean_ns: moments(series)?.mean,
                    runs_ns: documents.iter().filter_map(of_run).collect(),
                })
            }),
            round_us: moments("round").map(|moments| moments.mean / 1000.0),
            curves: completion::curves(documents),
            steps: documents
                .iter()
                .find_map(|one| one.setup.options.get(STEPS))
                .map(ToString::to_string),
            configuration,
        })
    }

    /// The rows of an experiment, but for those of published schedulers: none of them is an answer.
    ///
    /// # Errors
    /// [`Error`].
    pub fn of_experiment(experiment: &Experiment) -> Result<Vec<Self>, Error> {
        let configurations = of_experiment(experiment)?;
        let rows = experiment.rows.iter().zip(configurations);
        Ok(rows
            .filter_map(|(row, configuration)| {
                let way = match (&row.scheduler, row.preemption.as_str()) {
                    (Scheduler::Artis, "rt") => Way::ArtisOnPreemptRt,
                    (Scheduler::Artis, _) => Way::Artis,
                    (Scheduler::Isolcpus, _) => Way::Shield,
                    (Scheduler::Stock, "rt") => Way::PreemptRt,
                    (Scheduler::Stock, _) => Way::Stock,
                    (Scheduler::Published(_), _) => return None,
                };
                Some(Self {
                    way,
                    origin: Origin::Emulated,
                    loads: counted(row.loads.iter().cloned()),
                    busy: Busy::of_row(&row.loads),
                    interval_us: None,
                    configuration,
                    blocks: Vec::new(),
                    machine: None,
                    execution: None,
                    command: None,
                    round_us: None,
                    curves: Vec::new(),
                    steps: None,
                })
            })
            .collect())
    }

    /// Its name as the user gave it.
    pub fn name(&self) -> &str {
        &self.configuration.name
    }

    pub fn figure(&self, metric: &Metric) -> Option<f64> {
        self.configuration.whole.get(metric).map(|it| it.value)
    }

    pub fn latency_us(&self, stat: Stat) -> Option<f64> {
        self.figure(&Metric::Of(Quantity::Latency, stat))
    }

    /// Whether a virtual machine was measured.
    pub fn is_virtual(&self) -> bool {
        let machine = self.machine.as_ref();
        machine.is_some_and(|machine| machine.virtualisation.is_some())
    }
}

/// The command that a measurement of throughput or of commands ran.
fn command_of(documents: &[Document]) -> Option<String> {
    let measured = |one: &&Document| {
        let mut all = one.series.iter();
        all.any(|series| COMMAND_SERIES.contains(&series.name.as_str()))
    };
    let options = |one: &Document| {
        let options = &one.setup.options;
        let words = options.get("workload").or_else(|| options.get("command"));
        words.and_then(|words| words.as_str().map(str::to_owned))
    };
    documents.iter().filter(measured).find_map(options)
}

fn loads_of(document: &Document) -> String {
    loads_in_words(&document.load)
}

/// Latencies beside one load say nothing of those beside another.
fn one_load(name: &str, runs: &[Document]) -> Result<(), Error> {
    let Some((first, rest)) = runs.split_first() else {
        return Ok(());
    };
    match rest.iter().find(|other| loads_of(other) != loads_of(first)) {
        None => Ok(()),
        Some(other) => Err(Error::Loads {
            one: format!("a run of {name} had {}", loads_of(first)),
            other: format!("another had {}", loads_of(other)),
        }),
    }
}

/// A file that was measured on something else than its name says.
fn contradiction(name: &str, way: Way, machine: &Machine) -> Result<(), Error> {
    let wrong = |found: String| {
        Err(Error::OtherWay {
            name: name.to_owned(),
            way,
            found,
        })
    };
    let preemption = machine.preemption.as_str();
    if !preemption.is_empty() && way != Way::CoKernel {
        let is = preemption == "PREEMPT_RT";
        if is != way.is_preempt_rt() {
            return wrong(format!("a kernel whose preemption is {preemption}"));
        }
        match machine.scheduler.as_deref() {
            Some("artis") if way.is_artis() => {}
            Some(other) => return wrong(format!("the scheduler {other}")),
            None if way.is_artis() => return wrong("the kernel's own scheduler".to_owned()),
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_way_it_is() {
        for (name, way) in [
            ("stock", Some(Way::Stock)),
            ("mon/tuned", Some(Way::Tuned)),
            ("isolcpus@4cpus", Some(Way::Shield)),
            ("artis", Some(Way::Artis)),
            ("preempt-rt", Some(Way::PreemptRt)),
            ("PREEMPT_RT", Some(Way::PreemptRt)),
            ("rt", Some(Way::PreemptRt)),
            ("artis-rt", Some(Way::ArtisOnPreemptRt)),
            ("xenomai", Some(Way::CoKernel)),
            ("monday", None),
            ("party", None),
        ] {
            assert_eq!(Way::of_name(name), way, "{name}");
        }
    }

    #[test]
    fn a_file_that_was_measured_on_something_else_is_refused() {
        let mut machine = Machine::of_kernel("6.12".to_owned());
        assert!(contradiction("stock", Way::Stock, &machine).is_ok());
        machine.preemption = "PREEMPT_RT".to_owned();
        let error = contradiction("stock", Way::Stock, &machine).unwrap_err();
        assert!(
            error.to_string().contains("preemption is PREEMPT_RT"),
            "{error}"
        );
        assert!(contradiction("rt", Way::PreemptRt, &machine).is_ok());
        let error = contradiction("artis-rt", Way::ArtisOnPreemptRt, &machine).unwrap_err();
        assert!(error.to_string().contains("own scheduler"), "{error}");
        machine.scheduler = Some("lavd_1.0".to_owned());
        for (name, way) in [("rt", Way::PreemptRt), ("artis-rt", Way::ArtisOnPreemptRt)] {
            let error = contradiction(name, way, &machine).unwrap_err().to_string();
            assert!(error.contains("the scheduler lavd_1.0"), "{error}");
        }
    }
}
