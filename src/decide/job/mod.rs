// SPDX-License-Identifier: GPL-2.0-only
//! The job: what has to be done by when, what a miss costs, and what else the machine is for.
//!
//! A small TOML file, or the same numbers one by one. Owns what the fields mean and which
//! contradict each other; reads no file. Questions are those of McKenney, "'Real Time' vs. 'Real
//! Fast'", section 5.

use artis_result::Nature;
use artis_result::damage::Fault;
use artis_result::value::{Bytes, Part, Time};
pub use artis_result::value::{bytes, part, time_us};
use serde::{Deserialize, Serialize};

/// One activation a nanosecond.
pub const PER_SECOND_MAX: f64 = 1e9;
/// A miss of each of them.
pub const PER_HOUR_MAX: f64 = 3600.0 * PER_SECOND_MAX;

/// What is wrong with a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not understood: the line, and what was expected there.
    #[error(transparent)]
    Syntax(#[from] Fault),
    #[error("{0}")]
    Contradiction(String),
    /// Something else has to be said, too.
    #[error("{what}: {in_file}")]
    Missing {
        what: &'static str,
        in_file: &'static str,
        /// The same for a job that is only options.
        as_options: &'static str,
    },
}

impl Error {
    /// For a job that has no file.
    pub fn of_options(&self) -> String {
        match self {
            Self::Missing {
                what, as_options, ..
            } => format!("{what}: {as_options}"),
            other => other.to_string(),
        }
    }
}

/// How long one activation works on an idle machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// How long, microseconds.
    Us(f64),
    /// As the execution times in this result file are distributed.
    File(String),
    /// As long as this command takes, which only a measurement finds out.
    Command(Vec<String>),
}

/// What a miss costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Miss {
    /// None may happen. With a probability, the run has to show that with 95 % confidence a miss
    /// has at most that one, each activation.
    Hard { probability: Option<f64> },
    /// How many an hour are acceptable.
    PerHour(f64),
}

/// The job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Job {
    pub name: String,
    /// From the event to the end of the work. None: only throughput counts.
    pub deadline_us: Option<f64>,
    /// Activations a second; none when it is not said, and then one follows the other.
    pub rate: Option<f64>,
    pub work: Option<Work>,
    pub nature: Nature,
    /// Threads compute equal pieces and wait for each other.
    pub barrier: bool,
    pub miss: Miss,
    /// What else the machine does: the name of a load.
    pub rest: Option<String>,
    /// Or the command that it is.
    pub rest_command: Option<Vec<String>>,
    /// The part of that work that may be lost, 0 to 1.
    pub loss: f64,
    /// What the workload needs, and what the machine has.
    pub memory_needed: Option<f64>,
    pub memory: Option<f64>,
    /// It has to run in a virtual machine.
    pub is_virtual: bool,
    /// The part of the CPUs' time that is used at the peak as it is now, 0 to 1: so much of stock's
    /// throughput is needed. None: all of it.
    pub utilisation: Option<f64>,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            name: "job".to_owned(),
            deadline_us: None,
            rate: None,
            work: None,
            nature: Nature::User,
            barrier: false,
            miss: Miss::Hard { probability: None },
            rest: None,
            rest_command: None,
            loss: 1.0,
            memory_needed: None,
            memory: None,
            is_virtual: false,
            utilisation: None,
        }
    }
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    name: Option<String>,
    activation: Option<Activation>,
    miss: Option<StoredMiss>,
    rest: Option<Rest>,
    machine: Option<Machine>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Activation {
    deadline: Option<Time>,
    period: Option<Time>,
    per_second: Option<f64>,
    work: Option<Time>,
    work_file: Option<String>,
    work_command: Option<Vec<String>>,
    #[serde(default)]
    nature: Nature,
    #[serde(default)]
    barrier: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredMiss {
    hard: Option<bool>,
    probability: Option<f64>,
    per_hour: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rest {
    load: Option<String>,
    command: Option<Vec<String>>,
    loss: Option<Part>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Machine {
    memory_needed: Option<Bytes>,
    memory: Option<Bytes>,
    #[serde(default, rename = "virtual")]
    is_virtual: bool,
    utilisation: Option<Part>,
}

impl Job {
    /// Understands a job file.
    ///
    /// # Errors
    /// [`Error`], a sentence.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let stored: Stored = toml::from_str(text)
            .map_err(|error| Fault::in_toml(text, error.span(), error.message(), &|_| None))?;
        let activation = stored.activation.unwrap_or_default();
        let works = [
            activation.work.map(|time| Work::Us(time.0)),
            activation.work_file.map(Work::File),
            activation.work_command.map(Work::Command),
        ];
        let mut works = works.into_iter().flatten();
        let work = works.next();
        if works.next().is_some() {
            return wrong("give one of work, work_file and work_command; there are several");
        }
        let rate = match (activation.period, activation.per_second) {
            (Some(_), Some(_)) => {
                return wrong("period and per_second say the same thing; give one of them");
            }
            (Some(period), None) => Some(1e6 / period.0),
            (None, per_second) => per_second,
        };
        let miss = match stored.miss {
            None => Miss::Hard { probability: None },
            Some(StoredMiss {
                hard: Some(false),
                probability: None,
                per_hour: None,
            }) => {
                return wrong(
                    "a miss that is not hard is acceptable so often: add per_hour or probability \
                     below [miss]",
                );
            }
            Some(miss) => match (miss.per_hour, miss.probability) {
                (Some(_), _) if miss.hard == Some(true) => {
                    return wrong(
                        "a miss is hard or so many an hour are acceptable; give one of them",
                    );
                }
                (Some(_), Some(_)) => {
                    return wrong("probability is of hard deadlines; leave out per_hour or it");
                }
                (Some(per_hour), None) => Miss::PerHour(per_hour),
                (None, probability) => Miss::Hard { probability },
            },
        };
        let (rest, rest_command, loss) = match stored.rest {
            None => (None, None, None),
            Some(Rest {
                load: Some(_),
                command: Some(_),
                ..
            }) => return wrong("the other work is a load or a command; give one of them"),
            Some(rest) => (rest.load, rest.command, rest.loss),
        };
        let machine = stored.machine;
        let machine = machine.as_ref();
        let job = Self {
            name: stored.name.unwrap_or_else(|| Self::default().name),
            deadline_us: activation.deadline.map(|time| time.0),
            rate,
            work,
            nature: activation.nature,
            barrier: activation.barrier,
            miss,
            rest,
            rest_command,
            loss: loss.map_or(1.0, |part| part.0),
            memory_needed: machine
                .and_then(|it| it.memory_needed.as_ref())
                .map(|it| it.0),
            memory: machine.and_then(|it| it.memory.as_ref()).map(|it| it.0),
            is_virtual: machine.is_some_and(|it| it.is_virtual),
            utilisation: machine
                .and_then(|it| it.utilisation.as_ref())
                .map(|it| it.0),
        };
        job.check()?;
        Ok(job)
    }

    /// Refuses what contradicts itself.
    ///
    /// # Errors
    /// [`Error::Contradiction`].
    pub fn check(&self) -> Result<(), Error> {
        self.check_numbers()?;
        self.check_whole()?;
        self.check_work()
    }

    /// Numbers are within their ranges, and misses can be counted.
    fn check_numbers(&self) -> Result<(), Error> {
        if self
            .rate
            .is_some_and(|rate| !(rate > 0.0 && rate <= PER_SECOND_MAX))
        {
            return wrong("per_second is above 0, up to 1e9");
        }
        let parts = [Some(self.loss), self.utilisation];
        if !parts
            .into_iter()
            .flatten()
            .all(|part| (0.0..=1.0).contains(&part))
        {
            return wrong("loss and utilisation are parts from 0 to 1");
        }
        match self.miss {
            Miss::PerHour(count) if !(0.0..=PER_HOUR_MAX).contains(&count) => {
                return wrong("per_hour is a number of misses, from 0 to 3.6e12");
            }
            Miss::PerHour(_) if self.deadline_us.is_some() && self.rate.is_none() => {
                return Err(Error::Missing {
                    what: "misses an hour need to know how many activations there are",
                    in_file: "add period or per_second below [activation]",
                    as_options: "add --period TIME or --per-second N",
                });
            }
            Miss::Hard {
                probability: Some(p),
            } if !(p > 0.0 && p < 1.0) => {
                return wrong("the probability of a miss is above 0 and below 1, such as 1e-6");
            }
            _ => {}
        }
        Ok(())
    }

    /// What belongs together is there together.
    fn check_whole(&self) -> Result<(), Error> {
        if self.deadline_us.is_some() && self.work.is_none() {
            return Err(Error::Missing {
                what: "a deadline is met by the end of the work, and no work is given",
                in_file: "add work, work_file or work_command below [activation]",
                as_options: "add --work TIME or --work-file FILE",
            });
        }
        let asks = self.loss < 1.0 || self.miss != (Miss::Hard { probability: None });
        if self.deadline_us.is_none() && asks {
            return Err(Error::Missing {
                what: "without a deadline there are no misses, and nothing is given up for it",
                in_file: "add deadline and work below [activation], or leave out loss, per_hour \
                          and probability",
                as_options: "add --deadline TIME and --work TIME, or leave out --loss, --per-hour \
                             and --probability",
            });
        }
        if self.memory_needed.is_some() != self.memory.is_some() {
            return Err(Error::Missing {
                what: "the memory that is needed and that there is belong together",
                in_file: "give both memory_needed and memory below [machine], or neither",
                as_options: "give both --memory-needed SIZE and --memory SIZE, or neither",
            });
        }
        Ok(())
    }

    /// Commands have words, and a CPU can do the work.
    fn check_work(&self) -> Result<(), Error> {
        let says_nothing = |word: &String| word.trim().is_empty();
        match &self.work {
            Some(Work::Command(words)) if words.first().is_none_or(says_nothing) => {
                return wrong(
                    "work_command is a command and its words, such as [\"./step\", \"--once\"]; it \
                     is empty",
                );
            }
            _ => {}
        }
        if let Some(words) = &self.rest_command
            && words.first().is_none_or(says_nothing)
        {
            return wrong(
                "the command below [rest] has its words, such as [\"make\", \"-j8\"]; it is empty",
            );
        }
        if let (Some(Work::Us(work_us)), Some(rate)) = (&self.work, self.rate) {
            let share = work_us * rate / 1e6;
            if share > 1.0 {
                return Err(Error::Contradiction(format!(
                    "work of {work_us} us comes {rate} times a second, which is {:.0} % of a CPU: \
                     no machine does that; give a longer period or less work",
                    share * 100.0
                )));
            }
        }
        Ok(())
    }

    /// The part of stock's throughput that has to be kept: all that is used at the peak, and
    /// without a word of that all there is, less what may be lost.
    pub fn wanted(&self) -> f64 {
        self.utilisation.unwrap_or(1.0) * (1.0 - self.loss)
    }

    /// The part of the peak's work that is done by a candidate which keeps so much of stock's
    /// throughput; without a word of the peak, of all work.
    pub fn served(&self, kept: f64) -> f64 {
        match self.utilisation {
            None => kept,
            Some(used) if used <= kept => 1.0,
            Some(used) => kept / used,
        }
    }

    /// Whether the workload fills the memory, so that page faults come.
    pub fn fills_memory(&self) -> bool {
        let needed = self.memory_needed.zip(self.memory);
        needed.is_some_and(|(needed, memory)| needed >= memory)
    }
}

fn wrong<T>(sentence: &str) -> Result<T, Error> {
    Err(Error::Contradiction(sentence.to_owned()))
}

#[cfg(test)]
mod tests;
