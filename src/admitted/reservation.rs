// SPDX-License-Identifier: GPL-2.0-only
//! Reservations of the kernel (`SCHED_DEADLINE`) that are bound to one RT CPU, whose spare time
//! others still use.
//!
//! The kernel refuses a task of this policy that may not use all CPUs of its root domain, unless
//! its admission is off (`sched_rt_runtime_us` at -1). It looks only when the reservation or the
//! affinity is set. An exclusive cpuset would be a root domain of its own, and would keep everybody
//! else away. So admission goes off for the two system calls, under the journal of
//! [`Owner::Reservation`]: killed between, the next artis that makes one, or `artis partition
//! reset`, puts it back. What the reservations of all CPUs add up to is counted meanwhile, too:
//! the kernel refuses the old value when that is too much, and then the task is put back first.
//!
//! Source: `sched_dl_overflow()` and the affinity check before it in `kernel/sched/syscalls.c`,
//! `Documentation/scheduler/sched-deadline.rst`, section 5.

use artis_machine::CpuList;
use artis_partition::change::{Change, Kind, Target};
use artis_partition::host::Host;
use artis_partition::journal::{self, Owner};
use artis_partition::transaction::{self, Transaction};
use artis_task::shield;
use artis_task::syscall::{self, Reservation};
use nix::errno::Errno;

/// The limit of real-time tasks, microseconds of each second; with -1 the kernel admits all.
const LIMIT: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const OFF: &str = "-1";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Limit(#[from] transaction::Error),
    #[error(
        "could not switch the kernel's admission of deadline tasks off for a moment: {0}; without \
         that it binds none to a CPU"
    )]
    Stays(String),
    #[error(
        "the deadline tasks of all CPUs would have more than the kernel's limit (sched_rt_runtime_us \
         less the deadline servers); `artis partition apply --rt {cpu} --no-throttling` lifts it"
    )]
    Full { cpu: u32 },
    #[error("could not give task {tid} its reservation on CPU {cpu}: {}: {}", errno.desc(), hint(*errno))]
    Refused { tid: i32, cpu: u32, errno: Errno },
}

fn hint(errno: Errno) -> &'static str {
    match errno {
        Errno::EPERM => "it needs CAP_SYS_NICE; use sudo",
        Errno::ESRCH => "it has ended",
        Errno::EINVAL => {
            "the kernel takes budgets from 1024 ns on and periods from 100 us to 4 s (sysctl \
             kernel.sched_deadline_period_max_us), and the CPU must be in the task's cpuset"
        }
        Errno::EBUSY => "the kernel counts more reserved time than it allows",
        _ => "`artis check` says what stands in the way",
    }
}

/// Gives a thread a reservation on one CPU. When it fails, the thread is as it was.
///
/// # Errors
/// [`Error`].
pub fn give(host: &Host<'_>, tid: i32, cpu: u32, to: Reservation) -> Result<(), Error> {
    let transaction = Transaction::begin(host)?;
    // Of one that was killed.
    transaction.revert(Owner::Reservation)?.whole()?;
    let rt = CpuList::from_iter([cpu]);
    let before = Before::of(tid).map_err(|errno| Error::Refused { tid, cpu, errno })?;
    let limit = host.root.hint(LIMIT);
    let is_on = limit.as_deref().is_some_and(|limit| limit != OFF);
    if is_on {
        let change = change(limit.unwrap_or_default());
        let applied = transaction.apply(Owner::Reservation, &rt, vec![change])?;
        if let Some(refused) = applied.refused.first() {
            let why = refused.why.clone();
            transaction.revert(Owner::Reservation)?.whole()?;
            return Err(Error::Stays(why));
        }
    }
    let bound = shield::bind(&host.root, tid, &rt).and_then(|()| syscall::reserve(tid, to));
    if bound.is_err() {
        before.restore(tid);
    }
    if is_on && transaction.revert(Owner::Reservation)?.whole().is_err() {
        before.restore(tid);
        transaction.revert(Owner::Reservation)?.whole()?;
        return Err(Error::Full { cpu });
    }
    bound.map_err(|errno| Error::Refused { tid, cpu, errno })
}

/// The kernel's admission off.
fn change(limit: String) -> Change {
    Change {
        kind: Kind::RtThrottling,
        what: "admission of deadline tasks".to_owned(),
        target: Target::file(LIMIT),
        old: limit,
        new: OFF.to_owned(),
        detour: None,
        reason: "with it on the kernel binds no deadline task to a CPU".to_owned(),
    }
}

/// How a thread was scheduled before it was changed.
pub(crate) struct Before {
    scheduling: syscall::Scheduling,
    reservation: Option<Reservation>,
    cpus: CpuList,
}

impl Before {
    pub(crate) fn of(tid: i32) -> Result<Self, Errno> {
        Ok(Self {
            scheduling: syscall::scheduling(tid)?,
            reservation: syscall::reservation(tid)?,
            cpus: syscall::affinity(tid)?,
        })
    }

    /// Puts it back, as far as that goes: the refusal that led here is the error to report.
    pub(crate) fn restore(&self, tid: i32) {
        let scheduled = match self.reservation {
            Some(reservation) => syscall::reserve(tid, reservation),
            None => syscall::set_scheduling(tid, self.scheduling),
        };
        let _ = scheduled.and_then(|()| syscall::set_affinity(tid, &self.cpus));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_machine::Root;
    use artis_testing::canned;

    const ONE_TENTH: Reservation = Reservation {
        runtime_ns: 1_000_000,
        deadline_ns: 10_000_000,
        period_ns: 10_000_000,
    };

    fn machine() -> (impl Sized, Root) {
        canned(&[
            ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
            ("proc/sys/kernel/random/boot_id", "one\n"),
        ])
    }

    fn is_as_before(root: &Root) -> bool {
        let journals = ["var/lib/artis", "run/artis/journal"];
        let journal = journals.map(|folder| root.exists(format!("/{folder}/reservation.json")));
        root.hint(LIMIT).as_deref() == Some("950000") && journal == [false; 2]
    }

    #[test]
    fn what_a_killed_one_left_is_put_back_first() {
        let (_folder, root) = machine();
        let host = Host::at(root.clone());
        let transaction = Transaction::begin(&host).unwrap();
        let rt = CpuList::from_iter([1]);
        let killed = transaction.apply(Owner::Reservation, &rt, vec![change("950000".to_owned())]);
        assert_eq!(killed.unwrap().made.len(), 1);
        assert_eq!(root.hint(LIMIT).as_deref(), Some(OFF));
        drop(transaction);
        // Process numbers end at 2^22 (PID_MAX_LIMIT).
        let error = give(&host, 1 << 30, 1, ONE_TENTH).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Refused {
                    errno: Errno::ESRCH,
                    ..
                }
            ),
            "{error}"
        );
        assert!(is_as_before(&root));
    }

    #[test]
    fn after_a_refusal_the_limit_and_the_thread_are_as_before() {
        let (_folder, root) = machine();
        let tid = nix::unistd::gettid().as_raw();
        let (cpus, scheduling) = (syscall::affinity(tid), syscall::scheduling(tid));
        // No machine has this CPU.
        let error = give(&Host::at(root.clone()), tid, 8_000, ONE_TENTH).unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{error}");
        assert!(is_as_before(&root));
        assert_eq!(
            (syscall::affinity(tid), syscall::scheduling(tid)),
            (cpus, scheduling)
        );
    }
}
