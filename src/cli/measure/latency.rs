// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure latency`: cyclictest's letters, the project's result.

use super::session::{Common, Session};
use super::{cpus, warnings};
use crate::cli::duration;
use crate::cli::exit::{BOUND_MISSED, UsageError};
use crate::cli::output::stdout;
use crate::cli::progress::LiveLine;
use crate::cli::result::tables;
use crate::cli::value;
use crate::machine::{CpuList, Root};
use crate::measure::audit::{self, Samples};
use crate::measure::dma_latency::DmaLatency;
use crate::measure::latency::sampler::{Limits, Live};
use crate::measure::latency::source::{GpioLines, Request, SourceKind};
use crate::measure::latency::split::Split;
use crate::measure::latency::{self, Outcome, Plan, ThreadPlan};
use crate::measure::memory;
use crate::measure::thread::{PRIORITY, Policy};
use crate::result::export::{CyclictestHistogram, Exporter};
use crate::result::file::Target;
use crate::result::{Distribution, Document, Kind, Series, Unit};
use anyhow::Context;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Measure how late threads wake up: cyclictest's options, and more sources
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
#[command(
    after_help = "One SCHED_FIFO thread per allowed CPU, memory locked, CPUs kept out of deep idle states.\n\
             Without -D or -l it runs until Ctrl-C, which keeps every sample.\n\n\
             Example:\n  artis measure latency -a 1 -D 1m --load hackbench --json latency.json"
)]
pub struct Args {
    /// What to wait for
    #[arg(long, value_enum, default_value_t = SourceKind::Timer, hide_possible_values = true)]
    #[arg(help = "timer, nanosleep, timerfd, rtc, wake or gpio")]
    source: SourceKind,
    /// Priority of the threads, 1 to 99; 0 is the normal policy
    #[arg(short, long, value_name = "PRIO", default_value_t = PRIORITY)]
    #[arg(value_parser = value::number::whole(0..=99_u8))]
    priority: u8,
    /// Period, microseconds [default: 1000, for rtc 976]
    #[arg(short, long, value_name = "US")]
    #[arg(value_parser = value::duration::microseconds(1..=3_600_000_000_u64))]
    interval: Option<u64>,
    /// How much longer each thread's period is than the one before, microseconds
    #[arg(short, long, value_name = "US", default_value_t = 0)]
    #[arg(value_parser = value::duration::microseconds(0..=3_600_000_000_u64))]
    distance: u64,
    /// CPUs to bind the threads to, one after the other [default: all that are allowed]
    #[arg(short, long, value_name = "LIST", num_args = 0..=1, value_parser = value::cpus::list)]
    affinity: Option<Option<CpuList>>,
    /// Number of threads; alone: one per CPU, which is the default
    #[arg(short, long, value_name = "N", num_args = 0..=1)]
    #[arg(value_parser = value::number::whole(1..=u16::MAX))]
    threads: Option<Option<u16>>,
    /// One thread on each CPU: what the defaults do, too
    #[arg(short = 'S', long, conflicts_with = "threads")]
    smp: bool,
    /// Memory is locked in any case; accepted for cyclictest's sake
    #[arg(short, long)]
    mlockall: bool,
    /// How long: seconds, or with a unit: 90s, 5m, 12h, 1d
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration::parse)]
    duration: Option<Duration>,
    /// Samples of each thread, instead of a duration
    #[arg(short, long, value_name = "N")]
    #[arg(value_parser = value::number::whole(1..=u64::MAX))]
    loops: Option<u64>,
    /// Print a histogram of so many buckets of 1 us, as cyclictest does, instead of the table
    #[arg(short = 'h', long, value_name = "US")]
    #[arg(value_parser = value::duration::microseconds(1..=1_000_000_u32))]
    histogram: Option<u32>,
    /// Write a histogram as cyclictest does to FILE; without -h it has a line for every value
    #[arg(long, value_name = "FILE")]
    histfile: Option<PathBuf>,
    /// Tell the kernel's part (due to handler) and the task's apart, by BPF, which adds to both
    #[arg(long)]
    split: bool,
    /// No progress line
    #[arg(short, long)]
    quiet: bool,
    /// Stop when a latency is above, with exit status 2
    #[arg(long, value_name = "US")]
    #[arg(value_parser = value::duration::microseconds(0..=3_600_000_000_u64))]
    on_threshold: Option<u64>,
    /// As --on-threshold, and freeze the kernel's trace on the spot
    #[arg(short, long, value_name = "US", conflicts_with = "on_threshold")]
    #[arg(value_parser = value::duration::microseconds(0..=3_600_000_000_u64))]
    breaktrace: Option<u64>,
    /// Exit latency of idle states to allow meanwhile, microseconds (/dev/cpu_dma_latency)
    #[arg(long, value_name = "US", default_value_t = 0)]
    #[arg(value_parser = value::duration::microseconds(0..=2_000_000_000_i32))]
    latency: i32,
    /// The clock of --source rtc
    #[arg(long, value_name = "DEVICE", default_value = "/dev/rtc0")]
    rtc: PathBuf,
    #[command(flatten)]
    gpio: Gpio,
    #[command(flatten)]
    common: Common,
    /// Print help
    #[arg(long, action = clap::ArgAction::HelpShort)]
    help: Option<bool>,
}

/// The lines of `--source gpio`.
#[derive(clap::Args)]
struct Gpio {
    /// The chip of --source gpio
    #[arg(long, value_name = "DEVICE", default_value = "/dev/gpiochip0")]
    gpio_chip: PathBuf,
    /// Its line with the edges, from 0
    #[arg(long, value_name = "LINE", required_if_eq("source", "gpio"))]
    #[arg(value_parser = value::number::whole(0..=u32::MAX))]
    gpio_in: Option<u32>,
    /// Its line that answers
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

/// The progress line has room for so many threads.
const THREADS_TOLD: usize = 8;
/// What the result calls the measured quantities.
pub(super) const LATENCY: &str = "latency";
const DUE_TO_HANDLER: &str = "due_to_handler";
const HANDLER_TO_TASK: &str = "handler_to_task";

/// The options after defaults were settled.
struct Resolved {
    /// CPU and period in ns of each thread.
    threads: Vec<(u32, u64)>,
    allowed: CpuList,
    policy: Policy,
    threshold_us: Option<u64>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let resolved = args.resolve()?;
    let histfile = args.histfile.as_deref().map(Target::open).transpose()?;
    let freeze_trace = args.breaktrace.map(|_| trace_switch()).transpose()?;
    // Before the threads' memory is made: it is then brought in and locked as it comes.
    let locked = memory::lock_and_prefault();
    let awake = DmaLatency::hold(&Root::default(), args.latency);
    let split = resolved.split(&args)?;
    let plan = Plan {
        threads: resolved.threads(&args),
        duration: args.duration,
        limits: resolved.limits(&args),
        freeze_trace,
        split: split.as_ref(),
    };
    let mut session = Session::begin(&args.common, args.settings(&resolved))?;
    session.start()?;
    let audit = warnings::begin(&audit::Plan {
        cpus: resolved.cpus().into_iter().collect(),
        policy: resolved.policy,
        wants_real_time: true,
        memory_locked: locked.is_ok(),
        dma_latency_held: awake.is_ok() && args.latency == 0,
        sleeps: true,
    });
    if awake.is_ok() {
        eprintln!(
            "artis: holding /dev/cpu_dma_latency at {} us: idle CPUs wake up faster than usual meanwhile",
            args.latency
        );
    }
    let stop = session.stop_flag();
    let line = (!args.quiet).then(LiveLine::new);
    let outcome = latency::measure(&plan, &stop, &mut |threads| {
        if let Some(line) = &line {
            line.show(|| told(threads));
        }
    })?;
    drop(line);
    let exceeded = exceeded(&outcome);
    let (document, table_wanted) = session.finish(|document| {
        document.seconds = Some(outcome.seconds);
        document.ended_early = document.ended_early.take().or_else(|| exceeded.clone());
        let series = series(&outcome, &resolved.cpus());
        warnings::conclude(document, audit, &samples(&series), Vec::new());
        document.series = series;
    })?;
    if let Some(failure) = failure(&outcome, args.source) {
        return Err(failure);
    }
    let histogram = args.cyclictest_histogram(&document)?;
    if let (Some(target), Some(text)) = (histfile, &histogram) {
        target.write(text.as_bytes())?;
    }
    if table_wanted {
        let text = match histogram.filter(|_| args.histogram.is_some()) {
            Some(text) => text,
            None => tables(&document),
        };
        stdout().write_all(text.as_bytes())?;
    }
    if let Some(exceeded) = exceeded {
        eprintln!("artis: {exceeded}");
        return Ok(ExitCode::from(BOUND_MISSED));
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn resolve(&self) -> anyhow::Result<Resolved> {
        let allowed = cpus::resolve(None)?;
        let chosen = match &self.affinity {
            Some(Some(list)) => cpus::resolve(Some(list))?,
            _ => allowed.clone(),
        };
        let cpus: Vec<u32> = chosen.iter().collect();
        let count = match self.threads {
            Some(Some(count)) => usize::from(count),
            // There is one clock, and one pair of lines.
            None if matches!(self.source, SourceKind::Rtc | SourceKind::Gpio) => 1,
            _ => cpus.len(),
        };
        let interval_us = |thread: usize| self.interval_us() + self.distance * thread as u64;
        Ok(Resolved {
            threads: (0..count)
                .map(|thread| (cpus[thread % cpus.len()], interval_us(thread) * 1000))
                .collect(),
            allowed: &allowed | &chosen,
            policy: Policy::from_priority(self.priority),
            threshold_us: self.on_threshold.or(self.breaktrace),
        })
    }

    /// cyclictest's histogram, where one is wanted.
    fn cyclictest_histogram(&self, document: &Document) -> anyhow::Result<Option<String>> {
        if self.histogram.is_none() && self.histfile.is_none() {
            return Ok(None);
        }
        let latency = document
            .series
            .iter()
            .filter(|series| series.name == LATENCY);
        let format = CyclictestHistogram {
            lines: self.histogram.map(u64::from),
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

    /// What the result says of the options.
    fn settings(&self, resolved: &Resolved) -> BTreeMap<String, Value> {
        let mut settings = BTreeMap::from([
            ("source", json!(self.source.to_string())),
            ("priority", json!(self.priority)),
            ("interval_us", json!(self.interval_us())),
            ("distance_us", json!(self.distance)),
            ("threads", json!(resolved.threads.len())),
            ("dma_latency_us", json!(self.latency)),
            ("split", json!(self.split)),
        ]);
        if let Some(duration) = self.duration {
            settings.insert("duration_s", json!(duration.as_secs_f64()));
        }
        if let Some(loops) = self.loops {
            settings.insert("loops", json!(loops));
        }
        if let Some(threshold_us) = resolved.threshold_us {
            settings.insert("threshold_us", json!(threshold_us));
        }
        settings
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }
}

impl Resolved {
    fn cpus(&self) -> Vec<u32> {
        self.threads.iter().map(|(cpu, _)| *cpu).collect()
    }

    fn threads(&self, args: &Args) -> Vec<ThreadPlan<'static>> {
        self.threads
            .iter()
            .map(|(cpu, interval_ns)| ThreadPlan {
                request: Request {
                    kind: args.source,
                    interval_ns: *interval_ns,
                    cpu: Some(*cpu),
                    allowed: self.allowed.clone(),
                    rtc: args.rtc.clone(),
                    gpio: args.gpio.lines(),
                },
                policy: self.policy,
                task: None,
            })
            .collect()
    }

    fn limits(&self, args: &Args) -> Limits {
        let threshold_ns = |us: u64| i64::try_from(us.saturating_mul(1000)).unwrap_or(i64::MAX);
        Limits {
            samples: args.loops,
            threshold_ns: self.threshold_us.map(threshold_ns),
        }
    }

    /// The view of the kernel's part.
    fn split(&self, args: &Args) -> anyhow::Result<Option<Split>> {
        if !args.split {
            return Ok(None);
        }
        if !args.source.is_timer() {
            return Err(UsageError(format!(
                "--split follows a kernel timer, and --source {} has none; use timer, nanosleep or timerfd",
                args.source
            ))
            .into());
        }
        Ok(Some(Split::attach(u32::try_from(self.threads.len())?)?))
    }
}

/// The series of each thread; `cpus` are the threads' in their order.
pub(super) fn series(outcome: &Outcome, cpus: &[u32]) -> Vec<Series> {
    let mut all = Vec::new();
    for (thread, (measured, cpu)) in (0..).zip(outcome.threads.iter().zip(cpus)) {
        let samples = &measured.samples;
        let series = |name, distribution: &Distribution| Series {
            cpu: Some(*cpu),
            thread: Some(thread),
            ..Series::new(name, Kind::Latency, Unit::Nanoseconds, distribution.clone())
        };
        all.push(Series {
            max_at_s: samples.max_at_s,
            missed: Some(samples.missed),
            ..series(LATENCY, &samples.latency)
        });
        if let Some(parts) = &samples.split {
            all.push(series(DUE_TO_HANDLER, &parts.due_to_handler));
            all.push(series(HANDLER_TO_TASK, &parts.handler_to_task));
        }
    }
    all
}

/// How much there is of what a percentile needs much of.
pub(super) fn samples(series: &[Series]) -> Vec<Samples<'_>> {
    let latency = series.iter().filter(|series| series.name == LATENCY);
    latency
        .map(|series| Samples {
            series: &series.name,
            count: series.distribution.count(),
        })
        .collect()
}

/// Opens the switch that freezes what the kernel's tracer holds.
fn trace_switch() -> anyhow::Result<File> {
    let candidates = [
        "/sys/kernel/tracing/tracing_on",
        "/sys/kernel/debug/tracing/tracing_on",
    ];
    let there = candidates.iter().find(|path| Path::new(path).exists());
    let path = there.with_context(|| {
        "-b freezes the kernel's trace, and tracefs is not mounted; \
         run: mount -t tracefs nodev /sys/kernel/tracing"
    })?;
    File::options()
        .write(true)
        .open(path)
        .with_context(|| format!("cannot open {path}; run artis as root"))
}

/// The sentence about the threshold that was passed.
fn exceeded(outcome: &Outcome) -> Option<String> {
    let mut threads = outcome.threads.iter().enumerate();
    threads.find_map(|(index, measured)| {
        let exceeded = measured.samples.exceeded?;
        Some(format!(
            "thread {index} was {:.3} us late, {:.6} s after the start: above the threshold",
            exceeded.latency_ns as f64 / 1000.0,
            exceeded.at_s
        ))
    })
}

/// A source that failed in the middle.
pub(super) fn failure(outcome: &Outcome, source: SourceKind) -> Option<anyhow::Error> {
    let mut threads = outcome.threads.iter().enumerate();
    threads.find_map(|(index, measured)| {
        let errno = measured.failed?;
        Some(anyhow::anyhow!(
            "the source {source} of thread {index} failed after {} samples: {}; \
             what was measured until then is in the result",
            measured.samples.latency.count(),
            errno.desc()
        ))
    })
}

/// What the progress line says.
pub(super) fn told(threads: &[Live]) -> String {
    let samples: u64 = threads.iter().map(Live::samples).sum();
    let max_ns = threads.iter().filter_map(Live::max_ns).max();
    let us = |ns: i64| ns as f64 / 1000.0;
    let last: Vec<String> = threads
        .iter()
        .take(THREADS_TOLD)
        .map(|thread| format!("{:.1}", us(thread.last_ns())))
        .collect();
    format!(
        "max {:.1} us, {samples} samples; last {} us",
        us(max_ns.unwrap_or(0)),
        last.join(" ")
    )
}
