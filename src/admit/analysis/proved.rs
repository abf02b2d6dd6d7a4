// SPDX-License-Identifier: GPL-2.0-only
//! The same bounds by the crate `response-time-analysis`, whose analyses are proved in PROSA.
//!
//! It knows a CPU without interrupts. For fixed priorities those are requests of a top priority,
//! which is the same; EDF and FIFO with interrupts, and EDF with locks, are beyond it. The larger
//! of its bound and ours counts.

use super::cpu::{Cpu, Member, Order};
use super::demand::Due;
use super::stream::{LIMIT_NS, Load, Stream};
use response_time_analysis::arrival::Sporadic;
use response_time_analysis::demand::{Aggregate, RBF};
use response_time_analysis::fixed_priority::{
    floating_nonpreemptive as floating, fully_nonpreemptive as whole_jobs, fully_preemptive,
};
use response_time_analysis::time::{Duration, Service};
use response_time_analysis::wcet::Scalar;
use response_time_analysis::{edf, fifo};

type Requests = RBF<Sporadic, Scalar>;

fn limit() -> Duration {
    Duration::from(LIMIT_NS)
}

fn arrivals(stream: &Stream) -> Sporadic {
    Sporadic::new(stream.period_ns.into(), stream.jitter_ns.into())
}

fn requests(stream: &Stream) -> Requests {
    RBF::new(arrivals(stream), Scalar::new(stream.cost_ns.into()))
}

/// All of a load but one stream, which is part of it.
fn without(load: &Load, stream: &Stream) -> Vec<Requests> {
    let rest = load.streams().iter().map(|one| {
        let is_part = (one.period_ns, one.jitter_ns) == (stream.period_ns, stream.jitter_ns);
        let cost_ns = one.cost_ns - if is_part { stream.cost_ns } else { 0 };
        Stream { cost_ns, ..*one }
    });
    let rest = rest.filter(|one| one.cost_ns > 0);
    rest.map(|one| requests(&one)).collect()
}

/// Fixed priorities; `load` is that of all tasks of its priority and higher ones. Nanoseconds, or
/// none where no bound was found or the analysis does not apply.
pub fn fixed(cpu: &Cpu, member: &Member, load: &Load) -> Option<u64> {
    let blocking = cpu.blocking.at(member.urgency);
    let mut others = without(load, &member.stream);
    let interrupts = cpu.interrupts.streams().iter().chain(cpu.tick.streams());
    others.extend(interrupts.map(requests));
    let blocking_bound = Service::from(blocking);
    let own = requests(&member.stream);
    let found = match (cpu.is_preemptive, blocking) {
        (true, 0) => fully_preemptive::dedicated_uniproc_rta(&own, &others, limit()),
        (true, _) => {
            let rbf = &own;
            let task = floating::TaskUnderAnalysis {
                rbf,
                blocking_bound,
            };
            floating::dedicated_uniproc_rta(&task, &others, limit())
        }
        // An interrupt comes into a job that no task preempts.
        (false, _) if !cpu.is_dedicated() => return None,
        (false, _) => {
            let task = whole_jobs::TaskUnderAnalysis {
                wcet: Scalar::new(member.stream.cost_ns.into()),
                arrivals: &arrivals(&member.stream),
                blocking_bound,
            };
            whole_jobs::dedicated_uniproc_rta(&task, &others, limit())
        }
    };
    found.ok().map(u64::from)
}

/// EDF and FIFO on a CPU without interrupts and blocking.
pub fn dynamic(cpu: &Cpu, member: &Member, load: &Load, dues: &[Due]) -> Option<u64> {
    if !cpu.is_dedicated() || !cpu.blocking.is_none() {
        return None;
    }
    let found = match cpu.order {
        Order::Fixed => return None,
        Order::Fifo => {
            let all = Aggregate::new(load.streams().iter().map(requests).collect());
            fifo::dedicated_uniproc_rta(&all, limit())
        }
        Order::Edf => {
            let own = requests(&member.stream);
            let room = member.room_ns();
            let others: Vec<(Requests, u64)> = dues
                .iter()
                .map(|due| {
                    let is_part = due.deadline_ns == room
                        && due.stream.period_ns == member.stream.period_ns
                        && due.stream.jitter_ns == member.stream.jitter_ns;
                    let cost_ns =
                        due.stream.cost_ns - if is_part { member.stream.cost_ns } else { 0 };
                    let stream = Stream {
                        cost_ns,
                        ..due.stream
                    };
                    (stream, due.deadline_ns)
                })
                .filter(|(stream, _)| stream.cost_ns > 0)
                .map(|(stream, deadline)| (requests(&stream), deadline))
                .collect();
            let task = |rbf, deadline: u64| edf::fully_preemptive::Task {
                rbf,
                deadline: deadline.into(),
            };
            let others: Vec<_> = others.iter().map(|(rbf, it)| task(rbf, *it)).collect();
            edf::fully_preemptive::dedicated_uniproc_rta(&task(&own, room), &others, limit())
        }
    };
    found.ok().map(u64::from)
}
