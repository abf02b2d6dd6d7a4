// SPDX-License-Identifier: GPL-2.0-only
//! The watch of one admitted task: a process beside it that counts its jobs, and does what
//! `--on-overrun` says. It ends when the task ends, or is admitted no more.

use crate::cli::exit::UsageError;
use crate::machine::cpus::Cpus;
use crate::machine::{CpuList, Root};
use crate::task::{Class, syscall};
use anyhow::{Context, bail};
use artis_admit::answer::time;
use artis_admitted::jobs::{Counted, Jobs, Limits};
use artis_admitted::seen::Seen;
use artis_admitted::{Admitted, OnOverrun, register};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{ForkResult, Pid, dup2_stderr, fork, getppid, setsid};
use std::fs::File;
use std::io::{self, IsTerminal};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// How often jobs are looked at: an endless one is noticed so soon.
const LOOK: Duration = Duration::from_millis(5);
/// How often the register is read, and what was seen is left for others.
const LEAVE: Duration = Duration::from_secs(1);
/// How often overruns are said.
const SAY: Duration = Duration::from_secs(10);
/// A process that is asked to end has so long.
const PATIENCE: Duration = Duration::from_secs(1);

/// Starts the watch of an admitted thread; it sees the thread's next job.
pub fn start(tid: i32) -> anyhow::Result<()> {
    let own = std::env::current_exe().context("cannot find this program to start it again")?;
    let status = Command::new(own)
        .args(["run", "overruns", &tid.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    // What it says when it fails is on standard error already.
    match status.context("cannot start the watch of overruns")? {
        status if status.success() => Ok(()),
        _ => bail!("task {tid} is admitted, and nobody watches its overruns"),
    }
}

/// Whom it watches.
struct Watched {
    root: Root,
    task: Admitted,
    limits: Limits,
    action: OnOverrun,
}

/// Loads the watch, and goes on in a process of its own.
pub fn watch(tid: i32) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    let register = register::read(&root)?;
    let found = register.cpus.iter().find_map(|of_cpu| {
        let task = of_cpu.tasks.iter().find(|task| task.tid == tid)?;
        Some((of_cpu, task.clone()))
    });
    let Some((of_cpu, task)) = found else {
        return Err(UsageError(format!("task {tid} is not admitted")).into());
    };
    let limits = of_cpu.limits(&task);
    leave(&root, of_cpu.cpu)?;
    let jobs = Jobs::load()?;
    jobs.watch(tid, limits)?;
    let watched = Watched {
        root,
        action: task.on_overrun.unwrap_or(OnOverrun::Report),
        task,
        limits,
    };
    // The parent becomes the command whose thread this is; else it ends, and its caller goes on.
    let is_commands = getppid().as_raw() == tid;
    // SAFETY: this process has one thread, so nothing is held that the child would wait for.
    match unsafe { fork() }.context("cannot go on in the background")? {
        ForkResult::Parent { child } => {
            let mut nothing = Seen::of(tid, watched.task.start_ticks, 0, &Counted::default());
            let left = nothing.write(&watched.root, child.as_raw());
            left.context("cannot leave word that it is watched")?;
            Ok(ExitCode::SUCCESS)
        }
        ForkResult::Child => {
            // Ctrl-C is for the command. A session of its own is no condition for watching.
            let _ = setsid();
            if !is_commands && !io::stderr().is_terminal() {
                // Whoever reads what the caller says would wait for this process; `artis tasks
                // --model` has the overruns.
                let null = File::options().write(true).open("/dev/null");
                let null = null.context("cannot open /dev/null")?;
                dup2_stderr(null).context("cannot let go of standard error")?;
            }
            watched.look(&jobs)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Leaves the CPU of the task: from there it could not end an endless job.
fn leave(root: &Root, cpu: u32) -> anyhow::Result<()> {
    let online = Cpus::read(root)?.online;
    let others: CpuList = online.iter().filter(|other| *other != cpu).collect();
    if others.is_empty() {
        bail!("overruns are watched from another CPU, and this machine has only CPU {cpu}");
    }
    syscall::set_affinity(0, &others).context("cannot leave the CPU of the task")?;
    Ok(())
}

impl Watched {
    fn look(&self, jobs: &Jobs) -> anyhow::Result<()> {
        let tid = self.task.tid;
        let began = Instant::now();
        let mut left = began;
        let mut said: Option<Instant> = None;
        let mut overruns = 0;
        let mut unbroken = Unbroken::default();
        loop {
            std::thread::sleep(LOOK);
            let Some(counted) = jobs.counted(tid) else {
                return Ok(());
            };
            if left.elapsed() >= LEAVE || !self.is_alive() {
                left = Instant::now();
                if !self.is_admitted()? {
                    Seen::remove(&self.root, tid);
                    return Ok(());
                }
                let watched_ns = began.elapsed().as_nanos() as u64;
                let mut seen = Seen::of(tid, self.task.start_ticks, watched_ns, &counted);
                seen.write(&self.root, nix::unistd::getpid().as_raw())
                    .context("cannot leave what was seen")?;
            }
            let unbroken_ns = unbroken.look(&self.root, tid, self.limits);
            let over_ns = unbroken_ns.filter(|ns| *ns > self.limits.budget_ns);
            if counted.overruns <= overruns && over_ns.is_none() {
                continue;
            }
            overruns = counted.overruns;
            if said.is_none_or(|at| at.elapsed() >= SAY) {
                said = Some(Instant::now());
                self.say(&counted, over_ns);
            }
            if self.action != OnOverrun::Report {
                return self.stop();
            }
        }
    }

    fn is_alive(&self) -> bool {
        register::is_alive(&self.root, self.task.tid, self.task.start_ticks)
    }

    fn is_admitted(&self) -> anyhow::Result<bool> {
        let register = register::read(&self.root)?;
        let same =
            |one: &Admitted| one.tid == self.task.tid && one.start_ticks == self.task.start_ticks;
        Ok(register.tasks().any(|(_, one)| same(one)))
    }

    fn say(&self, counted: &Counted, over_ns: Option<u64>) {
        let Admitted { name, tid, .. } = &self.task;
        let so_far = counted.over_ns.max(over_ns);
        let under_way = u64::from(so_far.is_some());
        say!(
            "artis: {name} ({tid}): a job executed {}, and its budget is {} with what interrupts may \
             take; {} of {} jobs were too long",
            time(so_far.unwrap_or(counted.execution_ns_max)),
            time(self.limits.budget_ns),
            counted.overruns.max(under_way),
            counted.jobs + under_way
        );
    }

    /// The thread becomes a normal task, and its process ends where that was asked for.
    fn stop(&self) -> anyhow::Result<()> {
        let Admitted { name, tid, pid, .. } = &self.task;
        // It may have ended itself meanwhile, which is what is wanted.
        let demoted = Class::Linux.apply(&self.root, *tid);
        register::leave(&self.root, |one| one == *tid)?;
        Seen::remove(&self.root, *tid);
        match (self.action, demoted) {
            (OnOverrun::End, _) if self.is_alive() => {
                say!("artis: {name} ({tid}): its process {pid} is ended");
                self.end(*pid)
            }
            (_, Ok(())) => {
                say!("artis: {name} ({tid}) is now a normal task");
                Ok(())
            }
            (_, Err(_)) if !self.is_alive() => Ok(()),
            (_, Err(error)) => Err(error).context("could not stop a task that overran"),
        }
    }

    fn end(&self, pid: i32) -> anyhow::Result<()> {
        let pid = Pid::from_raw(pid);
        let asked = Instant::now();
        // One that has ended needs no signal.
        let _ = kill(pid, Signal::SIGTERM);
        while self.is_alive() {
            if asked.elapsed() >= PATIENCE {
                let _ = kill(pid, Signal::SIGKILL);
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// How long a thread has executed without sleeping: the kernel's own count, for a job that was
/// under way before its wakeups were watched.
#[derive(Default)]
struct Unbroken {
    sleeps: Option<u64>,
    from_ns: u64,
    from: Option<Instant>,
}

impl Unbroken {
    /// Nanoseconds since it slept last, or since it is looked at, for each job that there may be;
    /// none: the kernel does not say.
    fn look(&mut self, root: &Root, tid: i32, limits: Limits) -> Option<u64> {
        let stat = root.hint(format!("/proc/{tid}/schedstat"))?;
        let executed_ns: u64 = stat.split_whitespace().next()?.parse().ok()?;
        let status = root.hint(format!("/proc/{tid}/status"))?;
        let mut lines = status.lines();
        let sleeps = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        let sleeps = sleeps.trim().parse().ok();
        if sleeps != self.sleeps {
            (self.sleeps, self.from_ns) = (sleeps, executed_ns);
            self.from = Some(Instant::now());
        }
        let length = self.from.map_or(Duration::ZERO, |from| from.elapsed());
        // One may have been under way before it was looked at.
        let jobs = limits.jobs_max(length.as_nanos() as u64) + 1;
        Some(executed_ns.saturating_sub(self.from_ns) / jobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    #[test]
    fn a_thread_that_sleeps_begins_anew() {
        let (_folder, root) = canned(&[
            ("proc/7/schedstat", "5000 1 1\n"),
            ("proc/7/status", "voluntary_ctxt_switches:\t3\n"),
        ]);
        let write = |file: &str, text: &str| {
            std::fs::write(root.path(format!("/proc/7/{file}")), text).unwrap();
        };
        let limits = Limits {
            budget_ns: 1,
            period_ns: 1 << 50,
            jitter_ns: 0,
        };
        let mut unbroken = Unbroken::default();
        let mut look = |tid| unbroken.look(&root, tid, limits);
        assert_eq!(look(7), Some(0));
        write("schedstat", "9000 1 1\n");
        // Two jobs may be in it.
        assert_eq!(look(7), Some(2000));
        write("status", "voluntary_ctxt_switches:\t4\n");
        assert_eq!(look(7), Some(0));
        assert_eq!(look(8), None);
    }
}
