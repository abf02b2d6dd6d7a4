// SPDX-License-Identifier: GPL-2.0-only
//! The pieces of an interval while they are made, and what is learned of them afterwards.

use super::Segment;
use super::label::{OWN_TIMER, TIMER};
use crate::lane::Lane;
use crate::recording::Recording;

/// Consecutive pieces, in absolute time until they are finished.
pub(super) struct Pieces {
    all: Vec<Segment>,
    end_ns: u64,
}

impl Pieces {
    pub fn new(begin_ns: u64) -> Self {
        Self {
            all: Vec::new(),
            end_ns: begin_ns,
        }
    }

    /// The time up to `ns` is like `piece`.
    pub fn push(&mut self, ns: u64, piece: Segment) {
        if ns <= self.end_ns {
            return;
        }
        self.all.push(Segment {
            begin_ns: self.end_ns,
            end_ns: ns,
            ..piece
        });
        self.end_ns = ns;
    }

    /// Cuts the piece in which `ns` lies.
    fn split(&mut self, ns: u64) {
        let inside = |piece: &Segment| piece.begin_ns < ns && ns < piece.end_ns;
        if let Some(at) = self.all.iter().position(inside) {
            let mut rest = self.all[at].clone();
            self.all[at].end_ns = ns;
            rest.begin_ns = ns;
            self.all.insert(at + 1, rest);
        }
    }

    /// The hypervisor had this CPU meanwhile.
    pub fn steal(&mut self, (from_ns, to_ns): (u64, u64), cpu: u32) {
        self.split(from_ns);
        self.split(to_ns);
        for piece in &mut self.all {
            let within = piece.begin_ns >= from_ns && piece.end_ns <= to_ns;
            if within && piece.cpu == Some(cpu) {
                *piece = Segment {
                    cpu: Some(cpu),
                    code: Some("its steal clock says so".to_owned()),
                    culprit: Some("hypervisor".to_owned()),
                    ..Segment::nobody(piece.begin_ns, piece.end_ns, Lane::Hypervisor)
                };
            }
        }
    }

    /// Until `ns` the kernel was allowed to wait.
    pub fn slack(&mut self, ns: u64) {
        self.split(ns);
        for piece in &mut self.all {
            if piece.end_ns <= ns {
                *piece = Segment {
                    cpu: piece.cpu,
                    culprit: Some("its own timer slack".to_owned()),
                    code: Some("prctl(PR_SET_TIMERSLACK) sets it".to_owned()),
                    ..Segment::nobody(piece.begin_ns, piece.end_ns, Lane::Slack)
                };
            }
        }
    }

    /// What a task was doing, up to now.
    pub fn explain_task(&mut self, tid: u32, code: Option<String>, stack: &[String]) {
        let mut last = true;
        for piece in self.all.iter_mut().rev() {
            if piece.tid != Some(tid) {
                // Interrupts and the switch itself stand between its pieces.
                if matches!(
                    piece.lane,
                    Lane::HardInterrupt | Lane::Softirq | Lane::Scheduler | Lane::Hypervisor
                ) {
                    continue;
                }
                break;
            }
            if !matches!(
                piece.lane,
                Lane::PreemptionOff | Lane::RealTimeTask | Lane::OtherTask | Lane::DeadlineTask
            ) {
                continue;
            }
            if piece.code.is_none() {
                piece.code.clone_from(&code);
            }
            if std::mem::take(&mut last) && piece.stack.is_empty() {
                piece.stack = stack.to_vec();
            }
        }
    }

    /// The interrupt that ended the waiting came in user mode, where interrupts are never off.
    pub fn not_the_kernel(&mut self, recording: &Recording) {
        let stood = beyond_the_kernel(recording, "the interrupt came late into user mode");
        self.become_like(&stood, |piece| piece.lane == Lane::InterruptsOff);
    }

    /// No CPU did anything meanwhile, whatever it was at before.
    pub fn machine_stood(&mut self, (from_ns, to_ns): (u64, u64), recording: &Recording) {
        let stood = beyond_the_kernel(recording, "timers of several CPUs came late at once");
        self.split(from_ns);
        self.split(to_ns);
        self.become_like(&stood, |piece| {
            piece.begin_ns >= from_ns && piece.end_ns <= to_ns
        });
    }

    /// Those pieces keep their times and CPUs, and nothing else.
    fn become_like(&mut self, other: &Segment, is_meant: impl Fn(&Segment) -> bool) {
        for piece in self.all.iter_mut().filter(|piece| is_meant(piece)) {
            *piece = Segment {
                begin_ns: piece.begin_ns,
                end_ns: piece.end_ns,
                cpu: piece.cpu,
                ..other.clone()
            };
        }
    }

    /// Who had interrupts off, by the stack that the interrupt found.
    pub fn explain_interrupts_off(&mut self, stack: &[String]) {
        for piece in &mut self.all {
            if piece.lane == Lane::InterruptsOff && piece.code.is_none() {
                piece.code = stack.first().cloned();
                piece.stack = stack.to_vec();
            }
        }
    }

    /// The softirq that just took packets worked for this device.
    pub fn explain_packets(&mut self, device: &str) {
        for piece in self.all.iter_mut().rev() {
            if piece.lane != Lane::Softirq || piece.culprit.as_deref() != Some("NET_RX") {
                break;
            }
            if piece.code.is_none() {
                piece.code = Some(format!("packets of {device}"));
            }
        }
    }

    /// Neighbours that are alike become one, and times count from the interval's begin.
    pub fn finish(self, recording: &Recording) -> Vec<Segment> {
        let due_ns = recording.subject.due_ns;
        let mut segments: Vec<Segment> = Vec::new();
        for mut piece in self.all {
            piece.begin_ns -= due_ns;
            piece.end_ns -= due_ns;
            match segments.last_mut() {
                Some(last) if of_timer(last) && of_timer(&piece) && last.cpu == piece.cpu => {
                    add_timer(last, piece);
                }
                Some(last) if alike(last, &piece) => {
                    last.end_ns = piece.end_ns;
                    if last.stack.is_empty() {
                        last.stack = piece.stack;
                    }
                }
                _ => segments.push(piece),
            }
        }
        segments
    }
}

/// Time that neither a task nor the kernel had. `sign`: what shows it, unless the processor
/// counted.
fn beyond_the_kernel(recording: &Recording, sign: &str) -> Segment {
    let (lane, culprit, code) = match (recording.virtual_machine, recording.smi) {
        (_, smi) if smi > 0 => (
            Lane::Firmware,
            "firmware",
            format!("{smi} system management interrupts about that time"),
        ),
        (true, _) => (Lane::Hypervisor, "hypervisor", sign.to_owned()),
        (false, _) => (Lane::Firmware, "hardware or firmware", sign.to_owned()),
    };
    Segment {
        culprit: Some(culprit.to_owned()),
        code: Some(code),
        ..Segment::nobody(0, 0, lane)
    }
}

fn of_timer(piece: &Segment) -> bool {
    piece.lane == Lane::HardInterrupt
        && [Some(TIMER), Some(OWN_TIMER)].contains(&piece.culprit.as_deref())
}

/// One interrupt handles several timers: all of it is one segment, with their functions.
fn add_timer(last: &mut Segment, piece: Segment) {
    last.end_ns = piece.end_ns;
    if piece.culprit.as_deref() == Some(OWN_TIMER) {
        last.culprit = piece.culprit;
    }
    let Some(function) = piece.code else {
        return;
    };
    match &mut last.code {
        Some(code) if code.split(", ").any(|one| one == function) => {}
        Some(code) => *code = format!("{code}, {function}"),
        None => last.code = Some(function),
    }
}

fn alike(one: &Segment, other: &Segment) -> bool {
    one.lane == other.lane
        && one.culprit == other.culprit
        && one.tid == other.tid
        && one.code == other.code
        && one.cpu == other.cpu
        && one.chain == other.chain
}
