// SPDX-License-Identifier: GPL-2.0-only
//! Lane and culprit of a moment, from what the CPUs do in it.

use super::machine::{Context, Cpu};
use super::{Cutter, Segment};
use crate::lane::Lane;
use crate::recording::{Loss, Task, Vector};
use syscalls::x86_64::Sysno;

/// What the thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The timer's interrupt, or the event.
    Due,
    /// That who wakes it is done.
    Waking,
    /// A CPU.
    Ready,
    /// Nothing: it runs.
    Running,
    /// A lock, or what a page fault waits for.
    Blocked,
}

/// The timer's interrupt, and the one that wakes the thread.
pub(super) const TIMER: &str = "timer interrupt";
pub(super) const OWN_TIMER: &str = "its own timer";
/// An irq_work is handled, and what is called in it is what it is for.
const IRQ_WORK: Context = Context::Vector(Vector::IrqWork);
/// Priorities below it are real time, as the kernel counts (`MAX_RT_PRIO`).
const REAL_TIME: i32 = 100;
/// `include/uapi/linux/sched.h`.
const SCHED_DEADLINE: u32 = 6;

/// The name of a system call with its number where it has no name.
pub(super) fn syscall(number: u32) -> String {
    match Sysno::new(number as usize) {
        Some(name) => name.name().to_owned(),
        None => format!("system call {number}"),
    }
}

/// The part of a stack that an interrupt found, without the interrupt's own: empty where it came in
/// user mode. None where the stack does not show it. An earlier interrupt's entry may be further out:
/// the task was then on its way back from that one.
pub(super) fn interrupted(stack: &[String]) -> Option<&[String]> {
    let entry = stack.iter().position(|function| {
        function.starts_with("asm_sysvec") || function.starts_with("asm_common_interrupt")
    });
    entry.map(|at| &stack[at + 1..])
}

/// A task's name and how it is scheduled, without its number.
pub(super) fn who(task: &Task) -> String {
    let policy = match (task.policy, task.priority) {
        (_, ..0) | (SCHED_DEADLINE, _) => " (deadline)".to_owned(),
        (2, priority) if priority < REAL_TIME => format!(" (RR {})", 99 - priority),
        (_, priority) if priority < REAL_TIME => format!(" (FIFO {})", 99 - priority),
        _ => String::new(),
    };
    format!("{}{policy}", task.name)
}

impl Cutter<'_> {
    /// What keeps the thread from running now.
    pub(super) fn label(&self) -> Segment {
        let number = self.cpu();
        let mut piece = match number.and_then(|number| self.machine.cpus.get(&number)) {
            _ if self.phase == Phase::Blocked => self.blocked(),
            Some(cpu) => self.on(cpu),
            None => Segment::nobody(0, 0, Lane::Unknown),
        };
        piece.cpu = number;
        piece
    }

    fn on(&self, cpu: &Cpu) -> Segment {
        if self.phase == Phase::Waking && cpu.contended > 0 {
            return named(Lane::RunqueueLock, "a run queue's lock");
        }
        if let Some(context) = cpu.contexts.last() {
            return self.interrupted_by(context, cpu);
        }
        let Some(current) = &cpu.current else {
            return Segment::nobody(0, 0, Lane::Unknown);
        };
        if current.tid == self.tid() {
            return match self.phase {
                // It runs until it sleeps; its timer is due meanwhile.
                Phase::Due => named(Lane::OwnWork, "itself"),
                _ => self.own(cpu),
            };
        }
        match self.phase {
            Phase::Due if current.tid == 0 => idle(cpu),
            Phase::Due => of_task(Lane::InterruptsOff, current),
            Phase::Waking => named(Lane::Scheduler, "waking it"),
            Phase::Running | Phase::Ready | Phase::Blocked => self.waits_behind(current, cpu),
        }
    }

    /// The thread is ready, and another task has the CPU.
    fn waits_behind(&self, current: &Task, cpu: &Cpu) -> Segment {
        let subject = &self.recording.subject.task;
        let real_time = (0..REAL_TIME).contains(&subject.priority);
        if cpu.in_scheduler {
            return named(Lane::Scheduler, "switching");
        }
        let throttled = cpu.throttled && real_time;
        if throttled && (current.tid == 0 || current.priority >= REAL_TIME) {
            let mut piece = named(Lane::RtThrottling, "RT throttling");
            piece.code = Some("the budget of kernel.sched_rt_runtime_us is used up".to_owned());
            return piece;
        }
        if current.tid == 0 {
            return idle(cpu);
        }
        if current.served && subject.priority < REAL_TIME {
            return of_task(Lane::DeadlineServer, current);
        }
        if current.policy == SCHED_DEADLINE || current.priority < 0 {
            return of_task(Lane::DeadlineTask, current);
        }
        if current.priority < REAL_TIME && current.priority <= subject.priority {
            return of_task(Lane::RealTimeTask, current);
        }
        if subject.priority < REAL_TIME {
            return of_task(Lane::PreemptionOff, current);
        }
        of_task(Lane::OtherTask, current)
    }

    /// The thread has the CPU.
    fn own(&self, cpu: &Cpu) -> Segment {
        if cpu.in_scheduler {
            return named(Lane::Scheduler, "switching");
        }
        if self.in_fault {
            return named(Lane::OwnFault, "its own page fault");
        }
        match self.call {
            Some(number) => {
                let mut piece = named(Lane::OwnSystemCall, "its own system call");
                piece.code = Some(syscall(number));
                piece
            }
            // It came out of a call that began before the record.
            None if self.recording.subject.loss != Loss::Stretched => {
                named(Lane::OwnSystemCall, "its own system call")
            }
            None => named(Lane::OwnWork, "itself"),
        }
    }

    fn interrupted_by(&self, context: &Context, cpu: &Cpu) -> Segment {
        match context {
            Context::Irq { irq, name } => {
                let mut piece = named(Lane::HardInterrupt, &format!("interrupt of {name}"));
                piece.code = Some(format!("irq {irq}"));
                piece
            }
            Context::Vector(vector) => named(
                Lane::HardInterrupt,
                match vector {
                    Vector::LocalTimer => TIMER,
                    Vector::Reschedule => "reschedule interrupt",
                    Vector::CallFunction => return ipi(cpu.asked_by(), None),
                    Vector::IrqWork => "irq_work",
                    Vector::Platform => "platform interrupt",
                    Vector::Thermal => "thermal interrupt",
                    Vector::ApicError => "APIC error",
                },
            ),
            Context::Softirq(which) => softirq(*which, cpu),
            Context::Timer { function, due_ns } => {
                let own = *due_ns == self.recording.subject.due_ns && self.phase != Phase::Running;
                let mut piece = match own {
                    true => named(Lane::HardInterrupt, OWN_TIMER),
                    false => named(Lane::HardInterrupt, TIMER),
                };
                piece.code = Some(function.clone());
                piece
            }
            Context::WheelTimer(function) => {
                let mut piece = named(Lane::Softirq, "TIMER");
                piece.code = Some(function.clone());
                piece
            }
            Context::Call { function, .. } if cpu.contexts.contains(&IRQ_WORK) => {
                let mut piece = named(Lane::HardInterrupt, "irq_work");
                piece.code = Some(function.clone());
                piece
            }
            Context::Call { function, from } => ipi(from.as_deref(), Some(function)),
        }
    }

    /// The thread sleeps: for a lock, or in a page fault.
    fn blocked(&self) -> Segment {
        if self.in_fault {
            let mut piece = named(Lane::OwnFault, "its own page fault");
            piece.code = Some("waits for memory or a disk".to_owned());
            return piece;
        }
        if self.recording.subject.loss != Loss::LockedOut {
            // Outside of a system call only a page fault sleeps.
            let mut piece = match (self.call, self.recording.subject.loss) {
                (None, Loss::Stretched) => named(Lane::OwnFault, "its own page fault"),
                _ => named(Lane::OwnSystemCall, "its own system call"),
            };
            piece.code = Some("sleeps in it".to_owned());
            return piece;
        }
        let mut chain = Vec::new();
        let mut holder = None;
        let mut waiter = self.tid();
        // A chain of owners is never longer than the tasks that were seen.
        while let Some(owner) = self.machine.owners.get(&waiter) {
            if chain.len() > self.machine.owners.len() {
                break;
            }
            chain.push(format!("waits for {}", who(owner)));
            holder = Some(owner.tid);
            waiter = owner.tid;
        }
        if holder.is_none() {
            holder = self.waker.as_ref().map(|(tid, _)| *tid);
            chain.extend(holder.map(|tid| format!("waits for {}", self.name(tid))));
        }
        let Some(holder) = holder else {
            return Segment::nobody(0, 0, Lane::Unknown);
        };
        let mut piece = self.why_not(holder);
        chain.extend(piece.chain);
        piece.chain = chain;
        piece
    }

    /// What the holder of the lock does, or who keeps it from running.
    fn why_not(&self, holder: u32) -> Segment {
        let running = self.machine.runs_on(holder);
        if let Some(cpu) = running.and_then(|number| self.machine.cpus.get(&number)) {
            let mut piece = match &cpu.current {
                Some(current) => of_task(Lane::Lock, current),
                None => Segment::nobody(0, 0, Lane::Unknown),
            };
            piece.code = Some("has the lock, and runs".to_owned());
            return piece;
        }
        let name = self.name(holder);
        let mut piece = named(Lane::Lock, &name);
        piece.tid = Some(holder);
        let Some(off) = self.machine.off.get(&holder) else {
            piece.code = Some("has the lock; it was not seen to run".to_owned());
            return piece;
        };
        let cpu = self.machine.cpus.get(&off.cpu);
        let current = cpu.and_then(|cpu| cpu.current.as_ref());
        match current.filter(|current| !off.blocked && current.tid != 0) {
            Some(current) => {
                piece = of_task(Lane::Lock, current);
                piece.code = Some(format!("runs instead of {name}, who has the lock"));
                piece.chain = vec![format!("which {} keeps from running", who(current))];
            }
            None => {
                let does = match off.blocked {
                    true => "sleeps with the lock",
                    false => "has the lock, and waits for a CPU",
                };
                piece.code = Some(does.to_owned());
            }
        }
        piece
    }

    /// A thread in words.
    fn name(&self, tid: u32) -> String {
        match (self.machine.names.get(&tid), &self.waker) {
            (Some(task), _) => who(task),
            (None, Some((waker, name))) if *waker == tid => name.clone(),
            _ => format!("thread {tid}"),
        }
    }
}

fn named(lane: Lane, culprit: &str) -> Segment {
    Segment {
        culprit: Some(culprit.to_owned()),
        ..Segment::nobody(0, 0, lane)
    }
}

fn of_task(lane: Lane, task: &Task) -> Segment {
    Segment {
        tid: Some(task.tid),
        ..named(lane, &who(task))
    }
}

fn idle(cpu: &Cpu) -> Segment {
    let mut piece = named(Lane::IdleExit, "idle CPU");
    piece.code = cpu.idle_state.map(|state| format!("idle state {state}"));
    piece
}

/// What another CPU asked for.
fn ipi(from: Option<&str>, function: Option<&str>) -> Segment {
    let mut piece = match from {
        Some(from) => named(Lane::HardInterrupt, &format!("IPI from {from}")),
        None => named(Lane::HardInterrupt, "IPI"),
    };
    piece.code = function.map(str::to_owned);
    piece
}

fn softirq(which: u32, cpu: &Cpu) -> Segment {
    // include/linux/interrupt.h
    const NAMES: [&str; 10] = [
        "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
        "RCU",
    ];
    let name = NAMES.get(which as usize).copied();
    let mut piece = match name {
        Some(name) => named(Lane::Softirq, name),
        None => named(Lane::Softirq, &format!("softirq {which}")),
    };
    piece.tid = cpu
        .current
        .as_ref()
        .map(|task| task.tid)
        .filter(|tid| *tid != 0);
    piece
}
