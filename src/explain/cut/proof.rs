// SPDX-License-Identifier: GPL-2.0-only
//! What must hold in the record before a piece keeps its lane; else it is unknown, and says why.
//!
//! | lane | what must hold |
//! |---|---|
//! | interrupts off | its interrupt came where they had just been allowed again, and no other one was handled meanwhile |
//! | preemption off | the task was in the kernel when it let go |
//! | firmware | the interrupt came late into user mode, on a real machine |
//! | hypervisor | the steal clock rose, or the timers of several CPUs came late at once |
//! | device | the interrupt came late into a function of the kernel, with interrupts on |
//!
//! The others are what the events themselves say.

use super::label::{OWN_TIMER, call_name, named};
use super::machine::{Cpu, Found};
use super::{Cutter, Segment};
use crate::lane::Lane;
use crate::recording::{Recording, Switch, Timer};

/// An interrupt that comes within it is not late: so long it takes to come and to be entered.
pub(super) const ENTRY_NS: u64 = 20_000;
/// From an interrupt to the task that it made ready it takes less.
pub(super) const EXIT_NS: u64 = 5_000;
/// Functions between user mode and the scheduler, by the begin of their names.
const EXIT: [&str; 9] = [
    "__schedule",
    "schedule",
    "exit_to_user_mode",
    "irqentry_exit_to_user_mode",
    "prepare_exit_to_usermode",
    "common_interrupt_return",
    "asm_sysvec",
    "asm_common_interrupt",
    "ret_from_",
];

const IN_USER_MODE: &str = "in user mode";

/// What a timer's interrupt found on its CPU.
#[derive(Debug, Default)]
pub(super) struct Look {
    in_user_mode: bool,
    were_off: Option<bool>,
    /// Where it came, without the interrupt's own functions.
    stack: Vec<String>,
}

impl Look {
    /// Only the first timer that an interrupt handles shows it.
    pub fn add(&mut self, timer: &Timer) {
        let found = interrupted(&timer.stack);
        if timer.in_user_mode || found.is_some_and(<[_]>::is_empty) {
            self.in_user_mode = true;
        }
        if let Some(stack) = found.filter(|stack| !stack.is_empty()) {
            self.stack = stack.to_vec();
        }
        self.were_off = timer.interrupts_were_off.or(self.were_off);
    }
}

/// The part of a stack that an interrupt found, without the interrupt's own: empty where it came in
/// user mode. None where the stack does not show it. An earlier interrupt's entry may be further
/// out: the task was then on its way back from that one.
fn interrupted(stack: &[String]) -> Option<&[String]> {
    let entry = stack.iter().position(|function| {
        function.starts_with("asm_sysvec") || function.starts_with("asm_common_interrupt")
    });
    entry.map(|at| &stack[at + 1..])
}

/// How a task leaves its CPU.
pub(super) struct Leaves {
    pub code: Option<String>,
    /// The system call that it is in.
    call: Option<String>,
    pub stack: Vec<String>,
    /// That is seen by how it leaves.
    pub in_kernel: bool,
}

impl Leaves {
    pub fn new(cpu: Option<&Cpu>, switch: &Switch) -> Self {
        let current = cpu.and_then(|cpu| cpu.current.as_ref());
        let work = cpu.and_then(|cpu| cpu.work.as_ref());
        let is_kernel = work.is_some() || current.is_some_and(|task| task.kernel_thread);
        let found = cpu.map(|cpu| cpu.found).unwrap_or_default();
        let slept = switch.blocked && !is_kernel && found != Found::InKernel;
        let call = switch.call.map(call_name);
        let code = match (work, call.clone()) {
            (Some(function), _) => Some(format!("work {function}")),
            (None, Some(call)) if slept => Some(match found {
                Found::InUserMode => format!("{IN_USER_MODE}, until it slept in {call}"),
                _ => format!("until it slept in {call}"),
            }),
            (None, Some(call)) => Some(call),
            (None, None) => (found == Found::InUserMode).then(|| IN_USER_MODE.to_owned()),
        };
        let is_exit = |function: &String| EXIT.iter().any(|one| function.starts_with(one));
        let shows_kernel = !switch.stack.iter().all(is_exit);
        Self {
            code,
            call,
            // It would show how it went to sleep.
            stack: match slept {
                true => Vec::new(),
                false => switch.stack.clone(),
            },
            in_kernel: is_kernel || switch.call.is_some() || shows_kernel,
        }
    }

    /// How it came into the kernel, as far as that is seen.
    fn entry(&self) -> String {
        let entry = |function: &String| function.strip_prefix("asm_exc_").map(str::to_owned);
        match (&self.call, self.stack.iter().find_map(entry)) {
            (Some(call), _) => call.clone(),
            (None, Some(exception)) => exception.replace('_', " "),
            (None, None) => "in the kernel, in no system call".to_owned(),
        }
    }

    /// What becomes of a piece in which this task could not be preempted.
    pub fn prove(&self, piece: &mut Segment, in_kernel: bool) {
        if piece.lane != Lane::PreemptionOff {
            return;
        }
        if self.in_kernel || in_kernel && piece.ns() > EXIT_NS {
            // An interrupt found it in user mode, and it came into the kernel since.
            if piece
                .code
                .as_deref()
                .is_some_and(|code| code.starts_with(IN_USER_MODE))
            {
                piece.code = Some(self.entry());
            }
            return;
        }
        let other = match piece.ns() <= EXIT_NS {
            true => named(Lane::Scheduler, "switching"),
            false => unknown("the task was not seen in the kernel, and kept the CPU"),
        };
        become_like(piece, &other);
    }
}

impl Cutter<'_> {
    /// The thread's timer is handled. Who had its CPU since `since_ns`, and kept it off?
    pub(super) fn prove_interrupts_off(&mut self, since_ns: u64) {
        let look = std::mem::take(&mut self.look);
        let mut open = self.pieces.open(since_ns);
        let late_ns: u64 = open.iter().map(|piece| piece.ns()).sum();
        // The last interrupt is the one in which the timer is handled.
        let earlier = self
            .interrupts
            .split_last()
            .map_or(&[][..], |(_, rest)| rest);
        let after = |ns: u64| -> u64 {
            let after = open.iter().filter(|piece| piece.begin_ns >= ns);
            after.map(|piece| piece.ns()).sum()
        };
        // An interrupt that waits comes at the end of the other one, as soon as it can be entered.
        let other_ns = earlier
            .iter()
            .rev()
            .find(|ns| after(**ns) > ENTRY_NS)
            .copied();
        let verdict = verdict(&look, late_ns, self.recording, self.stops_seen);
        for piece in &mut open {
            if other_ns.is_some_and(|ns| piece.end_ns <= ns) {
                let why = "another interrupt was handled meanwhile, and the timer's was not";
                become_like(piece, &unknown(why));
                continue;
            }
            match &verdict {
                Some(other) => become_like(piece, other),
                None => {
                    piece.code = look.stack.first().cloned();
                    piece.stack.clone_from(&look.stack);
                }
            }
        }
    }
}

impl Cutter<'_> {
    /// What was given to tasks that had interrupts off, and was not proven.
    pub(super) fn doubt_interrupts_off(&mut self) {
        for piece in self.pieces.open(0) {
            let within = |(from, to): &(u64, u64)| *from <= piece.begin_ns && piece.end_ns <= *to;
            if !self.proven.iter().any(within) {
                become_like(
                    piece,
                    &unknown("its timer's interrupt is not in the record"),
                );
            }
        }
    }
}

/// What it was, if nobody had interrupts off.
fn verdict(look: &Look, late_ns: u64, recording: &Recording, stops_seen: bool) -> Option<Segment> {
    if late_ns <= ENTRY_NS && look.stack.is_empty() {
        let mut piece = named(Lane::HardInterrupt, OWN_TIMER);
        piece.code = Some("until it came".to_owned());
        return Some(piece);
    }
    if look.in_user_mode {
        return Some(beyond_the_kernel(recording));
    }
    match look.were_off {
        Some(true) => None,
        // What older recorders wrote says no more.
        None if !look.stack.is_empty() => None,
        None => Some(unknown(
            "where the timer's interrupt came was not looked at",
        )),
        Some(false) => Some(stood(recording, stops_seen, &look.stack)),
    }
}

/// The interrupt came late into user mode, where interrupts are never off.
fn beyond_the_kernel(recording: &Recording) -> Segment {
    const SIGN: &str = "the interrupt came late into user mode";
    match (recording.virtual_machine, recording.smi) {
        (_, smi) if smi > 0 => firmware(smi),
        (false, _) => {
            let mut piece = named(Lane::Firmware, "hardware or firmware");
            piece.code = Some(SIGN.to_owned());
            piece
        }
        (true, _) => unknown(&format!(
            "{SIGN}; no steal clock says that the host was at work"
        )),
    }
}

/// Whether a function of the kernel does nothing but ask a device: reads of memory that is the
/// device's (`include/asm-generic/io.h`, `lib/iomap.c`), of ports, and of PCI's configuration.
fn reads_a_register(function: &str) -> bool {
    const BEGINS: [&str; 4] = ["ioread", "pci_conf", "pci_mmcfg_read", "acpi_os_read"];
    const NAMES: [&str; 8] = [
        "readb",
        "readw",
        "readl",
        "readq",
        "inb",
        "inw",
        "inl",
        "native_io_delay",
    ];
    BEGINS.iter().any(|begin| function.starts_with(begin)) || NAMES.contains(&function)
}

/// The interrupt came late into the kernel, with interrupts on.
fn stood(recording: &Recording, stops_seen: bool, stack: &[String]) -> Segment {
    let function = stack.first().map_or("the kernel", String::as_str);
    if recording.smi > 0 {
        return firmware(recording.smi);
    }
    // A host that fills a page of its guest, or traps one of its instructions, is not on its clock.
    if !stops_seen || (recording.virtual_machine && !reads_a_register(function)) {
        let why = format!("the CPU stood in {function}: a device, or the host");
        return unknown(&why);
    }
    let mut piece = named(Lane::Device, function);
    piece.code = Some("the CPU stood there with interrupts on: it reads a device".to_owned());
    piece.stack = stack.to_vec();
    piece
}

pub(super) fn firmware(smi: u64) -> Segment {
    let mut piece = named(Lane::Firmware, "firmware");
    piece.code = Some(format!(
        "{smi} system management interrupts about that time"
    ));
    piece
}

/// Whether a CPU that stood would be seen: on a virtual machine by its steal clock.
pub(super) fn stops_seen(recording: &Recording) -> bool {
    let has_clock = || recording.events.iter().any(|event| event.steal_ns > 0);
    recording.smi == 0 && (!recording.virtual_machine || has_clock())
}

/// A piece of which nothing is known, because of that.
pub(super) fn unknown(missing: &str) -> Segment {
    let mut piece = Segment::nobody(0, 0, Lane::Unknown);
    piece.code = Some(missing.to_owned());
    piece
}

/// A piece keeps its times and its CPU, and nothing else.
pub(super) fn become_like(piece: &mut Segment, other: &Segment) {
    *piece = Segment {
        begin_ns: piece.begin_ns,
        end_ns: piece.end_ns,
        cpu: piece.cpu,
        ..other.clone()
    };
}
