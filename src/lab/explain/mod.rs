// SPDX-License-Identifier: GPL-2.0-only
//! Who made the worst samples of one guest of an experiment, without disturbing it.
//!
//! Runs the guest of an experiment once more, the same to the byte, while the emulator reports
//! each call, interrupt and return of its RT CPU ([`crate::engine::observed`]). Owns how the worst
//! wakeups ([`watch`]) and activations ([`activations`]) are found meanwhile, the names of the
//! kernel's functions ([`names`]), how steps become a recording ([`translate`]), which
//! `artis-explain` cuts as it cuts any other, and how they are listed ([`calls`]).
//! Only the worst ones' steps are kept, whatever the guest does.

pub mod activations;
mod calls;
mod names;
pub mod translate;
pub mod watch;

use crate::Error as LabError;
use crate::distribution::Distro;
use crate::engine::observed::Observed;
use crate::experiment::plan::{Experiment, Run};
use crate::experiment::run::{self, Options};
use crate::experiment::store::Kept;
use crate::host::scratch::Scratch;
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::machine::record::Ended;
use crate::progress::Progress;
use artis_explain::Document;
use artis_explain::document::{Counts, Missed, SCHEMA, Thread};
use artis_explain::functions::Functions;
use artis_guest::experiment::{Event, Measure, Sample};
use artis_result::Distribution;
use artis_result::names::USER_LATENCY;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use translate::{Span, TICK_NS};
use watch::{Fitted, Watched};

/// Where the functions of a kernel are listed.
const LIST: &str = "/proc/kallsyms";
/// How long listing them may take, virtual time.
const LIST_LIMIT: Duration = Duration::from_secs(120);
/// What this machine's clock and the guest's may differ in: a call in user mode and the reading of
/// the clock are that near.
const NEAR_NS: i64 = 1000;

/// Why a guest was not explained.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Run(#[from] run::Error),
    /// The file has no such guest.
    #[error("{0}")]
    NoGuest(String),
    #[error("the guest of kernel {0} does not list its functions in /proc/kallsyms to the end")]
    NoSymbols(String),
    #[error(
        "no {what} of RT0 were seen on CPU {cpu}, where {samples} wakeups were measured: this \
         kernel's functions have other names than those that are looked for"
    )]
    Unseen {
        what: &'static str,
        cpu: u32,
        samples: u64,
    },
}

/// The explanation, and whether the guest was the one that was measured.
#[derive(Debug)]
pub struct Explanation {
    pub document: Document,
    /// What the CPU called in each of the worst, as text.
    pub calls: String,
    /// The sample of this run is that of the plain run, to the last count.
    pub is_same: bool,
}

/// What of RT0 is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The worst wakeups.
    Wakeups,
    /// The longest activations.
    Activations,
}

/// A guest of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub configuration: &'a str,
    pub seed: u64,
    /// How many CPUs it has; the first of the file when absent.
    pub cpus: Option<u32>,
    /// The name of its loads; those that the file has first when absent.
    pub loads: Option<&'a str>,
}

impl Wanted<'_> {
    /// The one of `experiment` that measures RT0's latency.
    ///
    /// # Errors
    /// [`Error::NoGuest`], with what there is.
    pub fn of(&self, experiment: &Experiment) -> Result<Run, Error> {
        let refused = |reason: String| Err(Error::NoGuest(reason));
        let no = |what: String, there_are: String| {
            let name = &experiment.name;
            refused(format!(
                "the experiment {name} has no {what}; it has {there_are}"
            ))
        };
        let configurations = experiment.configurations.iter();
        let names: Vec<&str> = configurations.map(|one| one.name.as_str()).collect();
        let Some(place) = names.iter().position(|name| *name == self.configuration) else {
            return no(
                format!("configuration {}", self.configuration),
                names.join(", "),
            );
        };
        if !experiment.seeds.contains(&self.seed) {
            return no(format!("seed {}", self.seed), listed_all(&experiment.seeds));
        }
        let cpus = self.cpus.or(experiment.cpus.first().copied());
        if !experiment.cpus.iter().any(|one| Some(*one) == cpus) {
            let wanted = self.cpus.unwrap_or_default();
            return no(
                format!("guest of {wanted} CPUs"),
                format!("guests of {}", listed_all(&experiment.cpus)),
            );
        }
        let sets = experiment.loads.sets();
        let is_wanted = |name: Option<&String>| match self.loads {
            Some(wanted) => name.is_some_and(|name| name == wanted),
            None => true,
        };
        let Some(loads) = sets.iter().position(|set| is_wanted(set.name.as_ref())) else {
            let names: Vec<String> = sets.iter().filter_map(|set| set.name.clone()).collect();
            let there_are = match names.is_empty() {
                true => "one list of loads, without a name".to_owned(),
                false => listed_all(&names),
            };
            return no(
                format!("loads {}", self.loads.unwrap_or_default()),
                there_are,
            );
        };
        let fits = |run: &Run| {
            let rt0 = [Measure::Latency, Measure::Responsiveness];
            (run.configuration, run.seed, run.loads) == (place, self.seed, loads)
                && Some(run.cpus) == cpus
                && rt0.contains(&run.task.measure)
        };
        let mut runs = experiment.runs().into_iter().filter(fits);
        match runs.next() {
            // Several threads come at once: which of them is late is not in a call.
            Some(run) if run.task.event != Event::Timer => refused(format!(
                "RT0 is woken by {} in the experiment {}, and only a timer's wakeups can be \
                 explained",
                run.task.event.name(),
                experiment.name
            )),
            Some(run) if run.task.timers == 1 => Ok(run),
            Some(run) => refused(format!(
                "RT0 has {} threads in the experiment {}, and only one can be explained",
                run.task.timers, experiment.name
            )),
            None => refused(format!(
                "the experiment {} measures no latency of RT0",
                experiment.name
            )),
        }
    }
}

fn listed_all<T: ToString>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// Runs the guest `wanted` and explains its `worst` worst wakeups or activations.
///
/// # Errors
/// As of [`run::run`], and when no wakeup was seen.
pub fn explain(
    experiment: &Experiment,
    wanted: &Run,
    (which, worst): (Which, usize),
    kernels: &dyn Distro,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<Explanation, Error> {
    let configuration = &experiment.configurations[wanted.configuration];
    let kernel = kernels.resolve(&options.kernel(configuration), progress)?;
    configuration.fits(&kernel)?;
    let functions = functions_of(&kernel, kernels, options, progress)?;
    let cpu = wanted.task.rt.first().unwrap_or_default();
    let period = wanted.task.interval_us * 1000 / TICK_NS;
    let watched = Arc::new(Mutex::new(Watched::new(&functions, period, worst)));
    let observer = Arc::clone(&watched);
    let observed = Observed { cpu, observer };
    let (measured, plain) = run::observe(experiment, wanted, kernels, options, observed, progress)?;
    let watched = {
        let mut place = watched.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *place, Watched::new(&functions, period, 0))
    };
    let (document, calls) = document(
        &experiment.guest_name(wanted),
        &measured.kept,
        watched,
        (which, worst),
        cpu,
        &functions,
    )?;
    Ok(Explanation {
        document,
        calls,
        is_same: is_same(&plain.sample, &measured.kept.sample),
    })
}

/// Whether two samples are the same, to the last count.
fn is_same(one: &Sample, other: &Sample) -> bool {
    let value = |sample| serde_json::to_value(sample).ok();
    value(one) == value(other)
}

/// The functions of `kernel`, from the cache or from a guest that lists them.
fn functions_of(
    kernel: &Kernel,
    kernels: &dyn Distro,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<Functions, Error> {
    let facts = &kernel.facts;
    let cache = kernels.cache();
    let path = cache.path(&format!(
        "symbols/{}_{}",
        facts.release,
        facts.version.replace('/', "_")
    ))?;
    if let Ok(text) = std::fs::read_to_string(&path)
        && let Ok(functions) = listed(Ended::Exit(0), &text, &facts.release)
    {
        return Ok(functions);
    }
    progress.note(&format!(
        "a guest lists the functions of {}, once for this kernel",
        facts.release
    ));
    let output = Scratch::new()?;
    let mut machine = Machine::new(
        Arc::clone(&options.engine),
        cache,
        kernel.clone(),
        Arc::clone(&options.system),
        output.path().to_owned(),
    );
    machine.stop = Arc::clone(&options.stop);
    machine.timeout = Some(LIST_LIMIT);
    let command = ["grep", "-i", " [tw] ", LIST].map(OsString::from);
    let mut complaints = Vec::new();
    let ran = machine.run_again_when_lost(&command, &mut complaints, progress);
    let (outcome, text) = ran.map_err(|error| output.keep_console(error))?;
    let text = String::from_utf8_lossy(&text);
    let functions = listed(outcome.ended, &text, &facts.release)?;
    cache.write_file(&path, text.as_bytes())?;
    Ok(functions)
}

/// The functions in a list whose command ended like this. A part of a list would give all functions
/// behind it the name of its last one.
fn listed(ended: Ended, text: &str, release: &str) -> Result<Functions, Error> {
    if let Ended::Interrupted(signal) = ended {
        let signal = usize::try_from(signal).unwrap_or_default();
        let (done, all) = (0, 1);
        return Err(run::Error::Interrupted { signal, done, all }.into());
    }
    let functions = Functions::parse(text);
    if ended != Ended::Exit(0) || !text.ends_with('\n') || functions.is_empty() {
        return Err(Error::NoSymbols(release.to_owned()));
    }
    Ok(functions)
}

/// What was seen, as the document that `artis explain show` reads, and what was called.
fn document(
    name: &str,
    kept: &Kept,
    watched: Watched,
    (which, worst): (Which, usize),
    cpu: u32,
    functions: &Functions,
) -> Result<(Document, String), Error> {
    let empty = Distribution::new();
    let series = kept.sample.series.iter();
    let latency = series
        .filter(|series| series.name == USER_LATENCY)
        .map(|series| &series.distribution)
        .next()
        .unwrap_or(&empty);
    let moments = latency.moments();
    let unseen = |what| Error::Unseen {
        what,
        cpu,
        samples: latency.count(),
    };
    let (Some(moments), Some(rt0)) = (moments, watched.rt0()) else {
        return Err(unseen("wakeups"));
    };
    let seen = watched.count();
    let max_ns = u64::try_from(moments.max).unwrap_or_default();
    let fitted = watched.fit(
        max_ns / TICK_NS,
        worst,
        usize::try_from(latency.count()).unwrap_or(usize::MAX),
    );
    if which == Which::Activations && fitted.lengths.is_empty() {
        return Err(unseen("activations"));
    }
    let soonest_ns = fitted.soonest * TICK_NS.cast_signed();
    let usual = fitted.lengths.iter().copied().min().unwrap_or_default();
    let spans = spans(which, &fitted, usual);
    let recordings = spans
        .iter()
        .map(|span| translate::recording(span, rt0, cpu, functions))
        .collect();
    let lost_ns = |length: &u64| (length - usual) * TICK_NS;
    let mean_ns = moments.mean.max(0.0);
    let document = Document {
        schema: SCHEMA.to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: kept.kernel.clone(),
        watched: format!("RT0 of the guest {name}; {}", crate::engine::bochs::TIMING),
        seconds: kept.sample.window_ns as f64 / 1e9,
        ended_early: None,
        memory_bytes: 0,
        events: seen as u64,
        missed: Missed::default(),
        absent: absent(soonest_ns, moments.min),
        threads: vec![Thread {
            tid: 1,
            name: "RT0".to_owned(),
            ended: true,
            wakeups: Counts {
                count: latency.count(),
                ns_sum: (mean_ns * latency.count() as f64) as u64,
                ns_max: max_ns,
            },
            activations: Counts {
                count: fitted.lengths.len() as u64,
                ns_sum: fitted.lengths.iter().map(lost_ns).sum(),
                ns_max: fitted.lengths.iter().map(lost_ns).max().unwrap_or(0),
            },
            ..Thread::default()
        }],
        history: Default::default(),
        worst: Vec::new(),
        culprits: Vec::new(),
        advice: Vec::new(),
    };
    Ok((document.explain(recordings), calls::list(&spans, functions)))
}

/// What is explained; `usual` is the shortest activation.
fn spans(which: Which, fitted: &Fitted, usual: u64) -> Vec<Span<'_>> {
    match which {
        Which::Wakeups => {
            let worst = fitted.worst.iter();
            worst.map(|(late, one)| Span::wakeup(one, *late)).collect()
        }
        Which::Activations => {
            let longest = fitted.longest.iter();
            longest.map(|one| Span::activation(one, usual)).collect()
        }
    }
}

/// What calls do not show, a sentence each; the soonest wakeup seen and the soonest sample, ns.
fn absent(seen_ns: i64, sample_ns: i64) -> Vec<String> {
    let mut absent = vec![
        "names and priorities of tasks are in no call: a process is known by its page table, and a \
         kernel thread by the first function that it called"
            .to_owned(),
        "returns are not reported: where a task was is shown by the functions that it called last \
         before RT0 was due, the latest first"
            .to_owned(),
    ];
    if (seen_ns - sample_ns).abs() > NEAR_NS {
        absent.push(format!(
            "the soonest wakeup seen took {:.1} us, the soonest sample is {:.1} us: the clocks do \
             not fit, and the times above are so far off",
            seen_ns as f64 / 1000.0,
            sample_ns as f64 / 1000.0
        ));
    }
    absent
}

#[cfg(test)]
mod tests;
