// SPDX-License-Identifier: GPL-2.0-only
//! `artis lab demo`: the same work with the stock scheduler, with affinity and with artis, and a
//! table of what each did.

use super::exit::{BOUND_MISSED, UsageError};
use super::lab::{ended_by, resolve, system};
use super::output::Outcome;
use super::progress::Stderr;
use super::signals::stop_on_signals;
use super::value;
use crate::guest::demo::Configuration;
use crate::lab::debian::kernel::Kernels;
use crate::lab::demo::run::{self, CPUS, Options, rt_cpu};
use crate::lab::demo::verdict::{self, Figures};
use crate::lab::engine::Kind;
use crate::lab::engine::qemu::TIMING_WARNING;
use crate::lab::image::programs::Programs;
use crate::lab::progress::Progress;
use crate::report::demo::table;
use crate::result::file::Target;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use std::io::stderr;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what artis does: the same work in three configurations
///
/// The work: an RT0 task on CPU 1 every 4 ms, batch computing, hackbench, page
/// faults, forks and signals. The configurations: the stock scheduler, all other
/// work bound to CPU 0 (affinity), and artis. The verdict is a count: kernel work
/// for others on the RT CPU. Exit status 2 when it is not 0 with artis.
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Example:\n  artis lab demo --kernel newest-rt --json demo.json"
)]
pub struct Demo {
    /// Kernel release, package name, newest or newest-rt
    #[arg(long, value_name = "NAME", default_value = "newest")]
    kernel: String,
    /// Seconds counted in each configuration
    #[arg(long, default_value_t = 36, value_parser = value::duration::seconds(3..=3600_u32))]
    seconds: u32,
    /// Only this configuration; repeatable
    #[arg(long = "configuration", value_name = "NAME", value_parser = configuration())]
    configurations: Vec<Configuration>,
    /// Write the figures as JSON, too; - is standard output, without the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Reads the name of a configuration.
fn configuration() -> impl TypedValueParser<Value = Configuration> {
    let names = Configuration::ALL.map(Configuration::name);
    PossibleValuesParser::new(names).map(|name| {
        let named = Configuration::ALL
            .into_iter()
            .find(|one| one.name() == name);
        named.unwrap_or(Configuration::Stock)
    })
}

impl Demo {
    /// The configurations, each once and in the order of the table.
    fn configurations(&self) -> Vec<Configuration> {
        let all = Configuration::ALL.into_iter();
        all.filter(|one| self.configurations.is_empty() || self.configurations.contains(one))
            .collect()
    }
}

/// The JSON document.
#[derive(Serialize)]
struct Document<'a> {
    kernel: &'a str,
    engine: &'a str,
    configurations: &'a [Figures],
    timing: &'a str,
    seconds: u32,
    missed: Vec<String>,
}

/// Runs it.
pub fn run(kernels: &Kernels, args: &Demo) -> anyhow::Result<ExitCode> {
    // Opened before the long run: a path that cannot be written is known at once.
    let target = args.json.as_deref().map(Target::open).transpose()?;
    let mut progress = Stderr::default();
    let kernel = resolve(kernels, &args.kernel, &mut progress)?;
    let release = kernel.facts.release.clone();
    if kernel.facts.sched_ext == Some(false) {
        return Err(UsageError(format!(
            "kernel {release} is built without sched_ext, which artis needs; choose another \
             (artis lab kernels)"
        ))
        .into());
    }
    let heading = format!(
        "Kernel {release} in QEMU, {CPUS} CPUs, CPU {} is the RT CPU; {} s of each.\n\
         All but RT0's own is counted. {TIMING_WARNING}.",
        rt_cpu(),
        args.seconds
    );
    progress.note(&format!("kernel {release} in QEMU; {TIMING_WARNING}"));
    let options = Options {
        engine: Kind::Qemu.engine(),
        cache: kernels.cache().clone(),
        kernel,
        system: system(Programs::All)?,
        configurations: args.configurations(),
        seconds: args.seconds,
        stop: stop_on_signals()?,
    };
    let (measured, signal) = match run::run(options, &mut stderr(), &mut progress) {
        Err(error @ run::Error::Interrupted(signal)) => {
            progress.note(&error.to_string());
            return Ok(ended_by(signal));
        }
        other => other?,
    };
    let figures: Vec<Figures> = measured.into_iter().map(Figures::new).collect();
    let document = Document {
        kernel: &release,
        engine: "qemu",
        configurations: &figures,
        timing: TIMING_WARNING,
        seconds: args.seconds,
        missed: verdict::missed(&figures),
    };
    Outcome {
        text: &table(&heading, &figures),
        document: &document,
        json: target,
        files: Vec::new(),
        failures: Vec::new(),
    }
    .publish()?;
    if let Some(signal) = signal {
        progress.note(&format!(
            "interrupted by signal {signal}; the figures are those of the turns before"
        ));
        return Ok(ended_by(signal));
    }
    Ok(match document.missed.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(BOUND_MISSED),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
