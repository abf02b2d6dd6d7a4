// SPDX-License-Identifier: GPL-2.0-only
//! Short commands, one after the other: how long each takes from its start until it has ended, as
//! a person at a shell or a script sees it.
//!
//! A command is started as a shell does it: fork(2), execve(2) in the child, wait4(2). Not with
//! `std::process::Command`: it calls `posix_spawn`, or waits on a pipe, and both keep the starter
//! waiting until the new program is loaded: another order of wakeups than a shell's.
//!
//! Owns the processes: each is the leader of a process group of its own, so Ctrl-C at the terminal
//! does not reach it, and all of the group is killed when the measurement is stopped. A command
//! that has been started by one that ended is left alone, as by a shell.

pub mod series;

use super::clock::{after_ns, now_ns, seconds};
use super::live::Live;
use super::program;
use super::thread::{self, Policy};
use super::threads::{self, SpawnError};
use artis_load::program::last_words;
use artis_load::usage::{Usage, wait_for};
use artis_machine::CpuList;
use artis_result::Distribution;
use artis_task::starter;
use nix::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{SigHandler, SigSet, Signal, killpg, signal};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{ForkResult, Pid, Whence, fork, ftruncate, getpid, lseek, setpgid, write};
use std::ffi::{CString, OsString, c_char};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::ExitStatus;
use std::ptr::null;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the caller looks at the thread that starts the commands.
const LOOK: Duration = Duration::from_millis(50);
/// Exit status of a child that could not become the command, as shells have it.
const NOT_RUN: i32 = 126;

/// A command whose program was found.
#[derive(Clone, Debug)]
pub struct Command {
    path: CString,
    words: Vec<CString>,
    /// As it was typed.
    in_words: String,
}

impl Command {
    /// Looks for the program as a shell does. A shell remembers where it was, so that is no part of
    /// the time.
    ///
    /// # Errors
    /// [`artis_load::Error::ProgramFailed`].
    pub fn find(words: &[OsString]) -> Result<Self, artis_load::Error> {
        let in_words = program::in_words(words);
        let no_zero = |word: &OsString| CString::new(word.as_bytes());
        let path = program::find(words)?.into_os_string().into_vec();
        let refused = |_| artis_load::Error::ProgramFailed {
            program: in_words.clone(),
            reason: "could not be started: a word of it has a zero byte".to_owned(),
        };
        Ok(Self {
            path: CString::new(path).map_err(refused)?,
            words: words
                .iter()
                .map(no_zero)
                .collect::<Result<_, _>>()
                .map_err(refused)?,
            in_words,
        })
    }
}

/// What is run, where, and how often.
#[derive(Clone, Debug)]
pub struct Plan {
    pub command: Command,
    /// CPUs that the commands and what starts them may use; none: those of this process.
    pub cpus: Option<CpuList>,
    /// Policy of the commands and of what starts them.
    pub policy: Policy,
    /// How many commands; none: they are not counted.
    pub count: Option<u64>,
    /// No command begins after this time; none: until `count`, or a stop.
    pub duration: Option<Duration>,
    /// From a command's end to the next one's start.
    pub pause: Duration,
}

/// What the commands took.
#[derive(Debug)]
pub struct Outcome {
    /// The time of each, ns: from before the fork until it has been waited for.
    pub times: Distribution,
    /// CPU time of each and of what it has waited for, ns: in user mode and in the kernel together,
    /// because the kernel measures the sum and only estimates, at its ticks, how it divides.
    pub cpu_times: Distribution,
    /// How long was measured, pauses included.
    pub seconds: f64,
    /// Why it ended before its time: a command failed.
    pub failed: Option<Error>,
}

/// Why commands could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Thread(#[from] thread::Error),
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error(transparent)]
    Command(#[from] artis_load::Error),
    #[error("could not {what} for the commands")]
    System {
        what: &'static str,
        source: std::io::Error,
    },
}

fn system<E: Into<std::io::Error>>(what: &'static str) -> impl FnOnce(E) -> Error {
    move |source| Error::System {
        what,
        source: source.into(),
    }
}

/// Runs commands until there are enough of them, the duration is over, or `stop` is not 0, after
/// one that is not recorded: it fills the caches. A stop kills the command that runs. `look` is
/// called twenty times a second.
///
/// # Errors
/// When no command was finished: one failed, or none could be started.
pub fn measure(
    plan: &Plan,
    stop: &AtomicUsize,
    look: &mut dyn FnMut(&Live),
) -> Result<Outcome, Error> {
    let live = Live::default();
    let running = Mutex::new(None);
    let outcome = threads::run_one(
        || Starter::prepare(plan, &running),
        |starter| starter.run(stop, &live),
        plan.duration.map_or(LOOK, |duration| duration.min(LOOK)),
        || {
            look(&live);
            if stop.load(Ordering::Relaxed) != 0 {
                kill(&running);
            }
        },
    )?;
    match outcome.failed {
        Some(error) if outcome.times.count() == 0 => Err(error),
        _ => Ok(outcome),
    }
}

/// Pauses, not longer than until a stop: signals come to another thread.
fn rest(pause: Duration, stop: &AtomicUsize) {
    let end = Instant::now() + pause;
    while stop.load(Ordering::Relaxed) == 0 {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(LOOK));
    }
}

/// Kills the command that runs. To be repeated: it may not be the leader of its group yet.
fn kill(running: &Mutex<Option<Pid>>) {
    // While this is held, nobody waits for the command, so its number is its own.
    let running = running.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(group) = *running {
        // It may have ended since.
        let _ = killpg(group, Signal::SIGKILL);
    }
}

/// The thread that starts the commands, one after the other.
struct Starter<'a> {
    plan: &'a Plan,
    /// What the kernel wants of `plan.command`: the words' addresses, and a null.
    arguments: Vec<*const c_char>,
    running: &'a Mutex<Option<Pid>>,
    /// Standard input and output of the commands.
    null: File,
    /// What a command says on standard error, for the case that it fails.
    said: OwnedFd,
}

impl<'a> Starter<'a> {
    fn prepare(plan: &'a Plan, running: &'a Mutex<Option<Pid>>) -> Result<Self, Error> {
        thread::prepare_on(plan.cpus.as_ref(), plan.policy)?;
        let words = plan.command.words.iter().map(|word| word.as_ptr());
        let null_device = File::options().read(true).write(true).open("/dev/null");
        let said = memfd_create("artis-commands", MFdFlags::MFD_CLOEXEC);
        Ok(Self {
            plan,
            arguments: words.chain([null()]).collect(),
            running,
            null: null_device.map_err(system("open /dev/null"))?,
            said: said.map_err(system("make a file in memory"))?,
        })
    }

    fn run(self, stop: &AtomicUsize, live: &Live) -> Outcome {
        let plan = self.plan;
        let mut outcome = Outcome {
            times: Distribution::new(),
            cpu_times: Distribution::new(),
            seconds: 0.0,
            failed: self.time().err(),
        };
        let is_stopped = || stop.load(Ordering::Relaxed) != 0;
        let began_ns = now_ns();
        let end_ns = after_ns(began_ns, plan.duration);
        while outcome.failed.is_none() && !is_stopped() {
            match self.time() {
                Ok((took_ns, used)) => {
                    outcome.times.record(took_ns.cast_signed());
                    live.publish(outcome.times.count(), took_ns.cast_signed());
                    let cpu_ns = (used.user + used.system).as_nanos();
                    let cpu_ns = i64::try_from(cpu_ns).unwrap_or(i64::MAX);
                    outcome.cpu_times.record(cpu_ns);
                }
                Err(error) => outcome.failed = Some(error),
            }
            let count = outcome.times.count();
            if plan.count.is_some_and(|wanted| count >= wanted) || now_ns() >= end_ns {
                break;
            }
            let left_ns = end_ns.saturating_sub(now_ns());
            rest(plan.pause.min(Duration::from_nanos(left_ns)), stop);
            if now_ns() >= end_ns {
                break;
            }
        }
        // The stop killed it.
        outcome.failed = outcome.failed.filter(|_| !is_stopped());
        outcome.seconds = seconds(began_ns, now_ns());
        outcome
    }

    /// Runs the command once: how long it took, and what it used.
    fn time(&self) -> Result<(u64, Usage), Error> {
        // Only the last command's words are kept.
        ftruncate(&self.said, 0)
            .and_then(|()| lseek(&self.said, 0, Whence::SeekSet))
            .map_err(system("empty a file in memory"))?;
        let starter = getpid();
        let began_ns = now_ns();
        // SAFETY: the child makes system calls and becomes the command, or ends in `_exit`.
        let child = match unsafe { fork() }.map_err(system("fork"))? {
            ForkResult::Parent { child } => child,
            ForkResult::Child => self.become_the_command(starter),
        };
        let (status, used) = self.wait(child)?;
        let took_ns = now_ns() - began_ns;
        match status.success() {
            true => Ok((took_ns, used)),
            false => Err(self.failed(status)),
        }
    }

    /// Waits for a command, as a shell does: in the kernel, for this one.
    fn wait(&self, child: Pid) -> Result<(ExitStatus, Usage), Error> {
        let running = || self.running.lock().unwrap_or_else(PoisonError::into_inner);
        *running() = Some(child);
        // It keeps its number until it is waited for without WNOWAIT, so that nobody else is
        // killed in its place.
        let ended = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        while waitid(Id::Pid(child), ended) == Err(Errno::EINTR) {}
        *running() = None;
        let (_, status, used) =
            wait_for(child.as_raw(), 0).ok_or_else(|| system("wait")(Errno::last()))?;
        Ok((status, used))
    }

    fn failed(&self, status: ExitStatus) -> Error {
        let said = format!("/proc/self/fd/{}", self.said.as_raw_fd());
        Error::Command(artis_load::Error::ProgramFailed {
            program: self.plan.command.in_words.clone(),
            reason: format!("{status}; {}", last_words(Path::new(&said))),
        })
    }

    /// In the child, where only system calls may be made.
    fn become_the_command(&self, starter: Pid) -> ! {
        let errno = match self.set_up(starter) {
            Err(errno) => errno,
            Ok(()) => {
                // SAFETY: the path and the words end with a zero, and the list of them with a null.
                unsafe { libc::execv(self.plan.command.path.as_ptr(), self.arguments.as_ptr()) };
                Errno::last()
            }
        };
        let _ = write(self.said.as_fd(), errno.desc().as_bytes());
        // SAFETY: ends the child without the destructors of its parent.
        unsafe { libc::_exit(NOT_RUN) }
    }

    /// What a command begins with: a group of its own, standard files, and no signal blocked or
    /// ignored by artis.
    fn set_up(&self, starter: Pid) -> Result<(), Errno> {
        let own = Pid::from_raw(0);
        setpgid(own, own)?;
        starter::ends_with(starter, Signal::SIGKILL)
            .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))?;
        for (file, standard) in [
            (self.null.as_raw_fd(), libc::STDIN_FILENO),
            (self.null.as_raw_fd(), libc::STDOUT_FILENO),
            (self.said.as_raw_fd(), libc::STDERR_FILENO),
        ] {
            // SAFETY: takes numbers only; nothing of this process uses its standard files again.
            Errno::result(unsafe { libc::dup2(file, standard) })?;
        }
        // SAFETY: no handler is installed.
        unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) }?;
        SigSet::empty().thread_set_mask()
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::SECOND_NS;
    use super::*;

    fn plan(words: &[&str]) -> Plan {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        Plan {
            command: Command::find(&words).unwrap(),
            cpus: None,
            policy: Policy::Normal,
            count: Some(5),
            duration: None,
            pause: Duration::ZERO,
        }
    }

    fn run(plan: &Plan) -> Result<Outcome, Error> {
        measure(plan, &AtomicUsize::new(0), &mut |_| ())
    }

    #[test]
    fn so_many_commands_are_timed() {
        let outcome = run(&plan(&["sh", "-c", "sleep 0.01; echo noise"])).unwrap();
        let times = outcome.times.moments().unwrap();
        assert_eq!(times.count, 5);
        assert!(times.min >= 10_000_000 && outcome.seconds >= 0.05);
        assert!(times.max as f64 <= outcome.seconds * SECOND_NS as f64);
        assert!(outcome.failed.is_none());
        let cpu_times = outcome.cpu_times.moments().unwrap();
        assert!(cpu_times.count == 5 && cpu_times.min > 0);
    }

    #[test]
    fn a_duration_ends_it_and_pauses_count() {
        let plan = Plan {
            count: None,
            duration: Some(Duration::from_millis(60)),
            pause: Duration::from_millis(20),
            ..plan(&["true"])
        };
        let outcome = run(&plan).unwrap();
        assert!((1..=4).contains(&outcome.times.count()), "{outcome:?}");
    }

    #[test]
    fn a_command_has_its_words_and_no_signal_of_artis_blocked_or_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file").display().to_string();
        let script = format!("echo \"$0 $1\" > {file}");
        run(&plan(&["sh", "-c", &script, "a b", "c"])).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "a b c\n");
        // Not by a shell: it blocks signals itself.
        run(&plan(&["cp", "/proc/self/status", &file])).unwrap();
        let of = |path: &str, set: &str| {
            let status = std::fs::read_to_string(path).unwrap();
            let set = status.lines().find_map(|line| line.strip_prefix(set));
            u64::from_str_radix(set.unwrap().trim(), 16).unwrap()
        };
        let [pipe, interrupt] = [libc::SIGPIPE, libc::SIGINT].map(|signal| 1 << (signal - 1));
        for set in ["SigBlk:", "SigIgn:"] {
            // A shell lets what it starts in the background ignore Ctrl-C, and that stays so.
            let inherited = of("/proc/thread-self/status", set) & interrupt;
            assert_eq!(of(&file, set) & (pipe | interrupt), inherited, "{set}");
        }
    }

    #[test]
    fn a_failure_has_the_commands_last_words_and_keeps_what_was_before() {
        let error = run(&plan(&["sh", "-c", "echo no luck >&2; exit 3"])).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("exit status: 3") && error.contains("no luck"),
            "{error}"
        );
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs");
        // Its fourth run fails: one is not recorded, two are.
        let script = format!("echo >> {0}; [ $(wc -l < {0}) -lt 4 ]", file.display());
        let outcome = run(&plan(&["sh", "-c", &script])).unwrap();
        assert_eq!(outcome.times.count(), 2);
        assert!(
            outcome
                .failed
                .unwrap()
                .to_string()
                .contains("exit status: 1")
        );
    }

    #[test]
    fn a_stop_kills_the_command_that_runs() {
        let stop = AtomicUsize::new(0);
        let mut plan = plan(&["sleep", "600"]);
        plan.count = None;
        let began = Instant::now();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                stop.store(2, Ordering::Relaxed);
            });
            measure(&plan, &stop, &mut |_| ()).unwrap()
        });
        assert!(outcome.failed.is_none() && outcome.times.count() == 0);
        // A limit for a machine that hangs: the command takes ten minutes.
        assert!(began.elapsed() < Duration::from_secs(300));
    }

    #[test]
    fn a_file_that_is_no_program_is_refused_with_the_reason() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("text");
        std::fs::write(&file, "neither ELF nor script\n").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        let error = run(&plan(&[file.to_str().unwrap()])).unwrap_err();
        assert!(error.to_string().contains("Exec format error"), "{error}");
        let error = Command::find(&["no-such-program".into()]).unwrap_err();
        assert!(error.to_string().contains("PATH"), "{error}");
        let error = Command::find(&["true".into(), "a\0b".into()]).unwrap_err();
        assert!(error.to_string().contains("zero byte"), "{error}");
    }
}
