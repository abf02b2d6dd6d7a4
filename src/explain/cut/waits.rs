// SPDX-License-Identifier: GPL-2.0-only
//! Whom a thread that sleeps waits for, and what keeps that one: from waker to waker.
//!
//! Who wakes the thread in the end is whom it waited for. Until then that one ran, or was ready
//! while somebody else had its CPU, or waited itself, for its own waker.

use super::label::{OWN_CALL, call_name, idle, limited, named, of_task, out_of_budget, who};
use super::proof::unknown;
use super::tasks::{State, Wait, Waker};
use super::{Call, Cutter, Segment};
use crate::lane::Lane;
use crate::recording::Sleep;

/// The signal that ends a stop.
pub(super) const SIGCONT: u32 = 18;
/// Functions that wait for a lock of the kernel, by a part of their names.
const LOCKS: [&str; 6] = [
    "mutex_lock",
    "rwsem_down",
    "percpu_down",
    "rt_mutex",
    "rtlock",
    "folio_lock",
];
/// Calls that take a lock of a file.
const FILE_LOCKS: [&str; 2] = ["flock", "fcntl"];

impl Cutter<'_> {
    /// The thread sleeps.
    pub(super) fn asleep(&self, wait: &Wait) -> Segment {
        if !wait.has_end() {
            return unknown("the end of its wait is not in the record");
        }
        if wait.since_ns == 0 && !matches!(wait.waker, Waker::Timer { .. }) {
            return unknown("the begin of its wait is not in the record");
        }
        match wait.sleep {
            Some(Sleep::Stopped) => return self.stopped(),
            Some(Sleep::Traced) => return traced(wait),
            Some(Sleep::Frozen) => return frozen(),
            _ => {}
        }
        if let Waker::Timer { due_ns } = wait.waker
            && self.pieces.end_ns() >= due_ns
            && !self.in_fault
        {
            return self.timer_is_late(wait);
        }
        let call = wait.call.map(call_name).or(match self.call {
            Call::Number(number) => Some(call_name(number)),
            _ => None,
        });
        let lane = self.lane_of_wait(wait, call.as_deref());
        let own = match lane {
            Lane::OwnFault => "its own page fault",
            _ => OWN_CALL,
        };
        let place = match (lane, call) {
            (Lane::OwnFault, _) => "its page fault".to_owned(),
            (_, Some(call)) => call,
            (_, None) => "its system call".to_owned(),
        };
        let reclaims = self.reclaims(self.tid());
        let place = reclaims.map_or(place.clone(), |reclaims| format!("{place} ({reclaims})"));
        // Which lock of the kernel, by the function that waits for it.
        let function = wait.stack.iter().find(|function| is_lock(function));
        let place = function.map_or(place.clone(), |function| format!("{place} ({function})"));
        if let Some(owner) = self.machine.owners.get(&self.tid()) {
            return self.waits_for(owner.tid, lane, &mut vec![self.tid()], None);
        }
        let mut piece = match &wait.waker {
            Waker::Task(tid, _) => {
                let place_of =
                    Some(place.as_str()).filter(|place| *place != "futex" || lane != Lane::Lock);
                let piece = self.waits_for(*tid, lane, &mut vec![self.tid()], place_of);
                if !matches!(lane, Lane::OwnSystemCall | Lane::OwnFault) {
                    return piece;
                }
                // Its own doing, with whom it waited for beside it.
                Segment {
                    culprit: Some(own.to_owned()),
                    tid: None,
                    code: Some(format!("{place}: waits for {}", self.name(*tid))),
                    ..piece
                }
            }
            waker => {
                let lane = match lane {
                    Lane::Wait => Lane::OwnSystemCall,
                    lane => lane,
                };
                let mut piece = named(lane, own);
                piece.code = Some(format!("{place}: {}", waits(wait.sleep, waker)));
                piece
            }
        };
        if piece.stack.is_empty() && piece.culprit.as_deref() == Some(own) {
            piece.stack.clone_from(&wait.stack);
        }
        if lane == Lane::Lock && piece.culprit.as_deref() == Some(OWN_CALL) {
            piece.culprit = Some("a lock of the kernel".to_owned());
        }
        piece
    }

    /// Whose fault a wait is: its own call, or who is to end it.
    fn lane_of_wait(&self, wait: &Wait, call: Option<&str>) -> Lane {
        if self.in_fault || wait.call.is_none() && self.call == Call::None {
            return Lane::OwnFault;
        }
        let is_file_lock = call.is_some_and(|call| FILE_LOCKS.contains(&call));
        if self.asks_for_lock
            || is_file_lock
            || wait.for_lock
            || wait.stack.iter().any(|function| is_lock(function))
        {
            return Lane::Lock;
        }
        match wait.sleep {
            Some(Sleep::Disk | Sleep::Uninterruptible) => Lane::OwnSystemCall,
            _ => Lane::Wait,
        }
    }

    /// The timer was due, and its interrupt has not come yet.
    fn timer_is_late(&self, wait: &Wait) -> Segment {
        let cpu = wait.woken_on.and_then(|cpu| self.machine.cpus.get(&cpu));
        let Some(cpu) = cpu else {
            return unknown("what its timer's CPU did then is not in the record");
        };
        self.on(cpu, |current| match current.tid {
            0 => idle(cpu),
            tid if tid == self.tid() => unknown("the record contradicts itself"),
            _ => of_task(Lane::InterruptsOff, current),
        })
    }

    /// Waits for `awaited`, in `place`: what does that one do? `seen`: who waits in this chain.
    fn waits_for(
        &self,
        awaited: u32,
        lane: Lane,
        seen: &mut Vec<u32>,
        place: Option<&str>,
    ) -> Segment {
        let name = self.name(awaited);
        let link = match place {
            Some(place) => format!("waits in {place} for {name}"),
            None => format!("waits for {name}"),
        };
        seen.push(awaited);
        let mut piece = self.why_not(awaited, &name, lane, seen);
        piece.chain.insert(0, link);
        piece
    }

    /// What the one that is waited for does, or who keeps it from running.
    fn why_not(&self, awaited: u32, name: &str, lane: Lane, seen: &mut Vec<u32>) -> Segment {
        let has = match lane {
            Lane::Lock => "has the lock, and ",
            _ => "",
        };
        let mut piece = named(lane, name);
        piece.tid = Some(awaited);
        let code = match self.tasks.at(awaited, self.pieces.end_ns()) {
            State::Running(number) => {
                piece.cpu = Some(*number);
                self.reclaims(awaited).unwrap_or("runs".to_owned())
            }
            State::Ready(number) | State::Waking { to: number, .. } => {
                piece.cpu = *number;
                let cpu = number.and_then(|number| self.machine.cpus.get(&number));
                match cpu.and_then(|cpu| cpu.current.as_ref()) {
                    None => {
                        return unknown(
                            "who had the CPU of whom it waits for is not in the record",
                        );
                    }
                    Some(current) if ![0, awaited].contains(&current.tid) => {
                        let mut piece = of_task(lane, current);
                        piece.cpu = *number;
                        piece.code = Some(match lane {
                            Lane::Lock => format!("runs instead of {name}, who has the lock"),
                            _ => format!("runs instead of {name}"),
                        });
                        piece.chain = vec![format!("which {} keeps from running", who(current))];
                        return piece;
                    }
                    Some(_) => "waits for a CPU".to_owned(),
                }
            }
            State::Limited(cgroup) => {
                let mut piece = limited(cgroup);
                piece.chain = vec![format!("which the limit of {cgroup} keeps from running")];
                return piece;
            }
            State::OutOfBudget => {
                return Segment {
                    chain: vec!["which its own deadline budget keeps from running".to_owned()],
                    tid: Some(awaited),
                    ..out_of_budget(&format!("the deadline budget of {name}"))
                };
            }
            State::Unknown => {
                return unknown("what the one did whom it waits for is not in the record");
            }
            State::Asleep(at) => {
                let wait = self.tasks.wait(*at);
                if !wait.has_end() {
                    return unknown(
                        "the end of the wait of whom it waits for is not in the record",
                    );
                }
                let call = wait.call.map(call_name);
                match &wait.waker {
                    _ if is_halted(wait.sleep) => self.halted(awaited, wait.sleep),
                    Waker::Task(waker, _) if !seen.contains(waker) => {
                        return self.waits_for(*waker, lane, seen, call.as_deref());
                    }
                    Waker::Task(..) | Waker::Timer { .. } => match call {
                        Some(call) => format!("sleeps in {call}"),
                        None => "sleeps".to_owned(),
                    },
                    waker => waits(wait.sleep, waker),
                }
            }
        };
        piece.code = Some(format!("{has}{code}"));
        piece
    }

    /// A thread in words.
    pub(super) fn name(&self, tid: u32) -> String {
        match self.machine.names.get(&tid) {
            Some(task) => who(task),
            None => self.tasks.name(tid).unwrap_or(format!("thread {tid}")),
        }
    }

    /// How a task is halted, in words. Of its signal it is known only by the process' own number.
    fn halted(&self, tid: u32, sleep: Option<Sleep>) -> String {
        match (sleep, self.stopped_by.get(&tid)) {
            (Some(Sleep::Traced), _) => "is stopped for its tracer".to_owned(),
            (Some(Sleep::Frozen), _) => "is frozen".to_owned(),
            (_, Some((_, name))) => format!("is stopped by a signal of {name}"),
            _ => "is stopped by a signal".to_owned(),
        }
    }

    fn stopped(&self) -> Segment {
        let (culprit, tid) = match self.stopped_by.get(&self.recording.subject.process) {
            Some((tid, name)) => (name.as_str(), Some(*tid)),
            None => ("a signal", None),
        };
        let mut piece = named(Lane::Stopped, culprit);
        piece.tid = tid;
        piece.code = Some("it sent the signal that stops (SIGSTOP)".to_owned());
        piece
    }
}

/// Its tracer lets it go on in the end.
fn traced(wait: &Wait) -> Segment {
    let mut piece = match &wait.waker {
        Waker::Task(tid, name) => {
            let mut piece = named(Lane::Traced, name);
            piece.tid = Some(*tid);
            piece
        }
        _ => named(Lane::Traced, "its tracer"),
    };
    piece.code = Some("traces it (ptrace)".to_owned());
    piece
}

fn frozen() -> Segment {
    let mut piece = named(Lane::Stopped, "the freezer");
    piece.code = Some("its cgroup is frozen, or the machine suspends".to_owned());
    piece
}

fn is_halted(sleep: Option<Sleep>) -> bool {
    matches!(sleep, Some(Sleep::Stopped | Sleep::Traced | Sleep::Frozen))
}

/// What a task that no other one wakes waits for.
fn waits(sleep: Option<Sleep>, waker: &Waker) -> String {
    match (sleep, waker) {
        (Some(Sleep::Disk), _) => "waits for a disk".to_owned(),
        (_, Waker::Interrupt(name)) => format!("waits for {name}"),
        (_, Waker::Timer { .. }) => "sleeps until its timer".to_owned(),
        (_, Waker::Timeout) => "sleeps until a timeout".to_owned(),
        _ => "sleeps; who woke it is not known".to_owned(),
    }
}

fn is_lock(function: &str) -> bool {
    LOCKS.iter().any(|lock| function.contains(lock))
}
