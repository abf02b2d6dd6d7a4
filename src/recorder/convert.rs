// SPDX-License-Identifier: GPL-2.0-only
//! From the recorder's events to those of a recording.

use crate::cgroups::Cgroups;
use crate::history::CopiedEvent;
use crate::skeleton::types::{
    recorder_event, recorder_kind as Kind, recorder_loss, recorder_mark, recorder_reclaim,
    recorder_switch_flags as Flags, recorder_switch_parts as Parts,
    recorder_timer_flags as TimerFlags, recorder_vector,
};
use artis_explain::functions::Functions;
use artis_explain::recording::{
    Event, Loss, Reclaim, Sleep, Subject, Switch, Task, Timer, Vector, Waking, What,
};

/// What addresses are looked up in.
pub(crate) struct Names<'a> {
    pub functions: &'a Functions,
    pub cgroups: &'a Cgroups,
}

/// The number of the stack that was taken at an event; 0: none was.
pub(crate) fn stack_number(event: &recorder_event) -> u32 {
    match Kind(u32::from(event.kind)) {
        Kind::RECORDER_HRTIMER_ENTRY => event.other,
        Kind::RECORDER_SWITCH => (event.b >> Parts::RECORDER_STACK_AT.0) as u32,
        Kind::RECORDER_WAKING => (event.a >> 32) as u32,
        _ => 0,
    }
}

/// The text up to its first zero.
pub(crate) fn text(name: &[i8]) -> String {
    let bytes = name.iter().map(|one| one.cast_unsigned());
    let bytes: Vec<u8> = bytes.take_while(|one| *one != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The thread and the interval of a mark.
pub(crate) fn subject(mark: &recorder_mark) -> Subject {
    Subject {
        task: Task {
            tid: mark.tid,
            name: text(&mark.name),
            policy: mark.policy,
            priority: mark.prio,
            kernel_thread: false,
            served: false,
        },
        process: mark.tgid,
        loss: match recorder_loss(mark.loss) {
            recorder_loss::RECORDER_LOCKED_OUT => Loss::LockedOut,
            recorder_loss::RECORDER_STRETCHED => Loss::Stretched,
            _ => Loss::Late,
        },
        due_ns: mark.due_ns,
        waking_ns: mark.waking_ns,
        end_ns: mark.end_ns,
        lost_ns: mark.lost_ns.min(mark.end_ns.saturating_sub(mark.due_ns)),
        from_ns: match mark.from_ns == mark.due_ns {
            true => 0,
            false => mark.from_ns,
        },
        call: u32::try_from(mark.call).ok(),
        busy: mark.busy != 0,
    }
}

impl Names<'_> {
    /// An event in a recording's words, with the begin of the scheduler before a switch; nothing
    /// for a kind that is not known.
    pub fn events(&self, copied: &CopiedEvent) -> impl Iterator<Item = Event> {
        let at = |ns, steal_ns, what| Event {
            ns,
            cpu: copied.cpu,
            steal_ns,
            what,
        };
        let event = &copied.event;
        let began = scheduler_ns(event).map(|ns| at(event.ns - ns, 0, What::SchedulerBegins));
        let what = self.what(copied);
        let itself = what.map(|what| at(event.ns, event.steal_ns, what));
        began.into_iter().chain(itself)
    }

    fn function(&self, address: u64) -> String {
        self.functions
            .name(address)
            .map_or_else(|| format!("{address:#x}"), str::to_owned)
    }

    fn stack(&self, copied: &CopiedEvent) -> Vec<String> {
        let addresses = copied.stack.iter();
        let mut names: Vec<String> = addresses.map(|at| self.function(*at)).collect();
        // The recorder itself is the innermost.
        let own = names
            .iter()
            .rposition(|name| name.starts_with("bpf_trace_run"));
        names.drain(..own.map_or(0, |at| at + 1));
        names
    }

    fn what(&self, copied: &CopiedEvent) -> Option<What> {
        let event = &copied.event;
        let tid = event.pid;
        Some(match Kind(u32::from(event.kind)) {
            Kind::RECORDER_SWITCH => What::Switch(self.switch(copied)),
            Kind::RECORDER_WAKING => What::Waking(Waking {
                tid,
                by: event.other,
                by_name: text(&event.name),
                timer_due_ns: (event.what != 0).then_some(event.b),
                from: Some(event.a as u32),
                stack: self.stack(copied),
            }),
            Kind::RECORDER_WAKEUP => What::Woken {
                tid,
                on: event.a as u32,
            },
            Kind::RECORDER_MIGRATE => What::Migrate {
                tid,
                to: event.a as u32,
            },
            Kind::RECORDER_HRTIMER_ENTRY => What::TimerBegins(self.timer(copied)),
            Kind::RECORDER_HRTIMER_EXIT => What::TimerEnds,
            Kind::RECORDER_IRQ_ENTRY => What::IrqBegins {
                irq: u32::from(event.what),
                name: text(&event.name),
            },
            Kind::RECORDER_IRQ_EXIT => What::IrqEnds,
            Kind::RECORDER_VECTOR_ENTRY => What::VectorBegins {
                vector: vector(event.what),
            },
            Kind::RECORDER_VECTOR_EXIT => What::VectorEnds,
            Kind::RECORDER_SOFTIRQ_ENTRY => What::SoftirqBegins {
                which: u32::from(event.what),
            },
            Kind::RECORDER_SOFTIRQ_EXIT => What::SoftirqEnds,
            Kind::RECORDER_TIMER_ENTRY => What::WheelTimerBegins {
                function: match event.b {
                    0 => self.function(event.a),
                    work => format!("{} ({})", self.function(event.a), self.function(work)),
                },
            },
            Kind::RECORDER_TIMER_EXIT => What::WheelTimerEnds,
            Kind::RECORDER_CSD_ENTRY => What::CallBegins {
                function: self.function(event.a),
            },
            Kind::RECORDER_CSD_EXIT => What::CallEnds,
            Kind::RECORDER_CSD_SEND => What::CallSent {
                to: u32::from(event.what),
                function: self.function(event.a),
                by: tid,
                by_name: text(&event.name),
            },
            Kind::RECORDER_SYS_ENTER => What::SyscallBegins {
                tid,
                number: event.a as u32,
                lock: event.other != 0,
            },
            Kind::RECORDER_SYS_EXIT => What::SyscallEnds { tid },
            Kind::RECORDER_FAULT => What::Fault { tid },
            Kind::RECORDER_FAULT_DONE => What::FaultDone { tid },
            Kind::RECORDER_CONTENTION_BEGIN => What::ContentionBegins,
            Kind::RECORDER_CONTENTION_END => What::ContentionEnds,
            Kind::RECORDER_WORK_START => What::WorkBegins {
                function: self.function(event.a),
            },
            Kind::RECORDER_WORK_END => What::WorkEnds,
            Kind::RECORDER_IDLE => What::Idle {
                state: Some(event.a as u32).filter(|state| *state != u32::MAX),
            },
            Kind::RECORDER_SCHED_EXIT => What::SchedulerEnds,
            Kind::RECORDER_OWNER => owner(event),
            Kind::RECORDER_NAPI => What::Packets {
                device: text(&event.name),
                packets: event.a as u32,
                backlog: event.what != 0,
            },
            Kind::RECORDER_CLOCK_SET => What::ClockSet {
                step_ns: event.a.cast_signed(),
            },
            Kind::RECORDER_RECLAIM => What::ReclaimBegins {
                tid,
                reclaim: reclaim(event.what),
            },
            Kind::RECORDER_RECLAIM_DONE => What::ReclaimEnds { tid },
            Kind::RECORDER_LIMITED => What::Limited {
                tid,
                cgroup: {
                    let name = text(&event.name);
                    self.cgroups.path(event.a, &name).unwrap_or(name)
                },
                limit: event.b,
            },
            Kind::RECORDER_SIGNAL => What::Signal {
                tid,
                process: event.b as u32,
                number: event.a as u32,
                by: event.other,
                by_name: text(&event.name),
            },
            Kind::RECORDER_PRIORITY => What::Priority {
                tid,
                priority: (event.a as u32).cast_signed(),
            },
            _ => return None,
        })
    }

    /// As the program lays it out: in `name` the bytes of code before where a late one came, or the
    /// timer that ends a limit's period, and then the system call.
    fn timer(&self, copied: &CopiedEvent) -> Timer {
        let event = &copied.event;
        let has = |flag: TimerFlags| u32::from(event.what) & flag.0 != 0;
        let [code @ .., c0, c1, c2, c3, _, _, _, _] = event.name.map(i8::cast_unsigned);
        let call = u32::from_ne_bytes([c0, c1, c2, c3]).cast_signed();
        let call = has(TimerFlags::RECORDER_CALL_KNOWN).then_some(call);
        let limit = u64::from_ne_bytes(code);
        let of_limit = has(TimerFlags::RECORDER_OF_LIMIT);
        Timer {
            function: self.function(event.a),
            due_ns: event.b,
            slack_ns: u64::from(event.pid),
            in_user_mode: has(TimerFlags::RECORDER_IN_USER_MODE),
            interrupts_were_off: (limit != 0 && !of_limit).then(|| turns_interrupts_on(&code)),
            outside_calls: call.is_some_and(|call| call < 0),
            call: call.and_then(|call| u32::try_from(call).ok()),
            settable: has(TimerFlags::RECORDER_SETTABLE),
            limit: if of_limit { limit } else { 0 },
            stack: self.stack(copied),
        }
    }

    /// As the program lays it out: state and system call in `a`, priority, policy and stack in `b`.
    fn switch(&self, copied: &CopiedEvent) -> Switch {
        let event = &copied.event;
        let has = |flag: Flags| u32::from(event.what) & flag.0 != 0;
        let untraced = has(Flags::RECORDER_UNTRACED);
        let (state, call) = match untraced {
            true => (0, None),
            false => {
                let call = ((event.a >> 32) as u32).cast_signed();
                (event.a as u32, u32::try_from(call).ok())
            }
        };
        Switch {
            next: Task {
                tid: event.pid,
                name: text(&event.name),
                policy: (event.b >> Parts::RECORDER_POLICY_AT.0) as u32 & 0xff,
                priority: i32::from((event.b as u16).cast_signed()),
                kernel_thread: has(Flags::RECORDER_KTHREAD),
                served: has(Flags::RECORDER_SERVER),
            },
            previous: event.other,
            blocked: !has(Flags::RECORDER_PREEMPTED),
            call,
            sleep: sleep(state, has),
            out_of_budget: has(Flags::RECORDER_BUDGET),
            throttled: has(Flags::RECORDER_THROTTLED),
            stack: self.stack(copied),
        }
    }
}

/// How long before the switch the scheduler began, where that is known.
fn scheduler_ns(event: &recorder_event) -> Option<u64> {
    let is_switch = Kind(u32::from(event.kind)) == Kind::RECORDER_SWITCH;
    let (at, end) = (Parts::RECORDER_SCHEDULER_AT.0, Parts::RECORDER_STACK_AT.0);
    let ns = event.b >> at & ((1 << (end - at)) - 1);
    (is_switch && ns > 0 && ns <= event.ns).then_some(ns)
}

/// How the one that goes sleeps, by its state in the kernel (`include/linux/sched.h`).
fn sleep(state: u32, has: impl Fn(Flags) -> bool) -> Option<Sleep> {
    const UNINTERRUPTIBLE: u32 = 0x2;
    const STOPPED: u32 = 0x4;
    const TRACED: u32 = 0x8;
    const WAITS_FOR_LOCK: u32 = 0x1000;
    if has(Flags::RECORDER_PREEMPTED) {
        return None;
    }
    Some(match state {
        _ if has(Flags::RECORDER_FROZEN) => Sleep::Frozen,
        state if state & STOPPED != 0 => Sleep::Stopped,
        state if state & TRACED != 0 => Sleep::Traced,
        _ if has(Flags::RECORDER_DISK) => Sleep::Disk,
        state if state & (UNINTERRUPTIBLE | WAITS_FOR_LOCK) != 0 => Sleep::Uninterruptible,
        _ => return None,
    })
}

fn reclaim(number: u16) -> Reclaim {
    match recorder_reclaim(u32::from(number)) {
        recorder_reclaim::RECORDER_CGROUP => Reclaim::Cgroup,
        recorder_reclaim::RECORDER_COMPACTION => Reclaim::Compaction,
        _ => Reclaim::Machine,
    }
}

/// Of a lock with priority inheritance.
fn owner(event: &recorder_event) -> What {
    What::Owner {
        waiter: event.pid,
        owner: Task {
            tid: event.other,
            name: text(&event.name),
            policy: (event.b >> 32) as u32,
            priority: (event.b as u32).cast_signed(),
            kernel_thread: false,
            served: false,
        },
    }
}

fn vector(number: u16) -> Vector {
    match recorder_vector(u32::from(number)) {
        recorder_vector::RECORDER_RESCHEDULE => Vector::Reschedule,
        recorder_vector::RECORDER_CALL_FUNCTION => Vector::CallFunction,
        recorder_vector::RECORDER_IRQ_WORK => Vector::IrqWork,
        recorder_vector::RECORDER_PLATFORM => Vector::Platform,
        recorder_vector::RECORDER_THERMAL => Vector::Thermal,
        recorder_vector::RECORDER_APIC_ERROR => Vector::ApicError,
        _ => Vector::LocalTimer,
    }
}

/// Whether the processor, behind these bytes of code, has just been allowed to take interrupts:
/// `popf` allows them at once, `sti` behind the instruction that follows it.
fn turns_interrupts_on(code: &[u8]) -> bool {
    const POPF: u8 = 0x9d;
    const STI: u8 = 0xfb;
    code.last() == Some(&POPF) || code.contains(&STI)
}
