// SPDX-License-Identifier: GPL-2.0-only
//! Waiting for a time: timers, arrivals, and epoll with several sources.

use super::{Actor, Doing, Failure, Flow};
use crate::stage::Stage;
use crate::sync::again;
use artis_measure::clock::{now_ns, to_timespec};
use artis_scenario::model::{Op, Source, Task, Via};
use nix::errno::Errno;
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

/// The timers of a task, and its epoll descriptors.
pub struct Timers {
    /// Of each timer of the scenario: the time it stands at; 0: not used yet.
    next_ns: Vec<u64>,
    descriptors: BTreeMap<usize, OwnedFd>,
    /// Of each poll of the program, by where the step lies.
    polls: BTreeMap<usize, OwnedFd>,
}

impl Timers {
    pub fn of(stage: &Stage, task: &Task) -> Result<Self, Failure> {
        let timers = &stage.scenario.objects.timers;
        let mut made = Self {
            next_ns: vec![0; timers.len()],
            descriptors: BTreeMap::new(),
            polls: BTreeMap::new(),
        };
        for op in task.program.ops() {
            match op {
                Op::Timer { timer, .. } if timers[*timer].via == Via::Timerfd => {
                    made.make(*timer)?;
                }
                Op::Poll(sources) => {
                    for source in sources {
                        if let Source::Timer { timer, .. } = source {
                            made.make(*timer)?;
                        }
                    }
                    // SAFETY: a new descriptor, owned from here on.
                    let poll = unsafe {
                        let poll = Errno::result(libc::epoll_create1(libc::EPOLL_CLOEXEC));
                        OwnedFd::from_raw_fd(poll.map_err(|it| Doing::Poll.failed(it))?)
                    };
                    made.polls.insert(key(sources), poll);
                }
                _ => {}
            }
        }
        Ok(made)
    }

    fn make(&mut self, timer: usize) -> Result<(), Failure> {
        if self.descriptors.contains_key(&timer) {
            return Ok(());
        }
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: a new descriptor, owned from here on.
        let made = unsafe {
            let made = Errno::result(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags));
            OwnedFd::from_raw_fd(made.map_err(|it| Doing::Timer.failed(it))?)
        };
        self.descriptors.insert(timer, made);
        Ok(())
    }
}

/// Steps lie where they are as long as the scenario does.
fn key(sources: &[Source]) -> usize {
    sources.as_ptr().addr()
}

/// Sleeps until this time of the clock.
pub fn sleep_until(ns: u64) {
    let time = to_timespec(ns);
    let absolute = libc::TIMER_ABSTIME;
    let none = std::ptr::null_mut();
    // SAFETY: a live time; nothing is written for absolute times.
    while unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, absolute, &raw const time, none) }
        == libc::EINTR
    {}
}

/// Arms a timerfd for one time.
fn arm(descriptor: RawFd, ns: u64) -> Result<(), Errno> {
    let value = libc::itimerspec {
        it_interval: to_timespec(0),
        it_value: to_timespec(ns.max(1)),
    };
    let none = std::ptr::null_mut();
    // SAFETY: a live value; the old one is not wanted.
    let armed = unsafe {
        libc::timerfd_settime(descriptor, libc::TFD_TIMER_ABSTIME, &raw const value, none)
    };
    Errno::result(armed).map(drop)
}

impl Actor<'_> {
    /// The activation that it worked on is done: whether in time.
    fn done(&mut self, now_ns: u64, period_ns: Option<u64>) {
        let Some(release_ns) = self.release_ns.take() else {
            return;
        };
        self.slot.activations.fetch_add(1, Relaxed);
        let deadline_ns = self.task.deadline_ns.or(period_ns);
        if deadline_ns.is_some_and(|it| now_ns > release_ns.saturating_add(it)) {
            self.slot.missed.fetch_add(1, Relaxed);
        }
    }

    fn woken(&mut self, release_ns: u64) {
        let late_ns = now_ns().saturating_sub(release_ns);
        self.slot.late_ns_max.fetch_max(late_ns, Relaxed);
        self.release_ns = Some(release_ns);
    }

    /// The next time of a timer; for a time that has passed, false: nobody waits.
    fn next(&mut self, timer: usize, period_ns: u64, now_ns: u64) -> (u64, bool) {
        let shape = &self.stage.scenario.objects.timers[timer];
        let next_ns = match shape.is_shared {
            true => {
                let shared = &self.stage.shared.timers[timer];
                let _ = shared.compare_exchange(0, self.start_ns, AcqRel, Relaxed);
                shared
                    .fetch_add(period_ns, AcqRel)
                    .saturating_add(period_ns)
            }
            false => {
                let own = &mut self.own.timers.next_ns[timer];
                let from = if *own == 0 { self.start_ns } else { *own };
                *own = from.saturating_add(period_ns);
                *own
            }
        };
        if now_ns < next_ns {
            return (next_ns, true);
        }
        if shape.is_relative {
            match shape.is_shared {
                true => self.stage.shared.timers[timer].store(now_ns, Relaxed),
                false => self.own.timers.next_ns[timer] = now_ns,
            }
            return (now_ns, false);
        }
        (next_ns, false)
    }

    pub(super) fn timer(&mut self, timer: usize, period_ns: u64) -> Result<Flow, Failure> {
        let now_ns = now_ns();
        // The first activation begins with the task.
        self.release_ns.get_or_insert(self.start_ns);
        self.done(now_ns, Some(period_ns));
        let (next_ns, waits) = self.next(timer, period_ns, now_ns);
        if waits {
            match self
                .own
                .timers
                .descriptors
                .get(&timer)
                .map(AsRawFd::as_raw_fd)
            {
                Some(descriptor)
                    if self.stage.scenario.objects.timers[timer].via == Via::Timerfd =>
                {
                    self.await_descriptor(descriptor, next_ns)
                        .map_err(|errno| Doing::Timer.failed(errno))?;
                }
                _ => sleep_until(next_ns),
            }
            self.woken(next_ns);
        } else {
            self.release_ns = Some(next_ns);
        }
        Ok(Flow::Go)
    }

    fn await_descriptor(&self, descriptor: RawFd, ns: u64) -> Result<(), Errno> {
        arm(descriptor, ns)?;
        let mut poll = libc::pollfd {
            fd: descriptor,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one live entry.
        again(|| Errno::result(unsafe { libc::poll(&raw mut poll, 1, -1) }))?;
        empty(descriptor)
    }

    pub(super) fn arrival(&mut self, arrivals: usize) -> Result<Flow, Failure> {
        self.done(now_ns(), None);
        let begin_ns = self.start_ns.saturating_sub(self.task.start_ns);
        let times = self.own.arrivals[arrivals].as_mut();
        let Some(after_ns) = times.and_then(Iterator::next) else {
            // No other will come: it waits until the end.
            sleep_until(u64::MAX >> 1);
            return Ok(Flow::Stop);
        };
        let at_ns = begin_ns.saturating_add(after_ns);
        if now_ns() < at_ns {
            sleep_until(at_ns);
        }
        self.woken(at_ns);
        Ok(Flow::Go)
    }

    pub(super) fn poll(&mut self, sources: &[Source]) -> Result<Flow, Failure> {
        let failed = |errno| Doing::Poll.failed(errno);
        let began_ns = now_ns();
        let mut timer_period = None;
        let mut times: Vec<(usize, u64)> = Vec::with_capacity(sources.len());
        for source in sources {
            if let Source::Timer { timer, period_ns } = source {
                timer_period = Some(*period_ns);
                let armed = self.own.timers.next_ns[*timer];
                times.push((*timer, armed));
            }
        }
        self.done(began_ns, timer_period);
        let Some(poll) = self
            .own
            .timers
            .polls
            .get(&key(sources))
            .map(AsRawFd::as_raw_fd)
        else {
            return Err(failed(Errno::EBADF));
        };
        for (place, source) in sources.iter().enumerate() {
            self.watch(poll, place, source).map_err(failed)?;
        }
        // SAFETY: zeros are valid entries, and the kernel writes at most so many.
        let mut events: [libc::epoll_event; 64] = unsafe { std::mem::zeroed() };
        let ready = again(|| {
            // SAFETY: as above.
            Errno::result(unsafe { libc::epoll_wait(poll, events.as_mut_ptr(), 64, -1) })
        });
        let ready = usize::try_from(ready.map_err(failed)?).unwrap_or(0);
        let ready: Vec<usize> = events[..ready]
            .iter()
            .map(|event| event.u64 as usize)
            .collect();
        let mut release_ns = None;
        for place in ready {
            release_ns = self.take(&sources[place])?.or(release_ns);
        }
        match release_ns {
            Some(release_ns) => self.woken(release_ns),
            None if self.task.deadline_ns.is_some() => self.release_ns = Some(now_ns()),
            None => {}
        }
        Ok(Flow::Go)
    }

    /// Puts a source into an epoll descriptor; a timer stands at its next time.
    fn watch(&mut self, poll: RawFd, place: usize, source: &Source) -> Result<(), Errno> {
        let descriptor = match source {
            Source::Channel { channel, .. } => self.stage.channels[*channel].read.as_raw_fd(),
            Source::Signal => self.own.signals.descriptor().ok_or(Errno::EBADF)?,
            Source::Timer { timer, period_ns } => {
                let found = self.own.timers.descriptors.get(timer);
                let descriptor = found.ok_or(Errno::EBADF)?.as_raw_fd();
                let own = &mut self.own.timers.next_ns[*timer];
                if *own == 0 {
                    *own = self.start_ns;
                }
                arm(descriptor, own.saturating_add(*period_ns))?;
                descriptor
            }
        };
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: place as u64,
        };
        // SAFETY: a live event.
        let added =
            unsafe { libc::epoll_ctl(poll, libc::EPOLL_CTL_ADD, descriptor, &raw mut event) };
        match Errno::result(added) {
            Ok(_) | Err(Errno::EEXIST) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Takes from a source that is ready; the time of a timer.
    fn take(&mut self, source: &Source) -> Result<Option<u64>, Failure> {
        match source {
            Source::Channel { channel, bytes } => {
                let message = &mut self.own.message[..*bytes as usize];
                let taken = self.stage.channels[*channel].receive(message);
                taken.map_err(|errno| Doing::Message.failed(errno))?;
                Ok(None)
            }
            Source::Signal => self.own.signals.take(true).map(|()| None),
            Source::Timer { timer, period_ns } => {
                if let Some(descriptor) = self.own.timers.descriptors.get(timer) {
                    empty(descriptor.as_raw_fd()).map_err(|errno| Doing::Timer.failed(errno))?;
                }
                let due_ns = self.own.timers.next_ns[*timer].saturating_add(*period_ns);
                self.next(*timer, *period_ns, due_ns);
                Ok(Some(due_ns))
            }
        }
    }
}

/// Reads what a timerfd has counted; it may have been armed anew since.
fn empty(descriptor: RawFd) -> Result<(), Errno> {
    let mut count = [0_u8; 8];
    // SAFETY: a descriptor of this task, and a live buffer.
    let read = unsafe { libc::read(descriptor, count.as_mut_ptr().cast(), count.len()) };
    match Errno::result(read) {
        Ok(_) | Err(Errno::EAGAIN) => Ok(()),
        Err(errno) => Err(errno),
    }
}
