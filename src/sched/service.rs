// SPDX-License-Identifier: GPL-2.0-only
//! The scheduling process: from the first check until the last setting is restored.
//!
//! Owns the order of the steps. The caller gets what happens as [`Event`]s.

use super::beset::Lookout;
use super::caches::Caches;
use super::control::{self, Server};
use super::detector::Detector;
use super::ending::Ending;
use super::program::{self, Config, Program, Storage};
use super::prospect::{Prospect, check_cpus};
use super::require;
use super::runtime::{self, Lock, Runtime, State};
use super::serving::{LOOK, Serving, Signals, Why};
use super::status::{IdleClock, OfflineClock, Status, now_unix_s};
use super::urgent::{self, Urgency};
use artis_machine::cpu_shares::CpuShares;
use artis_machine::cpus::{self, Cpus};
use artis_machine::cpusets::Claim;
use artis_machine::kernel::Preemption;
use artis_machine::privilege::Privilege;
use artis_machine::{CpuList, Root, Unreadable, kubelet, rcu, topology};
use artis_partition::change::Change;
use artis_partition::cycle;
use artis_partition::host::Host;
use artis_partition::journal::{self, Owner};
use artis_partition::plan::{Left, Plan};
use artis_partition::transaction::{self, Applied, Refused, Transaction, planned_here};
use artis_task::syscall;
use std::io;

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
    /// A pod has RT CPUs alone.
    #[error(transparent)]
    Pods(#[from] kubelet::Error),
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
    /// It ended because the best detector can be had now: it is to be run again, with that.
    pub better: bool,
}

/// Schedules until SIGINT, SIGTERM, SIGHUP, `artis sched stop`, or the kernel ends it. With
/// `cycle`, RT CPUs go offline first and come back, without the timers and works of others. With
/// `upgrade` it also ends when the best detector can be had.
///
/// # Errors
/// When the machine lacks something, another artis runs, or a setting could not be changed.
/// Whatever had been changed by then is put back.
pub fn run(
    rt: &CpuList,
    detector: Detector,
    cycle: bool,
    upgrade: bool,
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
        report(Event::Changed(made.clone()));
    }
    if cycle {
        forget_the_past(&root, rt, absence)?;
        report(Event::Cycled(rt.clone()));
    }

    let rcu = rcu::normal_thread(&root);
    if let Some(thread) = &rcu {
        let host = Host::at(root.clone());
        let transaction = Transaction::begin(&host)?;
        transaction.announce(Owner::Urgent, rt, vec![urgent::change(thread)])?;
    }
    come_first(&nrt);
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
    let _urgency = Urgency::watch(program.records(), nrt.clone(), rcu);
    let mut lookout = Lookout::new(&root, rt, &nrt, &made);
    let clock = IdleClock::start(&root);
    report(Event::Ready {
        rt: rt.clone(),
        nrt,
        detector,
    });

    let status = |program: &Program<'_>, away: &OfflineClock| {
        Status::on(&state, program.readings(), &clock, away, &root)
    };
    let serving = Serving {
        lookout: &mut lookout,
        server: &server,
        signals: &signals,
        state: &state,
        status: &status,
        upgrade,
        report,
    };
    let end = serving.until_the_end(&mut program)?;
    lookout.serve_all();
    program.detach();
    end.why.is_off();
    let ending = end.why.ending(&program);
    let better = matches!(end.why, Why::Better);
    drop(undo);
    // Only now is everything restored: the client that asked for the stop learns it by this.
    drop(end.why);
    Ok(Outcome {
        last: end.last,
        ending,
        better,
    })
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
    let urgent = revert(Owner::Urgent);
    let mut restored = cpus?.restored;
    restored.extend(settings?.restored);
    restored.extend(urgent?.restored);
    Ok(restored)
}

/// Restores everything when dropped.
struct Undo<'a>(&'a Runtime);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        // First: an artis that is started meanwhile waits for one that only cleans up.
        self.0.clear();
        // On failure the journal stays, and the next artis call tries again and reports.
        let _ = put_back();
    }
}

/// Gives this process the highest weight, on NRT CPUs. It is one of the tasks that it schedules,
/// and when it is stopped or killed, its end should not wait behind all the others.
fn come_first(nrt: &CpuList) {
    // Where a cpuset forbids it, the process runs where it may.
    let _ = syscall::set_affinity(0, nrt);
    // Without the privilege nothing changes here, and loading the scheduler fails and says why.
    // SAFETY: no pointers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
}
