// SPDX-License-Identifier: GPL-2.0-only
//! What removes a delay: the finding of `artis check` that speaks of it, the step of
//! `artis partition` that undoes it, or what only the user can do.

use crate::lane::Lane;
use crate::summary::Row;
use serde::{Deserialize, Serialize};

/// What to do about one lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    pub lane: Lane,
    /// Ids of findings of `artis check`.
    pub findings: Vec<String>,
    /// Ids of changes of `artis partition`.
    pub steps: Vec<String>,
    pub text: String,
}

/// Lanes with less of the time than this get no advice.
const SHARE_MIN: f64 = 0.05;

/// Advice for the lanes that took most, the greatest first.
pub fn advice(rows: &[Row]) -> Vec<Advice> {
    let mut shares: Vec<(Lane, f64)> = Vec::new();
    for row in rows {
        match shares.iter_mut().find(|(lane, _)| *lane == row.lane) {
            Some((_, share)) => *share += row.share,
            None => shares.push((row.lane, row.share)),
        }
    }
    shares.sort_by(|one, other| other.1.total_cmp(&one.1));
    shares
        .into_iter()
        .filter(|(_, share)| *share >= SHARE_MIN)
        .filter_map(|(lane, _)| of(lane))
        .collect()
}

/// What can be done about a lane; none where nothing is lost, or nothing known.
fn of(lane: Lane) -> Option<Advice> {
    let (findings, steps, text): (&[&str], &[&str], &str) = match lane {
        Lane::Firmware => (
            &["system_management_interrupts"],
            &[],
            "firmware cannot be scheduled: look for SMI sources in its set-up, or use another board",
        ),
        Lane::Hypervisor => (
            &["virtual_machine", "steal_time"],
            &[],
            "bind the virtual CPU to a CPU of the host that runs nothing else, at a real-time priority",
        ),
        Lane::IdleExit => (
            &["idle_states", "governor"],
            &["idle-states", "governor"],
            "keep the CPU out of deep idle states; `artis measure` and /dev/cpu_dma_latency do it for a while",
        ),
        Lane::Device => (
            &[],
            &[],
            "a driver reads a register of a slow device: keep that driver's work off this CPU, or \
             replace the device",
        ),
        Lane::InterruptsOff => (
            &["not_preempt_rt", "unshielded"],
            &["cpuset-shield", "kthread-affinity"],
            "keep tasks that enter the kernel off this CPU: `artis sched run --rt CPU` or a shield",
        ),
        Lane::HardInterrupt => (
            &["irq_affinity", "default_irq_affinity", "unshielded"],
            &["irq-affinity", "default-irq-affinity", "timer-migration"],
            "move the interrupt to another CPU; IPIs stop when their senders do not share the CPU",
        ),
        Lane::Softirq => (
            &["irq_affinity", "unshielded", "not_preempt_rt"],
            &["irq-affinity", "cpuset-shield", "rcu-callbacks"],
            "softirqs run where they are raised: move the interrupt, or the task that sends",
        ),
        Lane::RealTimeTask => (
            &["real_time_tasks", "kernel_real_time_threads"],
            &["irq-thread-priority", "cpuset-shield"],
            "give the thread a higher priority than the other, or another CPU",
        ),
        Lane::DeadlineTask => (
            &["real_time_tasks"],
            &[],
            "deadline tasks go before all others: make the thread one, or bind it elsewhere",
        ),
        Lane::DeadlineServer => (
            &["deadline_servers"],
            &["deadline-servers"],
            "turn the deadline server of this CPU off",
        ),
        Lane::RtThrottling => (
            &["rt_throttling", "no_real_time_budget"],
            &["rt-throttling"],
            "real-time tasks used up the CPU: find the one that never sleeps, then lift the limit",
        ),
        Lane::PreemptionOff => (
            &["preemption_model", "not_preempt_rt", "unshielded"],
            &["cpuset-shield", "kthread-affinity", "workqueue-mask"],
            "keep tasks that enter the kernel off this CPU (`artis sched run --rt CPU`), or boot a \
             kernel that is preemptible",
        ),
        Lane::OtherTask => (
            &["unshielded"],
            &["cpuset-shield"],
            "the thread is a normal one: `artis run rt0` or `rt1` makes it real time",
        ),
        Lane::RunqueueLock => (
            &["numa_balancing"],
            &["cpuset-shield"],
            "fewer wakeups from other CPUs: keep the tasks that wake each other together",
        ),
        Lane::Throttled => (
            &[],
            &[],
            "raise the limit of that cgroup (cpu.max; CPUQuota= of its unit), or move the thread out \
             of it; a deadline task needs a larger sched_runtime",
        ),
        Lane::Stopped => (
            &[],
            &[],
            "nothing may stop or freeze the process: see who sends it SIGSTOP, and cgroup.freeze",
        ),
        Lane::Traced => (
            &[],
            &[],
            "end the tracer (strace, gdb); `artis explain`, perf and bpftrace watch without stopping",
        ),
        Lane::Wait => (
            &[],
            &[],
            "give whom it waits for a higher priority than those that keep it from running, or do \
             not wait for it in the real-time part",
        ),
        Lane::Lock => (
            &[],
            &[],
            "a lock with priority inheritance (PTHREAD_PRIO_INHERIT) lets its holder finish; see \
             `artis demo inversion`",
        ),
        Lane::Slack | Lane::ClockSet => (&[], &[], of_clock(lane)),
        Lane::OwnFault => (
            &["memory_lock_limit", "swap", "transparent_huge_pages"],
            &[],
            "lock the memory before the real-time part (mlockall), and touch it once",
        ),
        Lane::OwnSystemCall | Lane::OwnWork | Lane::Scheduler | Lane::Unknown => return None,
    };
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Some(Advice {
        lane,
        findings: owned(findings),
        steps: owned(steps),
        text: text.to_owned(),
    })
}

/// What the thread itself asks of its clock.
fn of_clock(lane: Lane) -> &'static str {
    match lane {
        Lane::Slack => {
            "set the timer slack to 1 ns (prctl(PR_SET_TIMERSLACK)), or a real-time policy, which has none"
        }
        _ => "sleep by CLOCK_MONOTONIC, which nobody can set, or have the clock slewed, not set",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_lane_comes_first_and_small_ones_not_at_all() {
        let row = |lane, share| Row {
            culprit: None,
            lane,
            times: 1,
            ns_sum: 1,
            ns_max: 1,
            share,
        };
        let given = advice(&[
            row(Lane::Softirq, 0.3),
            row(Lane::Softirq, 0.3),
            row(Lane::IdleExit, 0.36),
            row(Lane::Lock, 0.04),
        ]);
        let lanes: Vec<Lane> = given.iter().map(|one| one.lane).collect();
        assert_eq!(lanes, [Lane::Softirq, Lane::IdleExit]);
    }
}
