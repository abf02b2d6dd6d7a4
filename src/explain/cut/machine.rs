// SPDX-License-Identifier: GPL-2.0-only
//! What each CPU does and where each task is, from one event to the next.

use super::label::who;
use crate::recording::{Event, Hole, Reclaim, Switch, Task, Timer, Vector, What};
use std::collections::BTreeMap;

/// For whom a softirq works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raised {
    /// It comes behind the interrupt.
    ByInterrupt,
    /// The task that has the CPU did, or is the thread that handles softirqs.
    ByTask,
    Unknown,
}

/// What interrupts a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Context {
    Irq {
        irq: u32,
        name: String,
    },
    Vector(Vector),
    Softirq {
        which: u32,
        raised: Raised,
    },
    Timer {
        function: String,
        due_ns: u64,
    },
    WheelTimer(String),
    Call {
        function: String,
        from: Option<String>,
    },
}

impl Context {
    fn same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// One CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Cpu {
    pub current: Option<Task>,
    /// The kernel did not trace who has it.
    pub untraced: bool,
    pub idle_state: Option<u32>,
    /// From the outermost to the innermost.
    pub contexts: Vec<Context>,
    /// Whether they are all, and the CPU is known to be in no others.
    pub contexts_known: bool,
    /// When an interrupt or its softirqs ended, if nothing happened since, and whose those were.
    tail: Option<(u64, Raised)>,
    /// What the timers' interrupts found since the task has the CPU.
    pub found: Found,
    pub in_scheduler: bool,
    /// Locks that are waited for, one within the other.
    pub contended: u32,
    pub throttled: bool,
    pub work: Option<String>,
    pub steal: Steal,
    /// Who asked last for a function to be called here.
    asked_by: Option<String>,
    /// Who has put packets into this CPU's queue, and it has not looked since.
    packets_from: Option<String>,
}

/// Where the timers' interrupts found a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Found {
    #[default]
    Nothing,
    InUserMode,
    InKernel,
}

/// The threads that handle softirqs for others.
const KSOFTIRQD: &str = "ksoftirqd";
/// The function that a CPU asks another one for that is to take packets.
const PACKETS_WAIT: &str = "rps_trigger_softirq";
/// From the end of an interrupt to its softirqs, and from one of those to the next, it takes less.
const TAIL_NS: u64 = 10_000;
/// And what comes within this may be one of them, on a slow machine.
const TAIL_NS_MAX: u64 = 50_000;

/// What the hypervisor takes from a CPU, and when it can have done so.
#[derive(Clone, Debug, Default)]
pub(super) struct Steal {
    /// At the last event that had it; 0 before the first.
    total_ns: u64,
    /// Of the last event, whatever it was.
    last_ns: Option<u64>,
    /// The longest time without any event since then.
    gap_ns: (u64, u64),
}

impl Steal {
    fn see(&mut self, event: &Event) {
        if let Some(last_ns) = self.last_ns
            && event.ns.saturating_sub(last_ns) > self.gap_ns.1 - self.gap_ns.0
        {
            self.gap_ns = (last_ns, event.ns);
        }
        self.last_ns = Some(event.ns);
        if event.steal_ns > 0 {
            self.total_ns = event.steal_ns;
            self.gap_ns = (event.ns, event.ns);
        }
    }

    /// What was taken up to this event: the end of the longest gap.
    pub fn taken(&self, event: &Event) -> Option<(u64, u64)> {
        let mut seen = self.clone();
        let taken_ns = event.steal_ns.checked_sub(self.total_ns);
        let taken_ns = taken_ns.filter(|ns| *ns > 0 && self.total_ns > 0)?;
        seen.see(&Event {
            steal_ns: 0,
            ..event.clone()
        });
        let (begin_ns, end_ns) = seen.gap_ns;
        Some((begin_ns.max(end_ns.saturating_sub(taken_ns)), end_ns))
    }
}

/// All CPUs, and the tasks that were seen.
#[derive(Debug, Default)]
pub(super) struct Machine {
    pub cpus: BTreeMap<u32, Cpu>,
    /// The owner of the lock that a task waits for.
    pub owners: BTreeMap<u32, Task>,
    pub names: BTreeMap<u32, Task>,
    /// Who has taken memory back, for what, and whether it still does.
    pub reclaims: BTreeMap<u32, (Reclaim, bool)>,
    /// What a task was interrupted by when it lost its CPU: threaded softirqs.
    pub suspended: BTreeMap<u32, Vec<Context>>,
    /// Whether the kernel says when the scheduler is done.
    pub scheduler_ends: bool,
    /// The thread that is explained.
    pub subject: u32,
}

impl Machine {
    /// What a hole hides: all of a CPU, or what interrupted the task that has it.
    pub fn fall_into(&mut self, hole: &Hole) {
        let cpu = self.cpus.entry(hole.cpu).or_default();
        if hole.keeps_task {
            cpu.contexts.clear();
            cpu.contexts_known = false;
        } else if hole.untraced {
            cpu.current = None;
            cpu.untraced = true;
        } else {
            *cpu = Cpu::default();
        }
    }

    fn switch(&mut self, number: u32, switch: &Switch) {
        let subject = self.subject;
        let cpu = self.cpus.entry(number).or_default();
        let next = &switch.next;
        cpu.throttled = switch.throttled;
        // Only of watched threads the kernel says when they go on.
        cpu.in_scheduler &= self.scheduler_ends && next.tid == subject;
        cpu.work = None;
        cpu.contended = 0;
        cpu.found = Found::Nothing;
        if next.tid != 0 {
            cpu.idle_state = None;
        }
        let left = std::mem::take(&mut cpu.contexts);
        if !left.is_empty() {
            self.suspended.insert(switch.previous, left);
        }
        cpu.contexts = self.suspended.remove(&next.tid).unwrap_or_default();
        cpu.contexts_known = true;
        cpu.current = Some(next.clone());
        cpu.untraced = false;
        self.owners.remove(&next.tid);
        self.names.insert(next.tid, next.clone());
    }

    /// A task begins to take memory back, or is done with it.
    fn reclaim(&mut self, what: &What) {
        match what {
            What::ReclaimBegins { tid, reclaim } => {
                self.reclaims.insert(*tid, (*reclaim, true));
            }
            What::ReclaimEnds { tid } => {
                if let Some((_, goes_on)) = self.reclaims.get_mut(tid) {
                    *goes_on = false;
                }
            }
            _ => {}
        }
    }

    pub fn apply(&mut self, event: &Event) {
        let cpu = self.cpus.entry(event.cpu).or_default();
        cpu.steal.see(event);
        let tail = cpu.tail.take();
        match &event.what {
            What::Switch(switch) => self.switch(event.cpu, switch),
            What::TimerBegins(timer) => cpu.timer(timer),
            What::TimerEnds => cpu.leave(&Context::Timer {
                function: String::new(),
                due_ns: 0,
            }),
            What::IrqBegins { irq, name } => cpu.contexts.push(Context::Irq {
                irq: *irq,
                name: name.clone(),
            }),
            What::IrqEnds => {
                cpu.leave(&Context::Irq {
                    irq: 0,
                    name: String::new(),
                });
                cpu.tail = Some((event.ns, Raised::ByInterrupt));
            }
            What::VectorBegins { vector } => cpu.contexts.push(Context::Vector(*vector)),
            What::VectorEnds => {
                cpu.leave(&Context::Vector(Vector::LocalTimer));
                cpu.tail = Some((event.ns, Raised::ByInterrupt));
            }
            What::SoftirqBegins { which } => {
                let raised = cpu.raised(tail, event.ns);
                let which = *which;
                cpu.contexts.push(Context::Softirq { which, raised });
            }
            What::SoftirqEnds => cpu.softirq_ends(event.ns),
            What::WheelTimerBegins { function } => {
                cpu.contexts.push(Context::WheelTimer(function.clone()));
            }
            What::WheelTimerEnds => cpu.leave(&Context::WheelTimer(String::new())),
            What::CallBegins { function } => {
                let from = cpu.asked_by.clone();
                cpu.contexts.push(Context::Call {
                    function: function.clone(),
                    from,
                });
            }
            What::CallEnds => cpu.leave(&Context::Call {
                function: String::new(),
                from: None,
            }),
            What::CallSent {
                to,
                by_name,
                function,
                ..
            } => {
                // An interrupt does not do it for the task that it found.
                let by_task = cpu.acts_for_task().then(|| by_name.clone());
                self.cpus.entry(*to).or_default().sent(function, by_task);
            }
            What::ReclaimBegins { .. } | What::ReclaimEnds { .. } => self.reclaim(&event.what),
            What::ContentionBegins => cpu.contended += 1,
            What::ContentionEnds => cpu.contended = cpu.contended.saturating_sub(1),
            What::WorkBegins { function } => cpu.work = Some(function.clone()),
            What::WorkEnds => cpu.work = None,
            What::Idle { state } => cpu.idle_state = *state,
            What::SchedulerBegins => cpu.in_scheduler = true,
            What::SchedulerEnds => cpu.in_scheduler = false,
            What::Owner { waiter, owner } => {
                self.names.entry(owner.tid).or_insert_with(|| owner.clone());
                self.owners.insert(*waiter, owner.clone());
            }
            What::Priority { tid, priority } => {
                for task in self
                    .cpus
                    .values_mut()
                    .filter_map(|cpu| cpu.current.as_mut())
                {
                    if task.tid == *tid {
                        task.priority = *priority;
                    }
                }
            }
            What::SyscallBegins { .. } | What::SyscallEnds { .. } | What::Fault { .. } => {
                // In none of these contexts a task does that.
                cpu.contexts.clear();
                cpu.contexts_known = true;
            }
            What::Waking(_)
            | What::Woken { .. }
            | What::Migrate { .. }
            | What::Limited { .. }
            | What::Signal { .. }
            | What::ClockSet { .. }
            | What::FaultDone { .. }
            | What::Packets { .. } => {}
        }
    }
}

impl Cpu {
    fn timer(&mut self, timer: &Timer) {
        // In a softirq it is a task that raised it, or an interrupt, that was found.
        let is_within =
            |one: &Context| matches!(one, Context::Timer { .. } | Context::Softirq { .. });
        if !self.contexts.iter().any(is_within) {
            self.found = match (self.found, timer.call) {
                (_, Some(_)) | (Found::InKernel, _) => Found::InKernel,
                (found, None) if !timer.in_user_mode && !timer.outside_calls => found,
                (_, None) => Found::InUserMode,
            };
        }
        self.contexts.push(Context::Timer {
            function: timer.function.clone(),
            due_ns: timer.due_ns,
        });
    }

    /// Leaves the innermost context of that kind, and all within it whose ends were not seen.
    fn leave(&mut self, like: &Context) {
        if let Some(at) = self.contexts.iter().rposition(|one| one.same_kind(like)) {
            self.contexts.truncate(at);
        }
    }

    fn softirq_ends(&mut self, ns: u64) {
        let mut contexts = self.contexts.iter().rev();
        let raised = contexts.find_map(|context| match context {
            Context::Softirq { raised, .. } => Some(*raised),
            _ => None,
        });
        self.leave(&Context::Softirq {
            which: 0,
            raised: Raised::Unknown,
        });
        self.packets_from = None;
        let raised = raised.filter(|raised| *raised != Raised::ByTask);
        self.tail = raised.map(|raised| (ns, raised));
    }

    /// For whom a softirq works that begins at `ns`, behind what ended last.
    fn raised(&self, tail: Option<(u64, Raised)>, ns: u64) -> Raised {
        let Some(current) = self.current.as_ref().filter(|_| self.contexts_known) else {
            return Raised::Unknown;
        };
        match tail.map(|(tail_ns, whose)| (ns - tail_ns, whose)) {
            _ if current.name.starts_with(KSOFTIRQD) => Raised::ByTask,
            Some((gap_ns, whose)) if gap_ns < TAIL_NS => whose,
            Some((gap_ns, _)) if gap_ns < TAIL_NS_MAX => Raised::Unknown,
            _ => Raised::ByTask,
        }
    }

    /// Somebody asks this CPU for a function.
    fn sent(&mut self, function: &str, by: Option<String>) {
        if function == PACKETS_WAIT {
            self.packets_from.clone_from(&by);
        }
        self.asked_by = by;
    }

    /// Whether what happens here is the doing of the task that has it, as far as is known.
    fn acts_for_task(&self) -> bool {
        match self.contexts.last() {
            None => true,
            Some(Context::Softirq { raised, .. }) => {
                *raised == Raised::ByTask && self.is_in_own_softirq()
            }
            Some(_) => false,
        }
    }

    /// It handles what its task raised itself.
    fn is_in_own_softirq(&self) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|task| task.tid != 0 && !task.name.starts_with(KSOFTIRQD))
    }

    /// Who sent the packets that its softirq takes from the queue of this machine's own.
    pub fn sender(&self) -> Option<String> {
        let own = self.current.as_ref().filter(|_| {
            matches!(self.contexts.last(), Some(Context::Softirq { .. })) && self.acts_for_task()
        });
        own.map(who).or_else(|| self.packets_from.clone())
    }

    /// Who asked last for a function to be called here.
    pub fn asked_by(&self) -> Option<&str> {
        self.asked_by.as_deref()
    }
}
