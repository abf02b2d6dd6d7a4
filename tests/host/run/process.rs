// SPDX-License-Identifier: GPL-2.0-only
//! Processes to change, and what `/proc` says of them.

use artis::machine::CpuList;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{ForkResult, Pid, fork};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A process that ends with the test.
pub struct Guest(pub Pid);

impl Guest {
    /// A command, by itself a sleeping one.
    #[expect(clippy::zombie_processes, reason = "`drop` waits for it")]
    pub fn asleep(prepare: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new("sleep");
        command.arg("600");
        prepare(&mut command);
        let child = command.spawn().unwrap();
        Self(Pid::from_raw(child.id() as i32))
    }

    /// A process of four threads, one of which goes on making short-lived threads.
    pub fn with_threads() -> Self {
        let (mut ready, writer) = std::io::pipe().unwrap();
        // SAFETY: the child only makes threads and sleeps, and never returns into the harness.
        match unsafe { fork() }.unwrap() {
            ForkResult::Parent { child } => {
                drop(writer);
                let guest = Self(child);
                ready.read_exact(&mut [0]).unwrap();
                guest
            }
            ForkResult::Child => {
                let asleep = || std::thread::sleep(Duration::from_secs(600));
                std::thread::spawn(asleep);
                std::thread::spawn(asleep);
                std::thread::spawn(|| {
                    for _ in 0..5_000 {
                        std::thread::spawn(|| std::thread::sleep(Duration::from_millis(40)));
                        std::thread::sleep(Duration::from_millis(2));
                    }
                });
                let _ = { writer }.write_all(b".");
                asleep();
                std::process::exit(0)
            }
        }
    }

    pub fn pid(&self) -> String {
        self.0.to_string()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = kill(self.0, Signal::SIGKILL);
        let _ = nix::sys::wait::waitpid(self.0, None);
    }
}

/// What `/proc` says of one task.
#[derive(Debug, PartialEq)]
pub struct Task {
    pub nice: i32,
    pub priority: u32,
    pub policy: u32,
    pub cpus: CpuList,
}

impl Task {
    /// `None` when it has ended.
    pub fn read(path: &Path) -> Option<Self> {
        let stat = fs::read_to_string(path.join("stat")).ok()?;
        let status = fs::read_to_string(path.join("status")).ok()?;
        // The name in field 2 may hold anything; field 3 comes after its last parenthesis.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
        let cpus = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        Some(Self {
            nice: fields[19 - 3].parse().unwrap(),
            priority: fields[40 - 3].parse().unwrap(),
            policy: fields[41 - 3].parse().unwrap(),
            cpus: CpuList::from_kernel(cpus).unwrap(),
        })
    }

    pub fn of(guest: &Guest) -> Self {
        Self::read(Path::new(&format!("/proc/{}", guest.0))).unwrap()
    }
}
