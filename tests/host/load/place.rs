// SPDX-License-Identifier: GPL-2.0-only
//! A folder for the files of one test's loads. It also marks all their processes, because its name
//! is in the environment that they inherit.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub struct Place {
    folder: TempDir,
}

pub fn pid(number: u32) -> Pid {
    Pid::from_raw(number.cast_signed())
}

pub fn signal(artis: &Child, signal: Signal) {
    kill(pid(artis.id()), signal).unwrap();
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for inner in ["loads", "bin"] {
            fs::create_dir(folder.path().join(inner)).unwrap();
        }
        Self { folder }
    }

    /// A file that is not in the loads' folder.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn loads(&self) -> PathBuf {
        self.folder.path().join("loads")
    }

    /// Puts a program where `PATH` has it first.
    pub fn program(&self, name: &str, script: &str) {
        let path = self.outside("bin").join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn touch(&self, name: &str) {
        fs::write(self.loads().join(name), "").unwrap();
    }

    pub fn remove(&self, name: &str) {
        fs::remove_file(self.loads().join(name)).unwrap();
    }

    /// `artis load` with these words.
    pub fn load(&self, words: &[&str]) -> Command {
        self.load_below(&[], words)
    }

    fn load_below(&self, wrapper: &[&str], words: &[&str]) -> Command {
        let artis = [env!("CARGO_BIN_EXE_artis"), "load"];
        let all = [wrapper, &artis, words].concat();
        let mut command = Command::new(all[0]);
        let path = std::env::var("PATH").unwrap();
        command
            .args(&all[1..])
            .env("TMPDIR", self.loads())
            .env("PATH", format!("{}:{path}", self.outside("bin").display()));
        command
    }

    /// `artis load` once it has reported that the loads are at work, and that line. The rest of its
    /// messages is in [`Place::said`] once it has ended.
    pub fn at_work(&self, words: &[&str]) -> (Child, String) {
        self.at_work_below(&[], words)
    }

    /// The same, started by another program.
    pub fn at_work_below(&self, wrapper: &[&str], words: &[&str]) -> (Child, String) {
        let said = self.outside("said");
        let artis = self
            .load_below(wrapper, words)
            .stdout(Stdio::null())
            .stderr(File::create(&said).unwrap())
            .spawn()
            .unwrap();
        let line = self.wait_for(|| {
            let line = BufReader::new(File::open(&said).unwrap())
                .lines()
                .next()?
                .unwrap();
            line.contains("at work").then_some(line)
        });
        (artis, line)
    }

    /// What artis printed on standard error.
    pub fn said(&self) -> String {
        fs::read_to_string(self.outside("said")).unwrap()
    }

    /// All processes that were started for this place, whatever parents they have now.
    pub fn processes(&self) -> Vec<u32> {
        let mark = format!("TMPDIR={}", self.loads().display());
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid: &u32| {
            fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
                let mut words = environment.split(|byte| *byte == 0);
                words.any(|word| word.starts_with(mark.as_bytes()))
            })
        })
        .collect()
    }

    /// The same, once there are so many: loads at work may still start processes.
    pub fn processes_at_least(&self, number: usize) -> Vec<u32> {
        self.wait_for(|| Some(self.processes()).filter(|all| all.len() >= number))
    }

    /// Kills one of them, which has this line in its `comm`.
    pub fn kill_one(&self, comm: &str) {
        let victim = self.processes().into_iter().find(|pid| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == comm)
        });
        kill(pid(victim.unwrap()), Signal::SIGKILL).unwrap();
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.loads()).unwrap().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    /// Nothing is left at this moment.
    #[track_caller]
    pub fn must_be_empty(&self) {
        assert_eq!((self.processes(), self.files()), (vec![], vec![]));
    }

    /// Nothing is left soon. There is no process that could be waited for.
    pub fn becomes_empty(&self) {
        let left = || (self.processes(), self.files());
        self.wait_for_or_say(
            || (left() == (vec![], vec![])).then_some(()),
            || format!("left: {:?}", left()),
        );
    }

    pub fn wait_for<T>(&self, done: impl FnMut() -> Option<T>) -> T {
        self.wait_for_or_say(done, || self.said())
    }

    /// The time is a limit for a hung machine, not a bound on speed.
    fn wait_for_or_say<T>(
        &self,
        mut done: impl FnMut() -> Option<T>,
        why: impl Fn() -> String,
    ) -> T {
        let limit = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(done) = done() {
                return done;
            }
            assert!(
                Instant::now() < limit,
                "nothing happened for a minute; {}",
                why()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
