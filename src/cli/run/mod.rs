// SPDX-License-Identifier: GPL-2.0-only
//! `artis run`: start a command, or change a running task, as RT0, RT1+ or Linux task.
//!
//! The command replaces this process, so its exit status and signals are its own.

mod model;
mod overruns;

use super::exit::UsageError;
use super::output::stdout;
use super::value;
use crate::check::obstacle::Obstacle;
use crate::machine::cpus::Cpus;
use crate::machine::kernel::Kernel;
use crate::machine::scx::Interface;
use crate::machine::{CpuList, Root, cgroup};
use crate::partition::plan::{Plan, Request};
use crate::task::protected::{self, Protected};
use crate::task::scheduler::{self, Scheduler};
use crate::task::{Class, shield, threads};
use anyhow::Context;
use artis_admitted::register;
use artis_run::start::not_started;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

#[derive(clap::Args)]
#[command(
    after_help = "A command's exit status is its own; 126: it cannot be run, 127: it was not found.\
                  \n\n\
                  Example:\n  artis run rt0 --cpu 1 -- ./controller"
)]
pub struct Args {
    #[command(subcommand)]
    class: ClassArgs,
}

#[derive(clap::Subcommand)]
enum ClassArgs {
    /// Hard real time: SCHED_FIFO, bound to one RT CPU
    ///
    /// With --period and --budget, or --task and --model, the task is admitted first: analysed
    /// with all admitted tasks of its CPU, and refused with the analysis (status 2) when one of
    /// them could miss its deadline. Priorities are moved as the policy says; with edf the kernel
    /// has a reservation for the task (SCHED_DEADLINE) and holds it at ticks. A task is one thread:
    /// threads that it starts are normal tasks. `artis tasks --model` shows the admitted ones.
    #[command(
        after_help = "Examples:\n  artis run rt0 --cpu 1 --priority 80 -- ./controller\n  \
                            artis run rt0 --cpu 1 --period 1ms --budget 200us -- ./controller"
    )]
    Rt0 {
        /// RT CPU to bind the task to; an admitted one takes the first RT CPU on which it fits
        #[arg(long, value_name = "N", value_parser = value::cpus::one)]
        #[arg(required_unless_present_any = ["period", "task"])]
        cpu: Option<u32>,
        /// SCHED_FIFO priority, 1 to 99; 99 is the highest
        #[arg(long, default_value_t = 99, value_name = "P",
              value_parser = value::number::whole(1..=99_u8))]
        priority: u8,
        #[command(flatten)]
        model: model::ModelArgs,
        #[command(flatten)]
        target: Target,
    },
    /// Soft real time: first on RT CPUs among the tasks that leave them for kernel work
    #[command(after_help = "Example:\n  artis run rt1 --level 5 -- ./vision")]
    Rt1 {
        /// Level, 1 to 40; 1 is the highest (nice -20), 40 the lowest (nice 19)
        #[arg(long, value_name = "L", value_parser = value::number::whole(1..=40_u8))]
        level: u8,
        #[command(flatten)]
        target: Target,
    },
    /// No real-time constraint: SCHED_NORMAL with nice value 0
    ///
    /// A task that was RT0 may use every CPU of its cpuset again; an affinity that was set for
    /// another reason stays.
    #[command(after_help = "Example:\n  artis run linux --pid 4711")]
    Linux {
        #[command(flatten)]
        target: Target,
    },
    /// Watches the jobs of an admitted task until it ends; started by `artis run rt0`
    #[command(hide = true)]
    Overruns {
        #[arg(value_parser = value::number::process)]
        tid: i32,
    },
}

/// Whom to change: a command that is about to start, or a running process.
#[derive(clap::Args)]
#[group(skip)]
struct Target {
    /// Change a running process, all its threads
    #[arg(long, conflicts_with = "command", value_parser = value::number::process)]
    pid: Option<i32>,
    /// Change only the thread whose number --pid is
    #[arg(long, requires = "pid", conflicts_with = "command")]
    thread: bool,
    /// Allow --pid to be a thread of the kernel
    #[arg(long, requires = "pid", conflicts_with = "command")]
    kernel_thread: bool,
    /// Allow --pid to be a running artis
    #[arg(long, requires = "pid", conflicts_with = "command")]
    artis_thread: bool,
    /// Say, when the command has ended, who made its threads late
    #[arg(long, conflicts_with = "pid")]
    explain: bool,
    /// No warning, and no word about what was changed
    #[arg(short, long)]
    quiet: bool,
    /// Command to start, with its arguments
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    command: Vec<OsString>,
}

/// Runs the command: only returns when it changed a running task, or failed.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (class, target) = match args.class {
        ClassArgs::Overruns { tid } => return overruns::watch(tid),
        ClassArgs::Rt0 {
            cpu, model, target, ..
        } if model.is_asked() => {
            if target.explain {
                return explain(&target);
            }
            return model::run(&Root::default(), cpu, &model, &target);
        }
        ClassArgs::Rt0 {
            cpu,
            priority,
            model,
            target,
        } => {
            model.must_be_idle()?;
            // clap asks for one unless there is a model.
            let cpu = cpu.context("there is no --cpu")?;
            (Class::Rt0 { cpu, priority }, target)
        }
        ClassArgs::Rt1 { level, target } => (Class::Rt1 { level }, target),
        ClassArgs::Linux { target } => (Class::Linux, target),
    };
    target.needs_command()?;
    if target.explain {
        return explain(&target);
    }
    let root = Root::default();
    if let Some(tid) = target.pid {
        target.permit(protected::reason(&root, tid))?;
    }
    let warnings = [check(&root, class)?, among_admitted(&root, class)];
    for warning in warnings.iter().flatten().filter(|_| !target.quiet) {
        say!("artis: warning: {warning}");
    }
    match target.pid {
        None => {
            leave(&root, |tid| tid == nix::unistd::gettid().as_raw());
            class.apply(&root, nix::unistd::gettid().as_raw())?;
            become_command(&target.command)
        }
        Some(tid) => {
            let changed = change(&root, class, tid, target.thread)?;
            if !target.quiet {
                writeln!(stdout(), "{changed}")?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Threads that are no longer what was admitted leave the register. A register that cannot be read
/// keeps nobody from changing a task.
fn leave(root: &Root, is_leaving: impl Fn(i32) -> bool) {
    if let Err(error) = register::leave(root, is_leaving) {
        say!("artis: warning: {:#}", anyhow::Error::from(error));
    }
}

/// The warning for an RT0 task that comes to an RT CPU without being admitted.
fn among_admitted(root: &Root, class: Class) -> Option<String> {
    let Class::Rt0 { cpu, .. } = class else {
        return None;
    };
    let count = register::read(root).ok()?.of_cpu(cpu)?.tasks.len();
    let tasks = if count == 1 { "task" } else { "tasks" };
    Some(format!(
        "CPU {cpu} has {count} admitted {tasks}, whose bounds do not count this one; admit it with \
         --period and --budget"
    ))
}

/// Runs the same without `--explain`, as a command that is watched.
fn explain(target: &Target) -> anyhow::Result<ExitCode> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    words.truncate(words.len() - target.command.len());
    words.retain(|word| word != "--explain");
    words.extend(target.command.iter().cloned());
    if let Some(own) = words.first_mut() {
        *own = std::env::current_exe()
            .context("cannot find this program to start it again")?
            .into_os_string();
    }
    let program = target.command.first().map_or(OsStr::new(""), |word| word);
    super::explain::run::command(words, program, target.quiet)
}

impl Target {
    /// Asks for a command where there is nothing else to change.
    fn needs_command(&self) -> Result<(), UsageError> {
        match self.pid.is_none() && self.command.is_empty() {
            true => Err(UsageError(
                "there is no command to start; write it after --, as in `-- ./controller`, or name \
                 a running task with --pid"
                    .to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// Refuses a protected task unless its flag is set.
    fn permit(&self, protected: Option<Protected>) -> Result<(), UsageError> {
        match protected {
            Some(Protected::Kernel { .. }) if self.kernel_thread => Ok(()),
            Some(Protected::Artis { .. }) if self.artis_thread => Ok(()),
            Some(protected) => Err(UsageError(protected.to_string())),
            None => Ok(()),
        }
    }
}

/// Changes a running task, or all threads of a process, and says so.
fn change(root: &Root, class: Class, pid: i32, only_thread: bool) -> anyhow::Result<String> {
    let threads = threads::threads(root, pid);
    leave(root, |tid| match only_thread {
        true => tid == pid,
        false => threads.contains(&tid),
    });
    if only_thread {
        class.apply(root, pid)?;
        return Ok(format!("task {pid} is now {class}"));
    }
    let count =
        threads::apply_to_all(root, pid, class).with_context(|| format!("process {pid}"))?;
    let plural = if count == 1 { "" } else { "s" };
    Ok(format!(
        "process {pid}, {count} thread{plural}, is now {class}"
    ))
}

/// Whether the class makes sense on this machine: a warning, or a [`UsageError`].
fn check(root: &Root, class: Class) -> anyhow::Result<Option<String>> {
    match class {
        Class::Linux => Ok(None),
        Class::Rt0 { cpu, .. } => match scheduler::running(root)? {
            Some(Scheduler { rt_cpus, .. }) if rt_cpus.contains(cpu) => Ok(None),
            Some(Scheduler { rt_cpus, .. }) => Err(not_an_rt_cpu(cpu, &rt_cpus)),
            None => Ok(unprotected(root, cpu)),
        },
        // Without sched_ext the kernel refuses, and that error says more.
        Class::Rt1 { .. } if !root.exists(scheduler::SCHED_EXT) => Ok(None),
        Class::Rt1 { .. } => Ok(scheduler::running(root)?.is_none().then(|| {
            let remedy = match sharing_obstacle(root) {
                None => "until `artis sched run --rt LIST` starts it".to_owned(),
                Some(obstacle) => format!("and it cannot be: {obstacle}"),
            };
            format!(
                "the artis scheduler is not on, so this is a normal task with a nice value {remedy}"
            )
        })),
    }
}

fn not_an_rt_cpu(cpu: u32, rt_cpus: &CpuList) -> anyhow::Error {
    UsageError(format!(
        "CPU {cpu} is not an RT CPU of the running scheduler; RT CPUs: {rt_cpus}; choose one of \
         those with --cpu"
    ))
    .into()
}

/// Why no scheduler can run on this kernel, as `artis sched run` and `artis check` say it.
fn sharing_obstacle(root: &Root) -> Option<String> {
    let kernel = Kernel::read(root).ok()?;
    let interface = Interface::read(root).ok().flatten();
    let cpus = Cpus::read(root).ok();
    let obstacles = Obstacle::all(&kernel, interface.as_ref(), cpus.as_ref());
    Some(obstacles.first()?.cause(&kernel))
}

/// The warning for an RT0 task without the scheduler, with what can be done about it here; none
/// where other tasks are kept away from the CPU.
fn unprotected(root: &Root, cpu: u32) -> Option<String> {
    let one = CpuList::from_iter([cpu]);
    let isolated = Cpus::read(root).is_ok_and(|cpus| cpus.isolated.contains(cpu));
    let partitions = cgroup::isolated(root).ok().flatten();
    if isolated || partitions.is_some_and(|cpus| cpus.contains(cpu)) || shield::has(root, &one) {
        return None;
    }
    let shielded = Request::new(root, &one).ok().map(|request| Request {
        shield: true,
        ..request
    });
    let can_shield = shielded.is_some_and(|request| !Plan::make(root, &request).lacks_shield());
    let keeps_away = format!("`artis partition apply --rt {cpu} --shield` keeps other tasks away");
    let remedy = match (sharing_obstacle(root), can_shield) {
        (None, _) => format!("start it with `artis sched run --rt {cpu}`"),
        (Some(obstacle), true) => format!("{obstacle}, but {keeps_away}"),
        (Some(obstacle), false) => format!(
            "{obstacle}, and there can be no shield (`artis partition plan --rt {cpu} --shield` says \
             why): boot with isolcpus=domain,managed_irq,{cpu}"
        ),
    };
    Some(format!(
        "the artis scheduler is not on, so other tasks' kernel work may delay this one on CPU \
         {cpu}; {remedy}"
    ))
}

/// Becomes the command: returns when it cannot be run.
fn become_command(command: &[OsString]) -> anyhow::Result<ExitCode> {
    let (program, arguments) = command.split_first().context("there is no command")?;
    let error = Command::new(program).args(arguments).exec();
    let (code, reason) = not_started(program, &error);
    say!("artis: could not run {}: {reason}", program.display());
    Ok(ExitCode::from(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    const SCHEDULER: [(&str, &str); 2] = [
        ("sys/kernel/sched_ext/root/ops", "artis\n"),
        (
            "run/artis/sched.json",
            r#"{"rt_cpus": "1,3", "nrt_cpus": "0,2", "pid": 7}"#,
        ),
    ];

    fn rt0(cpu: u32) -> Class {
        Class::Rt0 { cpu, priority: 99 }
    }

    #[test]
    fn rt0_goes_to_rt_cpus_of_the_running_scheduler_only() {
        let (_folder, root) = canned(&SCHEDULER);
        assert_eq!(check(&root, rt0(3)).unwrap(), None);
        let error = check(&root, rt0(2)).unwrap_err();
        assert!(error.is::<UsageError>());
        let text = error.to_string();
        assert!(text.contains("CPU 2 is not an RT CPU"), "{text}");
        assert!(text.contains("RT CPUs: 1,3"), "{text}");
        assert_eq!(check(&root, Class::Rt1 { level: 1 }).unwrap(), None);
    }

    /// A machine of two CPUs with sched_ext and cgroup v2, and these files.
    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let usual = [
            ("sys/devices/system/cpu/online", "0-1\n"),
            ("sys/devices/system/cpu/possible", "0-1\n"),
            ("proc/sys/kernel/osrelease", "7.3.4\n"),
            ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n"),
            ("sys/kernel/debug/sched/preempt", "none full (lazy)\n"),
            ("sys/kernel/sched_ext/state", "disabled\n"),
            ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n"),
            ("sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu\n"),
        ];
        canned(&[&usual, files].concat())
    }

    #[test]
    fn without_a_scheduler_real_time_classes_warn() {
        let (_folder, root) = machine(&[]);
        let warning = check(&root, rt0(1)).unwrap().unwrap();
        assert!(warning.contains("artis sched run --rt 1"), "{warning}");
        assert!(check(&root, Class::Rt1 { level: 1 }).unwrap().is_some());
        assert_eq!(check(&root, Class::Linux).unwrap(), None);
    }

    #[test]
    fn where_it_cannot_run_nobody_is_sent_to_the_scheduler() {
        let isolcpus = ("proc/cmdline", "isolcpus=0\n");
        let (folder, root) = machine(&[isolcpus, ("sys/devices/system/cpu/isolated", "0\n")]);
        let warning = check(&root, rt0(1)).unwrap().unwrap();
        assert!(warning.contains("isolcpus= for CPU 0"), "{warning}");
        assert!(
            warning.contains("partition apply --rt 1 --shield"),
            "{warning}"
        );
        assert!(!warning.contains("sched run"), "{warning}");
        let words = check(&root, Class::Rt1 { level: 1 }).unwrap().unwrap();
        assert!(
            words.contains("isolcpus=") && !words.contains("sched run"),
            "{words}"
        );
        std::fs::remove_dir_all(folder.path().join("sys/fs/cgroup")).unwrap();
        let warning = check(&root, rt0(1)).unwrap().unwrap();
        assert!(warning.contains("there can be no shield"), "{warning}");
        std::fs::remove_dir_all(folder.path().join("sys/kernel/sched_ext")).unwrap();
        let warning = check(&root, rt0(1)).unwrap().unwrap();
        assert!(warning.contains("has no sched_ext"), "{warning}");
        assert_eq!(check(&root, Class::Rt1 { level: 1 }).unwrap(), None);
    }

    #[test]
    fn a_cpu_that_others_are_kept_from_needs_no_warning() {
        for file in [
            ("sys/devices/system/cpu/isolated", "1\n"),
            ("sys/fs/cgroup/cpuset.cpus.isolated", "1\n"),
            ("sys/fs/cgroup/artis-rt/cpuset.cpus", "1\n"),
        ] {
            let (_folder, root) = machine(&[file]);
            assert_eq!(check(&root, rt0(1)).unwrap(), None, "{file:?}");
        }
    }
}
