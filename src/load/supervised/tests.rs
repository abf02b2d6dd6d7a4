// SPDX-License-Identifier: GPL-2.0-only

use super::*;
use std::os::unix::process::CommandExt;

fn is_gone(pid: i32) -> bool {
    processes::one(&Root::default(), pid).is_none_or(|process| process.is_zombie)
}

/// A supervised shell with a background process that has left its parent, its group and its
/// session. Also gives the number of that process, and the folder.
fn with_a_runaway() -> (Supervised, i32, PathBuf) {
    let mut supervised = Supervised::start("test", |inside| {
        let mut shell = Command::new("sh");
        let script = "setsid sleep 600 & echo $! > pid.new; mv pid.new pid";
        shell.args(["-c", script]).current_dir(inside.folder());
        shell.process_group(0);
        inside.spawn(&mut shell)?;
        let file = inside.folder().join("pid");
        while !file.exists() {
            inside.wait(Some(Duration::from_millis(5)))?;
        }
        let pid = std::fs::read_to_string(file).unwrap();
        inside.say((pid.trim().parse::<i32>().unwrap(), inside.folder()))?;
        while !matches!(inside.wait(None)?, Event::Stop | Event::Abandoned) {}
        inside.say("stopped")
    })
    .unwrap();
    let (pid, folder) = supervised.receive(None).unwrap().unwrap();
    (supervised, pid, folder)
}

#[test]
fn a_process_that_leaves_its_parent_is_found_and_killed() {
    let (supervised, pid, folder) = with_a_runaway();
    assert!(!is_gone(pid) && folder.exists());
    drop(supervised);
    assert!(is_gone(pid) && !folder.exists());
}

#[test]
fn a_stop_is_answered_and_cleans_up_too() {
    let (mut supervised, pid, folder) = with_a_runaway();
    supervised.ask_to_stop();
    let answer: Option<String> = supervised.receive(None).unwrap();
    assert_eq!(answer.as_deref(), Some("stopped"));
    drop(supervised);
    assert!(is_gone(pid) && !folder.exists());
}

#[test]
fn the_supervisor_survives_the_alarm_of_a_stressor_without_a_parent() {
    let mut supervised = Supervised::start("test", |inside| {
        kill(getpid(), Signal::SIGALRM).unwrap();
        inside.say("alive")
    })
    .unwrap();
    let answer: Option<String> = supervised.receive(None).unwrap();
    assert_eq!(answer.as_deref(), Some("alive"));
}

#[test]
fn errors_and_panics_reach_the_starter() {
    let error_of = |body: fn(&mut Inside) -> Result<(), Error>| {
        let mut supervised = Supervised::start("test", body).unwrap();
        supervised.receive::<()>(None).unwrap_err().to_string()
    };
    let failing = error_of(|_| Err(Error::Reported("no luck".to_owned())));
    assert_eq!(failing, "no luck");
    let mute = error_of(|_| {
        // SAFETY: ends the process as a kill would.
        unsafe { libc::_exit(0) }
    });
    assert!(mute.contains("ended early"), "{mute}");
    let absent = error_of(|inside| inside.spawn(&mut Command::new("no-such-program")).map(drop));
    assert!(absent.starts_with("no-such-program: could not be started"));
}

#[test]
fn what_a_process_used_is_reported_when_it_has_ended() {
    let mut supervised = Supervised::start("test", |inside| {
        let pid = inside.fork(|| Err(std::io::ErrorKind::Other.into()))?;
        loop {
            inside.wait(None)?;
            if let Some((ended, status, usage)) = inside.reap() {
                let switches = usage.voluntary_switches + usage.involuntary_switches;
                return inside.say((ended == pid, status.code(), switches > 0));
            }
        }
    })
    .unwrap();
    let reported: Option<(bool, Option<i32>, bool)> = supervised.receive(None).unwrap();
    assert_eq!(reported, Some((true, Some(1), true)));
}
