// SPDX-License-Identifier: GPL-2.0-only
//! EDF: whether all deadlines are met, by the demand of jobs that have to end in a stretch of time
//! and the supply that interrupts leave of it.
//!
//! A stretch begins when nothing is left over, so the supply in its first `x` is at least `x` less
//! the interrupts that come within `x`, and the demand is met when some `x` up to its end supplies
//! it. Sources: S. Baruah, L. Rosier, R. Howell, 1990 (processor demand); I. Shin, I. Lee,
//! "Periodic resource model for compositional real-time guarantees", RTSS 2003 (demand against a
//! supply bound function); F. Zhang, A. Burns, "Schedulability analysis for real-time systems with
//! EDF scheduling", 2009 (QPA, from the last deadline backwards); S. Baruah, 2006 (blocking).

use super::cpu::Cpu;
use super::stream::{Meter, Stream, Whole, Why, least};

/// What the supply is.
pub trait Supply {
    /// The least time after which so much work is done, from the beginning of a busy window on.
    fn when(&self, work_ns: u64, meter: &Meter) -> Result<u64, Why>;
}

impl Supply for Cpu {
    fn when(&self, work_ns: u64, meter: &Meter) -> Result<u64, Why> {
        least(work_ns, meter, |x| {
            work_ns.saturating_add(self.taken_of(x, meter))
        })
    }
}

/// Jobs with their deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    pub stream: Stream,
    /// From the release on.
    pub deadline_ns: u64,
}

impl Due {
    /// Work of jobs that are released and due within this length.
    fn demand(&self, length_ns: u64) -> u64 {
        match length_ns.checked_sub(self.deadline_ns) {
            None => 0,
            Some(rest) => self.stream.work(rest + 1),
        }
    }

    /// The last deadline before this time.
    fn last_before(&self, length_ns: u64) -> Option<u64> {
        let rest = length_ns.checked_sub(self.deadline_ns + 1)?;
        let Stream {
            period_ns,
            jitter_ns,
            ..
        } = self.stream;
        let at = ((rest + jitter_ns) / period_ns * period_ns).saturating_sub(jitter_ns);
        Some(self.deadline_ns + at)
    }
}

/// The tasks of a CPU; those that come and are due alike are one.
pub fn dues(cpu: &Cpu) -> Vec<Due> {
    let key = |due: &Due| (due.deadline_ns, due.stream.period_ns, due.stream.jitter_ns);
    let mut all: Vec<Due> = cpu
        .members
        .iter()
        .map(|one| Due {
            stream: one.stream,
            deadline_ns: one.room_ns(),
        })
        .collect();
    all.sort_by_key(key);
    let mut dues: Vec<Due> = Vec::new();
    for due in all {
        match dues.last_mut() {
            Some(last) if key(last) == key(&due) => {
                last.stream.cost_ns = last.stream.cost_ns.saturating_add(due.stream.cost_ns);
                last.stream.tasks += 1;
            }
            _ => dues.push(due),
        }
    }
    dues
}

/// The first stretch, from the longest on, whose demand is not met; none: all are.
///
/// # Errors
/// When it was not found out.
pub fn missed(cpu: &Cpu, meter: &Meter) -> Result<Option<u64>, Why> {
    let dues = dues(cpu);
    let end = longest(cpu, &dues, meter)?;
    let mut levels = cpu.blocking.levels();
    levels.retain(|level| *level < end);
    // Between two levels the blocking is the same, and demand grows with the length.
    let mut high = end;
    loop {
        let low = levels.pop().unwrap_or(0);
        let blocking = cpu.blocking.at(low);
        if let Some(late) = missed_between(cpu, &dues, blocking, (low, high), meter)? {
            return Ok(Some(late));
        }
        if low == 0 {
            return Ok(None);
        }
        high = low;
    }
}

/// QPA from `high`, which is left out, down to `low`.
fn missed_between(
    cpu: &Cpu,
    dues: &[Due],
    blocking: u64,
    (low, high): (u64, u64),
    meter: &Meter,
) -> Result<Option<u64>, Why> {
    let before = |length: u64| {
        meter.take(dues.len() as u64);
        dues.iter().filter_map(|due| due.last_before(length)).max()
    };
    let mut next = before(high);
    while let Some(length) = next.filter(|length| *length >= low) {
        meter.take(dues.len() as u64);
        let demand = dues.iter().map(|due| due.demand(length));
        let demand = demand.fold(blocking, u64::saturating_add);
        let when = match cpu.when(demand, meter) {
            Err(Why::Endless) => return Ok(Some(length)),
            when => when?,
        };
        if when > length {
            return Ok(Some(length));
        }
        // No stretch from `when` on to here has more demand than this one, and that is met.
        next = before(when);
    }
    match meter.left() {
        0 => Err(Why::Spent),
        _ => Ok(None),
    }
}

/// A length from which on no stretch needs to be looked at, at least 1.
fn longest(cpu: &Cpu, dues: &[Due], meter: &Meter) -> Result<u64, Why> {
    let spare = 1.0 - cpu.utilisation() - cpu.taken();
    let by_line = (cpu.whole(cpu.members.len()) == Whole::Below && spare > 1e-9).then(|| {
        // Demand and interrupts stay below a line whose slope is the utilisation.
        let of_tasks = dues.iter().map(|due| {
            let Stream {
                period_ns,
                jitter_ns,
                cost_ns,
                ..
            } = due.stream;
            let ahead = (period_ns + jitter_ns) as f64 - due.deadline_ns as f64;
            cost_ns as f64 / period_ns as f64 * ahead.max(0.0)
        });
        let others = cpu.interrupts.streams().iter().chain(cpu.tick.streams());
        let of_others = others.map(|one| {
            one.cost_ns as f64 / one.period_ns as f64 * (one.period_ns + one.jitter_ns) as f64
        });
        let all = of_tasks.sum::<f64>() + of_others.sum::<f64>() + cpu.blocking.most() as f64;
        (all / spare * (1.0 + 1e-6)).ceil() as u64 + 2
    });
    match by_line {
        Some(length) => Ok(length),
        None => busy(cpu, dues, meter),
    }
}

/// The longest busy window of all tasks.
pub fn busy(cpu: &Cpu, dues: &[Due], meter: &Meter) -> Result<u64, Why> {
    let blocking = cpu.blocking.most();
    let busy = least(blocking, meter, |x| {
        if !meter.take(dues.len() as u64) {
            return u64::MAX;
        }
        let work = dues.iter().map(|due| due.stream.work(x));
        let taken = cpu.taken_of(x, meter);
        work.fold(blocking.saturating_add(taken), u64::saturating_add)
    })?;
    Ok(busy + 1)
}
