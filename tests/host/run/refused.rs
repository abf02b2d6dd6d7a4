// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel refuses, and what artis says of it.

use super::*;

/// Runs artis as nobody with this RLIMIT_RTPRIO. `folder` gets a copy
/// that nobody may run, and a folder of `PATH` that nobody may search.
pub(super) fn as_nobody(folder: &Path, rtprio: libc::rlim_t, words: &[&str]) -> Output {
    let copy: PathBuf = folder.join("artis");
    if !copy.exists() {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        // Not fs::copy: a test that forks meanwhile would hold the copy open for writing, and
        // a file that is being written cannot be executed.
        let cp = Command::new("cp").arg(ARTIS).arg(&copy).status().unwrap();
        assert!(cp.success());
        fs::create_dir(folder.join("closed")).unwrap();
        fs::set_permissions(folder.join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    }
    let mut command = Command::new(copy);
    command.arg("run").args(words).current_dir("/");
    let path = format!("{}/closed:/usr/bin:/bin", folder.display());
    command.env("PATH", path);
    limited(&mut command, rtprio).output().unwrap()
}

fn limited(command: &mut Command, rtprio: libc::rlim_t) -> &mut Command {
    let limit = libc::rlimit {
        rlim_cur: rtprio,
        rlim_max: rtprio,
    };
    let become_nobody = move || {
        // In this order: nobody may not raise a limit. `CommandExt::uid` would come first.
        // SAFETY: plain system calls; `limit` is the closure's own.
        let status = unsafe {
            // Nobody may not come back to it when the tests run with a higher nice value.
            libc::setpriority(libc::PRIO_PROCESS, 0, 0)
                | libc::setrlimit(libc::RLIMIT_RTPRIO, &limit)
                | libc::setgroups(0, std::ptr::null())
                | libc::setgid(NOBODY)
                | libc::setuid(NOBODY)
        };
        match status {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes async-signal-safe system calls only.
    unsafe { command.pre_exec(become_nobody) }
}

/// Asks for this priority as nobody with this limit.
fn rt0_as_nobody(rtprio: libc::rlim_t, priority: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let cpu = cpu();
    let words = ["rt0", "--cpu", &cpu, "--priority", priority, "--", "true"];
    as_nobody(folder.path(), rtprio, &words)
}

#[track_caller]
fn blames_the_limit(output: &Output, limit: &str) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for words in ["not permitted", "CAP_SYS_NICE", "RLIMIT_RTPRIO", limit] {
        assert!(text.contains(words), "{words:?} is not in: {text}");
    }
}

#[test]
fn an_unprivileged_user_learns_which_limit_to_raise() {
    need!(
        "an_unprivileged_user_learns_which_limit_to_raise",
        obstacle()
    );
    blames_the_limit(&rt0_as_nobody(0, "1"), "soft 0");
}

#[test]
fn a_limit_holds_up_to_its_value() {
    let privilege = Privilege::of_self(&Root::default()).unwrap();
    let may_raise = privilege.has(Capability::SysResource) || privilege.rtprio.may_reach(10);
    let fixed = (!may_raise).then_some("needs CAP_SYS_RESOURCE to give a user a limit");
    need!("a_limit_holds_up_to_its_value", obstacle().or(fixed));
    blames_the_limit(&rt0_as_nobody(10, "11"), "soft 10");
    succeeded(&rt0_as_nobody(10, "10"));
}

#[test]
fn a_refused_task_stays_as_it_was() {
    need!("a_refused_task_stays_as_it_was", obstacle());
    let folder = tempfile::tempdir().unwrap();
    let guest = Guest::asleep(|command| {
        limited(command, 0);
    });
    let before = Task::of(&guest);
    let words = ["rt0", "--cpu", &cpu(), "--pid", &guest.pid()];
    let output = as_nobody(folder.path(), 0, &words);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(Task::of(&guest), before);

    let foreign = Guest::asleep(|_| ());
    let words = ["rt0", "--cpu", &cpu(), "--pid", &foreign.pid()];
    let text = stderr(&as_nobody(folder.path(), 0, &words));
    assert!(text.contains("belongs to user 0"), "{text}");
}

/// A version 1 cgroup that goes with the test.
struct Cgroup(PathBuf);

impl Cgroup {
    fn new(controller: &str) -> Self {
        let name = format!("artis-test-{}", std::process::id());
        let path = Path::new("/sys/fs/cgroup").join(controller).join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.0.join(file), text).unwrap();
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The kernel may still be taking the killed process out.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn without(file: &str) -> Option<&'static str> {
    let reason =
        "needs version 1 cgroups with the cpu (RT group scheduling) and cpuset controllers";
    obstacle().or((!Path::new(file).exists()).then_some(reason))
}

#[test]
fn a_cgroup_without_realtime_budget_is_named_to_root_too() {
    need!(
        "a_cgroup_without_realtime_budget_is_named_to_root_too",
        without("/sys/fs/cgroup/cpu/cpu.rt_runtime_us")
    );
    let group = Cgroup::new("cpu");
    let guest = Guest::asleep(|_| ());
    group.write("cgroup.procs", &guest.pid());
    let words = ["rt0", "--cpu", &cpu(), "--pid", &guest.pid()];
    let output = artis(&words);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let file = group.0.join("cpu.rt_runtime_us").display().to_string();
    assert!(text.contains(&format!("{file} is 0")), "{text}");
    // What the message says to type works.
    fs::write("/sys/fs/cgroup/cpu/tasks", guest.pid()).unwrap();
    succeeded(&artis(&words));
}

#[test]
fn a_cpuset_that_excludes_the_cpu_is_named() {
    need!(
        "a_cpuset_that_excludes_the_cpu_is_named",
        without("/sys/fs/cgroup/cpuset/cpuset.mems")
    );
    let group = Cgroup::new("cpuset");
    let guest = Guest::asleep(|_| ());
    group.write("cpuset.cpus", &online().first().unwrap().to_string());
    let mems = fs::read_to_string("/sys/fs/cgroup/cpuset/cpuset.mems").unwrap();
    group.write("cpuset.mems", &mems);
    group.write("cgroup.procs", &guest.pid());
    let output = artis(&["rt0", "--cpu", &cpu(), "--pid", &guest.pid()]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let words = format!("cpuset excludes CPU {}", cpu());
    assert!(
        text.contains(&words) && text.contains("artis-test-"),
        "{text}"
    );
}
