// SPDX-License-Identifier: GPL-2.0-only
//! What every `artis measure` command does around its measuring: find out at once that the
//! result cannot be written, catch signals, describe the machine, and write the document.

use crate::cli::signals::stop_on_signals;
use crate::machine::Root;
use crate::measure::host;
use crate::result::document::EMULATED_TIME;
use crate::result::file::Target;
use crate::result::{Document, Setup, Warning};
use anyhow::Context;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, SystemTime};

/// The options that all measuring commands have.
#[derive(clap::Args)]
pub struct Common {
    /// Write the result file (artis.result/1) to FILE; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// A measurement that is being made.
pub struct Session {
    target: Option<Target>,
    to_stdout: bool,
    stop: Arc<AtomicUsize>,
    began: Instant,
    document: Document,
}

impl Session {
    /// Prepares all that can fail before the measurement. `options` are the settings after
    /// defaults were settled, for the result.
    pub fn begin(common: &Common, options: BTreeMap<String, Value>) -> anyhow::Result<Self> {
        let target = common.json.as_deref().map(Target::open).transpose()?;
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
        document.started = Some(humantime::format_rfc3339_millis(SystemTime::now()).to_string());
        Ok(Self {
            to_stdout: common
                .json
                .as_deref()
                .is_some_and(|path| path.as_os_str() == "-"),
            target,
            stop,
            began: Instant::now(),
            document,
        })
    }

    /// Not 0 once a signal asked to end: the signal's number.
    pub fn stop_flag(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.stop)
    }

    /// Ends the measurement: `fill` puts the figures into the document, and adds to its audit.
    /// The document is then written.
    ///
    /// Returns the document and whether standard output is free for a table.
    pub fn finish(self, fill: impl FnOnce(&mut Document)) -> anyhow::Result<(Document, bool)> {
        let mut document = self.document;
        document.seconds = Some(self.began.elapsed().as_secs_f64());
        let signal = self.stop.load(Ordering::Relaxed);
        if signal != 0 {
            document.ended_early = Some(format!("signal {signal}"));
        }
        fill(&mut document);
        if let Some(target) = self.target {
            target.write_document(&document)?;
        }
        Ok((document, !self.to_stdout))
    }
}

/// The mark of the lab's QEMU, which tells its guests of itself: its CPUs are emulated, and
/// their times are those of nothing.
fn emulated() -> Option<Warning> {
    let lab = std::env::var_os("ARTIS_LAB")?;
    (lab == "qemu").then(|| Warning {
        id: EMULATED_TIME.to_owned(),
        seen: "this is a machine of artis lab, whose CPUs are emulated (QEMU TCG)".to_owned(),
        why: "its times mean nothing, neither alone nor beside each other".to_owned(),
        mend: Some("measure on a real machine".to_owned()),
    })
}
