// SPDX-License-Identifier: GPL-2.0-only
//! A task joins the admitted ones of an RT CPU: analysed with them first, then let in, with the
//! priorities of all moved in one step.
//!
//! The entry is written before the thread is changed: killed between, the analysis counts one task
//! too many, and never one too few. Threads of fixed priorities are moved in an order that keeps
//! theirs at every moment: those that go down from the lowest on, those that go up from the
//! highest on. A task that ends leaves the others in their order, so nothing has to be moved then.

use crate::entry::{Admitted, Numbers, OfCpu, OnOverrun, Register};
use crate::register::{self, Writer};
use crate::reservation::{self, Before};
use artis_admit::model::{self, Platform, Policy};
use artis_admit::{Admission, Verdict};
use artis_machine::{kernel_threads, tasks};
use artis_partition::host::Host;
use artis_task::Class;
use artis_task::class;
use artis_task::syscall::{self, Reservation, Scheduling};
use nix::errno::Errno;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Register(#[from] register::Error),
    #[error(
        "CPU {cpu} has admitted tasks of the policy {here}; say --policy {here}, or take another CPU"
    )]
    Policy { cpu: u32, here: &'static str },
    #[error("{0}")]
    Model(#[from] model::Error),
    #[error(
        "SCHED_DEADLINE takes no deadline after the end of the period; leave out the deadline of \
         {name}, or take --policy rm"
    )]
    LateDeadline { name: String },
    #[error("there is no task {tid}; `ps -eLo pid,lwp,comm` lists the ones there are")]
    NoSuchTask { tid: i32 },
    #[error("could not move task {tid} ({name}) to priority {priority}: {}", errno.desc())]
    Move {
        tid: i32,
        name: String,
        priority: u8,
        errno: Errno,
    },
    #[error(transparent)]
    Class(#[from] class::Error),
    #[error(transparent)]
    Reservation(#[from] reservation::Error),
}

/// Who wants to join, and how.
#[derive(Debug, Clone)]
pub struct Request {
    pub tid: i32,
    pub name: String,
    pub numbers: Numbers,
    /// The RT CPUs to choose from; the first that fits is taken.
    pub cpus: Vec<u32>,
    /// None: that of the CPU's tasks, else rate monotonic.
    pub policy: Option<Policy>,
    /// What the machine takes; none: as those say that are there.
    pub platform: Option<Platform>,
    pub on_overrun: Option<OnOverrun>,
    /// Let it in although the set does not fit.
    pub force: bool,
}

/// What came of it.
#[derive(Debug)]
pub enum Outcome {
    Joined(Joined),
    /// The set with the task would not fit, or it is not known.
    Refused(Admission),
}

/// A task that was let in.
#[derive(Debug)]
pub struct Joined {
    pub cpu: u32,
    pub policy: Policy,
    pub answer: Admission,
    /// What the set calls the task.
    pub name: String,
    /// Of fixed priorities.
    pub priority: Option<u8>,
    pub reservation: Option<Reservation>,
    /// Others whose priority changed: thread, before, now.
    pub moved: Vec<(i32, u8, u8)>,
}

/// Lets a thread join, or says why not.
///
/// # Errors
/// [`Error`]; the thread and all others are as they were.
pub fn join(host: &Host<'_>, request: &Request) -> Result<Outcome, Error> {
    let writer = Writer::lock(&host.root)?;
    let mut register = writer.read()?;
    let before = register.clone();
    let entry = entry(host, request)?;
    // One that joins again, with other numbers, replaces itself.
    register.retain(|task| task.tid != request.tid);
    let (of_cpu, answer) = choose(&register, request, &entry)?;
    let fits = answer.verdict == Verdict::Schedulable;
    if !fits && !request.force {
        return Ok(Outcome::Refused(answer));
    }
    if of_cpu.policy == Policy::Edf && entry.numbers.deadline_ns > entry.numbers.period_ns {
        let name = entry.name;
        return Err(Error::LateDeadline { name });
    }
    let mut of_cpu = of_cpu;
    if let Some(own) = of_cpu.tasks.last_mut() {
        own.is_forced = !fits;
    }
    register.put(of_cpu.clone());
    writer.write(&register)?;
    make(host, &of_cpu, answer).inspect_err(|_| {
        // The refusal is the error to report; an entry that stays is seen as not in force.
        let _ = writer.write(&before);
    })
}

fn entry(host: &Host<'_>, request: &Request) -> Result<Admitted, Error> {
    let tid = request.tid;
    let gone = || Error::NoSuchTask { tid };
    let pid = tasks::process_of(&host.root, tid).ok_or_else(gone)?;
    Ok(Admitted {
        pid,
        tid,
        start_ticks: kernel_threads::start_ticks(&host.root, tid).ok_or_else(gone)?,
        name: request.name.clone(),
        numbers: request.numbers.clone(),
        is_forced: false,
        on_overrun: request.on_overrun,
    })
}

/// The first CPU on which the set with the task fits; where none does, the first CPU.
fn choose(
    register: &Register,
    request: &Request,
    entry: &Admitted,
) -> Result<(OfCpu, Admission), Error> {
    let mut first = None;
    for cpu in &request.cpus {
        let with = with(register.of_cpu(*cpu), *cpu, request, entry).and_then(|of_cpu| {
            let set = of_cpu.set();
            model::check(&set)?;
            let answer = artis_admit::admit(&set);
            Ok((of_cpu, answer))
        });
        match with {
            Ok(found) if found.1.verdict == Verdict::Schedulable => return Ok(found),
            other => first = first.or(Some(other)),
        }
    }
    first.unwrap_or(Err(Error::NoSuchTask { tid: request.tid }))
}

/// A CPU's tasks and the new one.
fn with(
    here: Option<&OfCpu>,
    cpu: u32,
    request: &Request,
    entry: &Admitted,
) -> Result<OfCpu, Error> {
    let wanted = request.policy;
    let mut of_cpu = match here {
        Some(here) if wanted.is_some_and(|policy| policy != here.policy) => {
            let here = here.policy.name();
            return Err(Error::Policy { cpu, here });
        }
        Some(here) => here.clone(),
        None => OfCpu::new(cpu, wanted.unwrap_or(Policy::Rm)),
    };
    if let Some(platform) = &request.platform {
        of_cpu.platform = platform.clone();
    }
    of_cpu.tasks.push(entry.clone());
    Ok(of_cpu)
}

/// Makes the threads what the answer says. The new one is the last.
fn make(host: &Host<'_>, of_cpu: &OfCpu, answer: Admission) -> Result<Outcome, Error> {
    let names: Vec<String> = of_cpu.set().tasks.into_iter().map(|it| it.name).collect();
    let chosen: Vec<Option<u8>> = names
        .iter()
        .map(|name| {
            let mut tasks = answer.cpus.iter().flat_map(|cpu| &cpu.tasks);
            tasks.find(|task| task.name == *name)?.priority
        })
        .collect();
    let mut joined = Joined {
        cpu: of_cpu.cpu,
        policy: of_cpu.policy,
        answer,
        name: names.last().cloned().unwrap_or_default(),
        priority: None,
        reservation: None,
        moved: Vec::new(),
    };
    let Some((own, others)) = of_cpu.tasks.split_last() else {
        return Ok(Outcome::Joined(joined));
    };
    if of_cpu.policy == Policy::Edf {
        let reservation = reservation_of(of_cpu, own);
        reservation::give(host, own.tid, of_cpu.cpu, reservation)?;
        joined.reservation = Some(reservation);
        return Ok(Outcome::Joined(joined));
    }
    let highest = artis_admit::choose::priorities::HIGHEST;
    // Of the policy fifo all have one priority.
    let priority = |at: usize| chosen[at].unwrap_or(highest);
    let moves: Vec<Move> = others
        .iter()
        .enumerate()
        .filter_map(|(at, task)| Move::of(task, priority(at)))
        .collect();
    let moves = ordered(moves);
    move_all(&moves)?;
    let own_priority = priority(others.len());
    let before = Before::of(own.tid).map_err(|_| Error::NoSuchTask { tid: own.tid })?;
    let class = Class::Rt0 {
        cpu: of_cpu.cpu,
        priority: own_priority,
    };
    let made = class.apply(&host.root, own.tid).map_err(Error::from);
    let made = made.and_then(|()| set_priority(own, own_priority));
    if let Err(error) = made {
        before.restore(own.tid);
        take_back(&moves);
        return Err(error);
    }
    joined.priority = Some(own_priority);
    joined.moved = moves.iter().map(|it| (it.tid, it.from, it.to)).collect();
    Ok(Outcome::Joined(joined))
}

/// What the kernel is asked for: the budget with what it charges to a job, by the deadline that is
/// left when the scheduler knows of the job.
pub fn reservation_of(of_cpu: &OfCpu, task: &Admitted) -> Reservation {
    let numbers = &task.numbers;
    let platform = &of_cpu.platform;
    let runtime_ns = platform.charged_ns(numbers.execution_ns, of_cpu.cpu);
    let room_ns = numbers
        .deadline_ns
        .saturating_sub(numbers.jitter_ns + platform.wakeup_ns);
    let deadline_ns = room_ns.max(numbers.execution_ns).min(numbers.period_ns);
    Reservation {
        runtime_ns: runtime_ns.min(deadline_ns),
        deadline_ns,
        period_ns: numbers.period_ns,
    }
}

/// A thread that changes its priority.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Move {
    tid: i32,
    name: String,
    from: u8,
    to: u8,
}

impl Move {
    /// None where it has the priority, or has ended, or has left its policy itself.
    fn of(task: &Admitted, to: u8) -> Option<Self> {
        let now = syscall::scheduling(task.tid).ok()?;
        let from = u8::try_from(now.priority).ok()?;
        (now.policy == libc::SCHED_FIFO && from != to).then(|| Self {
            tid: task.tid,
            name: task.name.clone(),
            from,
            to,
        })
    }
}

/// An order in which the threads keep theirs at every moment.
fn ordered(moves: Vec<Move>) -> Vec<Move> {
    let (mut down, mut up): (Vec<Move>, Vec<Move>) =
        moves.into_iter().partition(|one| one.to < one.from);
    down.sort_by_key(|one| one.from);
    up.sort_by_key(|one| u8::MAX - one.from);
    down.append(&mut up);
    down
}

fn move_all(moves: &[Move]) -> Result<(), Error> {
    for (at, one) in moves.iter().enumerate() {
        match fifo(one.tid, one.to) {
            // It has ended.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(errno) => {
                take_back(&moves[..at]);
                return Err(Error::Move {
                    tid: one.tid,
                    name: one.name.clone(),
                    priority: one.to,
                    errno,
                });
            }
        }
    }
    Ok(())
}

fn take_back(moves: &[Move]) {
    for one in moves.iter().rev() {
        let _ = fifo(one.tid, one.from);
    }
}

fn set_priority(task: &Admitted, priority: u8) -> Result<(), Error> {
    fifo(task.tid, priority).map_err(|errno| Error::Move {
        tid: task.tid,
        name: task.name.clone(),
        priority,
        errno,
    })
}

/// The threads that an admitted one starts are normal tasks: nobody analysed them.
fn fifo(tid: i32, priority: u8) -> Result<(), Errno> {
    let to = Scheduling {
        policy: libc::SCHED_FIFO,
        nice: 0,
        priority: u32::from(priority),
        reset_on_fork: true,
    };
    syscall::set_scheduling(tid, to)
}

#[cfg(test)]
mod tests;
