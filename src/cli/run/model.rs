// SPDX-License-Identifier: GPL-2.0-only
//! `artis run rt0 --period … --budget …`: a task is admitted before it runs.

use super::{Target, become_command, check, overruns};
use crate::cli::admit::read_set;
use crate::cli::exit::{BOUND_MISSED, UNKNOWN, UsageError};
use crate::cli::output::stdout;
use crate::cli::value::duration;
use crate::machine::{CpuList, Root, tasks};
use crate::partition::host::Host;
use crate::partition::transaction::in_force;
use crate::report::admit as report;
use crate::result::file;
use crate::task::scheduler;
use crate::task::{Class, protected, threads};
use anyhow::Context;
use artis_admit::model::{Platform, Policy, Set, TIME_NS_MAX, Who};
use artis_admit::{Admission, Verdict, answer::time};
use artis_admitted::join::{Joined, Outcome, Request, join};
use artis_admitted::{Numbers, OnOverrun, beside, register};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Where `artis measure costs` is kept for all tasks of a machine.
pub const PLATFORM: &str = "/etc/artis/platform.toml";

/// The task model, as flags.
#[derive(clap::Args)]
#[group(skip)]
pub struct ModelArgs {
    /// Admit the task: its jobs come no closer than this, as in 1ms
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    #[arg(requires = "budget", conflicts_with_all = ["task", "priority"])]
    period: Option<Duration>,
    /// Longest execution of a job, as in 200us
    #[arg(long, value_name = "TIME", value_parser = duration::parse, requires = "period")]
    budget: Option<Duration>,
    /// Each job is done so long after its event; the period, if it is left out
    #[arg(long, value_name = "TIME", value_parser = duration::parse, requires = "period")]
    deadline: Option<Duration>,
    /// Policy of the CPU's admitted tasks; theirs, or rm, if it is left out
    #[arg(long, value_enum, requires = "period")]
    policy: Option<PolicyArg>,
    /// Admit the task of this name of --model, with its command or threads
    #[arg(
        long,
        value_name = "NAME",
        requires = "model",
        conflicts_with = "priority"
    )]
    task: Option<String>,
    /// A set of tasks, as of `artis admit`
    #[arg(long, value_name = "FILE", requires = "task")]
    model: Option<PathBuf>,
    /// What the machine takes, a table [platform] [default: /etc/artis/platform.toml, if there]
    #[arg(long, value_name = "FILE", requires = "period")]
    platform: Option<PathBuf>,
    /// Watch its jobs, and do this when one executes longer than the budget
    #[arg(long, value_enum)]
    on_overrun: Option<OverrunArg>,
    /// Let it in although a deadline can be missed
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum PolicyArg {
    /// Rate monotonic: the shorter the period, the higher the priority
    Rm,
    /// Deadline monotonic
    Dm,
    /// Earliest deadline first: SCHED_DEADLINE
    Edf,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum OverrunArg {
    /// Say it, and count it
    Report,
    /// Make the thread a normal task
    Demote,
    /// End its process
    End,
}

impl OverrunArg {
    fn action(self) -> OnOverrun {
        match self {
            Self::Report => OnOverrun::Report,
            Self::Demote => OnOverrun::Demote,
            Self::End => OnOverrun::End,
        }
    }
}

impl ModelArgs {
    /// Whether the task is to be admitted.
    pub fn is_asked(&self) -> bool {
        self.period.is_some() || self.task.is_some()
    }

    /// Refuses what is of an admitted task only.
    pub fn must_be_idle(&self) -> Result<(), UsageError> {
        match self.force || self.on_overrun.is_some() {
            true => Err(UsageError(
                "--force and --on-overrun are of admitted tasks; add --period and --budget, or \
                 --task and --model"
                    .to_owned(),
            )),
            false => Ok(()),
        }
    }
}

/// Whom to admit, with which numbers.
struct Wanted {
    name: Option<String>,
    numbers: Numbers,
    cpus: Vec<u32>,
    policy: Option<Policy>,
    platform: Option<Platform>,
    who: Who,
    on_overrun: Option<OnOverrun>,
}

/// Admits a running thread, or this one and becomes the command.
pub fn run(
    root: &Root,
    cpu: Option<u32>,
    args: &ModelArgs,
    target: &Target,
) -> anyhow::Result<ExitCode> {
    let wanted = match (&args.task, &args.model) {
        (Some(task), Some(path)) => of_file(task, path, cpu)?,
        _ => of_flags(root, args, cpu)?,
    };
    let mut command = target.command.clone();
    let mut tids = Vec::new();
    match (target.pid, &wanted.who) {
        (Some(pid), _) => tids.push(thread(root, pid, target)?),
        (None, Who::Command(words)) if command.is_empty() => {
            command = words.iter().map(OsString::from).collect();
        }
        (None, Who::Threads(name)) if command.is_empty() => tids = named(root, name)?,
        (None, _) => target.needs_command()?,
    }
    if let Some(warning) = first_warning(root, &wanted)?.filter(|_| !target.quiet) {
        say!("artis: warning: {warning}");
    }
    if !tids.is_empty() {
        for tid in tids {
            if let Err(code) = admit(root, args, &wanted, tid, &[], target.quiet)? {
                return Ok(code);
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let own = nix::unistd::gettid().as_raw();
    match admit(root, args, &wanted, own, &command, target.quiet)? {
        Err(code) => Ok(code),
        Ok(()) => become_command(&command),
    }
}

fn first_warning(root: &Root, wanted: &Wanted) -> anyhow::Result<Option<String>> {
    let Some(cpu) = wanted.cpus.first() else {
        return Ok(None);
    };
    let class = Class::Rt0 {
        cpu: *cpu,
        priority: artis_admit::choose::priorities::HIGHEST,
    };
    check(root, class)
}

/// Admits one thread, says so, and has it watched; the exit status of one that is refused.
fn admit(
    root: &Root,
    args: &ModelArgs,
    wanted: &Wanted,
    tid: i32,
    command: &[OsString],
    quiet: bool,
) -> anyhow::Result<Result<(), ExitCode>> {
    let of_command = || {
        let program = Path::new(command.first()?).file_name()?;
        Some(program.to_string_lossy().into_owned())
    };
    let of_thread = || Some(root.hint(format!("/proc/{tid}/comm"))?.trim().to_owned());
    let name = wanted.name.clone().or_else(of_command).or_else(of_thread);
    let request = Request {
        tid,
        name: name.unwrap_or_else(|| tid.to_string()),
        numbers: wanted.numbers.clone(),
        cpus: wanted.cpus.clone(),
        policy: wanted.policy,
        platform: wanted.platform.clone(),
        on_overrun: args
            .on_overrun
            .map_or(wanted.on_overrun, |it| Some(it.action())),
        force: args.force,
    };
    let host = Host::at(root.clone());
    let joined = match join(&host, &request).with_context(|| format!("task {}", request.name))? {
        Outcome::Joined(joined) => joined,
        Outcome::Refused(answer) => return Ok(Err(refused(&request.name, &answer))),
    };
    if !quiet {
        let sentence = sentence(tid, &joined);
        // Standard output is the command's.
        match command.is_empty() {
            true => writeln!(stdout(), "{sentence}")?,
            false => say!("artis: {sentence}"),
        }
        for warning in warnings(root, &joined) {
            say!("artis: warning: {warning}");
        }
    }
    if request.on_overrun.is_some() {
        overruns::start(tid)?;
    }
    Ok(Ok(()))
}

/// Says why, with the analysis.
fn refused(name: &str, answer: &Admission) -> ExitCode {
    say_text!("{}", report::text(answer));
    say!(
        "artis: {name} was not admitted, and was not started or changed; change what the answer lists, \
         take another --cpu, or add --force"
    );
    match answer.verdict {
        Verdict::Unknown => ExitCode::from(UNKNOWN),
        _ => ExitCode::from(BOUND_MISSED),
    }
}

/// What became of the task.
fn sentence(tid: i32, joined: &Joined) -> String {
    let Joined { cpu, name, .. } = joined;
    let policy = match (joined.reservation, joined.priority) {
        (Some(one), _) => format!(
            "SCHED_DEADLINE, {} of each {}, by {}",
            time(one.runtime_ns),
            time(one.period_ns),
            time(one.deadline_ns)
        ),
        (None, priority) => format!("SCHED_FIFO {}", priority.unwrap_or(0)),
    };
    let mut tasks = joined.answer.cpus.iter().flat_map(|it| &it.tasks);
    let own = tasks.find(|task| task.name == *name);
    let bound = match own.and_then(|task| Some((task.bound_ns?, task.deadline_ns))) {
        Some((bound, deadline)) => format!(
            "done {} after its event at the latest, of {}",
            time(bound),
            time(deadline)
        ),
        None => "it has no bound".to_owned(),
    };
    let how = match joined.answer.verdict {
        Verdict::Schedulable => format!("admitted: {bound}"),
        _ => format!("forced in: {}", joined.answer.because),
    };
    let moved: Vec<String> = joined
        .moved
        .iter()
        .map(|(tid, from, to)| format!("; task {tid} went from {from} to {to}"))
        .collect();
    format!(
        "task {tid} ({name}) is now RT0 on CPU {cpu} ({policy}), {how}{}",
        moved.concat()
    )
}

fn warnings(root: &Root, joined: &Joined) -> Vec<String> {
    let Ok(register) = register::read(root) else {
        return Vec::new();
    };
    let Some(of_cpu) = register.of_cpu(joined.cpu) else {
        return Vec::new();
    };
    let cpus = joined.answer.cpus.iter();
    let taken = cpus.map(|cpu| cpu.utilisation + cpu.taken).sum();
    beside::warnings(root, &register, of_cpu, taken)
}

fn ns(time: Option<Duration>, name: &str) -> anyhow::Result<Option<u64>> {
    let Some(time) = time else { return Ok(None) };
    let ns = u64::try_from(time.as_nanos()).ok();
    match ns.filter(|ns| *ns <= TIME_NS_MAX) {
        Some(ns) => Ok(Some(ns)),
        None => Err(UsageError(format!("--{name} is at most 1d, for a real-time task")).into()),
    }
}

fn of_flags(root: &Root, args: &ModelArgs, cpu: Option<u32>) -> anyhow::Result<Wanted> {
    // clap asks for both.
    let period_ns = ns(args.period, "period")?.context("there is no --period")?;
    let execution_ns = ns(args.budget, "budget")?.context("there is no --budget")?;
    let platform = match &args.platform {
        Some(path) => Some(platform(path)?),
        None if Path::new(PLATFORM).exists() => Some(platform(Path::new(PLATFORM))?),
        None => None,
    };
    Ok(Wanted {
        name: None,
        numbers: Numbers {
            period_ns,
            is_periodic: true,
            deadline_ns: ns(args.deadline, "deadline")?.unwrap_or(period_ns),
            execution_ns,
            jitter_ns: 0,
            section_ns: 0,
            priority: None,
            locks: Vec::new(),
        },
        cpus: match cpu {
            Some(cpu) => vec![cpu],
            None => rt_cpus(root)?,
        },
        policy: args.policy.map(|policy| match policy {
            PolicyArg::Rm => Policy::Rm,
            PolicyArg::Dm => Policy::Dm,
            PolicyArg::Edf => Policy::Edf,
        }),
        platform,
        who: Who::Nobody,
        on_overrun: None,
    })
}

fn platform(path: &Path) -> anyhow::Result<Platform> {
    let text = file::read_text(path)?;
    let text = String::from_utf8(text).with_context(|| format!("{} is no text", path.display()))?;
    let wrong = |error| UsageError(format!("{}: {error}", path.display()));
    Ok(Platform::parse(&text).map_err(wrong)?)
}

fn of_file(task: &str, path: &Path, cpu: Option<u32>) -> anyhow::Result<Wanted> {
    let set = read_set(path)?;
    let Some(one) = set.tasks.iter().find(|one| one.name == task) else {
        let names: Vec<&str> = set.tasks.iter().map(|one| one.name.as_str()).collect();
        let (file, names) = (path.display(), names.join(", "));
        return Err(UsageError(format!("{file} has no task {task}; its tasks: {names}")).into());
    };
    if !set.is_preemptive && set.policy != Policy::Fifo {
        let sentence = format!(
            "{}: preemptive = false is analysed, and no policy of Linux keeps it; take policy = \
             \"fifo\", or leave it out",
            path.display()
        );
        return Err(UsageError(sentence).into());
    }
    if one.has_server {
        let sentence = format!(
            "{}: no analysis here knows the server of {task}",
            path.display()
        );
        return Err(UsageError(sentence).into());
    }
    Ok(Wanted {
        name: Some(task.to_owned()),
        numbers: Numbers::of(&set, one),
        cpus: vec![cpu.or(one.cpu).unwrap_or_else(|| placed(&set, task))],
        policy: Some(set.policy),
        platform: Some(set.platform.clone()),
        who: one.who.clone(),
        on_overrun: one.on_overrun,
    })
}

/// The CPU that `artis admit` gives the task.
fn placed(set: &Set, task: &str) -> u32 {
    let answer = artis_admit::admit(set);
    let mut cpus = answer.cpus.iter();
    let found = cpus.find(|cpu| cpu.tasks.iter().any(|one| one.name == task));
    found.map_or(set.cpus[0], |cpu| cpu.cpu)
}

/// The RT CPUs that there are: of the scheduler, of partitions, and of admitted tasks.
fn rt_cpus(root: &Root) -> anyhow::Result<Vec<u32>> {
    if let Some(scheduler) = scheduler::running(root)? {
        return Ok(scheduler.rt_cpus.iter().collect());
    }
    // Only root can read the journals, and only root can admit.
    let partitions = in_force(&Host::at(root.clone())).unwrap_or_default();
    let mut all = CpuList::from_iter(partitions.iter().flat_map(|one| one.rt.iter()));
    for of_cpu in register::read(root)?.cpus {
        all.insert(of_cpu.cpu);
    }
    match all.is_empty() {
        true => Err(UsageError(
            "no RT CPU is known here: no scheduler runs, nothing is partitioned, and no task was \
             admitted; say which CPU with --cpu"
                .to_owned(),
        )
        .into()),
        false => Ok(all.iter().collect()),
    }
}

/// The one thread that is meant: a task of the model is one.
fn thread(root: &Root, pid: i32, target: &Target) -> anyhow::Result<i32> {
    target.permit(protected::reason(root, pid))?;
    let count = threads::threads(root, pid).len();
    if !target.thread && count > 1 {
        let sentence = format!(
            "process {pid} has {count} threads, and a task of the model is one of them; add --thread, \
             and give the number that `ps -L -p {pid}` shows in the column LWP"
        );
        return Err(UsageError(sentence).into());
    }
    Ok(pid)
}

/// The running threads of this name.
fn named(root: &Root, name: &str) -> anyhow::Result<Vec<i32>> {
    let all = tasks::all(root)?;
    let tids = all
        .iter()
        .filter(|task| task.name == name && !task.is_kernel);
    let tids: Vec<i32> = tids.map(|task| task.tid).collect();
    match tids.is_empty() {
        true => Err(UsageError(format!(
            "no running thread is named {name}; start the program first, or name one with --pid"
        ))
        .into()),
        false => Ok(tids),
    }
}
