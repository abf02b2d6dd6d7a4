// SPDX-License-Identifier: GPL-2.0-only
//! What every `artis measure` command does around its measuring: find out at once that the
//! result cannot be written, catch signals, describe the machine, start the loads and see them
//! at work, stop them afterwards, and write the document.

use crate::cli::output::stdout;
use crate::cli::signals::stop_on_signals;
use crate::cli::value;
use crate::lab::engine::bochs;
use crate::load::preset::{Presets, Running};
use crate::machine::{CpuList, Root};
use crate::measure::dma_latency::DmaLatency;
use crate::measure::host;
use crate::result::document::{EMULATED_TIME, VIRTUAL_TIME};
use crate::result::file::Target;
use crate::result::{Document, Setup, Warning};
use anyhow::Context;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, SystemTime};

/// In the stop flag: no signal, but a load that ended by itself. Signals end at 64.
const LOAD_ENDED: usize = usize::MAX;

/// The options that all measuring commands have.
#[derive(clap::Args)]
pub struct Common {
    /// Write the result file (artis.result/1) to FILE; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Loads to run meanwhile; `artis load list` says which there are
    #[arg(long, value_name = "NAME,…")]
    pub load: Option<Presets>,
    /// CPUs that the loads run on [default: all]
    #[arg(long, value_name = "LIST", requires = "load", value_parser = value::cpus::list)]
    pub load_cpus: Option<CpuList>,
}

/// A measurement that is being made.
pub struct Session {
    target: Option<Target>,
    to_stdout: bool,
    stop: Arc<AtomicUsize>,
    presets: Option<Presets>,
    load_cpus: Option<CpuList>,
    load: Option<Running>,
    began: Instant,
    document: Document,
}

impl Session {
    /// Finds out what can fail before anything is measured. `options` are the settings after
    /// defaults were settled, for the result.
    pub fn begin(common: &Common, mut options: BTreeMap<String, Value>) -> anyhow::Result<Self> {
        let target = common.json.as_deref().map(Target::open).transpose()?;
        if let Some(presets) = &common.load {
            options.insert("load".to_owned(), json!(presets.to_string()));
            options.insert("load_cpus".to_owned(), json!(common.load_cpus));
        }
        let mut document = Document::new(Setup {
            command: std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            options,
        });
        document.machine =
            Some(host::describe(&Root::default()).context("cannot describe this machine")?);
        document.audit.extend(emulated());
        let stop = stop_on_signals()?;
        Ok(Self {
            to_stdout: common
                .json
                .as_deref()
                .is_some_and(|path| path.as_os_str() == "-"),
            target,
            stop,
            presets: common.load.clone(),
            load_cpus: common.load_cpus.clone(),
            load: None,
            began: Instant::now(),
            document,
        })
    }

    /// The measurement begins: starts the loads, which are at work when this returns.
    ///
    /// Call it while no thread of the measurement runs: the loads are forked.
    pub fn start(&mut self) -> anyhow::Result<()> {
        self.load = self.start_loads()?;
        let now = humantime::format_rfc3339_millis(SystemTime::now());
        self.document.started = Some(now.to_string());
        self.began = Instant::now();
        Ok(())
    }

    /// Starts the loads, if there are any. One that ends by itself sets the stop flag.
    fn start_loads(&self) -> anyhow::Result<Option<Running>> {
        let Some(presets) = &self.presets else {
            return Ok(None);
        };
        let Some(running) = Running::start(presets, self.load_cpus.as_ref(), &self.stop)? else {
            return Ok(None);
        };
        let flag = Arc::clone(&self.stop);
        running.watch(move || {
            // A signal that came first is the better reason.
            let _ = flag.compare_exchange(0, LOAD_ENDED, Ordering::Relaxed, Ordering::Relaxed);
        })?;
        Ok(Some(running))
    }

    /// Not 0 once the measurement is to end: a signal asked for it, or a load has ended.
    pub fn stop_flag(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.stop)
    }

    /// Ends the measurement: stops the loads, and `fill` puts the figures into the document and adds
    /// to its audit. The document is then written.
    ///
    /// Returns the document and whether standard output is free for a table. A load that ended
    /// early is an error, after the document that says so was written.
    pub fn finish(self, fill: impl FnOnce(&mut Document)) -> anyhow::Result<(Document, bool)> {
        let mut document = self.document;
        document.seconds = Some(self.began.elapsed().as_secs_f64());
        document.ended_early = match self.stop.load(Ordering::Relaxed) {
            0 | LOAD_ENDED => None,
            signal => Some(format!("signal {signal}")),
        };
        let failed = match self.load.map(Running::stop).transpose() {
            Ok(done) => {
                document.load = done.unwrap_or_default();
                None
            }
            Err(error) => {
                document.ended_early = Some(error.to_string());
                Some(error)
            }
        };
        fill(&mut document);
        if let Some(target) = self.target {
            target.write_document(&document)?;
        }
        if let Some(unit) = document.virtual_unit().filter(|_| !self.to_stdout) {
            writeln!(stdout(), "{unit}\n")?;
        }
        match failed {
            None => Ok((document, !self.to_stdout)),
            Some(error) => Err(error.into()),
        }
    }
}

/// Keeps CPUs out of deep idle states until dropped, and says so; `None`: it was refused.
pub(super) fn keep_awake() -> Option<DmaLatency> {
    let awake = DmaLatency::hold(&Root::default(), 0).ok()?;
    eprintln!("artis: holding /dev/cpu_dma_latency at 0 us: no CPU idles deeply meanwhile");
    Some(awake)
}

/// The mark of the lab, which tells its guests of itself: their CPUs are emulated, and their
/// times are those of nothing, or of the emulator alone.
fn emulated() -> Option<Warning> {
    let lab = std::env::var_os("ARTIS_LAB")?;
    if lab == "bochs" {
        return Some(Warning {
            id: VIRTUAL_TIME.to_owned(),
            seen: bochs::TIMING.to_owned(),
            why: "every instruction takes as long as any other; compare with results of this \
                  emulator only"
                .to_owned(),
            mend: None,
        });
    }
    (lab == "qemu").then(|| Warning {
        id: EMULATED_TIME.to_owned(),
        seen: "this is a machine of artis lab, whose CPUs are emulated (QEMU TCG)".to_owned(),
        why: "its times mean nothing, neither alone nor beside each other".to_owned(),
        mend: Some("measure on a real machine".to_owned()),
    })
}
