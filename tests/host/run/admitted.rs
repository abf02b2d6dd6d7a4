// SPDX-License-Identifier: GPL-2.0-only
//! Admitted tasks on the kernel of this machine: the register, priorities, reservations, overruns,
//! and programs that ask themselves. No time is judged.

use super::process::{Guest, Task};
use super::{ARTIS, artis, common, obstacle, online, stderr, succeeded};
use artis::machine::Root;
use artis_admitted::register;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const DEADLINE: u32 = 6;
const LIMIT: &str = "/proc/sys/kernel/sched_rt_runtime_us";
/// What takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// The machine has one register: a test after the other.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A CPU that the other tests of this file do not bind to.
pub fn cpu() -> String {
    online().first().unwrap().to_string()
}

/// Admits a running process.
fn admit(guest: &Guest, words: &[&str]) -> Output {
    let (pid, cpu) = (guest.pid(), cpu());
    artis(&[&["rt0", "--pid", &pid, "--cpu", &cpu], words].concat())
}

fn priority(guest: &Guest) -> u32 {
    Task::of(guest).priority
}

fn admitted() -> Vec<i32> {
    let register = register::read(&Root::default()).unwrap();
    register.tasks().map(|(_, task)| task.tid).collect()
}

/// Waits until it is so.
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn priorities_follow_periods_and_whoever_ended_is_no_more_admitted() {
    need!(
        "priorities_follow_periods_and_whoever_ended_is_no_more_admitted",
        obstacle()
    );
    let _alone = alone();
    let [slow, fast, middle] = std::array::from_fn(|_| Guest::asleep(|_| ()));
    succeeded(&admit(&slow, &["--period", "100ms", "--budget", "10ms"]));
    assert_eq!(priority(&slow), 98);
    succeeded(&admit(&fast, &["--period", "1ms", "--budget", "100us"]));
    let output = admit(&middle, &["--period", "10ms", "--budget", "1ms"]);
    succeeded(&output);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains(&format!("task {} went from 97 to 96", slow.pid())),
        "{said}"
    );
    let all = [&fast, &middle, &slow];
    assert_eq!(all.map(priority), [98, 97, 96]);
    assert_eq!(Task::of(&fast).cpus.to_string(), cpu());
    // 99 % more does not fit, and changes nothing.
    let heavy = Guest::asleep(|_| ());
    let output = admit(&heavy, &["--period", "10ms", "--budget", "9ms"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("verdict   refused"),
        "{}",
        stderr(&output)
    );
    assert_eq!(Task::of(&heavy).policy, super::NORMAL);
    assert_eq!(all.map(priority), [98, 97, 96]);
    let output = admit(&heavy, &["--period", "10ms", "--budget", "9ms", "--force"]);
    succeeded(&output);
    assert!(admitted().contains(&heavy.0.as_raw()));
    // kill -9, and one that becomes a normal task.
    drop((heavy, fast));
    succeeded(&artis(&["linux", "--pid", &middle.pid()]));
    assert_eq!(admitted(), [slow.0.as_raw()]);
    let last = Guest::asleep(|_| ());
    succeeded(&admit(&last, &["--period", "1ms", "--budget", "100us"]));
    assert_eq!([&last, &slow].map(priority), [98, 97]);
}

#[test]
fn a_command_of_edf_has_a_reservation_on_its_cpu_and_the_limit_is_as_before() {
    need!(
        "a_command_of_edf_has_a_reservation_on_its_cpu_and_the_limit_is_as_before",
        obstacle()
    );
    let _alone = alone();
    let before = std::fs::read_to_string(LIMIT).unwrap();
    let cpu = cpu();
    let words = [
        "--policy", "edf", "--period", "10ms", "--budget", "2ms", "--quiet",
    ];
    let guest = Guest::asleep(|command| {
        *command = Command::new(ARTIS);
        command.args(["run", "rt0", "--cpu", &cpu]).args(words);
        command.args(["--", "sleep", "600"]);
    });
    until("it has its reservation", || {
        Task::read(Path::new(&format!("/proc/{}", guest.0))).is_some_and(|it| it.policy == DEADLINE)
    });
    until("the limit is back", || {
        std::fs::read_to_string(LIMIT).unwrap() == before
    });
    assert_eq!(Task::of(&guest).cpus.to_string(), cpu);
    // Earliest deadlines first fill a CPU; what is above it is refused, as is another policy.
    let other = Guest::asleep(|_| ());
    let edf = ["--policy", "edf", "--period", "7ms", "--budget"];
    let output = admit(&other, &[&edf[..], &["6ms"]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let output = admit(
        &other,
        &["--policy", "rm", "--period", "7ms", "--budget", "1ms"],
    );
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    succeeded(&admit(&other, &[&edf[..], &["4ms"]].concat()));
    assert_eq!(Task::of(&other).policy, DEADLINE);
    succeeded(&artis(&["linux", "--pid", &other.pid()]));
    assert_eq!(Task::of(&other).policy, super::NORMAL);
    assert_eq!(Task::of(&other).cpus, online());
    assert_eq!(std::fs::read_to_string(LIMIT).unwrap(), before);
    assert!(!Path::new("/var/lib/artis/reservation.json").exists());
}

/// A shell that spins, as an admitted task whose overruns have this consequence.
fn spinning(action: &str) -> Guest {
    let cpu = cpu();
    let guest = Guest::asleep(|command| {
        *command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]);
    });
    let output = artis(&[
        "rt0",
        "--pid",
        &guest.pid(),
        "--cpu",
        &cpu,
        "--period",
        "100ms",
        "--budget",
        "5ms",
        "--on-overrun",
        action,
    ]);
    succeeded(&output);
    guest
}

#[test]
fn an_overrun_is_demoted_or_ended() {
    need!("an_overrun_is_demoted_or_ended", obstacle());
    let _alone = alone();
    let guest = spinning("demote");
    until("it is demoted", || Task::of(&guest).policy == super::NORMAL);
    assert_eq!(admitted(), [0_i32; 0]);
    drop(guest);
    let guest = spinning("end");
    let pid = guest.0.as_raw();
    until("it is ended", || {
        artis::machine::processes::one(&Root::default(), pid).is_none_or(|one| one.is_zombie)
    });
    assert_eq!(admitted(), [0_i32; 0]);
}

#[test]
fn admitted_tasks_are_shown_beside_what_was_seen() {
    need!("admitted_tasks_are_shown_beside_what_was_seen", obstacle());
    let _alone = alone();
    let show = |words: &[&str]| {
        let mut command = Command::new(ARTIS);
        command.args(["tasks", "--model"]).args(words);
        command.output().unwrap()
    };
    let output = show(&[]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("no task is admitted"));
    let script = "while :; do sleep 0.01; done";
    let guest = Guest::asleep(|command| {
        *command = Command::new("sh");
        command.args(["-c", script]);
    });
    succeeded(&admit(&guest, &["--period", "1ms", "--budget", "1us"]));
    let output = show(&[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("not measured"), "{text}");
    // A shell takes longer than 1 us for each command.
    let output = show(&["-D", "300ms", "--json"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let task = &document["cpus"][0]["tasks"][0];
    assert!(task["seen"]["jobs"].as_u64().unwrap() > 1, "{document}");
    assert!(task["seen"]["overruns"].as_u64().unwrap() > 0, "{document}");
}

#[test]
fn a_set_is_applied_as_a_whole_or_not_at_all() {
    need!("a_set_is_applied_as_a_whole_or_not_at_all", obstacle());
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("set.toml");
    let task = |name: &str, command: &str| {
        format!(
            "[[task]]\nname = \"{name}\"\nperiod = \"10ms\"\nexecution = \"1ms\"\n\
             command = [{command}]\n"
        )
    };
    let apply = |second: &str| {
        let set = format!(
            "policy = \"rm\"\ncpus = \"{}\"\n{}{}",
            cpu(),
            task("one", "\"sleep\", \"600\""),
            task("two", second)
        );
        std::fs::write(&file, set).unwrap();
        let mut command = Command::new(ARTIS);
        command.arg("admit").arg(&file).arg("--apply");
        // What it starts would keep a pipe open.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().unwrap()
    };
    assert_eq!(apply("\"/nonexistent/command\"").code(), Some(1));
    assert_eq!(admitted(), [0_i32; 0]);
    assert!(apply("\"sleep\", \"601\"").success());
    let tids = admitted();
    assert_eq!(tids.len(), 2);
    for tid in &tids {
        let pid = nix::unistd::Pid::from_raw(*tid);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    }
    until("both have left", || admitted().is_empty());
}

#[test]
fn admit_reads_what_the_machine_takes() {
    need!("admit_reads_what_the_machine_takes", obstacle());
    let _alone = alone();
    let mut command = Command::new(ARTIS);
    command.args(["measure", "costs", "-q", "-D", "600ms", "-a", &cpu()]);
    let output = command.output().unwrap();
    succeeded(&output);
    let text = String::from_utf8(output.stdout).unwrap();
    let platform = artis_admit::model::Platform::parse(&text).unwrap();
    assert!(platform.wakeup_ns > 0 && platform.switch_ns > 0, "{text}");
    assert!(platform.jitter_ns <= platform.wakeup_ns, "{text}");
    assert!(text.contains("# section is left out"), "{text}");
}

/// What a program that asks itself says, with a budget that fits and one that does not.
fn asks(program: &Path) {
    let run = |budget_us: &str| {
        let mut command = Command::new(program);
        command.args([&cpu(), budget_us]).env("ARTIS", ARTIS);
        command.output().unwrap()
    };
    let output = run("200");
    succeeded(&output);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.lines().count(), 2, "{said}");
    let output = run("1200");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("refused"), "{}", stderr(&output));
    assert_eq!(admitted(), [0_i32; 0]);
}

#[test]
fn programs_ask_themselves() {
    need!("programs_ask_themselves", obstacle());
    let _alone = alone();
    let built = Path::new(ARTIS).parent().unwrap();
    asks(&built.join("examples/control"));
    let Ok(compiler) = which::which("cc") else {
        return common::skipped("programs_ask_themselves", "needs cc");
    };
    let folder = tempfile::tempdir().unwrap();
    let program: PathBuf = folder.path().join("control");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/program/examples/control.c");
    let mut command = Command::new(compiler);
    command
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/program"))
        .arg("-o")
        .arg(&program)
        .arg(source);
    succeeded(&command.output().unwrap());
    asks(&program);
}
