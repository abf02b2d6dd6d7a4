// SPDX-License-Identifier: GPL-2.0-only
//! The pieces of an interval while they are made, and what is learned of them afterwards.

use super::Segment;
use super::label::{OWN_TIMER, TIMER, named};
use super::proof::{EXIT_NS, Leaves, become_like, firmware};
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

    /// Up to when there are pieces.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
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
        let mut piece = named(Lane::Hypervisor, "hypervisor");
        piece.code = Some("its steal clock says so".to_owned());
        self.become_within(from_ns, to_ns, Some(cpu), &piece);
    }

    /// From when it slept to `ns` the kernel was allowed to wait.
    pub fn slack(&mut self, since_ns: u64, ns: u64) {
        let mut piece = named(Lane::Slack, "its own timer slack");
        piece.code = Some("prctl(PR_SET_TIMERSLACK) sets it".to_owned());
        self.become_within(since_ns, ns, None, &piece);
    }

    /// What a task was doing on this CPU, up to now. `stops_seen`: a CPU that stood is known.
    pub fn explain_task(&mut self, tid: u32, cpu: u32, leaves: &Leaves, stops_seen: bool) {
        let mut own = Vec::new();
        // Whether it went on when an interrupt was over that came while the thread was ready.
        let (mut goes_on, mut in_kernel) = (false, leaves.in_kernel || stops_seen);
        for (at, piece) in self.all.iter().enumerate().rev() {
            if piece.tid == Some(tid) && piece.cpu == Some(cpu) {
                if piece.lane == Lane::PreemptionOff {
                    in_kernel |= goes_on;
                    goes_on = false;
                }
                own.push(at);
            } else if piece.lane == Lane::HardInterrupt {
                let next = own.last().map(|at| &self.all[*at]);
                goes_on |= next.is_some_and(|next| next.ns() > EXIT_NS);
            } else if !matches!(
                piece.lane,
                // Interrupts and the switch itself stand between its pieces.
                Lane::Softirq | Lane::Scheduler | Lane::Hypervisor
            ) {
                break;
            }
        }
        let mut last = true;
        for at in own {
            let piece = &mut self.all[at];
            if !matches!(
                piece.lane,
                Lane::PreemptionOff | Lane::RealTimeTask | Lane::OtherTask | Lane::DeadlineTask
            ) {
                continue;
            }
            if piece.code.is_none() {
                piece.code.clone_from(&leaves.code);
            }
            if std::mem::take(&mut last) && piece.stack.is_empty() {
                piece.stack.clone_from(&leaves.stack);
            }
            leaves.prove(piece, in_kernel);
        }
    }

    /// Those since then of which is not known yet whether interrupts were off.
    pub fn open(&mut self, since_ns: u64) -> Vec<&mut Segment> {
        let open = self.all.iter_mut();
        open.filter(|piece| piece.lane == Lane::InterruptsOff && piece.begin_ns >= since_ns)
            .collect()
    }

    /// What these moments were taken for before, they are `other`: of this CPU, or of any.
    pub fn become_within(&mut self, from_ns: u64, to_ns: u64, cpu: Option<u32>, other: &Segment) {
        self.split(from_ns);
        self.split(to_ns);
        for piece in &mut self.all {
            let within = piece.begin_ns >= from_ns && piece.end_ns <= to_ns;
            if within && (cpu.is_none() || piece.cpu == cpu) {
                become_like(piece, other);
            }
        }
    }

    /// The softirq has just taken these packets.
    pub fn explain_packets(&mut self, packets: &str) {
        for piece in self.all.iter_mut().rev() {
            match piece.lane {
                // Interrupts come within it, and wake the thread.
                Lane::HardInterrupt | Lane::Scheduler | Lane::Hypervisor => continue,
                Lane::Softirq if piece.culprit.as_deref() == Some("NET_RX") => {}
                _ => break,
            }
            piece.code.get_or_insert_with(|| packets.to_owned());
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

/// Time that neither a task nor the kernel had, of any CPU.
pub(super) fn beyond_the_kernel(recording: &Recording) -> Segment {
    let (lane, culprit) = match (recording.virtual_machine, recording.smi) {
        (_, smi) if smi > 0 => return firmware(smi),
        (true, _) => (Lane::Hypervisor, "hypervisor"),
        (false, _) => (Lane::Firmware, "hardware or firmware"),
    };
    Segment {
        culprit: Some(culprit.to_owned()),
        code: Some("timers of several CPUs came late at once".to_owned()),
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
