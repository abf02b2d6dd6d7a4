// SPDX-License-Identifier: GPL-2.0-only
//! `artis lab demo`: the same work on the stock scheduler, behind a shield and under artis, and
//! a table of what each did.

use super::exit::{BOUND_MISSED, UsageError};
use super::lab::resolve;
use super::output::{print_json, stdout};
use super::progress::Stderr;
use super::signals::stop_on_signals;
use super::value;
use crate::lab::demo::verdict::{self, Figures};
use crate::lab::demo::{Configuration, Measured, Task};
use crate::lab::engine::Engine;
use crate::lab::engine::qemu::TIMING_WARNING;
use crate::lab::kernel::Kernels;
use crate::lab::machine::Machine;
use crate::lab::progress::Progress;
use crate::lab::record::Ended;
use anyhow::{Context, bail};
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, Write, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Virtual CPUs; one is RT.
const CPUS: u32 = 2;
/// The RT CPU.
const RT: &str = "1";
/// An idle CPU goes on spinning, as seen from the host. One that sleeps makes the emulator faster
/// for the other: the shield, which leaves its RT CPU idle, then had 20 % more than a CPU to work
/// with. On a real machine with one core for each CPU it has one.
const POLL_WHEN_IDLE: &str = "idle=poll";
/// Beyond the windows, for what comes between them on a busy host; then something hangs.
const SPARE: Duration = Duration::from_secs(240);

/// The work: an RT0 task on CPU 1 every 4 ms, batch computing, hackbench, page faults, forks,
/// signals. Exit status 2 when artis missed a bar.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis lab demo --kernel newest-rt --json demo.json")]
pub struct Demo {
    /// Kernel release, package name, newest or newest-rt
    #[arg(long, value_name = "NAME", default_value = "newest")]
    kernel: String,
    /// Seconds counted in each configuration
    #[arg(long, default_value_t = 36, value_parser = value::duration::seconds(3..=3600_u32))]
    seconds: u32,
    /// Only this configuration; repeatable
    #[arg(long = "configuration", value_name = "NAME")]
    configurations: Vec<Configuration>,
    /// Write the figures as JSON, too; - is standard output, without the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Demo {
    /// The configurations, each once and in the order of the table.
    fn configurations(&self) -> Vec<Configuration> {
        let all = Configuration::ALL.into_iter();
        all.filter(|one| self.configurations.is_empty() || self.configurations.contains(one))
            .collect()
    }
}

/// Runs it.
pub fn run(kernels: &Kernels, args: &Demo) -> anyhow::Result<ExitCode> {
    // Opened before the long run: a path that cannot be written is known at once.
    let to_stdout = args.json.as_deref() == Some(Path::new("-"));
    let json = match &args.json {
        Some(path) if !to_stdout => Some((path, beside(path)?)),
        _ => None,
    };
    let mut progress = Stderr::default();
    let kernel = resolve(kernels, &args.kernel, &mut progress)?;
    if kernel.facts.sched_ext == Some(false) {
        return Err(UsageError(format!(
            "kernel {} is built without sched_ext, which artis needs; choose another (artis lab kernels)",
            kernel.facts.release
        ))
        .into());
    }
    let release = kernel.facts.release.clone();
    let measured = measure(kernel, args, &mut progress)?;
    let figures: Vec<Figures> = measured.into_iter().map(Figures::new).collect();
    let document = Document {
        kernel: &release,
        engine: "qemu",
        configurations: &figures,
        timing: TIMING_WARNING,
        seconds: args.seconds,
        missed: verdict::missed(&figures),
    };
    if let Some((path, mut file)) = json {
        print_json(&mut file, &document)
            .and_then(|()| Ok(file.persist(path)?))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut out = stdout();
    if to_stdout {
        print_json(&mut out, &document)?;
    } else {
        print(&document, &mut out)?;
    }
    Ok(match document.missed.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(BOUND_MISSED),
    })
}

/// A file that takes the name of `path` when it is whole; an earlier one stays until then.
fn beside(path: &Path) -> anyhow::Result<tempfile::NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder)
        .with_context(|| {
            format!(
                "cannot write {}; name another file with --json",
                path.display()
            )
        })
}

/// Boots the kernel and has the guest's half run there.
fn measure(
    kernel: crate::lab::kernel::Kernel,
    args: &Demo,
    progress: &mut Stderr,
) -> anyhow::Result<Vec<Measured>> {
    let output = tempfile::Builder::new()
        .prefix("artis-demo-")
        .tempdir()
        .context("cannot create a temporary folder")?;
    let mut machine = Machine::new(Engine::Qemu, kernel, output.path().to_owned())?;
    machine.cpus = CPUS;
    machine.append = POLL_WHEN_IDLE.to_owned();
    machine.stop = stop_on_signals()?;
    let configurations = args.configurations();
    let windows = u32::try_from(configurations.len()).unwrap_or(u32::MAX);
    machine.timeout = Some(Duration::from_secs(args.seconds.into()) * windows + SPARE);
    let task = Task {
        configurations,
        rt: RT.parse()?,
        seconds: args.seconds,
    };
    let command = ["artis-guest", "demo", &serde_json::to_string(&task)?].map(OsString::from);
    progress.note(&format!(
        "kernel {} in QEMU, {CPUS} CPUs, CPU {RT} is RT; {TIMING_WARNING}",
        machine.kernel.facts.release
    ));
    let mut answer = Vec::new();
    let ran = machine.run(&command, &mut answer, &mut stderr(), progress);
    let outcome = match ran {
        Err(error @ crate::lab::Error::GuestLost { .. }) => {
            // The console is the only trace of what went wrong.
            let _kept = output.keep();
            return Err(error.into());
        }
        other => other?,
    };
    match outcome.ended {
        Ended::Exit(0) => {}
        Ended::Exit(status) => {
            bail!("the demo failed in the guest with status {status}; its message stands above")
        }
        Ended::TimedOut => bail!(
            "the demo did not end in the guest within {:?}; is the host very busy?",
            machine.timeout
        ),
        Ended::Interrupted(signal) => {
            bail!("interrupted by signal {signal}; the virtual machine was ended")
        }
    }
    serde_json::from_slice(&answer).context("the guest's half of the demo gave no figures")
}

/// The JSON document; what the issue names comes first.
#[derive(Serialize)]
struct Document<'a> {
    kernel: &'a str,
    engine: &'a str,
    configurations: &'a [Figures],
    timing: &'a str,
    seconds: u32,
    missed: Vec<String>,
}

/// A line of the table: what it shows, and how to write it down for one configuration.
type Row = (&'static str, fn(&Figures) -> String);

const ROWS: [Row; 12] = [
    ("kernel entries, all CPUs", |of| grouped(of.entries)),
    ("  of them begun on the RT CPU", |of| grouped(of.entries_rt)),
    ("kernel work done on the RT CPU for them", |of| {
        grouped(of.leaks)
    }),
    ("  system calls", |of| grouped(of.leaks_syscalls)),
    ("  page faults", |of| grouped(of.leaks_faults)),
    ("  signals", |of| grouped(of.leaks_signals)),
    ("RT CPU: others' part of what RT0 leaves", |of| {
        percent(of.rt_cpu_share_others)
    }),
    ("RT CPU: RT0's part of all", |of| {
        percent(of.rt_cpu_share_rt0)
    }),
    ("batch work done, units", |of| grouped(of.batch_work)),
    ("hackbench rounds", |of| grouped(of.hackbench_rounds)),
    ("RT0 periods", |of| grouped(of.rt0_periods)),
    ("  served", |of| grouped(of.rt0_periods_served)),
];

/// The table and its sentence.
fn print(document: &Document<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "Kernel {}, {CPUS} CPUs, CPU {RT} is the RT CPU; {} s of each.",
        document.kernel, document.seconds
    )?;
    writeln!(out, "All but RT0's own is counted. {TIMING_WARNING}.\n")?;
    write!(out, "{:<40}", "")?;
    for figures in document.configurations {
        write!(out, "{:>13}", figures.name.name())?;
    }
    writeln!(out)?;
    for (label, value) in ROWS {
        write!(out, "{label:<40}")?;
        for figures in document.configurations {
            write!(out, "{:>13}", value(figures))?;
        }
        writeln!(out)?;
    }
    writeln!(out)?;
    writeln!(out, "{}", verdict::sentence(document.configurations))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A number with its thousands set apart: 1,234,567.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn configurations_come_once_and_in_order() {
        let demo = |configurations| Demo {
            kernel: String::new(),
            seconds: 1,
            configurations,
            json: None,
        };
        use Configuration::{Artis, Stock};
        assert_eq!(demo(vec![]).configurations(), Configuration::ALL);
        assert_eq!(
            demo(vec![Artis, Stock, Artis]).configurations(),
            [Stock, Artis]
        );
    }

    #[test]
    fn the_table_fits_80_columns() {
        let measured = |name| Measured {
            name,
            window_ns: 1,
            rt: Default::default(),
            all: Default::default(),
            work: Default::default(),
            rt0_periods: 123_456_789,
            rt0_periods_served: 123_456_789,
            scheduler: Vec::new(),
        };
        let figures = Configuration::ALL.map(measured).map(Figures::new);
        let document = Document {
            kernel: "7.3.4+deb13-amd64",
            engine: "qemu",
            configurations: &figures,
            timing: TIMING_WARNING,
            seconds: 30,
            missed: vec![],
        };
        let mut table = Vec::new();
        print(&document, &mut table).unwrap();
        let table = String::from_utf8(table).unwrap();
        let (table, _sentence) = table.trim_end().rsplit_once("\n\n").unwrap();
        for line in table.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
