// SPDX-License-Identifier: GPL-2.0-only
//! The job of `artis decide`: its file, and the options that stand in for it or change it.

use crate::cli::exit::UsageError;
use crate::decide::job::{self, Job, Miss, Work};
use crate::decide::verdict::Question;
use crate::result::{Distribution, Kind, Nature, file, import};
use anyhow::Context;
use std::path::{Path, PathBuf};

/// The numbers of the job.
#[derive(clap::Args, Default)]
pub struct Options {
    /// From the event to the end of the work, with its unit: 250us
    #[arg(long, value_name = "TIME", value_parser = job::time_us)]
    deadline: Option<f64>,
    /// How long one activation works on an idle machine
    #[arg(long, value_name = "TIME", value_parser = job::time_us)]
    work: Option<f64>,
    /// As the execution times in this result are distributed
    #[arg(long, value_name = "FILE", conflicts_with = "work")]
    work_file: Option<PathBuf>,
    /// Time between two activations
    #[arg(long, value_name = "TIME", value_parser = job::time_us)]
    period: Option<f64>,
    /// Activations a second
    #[arg(long, value_name = "N", value_parser = per_second, conflicts_with = "period")]
    per_second: Option<f64>,
    /// What the work is: user, system-calls or io
    #[arg(long, value_name = "NATURE", value_parser = nature)]
    nature: Option<Nature>,
    /// Threads compute equal pieces and wait for each other
    #[arg(long)]
    barrier: bool,
    /// How many misses an hour are acceptable [default: none]
    #[arg(long, value_name = "N", value_parser = per_hour, conflicts_with = "probability")]
    per_hour: Option<f64>,
    /// With 95 % confidence a miss must have at most this probability
    #[arg(long, value_name = "P", value_parser = probability)]
    probability: Option<f64>,
    /// The other work of the machine: the load that it was measured with
    #[arg(long, value_name = "LOAD")]
    rest: Option<String>,
    /// The part of the other work that may be lost: 0.1 or "10 %"
    #[arg(long, value_name = "PART", value_parser = job::part)]
    loss: Option<f64>,
    /// Memory that the workload needs, with its unit: 2GiB
    #[arg(long, value_name = "SIZE", value_parser = job::bytes)]
    memory_needed: Option<f64>,
    /// Memory that the machine has
    #[arg(long, value_name = "SIZE", value_parser = job::bytes)]
    memory: Option<f64>,
    /// It has to be a virtual machine
    #[arg(long = "virtual")]
    is_virtual: bool,
    /// The part of the CPUs' time that is used at the peak, as the machine is now
    #[arg(long, value_name = "PART", value_parser = job::part)]
    utilisation: Option<f64>,
}

fn nature(word: &str) -> Result<Nature, String> {
    let known = Nature::ALL.into_iter().find(|it| it.to_string() == word);
    known.ok_or_else(|| "write user, system-calls or io".to_owned())
}

fn per_second(text: &str) -> Result<f64, String> {
    number(text, |rate| rate > 0.0 && rate <= job::PER_SECOND_MAX).ok_or_else(|| {
        "write how many activations a second there are, above 0, up to 1e9, such as 1000".to_owned()
    })
}

fn per_hour(text: &str) -> Result<f64, String> {
    number(text, |count| (0.0..=job::PER_HOUR_MAX).contains(&count))
        .ok_or_else(|| "write a number of misses, 0 or more, such as 5 or 0.1".to_owned())
}

fn probability(text: &str) -> Result<f64, String> {
    number(text, |chance| chance > 0.0 && chance < 1.0)
        .ok_or_else(|| "write a probability above 0 and below 1, such as 1e-6".to_owned())
}

/// The number, if it is one and allowed.
fn number(text: &str, allowed: impl Fn(f64) -> bool) -> Option<f64> {
    text.parse().ok().filter(|number| allowed(*number))
}

impl Options {
    /// The job of the file, or an empty one, with what the options say.
    pub fn job(&self, path: Option<&Path>) -> anyhow::Result<Job> {
        let mut job = match path {
            None => Job::default(),
            Some(path) => {
                let text = file::read_text(path)?;
                let text = String::from_utf8(text)
                    .with_context(|| format!("{} is no text", path.display()))?;
                Job::parse(&text).with_context(|| path.display().to_string())?
            }
        };
        job.deadline_us = self.deadline.or(job.deadline_us);
        let period = self.period.map(|us| 1e6 / us);
        job.rate = period.or(self.per_second).or(job.rate);
        job.nature = self.nature.unwrap_or(job.nature);
        job.barrier |= self.barrier;
        if let Some(us) = self.work {
            job.work = Some(Work::Us(us));
        }
        if let Some(file) = &self.work_file {
            // That of a job's file is relative to the job's folder.
            let file = std::path::absolute(file).context("--work-file")?;
            job.work = Some(Work::File(file.to_string_lossy().into_owned()));
        }
        if let Some(count) = self.per_hour {
            job.miss = Miss::PerHour(count);
        }
        if self.probability.is_some() {
            job.miss = Miss::Hard {
                probability: self.probability,
            };
        }
        job.rest = self.rest.clone().or(job.rest);
        job.loss = self.loss.unwrap_or(job.loss);
        job.memory_needed = self.memory_needed.or(job.memory_needed);
        job.memory = self.memory.or(job.memory);
        job.is_virtual |= self.is_virtual;
        job.utilisation = self.utilisation.or(job.utilisation);
        job.check().map_err(|error| match path {
            Some(_) => UsageError(error.to_string()),
            None => UsageError(error.of_options()),
        })?;
        Ok(job)
    }
}

/// The question of a job, with the times of its work: of its file, or of its command if they were
/// measured.
pub fn question(
    job: Job,
    path: Option<&Path>,
    command: Option<&Distribution>,
) -> anyhow::Result<Question> {
    let of_file = match &job.work {
        Some(Work::File(name)) => Some(execution_times(path, name)?),
        _ => None,
    };
    Ok(Question::new(job, of_file.as_ref().or(command))?)
}

/// The execution times in a result file, whose path is relative to the job's file.
fn execution_times(job: Option<&Path>, name: &str) -> anyhow::Result<Distribution> {
    let folder = job.and_then(Path::parent).unwrap_or(Path::new(""));
    let path = folder.join(name);
    let bytes = file::read_text(&path).context("the job's work_file")?;
    let document = import::parse(&path, &bytes, None, None)?;
    if document.is_emulated() || document.virtual_unit().is_some() {
        anyhow::bail!(
            "{}: its times are an emulator's, and the job's are real; measure on the machine",
            path.display()
        );
    }
    let of_work = document
        .series
        .iter()
        .find(|series| series.name == "execution_time")
        .or_else(|| {
            let mut all = document.series.iter();
            all.find(|series| series.kind == Kind::ExecutionTime)
        });
    let series = of_work.with_context(|| {
        format!(
            "{} has no execution times; give a result of artis measure exec",
            path.display()
        )
    })?;
    Ok(series.distribution.clone())
}
