// SPDX-License-Identifier: GPL-2.0-only
//! What `artis sched run` runs with: the configuration file, with what the options change of it.

use crate::cli::exit::UsageError;
use crate::machine::cpus::Cpus;
use crate::machine::kernel::Kernel;
use crate::machine::{CpuList, Root};
use crate::partition::plan::Request;
use crate::report::scheduler::{Cost, heading};
use crate::result::file;
use crate::sched::detector::Detector;
use crate::sched::watch::breakpoint;
use crate::sched::{prospect, service};
use crate::service::config::{Config, Partition};
use anyhow::Context;
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Options {
    /// RT CPUs, such as 1 or 2-3,6; the other online CPUs are NRT
    #[arg(long, value_name = "LIST", required_unless_present = "config")]
    rt: Option<CpuList>,
    /// Read what is not said here from this file; /etc/artis/sched.toml explains its keys
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How to notice that a task enters the kernel [default: auto]
    #[arg(long, value_enum)]
    detector: Option<DetectorArg>,
    /// Take the RT CPUs offline and online before the start: timers and deferred work of others
    /// that once began there go elsewhere, as if the CPUs had been isolated at boot
    #[arg(long)]
    cycle: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum DetectorArg {
    /// What suits this machine: breakpoint, or syscall where that cannot be used
    Auto,
    /// Breakpoint registers of the RT CPUs: cost NRT CPUs nothing
    Breakpoint,
    /// The system call tracepoint: works everywhere, costs a little on every CPU
    Syscall,
    /// Context tracking: costs NRT CPUs nothing, needs nohz_full on the RT CPUs
    Entry,
}

/// The settings, checked against this machine.
#[derive(Serialize)]
pub struct Settings {
    kernel: String,
    pub rt: CpuList,
    nrt: CpuList,
    pub detector: Detector,
    /// Why the best detector is not used, though nobody asked for another.
    #[serde(skip)]
    no_breakpoints: Option<breakpoint::Error>,
    pub cycle: bool,
    /// What the machine is partitioned for, if it is.
    #[serde(skip)]
    pub partition: Option<Request>,
}

impl Options {
    /// Reads the file and the machine.
    ///
    /// # Errors
    /// When the file cannot be read or understood, or this machine has no such CPUs or interrupts.
    pub fn resolve(&self, root: &Root) -> anyhow::Result<Settings> {
        let config = match &self.config {
            None => Config::default(),
            Some(path) => read(path)?,
        };
        // Wrong CPUs are a fault of the command line or of the file.
        let blame = |sentence: String| match (&self.rt, &self.config) {
            (None, Some(path)) => anyhow::anyhow!("{}: {sentence}", path.display()),
            _ => UsageError(sentence).into(),
        };
        let rt = self.rt.clone().or(config.rt);
        let rt = rt.ok_or_else(|| blame("it names no RT CPU; add rt = \"1\"".to_owned()))?;
        let nrt = match prospect::check_cpus(&rt, &Cpus::read(root)?) {
            Err(service::Error::Cpus(sentence)) => return Err(blame(sentence)),
            nrt => nrt?,
        };
        let partition = config.partition.map(|wanted| {
            use crate::partition::plan::Error;
            match request(root, &rt, &wanted) {
                Err(Error::Refused(sentence)) => Err(blame(sentence)),
                request => Ok(request?),
            }
        });
        let detector = match self.detector {
            None => config.detector,
            Some(DetectorArg::Auto) => None,
            Some(DetectorArg::Breakpoint) => Some(Detector::Breakpoint),
            Some(DetectorArg::Syscall) => Some(Detector::Syscall),
            Some(DetectorArg::Entry) => Some(Detector::Entry),
        };
        let (detector, no_breakpoints) = match detector {
            Some(detector) => (detector, None),
            None => Detector::best(root),
        };
        Ok(Settings {
            kernel: Kernel::read(root)?.release,
            rt,
            nrt,
            detector,
            no_breakpoints,
            cycle: self.cycle || config.cycle,
            partition: partition.transpose()?,
        })
    }
}

fn read(path: &Path) -> anyhow::Result<Config> {
    let text = file::read_text(path)?;
    let text = String::from_utf8(text).with_context(|| format!("{} is no text", path.display()))?;
    Config::parse(&text).with_context(|| path.display().to_string())
}

fn request(
    root: &Root,
    rt: &CpuList,
    wanted: &Partition,
) -> Result<Request, crate::partition::plan::Error> {
    let request = Request::new(root, rt)?.with_rt0_irqs(root, &wanted.rt0_irqs)?;
    Ok(Request {
        rt0_priority: wanted.priority,
        exit_latency_us_max: wanted.exit_latency_us_max,
        unthrottle: wanted.no_throttling,
        ..request
    })
}

impl Settings {
    /// May a better detector than the one of these settings be had later?
    pub fn may_improve(&self) -> bool {
        let reason = self.no_breakpoints.as_ref();
        reason.is_some_and(breakpoint::Error::is_passing)
    }

    /// The first lines of a run.
    pub fn heading(&self) -> [String; 2] {
        let why = self.no_breakpoints.as_ref();
        let cost = match self.detector {
            Detector::Breakpoint => Cost::OnRtCpus,
            Detector::Syscall => Cost::Everywhere,
            Detector::Entry => Cost::EachEntry,
        };
        let detector = (self.detector, cost);
        heading(&self.kernel, &self.rt, &self.nrt, detector, why)
    }
}
