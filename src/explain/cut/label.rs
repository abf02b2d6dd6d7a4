// SPDX-License-Identifier: GPL-2.0-only
//! Lane and culprit of a moment, from what the CPUs do in it.

use super::machine::{Context, Cpu};
use super::proof::unknown;
use super::tasks::State;
use super::{Call, Cutter, Segment};
use crate::lane::Lane;
use crate::recording::{Event, Loss, Reclaim, Task, Vector, What};
use syscalls::x86_64::Sysno;

/// The thread's own work beyond its next due time, which is a loss.
pub(crate) const OVERRUN: &str = "its own overrun";
pub(super) const OWN_CALL: &str = "its own system call";
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
pub(super) fn call_name(number: u32) -> String {
    match Sysno::new(number as usize) {
        Some(name) => name.name().to_owned(),
        None => format!("system call {number}"),
    }
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

/// Within so long a wakeup comes from another CPU.
const REMOTE_NS: u64 = 20_000;

impl Cutter<'_> {
    /// What keeps the thread from running now.
    pub(super) fn label(&self) -> Segment {
        let number = self.cpu();
        let cpu = number.and_then(|number| self.machine.cpus.get(&number));
        let mut piece = match (self.state(), cpu) {
            (State::Asleep(at), _) => self.asleep(self.tasks.wait(*at)),
            (State::Limited(cgroup), _) => limited(cgroup),
            (State::OutOfBudget, _) => out_of_budget("its own deadline budget"),
            (State::Unknown, _) => unknown("what the thread did then is not in the record"),
            (_, None) => unknown("what its CPU did then is not in the record"),
            (State::Running(_), Some(cpu)) => self.runs(cpu),
            (State::Waking { by, .. }, Some(cpu)) => self.waking(*by, cpu),
            (State::Ready(_), Some(cpu)) => self.on(cpu, |current| self.waits_behind(current, cpu)),
        };
        piece.cpu = piece.cpu.or(number);
        piece
    }

    /// What interrupts a CPU, or what its task does.
    pub(super) fn on(&self, cpu: &Cpu, of: impl FnOnce(&Task) -> Segment) -> Segment {
        if let Some(context) = cpu.contexts.last() {
            return self.interrupted_by(context, cpu);
        }
        if !cpu.contexts_known && cpu.current.is_some() {
            return unknown("what interrupted its CPU before is not in the record");
        }
        match &cpu.current {
            Some(current) => of(current),
            None if cpu.untraced => unknown("the kernel did not trace the switch to it"),
            None => unknown("who had its CPU then is not in the record"),
        }
    }

    fn runs(&self, cpu: &Cpu) -> Segment {
        self.on(cpu, |current| match current.tid == self.tid() {
            true => self.own(cpu),
            false => unknown("the record contradicts itself"),
        })
    }

    /// Somebody on the CPU `by` is waking the thread.
    fn waking(&self, by: u32, cpu: &Cpu) -> Segment {
        if cpu.contended > 0 {
            return named(Lane::RunqueueLock, "a run queue's lock");
        }
        let now_ns = self.pieces.end_ns();
        let is_done = |event: &Event| {
            let own = matches!(event.what, What::Woken { tid, .. } if tid == self.tid());
            own && event.ns > now_ns
        };
        let events = self.recording.events.iter();
        let done = events
            .filter(|event| is_done(event))
            .min_by_key(|event| event.ns);
        let Some(done) = done else {
            return unknown("the end of its wakeup is not in the record");
        };
        // It was handed to its own CPU, which does the rest.
        if done.cpu != by && done.ns - now_ns > REMOTE_NS {
            return match self.machine.cpus.get(&done.cpu) {
                Some(own) => self.on(own, |current| match current.tid {
                    0 => idle(own),
                    _ => unknown("its CPU took its wakeup late"),
                }),
                None => unknown("what its CPU did then is not in the record"),
            };
        }
        self.on(cpu, |_| named(Lane::Scheduler, "waking it"))
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
        if current.tid == subject.tid {
            return unknown("the record contradicts itself");
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
            let mut piece = named(Lane::OwnFault, "its own page fault");
            piece.code = self.reclaims(self.tid());
            return piece;
        }
        match self.call {
            Call::Number(number) => {
                let mut piece = named(Lane::OwnSystemCall, OWN_CALL);
                piece.code = Some(match self.reclaims(self.tid()) {
                    Some(reclaims) => format!("{}: {reclaims}", call_name(number)),
                    None => call_name(number),
                });
                piece
            }
            // It came out of a call that began before the record.
            Call::Unseen => named(Lane::OwnSystemCall, OWN_CALL),
            Call::Hidden => unknown("whether it was in a system call is not in the record"),
            Call::None if self.recording.subject.loss == Loss::Late => {
                let mut piece = named(Lane::OwnWork, OVERRUN);
                piece.code = Some("it had not asked for its timer yet".to_owned());
                piece
            }
            Call::None => named(Lane::OwnWork, "itself"),
        }
    }

    /// Whether a task takes memory back from others, in words, and who else has done so.
    pub(super) fn reclaims(&self, tid: u32) -> Option<String> {
        let (reclaim, goes_on) = self.machine.reclaims.get(&tid)?;
        let words = match reclaim {
            Reclaim::Machine => "reclaims memory, of which there is too little",
            Reclaim::Cgroup => "reclaims memory of its cgroup, which is at its limit",
            Reclaim::Compaction => "compacts memory to get a large piece",
        };
        let others = |do_now: bool| -> String {
            let all = self.machine.reclaims.iter();
            let others = all.filter(|(one, (_, goes_on))| **one != tid && *goes_on == do_now);
            let names: Vec<String> = others.map(|(one, _)| self.name(*one)).collect();
            names.join(", ")
        };
        goes_on.then(|| match (others(true).as_str(), others(false).as_str()) {
            ("", "") => words.to_owned(),
            ("", before) => format!("{words}; so did {before}"),
            (now, "") => format!("{words}; so does {now}"),
            (now, before) => format!("{words}; so does {now}, and so did {before}"),
        })
    }

    pub(super) fn interrupted_by(&self, context: &Context, cpu: &Cpu) -> Segment {
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
            Context::Softirq { which, .. } => softirq(*which, cpu),
            Context::Timer { function, due_ns } => {
                let is_woken = matches!(self.state(), State::Asleep(_) | State::Waking { .. });
                let own = *due_ns == self.recording.subject.due_ns && is_woken
                    || self.timer_due_ns() == Some(*due_ns);
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
}

pub(super) fn named(lane: Lane, culprit: &str) -> Segment {
    Segment {
        culprit: Some(culprit.to_owned()),
        ..Segment::nobody(0, 0, lane)
    }
}

pub(super) fn of_task(lane: Lane, task: &Task) -> Segment {
    Segment {
        tid: Some(task.tid),
        ..named(lane, &who(task))
    }
}

pub(super) fn idle(cpu: &Cpu) -> Segment {
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

pub(super) fn softirq_name(which: u32) -> String {
    // include/linux/interrupt.h
    const NAMES: [&str; 10] = [
        "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
        "RCU",
    ];
    let name = NAMES.get(which as usize);
    name.map_or_else(|| format!("softirq {which}"), |name| (*name).to_owned())
}

fn softirq(which: u32, cpu: &Cpu) -> Segment {
    let mut piece = named(Lane::Softirq, &softirq_name(which));
    piece.tid = cpu
        .current
        .as_ref()
        .map(|task| task.tid)
        .filter(|tid| *tid != 0);
    piece
}

/// The limit of its cgroup is used up.
pub(super) fn limited(cgroup: &str) -> Segment {
    let mut piece = named(Lane::Throttled, &format!("cgroup {cgroup}"));
    piece.code = Some("its cpu.max is used up".to_owned());
    piece
}

/// Whose budget as a deadline task is used up.
pub(super) fn out_of_budget(budget: &str) -> Segment {
    let mut piece = named(Lane::Throttled, budget);
    piece.code = Some("sched_runtime is used up until the next period".to_owned());
    piece
}
