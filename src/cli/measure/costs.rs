// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure costs`: what the machine takes from the tasks of a CPU, for `artis admit`.

use super::common::Voice;
use crate::cli::exit::UsageError;
use crate::cli::output::{print_json, stdout};
use crate::cli::signals::stop_on_signals;
use crate::cli::value::{self, duration};
use crate::machine::cpus::Cpus;
use crate::machine::{CpuList, Root};
use crate::measure::costs::{self, Costs, gaps::Gap};
use crate::measure::thread::PRIORITY;
use crate::report::costs::{self as report, Interrupt, Tick, Value};
use serde::Serialize;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Measure what the machine takes: wakeup, switch, tick, interrupts; a table for `artis admit`
///
/// All figures are what was seen, and no bounds: measure long, and beside the loads that there will
/// be. With /etc/artis/platform.toml `artis run rt0 --period` counts them.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  sudo artis measure costs -a 1 -D 1m > platform.toml\n  \
                  sudo artis load hackbench -- artis measure costs -a 1 -D 10m"
)]
pub struct Args {
    /// RT CPU to measure [default: the last one]
    #[arg(short = 'a', long, value_name = "N", value_parser = value::cpus::one)]
    cpu: Option<u32>,
    /// How long: 30, 1m
    #[arg(short = 'D', long, value_name = "TIME", default_value = "30")]
    #[arg(value_parser = duration::parse)]
    duration: Duration,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    voice: Voice,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    #[serde(flatten)]
    costs: report::Costs,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    let online = Cpus::read(&root)?.online;
    let cpu = args.cpu.or(online.last()).unwrap_or(0);
    if !online.contains(cpu) {
        let sentence = format!("CPU {cpu} is not online; choose among {online} with -a");
        return Err(UsageError(sentence).into());
    }
    let voice = artis_run::voice::Voice::from(args.voice);
    let stop = stop_on_signals()?;
    let alone = artis_run::session::alone(&stop)?;
    let sign = voice.sign(Some(args.duration));
    sign.step("measuring what the machine takes");
    let costs = costs::measure(cpu, args.duration, &stop)?;
    drop((sign, alone));
    if stop.load(Ordering::Relaxed) != 0 {
        anyhow::bail!("ended by a signal; a part of the figures says nothing");
    }
    let costs = shown(&root, cpu, args.duration, &online, &costs);
    let mut out = stdout();
    match args.json {
        true => {
            let schema = "artis.costs/1";
            print_json(&mut out, &Document { schema, costs })?;
        }
        false => out.text(&report::text(&costs))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(
    root: &Root,
    cpu: u32,
    duration: Duration,
    online: &CpuList,
    costs: &Costs,
) -> report::Costs {
    let kernel = root.hint("/proc/sys/kernel/osrelease").unwrap_or_default();
    let (ticks, others) = costs.tick();
    let tick = ticks.map(|(period_ns, ticks)| Tick {
        period_ns,
        length_ns: ticks.length_ns_max,
        phase_ns: ticks.phase_ns,
        how: format!(
            "the longest of {} in a thread that reads the clock",
            ticks.count
        ),
    });
    let mut notes = vec![
        "what was seen, and no bound; lengths have what a hypervisor took meanwhile".to_owned(),
    ];
    if online.len() == 1 {
        notes.push("this machine has one CPU: artis itself ran on it".to_owned());
    }
    if costs.gaps.is_cut {
        notes.push("there were more gaps than room: measure a shorter time".to_owned());
    }
    report::Costs {
        head: format!(
            "artis measure costs: CPU {cpu} of Linux {kernel}, {}",
            humantime::format_duration(duration)
        ),
        values: values(costs),
        no_tick: tick.is_none().then(|| {
            "none was seen in a thread that reads the clock; the CPU may stop it".to_owned()
        }),
        tick,
        interrupts: interrupts(costs, &others),
        notes,
    }
}

fn values(costs: &Costs) -> Vec<Value> {
    let value = |key, ns: Option<u64>, how: String| Value { key, ns, how };
    let nothing = || "no wakeup was seen; measure longer".to_owned();
    let wakeups = costs.wakeups;
    let switches = costs.switches;
    let releases = costs.releases;
    vec![
        value(
            "wakeup",
            wakeups.map(|it| it.max_ns),
            wakeups.map_or_else(nothing, |it| {
                format!(
                    "the longest of {} (clock_nanosleep, FIFO {PRIORITY})",
                    it.count
                )
            }),
        ),
        value(
            "jitter",
            wakeups.map(|it| it.max_ns - it.min_ns),
            wakeups.map_or_else(nothing, |it| {
                format!("that less the shortest, {} us", it.min_ns as f64 / 1000.0)
            }),
        ),
        value(
            "switch",
            (switches.count > 0).then_some(switches.quantile_ns),
            match switches.count {
                0 => "the two threads never met".to_owned(),
                count => format!(
                    "99.9 % of {count} between two threads (sched_yield); the longest, with \
                     interrupts, {} us",
                    switches.max_ns as f64 / 1000.0
                ),
            },
        ),
        value(
            "release",
            (releases.count > 0).then_some(releases.length_ns_max),
            match releases.count {
                0 => {
                    "the timer's interrupt was not seen in the thread that it interrupts".to_owned()
                }
                count => {
                    format!("the longest of {count} timers that wake a thread of lower priority")
                }
            },
        ),
        value(
            "section",
            None,
            "only the kernel's tracer preemptoff knows the longest section with preemption off; \
             what a wakeup met of them is in wakeup"
                .to_owned(),
        ),
    ]
}

fn interrupts(costs: &Costs, others: &[Gap]) -> Vec<Interrupt> {
    let Some(length_ns) = costs.interrupt_length_ns(others) else {
        return Vec::new();
    };
    let sources = costs.sources.iter().filter(|one| one.per_second_max > 0);
    sources
        .map(|one| Interrupt {
            name: one.name.clone(),
            per_second: one.per_second_max,
            length_ns,
            how: format!("the most in 100 ms, for a second; {} in all", one.count),
        })
        .collect()
}
