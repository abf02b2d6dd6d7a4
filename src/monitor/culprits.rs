// SPDX-License-Identifier: GPL-2.0-only
//! Switches the flight recorder on when a wakeup was above the bound, for the next ones of that
//! thread, and off again.
//!
//! The recorder costs as much as a short wakeup, so it is on for a while only, and not again before
//! a pause. Loading it changes code of the kernel, which stops every CPU for a moment.

use crate::now::Culprit;
use artis_explain::recording::Loss;
use artis_explain::summary::chief;
use artis_explain::{Recording, cut};
use artis_recorder::{Error, Recorder, Settings, Storage, Watched};
use artis_watch::Alert;
use nix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// How often the recorder's marks are looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Late ones that are kept of one recording.
const WORST: usize = 3;
/// Culprits that are remembered.
const KEPT: usize = 32;

/// When and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// What is above it is worth a recording.
    pub bound_ns: u64,
    /// Wakeups that are recorded.
    pub wakeups: u64,
    /// It ends then, however few there were.
    pub time: Duration,
    /// From the end of one recording to the begin of the next.
    pub pause: Duration,
}

impl Plan {
    /// A thousand wakeups or ten seconds, a minute apart.
    pub fn new(bound_ns: u64) -> Self {
        Self {
            bound_ns,
            wakeups: 1000,
            time: Duration::from_secs(10),
            pause: Duration::from_secs(60),
        }
    }
}

/// What came of a recording.
#[derive(Debug)]
pub enum Outcome {
    /// The late wakeups in it, and who made them.
    Found(Vec<Culprit>),
    /// None of so many wakeups was late.
    NotAgain { thread: String, wakeups: u64 },
    /// The recorder could not be loaded.
    Failed(String),
}

struct Running {
    thread: JoinHandle<()>,
    outcome: Receiver<Outcome>,
}

/// The recorder, on or off.
pub struct OnDemand {
    plan: Plan,
    running: Option<Running>,
    stop: Arc<AtomicBool>,
    ended: Option<Instant>,
    kept: VecDeque<Culprit>,
    pub recordings: u64,
    /// It was refused once, so it is not tried again.
    is_refused: bool,
}

impl OnDemand {
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            running: None,
            stop: Arc::new(AtomicBool::new(false)),
            ended: None,
            kept: VecDeque::new(),
            recordings: 0,
            is_refused: false,
        }
    }

    pub fn is_on(&self) -> bool {
        self.running.is_some()
    }

    /// The newest first.
    pub fn kept(&self) -> Vec<Culprit> {
        self.kept.iter().cloned().collect()
    }

    /// To be called some times a second. Switches the recorder on for the worst of these, if it may
    /// be on now; gives what has come of one that has ended.
    pub fn look(&mut self, alerts: &[Alert]) -> Option<Outcome> {
        let outcome = self.ended();
        let rests = self.ended.is_some_and(|at| at.elapsed() < self.plan.pause);
        let worst = alerts.iter().max_by_key(|one| one.value_ns);
        if let Some(worst) = worst.filter(|_| !self.is_on() && !rests && !self.is_refused) {
            self.start(worst);
        }
        outcome
    }

    fn start(&mut self, alert: &Alert) {
        let (say, outcome) = channel();
        let (plan, stop) = (self.plan, Arc::clone(&self.stop));
        let (tid, name) = (alert.tid, alert.name.clone());
        let run = move || {
            let outcome = record(tid, &name, plan, &stop);
            // Nobody listens when the command ends meanwhile.
            let _ = say.send(outcome);
        };
        let started = std::thread::Builder::new()
            .name("artis-recorder".to_owned())
            .spawn(run);
        if let Ok(thread) = started {
            self.recordings += 1;
            self.running = Some(Running { thread, outcome });
        }
    }

    fn ended(&mut self) -> Option<Outcome> {
        let outcome = match self.running.as_ref()?.outcome.try_recv() {
            Ok(outcome) => outcome,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => {
                Outcome::Failed("the recording broke off".to_owned())
            }
        };
        self.join();
        self.ended = Some(Instant::now());
        match &outcome {
            Outcome::Found(found) => {
                for one in found.iter().rev() {
                    self.kept.push_front(one.clone());
                }
                self.kept.truncate(KEPT);
            }
            Outcome::NotAgain { .. } => {}
            Outcome::Failed(_) => self.is_refused = true,
        }
        Some(outcome)
    }

    fn join(&mut self) {
        if let Some(running) = self.running.take() {
            // A panic of that thread has been printed.
            let _ = running.thread.join();
        }
    }
}

impl Drop for OnDemand {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.join();
    }
}

/// Records one thread until enough wakeups were seen.
fn record(tid: u32, name: &str, plan: Plan, stop: &AtomicBool) -> Outcome {
    match recorded(tid, plan, stop) {
        Ok((found, wakeups)) if found.is_empty() => Outcome::NotAgain {
            thread: format!("{name} ({tid})"),
            wakeups,
        },
        Ok((found, _)) => Outcome::Found(found),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

fn recorded(tid: u32, plan: Plan, stop: &AtomicBool) -> Result<(Vec<Culprit>, u64), Error> {
    let mut storage = Storage::uninit();
    let settings = Settings {
        worst: WORST,
        threshold_ns: plan.bound_ns,
        until_ns: None,
    };
    let mut recorder = Recorder::load(&mut storage, settings)?;
    recorder.watch(&Watched::Thread(tid))?;
    let began = Instant::now();
    let wakeups = |recorder: &Recorder<'_>| {
        let threads = recorder.threads();
        threads.iter().map(|one| one.wakeups.count).sum::<u64>()
    };
    while !stop.load(Ordering::Relaxed) && began.elapsed() < plan.time {
        std::thread::sleep(LOOK);
        recorder.poll();
        if wakeups(&recorder) >= plan.wakeups || !recorder.is_alive() {
            break;
        }
    }
    recorder.finish();
    let wakeups = wakeups(&recorder);
    let mut kept = recorder.kept();
    kept.sort_by_key(|one| std::cmp::Reverse(one.subject.lost_ns));
    Ok((kept.iter().filter_map(culprit).collect(), wakeups))
}

/// Who made a wakeup late; other losses are no wakeups.
fn culprit(recording: &Recording) -> Option<Culprit> {
    let subject = &recording.subject;
    if subject.loss != Loss::Late {
        return None;
    }
    let (lane, who, ns) = chief(&cut(recording))?;
    Some(Culprit {
        at: humantime::format_rfc3339_seconds(wall_clock(subject.end_ns)).to_string(),
        tid: subject.task.tid,
        thread: subject.task.name.clone(),
        late_ns: subject.lost_ns,
        lane: lane.to_string(),
        who,
        ns,
    })
}

/// When it was at this moment of the monotonic clock.
fn wall_clock(monotonic_ns: u64) -> SystemTime {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
    let since = now.saturating_sub(Duration::from_nanos(monotonic_ns));
    SystemTime::now()
        .checked_sub(since)
        .unwrap_or(SystemTime::UNIX_EPOCH)
}
