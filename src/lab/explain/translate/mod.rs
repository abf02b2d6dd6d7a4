// SPDX-License-Identifier: GPL-2.0-only
//! The emulator's steps of one wakeup as a recording that `artis-explain` can cut.
//!
//! Calls show what the kernel begins and never what it ends, so an end is where something begins
//! that comes only after it: a softirq lasts to the next one or to the interrupt's return, a
//! timer's handler to where the next timer is programmed. Names and priorities of tasks are in no
//! call. A task is known by the page table that was loaded when it got the CPU; a task without a
//! page table of its own is a kernel thread, or idle. Where a task was in the kernel is taken from
//! what it called last: mostly these functions had called each other.

use super::activations::Activation;
use super::names;
use super::watch::{WAKER, Wakeup, table};
use crate::engine::observed::{Kind, Step};
use artis_explain::functions::Functions;
use artis_explain::recording::{
    Event, Hole, Loss, Recording, Subject, Switch, Task, Timer, Vector, Waking, What,
};
use std::iter;

/// Nanoseconds of one tick: an instruction at 100 MIPS.
pub const TICK_NS: u64 = 1_000_000_000 / crate::engine::bochs::INSTRUCTIONS_PER_SECOND;
/// RT0's own priority, as the kernel counts: user space's is 99 less this.
const RT0_PRIORITY: i32 = 1;
const NORMAL_PRIORITY: i32 = 120;
const SCHED_FIFO: u32 = 1;

/// The numbers of tasks: RT0 has one, and all kernel threads share one. Processes
/// have the number of their page table's page.
const RT0: u32 = 1;
const KERNEL_THREAD: u32 = 2;

/// Softirqs by the function that begins them, with the kernel's numbers.
const SOFTIRQS: [(&str, u32); 9] = [
    ("run_timer_softirq", 1),
    ("net_tx_action", 2),
    ("net_rx_action", 3),
    ("blk_done_softirq", 4),
    ("irq_poll_softirq", 5),
    ("tasklet_action", 6),
    ("sched_balance_softirq", 7),
    ("hrtimer_run_softirq", 8),
    ("rcu_core_si", 9),
];
/// Called when an interrupt is done, and the task that it came to goes on to something else.
const LEAVES_INTERRUPT: [&str; 2] = ["exit_to_user_mode_loop", "__schedule"];
/// Called when all softirqs of an interrupt are done.
const INTERRUPT_ENDS: [&str; 3] = [
    "irqentry_exit",
    "irqentry_exit_to_user_mode",
    "raw_irqentry_exit_cond_resched",
];
/// Handlers of timers in the timer's interrupt.
const HANDLERS: [&str; 3] = [WAKER, "tick_nohz_handler", "tick_sched_timer"];
/// Called after the last of them.
const HANDLERS_END: [&str; 2] = ["tick_program_event", "hrtimer_update_next_event"];
/// What follows every switch, and says nothing of the task.
const SWITCHING: [&str; 5] = [
    "__switch_to",
    "finish_task_switch",
    "native_load_tls",
    "native_write_msr",
    "_raw_spin_",
];
/// What anybody calls at any moment.
const ANYBODYS: [&str; 6] = [
    "_raw_spin_",
    "__list_",
    "__rcu_read_",
    "__init_waitqueue_head",
    "mem",
    "sched_clock",
];
/// How many functions show where a task was.
const DOING: usize = 6;
/// Calls the handler of a timer of the timer wheel.
const WHEEL_TIMER: &str = "call_timer_fn";
/// Call what an irq_work is for.
const IRQ_WORKS: [&str; 2] = ["irq_work_single", "irq_work_run_list"];
/// Called in the scheduler when the next task is the idle one.
const PICKS_IDLE: &str = "set_next_task_idle";

/// A time that is worth a look: a wakeup or an activation, in ticks.
pub struct Span<'a> {
    pub loss: Loss,
    /// When it began.
    pub due: u64,
    pub end: u64,
    /// How much of it is too much.
    pub lost: u64,
    pub steps: &'a [Step],
    /// Steps before these were dropped.
    cut_short: bool,
}

impl<'a> Span<'a> {
    /// A wakeup that was `late` ticks late.
    pub fn wakeup(wakeup: &'a Wakeup, late: u64) -> Self {
        Self {
            loss: Loss::Late,
            due: wakeup.end.saturating_sub(late),
            end: wakeup.end,
            lost: late,
            steps: &wakeup.steps,
            cut_short: wakeup.cut_short,
        }
    }

    /// An activation, where they take `usual` ticks.
    pub fn activation(activation: &'a Activation, usual: u64) -> Self {
        Self {
            loss: Loss::Stretched,
            due: activation.begin,
            end: activation.end,
            lost: activation.length().saturating_sub(usual),
            steps: &activation.steps,
            cut_short: false,
        }
    }
}

/// The recording of it, of a CPU whose RT0 has the page table `rt0`.
pub fn recording(span: &Span<'_>, rt0: u64, cpu: u32, functions: &Functions) -> Recording {
    let (due_ns, end_ns) = (span.due * TICK_NS, span.end * TICK_NS);
    let wakes = span.loss == Loss::Late;
    let mut translation = Translation {
        functions,
        steps: span.steps,
        cpu,
        rt0,
        due_ns,
        own_waker: own_waker(span.steps, due_ns, functions).filter(|_| wakes),
        doing: doing(span.steps, due_ns, functions),
        is_gone: false,
        wakes,
        events: Vec::new(),
        current: task(RT0),
        space: rt0,
        lazy: false,
        idle: false,
        call: None,
        contexts: Vec::new(),
        waking: false,
        contended: false,
    };
    translation.run();
    let begin_ns = span
        .steps
        .first()
        .map_or(end_ns, |step| step.tick * TICK_NS);
    let hole = Hole {
        cpu,
        from_ns: 0,
        until_ns: begin_ns,
        keeps_task: false,
        untraced: false,
    };
    Recording {
        subject: Subject {
            task: task(RT0),
            process: RT0,
            loss: span.loss,
            due_ns,
            waking_ns: 0,
            end_ns,
            lost_ns: span.lost * TICK_NS,
            from_ns: 0,
            call: None,
            busy: false,
        },
        events: translation.events.into(),
        holes: if span.cut_short && begin_ns > due_ns {
            vec![hole]
        } else {
            Vec::new()
        },
        smi: 0,
        virtual_machine: false,
    }
}

/// Which step is the handler of RT0's own timer: the last one before it had the CPU.
fn own_waker(steps: &[Step], due_ns: u64, functions: &Functions) -> Option<usize> {
    let waker = functions.address(WAKER)?;
    let is_it = |step: &Step| {
        step.kind == Kind::Call && step.address == waker && step.tick * TICK_NS >= due_ns
    };
    steps.iter().position(is_it)
}

/// What the task called last before `due_ns`, the latest first; nothing when it was in user mode.
fn doing(steps: &[Step], due_ns: u64, functions: &Functions) -> Vec<String> {
    let mut interrupts = 0;
    let mut names: Vec<String> = Vec::new();
    let before = steps.iter().rev();
    for step in before.skip_while(|step| step.tick * TICK_NS > due_ns) {
        match step.kind {
            Kind::Return if step.user => break,
            // What an interrupt did meanwhile is none of it.
            Kind::Return => interrupts += 1,
            Kind::Interrupt if interrupts == 0 => break,
            Kind::Interrupt => interrupts -= 1,
            Kind::Call if step.user => break,
            Kind::Call if interrupts == 0 => {
                let name = names::name(functions, step.address).unwrap_or_default();
                let is_own = !ANYBODYS.iter().any(|one| name.starts_with(one));
                if is_own && names.last().is_none_or(|last| last != name) {
                    names.push(name.to_owned());
                }
                if names.len() == DOING {
                    break;
                }
            }
            Kind::Call | Kind::Space => {}
        }
    }
    names
}

/// A task of which only the number is known.
fn task(tid: u32) -> Task {
    let (name, policy, priority) = match tid {
        0 => ("idle", 0, NORMAL_PRIORITY),
        RT0 => ("RT0", SCHED_FIFO, RT0_PRIORITY),
        KERNEL_THREAD => ("kernel thread", 0, NORMAL_PRIORITY),
        _ => ("process", 0, NORMAL_PRIORITY),
    };
    Task {
        tid,
        name: name.to_owned(),
        policy,
        priority,
        kernel_thread: tid == KERNEL_THREAD,
        served: false,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Irq,
    Vector,
    Fault,
    Other,
}

struct Translation<'a> {
    functions: &'a Functions,
    steps: &'a [Step],
    cpu: u32,
    rt0: u64,
    due_ns: u64,
    own_waker: Option<usize>,
    /// Where the task was that had the CPU when RT0 was due.
    doing: Vec<String>,
    /// It has lost the CPU since.
    is_gone: bool,
    /// It is a wakeup that is looked at, and no activation.
    wakes: bool,
    events: Vec<Event>,
    current: Task,
    space: u64,
    /// The next task has no address space of its own.
    lazy: bool,
    /// It is the idle one.
    idle: bool,
    call: Option<u32>,
    contexts: Vec<Context>,
    /// RT0's timer is waking it.
    waking: bool,
    contended: bool,
}

impl Translation<'_> {
    fn run(&mut self) {
        if let Some(first) = self.steps.first() {
            let has_it = What::Switch(Switch {
                next: self.current.clone(),
                ..Switch::default()
            });
            // The first step of an activation comes a moment after its begin.
            self.push(first.tick.min(self.due_ns / TICK_NS), has_it);
        }
        for at in 0..self.steps.len() {
            let step = self.steps[at];
            match step.kind {
                Kind::Space => self.space = table(step.address),
                Kind::Interrupt => self.interrupt(step),
                Kind::Return => self.interrupt_ends(step),
                Kind::Call if step.user => self.call = None,
                Kind::Call => self.function(at),
            }
        }
    }

    fn push(&mut self, tick: u64, what: What) {
        self.events.push(Event {
            ns: tick * TICK_NS,
            cpu: self.cpu,
            steal_ns: 0,
            what,
        });
    }

    fn interrupt(&mut self, step: Step) {
        let name = names::name(self.functions, step.address).unwrap_or_default();
        let vector = match name.trim_start_matches("asm_") {
            "sysvec_apic_timer_interrupt" => Vector::LocalTimer,
            "sysvec_reschedule_ipi" => Vector::Reschedule,
            "sysvec_call_function" | "sysvec_call_function_single" => Vector::CallFunction,
            "sysvec_irq_work" => Vector::IrqWork,
            "sysvec_error_interrupt" => Vector::ApicError,
            "sysvec_thermal" => Vector::Thermal,
            "common_interrupt" | "irq_entries_start" => {
                self.contexts.push(Context::Irq);
                let name = "a device".to_owned();
                return self.push(step.tick, What::IrqBegins { irq: 0, name });
            }
            "exc_page_fault" => {
                self.contexts.push(Context::Fault);
                let tid = self.current.tid;
                return self.push(step.tick, What::Fault { tid });
            }
            other if other.starts_with("exc_") => return self.contexts.push(Context::Other),
            _ => Vector::Platform,
        };
        self.contexts.push(Context::Vector);
        self.push(step.tick, What::VectorBegins { vector });
    }

    /// An interrupt returns only when its task goes on, and that may be long after the interrupt.
    fn leaves_interrupt(&mut self, tick: u64) {
        if let Some(context) = self.contexts.last_mut()
            && let Context::Irq | Context::Vector = context
        {
            let what = match std::mem::replace(context, Context::Other) {
                Context::Irq => What::IrqEnds,
                _ => What::VectorEnds,
            };
            self.push(tick, what);
        }
    }

    fn interrupt_ends(&mut self, step: Step) {
        let what = match self.contexts.pop() {
            Some(Context::Irq) => What::IrqEnds,
            Some(Context::Vector) => What::VectorEnds,
            Some(Context::Fault) => What::FaultDone {
                tid: self.current.tid,
            },
            Some(Context::Other) | None => return,
        };
        self.push(step.tick, what);
    }

    fn function(&mut self, at: usize) {
        let step = self.steps[at];
        let tick = step.tick;
        let Some(name) = names::name(self.functions, step.address) else {
            return;
        };
        if LEAVES_INTERRUPT.contains(&name) {
            self.leaves_interrupt(tick);
        }
        let spins = name.starts_with("native_queued_spin_lock_slowpath");
        if std::mem::replace(&mut self.contended, spins) && !spins {
            self.push(tick, What::ContentionEnds);
        }
        if spins {
            self.push(tick, What::ContentionBegins);
        } else if let Some((_, which)) = SOFTIRQS.iter().find(|(function, _)| *function == name) {
            self.push(tick, What::SoftirqEnds);
            self.push(tick, What::SoftirqBegins { which: *which });
        } else if INTERRUPT_ENDS.contains(&name) {
            self.push(tick, What::SoftirqEnds);
        } else if HANDLERS.contains(&name) {
            self.handler(at, name);
        } else if HANDLERS_END.contains(&name) {
            self.push(tick, What::TimerEnds);
        } else if name == WHEEL_TIMER {
            self.push(tick, What::WheelTimerEnds);
            let function = self.called_next(at).to_owned();
            self.push(tick, What::WheelTimerBegins { function });
        } else if IRQ_WORKS.contains(&name) && !IRQ_WORKS.contains(&self.called_next(at)) {
            self.push(tick, What::CallEnds);
            let function = self.called_next(at).to_owned();
            self.push(tick, What::CallBegins { function });
        } else if name == "__schedule" {
            (self.lazy, self.idle) = (true, false);
            self.push(tick, What::SchedulerBegins);
        } else if name == PICKS_IDLE {
            self.idle = true;
        } else if name == "switch_mm_irqs_off" {
            // The next task has an address space of its own, be it the one that is loaded.
            self.lazy = false;
        } else if name == "__switch_to_asm" {
            self.switch(at);
        } else if let Some(call) = name.strip_prefix("__x64_sys_") {
            self.call = names::call(call);
        } else if name == "wakeup_preempt" && std::mem::take(&mut self.waking) {
            let on = self.cpu;
            self.push(tick, What::Woken { tid: RT0, on });
        }
    }

    fn handler(&mut self, at: usize, name: &str) {
        let tick = self.steps[at].tick;
        let own = self.own_waker == Some(at);
        self.push(tick, What::TimerEnds);
        // As a stack that the interrupt found.
        let entry = iter::once("asm_sysvec_apic_timer_interrupt".to_owned());
        let stack = match own && !self.doing.is_empty() {
            true => entry.chain(self.doing.iter().cloned()).collect(),
            false => Vec::new(),
        };
        let begins = What::TimerBegins(Timer {
            function: name.to_owned(),
            due_ns: if own { self.due_ns } else { 0 },
            // The emulated CPU takes an interrupt as soon as it may.
            in_user_mode: own && self.doing.is_empty(),
            interrupts_were_off: own.then_some(!self.doing.is_empty()),
            stack,
            ..Timer::default()
        });
        self.push(tick, begins);
        if own {
            self.waking = true;
            let waking = What::Waking(Waking {
                tid: RT0,
                by: self.current.tid,
                by_name: self.current.name.clone(),
                timer_due_ns: Some(self.due_ns),
                ..Waking::default()
            });
            self.push(tick, waking);
        }
    }

    fn switch(&mut self, at: usize) {
        let previous = self.current.tid;
        let tick = self.steps[at].tick;
        let is_due = tick * TICK_NS > self.due_ns;
        let stack = match is_due && !std::mem::replace(&mut self.is_gone, is_due) {
            true => self.doing.clone(),
            false => Vec::new(),
        };
        let mut doing = None;
        let next = if self.lazy {
            doing = self.first_function(at).map(str::to_owned);
            task(if self.idle { 0 } else { KERNEL_THREAD })
        } else if self.space == self.rt0 {
            task(RT0)
        } else {
            task(u32::try_from(self.space >> 12).unwrap_or(u32::MAX))
        };
        let what = What::Switch(Switch {
            next: next.clone(),
            previous,
            // RT0 sleeps by a system call, which ends its activation; of others nobody asks.
            blocked: previous == RT0 && self.wakes,
            call: self.call.take(),
            stack,
            ..Switch::default()
        });
        self.push(tick, what);
        if let Some(function) = doing.filter(|_| next.tid == KERNEL_THREAD) {
            self.push(tick, What::WorkBegins { function });
        }
        self.current = next;
    }

    /// What is called first in the function that the step at `at` calls; nothing when an interrupt
    /// comes before.
    fn called_next(&self, at: usize) -> &str {
        let next = self.steps.get(at + 1);
        next.filter(|step| step.kind == Kind::Call && !step.user)
            .and_then(|step| names::name(self.functions, step.address))
            .unwrap_or_default()
    }

    /// What the task that got the CPU calls first.
    fn first_function(&self, at: usize) -> Option<&str> {
        let calls = self.steps[at + 1..].iter();
        let calls = calls.take_while(|step| step.kind == Kind::Call && !step.user);
        let mut names = calls.filter_map(|step| names::name(self.functions, step.address));
        names.find(|name| !SWITCHING.iter().any(|one| name.starts_with(one)))
    }
}

#[cfg(test)]
mod tests;
