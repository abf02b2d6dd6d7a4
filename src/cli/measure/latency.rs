// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure latency`: cyclictest's letters, the project's result.

use super::common::Common;
use super::cpus;
use super::cyclictest::Others;
use super::policy::{self, Scheduling};
use super::sentences::{failure, progress};
use crate::cli::duration;
use crate::cli::exit::{BOUND_MISSED, UsageError};
use crate::cli::value;
use crate::machine::{CpuList, Root, memory};
use crate::measure::latency::sampler::Limits;
use crate::measure::latency::series::series;
use crate::measure::latency::source::{GpioLines, Request, SourceKind};
use crate::measure::latency::split::Split;
use crate::measure::latency::{self, Plan, ThreadPlan};
use crate::measure::thread::{PRIORITY, Policy};
use crate::measure::tracing;
use crate::recorder::Storage;
use crate::report::series::of_document;
use crate::report::{explain, latency as report};
use crate::result::Document;
use crate::result::export::{CyclictestHistogram, Exporter};
use crate::result::file::{Target, to_json};
use crate::result::names::LATENCY;
use artis_run::explainer::Explainer;
use artis_run::session::{Figures, Finished, Session, Threads};
use artis_run::voice::Voice;
use humantime::format_duration;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The policy where nobody asks for one.
const DEFAULT: Policy = Policy::Fifo(PRIORITY);

/// Measure how late threads wake up: cyclictest's options, and more sources
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
#[command(
    mut_arg("policy", |arg| arg.short_alias('y')),
    mut_arg("priority", |arg| policy::help(arg, DEFAULT, "the threads")),
    after_help = "One SCHED_FIFO thread per allowed CPU, memory locked, CPUs kept out of deep idle \
                  states. Without -D or -l it runs until Ctrl-C, which keeps every sample. Normal and \
                  ext threads have no timer slack, so that the figures are the scheduler's.\n\n\
                  Examples:\n  artis measure latency -a 1 -D 1m --load hackbench --json latency.json\n  \
                  artis measure latency -p 0 --unbound -t 4 -D 1m"
)]
pub struct Args {
    /// What to wait for
    #[arg(long, value_enum, default_value_t = SourceKind::Timer, hide_possible_values = true)]
    #[arg(help = "timer, nanosleep, timerfd, rtc, wake, pipe, udp or gpio")]
    source: SourceKind,
    /// As --source nanosleep: sleeps by relative times
    #[arg(
        short,
        long,
        visible_short_alias = 's',
        alias = "system",
        conflicts_with = "source"
    )]
    relative: bool,
    #[command(flatten)]
    policy: Scheduling,
    /// Period, microseconds [default: 1000, for rtc 976]
    #[arg(short, long, value_name = "US")]
    #[arg(value_parser = value::duration::microseconds(1..=3_600_000_000_u64))]
    interval: Option<u64>,
    /// How much longer each thread's period is than the one before, microseconds
    #[arg(short, long, value_name = "US", default_value_t = 0)]
    #[arg(value_parser = value::duration::microseconds(0..=3_600_000_000_u64))]
    distance: u64,
    /// CPUs to bind the threads to, one after the other [default: all that are allowed]
    #[arg(short, long, value_name = "LIST", num_args = 0..=1, value_parser = value::cpus::own)]
    affinity: Option<Option<CpuList>>,
    /// Number of threads; alone: one per CPU, which is the default but for rtc, gpio and --unbound
    #[arg(short, long, value_name = "N", num_args = 0..=1)]
    #[arg(value_parser = value::number::whole(1..=u16::MAX))]
    threads: Option<Option<u16>>,
    /// One thread on each CPU, which is also the default but for rtc and gpio
    #[arg(short = 'S', long, conflicts_with = "threads")]
    smp: bool,
    /// Bind no thread: each runs where the scheduler puts it; one thread unless -t says otherwise
    #[arg(long, conflicts_with_all = ["affinity", "smp"])]
    unbound: bool,
    /// Memory is always locked; accepted because cyclictest has it
    #[arg(short, long)]
    mlockall: bool,
    /// How long: seconds, or with a unit: 90s, 5m, 12h, 1d
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration::parse)]
    duration: Option<Duration>,
    /// Samples of each thread, instead of a duration; 0 is no limit
    #[arg(short, long, value_name = "N")]
    #[arg(value_parser = value::number::whole(0..=u64::MAX))]
    loops: Option<u64>,
    /// Print a histogram of so many buckets of 1 us, as cyclictest does, instead of the table
    #[arg(short = 'h', long, value_name = "US")]
    #[arg(value_parser = value::duration::microseconds(1..=1_000_000_u32))]
    histogram: Option<u32>,
    /// As -h, with a column that sums up all threads
    #[arg(short = 'H', long, value_name = "US", conflicts_with = "histogram")]
    #[arg(value_parser = value::duration::microseconds(1..=1_000_000_u32))]
    histofall: Option<u32>,
    /// Write a histogram as cyclictest does to FILE; without -h it has a line for every value
    #[arg(long, value_name = "FILE")]
    histfile: Option<PathBuf>,
    /// Also measure the kernel's part (due to handler) and the task's, by BPF, which adds to both
    #[arg(long)]
    split: bool,
    /// Say who made the ten worst wakeups late, by BPF, which adds to all
    #[arg(long)]
    explain: bool,
    /// Write that as a document (artis.explain/1) to FILE
    #[arg(long, value_name = "FILE", requires = "explain")]
    explain_json: Option<PathBuf>,
    /// Stop when a latency is above, with exit status 2
    #[arg(long, value_name = "US")]
    #[arg(value_parser = value::duration::microseconds(0..=3_600_000_000_u64))]
    on_threshold: Option<u64>,
    /// As --on-threshold, and freeze the kernel's trace on the spot; with --explain, its record
    #[arg(short, long, value_name = "US", conflicts_with = "on_threshold")]
    #[arg(value_parser = value::duration::microseconds(0..=3_600_000_000_u64))]
    breaktrace: Option<u64>,
    /// Exit latency of idle states to allow meanwhile, microseconds (/dev/cpu_dma_latency)
    #[arg(long, short_alias = 'e', value_name = "US", default_value_t = 0)]
    #[arg(value_parser = value::duration::microseconds(0..=EXIT_LATENCY_MAX))]
    latency: i32,
    /// Allow all idle states
    #[arg(long, alias = "laptop", conflicts_with = "latency")]
    default_system: bool,
    /// The clock of --source rtc
    #[arg(long, value_name = "DEVICE", default_value = "/dev/rtc0")]
    rtc: PathBuf,
    #[command(flatten)]
    gpio: Gpio,
    #[command(flatten)]
    others: Others,
    #[command(flatten)]
    common: Common,
    /// Print help
    #[arg(long, action = clap::ArgAction::HelpShort)]
    help: Option<bool>,
}

/// What /dev/cpu_dma_latency has while nobody wants anything.
const EXIT_LATENCY_MAX: i32 = 2_000_000_000;

/// The lines of `--source gpio`.
#[derive(clap::Args)]
struct Gpio {
    /// The chip of --source gpio
    #[arg(long, value_name = "DEVICE", default_value = "/dev/gpiochip0")]
    gpio_chip: PathBuf,
    /// Its input line, counted from 0
    #[arg(long, value_name = "LINE", required_if_eq("source", "gpio"))]
    #[arg(value_parser = value::number::whole(0..=u32::MAX))]
    gpio_in: Option<u32>,
    /// Its output line, which answers
    #[arg(long, value_name = "LINE", required_if_eq("source", "gpio"))]
    #[arg(value_parser = value::number::whole(0..=u32::MAX))]
    gpio_out: Option<u32>,
}

impl Gpio {
    fn lines(&self) -> Option<GpioLines> {
        Some(GpioLines {
            chip: self.gpio_chip.clone(),
            input: self.gpio_in?,
            output: self.gpio_out?,
        })
    }
}

/// The options, resolved.
struct Resolved {
    args: Args,
    /// CPU of each thread, if it is bound, and its period in ns.
    threads: Vec<(Option<u32>, u64)>,
    allowed: CpuList,
    policy: Policy,
    threshold_us: Option<u64>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let resolved = args.resolve()?;
    let args = &resolved.args;
    let mut session = Session::begin(&args.common, resolved.settings())?;
    let histfile = args.histfile.as_deref().map(Target::open).transpose()?;
    let explain_json = args.explain_json.as_deref().map(Target::open).transpose()?;
    let root = Root::default();
    let frozen = args.breaktrace.filter(|_| !args.explain);
    let freeze_trace = frozen.map(|_| tracing::switch(&root)).transpose()?;
    if let Some(empty) = frozen.and_then(|_| tracing::empty(&root)) {
        session.warn(empty);
    }
    session.prepare(Threads {
        cpus: resolved.measured(),
        policy: resolved.policy,
        // Who asks for normal threads wants the latency of normal tasks.
        wants_real_time: resolved.policy.is_real_time(),
        sleeps: true,
        exit_latency_us: args.latency,
    });
    let split = resolved.split()?;
    let mut storage = Storage::uninit();
    let mut explainer = match args.explain {
        true => Some(Explainer::load(&mut storage, args.breaktrace)?),
        false => None,
    };
    let plan = Plan {
        threads: resolved.threads(),
        duration: args.duration,
        limits: resolved.limits(),
        freeze_trace,
        split: split.as_ref(),
        tick: None,
    };

    let measurement = session.start()?;
    let stop = measurement.stop_flag();
    let sign = measurement.voice().sign(resolved.takes());
    let outcome = latency::measure(&plan, &stop, &mut |threads| {
        if let Some(explainer) = &mut explainer {
            explainer.look(threads);
        }
        sign.show(|| progress(threads));
    })?;
    drop(sign);
    if let Some(explainer) = &mut explainer {
        explainer.finish();
    }
    let exceeded = outcome
        .exceeded()
        .map(|(thread, late)| report::exceeded(thread, late.latency_ns, late.at_s));
    let finished = measurement.finish(Figures {
        seconds: Some(outcome.seconds),
        series: series(&outcome, resolved.cpus()),
        counted: Some(LATENCY),
        ended_early: exceeded.clone(),
        failure: failure(&outcome, args.source),
        ..Figures::default()
    });
    // The loads have stopped: their work is not that of a machine that explains, too.
    let sign = Voice::from(args.common.voice).sign(None);
    sign.step("explaining");
    let explained = explainer.map(Explainer::explain);
    drop(sign);
    publish(args, finished, (histfile, explain_json), explained)?;
    if let Some(exceeded) = exceeded {
        say!("artis: {exceeded}");
        return Ok(ExitCode::from(BOUND_MISSED));
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what was found, and writes the files that were asked for.
fn publish(
    args: &Args,
    mut finished: Finished,
    (histfile, explain_json): (Option<Target>, Option<Target>),
    explained: Option<crate::explain::Document>,
) -> anyhow::Result<()> {
    let histogram = match args.cyclictest_histogram(&finished.document) {
        Ok(histogram) => histogram,
        Err(error) => {
            finished.fail(error);
            None
        }
    };
    if let (Some(target), Some(text)) = (histfile, &histogram) {
        finished.files.push((target, text.clone().into_bytes()));
    }
    let explanation = explained.as_ref().map_or_else(String::new, |explained| {
        format!("\n{}", explain::text(explained))
    });
    if let (Some(target), Some(explained)) = (explain_json, &explained) {
        match to_json(explained) {
            Ok(text) => finished.files.push((target, text)),
            Err(error) => finished.fail(error.into()),
        }
    }
    match histogram.filter(|_| args.buckets().is_some()) {
        Some(text) => finished.publish(&(text + &explanation)),
        None => finished.publish_table(|document| of_document(document) + &explanation),
    }
}

/// More threads are a typing error. All their memory is locked.
const THREADS_MAX: usize = 1024;
/// What a thread locks: its stack's pages that are used, and its histograms.
const THREAD_KIB: u64 = 300;

/// Refuses threads that the machine cannot bear. One on each CPU is always allowed.
fn refuse_many(threads: usize, cpus: usize) -> Result<(), UsageError> {
    if threads > THREADS_MAX.max(cpus) {
        return Err(UsageError(format!(
            "-t {threads}: {} threads are the most",
            THREADS_MAX.max(cpus)
        )));
    }
    let needs_kib = threads as u64 * THREAD_KIB;
    let memory = memory::read(&Root::default()).ok().flatten();
    match memory.map(|memory| memory.available_kib) {
        Some(free_kib) if needs_kib > free_kib / 2 => Err(UsageError(format!(
            "{threads} threads lock about {} MiB of memory, and half of what is available is {} MiB; \
             take fewer (-t)",
            needs_kib / 1024,
            free_kib / 2048
        ))),
        _ => Ok(()),
    }
}

/// Refuses a period in which nothing would be measured.
pub(super) fn refuse_long(period: Duration, duration: Duration) -> Result<(), UsageError> {
    match period > duration {
        false => Ok(()),
        true => Err(UsageError(format!(
            "a period of {} is longer than the measurement, {}, so that it would have no sample; \
             choose a shorter period (-i) or a longer duration (-D)",
            format_duration(period),
            format_duration(duration)
        ))),
    }
}

impl Args {
    fn resolve(mut self) -> anyhow::Result<Resolved> {
        self.others.refuse()?;
        if self.relative {
            self.source = SourceKind::Nanosleep;
        }
        if self.default_system {
            self.latency = EXIT_LATENCY_MAX;
        }
        self.loops = self.loops.filter(|loops| *loops > 0);
        if self.split && !self.source.is_timer() {
            return Err(UsageError(format!(
                "--split follows a kernel timer, and --source {} has none; use timer, nanosleep or timerfd",
                self.source
            ))
            .into());
        }
        let allowed = cpus::resolve(None)?;
        let chosen = match &self.affinity {
            Some(Some(list)) => cpus::resolve(Some(list))?,
            _ => allowed.clone(),
        };
        let cpus: Vec<u32> = chosen.iter().collect();
        let count = match self.threads {
            Some(Some(count)) => usize::from(count),
            None if self.unbound => 1,
            // There is one clock, and one pair of lines.
            None if matches!(self.source, SourceKind::Rtc | SourceKind::Gpio) => 1,
            _ => cpus.len(),
        };
        refuse_many(count, cpus.len())?;
        let interval_us = |thread: usize| self.interval_us() + self.distance * thread as u64;
        if let Some(duration) = self.duration {
            refuse_long(Duration::from_micros(interval_us(count - 1)), duration)?;
        }
        Ok(Resolved {
            threads: (0..count)
                .map(|thread| {
                    let cpu = (!self.unbound).then(|| cpus[thread % cpus.len()]);
                    (cpu, interval_us(thread) * 1000)
                })
                .collect(),
            allowed: &allowed | &chosen,
            policy: self.policy.resolve(DEFAULT)?,
            threshold_us: self.on_threshold.or(self.breaktrace),
            args: self,
        })
    }

    fn buckets(&self) -> Option<u32> {
        self.histogram.or(self.histofall)
    }

    /// cyclictest's histogram, where one is wanted.
    fn cyclictest_histogram(&self, document: &Document) -> anyhow::Result<Option<String>> {
        if self.buckets().is_none() && self.histfile.is_none() {
            return Ok(None);
        }
        let latency = document
            .series
            .iter()
            .filter(|series| series.name == LATENCY);
        let format = CyclictestHistogram {
            lines: self.buckets().map(u64::from),
            sums: self.histofall.is_some(),
        };
        Ok(Some(format.write(document, &latency.collect::<Vec<_>>())?))
    }

    fn interval_us(&self) -> u64 {
        self.interval.unwrap_or(match self.source {
            // 1024 Hz: the clock has powers of two only.
            SourceKind::Rtc => 976,
            _ => 1000,
        })
    }
}

impl Resolved {
    fn cpus(&self) -> impl Iterator<Item = Option<u32>> {
        self.threads.iter().map(|(cpu, _)| *cpu)
    }

    /// The CPUs that any thread may run on.
    fn measured(&self) -> CpuList {
        match self.args.unbound {
            true => self.allowed.clone(),
            false => self.cpus().flatten().collect(),
        }
    }

    /// What the result says of the options.
    fn settings(&self) -> BTreeMap<String, Value> {
        let args = &self.args;
        let mut settings = BTreeMap::from([
            ("source", json!(args.source.to_string())),
            ("interval_us", json!(args.interval_us())),
            ("distance_us", json!(args.distance)),
            ("threads", json!(self.threads.len())),
            ("unbound", json!(args.unbound)),
            ("dma_latency_us", json!(args.latency)),
            ("split", json!(args.split)),
        ]);
        if let Some(duration) = args.duration {
            settings.insert("duration_s", json!(duration.as_secs_f64()));
        }
        if let Some(loops) = args.loops {
            settings.insert("loops", json!(loops));
        }
        if let Some(threshold_us) = self.threshold_us {
            settings.insert("threshold_us", json!(threshold_us));
        }
        let mut all = policy::settings(self.policy);
        all.extend(
            settings
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value)),
        );
        all
    }

    /// How long it takes: until the duration, or the last thread's samples; none: until a signal.
    fn takes(&self) -> Option<Duration> {
        let longest_ns = self
            .threads
            .iter()
            .map(|(_, interval_ns)| *interval_ns)
            .max()?;
        let loops = self.args.loops;
        let of_loops = loops.map(|loops| Duration::from_nanos(loops.saturating_mul(longest_ns)));
        self.args.duration.into_iter().chain(of_loops).min()
    }

    fn threads(&self) -> Vec<ThreadPlan<'static>> {
        self.threads
            .iter()
            .map(|(cpu, interval_ns)| ThreadPlan {
                request: Request {
                    kind: self.args.source,
                    interval_ns: *interval_ns,
                    seed: None,
                    cpu: *cpu,
                    allowed: self.allowed.clone(),
                    rtc: self.args.rtc.clone(),
                    gpio: self.args.gpio.lines(),
                },
                policy: self.policy,
                task: None,
            })
            .collect()
    }

    fn limits(&self) -> Limits {
        let threshold_ns = |us: u64| i64::try_from(us.saturating_mul(1000)).unwrap_or(i64::MAX);
        Limits {
            samples: self.args.loops,
            threshold_ns: self.threshold_us.map(threshold_ns),
        }
    }

    /// The view of the kernel's part.
    fn split(&self) -> anyhow::Result<Option<Split>> {
        if !self.args.split {
            return Ok(None);
        }
        Ok(Some(Split::attach(u32::try_from(self.threads.len())?)?))
    }
}
