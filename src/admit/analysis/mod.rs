// SPDX-License-Identifier: GPL-2.0-only
//! Whether the tasks of one CPU meet their deadlines, and the bound of each response.
//!
//! First utilisation alone ([`quick`]), then busy windows ([`fixed`], [`edf`], [`demand`]). Bounds
//! come from ours and from a library of proved analyses ([`proved`]). Every step is counted, so an
//! answer comes in bounded time, and it may be "unknown".

pub mod blocking;
pub mod cpu;
pub mod demand;
pub mod edf;
pub mod fixed;
pub mod proved;
pub mod quick;
pub mod stream;
pub mod window;

use cpu::{Cpu, Member, Order};
use demand::{Due, dues};
use quick::{Quick, Says, quick};
use serde::Serialize;
use stream::{Load, Meter, Whole, Why};
pub use window::Parts;

/// Whether the deadlines of a CPU, or of a set, are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fits {
    Yes,
    No,
    Unknown,
}

/// What one task can count on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Which of the set's tasks.
    pub task: usize,
    /// From the event to the end of its job, at most, nanoseconds; none: there is no bound, or it
    /// was not found.
    pub bound_ns: Option<u64>,
    /// What it is made of, where that was found.
    pub parts: Option<Parts>,
    pub meets: Fits,
    /// The response grows without end, or why it is not known.
    pub why: Option<Why>,
}

/// What was found for a CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub fits: Fits,
    pub quick: Quick,
    /// Most urgent first.
    pub bounds: Vec<Bound>,
}

/// A bound that takes more steps than this is ours alone: the library needs a multiple of them.
const PROVED_STEPS_MAX: u64 = 400_000;

/// Whether all deadlines are met, without bounds.
pub fn fits(cpu: &Cpu, meter: &Meter) -> Fits {
    meter.take(cpu.members.len() as u64 * 4);
    let hopeless = |one: &Member| one.room_ns() < one.stream.cost_ns;
    if cpu.members.iter().any(hopeless) {
        return Fits::No;
    }
    match quick(cpu).says {
        Says::Fits => return Fits::Yes,
        Says::Misses => return Fits::No,
        Says::Nothing => {}
    }
    match cpu.order {
        Order::Fixed => fixed_fits(cpu, meter),
        Order::Edf => edf_fits(cpu, meter),
        Order::Fifo => {
            let load = Load::new(cpu.members.iter().map(|one| one.stream));
            let dues = dues(cpu);
            let Some(member) = cpu.members.iter().min_by_key(|one| one.room_ns()) else {
                return Fits::Yes;
            };
            let worst = edf::worst_of_fifo(cpu, member, &load, &dues, meter);
            meets(worst.map(|job| job.response_ns()), member.room_ns())
        }
    }
}

fn meets(response: Result<u64, Why>, room_ns: u64) -> Fits {
    match response {
        Ok(ns) if ns <= room_ns => Fits::Yes,
        Ok(_) | Err(Why::Endless) => Fits::No,
        Err(Why::Spent) => Fits::Unknown,
    }
}

fn all(answers: impl Iterator<Item = Fits>) -> Fits {
    let mut fits = Fits::Yes;
    for answer in answers {
        match answer {
            Fits::Yes => {}
            Fits::No => return Fits::No,
            Fits::Unknown => fits = Fits::Unknown,
        }
    }
    fits
}

/// Members of one priority after the other, each with the load of all up to that priority.
fn by_priority(cpu: &Cpu) -> impl Iterator<Item = (Load, &[Member])> {
    let mut load = Load::default();
    cpu.members
        .chunk_by(|one, other| one.urgency == other.urgency)
        .map(move |level| {
            for one in level {
                load.add(one.stream);
            }
            (load.clone(), level)
        })
}

fn fixed_fits(cpu: &Cpu, meter: &Meter) -> Fits {
    let levels = by_priority(cpu).flat_map(|(load, level)| {
        let each = level.iter().map(move |member| {
            let room = member.room_ns();
            let worst = fixed::worst(cpu, member, &load, meter, Some(room));
            meets(worst.map(|job| job.response_ns()), room)
        });
        each.collect::<Vec<_>>()
    });
    all(levels)
}

fn edf_fits(cpu: &Cpu, meter: &Meter) -> Fits {
    match demand::missed(cpu, meter) {
        Ok(None) => Fits::Yes,
        Err(Why::Spent) => Fits::Unknown,
        // Without blocking, windows say the same.
        Ok(Some(_)) | Err(Why::Endless) if cpu.blocking.is_none() => Fits::No,
        Ok(Some(_)) | Err(Why::Endless) => {
            let dues = dues(cpu);
            all(cpu.members.iter().map(|member| {
                let room = member.room_ns();
                let worst = edf::worst(cpu, member, &dues, meter, Some(room));
                meets(worst.map(|job| job.response_ns()), room)
            }))
        }
    }
}

/// Whether all deadlines are met, with the bound of each task.
pub fn judge(cpu: &Cpu, meter: &Meter) -> Judged {
    let quick = quick(cpu);
    let known = match quick.says {
        Says::Fits => Some(Fits::Yes),
        Says::Misses => Some(Fits::No),
        Says::Nothing if cpu.order == Order::Edf => {
            meter.share(meter.left() / 2, |part| match demand::missed(cpu, part) {
                Ok(None) => Some(Fits::Yes),
                Ok(Some(_)) | Err(Why::Endless) if cpu.blocking.is_none() => Some(Fits::No),
                _ => None,
            })
        }
        Says::Nothing => None,
    };
    let hopeless = |one: &Member| one.room_ns() < one.stream.cost_ns;
    let known = match cpu.members.iter().any(hopeless) {
        true => Some(Fits::No),
        false => known,
    };
    let mut bounds = match cpu.order {
        Order::Fixed => fixed_bounds(cpu, meter),
        Order::Edf | Order::Fifo => dynamic_bounds(cpu, meter),
    };
    for (bound, member) in bounds.iter_mut().zip(&cpu.members) {
        // What is shown for all together holds for each, whatever its own window said.
        if known == Some(Fits::Yes) && bound.meets != Fits::Yes {
            bound.meets = Fits::Yes;
            bound.bound_ns = Some(member.deadline_ns);
            bound.parts = None;
            bound.why = None;
        }
    }
    let found = all(bounds.iter().map(|bound| bound.meets));
    Judged {
        fits: known.unwrap_or(found),
        quick,
        bounds,
    }
}

/// The bound of a member: the delay before its release, and the response.
fn bound(member: &Member, found: Result<(u64, Parts), Why>, proved: Option<u64>) -> Bound {
    let response = found.map(|(ns, _)| ns.max(proved.unwrap_or(0)));
    let mut parts = found.ok().map(|(_, parts)| parts);
    if let Ok(ns) = response
        && parts.is_some_and(|parts| parts.sum() != (ns + member.delay_ns) as i64)
    {
        parts = None;
    }
    Bound {
        task: member.task,
        bound_ns: response.ok().map(|ns| ns + member.delay_ns),
        parts,
        meets: meets(response, member.room_ns()),
        why: response.err(),
    }
}

fn fixed_bounds(cpu: &Cpu, meter: &Meter) -> Vec<Bound> {
    let count = cpu.members.len().max(1) as u64;
    let mut bounds = Vec::with_capacity(cpu.members.len());
    for (load, level) in by_priority(cpu) {
        let whole = cpu.whole_of(&load);
        for member in level {
            if whole == Whole::Above {
                bounds.push(bound(member, Err(Why::Endless), None));
                continue;
            }
            let steps = meter.left() / 4 + meter.left() / count;
            let found = meter.share(steps, |part| {
                let worst = fixed::worst(cpu, member, &load, part, None);
                let found = worst.map(|job| {
                    let window = fixed::window(cpu, member, &load, part);
                    (job.response_ns(), window.parts(&job))
                });
                (found, steps - part.left())
            });
            let (found, used) = found;
            let is_cheap = found.is_ok() && used <= PROVED_STEPS_MAX;
            let proved = is_cheap.then(|| proved::fixed(cpu, member, &load));
            meter.take(if is_cheap { 4 * used } else { 0 });
            bounds.push(bound(member, found, proved.flatten()));
        }
    }
    bounds
}

fn dynamic_bounds(cpu: &Cpu, meter: &Meter) -> Vec<Bound> {
    let dues: Vec<Due> = dues(cpu);
    let load = Load::new(cpu.members.iter().map(|one| one.stream));
    let is_endless = cpu.whole(cpu.members.len()) == Whole::Above;
    let mut of_fifo = None;
    let mut bounds = Vec::with_capacity(cpu.members.len());
    for member in &cpu.members {
        if is_endless {
            bounds.push(bound(member, Err(Why::Endless), None));
            continue;
        }
        let steps = meter.left() / 4;
        let (found, used) = meter.share(steps, |part| {
            let found = match cpu.order {
                Order::Fifo => {
                    let job = of_fifo
                        .get_or_insert_with(|| edf::worst_of_fifo(cpu, member, &load, &dues, part));
                    job.map(|job| {
                        let window = edf::fifo(cpu, member, &load, part);
                        (job.response_ns(), window.parts(&job))
                    })
                }
                _ => edf::worst(cpu, member, &dues, part, None).map(|job| {
                    let window = edf::window(cpu, member, &dues, part);
                    (job.response_ns(), window.parts(&job))
                }),
            };
            (found, steps - part.left())
        });
        let is_cheap = found.is_ok() && used <= PROVED_STEPS_MAX && cpu.members.len() <= 64;
        let proved = is_cheap.then(|| proved::dynamic(cpu, member, &load, &dues));
        meter.take(if is_cheap { 4 * used } else { 0 });
        bounds.push(bound(member, found, proved.flatten()));
    }
    bounds
}
