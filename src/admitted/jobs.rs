// SPDX-License-Identifier: GPL-2.0-only
//! Watches the jobs of threads from within the kernel: how long they execute, how long they take,
//! and how often one executed longer than its budget.
//!
//! Owns the BPF program `bpf/jobs.bpf.c`. Changes nothing; when the process ends, in whatever way,
//! nothing stays attached. Needs a kernel with BTF.

use libbpf_rs::btf::Btf;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle};
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use skeleton::JobsSkelBuilder;
use skeleton::types::jobs_thread;
use std::mem::{MaybeUninit, size_of};

mod skeleton {
    #![allow(warnings, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/jobs.skel.rs"));
}

/// The initial pid namespace, as `/proc/self/ns/pid` names it (PROC_PID_INIT_INO).
const INITIAL_PID_NAMESPACE: &str = "pid:[4026531836]";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("jobs cannot be watched: this kernel has no BTF; use one with CONFIG_DEBUG_INFO_BTF=y")]
    NoBtf(#[source] libbpf_rs::Error),
    #[error(
        "jobs cannot be watched in a container: the kernel's thread ids differ from those in this \
         pid namespace; run artis on the host"
    )]
    PidNamespace,
    #[error("jobs cannot be watched: cannot {doing}; it needs root, or CAP_BPF and CAP_PERFMON")]
    Bpf {
        doing: &'static str,
        source: libbpf_rs::Error,
    },
}

impl Error {
    fn bpf(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |source| Self::Bpf { doing, source }
    }
}

/// What a thread's jobs are held against, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A job may execute so long.
    pub budget_ns: u64,
    /// The least time between two events; not 0.
    pub period_ns: u64,
    /// A job may be released so much later than its event.
    pub jitter_ns: u64,
}

impl Limits {
    /// So many jobs there may be at most in so long from a wakeup on.
    pub fn jobs_max(&self, length_ns: u64) -> u64 {
        (length_ns.saturating_add(self.jitter_ns)) / self.period_ns.max(1) + 1
    }
}

/// What was seen of a thread's jobs since it is watched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Jobs that ended.
    pub jobs: u64,
    /// Of those, and of the one that runs, that executed longer than the budget.
    pub overruns: u64,
    /// Of those, that were longer than the period and may be several: only the mean of as many as
    /// there may be is in `execution_ns_max`, and only the period in `response_ns_max`.
    pub merged: u64,
    /// The longest execution, of the job that runs too.
    pub execution_ns_max: u64,
    /// The longest time from a wakeup to the end of its job.
    pub response_ns_max: u64,
    /// The shortest time from one wakeup that begins a job to the next; none: not seen.
    pub distance_ns_min: Option<u64>,
    /// How long the job that is not over has executed so far, if it is above the budget.
    pub over_ns: Option<u64>,
}

/// The attached program.
pub struct Jobs {
    threads: MapHandle,
    _hooks: Vec<Link>,
}

impl Jobs {
    /// Loads and attaches the program.
    ///
    /// # Errors
    /// Without BTF, privilege or the kernel's consent, and in a pid namespace.
    pub fn load() -> Result<Self, Error> {
        let namespace = std::fs::read_link("/proc/self/ns/pid");
        if namespace.is_ok_and(|name| name.as_os_str() != INITIAL_PID_NAMESPACE) {
            return Err(Error::PidNamespace);
        }
        Btf::from_vmlinux().map_err(Error::NoBtf)?;
        // What libbpf would print is in the error.
        let printed = libbpf_rs::set_print(None);
        let loaded = Self::load_quietly();
        libbpf_rs::set_print(printed);
        loaded
    }

    fn load_quietly() -> Result<Self, Error> {
        let mut storage = MaybeUninit::uninit();
        let open = JobsSkelBuilder::default()
            .open(&mut storage)
            .map_err(Error::bpf("open the BPF program"))?;
        let skeleton = open.load().map_err(Error::bpf("load the BPF program"))?;
        let threads = MapHandle::try_from(&skeleton.maps.threads);
        let threads = threads.map_err(Error::bpf("share a BPF map"))?;
        let hooks = [&skeleton.progs.waking, &skeleton.progs.switches].map(|program| {
            program
                .attach()
                .map_err(Error::bpf("attach the BPF program"))
        });
        Ok(Self {
            threads,
            _hooks: hooks.into_iter().collect::<Result<_, _>>()?,
        })
    }

    /// Watches a thread from its next wakeup on.
    ///
    /// # Errors
    /// When there is no room for one more.
    pub fn watch(&self, tid: i32, limits: Limits) -> Result<(), Error> {
        let new = jobs_thread {
            budget_ns: limits.budget_ns,
            period_ns: limits.period_ns,
            jitter_ns: limits.jitter_ns,
            watched_ns: now_ns().unwrap_or(0),
            ..Default::default()
        };
        // SAFETY: plain numbers without padding, which the kernel copies.
        let bytes = unsafe {
            std::slice::from_raw_parts((&raw const new).cast::<u8>(), size_of::<jobs_thread>())
        };
        let key = tid.to_ne_bytes();
        self.threads
            .update(&key, bytes, MapFlags::ANY)
            .map_err(Error::bpf("watch one more thread"))
    }

    /// What was seen of a thread; none when it is not watched.
    pub fn counted(&self, tid: i32) -> Option<Counted> {
        let bytes = self
            .threads
            .lookup(&tid.to_ne_bytes(), MapFlags::ANY)
            .ok()??;
        if bytes.len() < size_of::<jobs_thread>() {
            return None;
        }
        // SAFETY: the kernel copied as many bytes; any of them are plain numbers.
        let one = unsafe { bytes.as_ptr().cast::<jobs_thread>().read_unaligned() };
        Some(counted(&one, now_ns()?))
    }
}

fn now_ns() -> Option<u64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).ok()?;
    Some(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

fn counted(one: &jobs_thread, now_ns: u64) -> Counted {
    let running_ns = match one.on_ns {
        0 => 0,
        since_ns => now_ns.saturating_sub(since_ns),
    };
    let limits = Limits {
        budget_ns: one.budget_ns,
        period_ns: one.period_ns,
        jitter_ns: one.jitter_ns,
    };
    let since_ns = match one.began_ns {
        0 => one.watched_ns,
        began_ns => began_ns,
    };
    // Without its wakeup, one that was under way before.
    let before = u64::from(one.began_ns == 0);
    let jobs = limits.jobs_max(now_ns.saturating_sub(since_ns)) + before;
    let so_far_ns = (one.executed_ns + running_ns) / jobs;
    let over_ns = (so_far_ns > one.budget_ns).then_some(so_far_ns);
    Counted {
        jobs: one.jobs,
        overruns: one.overruns + u64::from(over_ns.is_some()),
        merged: one.merged,
        execution_ns_max: one.execution_ns_max.max(so_far_ns),
        response_ns_max: one.response_ns_max,
        distance_ns_min: (one.distance_ns_min > 0).then_some(one.distance_ns_min),
        over_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_that_runs_counts_as_far_as_it_is() {
        let one = jobs_thread {
            budget_ns: 100,
            period_ns: 1_000,
            began_ns: 990,
            on_ns: 1_000,
            executed_ns: 50,
            overruns: 3,
            ..Default::default()
        };
        assert_eq!(counted(&one, 1_040).over_ns, None);
        let over = counted(&one, 1_060);
        assert_eq!((over.over_ns, over.overruns), (Some(110), 4));
        assert_eq!(over.execution_ns_max, 110);
        // A clock that was read before the switch was.
        assert_eq!(counted(&one, 900).execution_ns_max, 50);
        // Longer than a period: two or three jobs may be in it, none of which has to be too long.
        assert_eq!(counted(&one, 1_990).over_ns, Some(520));
        let busy = jobs_thread {
            executed_ns: 0,
            on_ns: 2_700,
            ..one
        };
        assert_eq!(counted(&busy, 2_999).over_ns, None);
        assert_eq!(counted(&busy, 2_999).execution_ns_max, 99);
    }
}
