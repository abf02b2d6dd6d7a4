// SPDX-License-Identifier: GPL-2.0-only
//! Kernel threads: moved off the RT CPUs where that is possible, else below RT0 in priority.
//!
//! The default priorities of interrupt, softirq and RCU threads know nothing of RT0's priority, so
//! each is compared with it. Source: `Documentation/admin-guide/kernel-per-CPU-kthreads.rst`.

use super::change::{Change, Kind, Target};
use super::host::scheduling_text;
use super::plan::{Plan, Request, without_rt};
use artis_machine::cpusets::V2;
use artis_machine::kernel_threads::{self, KernelThread};
use artis_machine::{CpuList, Root, Unreadable, rcu};

/// Threads that serve interrupts, softirqs and RCU, by the beginning of their names.
const SERVICE_THREADS: [&str; 8] = [
    "irq/",
    "ksoftirqd/",
    "ktimers/",
    "rcuc/",
    "rcub/",
    "rcu",
    "irq_work/",
    "backlog_napi/",
];
/// Threads that run RCU's callbacks in place of softirqs (`rcu_nocbs=`).
const CALLBACKS: [&str; 3] = ["rcuog/", "rcuop/", "rcuos/"];

/// The priority of the migration threads and the watchdog. No thread should have a higher one.
const STOPPER_PRIORITY: u32 = 99;

pub(super) fn plan(root: &Root, request: &Request, plan: &mut Plan) {
    let threads = kernel_threads::read(root);
    for thread in &threads {
        priority(request, thread, plan);
    }
    // The thread of an interrupt moves with the interrupt.
    let free = |thread: &&KernelThread| !thread.bound && irq_of(&thread.name).is_none();
    for thread in threads.iter().filter(free) {
        affinity(request, thread, plan);
    }
    if !threads.iter().any(runs_callbacks) {
        plan.leave(
            Kind::RcuCallbacks,
            "RCU callbacks of RT CPUs",
            format!(
                "only a kernel booted with {} lets other CPUs run them",
                request.callbacks_argument
            ),
        );
    }
}

fn runs_callbacks(thread: &KernelThread) -> bool {
    CALLBACKS.iter().any(|name| thread.name.starts_with(name))
}

fn affinity(request: &Request, thread: &KernelThread, plan: &mut Plan) {
    let callbacks = runs_callbacks(thread);
    let only_rt = thread.allowed.is_subset(&request.rt);
    if only_rt && !callbacks {
        // Its owner put it there on purpose.
        plan.leave(
            Kind::KthreadAffinity,
            &thread.name,
            format!(
                "somebody bound thread {} to RT CPUs; taskset -p shows and changes that",
                thread.tid
            ),
        );
        return;
    }
    let new = request.without_rt(&thread.allowed);
    plan.push(Change {
        kind: if callbacks {
            Kind::RcuCallbacks
        } else {
            Kind::KthreadAffinity
        },
        what: thread.name.clone(),
        target: Target::Affinity {
            tid: thread.tid,
            start_ticks: thread.start_ticks,
        },
        old: thread.allowed.to_string(),
        new: new.to_string(),
        detour: None,
        reason: if callbacks {
            "callbacks of RT CPUs can run on other CPUs"
        } else {
            "a kernel thread on an RT CPU holds its locks and takes its time there"
        }
        .to_owned(),
    });
}

/// RCU's thread of grace periods. A real-time one, as on `PREEMPT_RT`, would be taken for RT0 on an
/// RT CPU. Any other may use all CPUs while artis schedules, which runs it on NRT CPUs only: an RT
/// CPU that wakes it then locks its own run queue, and no other CPU's, with RT0 waiting.
///
/// That thread is held until CPUs have reported, see `grace_period.h`; then it looks for idle ones.
///
/// # Errors
/// When the file of that look exists and cannot be read.
pub(super) fn grace_periods(
    root: &Root,
    rt: &CpuList,
    nrt: &CpuList,
    plan: &mut Plan,
) -> Result<(), Unreadable> {
    // Somebody's cpuset partition keeps the kernel's threads away, too.
    let reachable = root.cpus(format!("{V2}/cpuset.cpus.effective"))?;
    for thread in rcu::threads(root).filter(|thread| !thread.bound) {
        let (new, reason) = if thread.priority > 0 {
            let new = without_rt(&thread.allowed, rt, nrt);
            (new, "as a real-time task it would take RT CPUs too")
        } else {
            let all = rt | nrt;
            let there = reachable
                .as_ref()
                .map_or_else(|| all.clone(), |it| &all & it);
            (
                // Never fewer than it has: those could not be given back beside the partition.
                &thread.allowed | &there,
                "an RT CPU that wakes it must not wait for the run queue of another",
            )
        };
        plan.push(Change {
            kind: Kind::KthreadAffinity,
            what: thread.name,
            target: Target::Affinity {
                tid: thread.tid,
                start_ticks: thread.start_ticks,
            },
            old: thread.allowed.to_string(),
            new: new.to_string(),
            detour: None,
            reason: reason.to_owned(),
        });
    }
    if rcu::normal_thread(root).is_some() {
        let file = (
            "RCU's first look for idle CPUs, ticks".to_owned(),
            rcu::FIRST_LOOK_FILE.to_owned(),
            "RCU's thread is held until CPUs have reported, and looks for idle ones then",
        );
        plan.file(root, Kind::RcuFirstLook, file, |_| Some("0".to_owned()))?;
    }
    Ok(())
}

/// The number of the interrupt that a thread serves.
fn irq_of(name: &str) -> Option<u32> {
    name.strip_prefix("irq/")?.split('-').next()?.parse().ok()
}

fn priority(request: &Request, thread: &KernelThread, plan: &mut Plan) {
    let serves = SERVICE_THREADS
        .iter()
        .any(|name| thread.name.starts_with(name));
    if !serves {
        return;
    }
    let for_rt0 = irq_of(&thread.name).is_some_and(|irq| request.rt0_irqs.contains(&irq));
    let (new, reason) = if for_rt0 {
        (
            request.rt0_priority + 1,
            "RT0 waits for this interrupt, so its thread comes before RT0",
        )
    } else if request.touches_rt(&thread.allowed) && thread.priority >= request.rt0_priority {
        (
            request.rt0_priority - 1,
            "it serves everybody, and has RT0's priority or a higher one",
        )
    } else {
        return;
    };
    if new == 0 || new > STOPPER_PRIORITY {
        plan.leave(
            Kind::IrqThreadPriority,
            &thread.name,
            format!("there is no priority {new}; run RT0 at 2 to 97 and say so with --priority"),
        );
        return;
    }
    if new >= STOPPER_PRIORITY && thread.priority < new {
        plan.warnings.push(format!(
            "{} gets priority {new}, that of the migration and watchdog threads: while it runs, the \
             kernel cannot migrate tasks or notice a lockup; run RT0 at 97 or lower",
            thread.name
        ));
    }
    let policy = if matches!(thread.policy, libc::SCHED_FIFO | libc::SCHED_RR) {
        thread.policy
    } else {
        libc::SCHED_FIFO
    };
    plan.push(Change {
        kind: Kind::IrqThreadPriority,
        what: thread.name.clone(),
        target: Target::Scheduling {
            tid: thread.tid,
            start_ticks: thread.start_ticks,
        },
        old: scheduling_text(thread.policy, thread.nice, thread.priority),
        new: scheduling_text(policy, 0, new),
        detour: None,
        reason: reason.to_owned(),
    });
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::request;
    use super::*;
    use artis_testing::canned;
    use std::collections::BTreeSet;

    fn thread(name: &str, priority: u32, allowed: &str) -> KernelThread {
        KernelThread {
            tid: 7,
            start_ticks: 1,
            name: name.to_owned(),
            policy: libc::SCHED_FIFO,
            nice: 0,
            priority,
            allowed: allowed.parse().unwrap(),
            bound: false,
        }
    }

    #[test]
    fn rcus_thread_leaves_rt_cpus_where_it_is_a_real_time_task() {
        let stat = |name: &str, priority: u32, policy: i32| {
            let fields = format!(
                "S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 5{}",
                " 0".repeat(17)
            );
            format!("16 ({name}) {fields} {priority} {policy} 0 0 0 0 0\n")
        };
        let plan_beside = |effective: Option<&str>, name: &str, priority, policy, allowed: &str| {
            let mut files = vec![
                ("proc/16/stat", stat(name, priority, policy)),
                ("proc/16/status", format!("Cpus_allowed_list:\t{allowed}\n")),
                ("proc/16/comm", format!("{name}\n")),
                (&rcu::FIRST_LOOK_FILE[1..], "1\n".to_owned()),
            ];
            let shown = effective.map(str::to_owned);
            files.extend(shown.map(|cpus| ("sys/fs/cgroup/cpuset.cpus.effective", cpus)));
            let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (*a, b.as_str())).collect();
            let (_folder, root) = canned(&files);
            let mut plan = Plan::default();
            let (rt, nrt) = ("3".parse().unwrap(), "0-2".parse().unwrap());
            grace_periods(&root, &rt, &nrt, &mut plan).unwrap();
            let changes = plan.changes.into_iter();
            changes
                .map(|one| (one.kind, one.old, one.new))
                .collect::<Vec<_>>()
        };
        let plan = |name: &str, priority, policy, allowed: &str| {
            plan_beside(None, name, priority, policy, allowed)
        };
        let affinity =
            |old: &str, new: &str| (Kind::KthreadAffinity, old.to_owned(), new.to_owned());
        let look = (Kind::RcuFirstLook, "1".to_owned(), "0".to_owned());
        for (old, new) in [("0-3", "0-3"), ("0-2", "0-3")] {
            assert_eq!(
                plan("rcu_preempt", 0, libc::SCHED_OTHER, old),
                [affinity(old, new), look.clone()]
            );
        }
        // Somebody's partition has the RT CPU, so the thread cannot get there.
        assert_eq!(
            plan_beside(Some("0-2"), "rcu_preempt", 0, libc::SCHED_OTHER, "0-2"),
            [affinity("0-2", "0-2"), look.clone()]
        );
        assert_eq!(
            plan("rcu_sched", 1, libc::SCHED_FIFO, "0-3"),
            [affinity("0-3", "0-2")]
        );
        assert_eq!(plan("rcu_tasks_kthread", 0, libc::SCHED_OTHER, "0-3"), []);
    }

    fn prioritised(request: &Request, thread: &KernelThread) -> Plan {
        let mut plan = Plan::default();
        priority(request, thread, &mut plan);
        plan
    }

    #[test]
    fn service_threads_on_rt_cpus_go_below_rt0() {
        let request = Request {
            rt0_priority: 40,
            ..request()
        };
        let plan = prioritised(&request, &thread("irq/9-acpi", 50, "3"));
        assert_eq!(plan.changes[0].old, "SCHED_FIFO 50");
        assert_eq!(plan.changes[0].new, "SCHED_FIFO 39");
        for untouched in [
            thread("irq/9-acpi", 50, "0-2"),
            thread("irq/9-acpi", 39, "3"),
            thread("migration/3", 99, "3"),
            thread("watchdog/3", 99, "3"),
        ] {
            let plan = prioritised(&request, &untouched);
            assert_eq!(plan, Plan::default(), "{untouched:?}");
        }
    }

    #[test]
    fn the_thread_that_rt0_waits_for_comes_before_it() {
        let mut request = Request {
            rt0_priority: 80,
            rt0_irqs: BTreeSet::from([24]),
            ..request()
        };
        let one = thread("irq/24-s-eth0", 50, "0-2");
        let plan = prioritised(&request, &one);
        assert_eq!(plan.changes[0].new, "SCHED_FIFO 81");
        assert!(plan.warnings.is_empty());
        request.rt0_priority = 98;
        let plan = prioritised(&request, &one);
        assert!(plan.warnings[0].contains("migration"), "{plan:?}");
        request.rt0_priority = 99;
        assert!(
            prioritised(&request, &one).left[0]
                .why
                .contains("no priority 100")
        );
    }

    #[test]
    fn threads_leave_rt_cpus_unless_bound_there_by_somebody() {
        let mut plan = Plan::default();
        affinity(&request(), &thread("kauditd", 0, "0-3"), &mut plan);
        affinity(&request(), &thread("rcuop/3", 0, "3"), &mut plan);
        affinity(&request(), &thread("mine", 0, "3"), &mut plan);
        let moved: Vec<_> = plan
            .changes
            .iter()
            .map(|one| (one.kind.id(), one.new.as_str()))
            .collect();
        assert_eq!(
            moved,
            [("kthread-affinity", "0-2"), ("rcu-callbacks", "0-2")]
        );
        assert_eq!(plan.left[0].what, "mine");
    }
}
