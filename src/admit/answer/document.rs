// SPDX-License-Identifier: GPL-2.0-only
//! The answer as data: what `--json` prints and tables are made of (docs/admission.schema.json).

use super::{OnCpu, changes};
use crate::analysis::cpu::Order;
use crate::analysis::quick::Quick;
use crate::analysis::stream::{Meter, Why};
use crate::analysis::{Bound, Fits, Parts};
use crate::change::{Change, Number};
use crate::model::{Policy, Set};
use serde::Serialize;

/// Whether the set may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every deadline is met.
    Schedulable,
    /// Some deadline is not met, or not shown to be met by the best analysis here.
    Refused,
    /// It was not found out.
    Unknown,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Admission {
    pub name: String,
    pub policy: Policy,
    pub verdict: Verdict,
    /// A sentence.
    pub because: String,
    /// What would settle an unknown.
    pub settle: Vec<String>,
    pub cpus: Vec<OfCpu>,
    /// Policies with which a refused set would fit.
    pub alternatives: Vec<String>,
    /// What has to hold, beside the numbers.
    pub assumptions: Vec<String>,
    pub notes: Vec<String>,
    /// What to type for a set that fits.
    pub commands: Vec<String>,
}

/// One CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfCpu {
    pub cpu: u32,
    pub fits: Fits,
    /// A set that does not fit can miss: no analysis would say otherwise.
    pub exact: bool,
    /// The part of its time that tasks take, with their switches.
    pub utilisation: f64,
    /// The part that interrupts and the tick take.
    pub taken: f64,
    pub quick: Quick,
    /// So many times as long all execution times may be; below 1 they have to be shorter.
    pub growth: Option<f64>,
    /// The least distance of two timers, or of one and the tick, with the offsets.
    pub apart_ns: Option<u64>,
    pub meetings: Vec<OfMeeting>,
    /// Most urgent first.
    pub tasks: Vec<OfTask>,
    /// Where the tasks do not fit: numbers that would do, each alone.
    pub changes: Vec<OfChange>,
}

/// A task on its CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfTask {
    pub name: String,
    /// `SCHED_FIFO` priority; none under EDF and FIFO.
    pub priority: Option<u8>,
    pub period_ns: u64,
    pub deadline_ns: u64,
    pub execution_ns: u64,
    /// From the event to the end of its job, at most; none: there is none, or it was not found.
    pub bound_ns: Option<u64>,
    /// What is left of the deadline; negative when it is not met.
    pub slack_ns: Option<i64>,
    pub meets: Fits,
    /// What the bound is made of; none where the deadline itself is the bound that was shown.
    pub parts: Option<Parts>,
    /// Why there is no bound.
    pub why: Option<&'static str>,
    /// When its timer starts, on the clock of the tick's phase.
    pub offset_ns: Option<u64>,
}

/// Two timers that meet whatever their offsets are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfMeeting {
    pub task: String,
    /// None: the tick.
    pub other: Option<String>,
    /// All that their periods have in common.
    pub divisor_ns: u64,
}

/// A number that would do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfChange {
    pub task: String,
    pub number: Number,
    pub now_ns: u64,
    pub needed_ns: u64,
}

/// The answer where nothing could be analysed.
pub fn unknown(set: &Set, because: String, settle: String) -> Admission {
    Admission {
        name: set.name.clone(),
        policy: set.policy,
        verdict: Verdict::Unknown,
        because,
        settle: vec![settle],
        cpus: vec![],
        alternatives: vec![],
        assumptions: vec![],
        notes: vec![],
        commands: vec![],
    }
}

pub fn of_change(set: &Set, change: &Change) -> OfChange {
    OfChange {
        task: set.tasks[change.task].name.clone(),
        number: change.number,
        now_ns: change.now_ns,
        needed_ns: change.needed_ns,
    }
}

pub fn of_cpu(set: &Set, on: &OnCpu, priorities: &[u8], meter: &Meter) -> OfCpu {
    let (growth, changes) = changes(set, on, priorities, meter);
    let name = |at: usize| set.tasks[at].name.clone();
    let meetings = on.offsets.meetings.iter().map(|meeting| OfMeeting {
        task: name(meeting.task),
        other: meeting.other.map(name),
        divisor_ns: meeting.divisor_ns,
    });
    let tasks = on.judged.bounds.iter();
    let tasks = tasks.map(|bound| of_task(set, on, bound, priorities));
    OfCpu {
        cpu: on.number,
        fits: on.judged.fits,
        exact: on.cpu.is_exact,
        utilisation: on.cpu.utilisation(),
        taken: on.cpu.taken(),
        quick: on.judged.quick.clone(),
        growth,
        apart_ns: on.offsets.apart_ns,
        meetings: meetings.collect(),
        tasks: tasks.collect(),
        changes,
    }
}

fn of_task(set: &Set, on: &OnCpu, bound: &Bound, priorities: &[u8]) -> OfTask {
    let task = &set.tasks[bound.task];
    let chosen = &on.offsets.chosen;
    let offset = chosen.binary_search_by_key(&bound.task, |one| one.0);
    OfTask {
        name: task.name.clone(),
        priority: (on.cpu.order == Order::Fixed).then(|| priorities[bound.task]),
        period_ns: task.period_ns,
        deadline_ns: task.deadline_ns,
        execution_ns: task.execution_ns(),
        bound_ns: bound.bound_ns,
        slack_ns: bound.bound_ns.map(|ns| task.deadline_ns as i64 - ns as i64),
        meets: bound.meets,
        parts: bound.parts,
        why: bound.why.map(|why| match why {
            Why::Endless => "grows without end",
            Why::Spent => "takes too long to find out",
        }),
        offset_ns: offset.ok().map(|at| chosen[at].1),
    }
}
