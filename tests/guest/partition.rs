// SPDX-License-Identifier: GPL-2.0-only
//! `artis partition apply`, killed or failing at each of its steps in turn.

use super::settings::{Settings, differences, read};
use artis::machine::Root;
use artis::partition::host::Host;
use artis::partition::journal::Owner;
use artis::partition::plan::{Plan, Request};
use artis::partition::transaction::{Transaction, planned_here};
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};
use std::cell::Cell;
use std::io;
use std::process::{Command, Stdio, exit};

/// More steps than any plan here has.
const STEPS_MAX: usize = 1000;

/// What happens at the step.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Dies,
    Fails,
}

/// `dies|fails CPUS EVERY`: all steps, or every so many.
pub fn walk(words: &[String]) {
    let fate = match words[0].as_str() {
        "dies" => Fate::Dies,
        "fails" => Fate::Fails,
        other => panic!("what is {other}?"),
    };
    let rt = words[1].parse().expect("a CPU list");
    let root = Root::default();
    let request = Request {
        shield: true,
        ..Request::new(&root, &rt).expect("CPUs that make sense here")
    };
    let every = words[2].parse().expect("a number of steps");
    let before = read();
    for step in (0..STEPS_MAX).step_by(every) {
        let ended = in_child(|| apply(&request, step, fate));
        match (fate, ended) {
            (Fate::Dies, WaitStatus::Signaled(_, Signal::SIGKILL, _)) => {
                // Both a reset alone and another apply before it restore the machine.
                if step % 2 == 1 {
                    artis(&["apply", "--rt", &words[1]]);
                }
                artis(&["reset"]);
            }
            // A failed apply has reverted everything at once.
            (Fate::Fails, WaitStatus::Exited(_, FAILED)) => {}
            // The journal is in its second folder.
            (Fate::Fails, WaitStatus::Exited(_, DONE)) => artis(&["reset"]),
            (_, WaitStatus::Exited(_, NOT_REACHED)) => {
                artis(&["reset"]);
                assert_same(&before, step);
                println!("steps {step}");
                return;
            }
            (_, other) => panic!("step {step}: {other:?}"),
        }
        assert_same(&before, step);
    }
    panic!("{STEPS_MAX} steps, and no end");
}

/// Exit status of the child: every change was made although a step failed.
const DONE: i32 = 0;
/// A step failed, and so no change was made.
const FAILED: i32 = 1;
/// There are fewer steps.
const NOT_REACHED: i32 = 2;

/// Applies the request; before step `fatal` this process dies or the step fails.
fn apply(request: &Request, fatal: usize, fate: Fate) -> i32 {
    let steps = Cell::new(0);
    let host = Host::announcing(Root::default(), |_| {
        let step = steps.replace(steps.get() + 1);
        match fate {
            Fate::Dies if step == fatal => raise(Signal::SIGKILL).map_err(io::Error::from),
            Fate::Fails if step == fatal => Err(io::Error::other("injected")),
            _ => Ok(()),
        }
    });
    let plan = Plan::make(&host.root, request);
    let transaction = Transaction::begin(&host).expect("the right to change the machine");
    let (changes, _) = planned_here(&host, Owner::Partition, plan.changes).expect("journals");
    let applied = transaction.apply(Owner::Partition, &request.rt, changes);
    match applied {
        _ if steps.get() <= fatal => NOT_REACHED,
        Ok(_) => DONE,
        Err(error) => {
            eprintln!("{error}");
            FAILED
        }
    }
}

/// Runs it in a child process.
fn in_child(work: impl FnOnce() -> i32) -> WaitStatus {
    // SAFETY: this process has one thread.
    match unsafe { fork() }.expect("a process") {
        ForkResult::Child => exit(work()),
        ForkResult::Parent { child } => waitpid(child, None).expect("a child"),
    }
}

/// Runs `artis partition` as a person would.
fn artis(words: &[&str]) {
    let status = Command::new("artis")
        .arg("partition")
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("artis");
    assert!(status.success(), "artis partition {words:?}: {status}");
}

fn assert_same(before: &Settings, step: usize) {
    let differences = differences(before, &read());
    assert!(differences.is_empty(), "step {step}: {differences:#?}");
}
