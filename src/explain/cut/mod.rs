// SPDX-License-Identifier: GPL-2.0-only
//! Cuts what a thread lost into consecutive segments that sum to the whole.
//!
//! The events of all CPUs are replayed. At each of them the time since the one before is given to
//! whatever then kept the thread from running: on the CPU where its timer is to expire, then on the
//! one that wakes it, then on the one that it waits for. A piece ends where the next begins, so
//! that nothing is missed and nothing is counted twice. Some things are known only afterwards, such
//! as the system call of a task that is switched away: they are added to the pieces before.

mod label;
mod machine;
mod pieces;
mod stops;

use crate::lane::Lane;
use crate::recording::{Event, Hole, Loss, Recording, Task, What};
use label::Phase;
use machine::{Cpu, Machine};
use pieces::Pieces;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A part of what a thread lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// From when to when, counted from the interval's begin.
    pub begin_ns: u64,
    pub end_ns: u64,
    /// The CPU that the thread needed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu: Option<u32>,
    pub lane: Lane,
    /// Who did it, without numbers that change from run to run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub culprit: Option<String>,
    /// The thread that did it, where it was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tid: Option<u32>,
    /// What it did: a system call, a function, a device.
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
}

/// Cuts a recording's interval. The segments are consecutive, begin at 0, end with the interval,
/// and none is empty.
pub fn cut(recording: &Recording) -> Vec<Segment> {
    let subject = &recording.subject;
    if subject.end_ns <= subject.due_ns {
        return Vec::new();
    }
    let mut events: Vec<&Event> = recording.events.iter().collect();
    events.sort_by_key(|event| event.ns);
    let mut cutter = Cutter::new(recording, &events);
    let mut holes = recording.holes.clone();
    holes.sort_by_key(|hole| hole.from_ns);
    let mut holes = holes.into_iter().peekable();
    for event in &events {
        while let Some(hole) = holes.next_if(|hole| hole.from_ns < event.ns.min(subject.end_ns)) {
            cutter.fall_into(hole);
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
        cutter.fall_into(hole);
    }
    cutter.advance(subject.end_ns);
    // What ended the last piece belongs to it.
    if let Some(last) = events.iter().find(|event| event.ns == subject.end_ns) {
        cutter.learn(last);
    }
    for stop in stops::stops(&events, &recording.holes, subject.end_ns) {
        cutter.pieces.machine_stood(stop, recording);
    }
    cutter.pieces.finish(recording)
}

/// Every task that any event names, as it was seen first.
fn names(events: &[&Event]) -> BTreeMap<u32, Task> {
    let mut names = BTreeMap::new();
    for event in events {
        if let What::Switch { next: task, .. } | What::Owner { owner: task, .. } = &event.what {
            names.entry(task.tid).or_insert_with(|| task.clone());
        }
    }
    names
}

struct Cutter<'a> {
    recording: &'a Recording,
    machine: Machine,
    phase: Phase,
    pieces: Pieces,
    /// Where the thread's timer expires, or where it is woken.
    waking_cpu: Option<u32>,
    /// Where it is to run.
    home: Option<u32>,
    /// Who wakes it: the one that had the lock, where the kernel does not know.
    waker: Option<(u32, String)>,
    call: Option<u32>,
    in_fault: bool,
    faults_end: bool,
}

impl<'a> Cutter<'a> {
    fn new(recording: &'a Recording, events: &[&Event]) -> Self {
        let subject = &recording.subject;
        let tid = subject.task.tid;
        let woken_by = events.iter().rev().find_map(|event| match &event.what {
            What::Waking {
                tid: woken,
                by,
                by_name,
                timer_due_ns,
            } if *woken == tid && event.ns <= subject.end_ns => {
                Some((event.cpu, *by, by_name, timer_due_ns.is_some()))
            }
            _ => None,
        });
        let machine = Machine {
            scheduler_ends: events.iter().any(|event| event.what == What::SchedulerEnds),
            subject: tid,
            names: names(events),
            ..Machine::default()
        };
        Self {
            recording,
            machine,
            phase: match subject.loss {
                Loss::Late => Phase::Due,
                Loss::LockedOut | Loss::Stretched => Phase::Running,
            },
            pieces: Pieces::new(subject.due_ns),
            waking_cpu: woken_by.map(|(cpu, ..)| cpu),
            home: None,
            waker: woken_by
                .filter(|(_, by, _, timer)| *by != 0 && !timer)
                .map(|(_, by, name, _)| (by, name.clone())),
            call: None,
            in_fault: false,
            faults_end: events
                .iter()
                .any(|event| matches!(event.what, What::FaultDone { .. })),
        }
    }

    fn tid(&self) -> u32 {
        self.recording.subject.task.tid
    }

    /// The CPU that the thread needs.
    fn cpu(&self) -> Option<u32> {
        match self.phase {
            Phase::Due | Phase::Waking => self.waking_cpu,
            Phase::Ready | Phase::Blocked => self.home,
            Phase::Running => self.machine.runs_on(self.tid()).or(self.home),
        }
    }

    /// The time until `ns` goes to what keeps the thread from running now.
    fn advance(&mut self, ns: u64) {
        let piece = self.label();
        self.pieces.push(ns, piece);
    }

    /// From here on nothing is known of a CPU, until events show it again.
    fn fall_into(&mut self, hole: Hole) {
        self.advance(hole.from_ns);
        self.machine.cpus.insert(hole.cpu, Cpu::default());
    }

    /// What an event says about the time before it.
    fn learn(&mut self, event: &Event) {
        let here = self.cpu() == Some(event.cpu);
        let cpu = self.machine.cpus.get(&event.cpu);
        let taken = cpu.and_then(|cpu| cpu.steal.taken(event));
        if let Some(taken) = taken {
            self.pieces.steal(taken, event.cpu);
        }
        if !here {
            return;
        }
        match &event.what {
            What::Switch {
                previous,
                call,
                stack,
                ..
            } => {
                let work = cpu.and_then(|cpu| cpu.work.clone());
                let code = match (work, call) {
                    (Some(function), _) => Some(format!("work {function}")),
                    (None, Some(number)) => Some(label::syscall(*number)),
                    (None, None) => None,
                };
                self.pieces.explain_task(*previous, code, stack);
            }
            What::TimerBegins {
                slack_ns,
                due_ns,
                in_user_mode,
                stack,
                ..
            } if self.phase == Phase::Due && *due_ns == self.recording.subject.due_ns => {
                match label::interrupted(stack) {
                    // In user mode interrupts are never off.
                    Some([]) => self.pieces.not_the_kernel(self.recording),
                    Some(stack) => self.pieces.explain_interrupts_off(stack),
                    None if *in_user_mode => self.pieces.not_the_kernel(self.recording),
                    None => {}
                }
                self.pieces.slack(due_ns.saturating_add(*slack_ns));
            }
            What::Packets { device, .. } => self.pieces.explain_packets(device),
            _ => {}
        }
    }

    fn apply(&mut self, event: &Event) {
        let tid = self.tid();
        let began = event.ns > self.recording.subject.due_ns;
        self.machine.apply(event);
        match &event.what {
            What::Waking { tid: woken, .. }
                if *woken == tid
                    && event.ns >= self.recording.subject.due_ns
                    && self.phase != Phase::Running =>
            {
                self.phase = Phase::Waking;
                self.waking_cpu = Some(event.cpu);
            }
            What::Woken { tid: woken, on }
                if *woken == tid
                    && event.ns >= self.recording.subject.due_ns
                    && self.phase != Phase::Running =>
            {
                self.phase = Phase::Ready;
                self.home = Some(*on);
            }
            What::Migrate { tid: moved, to } if *moved == tid => self.home = Some(*to),
            What::Switch { next, .. } if next.tid == tid => {
                self.home = Some(event.cpu);
                // A thread that has the CPU before it is due still has to be woken.
                if began || self.phase == Phase::Running {
                    self.phase = Phase::Running;
                }
            }
            What::Switch {
                previous, blocked, ..
            } if *previous == tid => {
                self.home = Some(event.cpu);
                if began {
                    self.phase = match blocked {
                        true => Phase::Blocked,
                        false => Phase::Ready,
                    };
                }
            }
            What::SyscallBegins {
                tid: caller,
                number,
                ..
            } if *caller == tid => self.call = Some(*number),
            What::SyscallEnds { tid: caller } if *caller == tid => self.call = None,
            What::Fault { tid: own } if *own == tid => self.in_fault = self.faults_end,
            What::FaultDone { tid: own } if *own == tid => self.in_fault = false,
            _ => {}
        }
    }
}

impl Segment {
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
