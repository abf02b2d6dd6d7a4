// SPDX-License-Identifier: GPL-2.0-only
//! From the recorder's events to those of a recording.

use crate::copy::CopiedEvent;
use crate::skeleton::types::{
    recorder_event, recorder_kind as Kind, recorder_loss, recorder_mark,
    recorder_switch_flags as Flags, recorder_timer_flags as TimerFlags, recorder_vector,
};
use artis_explain::functions::Functions;
use artis_explain::recording::{Event, Loss, Subject, Task, Vector, What};

/// What addresses are looked up in.
pub(crate) struct Names<'a> {
    pub functions: &'a Functions,
}

/// The number of the stack that was taken at an event; 0: none was.
pub(crate) fn stack_number(event: &recorder_event) -> u32 {
    match Kind(u32::from(event.kind)) {
        Kind::RECORDER_HRTIMER_ENTRY => event.other,
        Kind::RECORDER_SWITCH => (event.b >> 32) as u32,
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
    }
}

impl Names<'_> {
    /// An event in a recording's words; none for a kind that is not known.
    pub fn event(&self, copied: &CopiedEvent) -> Option<Event> {
        Some(Event {
            ns: copied.event.ns,
            cpu: copied.cpu,
            steal_ns: copied.event.steal_ns,
            what: self.what(copied)?,
        })
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
            Kind::RECORDER_SWITCH => self.switch(copied),
            Kind::RECORDER_WAKING => What::Waking {
                tid,
                by: event.other,
                by_name: text(&event.name),
                timer_due_ns: (event.what != 0).then_some(event.b),
            },
            Kind::RECORDER_WAKEUP => What::Woken {
                tid,
                on: event.a as u32,
            },
            Kind::RECORDER_MIGRATE => What::Migrate {
                tid,
                to: event.a as u32,
            },
            Kind::RECORDER_HRTIMER_ENTRY => What::TimerBegins {
                function: self.function(event.a),
                due_ns: event.b,
                slack_ns: u64::from(event.pid),
                in_user_mode: u32::from(event.what) & TimerFlags::RECORDER_IN_USER_MODE.0 != 0,
                stack: self.stack(copied),
            },
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
            Kind::RECORDER_SCHED_ENTRY => What::SchedulerBegins,
            Kind::RECORDER_SCHED_EXIT => What::SchedulerEnds,
            Kind::RECORDER_OWNER => What::Owner {
                waiter: tid,
                owner: Task {
                    tid: event.other,
                    name: text(&event.name),
                    policy: (event.b >> 32) as u32,
                    priority: (event.b as u32).cast_signed(),
                    kernel_thread: false,
                    served: false,
                },
            },
            Kind::RECORDER_NAPI => What::Packets {
                device: text(&event.name),
                packets: event.a as u32,
            },
            Kind::RECORDER_PRIORITY => What::Priority {
                tid,
                priority: (event.a as u32).cast_signed(),
            },
            _ => return None,
        })
    }

    /// As the program lays it out: state and system call in `a`, priority, policy and stack in `b`.
    fn switch(&self, copied: &CopiedEvent) -> What {
        let event = &copied.event;
        let has = |flag: Flags| u32::from(event.what) & flag.0 != 0;
        let call = ((event.a >> 32) as u32).cast_signed();
        What::Switch {
            next: Task {
                tid: event.pid,
                name: text(&event.name),
                policy: (event.b >> 16) as u32 & 0xffff,
                priority: i32::from((event.b as u16).cast_signed()),
                kernel_thread: has(Flags::RECORDER_KTHREAD),
                served: has(Flags::RECORDER_SERVER),
            },
            previous: event.other,
            blocked: !has(Flags::RECORDER_PREEMPTED),
            call: u32::try_from(call).ok(),
            throttled: has(Flags::RECORDER_THROTTLED),
            stack: self.stack(copied),
        }
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
