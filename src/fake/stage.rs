// SPDX-License-Identifier: GPL-2.0-only
//! A run: starts all tasks at one moment, waits for the end, collects what each did, and leaves
//! nothing behind.

use super::Error;
use super::actor;
use super::arena::{Arena, Part, Shared, Slot};
use super::calibrate::{self, Rates};
use super::channel::Ends;
use super::fit::fit;
use super::group::Groups;
use super::sync::{Locks, futex_wake};
use artis_load::supervised::{Event, Inside, Supervised};
use artis_machine::{CpuList, Root, processes};
use artis_measure::clock::now_ns;
use artis_scenario::model::{Op, Scenario};
use artis_scenario::{Ended, Outcome};
use artis_task::syscall;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::ops::Range;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU8, AtomicUsize};
use std::time::Duration;

/// Between the gate's opening and the start: all tasks are asleep by then.
const BEFORE_START_NS: u64 = 10_000_000;
/// The same of each task, on top.
const BEFORE_START_EACH_NS: u64 = 20_000;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// How long the preparation of all tasks may take.
const READY_LIMIT_NS: u64 = 60_000_000_000;

/// What everybody has.
pub struct Stage {
    pub scenario: Scenario,
    pub here: CpuList,
    pub rates: Rates,
    pub instructions_per_step: f64,
    pub shared: Shared,
    pub sync: Locks,
    pub channels: Vec<Ends>,
    pub buffers: Vec<Part<AtomicU8>>,
    /// Of each group, the file that takes processes into it. Known once they are made, by the
    /// process that removes them.
    pub groups: OnceCell<Vec<std::path::PathBuf>>,
    folder: OnceCell<std::path::PathBuf>,
    _arena: Arena,
}

/// What a run says of itself while it goes on.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Since the common start; 0 before.
    pub ns: u64,
    pub tasks: usize,
    pub ended: usize,
    pub missed: u64,
}

/// Runs a scenario until it ends, or `stop` is set. `look` is called some times a second.
///
/// # Errors
/// When it cannot run here, or a task could not do a step.
pub fn run(
    scenario: &Scenario,
    stop: &AtomicUsize,
    look: &mut dyn FnMut(Progress),
) -> Result<Outcome, Error> {
    let here = syscall::affinity(0).map_err(Error::system("ask for the own CPUs"))?;
    fit(scenario, &here)?;
    let stage = Stage::new(scenario.clone(), here)?;
    let mut supervised = Supervised::start("artis-scenario", |inside| stage.inside(inside))?;
    let tasks = stage.scenario.instances() as usize;
    let ended = loop {
        if stop.load(Relaxed) != 0 {
            stage.shared.gate().stop.store(1, Release);
            supervised.ask_to_stop();
        }
        if let Some(Message::Ended(ended)) = supervised.receive::<Message>(Some(LOOK))? {
            break ended;
        }
        look(stage.progress(tasks));
    };
    drop(supervised);
    stage.failure()?;
    let ended = match stop.load(Relaxed) {
        0 => ended,
        _ => Ended::Interrupted,
    };
    Ok(stage.outcome(ended))
}

/// What the supervised process says.
#[derive(Serialize, Deserialize)]
enum Message {
    Ended(Ended),
}

impl Stage {
    fn new(scenario: Scenario, here: CpuList) -> Result<Self, Error> {
        let rates = calibrate::rates()?;
        let cpus = here.last().map_or(1, |last| last as usize + 1);
        let slots = scenario.instances() as usize + scenario.tasks.len();
        let sizes = buffer_sizes(&scenario);
        let bytes: usize = sizes
            .iter()
            .map(|size| Arena::bytes::<AtomicU8>(*size))
            .sum();
        let needed =
            Shared::bytes(&scenario, slots, cpus) + Locks::bytes(&scenario.objects) + bytes;
        let mut arena = Arena::new(needed)?;
        let shared = Shared::new(&mut arena, &scenario, slots, cpus);
        for (kind, task) in shared.kinds.iter().zip(&scenario.tasks) {
            kind.alive.store(task.count, Relaxed);
        }
        let foreground = scenario.tasks.iter().filter(|task| task.is_foreground);
        let foreground = foreground.map(|task| task.count).sum();
        shared.gate().foreground.store(foreground, Relaxed);
        let channels = scenario.objects.channels.iter().map(Ends::new);
        let counts = |op: &Op| {
            matches!(
                op,
                Op::Compute(artis_scenario::model::Work::Instructions(_))
            )
        };
        let counted = scenario
            .tasks
            .iter()
            .any(|task| task.program.ops().any(counts));
        let instructions_per_step = match counted {
            true => super::calibrate::instructions_per_step()?,
            false => 1.0,
        };
        Ok(Self {
            here,
            rates,
            instructions_per_step,
            sync: Locks::new(&mut arena, &scenario.objects)?,
            channels: channels.collect::<Result<_, Error>>()?,
            buffers: sizes.into_iter().map(|size| arena.take(size)).collect(),
            groups: OnceCell::new(),
            folder: OnceCell::new(),
            shared,
            scenario,
            _arena: arena,
        })
    }

    /// The slots of a task's instances that are there at the start.
    pub fn slots_of(&self, task: usize) -> Range<usize> {
        let before = self.scenario.tasks[..task]
            .iter()
            .map(|it| it.count as usize);
        let begin: usize = before.sum();
        begin..begin + self.scenario.tasks[task].count as usize
    }

    /// The slot of all forked instances of a task.
    pub fn forked_slot(&self, task: usize) -> usize {
        self.scenario.instances() as usize + task
    }

    /// Where tasks may make files.
    pub fn folder(&self) -> &Path {
        self.folder
            .get()
            .map_or(Path::new("/tmp"), |it| it.as_path())
    }

    fn progress(&self, tasks: usize) -> Progress {
        let gate = self.shared.gate();
        let start_ns = gate.start_ns.load(Acquire);
        let slots = &self.shared.slots[..tasks];
        Progress {
            ns: match start_ns {
                0 => 0,
                start_ns => now_ns().saturating_sub(start_ns),
            },
            tasks,
            ended: slots
                .iter()
                .filter(|it| it.has_ended.load(Relaxed) != 0)
                .count(),
            missed: slots.iter().map(|it| it.missed.load(Relaxed)).sum(),
        }
    }

    /// The life of the supervised process.
    fn inside(&self, inside: &mut Inside) -> Result<(), artis_load::Error> {
        let reported = |error: Error| artis_load::Error::Reported(error.to_string());
        let groups = Groups::new(&self.scenario.objects.groups).map_err(reported)?;
        let _ = self.groups.set(groups.files());
        let _ = self.folder.set(inside.folder().to_owned());
        let outcome = self.perform(inside);
        // Groups are removed when they are empty.
        if !self.scenario.objects.groups.is_empty() {
            end_all_below(inside);
        }
        drop(groups);
        inside.say(Message::Ended(outcome?))
    }

    fn perform(&self, inside: &mut Inside) -> Result<Ended, artis_load::Error> {
        let mut alive = 0;
        for task in 0..self.scenario.tasks.len() {
            for slot in self.slots_of(task) {
                let pid = inside.fork(|| match actor::live(self, task, slot, false) {
                    true => Ok(()),
                    false => Err(std::io::ErrorKind::Other.into()),
                })?;
                self.shared.slots[slot].pid.store(pid, Release);
                alive += 1;
            }
        }
        let ended = self.wait(inside, alive)?;
        self.collect();
        Ok(ended)
    }

    /// Until the end.
    fn wait(&self, inside: &mut Inside, mut alive: u32) -> Result<Ended, artis_load::Error> {
        let gate = self.shared.gate();
        let began_ns = now_ns();
        let tasks = alive;
        loop {
            if gate.open.load(Relaxed) == 0 && gate.ready.load(Acquire) == tasks {
                self.open(tasks);
            }
            let is_late =
                gate.open.load(Relaxed) == 0 && now_ns().saturating_sub(began_ns) > READY_LIMIT_NS;
            if is_late {
                gate.stop.store(1, Release);
                return Err(artis_load::Error::Reported(format!(
                    "{} of {tasks} tasks were not ready in {} s; is the machine busy with \
                     real-time tasks?",
                    tasks - gate.ready.load(Acquire),
                    READY_LIMIT_NS / 1_000_000_000
                )));
            }
            let event = inside.wait(Some(self.patience()))?;
            if event == Event::Child {
                while let Some((pid, status, _)) = inside.reap() {
                    let mut slots = self.shared.slots.iter();
                    // Orphans that were forked are among them.
                    if let Some(slot) = slots.find(|slot| slot.pid.load(Relaxed) == pid) {
                        alive -= 1;
                        // The number may be another process's from here on.
                        slot.pid.store(0, Release);
                        if !status.success() {
                            return self.broken(slot, status);
                        }
                    }
                }
            }
            let now_ns = now_ns();
            if gate.foreground_ended.load(Acquire) != 0 {
                return Ok(Ended::Foreground);
            }
            if matches!(event, Event::Stop | Event::Abandoned) || gate.stop.load(Acquire) != 0 {
                return Ok(Ended::Interrupted);
            }
            if self.shared.must_stop(now_ns) {
                return Ok(Ended::Duration);
            }
            if let Some(pid) = self.lost() {
                return Err(artis_load::Error::Reported(format!(
                    "the forked task {pid} was killed; did the machine run out of memory?"
                )));
            }
            if alive == 0 && self.shared.forked.iter().all(|it| it.load(Acquire) == 0) {
                return Ok(Ended::All);
            }
        }
    }

    /// A task has ended in disorder: it said why, or it was killed.
    fn broken(&self, slot: &Slot, status: ExitStatus) -> Result<Ended, artis_load::Error> {
        match slot.failed.load(Acquire) {
            0 => Err(artis_load::Error::Reported(format!(
                "a task ended before its program ({status}); did the machine run out of memory?"
            ))),
            _ => Ok(Ended::Interrupted),
        }
    }

    /// A forked task that is listed and does not live: it takes itself off the list at its end.
    fn lost(&self) -> Option<i32> {
        self.shared.forked.iter().find_map(|entry| {
            let listed = entry.load(Acquire);
            let pid = listed as u32 as i32;
            let is_lost = listed != 0
                && kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH)
                && entry.load(Acquire) == listed;
            is_lost.then_some(pid)
        })
    }

    /// Until the next look: not beyond the end.
    fn patience(&self) -> Duration {
        let end_ns = self.shared.gate().end_ns.load(Relaxed);
        match (self.shared.gate().open.load(Relaxed), end_ns) {
            (0, _) => Duration::from_millis(1),
            (_, 0) => LOOK,
            (_, end_ns) => Duration::from_nanos(end_ns.saturating_sub(now_ns())).min(LOOK),
        }
    }

    fn open(&self, tasks: u32) {
        let gate = self.shared.gate();
        let before_ns = BEFORE_START_NS + u64::from(tasks) * BEFORE_START_EACH_NS;
        let start_ns = now_ns() + before_ns;
        if let Some(duration_ns) = self.scenario.end.duration_ns {
            gate.end_ns
                .store(start_ns.saturating_add(duration_ns), Relaxed);
        }
        gate.start_ns.store(start_ns, Release);
        gate.open.store(1, Release);
        futex_wake(&gate.open);
    }
}

/// Kills what lives below the supervised process, which then reaps it.
fn end_all_below(inside: &mut Inside) {
    for process in processes::below(&Root::default(), std::process::id() as i32) {
        let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
    }
    while inside.reap().is_some() {}
}

/// The largest size that any step wants of each shared buffer.
fn buffer_sizes(scenario: &Scenario) -> Vec<usize> {
    let mut sizes: Vec<usize> = Vec::new();
    for op in scenario.tasks.iter().flat_map(|task| task.program.ops()) {
        if let Op::Memory(memory) = op
            && let Some(shared) = memory.shared
        {
            if sizes.len() <= shared {
                sizes.resize(shared + 1, 64);
            }
            sizes[shared] = sizes[shared].max(memory.buffer_bytes as usize);
        }
    }
    sizes
}
