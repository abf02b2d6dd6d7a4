// SPDX-License-Identifier: GPL-2.0-only
//! `artis lab scenario`: a scenario, live in a guest.

use super::exit::UsageError;
use super::lab::{self, Append, Run};
use super::scenario;
use super::value;
use crate::lab::distribution::Distro;
use crate::lab::engine::Kind;
use crate::machine::CpuList;
use artis_scenario::format::Format;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Run a scenario in a virtual machine, with any kernel, stock or with artis
#[derive(clap::Args)]
#[command(
    after_help = "The guest has as many CPUs as the scenario names, or 2. What is printed is that \
                  of artis scenario run, in the guest's time; the line before says what that time \
                  is worth in this engine.\n\n\
                  Example:\n  artis lab scenario lab/scenario/paper-short.lb --scheduler artis"
)]
pub struct Args {
    /// Scenario
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What runs the guest; only in bochs do times mean anything
    #[arg(long, value_enum, default_value_t = Kind::Bochs)]
    engine: Kind,
    /// Release, series (6.18, 6.18-rt), package, newest, newest-rt, or an image's path
    #[arg(long, value_name = "NAME", default_value = "newest")]
    kernel: String,
    /// The kernel's own scheduler, or artis on the scenario's RT CPUs
    #[arg(long, value_enum, default_value_t = Scheduler::Stock)]
    scheduler: Scheduler,
    /// Virtual CPUs, instead of those that the scenario names
    #[arg(long, value_name = "N", value_parser = value::number::whole(1..=64_u32))]
    cpus: Option<u32>,
    /// Memory of the guest in MiB (bochs: 2048 at most)
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = value::number::whole(256..=u32::MAX))]
    memory: u32,
    #[command(flatten)]
    append: Append,
    /// Another sample of the guest's behaviour
    #[arg(long, value_name = "N", value_parser = value::number::whole(0..=u64::MAX))]
    seed: Option<u64>,
    /// End the scenario after this time, whatever the file says: 90, 90s, 5m
    #[arg(short = 'D', long, value_name = "TIME", value_parser = super::duration::parse)]
    duration: Option<Duration>,
    /// End the guest after so many seconds (bochs: of virtual time); 0 is never
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    #[arg(value_parser = value::duration::seconds(0..=u64::from(u32::MAX)))]
    timeout: u64,
    /// Print JSON (artis.scenario-run/1)
    #[arg(long)]
    json: bool,
}

/// What schedules in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Scheduler {
    /// The kernel's own
    Stock,
    /// artis, loaded before the tasks start
    Artis,
}

/// Where the file is in the guest.
const GUEST_FOLDER: &str = "/scenario";
/// CPUs of the guest where nobody names any.
const CPUS: u32 = 2;
/// Loads artis on the CPUs of $1, waits until it is on, and does the rest of the words; its own
/// words are shown where it fails.
const WITH_ARTIS: &str = "rt=$1; shift
artis sched run --rt \"$rt\" >/tmp/sched.log 2>&1 & run=$!
until artis sched status >/dev/null 2>&1; do
    kill -0 $run 2>/dev/null || { cat /tmp/sched.log >&2; exit 1; }
    sleep 0.05
done
\"$@\"; status=$?
kill -INT $run; wait $run || { cat /tmp/sched.log >&2; exit 1; }
exit $status";

/// Runs it.
pub fn run(kernels: &dyn Distro, args: Args) -> anyhow::Result<ExitCode> {
    let reading = scenario::read(&args.file, None)?;
    let machine = &reading.scenario.machine;
    let cpus = args.cpus.or(machine.cpus).unwrap_or(CPUS);
    let has: CpuList = (0..cpus).collect();
    let fits = artis_fake::fit(&reading.scenario, &has);
    fits.map_err(|error| UsageError(format!("{}: {error}", args.file.display())))?;
    let guest = format!("{GUEST_FOLDER}/{}", guest_name(reading.format));
    let mut words: Vec<String> = ["artis", "scenario", "run", &guest]
        .map(str::to_owned)
        .into();
    if args.json {
        words.push("--json".to_owned());
    }
    if let Some(duration) = args.duration {
        words.push(format!("--duration={}ms", duration.as_millis().max(1)));
    }
    let mut command: Vec<OsString> = Vec::new();
    if args.scheduler == Scheduler::Artis {
        let rt = &machine.rt_cpus & &has;
        if rt.is_empty() {
            let reason = "the scenario names no RT CPU for artis; write it into the file";
            return Err(UsageError(format!("{}: {reason}", args.file.display())).into());
        }
        let rt = rt.to_string();
        command.extend(["sh", "-c", WITH_ARTIS, "sh", &rt].map(OsString::from));
    }
    command.extend(words.into_iter().map(OsString::from));
    let mut file = args.file.into_os_string();
    file.push(":");
    file.push(guest);
    lab::run_command(
        kernels,
        Run {
            engine: args.engine,
            seed: args.seed,
            kernel: args.kernel,
            module_folder: None,
            cpus,
            topology: None,
            memory: args.memory,
            disk: None,
            network: None,
            append: args.append,
            timeout: args.timeout,
            output: None,
            modules: Vec::new(),
            files: vec![file],
            command,
        },
    )
}

/// The file's name in the guest, whatever it is here.
fn guest_name(format: Format) -> &'static str {
    match format {
        Format::LbMicro => "scenario.lb",
        Format::RtApp => "scenario.json",
        Format::Toml => "scenario.toml",
    }
}
