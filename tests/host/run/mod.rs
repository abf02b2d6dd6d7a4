// SPDX-License-Identifier: GPL-2.0-only
//! `artis run` on the kernel of this machine: policies, affinity and exit status as `/proc`
//! and `wait` see them.

mod process;

use crate::common;
use artis::machine::privilege::{Capability, Privilege};
use artis::machine::{CpuList, Root, cpus::Cpus};
use artis::task::threads::threads;
use process::{Guest, Task};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const ARTIS: &str = env!("CARGO_BIN_EXE_artis");
const NOBODY: u32 = 65534;
const FIFO: u32 = 1;
const NORMAL: u32 = 0;

/// Why a test of real-time policies cannot run here, even as root.
fn obstacle() -> Option<&'static str> {
    (online().len() < 2).then_some("needs two online CPUs")
}

/// Goes on as root; ends the test, loudly, when it cannot run here.
macro_rules! need {
    ($test:literal, $obstacle:expr) => {
        as_root!($test);
        if let Some(reason) = $obstacle {
            return common::skipped($test, reason);
        }
    };
}

/// Goes on as root where an ordinary user may not go back to nice 0, which a Linux task has.
macro_rules! need_nice_0 {
    ($test:literal) => {
        if own_nice() > 0 {
            as_root!($test);
        }
    };
}

mod admitted;
mod refused;
mod sets;

use refused::as_nobody;

fn online() -> CpuList {
    Cpus::read(&Root::default()).unwrap().online
}

/// The CPU that tests bind to.
fn cpu() -> String {
    online().last().unwrap().to_string()
}

fn artis(words: &[&str]) -> Output {
    Command::new(ARTIS).arg("run").args(words).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", stderr(output));
}

/// The nice value that every process here inherits.
fn own_nice() -> i32 {
    Task::read(Path::new("/proc/self")).unwrap().nice
}

/// An RT0 task on [`cpu`].
fn rt0(priority: u32) -> Task {
    Task {
        nice: own_nice(),
        priority,
        policy: FIFO,
        cpus: cpu().parse().unwrap(),
    }
}

#[test]
fn a_command_becomes_rt0_bound_to_its_cpu_and_so_do_its_children() {
    need!(
        "a_command_becomes_rt0_bound_to_its_cpu_and_so_do_its_children",
        obstacle()
    );
    let script = "cat /proc/self/stat; cat /proc/self/status";
    for (words, priority) in [(&["--priority", "42"][..], 42), (&[], 99)] {
        let cpu = cpu();
        let words = [&["rt0", "--cpu", &cpu], words, &["--", "sh", "-c", script]].concat();
        let output = artis(&words);
        succeeded(&output);
        let folder = tempfile::tempdir().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (stat, status) = text.split_once('\n').unwrap();
        fs::write(folder.path().join("stat"), stat).unwrap();
        fs::write(folder.path().join("status"), status).unwrap();
        assert_eq!(Task::read(folder.path()).unwrap(), rt0(priority));
    }
}

#[test]
fn the_command_replaces_artis() {
    need!("the_command_replaces_artis", obstacle());
    let guest = Guest::asleep(|command| {
        *command = Command::new(ARTIS);
        command.args(["run", "rt0", "--cpu", &cpu(), "--", "sleep", "600"]);
    });
    becomes(&guest, "sleep");
    assert_eq!(Task::of(&guest), rt0(99));
}

#[test]
fn exit_status_and_signals_are_the_commands_own() {
    need_nice_0!("exit_status_and_signals_are_the_commands_own");
    let shell = |script| artis(&["linux", "--", "sh", "-c", script]).status;
    assert_eq!(shell("exit 0").code(), Some(0));
    assert_eq!(shell("exit 7").code(), Some(7));
    assert_eq!(shell("kill -TERM $$").signal(), Some(libc::SIGTERM));
    assert_eq!(shell("kill -PIPE $$").signal(), Some(libc::SIGPIPE));
}

#[test]
fn commands_that_cannot_start_end_as_in_a_shell() {
    need_nice_0!("commands_that_cannot_start_end_as_in_a_shell");
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, mode| {
        let path = folder.path().join(name);
        fs::write(&path, "#!/nonexistent/interpreter\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    for (command, code, words) in [
        (
            "no-such-command-at-all".to_owned(),
            127,
            "no folder of PATH",
        ),
        ("/no/such/command".to_owned(), 127, "check the path"),
        (file("script", 0o755), 127, "not the interpreter"),
        (file("text", 0o644), 126, "chmod +x"),
    ] {
        let output = artis(&["linux", "--", &command]);
        assert_eq!(output.status.code(), Some(code), "{command}");
        let text = stderr(&output);
        assert!(text.contains(words) && text.contains(&command), "{text}");
    }
}

#[test]
fn all_threads_change_also_those_made_meanwhile() {
    need!("all_threads_change_also_those_made_meanwhile", obstacle());
    let guest = Guest::with_threads();
    let words = [
        "rt0",
        "--cpu",
        &cpu(),
        "--priority",
        "1",
        "--pid",
        &guest.pid(),
    ];
    let output = artis(&words);
    succeeded(&output);
    let tasks = tasks(&guest);
    assert!(tasks.len() >= 4, "{tasks:?}");
    for task in tasks {
        assert_eq!(task, rt0(1));
    }
}

#[test]
fn one_thread_changes_alone() {
    need!("one_thread_changes_alone", obstacle());
    let guest = Guest::with_threads();
    let words = ["rt0", "--cpu", &cpu(), "--thread", "--pid", &guest.pid()];
    succeeded(&artis(&words));
    let tasks = tasks(&guest);
    assert!(tasks.len() >= 4, "{tasks:?}");
    let (changed, others): (Vec<_>, Vec<_>) =
        tasks.into_iter().partition(|task| task.policy == FIFO);
    assert_eq!(changed, [rt0(99)]);
    assert!(others.iter().all(|task| task.cpus.len() > 1), "{others:?}");
}

fn tasks(guest: &Guest) -> Vec<Task> {
    threads(&Root::default(), guest.0.as_raw())
        .into_iter()
        .filter_map(|tid| Task::read(Path::new(&format!("/proc/{0}/task/{tid}", guest.0))))
        .collect()
}

#[test]
fn a_linux_task_loses_the_binding_of_rt0_and_no_other() {
    need!(
        "a_linux_task_loses_the_binding_of_rt0_and_no_other",
        obstacle()
    );
    let guest = Guest::asleep(|_| ());
    let before = Task::of(&guest);
    succeeded(&artis(&["rt0", "--cpu", &cpu(), "--pid", &guest.pid()]));
    assert_eq!(Task::of(&guest), rt0(99));
    succeeded(&artis(&["linux", "--pid", &guest.pid()]));
    // A Linux task has nice value 0, whatever it had.
    assert_eq!(Task::of(&guest), Task { nice: 0, ..before });

    let bound = Guest::asleep(|command| {
        *command = Command::new("taskset");
        command.args(["--cpu-list", &cpu(), "sleep", "600"]);
    });
    let expected = Task {
        policy: NORMAL,
        priority: 0,
        ..rt0(0)
    };
    while Task::of(&bound) != expected {
        std::thread::sleep(Duration::from_millis(5));
    }
    succeeded(&artis(&["linux", "--pid", &bound.pid()]));
    assert_eq!(
        Task::of(&bound),
        Task {
            nice: 0,
            ..expected
        }
    );
}

#[test]
fn rt1_is_sched_ext_with_a_nice_value_or_says_what_is_missing() {
    need!(
        "rt1_is_sched_ext_with_a_nice_value_or_says_what_is_missing",
        obstacle()
    );
    let guest = Guest::asleep(|_| ());
    let output = artis(&["rt1", "--level", "1", "--pid", &guest.pid()]);
    let task = Task::of(&guest);
    if Path::new("/sys/kernel/sched_ext").exists() {
        succeeded(&output);
        assert_eq!((task.policy, task.nice), (7, -20));
    } else {
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("CONFIG_SCHED_CLASS_EXT"));
        assert_eq!((task.policy, task.nice), (NORMAL, own_nice()));
    }
}

#[test]
fn a_closed_folder_in_path_does_not_hide_that_there_is_no_command() {
    need!(
        "a_closed_folder_in_path_does_not_hide_that_there_is_no_command",
        obstacle()
    );
    let folder = tempfile::tempdir().unwrap();
    let output = as_nobody(folder.path(), 0, &["linux", "--", "no-such-command-at-all"]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(127), "{text}");
    assert!(text.contains("no folder of PATH"), "{text}");
}

/// Waits until the process runs the program of this name.
fn becomes(guest: &Guest, name: &str) {
    let comm = format!("/proc/{}/comm", guest.0);
    while fs::read_to_string(&comm).unwrap().trim_end() != name {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn threads_of_the_kernel_are_refused_without_their_flag() {
    let name = fs::read_to_string("/proc/2/comm").unwrap_or_default();
    let other = (name != "kthreadd\n").then_some("needs to see the kernel's threads in /proc");
    need!(
        "threads_of_the_kernel_are_refused_without_their_flag",
        other
    );
    let first = online().first().unwrap().to_string();
    let before = Task::read(Path::new("/proc/2"));
    for words in [
        &["rt0", "--cpu", &first, "--pid", "2"][..],
        &["rt1", "--level", "1", "--pid", "2"],
        &["linux", "--pid", "2", "--thread"],
        &["linux", "--pid", "2", "--artis-thread"],
    ] {
        let output = artis(words);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(64), "{text}");
        assert!(
            text.contains("kthreadd") && text.contains("--kernel-thread"),
            "{text}"
        );
    }
    assert_eq!(Task::read(Path::new("/proc/2")), before);
}

#[test]
fn a_running_artis_is_refused_without_its_flag() {
    need_nice_0!("a_running_artis_is_refused_without_its_flag");
    let guest = Guest::asleep(|command| {
        *command = Command::new(ARTIS);
        command.args(["irq", "-D", "600"]).stdout(Stdio::null());
    });
    becomes(&guest, "artis");
    let output = artis(&["linux", "--pid", &guest.pid()]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(64), "{text}");
    assert!(text.contains("running artis"), "{text}");
    let output = artis(&["linux", "--artis-thread", "--quiet", "--pid", &guest.pid()]);
    succeeded(&output);
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
}

#[test]
fn a_process_that_is_not_there_is_named() {
    let mut child: Child = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
    let pid = child.id().to_string();
    child.wait().unwrap();
    for words in [
        &["linux", "--pid", &pid][..],
        &["linux", "--thread", "--pid", &pid],
    ] {
        let output = artis(words);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(&format!("no task {pid}")));
    }
}
