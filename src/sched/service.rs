// SPDX-License-Identifier: GPL-2.0-only
//! The scheduling process: from the first check until the last setting is restored.
//!
//! Owns the order of the steps. The caller gets what happens as [`Event`]s.

use super::caches::Caches;
use super::control::{self, Request, Server};
use super::detector::Detector;
use super::ending::Ending;
use super::policy;
use super::program::{self, Config, Program, Storage};
use super::prospect::{Prospect, check_cpus};
use super::require;
use super::runtime::{self, Lock, Runtime, State};
use super::status::{IdleClock, OfflineClock, Status, now_unix_s};
use artis_machine::cpu_shares::CpuShares;
use artis_machine::cpus::{self, Cpus};
use artis_machine::cpusets::Claim;
use artis_machine::kernel::Preemption;
use artis_machine::privilege::Privilege;
use artis_machine::{CpuList, Root, Unreadable, topology};
use artis_partition::change::Change;
use artis_partition::cycle;
use artis_partition::host::Host;
use artis_partition::journal::{self, Owner};
use artis_partition::plan::{Left, Plan};
use artis_partition::transaction::{self, Applied, Refused, Transaction, planned_here};
use artis_task::syscall;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How often to look whether the kernel ended the scheduler or a CPU went offline.
const LOOK: Duration = Duration::from_millis(200);

/// How often to look for tasks that wait behind RT0, where the kernel does not do it.
const LOOK_BEHIND_RT0: Duration = Duration::from_millis(20);

/// How often to try to get the lock while a killed artis ends or another one cleans up: ten seconds
/// altogether.
const CLEAN_UP_TRIES: u32 = 200;

/// Something the user should know while the scheduler is on.
#[derive(Debug)]
pub enum Event {
    /// Settings that a killed artis had not restored.
    Restored(Vec<Change>),
    /// Settings that stay as they are, and why.
    Left(Vec<Left>),
    /// Settings that the kernel did not let be changed.
    Refused(Vec<Refused>),
    /// Groups of others that have RT CPUs.
    Claimed(Vec<Claim>),
    /// These cgroups have limits on CPU time, and this kernel does not tell a scheduler of them.
    LimitsUnseen(Vec<String>),
    /// These cgroups have weights, and this kernel does not report them to a scheduler.
    WeightsUnseen(Vec<String>),
    /// These RT CPUs have been offline and are back.
    Cycled(CpuList),
    /// Settings changed for as long as the scheduler is on.
    Changed(Vec<Change>),
    Ready {
        rt: CpuList,
        nrt: CpuList,
        detector: Detector,
    },
    /// The set of RT CPUs that are offline changed.
    Offline { offline: CpuList, rt: CpuList },
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The CPU list makes no sense on this machine.
    #[error("{0}")]
    Cpus(String),
    #[error("the scheduler cannot run here: {}", .0.join("; "))]
    Missing(Vec<String>),
    #[error(
        "artis is scheduling already{}; stop it first with `artis sched stop`",
        .0.as_ref().map_or(String::new(), |s| format!(" (process {}, RT CPUs {})", s.pid, s.rt_cpus))
    )]
    Running(Option<State>),
    #[error("the BPF program could not be loaded")]
    Program(#[from] program::Error),
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error(transparent)]
    CpuSets(#[from] cpus::Error),
    #[error(transparent)]
    Runtime(#[from] runtime::Error),
    #[error(transparent)]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Changes(#[from] transaction::Error),
    #[error(transparent)]
    Cycle(#[from] cycle::Error),
    #[error(transparent)]
    Control(#[from] control::Error),
    #[error("could not wait for signals and requests")]
    Wait(#[source] io::Error),
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// The scheduler as it was just before the end.
    pub last: Status,
    pub ending: Ending,
}

/// Schedules until SIGINT, SIGTERM, `artis sched stop`, or the kernel ends it. With `cycle`, RT
/// CPUs go offline first and come back, without the timers and works of others.
///
/// # Errors
/// When the machine lacks something, another artis runs, or a setting could not be changed.
/// Whatever had been changed by then is put back.
pub fn run(
    rt: &CpuList,
    detector: Detector,
    cycle: bool,
    report: &mut dyn FnMut(Event),
) -> Result<Outcome, Error> {
    let root = Root::default();
    let runtime = Runtime::default();
    // A list of CPUs that makes no sense comes before everything else that is wrong.
    check_cpus(rt, &Cpus::read(&root)?)?;
    let privilege = Privilege::of_self(&root)?;

    // "Another artis schedules" says more than "a scheduler is on".
    let _lock = match hold_soon(&runtime, &privilege)? {
        Hold::Ours(lock) => Some(lock),
        Hold::Theirs => return Err(Error::Running(runtime.state()?)),
        Hold::NotAllowed => None,
    };
    let Prospect {
        kernel,
        cpus,
        nrt,
        claims,
        ..
    } = Prospect::of(&root, rt, detector)?;

    let left_behind = put_back()?;
    if !left_behind.is_empty() {
        report(Event::Restored(left_behind));
    }
    runtime.clear();
    // From here on this guard restores everything, after an error, too.
    let undo = Undo(&runtime);
    if !claims.is_empty() {
        report(Event::Claimed(claims));
    }
    let shares = CpuShares::read(&root);
    if !shares.limited.is_empty() && !require::tells_of_limits() {
        report(Event::LimitsUnseen(shares.limited));
    }
    if !shares.weighted.is_empty() && !require::tells_of_cgroups() {
        report(Event::WeightsUnseen(shares.weighted));
    }
    // Refused or not, before anything is changed.
    let absence = match cycle {
        true => cycle::plan(&root, rt)?,
        false => Vec::new(),
    };
    let (Applied { made, refused }, left) = be_quiet(&root, rt, &nrt)?;
    if !left.is_empty() {
        report(Event::Left(left));
    }
    if !refused.is_empty() {
        report(Event::Refused(refused));
    }
    if !made.is_empty() {
        report(Event::Changed(made));
    }
    if cycle {
        forget_the_past(&root, rt, absence)?;
        report(Event::Cycled(rt.clone()));
    }

    come_first();
    let signals = Signals::catch().map_err(Error::Wait)?;
    let server = Server::listen(&runtime.socket())?;
    // Before the scheduler is on: others may read this as soon as they see it on.
    let state = State {
        pid: std::process::id(),
        since_unix_s: now_unix_s(),
        rt_cpus: rt.clone(),
        nrt_cpus: nrt.clone(),
        detector,
        kernel: kernel.release.clone(),
    };
    runtime.set_state(&state)?;
    let arranged = topology::read(&root, &cpus.online)?;
    let caches = Caches::read(&arranged, &cpus.possible);
    let mut storage = Storage::default();
    let mut program = Program::load(
        &mut storage,
        &Config {
            nr_cpus: cpus.possible.last().map_or(1, |last| last + 1),
            rt: rt.clone(),
            online: cpus.online.clone(),
            caches,
            tickless: cpus.nohz_full.clone(),
            detector,
            has_timers: kernel.preemption != Preemption::PreemptRt,
            hotplug_seq: root
                .hint("/sys/kernel/sched_ext/hotplug_seq")
                .and_then(|text| text.parse().ok())
                .unwrap_or(0),
        },
    )?;
    let clock = IdleClock::start(&root);
    report(Event::Ready {
        rt: rt.clone(),
        nrt,
        detector,
    });

    let status = |program: &Program<'_>, away: &OfflineClock| {
        Status::on(&state, program.readings(), &clock, away, &root)
    };
    let (last, waiting) = serve(&mut program, &server, &signals, &state, &status, report)?;
    program.detach();
    let ending = program.ending().unwrap_or_else(Ending::unknown);
    drop(undo);
    // Only now is everything restored: the client that asked for the stop learns it by this.
    drop(waiting);
    Ok(Outcome { last, ending })
}

/// Restores what a killed artis had changed, if no artis is on. Returns what.
///
/// # Errors
/// When a setting could not be put back.
pub fn clean_up() -> Result<Vec<Change>, Error> {
    let runtime = Runtime::default();
    let privilege = Privilege::of_self(&Root::default())?;
    for _ in 0..CLEAN_UP_TRIES {
        match hold(&runtime, &privilege)? {
            Hold::Ours(_lock) => {
                let restored = put_back()?;
                runtime.clear();
                return Ok(restored);
            }
            Hold::NotAllowed => break,
            // Nobody answered, yet the lock is held: by a killed process that has not ended yet.
            Hold::Theirs => std::thread::sleep(LOOK / 4),
        }
    }
    Ok(Vec::new())
}

/// Who holds the lock of the scheduling process.
enum Hold {
    Ours(Lock),
    Theirs,
    /// No right to write to the folder; the checks that follow say which privilege is missing.
    NotAllowed,
}

/// As [`hold`], but waits for an artis that only cleans up, which takes a moment.
fn hold_soon(runtime: &Runtime, privilege: &Privilege) -> Result<Hold, Error> {
    for _ in 0..CLEAN_UP_TRIES {
        match hold(runtime, privilege)? {
            // A process that schedules has a description; one that cleans up has none.
            Hold::Theirs if runtime.state()?.is_none() => std::thread::sleep(LOOK / 4),
            held => return Ok(held),
        }
    }
    hold(runtime, privilege)
}

fn hold(runtime: &Runtime, privilege: &Privilege) -> Result<Hold, Error> {
    match runtime.lock() {
        Ok(Some(lock)) => Ok(Hold::Ours(lock)),
        Ok(None) => Ok(Hold::Theirs),
        Err(_) if privilege.euid != 0 => Ok(Hold::NotAllowed),
        Err(error) => Err(error.into()),
    }
}

/// Takes RT CPUs offline and brings them back. Killed in between, artis brings them back when it
/// next runs, as it does with all that it changed. The settings that keep work of others away are
/// in force by then: the program takes a while to load, and work would come back meanwhile.
fn forget_the_past(root: &Root, rt: &CpuList, absence: Vec<Change>) -> Result<(), Error> {
    let host = Host::at(root.clone());
    let transaction = Transaction::begin(&host)?;
    transaction.apply(Owner::Cycle, rt, absence)?;
    transaction.revert(Owner::Cycle)?.whole()?;
    Ok(())
}

/// Switches off what would take RT CPUs from RT0. Returns what was changed, and what is left.
fn be_quiet(root: &Root, rt: &CpuList, nrt: &CpuList) -> Result<(Applied, Vec<Left>), Error> {
    let host = Host::at(root.clone());
    let transaction = Transaction::begin(&host)?;
    let mut plan = Plan::for_sharing(root, rt, nrt);
    let (changes, held) = planned_here(&host, Owner::Sched, plan.changes)?;
    plan.left.extend(held);
    Ok((transaction.apply(Owner::Sched, rt, changes)?, plan.left))
}

/// Restores what this or a killed scheduling process changed, CPUs first: settings of a CPU may
/// need it. Returns what.
fn put_back() -> Result<Vec<Change>, Error> {
    let host = Host::default();
    let transaction = Transaction::begin(&host)?;
    let revert = |owner| transaction.revert(owner)?.whole();
    // A CPU that does not come back keeps no other setting as it is.
    let (cpus, settings) = (revert(Owner::Cycle), revert(Owner::Sched));
    let mut restored = cpus?.restored;
    restored.extend(settings?.restored);
    Ok(restored)
}

/// Restores everything when dropped.
struct Undo<'a>(&'a Runtime);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        // On failure the journal stays, and the next artis call tries again and reports.
        let _ = put_back();
        self.0.clear();
    }
}

/// Gives this process the highest weight. It is one of the tasks that it schedules, and when it is
/// stopped or killed, its end should not wait behind all the others.
fn come_first() {
    // Without the privilege nothing changes here, and loading the scheduler fails and says why.
    // SAFETY: no pointers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
}

/// SIGINT and SIGTERM, as something to poll.
struct Signals(UnixStream);

impl Signals {
    fn catch() -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::low_level::pipe::register(signal, theirs.try_clone()?)?;
        }
        Ok(Self(ours))
    }
}

/// Answers requests until it is time to end. Returns the last status, and who waits for the end.
fn serve(
    program: &mut Program<'_>,
    server: &Server,
    signals: &Signals,
    state: &State,
    status: &dyn Fn(&Program<'_>, &OfflineClock) -> Status,
    report: &mut dyn FnMut(Event),
) -> Result<(Status, Option<UnixStream>), Error> {
    let mut offline = CpuList::new();
    let mut away = OfflineClock::default();
    let look = match program.hands_back_late() {
        true => LOOK_BEHIND_RT0,
        false => LOOK,
    };
    let mut stopped = false;
    loop {
        let limits = stopped || program.has_limits();
        let look = match limits {
            true => look.min(Duration::from_nanos(policy::limit_look_ns(stopped))),
            false => look,
        };
        let mut fds = [
            PollFd::new(signals.0.as_fd(), PollFlags::POLLIN),
            PollFd::new(server.as_fd(), PollFlags::POLLIN),
        ];
        let timeout = PollTimeout::try_from(look).unwrap_or(PollTimeout::MAX);
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(Error::Wait(error.into())),
        }
        let absent = program.absent();
        away.look(&absent.offline);
        if fds[0].any() == Some(true) || program.ending().is_some() {
            return Ok((status(program, &away), None));
        }
        match server.next() {
            Some(Request::Stop(stream)) => return Ok((status(program, &away), Some(stream))),
            Some(Request::Status(stream)) => {
                // A client that has gone needs no answer.
                let _ = control::answer(stream, &status(program, &away));
            }
            None => {}
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
            report(Event::Offline {
                offline: offline.clone(),
                rt: state.rt_cpus.clone(),
            });
        }
    }
}
