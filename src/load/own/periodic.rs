// SPDX-License-Identifier: GPL-2.0-only
//! The RT0 task: wakes at a fixed rate, does a fixed piece of work, sleeps until the next release.
//!
//! It only counts how many periods it served. How *late* it was is measured by `measure`, on a
//! machine with a reliable clock. The work is a number of units and not a time, so that a task that
//! is interrupted still has the same work to do.

use super::counters::Counters;
use super::process::{Place, Process};
use super::{Error, Load, compute};
use artis_machine::CpuList;
use artis_task::memory;
use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::convert::Infallible;
use std::time::Duration;

/// A periodic task of policy `SCHED_FIFO`, bound to one CPU, its memory locked.
#[derive(Clone, Copy, Debug)]
pub struct Periodic {
    /// Time between two releases.
    pub period: Duration,
    /// Units of work in each period (of the same size as [`Load::Compute`]'s).
    pub work_units: u64,
    /// The CPU it is bound to.
    pub cpu: usize,
    /// Its `SCHED_FIFO` priority, 1 to 99.
    pub priority: u32,
}

impl Periodic {
    /// Starts it. [`Counters::begun`] counts the periods that were released,
    /// [`Counters::done`] those served: work finished before the next release.
    ///
    /// # Errors
    /// When the system refuses a process. A refused priority, CPU or memory lock shows in
    /// [`Process::check`].
    pub fn start(self) -> Result<Process, Error> {
        let cpus = only(self.cpu);
        Process::start("periodic", Place::on(&cpus), move |counters| {
            self.run(counters)
        })
    }

    fn run(self, counters: &Counters) -> Result<Infallible, Error> {
        memory::lock_all()?;
        self.become_fifo()?;
        // From here on: no allocation, no lock, no output.
        let mut state = compute::START;
        let mut release = now()? + self.period;
        loop {
            let at = TimeSpec::from_duration(release);
            while let Err(errno) = clock_nanosleep(
                ClockId::CLOCK_MONOTONIC,
                ClockNanosleepFlags::TIMER_ABSTIME,
                &at,
            ) {
                if errno != Errno::EINTR {
                    return Err(Error::System {
                        what: "sleep until the next release".to_owned(),
                        errno,
                    });
                }
            }
            for _ in 0..self.work_units {
                state = compute::unit(state);
            }
            let outcome = Outcome::of(release, self.period, now()?);
            counters.add_begun(outcome.released);
            counters.add_done(u64::from(outcome.served));
            release = outcome.next;
        }
    }

    /// Sets policy and priority with the ordinary system call: RT0 tasks need nothing of artis.
    fn become_fifo(self) -> Result<(), Error> {
        let attributes = libc::sched_attr {
            size: size_of::<libc::sched_attr>() as u32,
            sched_policy: libc::SCHED_FIFO as u32,
            sched_flags: 0,
            sched_nice: 0,
            sched_priority: self.priority,
            sched_runtime: 0,
            sched_deadline: 0,
            sched_period: 0,
        };
        // SAFETY: the structure is whole, of the size it states, and only read.
        let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
        Errno::result(result)
            .map(drop)
            .map_err(Error::system(format!(
                "become SCHED_FIFO {} (needs CAP_SYS_NICE or a larger RLIMIT_RTPRIO)",
                self.priority
            )))
    }
}

/// How a period ended.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    /// Periods released since the last one: 1, plus one for each release that passed before the
    /// work was done.
    released: u64,
    /// Was the work finished before the next release?
    served: bool,
    /// The first release that is still to come.
    next: Duration,
}

impl Outcome {
    fn of(release: Duration, period: Duration, finished: Duration) -> Self {
        let mut outcome = Self {
            released: 1,
            served: finished < release + period,
            next: release + period,
        };
        while outcome.next <= finished {
            outcome.released += 1;
            outcome.next += period;
        }
        outcome
    }
}

/// The monotonic clock, since its start.
fn now() -> Result<Duration, Error> {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map(Duration::from)
        .map_err(Error::system("read the monotonic clock"))
}

/// Units of work that CPU `cpu` does in a second when nothing else runs there. All CPUs of `busy`
/// compute meanwhile, as they will later: CPUs may share a core, real or emulated.
///
/// The best of several short windows, because other tasks can only make a window worse.
///
/// # Errors
/// When the system refuses a process or the CPU.
pub fn units_per_second(cpu: usize, busy: &[usize]) -> Result<f64, Error> {
    const WINDOWS: u32 = 10;
    const WINDOW: Duration = Duration::from_millis(50);
    let compute_on = |cpu| Load::Compute.start(Place::on(&only(cpu)));
    let _neighbours = busy
        .iter()
        .filter(|&&other| other != cpu)
        .map(|&other| compute_on(other))
        .collect::<Result<Vec<_>, _>>()?;
    let mut process = compute_on(cpu)?;
    let mut best = 0.0_f64;
    for _ in 0..WINDOWS {
        let (begin, before) = (now()?, process.counters().done());
        std::thread::sleep(WINDOW);
        let (end, after) = (now()?, process.counters().done());
        best = best.max((after - before) as f64 / (end - begin).as_secs_f64());
        process.check()?;
    }
    Ok(best)
}

/// The set of this CPU alone.
fn only(cpu: usize) -> CpuList {
    CpuList::from_iter(u32::try_from(cpu))
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_task::syscall;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_period_finished_in_time_is_served() {
        let outcome = Outcome::of(10 * MS, MS, 10 * MS + MS / 5);
        assert_eq!(
            (outcome.released, outcome.served, outcome.next),
            (1, true, 11 * MS)
        );
    }

    #[test]
    fn finishing_at_the_next_release_is_too_late() {
        let outcome = Outcome::of(10 * MS, MS, 11 * MS);
        assert_eq!(
            (outcome.released, outcome.served, outcome.next),
            (2, false, 12 * MS)
        );
    }

    #[test]
    fn every_release_that_passed_counts_as_not_served() {
        let outcome = Outcome::of(10 * MS, MS, 15 * MS + MS / 2);
        assert_eq!(
            (outcome.released, outcome.served, outcome.next),
            (6, false, 16 * MS)
        );
    }

    #[test]
    fn a_cpu_does_some_work() {
        let cpu = syscall::affinity(0).unwrap().first().unwrap() as usize;
        assert!(units_per_second(cpu, &[cpu]).unwrap() > 0.0);
    }
}
