// SPDX-License-Identifier: GPL-2.0-only
//! While the scheduler is on: answers requests, and does what the BPF program leaves to a process,
//! until it is time to end.

use super::beset::{Lookout, Unserved};
use super::control::{self, Request, Server, Stop};
use super::detector::Detector;
use super::ending::Ending;
use super::policy;
use super::program::Program;
use super::runtime::State;
use super::service::{Error, Event};
use super::status::{OfflineClock, Status};
use artis_machine::{CpuList, Root, kubelet};
use artis_task::syscall;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How often to look whether the kernel ended the scheduler or a CPU went offline.
pub(super) const LOOK: Duration = Duration::from_millis(200);

/// How often to look for tasks that wait behind RT0, where the kernel does not do it.
const LOOK_BEHIND_RT0: Duration = Duration::from_millis(20);

/// How often to look for breakpoints that somebody else held at the start. A look reads the
/// kernel's list of functions.
const LOOK_FOR_BREAKPOINTS: Duration = Duration::from_secs(20);

/// How often to look whether the kubelet has given RT CPUs to a pod alone.
const LOOK_FOR_PODS: Duration = Duration::from_secs(1);

/// SIGINT, SIGTERM and SIGHUP, as something to poll.
pub(super) struct Signals(UnixStream);

impl Signals {
    pub fn catch() -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let hangup = (!syscall::is_ignored(SIGHUP)).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
            signal_hook::low_level::pipe::register(signal, theirs.try_clone()?)?;
        }
        Ok(Self(ours))
    }
}

/// Why [`Serving::until_the_end`] came to its end.
pub(super) struct End {
    pub last: Status,
    pub why: Why,
}

pub(super) enum Why {
    /// A signal, or the kernel ended the scheduler.
    Ended,
    /// A client asked for it, and waits until everything is restored.
    Asked(Stop),
    /// Tasks that only the kernel's own scheduler would serve.
    Unserved(Unserved),
    /// The kubelet has given RT CPUs to a pod alone since.
    Pods(kubelet::Error),
    /// The best detector, which could not be had at the start, can be had.
    Better,
}

impl Why {
    /// The end in words.
    pub fn ending(&self, program: &Program<'_>) -> Ending {
        match self {
            Self::Unserved(unserved) => Ending::unserved(unserved),
            Self::Pods(taken) => Ending::taken(taken),
            _ => program.ending().unwrap_or_else(Ending::unknown),
        }
    }

    /// The scheduler is off: tells the client that asked for it.
    pub fn is_off(&self) {
        if let Self::Asked(client) = self {
            client.is_off();
        }
    }
}

/// Whether a pod has one of these CPUs alone. A file that is being repaired says nothing.
fn taken(root: &Root, rt: &CpuList) -> Option<kubelet::Error> {
    let error = kubelet::has_none_of(root, rt).err()?;
    matches!(error, kubelet::Error::Taken { .. }).then_some(error)
}

/// What it takes to serve.
pub(super) struct Serving<'a> {
    pub lookout: &'a mut Lookout,
    pub server: &'a Server,
    pub signals: &'a Signals,
    pub state: &'a State,
    pub status: &'a dyn Fn(&Program<'_>, &OfflineClock) -> Status,
    /// End when the best detector can be had.
    pub upgrade: bool,
    pub report: &'a mut dyn FnMut(Event),
}

impl Serving<'_> {
    /// Serves until it is time to end.
    ///
    /// # Errors
    /// When the kernel refuses something.
    pub fn until_the_end(self, program: &mut Program<'_>) -> Result<End, Error> {
        let mut offline = CpuList::new();
        let mut away = OfflineClock::default();
        let look = match program.hands_back_late() {
            true => LOOK_BEHIND_RT0,
            false => LOOK,
        };
        let mut stopped = false;
        let mut looked_for_better = Instant::now();
        let mut looked_for_overdue = Instant::now();
        let mut looked_for_pods = Instant::now();
        loop {
            let limits = stopped || program.has_limits();
            let look = match limits {
                true => look.min(Duration::from_nanos(policy::limit_look_ns(stopped))),
                false => look,
            };
            let signalled = self.wait(look)?;
            let absent = program.absent();
            away.look(&absent.offline);
            let mut why = match signalled || program.ending().is_some() {
                true => Some(Why::Ended),
                false => self.lookout.look(program)?.map(Why::Unserved),
            };
            if why.is_none() {
                why = self.answer(program, &away);
            }
            if why.is_none() && self.upgrade && looked_for_better.elapsed() > LOOK_FOR_BREAKPOINTS {
                looked_for_better = Instant::now();
                why = Detector::can_be_best(&Root::default()).then_some(Why::Better);
            }
            if why.is_none() && looked_for_pods.elapsed() > LOOK_FOR_PODS {
                looked_for_pods = Instant::now();
                why = taken(&Root::default(), &self.state.rt_cpus).map(Why::Pods);
            }
            if let Some(why) = why {
                let last = (self.status)(program, &away);
                return Ok(End { last, why });
            }
            if looked_for_overdue.elapsed() >= Duration::from_nanos(policy::overdue_look_ns()) {
                looked_for_overdue = Instant::now();
                program.serve_overdue()?;
            }
            if program.hands_back_late() {
                for thread in program.displaced()? {
                    // It may be gone, or an RT0 task by now.
                    let _ = syscall::requeue(thread);
                }
            }
            if limits {
                stopped = program.let_on()?;
            }
            for cpu in absent.unwatched.iter() {
                // It may be offline again; then the next look does not find it unwatched.
                let _ = program.watch_again(cpu);
            }
            if absent.offline != offline {
                offline = absent.offline;
                (self.report)(Event::Offline {
                    offline: offline.clone(),
                    rt: self.state.rt_cpus.clone(),
                });
            }
        }
    }

    /// Waits for a request or a signal, and returns whether it was a signal.
    fn wait(&self, look: Duration) -> Result<bool, Error> {
        let timeout = PollTimeout::try_from(look).unwrap_or(PollTimeout::MAX);
        self.server.wait_for(|clients| {
            let signals = self.signals.0.as_fd();
            let all = [&[signals], clients].concat();
            let mut fds: Vec<PollFd<'_>> = all
                .into_iter()
                .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
                .collect();
            match poll(&mut fds, timeout) {
                Ok(_) | Err(Errno::EINTR) => Ok(fds[0].any() == Some(true)),
                Err(error) => Err(Error::Wait(error.into())),
            }
        })
    }

    /// Answers a request, if there is one that does not ask for the end.
    fn answer(&self, program: &Program<'_>, away: &OfflineClock) -> Option<Why> {
        match self.server.next()? {
            Request::Stop(stop) => Some(Why::Asked(stop)),
            Request::Status(stream) => {
                // A client that has gone needs no answer.
                let _ = control::answer(stream, &(self.status)(program, away));
                None
            }
        }
    }
}
