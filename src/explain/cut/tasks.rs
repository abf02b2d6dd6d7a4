// SPDX-License-Identifier: GPL-2.0-only
//! What each task did from moment to moment: it ran, was ready to, or waited, and who ended that.
//!
//! An event says what a task does from then on, and the first one of a task also what it did
//! before: who is woken had slept, and who leaves a CPU had run.

use super::machine::{Context, Machine, Raised};
use crate::recording::{Event, Hole, Sleep, Vector, What};
use std::collections::BTreeMap;

/// Who ended a wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Waker {
    #[default]
    Unknown,
    /// A timer that was due then.
    Timer {
        due_ns: u64,
    },
    /// A timeout of the timer wheel.
    Timeout,
    Task(u32, String),
    /// An interrupt or a softirq, by its name.
    Interrupt(String),
}

/// A time that a task slept.
#[derive(Clone, Debug, Default)]
pub(super) struct Wait {
    /// 0: before what is known, and so is how it sleeps.
    pub since_ns: u64,
    pub call: Option<u32>,
    pub sleep: Option<Sleep>,
    /// It waits for a lock of the kernel.
    pub for_lock: bool,
    pub waker: Waker,
    /// On which CPU it was woken.
    pub woken_on: Option<u32>,
    pub until_ns: u64,
    /// Where it slept, if that was looked at.
    pub stack: Vec<String>,
}

impl Wait {
    fn unended() -> Self {
        Self {
            until_ns: u64::MAX,
            ..Self::default()
        }
    }

    /// Whether its end is in the record.
    pub fn has_end(&self) -> bool {
        self.until_ns != u64::MAX
    }
}

/// What a task does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Unknown,
    Running(u32),
    /// It is being woken by the first CPU, to run on the second one.
    Waking {
        by: u32,
        to: Option<u32>,
    },
    Ready(Option<u32>),
    /// The limit of its cgroup is used up.
    Limited(String),
    /// Its own budget as a deadline task is.
    OutOfBudget,
    /// One of the waits, by its place.
    Asleep(usize),
}

/// All tasks of a recording.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    states: BTreeMap<u32, Vec<(u64, State)>>,
    waits: Vec<Wait>,
    /// Of tasks that a limit keeps: the timer that ends its period.
    limits: BTreeMap<u32, u64>,
    /// When each of these timers was handled last.
    periods: BTreeMap<u64, u64>,
}

impl Tasks {
    /// `events`: in the order of time, complete from `complete_ns` on but for the holes.
    pub fn new(events: &[&Event], holes: &[Hole], complete_ns: u64) -> Self {
        let mut tasks = Self::default();
        let mut machine = Machine::default();
        let mut holes_left = holes.iter().peekable();
        for event in events {
            while let Some(hole) = holes_left.next_if(|hole| hole.from_ns < event.ns) {
                machine.fall_into(hole);
            }
            let hidden = |since_ns| hidden(holes, since_ns, event.ns);
            tasks.apply(event, &machine, hidden, complete_ns);
            machine.apply(event);
        }
        // Of whom no event is seen any more, the next one may be hidden.
        let all: Vec<u32> = tasks.states.keys().copied().collect();
        for tid in all {
            tasks.doubt_if_hidden(tid, |since_ns| hidden(holes, since_ns, u64::MAX));
        }
        tasks
    }

    /// What a task does at a moment.
    pub fn at(&self, tid: u32, ns: u64) -> &State {
        let states = self.states.get(&tid).map_or(&[][..], Vec::as_slice);
        let behind = states.partition_point(|(since_ns, _)| *since_ns <= ns);
        match behind.checked_sub(1) {
            Some(at) => &states[at].1,
            None => &State::Unknown,
        }
    }

    pub fn wait(&self, at: usize) -> &Wait {
        &self.waits[at]
    }

    /// From `ns` on a task sleeps, unless its events say what it does then.
    pub fn sleeps_at(&mut self, tid: u32, ns: u64, call: Option<u32>) {
        if *self.at(tid, ns) == State::Unknown {
            let wait = Wait {
                call,
                ..Wait::unended()
            };
            self.waits.push(wait);
            let state = State::Asleep(self.waits.len() - 1);
            self.states.entry(tid).or_default().insert(0, (0, state));
        }
        if let State::Asleep(at) = *self.at(tid, ns) {
            self.waits[at].call = self.waits[at].call.or(call);
        }
    }

    /// The name that a task had when it woke another one.
    pub fn name(&self, tid: u32) -> Option<String> {
        self.waits.iter().find_map(|wait| match &wait.waker {
            Waker::Task(waker, name) if *waker == tid => Some(name.clone()),
            _ => None,
        })
    }

    fn last(&self, tid: u32) -> Option<&(u64, State)> {
        self.states.get(&tid)?.last()
    }

    fn becomes(&mut self, tid: u32, ns: u64, state: State) {
        self.states.entry(tid).or_default().push((ns, state));
    }

    /// `hidden`: from when to when events are missing, if any are since a moment.
    fn apply(
        &mut self,
        event: &Event,
        machine: &Machine,
        hidden: impl Fn(u64) -> Option<(u64, u64)>,
        complete_ns: u64,
    ) {
        let (ns, cpu) = (event.ns, event.cpu);
        match &event.what {
            What::Switch(switch) => {
                self.leaves(event, machine, &hidden);
                let tid = switch.next.tid;
                match self.last(tid).cloned() {
                    None => self.becomes(tid, 0, State::Ready(Some(cpu))),
                    // It was woken where nothing was recorded, or not kept.
                    Some((since_ns, State::Asleep(_)))
                        if hidden(since_ns).is_none() && since_ns < complete_ns =>
                    {
                        self.becomes(tid, complete_ns.min(ns), State::Ready(Some(cpu)));
                    }
                    Some((since_ns, State::Asleep(_))) => self.doubt(tid, since_ns, &hidden),
                    // The last period that ended before is the one that let it go.
                    Some((since_ns, State::Limited(_))) => {
                        let limit = self.limits.get(&tid);
                        let ended_ns = limit.and_then(|limit| self.periods.get(limit));
                        if let Some(ended_ns) = ended_ns.copied().filter(|ended| *ended > since_ns)
                        {
                            self.becomes(tid, ended_ns, State::Ready(Some(cpu)));
                        }
                    }
                    _ => {}
                }
                self.doubt_if_hidden(tid, &hidden);
                self.becomes(tid, ns, State::Running(cpu));
            }
            What::Waking(waking) => {
                let tid = waking.tid;
                let Some(at) = self.wait_before(tid, &hidden) else {
                    return;
                };
                let wait = &mut self.waits[at];
                wait.until_ns = ns;
                wait.woken_on = Some(cpu);
                wait.stack.clone_from(&waking.stack);
                wait.waker = match waking.timer_due_ns {
                    Some(due_ns) => Waker::Timer { due_ns },
                    None => waker(machine, cpu, waking.by, &waking.by_name),
                };
                if let Waker::Task(by, _) = self.waits[at].waker
                    && self.must_run(by, cpu, &hidden)
                {
                    self.becomes(by, ns, State::Running(cpu));
                }
                let to = waking.from;
                self.becomes(tid, ns, State::Waking { by: cpu, to });
            }
            What::Woken { tid, on } if !matches!(self.last(*tid), Some((_, State::Running(_)))) => {
                self.becomes(*tid, ns, State::Ready(Some(*on)));
            }
            What::Migrate { tid, to } => match self.last(*tid) {
                Some((_, State::Ready(_))) => self.becomes(*tid, ns, State::Ready(Some(*to))),
                Some((_, State::Waking { by, .. })) => {
                    let (by, to) = (*by, Some(*to));
                    self.becomes(*tid, ns, State::Waking { by, to });
                }
                _ => {}
            },
            What::Limited { tid, cgroup, limit } => {
                self.limits.insert(*tid, *limit);
                self.becomes(*tid, ns, State::Limited(cgroup.clone()));
            }
            What::TimerBegins(timer) if timer.limit != 0 => {
                self.periods.insert(timer.limit, ns);
            }
            What::SyscallBegins { tid, .. }
            | What::SyscallEnds { tid }
            | What::Fault { tid }
            | What::FaultDone { tid }
                if self.must_run(*tid, cpu, &hidden) =>
            {
                self.becomes(*tid, ns, State::Running(cpu));
            }
            _ => {}
        }
    }

    /// The wait that ends when a task is woken; none where it is awake. It may have been woken, and
    /// asleep again, where events are missing.
    fn wait_before(
        &mut self,
        tid: u32,
        hidden: impl Fn(u64) -> Option<(u64, u64)>,
    ) -> Option<usize> {
        let since_ns = match self.last(tid).cloned() {
            None => 0,
            Some((since_ns, State::Asleep(at))) => match hidden(since_ns) {
                None => return Some(at),
                Some((from_ns, until_ns)) => {
                    self.becomes(tid, from_ns, State::Unknown);
                    until_ns
                }
            },
            // It was on its way to sleep.
            Some((since_ns, State::Running(_) | State::Waking { .. })) => {
                let (from_ns, until_ns) = hidden(since_ns)?;
                self.becomes(tid, from_ns, State::Unknown);
                until_ns
            }
            Some((since_ns, _)) => {
                self.doubt(tid, since_ns, &hidden);
                hidden(since_ns)?.1
            }
        };
        self.waits.push(Wait::unended());
        let at = self.waits.len() - 1;
        self.becomes(tid, since_ns, State::Asleep(at));
        Some(at)
    }

    /// A task runs on a CPU, as an event shows; where its state says otherwise, that is unknown
    /// since then. Whether it did.
    fn must_run(&mut self, tid: u32, cpu: u32, hidden: impl Fn(u64) -> Option<(u64, u64)>) -> bool {
        match self.last(tid).cloned() {
            None => self.becomes(tid, 0, State::Running(cpu)),
            Some((_, State::Running(on))) if on == cpu => return false,
            Some((since_ns, _)) => {
                self.doubt(tid, since_ns, hidden);
                return true;
            }
        }
        false
    }

    /// What was known since then does not hold: from where events are missing on, or at all.
    fn doubt(&mut self, tid: u32, since_ns: u64, hidden: impl Fn(u64) -> Option<(u64, u64)>) {
        let from_ns = hidden(since_ns).map_or(since_ns, |(from_ns, _)| from_ns);
        self.becomes(tid, from_ns, State::Unknown);
    }

    /// What a task that was ready, or kept from its CPU, did where events are missing.
    fn doubt_if_hidden(&mut self, tid: u32, hidden: impl Fn(u64) -> Option<(u64, u64)>) {
        let last = self.last(tid).cloned();
        if let Some((since_ns, state)) = last
            && state != State::Unknown
            && hidden(since_ns).is_some()
        {
            self.doubt(tid, since_ns, hidden);
        }
    }

    /// The task that a switch takes the CPU from.
    fn leaves(
        &mut self,
        event: &Event,
        machine: &Machine,
        hidden: impl Fn(u64) -> Option<(u64, u64)>,
    ) {
        let What::Switch(switch) = &event.what else {
            return;
        };
        let tid = switch.previous;
        if tid == 0 {
            return;
        }
        self.must_run(tid, event.cpu, hidden);
        let state = match (switch.blocked, switch.out_of_budget) {
            (_, true) => State::OutOfBudget,
            (false, _) => State::Ready(Some(event.cpu)),
            (true, _) => {
                let contended = machine.cpus.get(&event.cpu).map(|cpu| cpu.contended);
                self.waits.push(Wait {
                    since_ns: event.ns,
                    call: switch.call,
                    sleep: switch.sleep,
                    for_lock: contended.is_some_and(|contended| contended > 0),
                    ..Wait::unended()
                });
                State::Asleep(self.waits.len() - 1)
            }
        };
        self.becomes(tid, event.ns, state);
    }
}

/// From when to when events are missing since a moment, if any are.
fn hidden(holes: &[Hole], since_ns: u64, now_ns: u64) -> Option<(u64, u64)> {
    // Where the kernel did not trace a switch, who sleeps again is seen all the same.
    let hides =
        |hole: &&Hole| hole.hides_tasks() && hole.from_ns < now_ns && hole.until_ns > since_ns;
    let hiding = || holes.iter().filter(hides);
    let from_ns = hiding().map(|hole| hole.from_ns).min()?;
    let until_ns = hiding().map(|hole| hole.until_ns).max()?;
    Some((from_ns.max(since_ns), until_ns.min(now_ns)))
}

fn by_task(by: u32, name: &str) -> Waker {
    match by {
        0 => Waker::Unknown,
        by => Waker::Task(by, name.to_owned()),
    }
}

/// Who wakes somebody on a CPU: not the task that an interrupt found there.
fn waker(machine: &Machine, cpu: u32, by: u32, name: &str) -> Waker {
    let Some(cpu) = machine.cpus.get(&cpu).filter(|cpu| cpu.contexts_known) else {
        return Waker::Unknown;
    };
    match cpu.contexts.last() {
        Some(Context::Irq { name, .. }) => Waker::Interrupt(format!("interrupt of {name}")),
        Some(Context::Vector(Vector::LocalTimer) | Context::Timer { .. }) => {
            Waker::Interrupt("timer interrupt".to_owned())
        }
        Some(Context::Vector(_) | Context::Call { .. }) => Waker::Unknown,
        Some(Context::WheelTimer(_)) => Waker::Timeout,
        Some(Context::Softirq { which, raised }) => match raised {
            Raised::ByInterrupt => Waker::Interrupt(super::label::softirq_name(*which)),
            Raised::ByTask => by_task(by, name),
            Raised::Unknown => Waker::Unknown,
        },
        None => by_task(by, name),
    }
}
