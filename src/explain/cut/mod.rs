// SPDX-License-Identifier: GPL-2.0-only
//! Cuts what a thread lost into consecutive segments that sum to the whole.
//!
//! The events of all CPUs are replayed. At each of them the time since the one before is given to
//! whatever then kept the thread from running: while it sleeps, who wakes it later; while it is
//! ready, who has its CPU. A piece ends where the next begins, so that nothing is missed and
//! nothing is counted twice. Some things are known only afterwards, such as the system call of a
//! task that is switched away: they are added to the pieces before. What the events do not prove is
//! unknown, and says what is missing.

mod clock;
mod label;
mod machine;
mod pieces;
mod proof;
mod stops;
mod tasks;
mod waits;

use crate::lane::Lane;
use crate::recording::{Event, Hole, Loss, Recording, Task, Timer, What};
pub(crate) use label::OVERRUN;
use machine::{Cpu, Machine};
use pieces::Pieces;
use proof::Look;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasks::{State, Tasks, Waker};

/// A part of what a thread lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// From when to when, counted from the interval's begin.
    pub begin_ns: u64,
    pub end_ns: u64,
    /// The CPU that the thread needed, or the one that it waited for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu: Option<u32>,
    pub lane: Lane,
    /// Who did it, without numbers that change from run to run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub culprit: Option<String>,
    /// The thread that did it, where it was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tid: Option<u32>,
    /// What it did: a system call, a function, a device. Of what is unknown: what is missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<String>,
    /// Where it was in the kernel when it let go, the innermost function first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub stack: Vec<String>,
    /// Who waits for whom, from the thread to the one that should run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub chain: Vec<String>,
}

impl Segment {
    /// How long it was.
    pub fn ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }

    pub(crate) fn nobody(begin_ns: u64, end_ns: u64, lane: Lane) -> Self {
        Self {
            begin_ns,
            end_ns,
            cpu: None,
            lane,
            culprit: None,
            tid: None,
            code: None,
            stack: Vec::new(),
            chain: Vec::new(),
        }
    }
}

/// Cuts a recording's interval. The segments are consecutive, begin at 0, end with the interval,
/// and none is empty.
pub fn cut(recording: &Recording) -> Vec<Segment> {
    let subject = &recording.subject;
    if subject.end_ns <= subject.due_ns {
        return Vec::new();
    }
    let mut events: Vec<&Event> = recording.events.iter().map(AsRef::as_ref).collect();
    events.sort_by_key(|event| event.ns);
    let mut holes = recording.holes.clone();
    holes.sort_by_key(|hole| hole.from_ns);
    let mut cutter = Cutter::new(recording, &events);
    let mut holes = holes.into_iter().peekable();
    for event in &events {
        while let Some(hole) = holes.next_if(|hole| hole.from_ns < event.ns.min(subject.end_ns)) {
            cutter.fall_into(&hole);
        }
        if event.ns >= subject.end_ns {
            break;
        }
        if event.ns > subject.due_ns {
            cutter.advance(event.ns);
            cutter.learn(event);
        }
        cutter.apply(event);
    }
    for hole in holes.take_while(|hole| hole.from_ns < subject.end_ns) {
        cutter.fall_into(&hole);
    }
    cutter.advance(subject.end_ns);
    cutter.doubt_interrupts_off();
    // What ended the last piece belongs to it.
    if let Some(last) = events.iter().find(|event| event.ns == subject.end_ns) {
        cutter.learn(last);
    }
    let stood = pieces::beyond_the_kernel(recording);
    for (from_ns, until_ns) in stops::stops(&events, &recording.holes, subject.end_ns) {
        cutter.pieces.become_within(from_ns, until_ns, None, &stood);
    }
    for (from_ns, until_ns, piece) in clock::sets(&events, subject) {
        cutter.pieces.become_within(from_ns, until_ns, None, &piece);
    }
    cutter.pieces.finish(recording)
}

/// Every task that any event names, as it was seen first.
fn names(events: &[&Event]) -> BTreeMap<u32, Task> {
    let mut names = BTreeMap::new();
    for event in events {
        let task = match &event.what {
            What::Switch(switch) => &switch.next,
            What::Owner { owner, .. } => owner,
            _ => continue,
        };
        names.entry(task.tid).or_insert_with(|| task.clone());
    }
    names
}

/// The system call that the thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// It began before the record.
    Unseen,
    /// It may have ended, or another begun, where events are missing.
    Hidden,
    Number(u32),
    None,
}

/// A network device, or one of those that have no name here.
fn or_some(device: &str) -> &str {
    match device {
        "" => "some device",
        device => device,
    }
}

struct Cutter<'a> {
    recording: &'a Recording,
    machine: Machine,
    tasks: Tasks,
    pieces: Pieces,
    call: Call,
    asks_for_lock: bool,
    in_fault: bool,
    faults_end: bool,
    /// When interrupts came to the CPU of the thread's timer since that was due.
    interrupts: Vec<u64>,
    /// What the timer's interrupt found there.
    look: Look,
    /// Whether the machine says so when a CPU stands.
    stops_seen: bool,
    /// From when to when it is known who kept the timer's interrupt off.
    proven: Vec<(u64, u64)>,
    /// Who sent the last signal that stops, of each process.
    stopped_by: BTreeMap<u32, (u32, String)>,
}

impl<'a> Cutter<'a> {
    fn new(recording: &'a Recording, events: &[&Event]) -> Self {
        let subject = &recording.subject;
        let (tid, begin_ns) = (subject.task.tid, subject.begin_ns());
        let machine = Machine {
            scheduler_ends: events.iter().any(|event| event.what == What::SchedulerEnds),
            subject: tid,
            names: names(events),
            ..Machine::default()
        };
        let mut tasks = Tasks::new(events, &recording.holes, begin_ns);
        let call = match subject.loss {
            Loss::Late if !subject.busy => {
                tasks.sleeps_at(tid, begin_ns, subject.call);
                subject.call.map_or(Call::Unseen, Call::Number)
            }
            Loss::Late | Loss::LockedOut => Call::Unseen,
            Loss::Stretched => Call::None,
        };
        Self {
            recording,
            machine,
            tasks,
            pieces: Pieces::new(subject.due_ns),
            call,
            asks_for_lock: subject.loss == Loss::LockedOut,
            in_fault: false,
            faults_end: events
                .iter()
                .any(|event| matches!(event.what, What::FaultDone { .. })),
            interrupts: Vec::new(),
            look: Look::default(),
            stops_seen: proof::stops_seen(recording),
            proven: Vec::new(),
            stopped_by: BTreeMap::new(),
        }
    }

    fn tid(&self) -> u32 {
        self.recording.subject.task.tid
    }

    /// What the thread does where the pieces end.
    fn state(&self) -> &State {
        self.tasks.at(self.tid(), self.pieces.end_ns())
    }

    /// When the timer is due that the thread sleeps for.
    fn timer_due_ns(&self) -> Option<u64> {
        let State::Asleep(at) = self.state() else {
            return None;
        };
        match self.tasks.wait(*at).waker {
            Waker::Timer { due_ns } => Some(due_ns),
            _ => None,
        }
    }

    /// The CPU that the thread needs.
    fn cpu(&self) -> Option<u32> {
        match self.state() {
            State::Running(cpu) | State::Waking { by: cpu, .. } => Some(*cpu),
            State::Ready(cpu) => *cpu,
            State::Asleep(at) => self.tasks.wait(*at).woken_on,
            State::Limited(_) | State::OutOfBudget | State::Unknown => None,
        }
    }

    /// The time until `ns` goes to what keeps the thread from running now.
    fn advance(&mut self, ns: u64) {
        if let Some(due_ns) = self.timer_due_ns()
            && due_ns > self.pieces.end_ns()
            && due_ns < ns
        {
            let piece = self.label();
            self.pieces.push(due_ns, piece);
        }
        if ns > self.pieces.end_ns() {
            let piece = self.label();
            self.pieces.push(ns, piece);
        }
    }

    /// Events are missing from here on.
    fn fall_into(&mut self, hole: &Hole) {
        self.advance(hole.from_ns);
        self.machine.fall_into(hole);
        if !hole.untraced && hole.until_ns > self.recording.subject.begin_ns() {
            self.call = Call::Hidden;
        }
    }

    /// What an event says about the time before it.
    fn learn(&mut self, event: &Event) {
        let here = self.cpu() == Some(event.cpu);
        let cpu = self.machine.cpus.get(&event.cpu);
        if let Some(taken) = cpu.and_then(|cpu| cpu.steal.taken(event)) {
            self.pieces.steal(taken, event.cpu);
        }
        match &event.what {
            What::Switch(switch) => {
                let leaves = proof::Leaves::new(cpu, switch);
                self.pieces
                    .explain_task(switch.previous, event.cpu, &leaves, self.stops_seen);
            }
            What::IrqBegins { .. } | What::VectorBegins { .. } if here => {
                self.look = Look::default();
                if self.timer_due_ns().is_some_and(|due_ns| due_ns < event.ns) {
                    self.interrupts.push(event.ns);
                }
            }
            What::TimerBegins(timer) if here => self.timer_begins(timer, event.ns),
            What::Packets {
                device, backlog, ..
            } if here => {
                let from = cpu.filter(|_| *backlog || device.is_empty());
                let packets = match (from, from.and_then(Cpu::sender)) {
                    (None, _) => format!("packets of {device}"),
                    (_, None) => format!("packets of {} within this machine", or_some(device)),
                    (_, Some(name)) => format!("packets of {}, sent by {name}", or_some(device)),
                };
                self.pieces.explain_packets(&packets);
            }
            What::Waking(waking) if waking.tid == self.tid() => {
                self.interrupts.clear();
                self.look = Look::default();
            }
            _ => {}
        }
    }

    /// A timer's interrupt has come to the CPU on which the thread's own is to be handled.
    fn timer_begins(&mut self, timer: &Timer, ns: u64) {
        let subject = &self.recording.subject;
        let is_awake = matches!(self.state(), State::Running(_) | State::Ready(_));
        // Where the record begins while it sleeps, the timer for which it is late says so.
        let late_for = (subject.loss == Loss::Late && !is_awake).then_some(subject.due_ns);
        let Some(due_ns) = self.timer_due_ns().or(late_for) else {
            return;
        };
        self.look.add(timer);
        if timer.due_ns == due_ns {
            let since_ns = match *self.state() {
                State::Asleep(at) => due_ns.max(self.tasks.wait(at).since_ns),
                _ => due_ns,
            };
            self.prove_interrupts_off(since_ns);
            self.proven.push((since_ns, ns));
            self.pieces
                .slack(since_ns, due_ns.saturating_add(timer.slack_ns));
        }
    }

    fn apply(&mut self, event: &Event) {
        let tid = self.tid();
        self.machine.apply(event);
        match &event.what {
            What::SyscallBegins {
                tid: caller,
                number,
                lock,
            } if *caller == tid => {
                self.call = Call::Number(*number);
                self.asks_for_lock = *lock;
            }
            What::SyscallEnds { tid: caller } if *caller == tid => {
                self.call = Call::None;
                self.asks_for_lock = false;
            }
            What::Fault { tid: own } if *own == tid => self.in_fault = self.faults_end,
            What::FaultDone { tid: own } if *own == tid => self.in_fault = false,
            What::Signal {
                process,
                number,
                by,
                by_name,
                ..
            } if *number != waits::SIGCONT => {
                self.stopped_by.insert(*process, (*by, by_name.clone()));
            }
            _ => {}
        }
    }
}
