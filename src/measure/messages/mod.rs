// SPDX-License-Identifier: GPL-2.0-only
//! Messages: how fast threads that talk to each other over pipes wake each other up.
//!
//! A pair is a messenger and its worker, or several workers. The messenger writes a message to each
//! of its workers and waits until all have answered: that is a round trip. A worker answers each
//! message at once. Nobody computes, so all the time is the kernel's: its pipes, its wakeups, and
//! where it places whom. With one worker this is the work of `perf bench sched pipe -T`; with
//! several it is the shape of schbench: one thread that hands out work, and many that wait for it.
//!
//! Owns the threads and their pipes. Does not load the machine, does not print.

pub mod series;

use super::clock::{after_ns, difference_ns, now_ns, seconds};
use super::live::Live;
use super::thread::{self, Policy};
use super::threads::{self, SpawnError};
use artis_machine::CpuList;
use artis_result::Distribution;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{pipe2, read, write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often the caller looks at the threads.
const LOOK: Duration = Duration::from_millis(50);

/// Who sends messages to whom, and for how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many messengers there are, each with workers of its own.
    pub pairs: usize,
    /// How many workers each messenger has.
    pub workers: usize,
    /// CPUs that the threads may use, all of them all; none: those of this process.
    pub cpus: Option<CpuList>,
    pub policy: Policy,
    /// A messenger ends after so many round trips; none: it does not count.
    pub rounds: Option<u64>,
    /// All end after this time; none: when all rounds are made, or at a stop.
    pub duration: Option<Duration>,
}

impl Plan {
    /// How many threads it takes.
    pub fn threads(&self) -> usize {
        self.pairs * (self.workers + 1)
    }
}

/// What all threads together gave.
#[derive(Debug)]
pub struct Outcome {
    /// From the first message of a round to the last answer of it, ns.
    pub round_trip: Distribution,
    /// From the moment a messenger sends a message until the worker has it, ns.
    pub wakeup: Distribution,
    /// Messages and answers.
    pub messages: u64,
    /// CPU time of the threads.
    pub cpu_time: Duration,
    /// From the first round's beginning to the last one's end.
    pub seconds: f64,
}

/// Why it could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Thread(#[from] thread::Error),
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("could not make a pipe for messages; raise the limit of open files (ulimit -n)")]
    Pipe(#[source] Errno),
    #[error("a message could not be passed on")]
    Message(#[source] Errno),
}

/// Measures until each messenger has made its rounds, the duration is over, or `stop` is not 0: a
/// round trip at least, after one not recorded. `look` gets the state twenty times a second.
///
/// # Errors
/// When a pipe cannot be made, or a thread cannot be started, bound or given its policy.
pub fn measure(
    plan: &Plan,
    stop: &AtomicUsize,
    look: &mut dyn FnMut(&[Live]),
) -> Result<Outcome, Error> {
    let live: Vec<Live> = (0..plan.pairs).map(|_| Live::default()).collect();
    // Each thread takes its own when it begins.
    let roles: Vec<Mutex<Option<Role>>> = roles(plan)?
        .into_iter()
        .map(|role| Mutex::new(Some(role)))
        .collect();
    let ended = threads::run(
        roles.len(),
        |index| -> Result<(Option<Role>, Distribution), Error> {
            thread::prepare_on(plan.cpus.as_ref(), plan.policy)?;
            let mut role = roles[index].lock().unwrap_or_else(PoisonError::into_inner);
            Ok((role.take(), Distribution::prefaulted(false)))
        },
        |index, (role, times)| {
            role.map(|role| role.run(plan, stop, &live[index % plan.pairs], times))
        },
        |finished| {
            let pause = plan.duration.map_or(LOOK, |duration| duration.min(LOOK));
            threads::watch(finished, pause, || look(&live));
        },
    )?;
    let ended: Result<Vec<Ended>, Errno> = ended.into_iter().flatten().collect();
    Ok(sum(plan, &ended.map_err(Error::Message)?))
}

/// The messengers first, then the workers: the first worker of each, the second of each, and so on.
fn roles(plan: &Plan) -> Result<Vec<Role>, Error> {
    let pipe = || pipe2(OFlag::O_CLOEXEC).map_err(Error::Pipe);
    let mut messengers = Vec::new();
    let mut answers = Vec::new();
    for _ in 0..plan.pairs {
        let (from, to) = pipe()?;
        messengers.push(Messenger {
            workers: Vec::new(),
            answers: from,
        });
        answers.push(Arc::new(to));
    }
    let mut workers = Vec::new();
    for _ in 0..plan.workers {
        for (messenger, answers) in messengers.iter_mut().zip(&answers) {
            let (from, to) = pipe()?;
            messenger.workers.push(to);
            workers.push(Role::Worker(Worker {
                messages: from,
                answers: Arc::clone(answers),
            }));
        }
    }
    let messengers = messengers.into_iter().map(Role::Messenger);
    Ok(messengers.chain(workers).collect())
}

/// The sums over all threads; the messengers come first.
fn sum(plan: &Plan, ended: &[Ended]) -> Outcome {
    let (messengers, workers) = ended.split_at(plan.pairs.min(ended.len()));
    let all = |threads: &[Ended]| {
        let mut all = Distribution::new();
        threads.iter().for_each(|one| all.merge(&one.times));
        all
    };
    let (round_trip, wakeup) = (all(messengers), all(workers));
    let began_ns = messengers.iter().map(|one| one.began_ns).min().unwrap_or(0);
    let ended_ns = messengers.iter().map(|one| one.ended_ns).max().unwrap_or(0);
    Outcome {
        // Each message has an answer.
        messages: 2 * wakeup.count(),
        round_trip,
        wakeup,
        cpu_time: ended.iter().map(|one| one.cpu_time).sum(),
        seconds: seconds(began_ns, ended_ns),
    }
}

/// What a thread does.
enum Role {
    Messenger(Messenger),
    Worker(Worker),
}

/// What a thread found.
#[derive(Default)]
struct Ended {
    times: Distribution,
    cpu_time: Duration,
    /// Of a messenger: when its first recorded round began, and when its last had ended.
    began_ns: u64,
    ended_ns: u64,
}

impl Role {
    fn run(
        self,
        plan: &Plan,
        stop: &AtomicUsize,
        live: &Live,
        mut times: Distribution,
    ) -> Result<Ended, Errno> {
        let cpu_before = cpu_time();
        let mut ended = Ended::default();
        match self {
            Self::Messenger(messenger) => {
                ended.began_ns = messenger.run(plan, stop, live, &mut times)?;
                ended.ended_ns = now_ns();
            }
            Self::Worker(worker) => worker.run(&mut times)?,
        }
        ended.cpu_time = cpu_time().saturating_sub(cpu_before);
        ended.times = times;
        Ok(ended)
    }
}

/// CPU time of the calling thread.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// A message: when it was sent, ns since boot.
const SIZE: usize = size_of::<u64>();

/// Sends messages. Its workers end when it does: it holds the only other ends of their pipes.
struct Messenger {
    workers: Vec<OwnedFd>,
    answers: OwnedFd,
}

impl Messenger {
    /// Gives the time at which the first recorded round began, ns since boot.
    fn run(
        self,
        plan: &Plan,
        stop: &AtomicUsize,
        live: &Live,
        times: &mut Distribution,
    ) -> Result<u64, Errno> {
        // Not recorded: it waits until the workers have begun.
        self.round()?;
        let first_ns = now_ns();
        let end_ns = after_ns(first_ns, plan.duration);
        let mut began_ns = first_ns;
        loop {
            self.round()?;
            let now_ns = now_ns();
            let took_ns = now_ns - began_ns;
            began_ns = now_ns;
            times.record(took_ns.cast_signed());
            live.publish(times.count(), took_ns.cast_signed());
            if now_ns >= end_ns
                || plan.rounds.is_some_and(|rounds| times.count() >= rounds)
                || stop.load(Ordering::Relaxed) != 0
            {
                return Ok(first_ns);
            }
        }
    }

    /// A message to each worker, and an answer of each.
    fn round(&self) -> Result<(), Errno> {
        for worker in &self.workers {
            write(worker, &now_ns().to_ne_bytes())?;
        }
        for _ in &self.workers {
            // A message is far shorter than a page, so a pipe never splits it.
            if read(&self.answers, &mut [0; SIZE])? == 0 {
                return Err(Errno::EPIPE);
            }
        }
        Ok(())
    }
}

/// Answers messages until its messenger has ended.
struct Worker {
    messages: OwnedFd,
    /// Shared with the messenger's other workers.
    answers: Arc<OwnedFd>,
}

impl Worker {
    fn run(self, times: &mut Distribution) -> Result<(), Errno> {
        let mut message = [0; SIZE];
        let mut is_recorded = false;
        while read(&self.messages, &mut message)? > 0 {
            if is_recorded {
                times.record(difference_ns(now_ns(), u64::from_ne_bytes(message)));
            }
            is_recorded = true;
            write(&*self.answers, &message)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::SECOND_NS;
    use super::*;
    use artis_task::syscall::affinity;

    fn plan(pairs: usize, workers: usize) -> Plan {
        Plan {
            pairs,
            workers,
            cpus: None,
            policy: Policy::Normal,
            rounds: Some(100),
            duration: None,
        }
    }

    fn run(plan: &Plan, stop: usize) -> Outcome {
        measure(plan, &AtomicUsize::new(stop), &mut |_| ()).unwrap()
    }

    #[test]
    fn every_message_of_every_round_is_counted() {
        for (pairs, workers) in [(1, 1), (3, 1), (2, 5)] {
            let outcome = run(&plan(pairs, workers), 0);
            let (round_trip, wakeup) = (&outcome.round_trip, &outcome.wakeup);
            assert_eq!(round_trip.count(), 100 * pairs as u64);
            assert_eq!(wakeup.count(), (100 * pairs * workers) as u64);
            assert_eq!(outcome.messages, 2 * wakeup.count());
            let (round_trip, wakeup) = (round_trip.moments().unwrap(), wakeup.moments().unwrap());
            // A message is a part of its round trip.
            assert!(wakeup.min >= 0 && wakeup.max <= round_trip.max);
            assert!(round_trip.max as f64 <= outcome.seconds * SECOND_NS as f64);
            assert!(outcome.cpu_time > Duration::ZERO);
        }
    }

    #[test]
    fn a_duration_or_a_stop_ends_it_after_one_round_at_least() {
        let mut plan = Plan {
            rounds: None,
            cpus: Some(CpuList::from_iter(affinity(0).unwrap().last())),
            ..plan(2, 2)
        };
        assert_eq!(run(&plan, 15).round_trip.count(), 2);
        plan.duration = Some(Duration::from_millis(20));
        let outcome = run(&plan, 0);
        assert!(outcome.seconds >= 0.02 && outcome.round_trip.count() >= 2);
    }

    #[test]
    fn a_refused_policy_begins_nothing() {
        let nobody = Plan {
            cpus: Some("8191".parse().unwrap()),
            ..plan(1, 1)
        };
        let error = measure(&nobody, &AtomicUsize::new(0), &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("CPU 8191"), "{error}");
    }
}
