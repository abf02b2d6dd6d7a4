// SPDX-License-Identifier: GPL-2.0-only
//! What every measuring command does around its measuring, in three steps.
//!
//! (a) [`Session`]: finds out at once that the result cannot be written, catches signals, describes
//! the machine, locks the memory and keeps CPUs out of deep idle states. (b) [`Measurement`]:
//! starts the loads and sees them at work, and audits the machine. (c) [`Finished`]: the loads have
//! stopped; prints the figures and then writes them.

use crate::aside::Aside;
use crate::exit::BoundMissed;
use crate::lava;
use crate::output::Outcome;
use crate::signals::stop_on_signals;
use crate::voice::Voice;
use anyhow::Context;
use artis_decide::compare::Gate;
use artis_lab::engine::bochs;
use artis_load::preset::{Presets, Running};
use artis_machine::{CpuList, Root};
use artis_measure::alone::{Alone, Other};
use artis_measure::audit::{self, Audit, Samples, User};
use artis_measure::dma_latency::DmaLatency;
use artis_measure::thread::Policy;
use artis_measure::{host, memory};
use artis_report::series::of_document;
use artis_result::document::{EMULATED_TIME, VIRTUAL_TIME};
use artis_result::file::Target;
use artis_result::{Document, Series, Setup, Warning};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, SystemTime};

/// In the stop flag: no signal, but a load that ended by itself. Signals end at 64.
const LOAD_ENDED: usize = usize::MAX;

/// Measure at once, also beside another measurement.
const CONCURRENT: &str = "ARTIS_CONCURRENT";

/// What all measuring commands are asked for.
#[derive(Default)]
pub struct Common {
    /// Where the result file goes; `-` is standard output.
    pub json: Option<PathBuf>,
    /// Loads to run meanwhile.
    pub load: Option<Presets>,
    /// CPUs that the loads run on; none: all.
    pub load_cpus: Option<CpuList>,
    /// Lines for LAVA, with gates that decide what has passed; none: no lines.
    pub lava: Option<Vec<Gate>>,
    pub voice: Voice,
}

/// What the measuring threads are like.
pub struct Threads {
    pub cpus: CpuList,
    pub policy: Policy,
    /// Whether the figure is one of a real-time task, so that a normal policy spoils it.
    pub wants_real_time: bool,
    /// Whether they sleep now and then, so that their CPUs may idle.
    pub sleeps: bool,
    /// Exit latency of the idle states that their CPUs may use.
    pub exit_latency_us: i32,
}

/// A measurement that is being prepared.
pub struct Session {
    json: Option<Target>,
    stop: Arc<AtomicUsize>,
    presets: Option<Presets>,
    load_cpus: Option<CpuList>,
    lava: Option<Vec<Gate>>,
    voice: Voice,
    threads: Option<audit::Plan>,
    awake: Option<DmaLatency>,
    /// No other measurement runs meanwhile.
    alone: Option<Alone>,
    document: Document,
}

/// Takes the right to measure, when nobody else measures any more.
///
/// # Errors
/// When it cannot be asked for.
pub fn alone(stop: &AtomicUsize) -> anyhow::Result<Alone> {
    let beside = std::env::var_os(CONCURRENT).is_some_and(|value| value == "1");
    let alone = Alone::take(beside, stop, &mut |other| {
        say!(
            "artis: waiting for another measurement: {other}; two at once would falsify each \
             other, {CONCURRENT}=1 measures nevertheless"
        );
    });
    Ok(alone?)
}

/// What speaks against figures that were measured beside another measurement.
fn concurrent(other: &Other) -> Warning {
    Warning {
        id: "concurrent_measurement".to_owned(),
        seen: format!("another measurement ran: {other}"),
        why: "each is a load that the other does not name".to_owned(),
        fix: Some(format!(
            "measure one after the other, without {CONCURRENT}=1"
        )),
    }
}

impl Session {
    /// Finds out what can fail before anything is measured, and waits until nobody else measures.
    /// `options` are the resolved settings, for the result.
    ///
    /// # Errors
    /// When the result cannot be written, or the machine cannot be described.
    pub fn begin(
        common: impl Into<Common>,
        options: BTreeMap<String, Value>,
    ) -> anyhow::Result<Self> {
        let mut session = Self::beside(common, options)?;
        let alone = alone(&session.stop)?;
        if let Some(other) = &alone.other {
            session.warn(concurrent(other));
        }
        session.alone = Some(alone);
        Ok(session)
    }

    /// As [`begin`](Self::begin), for what may run beside a measurement.
    ///
    /// # Errors
    /// The same.
    pub fn beside(
        common: impl Into<Common>,
        mut options: BTreeMap<String, Value>,
    ) -> anyhow::Result<Self> {
        let common = common.into();
        let json = common.json.as_deref().map(Target::open).transpose()?;
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
        Ok(Self {
            json,
            stop: stop_on_signals()?,
            presets: common.load,
            load_cpus: common.load_cpus,
            lava: common.lava,
            voice: common.voice,
            threads: None,
            awake: None,
            alone: None,
            document,
        })
    }

    /// Adds a setting for the result, which was found out after the session had begun.
    pub fn set(&mut self, name: &str, value: Value) {
        self.document.setup.options.insert(name.to_owned(), value);
    }

    /// Locks the memory of the process, and keeps CPUs out of deep idle states where the threads
    /// sleep. Call it before the threads' memory is made: it is then brought in and locked as it
    /// comes.
    pub fn prepare(&mut self, threads: Threads) {
        let locked = memory::lock_and_prefault();
        if threads.sleeps {
            let us = threads.exit_latency_us;
            self.awake = DmaLatency::hold(&Root::default(), us).ok();
            if self.awake.is_some() {
                self.voice.say(&format!(
                    "holding /dev/cpu_dma_latency at {us} us: idle CPUs wake up faster meanwhile"
                ));
            }
        }
        self.threads = Some(audit::Plan {
            cpus: threads.cpus,
            policy: threads.policy,
            wants_real_time: threads.wants_real_time,
            memory_locked: locked.is_ok(),
            dma_latency_held: self.awake.is_some() && threads.exit_latency_us == 0,
            sleeps: threads.sleeps,
            user: User::current(),
        });
    }

    /// Prints what speaks against the figures, and keeps it for the result.
    pub fn warn(&mut self, found: Warning) {
        let mut found = User::current().can_type(vec![found]);
        self.voice.warn(&found);
        self.document.audit.append(&mut found);
    }

    pub fn voice(&self) -> Voice {
        self.voice
    }

    /// Not 0 once the measurement is to end: a signal asked for it, or a load has ended.
    pub fn stop_flag(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.stop)
    }

    /// The measurement begins: starts the loads, which are at work when this returns, and says what
    /// already speaks against the figures, before hours are spent on them.
    ///
    /// Call it while no thread of the measurement runs: the loads are forked.
    pub fn start(mut self) -> anyhow::Result<Measurement> {
        let load = self.start_loads()?;
        let plan = self.threads.take();
        let audit = plan
            .as_ref()
            .map(|plan| Audit::before(&Root::default(), plan));
        if let Some(audit) = &audit {
            self.voice.warn(audit.found());
            self.voice.explain(audit.found().len());
        }
        let now = humantime::format_rfc3339_millis(SystemTime::now());
        self.document.started = Some(now.to_string());
        Ok(Measurement {
            began: Instant::now(),
            load,
            audit,
            aside: plan.and_then(|plan| Aside::of(&plan.cpus)),
            session: self,
        })
    }

    /// Starts the loads, if there are any. A load that ends by itself sets the stop flag.
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
}

/// A measurement that goes on.
pub struct Measurement {
    session: Session,
    began: Instant,
    load: Option<Running>,
    audit: Option<Audit>,
    aside: Option<Aside>,
}

/// What was measured.
#[derive(Default)]
pub struct Figures {
    /// How long; none: since the start.
    pub seconds: Option<f64>,
    pub series: Vec<Series>,
    /// The series that must have many samples for the percentiles to mean something.
    pub counted: Option<&'static str>,
    /// What speaks against the figures.
    pub doubts: Vec<Warning>,
    /// Why it ended before its time. A signal or a load comes first.
    pub ended_early: Option<String>,
    /// What failed: the figures are those until then.
    pub failure: Option<anyhow::Error>,
}

impl Measurement {
    /// As [`Session::stop_flag`].
    pub fn stop_flag(&self) -> Arc<AtomicUsize> {
        self.session.stop_flag()
    }

    pub fn voice(&self) -> Voice {
        self.session.voice
    }

    /// Ends the measurement: stops the loads and ends the audit. A load that ended early is a
    /// failure, which [`Finished::publish`] returns when the figures are safe.
    pub fn finish(mut self, figures: Figures) -> Finished {
        self.aside = None;
        let Session {
            stop,
            voice,
            json,
            lava,
            mut document,
            ..
        } = self.session;
        document.seconds = Some(
            figures
                .seconds
                .unwrap_or_else(|| self.began.elapsed().as_secs_f64()),
        );
        let signal = match stop.load(Ordering::Relaxed) {
            0 | LOAD_ENDED => None,
            signal => Some(format!("signal {signal}")),
        };
        let mut failures: Vec<anyhow::Error> = figures.failure.into_iter().collect();
        document.ended_early = failures.first().map(ToString::to_string);
        match self.load.map(Running::stop).transpose() {
            Ok(done) => document.load = done.unwrap_or_default(),
            Err(error) => {
                document.ended_early = Some(error.to_string());
                failures.insert(0, error.into());
            }
        }
        document.ended_early = document
            .ended_early
            .take()
            .or(signal)
            .or(figures.ended_early);
        if let Some(audit) = self.audit {
            let known = audit.found().len();
            let counted = figures.series.iter();
            let counted = counted.filter(|series| Some(&*series.name) == figures.counted);
            let samples: Vec<Samples> = counted
                .map(|series| Samples {
                    series: &series.name,
                    count: series.distribution.count(),
                })
                .collect();
            let mut found = audit.after(&Root::default(), &samples);
            found.extend(figures.doubts);
            voice.warn(&found[known..]);
            if known == 0 {
                voice.explain(found.len());
            }
            document.audit.append(&mut found);
        }
        document.series = figures.series;
        Finished {
            document,
            json,
            lava,
            files: Vec::new(),
            failures,
        }
    }
}

/// A measurement that is over.
pub struct Finished {
    pub document: Document,
    json: Option<Target>,
    lava: Option<Vec<Gate>>,
    /// Files to write beside the document, and their content.
    pub files: Vec<(Target, Vec<u8>)>,
    failures: Vec<anyhow::Error>,
}

impl Finished {
    /// Notes what failed afterwards: [`Finished::publish`] returns it when the figures are safe.
    pub fn fail(&mut self, error: anyhow::Error) {
        self.failures.push(error);
    }

    /// Prints the figures as `table` lays them out, then writes the files. Times of an emulator are
    /// counted and not shown.
    ///
    /// # Errors
    /// As [`Outcome::publish`].
    pub fn publish_table(self, table: impl FnOnce(&Document) -> String) -> anyhow::Result<()> {
        let text = match self.document.is_emulated() {
            true => of_document(&self.document),
            false => table(&self.document),
        };
        self.publish(&text)
    }

    /// Prints this text, then writes the files.
    ///
    /// # Errors
    /// As [`Outcome::publish`]; what failed during the measurement is among it.
    pub fn publish(mut self, text: &str) -> anyhow::Result<()> {
        let lava = self.lava();
        let unit = self.document.virtual_unit();
        let unit = unit.map_or_else(String::new, |unit| format!("{unit}\n\n"));
        Outcome {
            text: &(unit + text + &lava),
            document: &self.document,
            json: self.json,
            files: self.files,
            failures: self.failures,
        }
        .publish()
    }

    /// The lines for LAVA. Where a document goes to standard output, they go to standard error. A
    /// gate that is missed is a failure.
    fn lava(&mut self) -> String {
        let Some(gates) = self.lava.take() else {
            return String::new();
        };
        let lines = match lava::lines(&self.document, &gates) {
            Ok(lines) => lines,
            Err(error) => {
                self.failures.push(error);
                return String::new();
            }
        };
        if !lines.missed.is_empty() {
            self.failures
                .push(BoundMissed(lines.missed.join("; ")).into());
        }
        let mut others = self
            .files
            .iter()
            .map(|(target, _)| target)
            .chain(&self.json);
        if others.any(Target::is_stdout) {
            say_text!("{}", lines.text);
            return String::new();
        }
        lines.text
    }
}

/// The mark by which the lab makes itself known to its guests: their CPUs are emulated, and their
/// times mean nothing, or mean something only within the emulator.
fn emulated() -> Option<Warning> {
    let lab = std::env::var("ARTIS_LAB").ok()?;
    if lab == "bochs" {
        return Some(Warning {
            id: VIRTUAL_TIME.to_owned(),
            seen: bochs::TIMING.to_owned(),
            why: "every instruction takes as long as any other; compare with results of this \
                  emulator only"
                .to_owned(),
            fix: None,
        });
    }
    lab.starts_with("qemu").then(|| Warning {
        id: EMULATED_TIME.to_owned(),
        seen: "this is a machine of artis lab, whose CPUs are emulated (QEMU TCG)".to_owned(),
        why: "its times mean nothing, neither alone nor beside each other".to_owned(),
        fix: Some("measure on a real machine".to_owned()),
    })
}
