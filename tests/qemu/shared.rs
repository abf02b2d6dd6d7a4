// SPDX-License-Identifier: GPL-2.0-only
//! Guests that many scripts share. A boot costs as much as most scripts, so all scripts of a group
//! run one after the other in one guest (`tests/guest/runner.sh`), each still a test of its own.
//!
//! The runner puts the guest in order after each script, and a script that left it otherwise fails.
//! A guest that is lost fails the script that it was at; the others run again in a fresh guest. A
//! filter on the command line leaves out the scripts of the tests that it leaves out.

use super::guest::{Silence, artis, run_watched, text};
use crate::common::{count, probe, report};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

/// Scripts with the same kind of guest.
pub struct Group {
    pub name: &'static str,
    /// Of `artis lab run`.
    pub options: &'static [&'static str],
    pub scripts: &'static [&'static Script],
}

/// What runs in the guest for one test on each kernel.
pub struct Script {
    /// The test's module and name.
    pub name: &'static str,
    /// Is it for the `-rt` kernel, too? All are for the normal one.
    pub rt: bool,
    /// Variables of the script: in `make test`, in `make soak`.
    pub counts: &'static [(&'static str, u64, u64)],
    pub text: &'static str,
}

impl Script {
    /// The value of one of its variables.
    pub fn count(&self, name: &str) -> u64 {
        let found = self.counts.iter().find(|(one, ..)| *one == name);
        let (_, short, long) = found.expect("a variable of the script");
        count(*short, *long)
    }

    fn write(&self, folder: &Path) -> PathBuf {
        let mut text = ". /common.sh\n".to_owned();
        for (name, ..) in self.counts {
            text += &format!("{name}={}\n", self.count(name));
        }
        let path = folder.join(self.name);
        std::fs::write(&path, text + self.text).unwrap();
        path
    }

    /// Does the command line of the test program ask for the test that this script is for?
    fn is_wanted(&self, kernel: &str) -> bool {
        let (module, name) = self.name.split_once("::").expect("a module and a test");
        let test = format!("{module}::{}::{name}", flavour(kernel));
        let (mut filters, mut skipped) = (Vec::new(), Vec::new());
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            if word == "--skip" {
                skipped.extend(words.next());
            } else if !word.starts_with('-') {
                filters.push(word);
            }
        }
        let names = |words: &[String]| words.iter().any(|word| test.contains(word.as_str()));
        (filters.is_empty() || names(&filters)) && !names(&skipped)
    }
}

fn flavour(kernel: &str) -> &'static str {
    match kernel {
        "newest" => "normal",
        "newest-rt" => "rt",
        "6.18" => "older",
        other => panic!("no flavour for {other}"),
    }
}

/// What a script left behind.
#[derive(Clone, Debug)]
pub struct Ran {
    files: BTreeMap<String, Vec<u8>>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// A file that the script wrote, or the guest's `run.json`.
    pub fn file(&self, name: &str) -> &[u8] {
        let file = self.files.get(name);
        file.unwrap_or_else(|| panic!("the script wrote no {name}: {}", self.stderr))
    }

    /// A document that the script wrote.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(self.file(&format!("{name}.json"))).unwrap()
    }

    /// The numbers in the lines of standard output that start with this word.
    pub fn numbers(&self, word: &str) -> Vec<u64> {
        crate::common::numbers(&self.stdout, word)
    }
}

/// By group, kernel and script: what it left behind, or why it failed.
type Results = HashMap<(&'static str, String, &'static str), Result<Ran, String>>;

/// What the runner does behind a script that was ended at its limit.
const BEYOND_LIMIT: Duration = Duration::from_secs(300);

static RESULTS: LazyLock<Mutex<Results>> = LazyLock::new(Mutex::default);

impl Group {
    /// What a script of this group left behind on this kernel. Fails unless it ended well.
    #[track_caller]
    pub fn ran(&'static self, kernel: &str, script: &'static Script) -> Ran {
        // Who holds it reports a failure of the machinery itself; the results stay as they are.
        let mut results = RESULTS
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let key = |script: &Script| (self.name, kernel.to_owned(), script.name);
        while !results.contains_key(&key(script)) {
            let batch: Vec<&Script> = self
                .scripts
                .iter()
                .copied()
                .filter(|one| one.rt || flavour(kernel) != "rt")
                .filter(|one| one.name == script.name || one.is_wanted(kernel))
                .filter(|one| !results.contains_key(&key(one)))
                .collect();
            assert!(
                batch.iter().any(|one| one.name == script.name),
                "{} is not in {}",
                script.name,
                self.name
            );
            results.extend(
                self.run(kernel, &batch)
                    .into_iter()
                    .map(|(name, result)| ((self.name, kernel.to_owned(), name), result)),
            );
        }
        let result = results[&key(script)].clone();
        drop(results);
        result.unwrap_or_else(|why| panic!("{why}"))
    }

    /// Runs the scripts in one guest. The result has at least one of them, and lacks those that
    /// must run again because the guest was lost.
    fn run(
        &self,
        kernel: &str,
        batch: &[&'static Script],
    ) -> Vec<(&'static str, Result<Ran, String>)> {
        let scripts = tempfile::tempdir().unwrap();
        let output = tempfile::tempdir().unwrap();
        let file = |name: &str| format!("{}/tests/guest/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut command = artis(&["lab", "run", "--kernel", kernel, "--timeout", "0"]);
        command
            .args(self.options)
            .arg("--output")
            .arg(output.path());
        command.args(["--file", &format!("{}:/common.sh", file("common.sh"))]);
        command.args(["--file", &format!("{}:/runner.sh", file("runner.sh"))]);
        command.arg("--file").arg(probe());
        for script in batch {
            let path = script.write(scripts.path());
            let target = format!("{}:/scripts/{}", path.display(), file_name(script.name));
            command.args(["--file", &target]);
        }
        // For a script that hangs; the host may be very busy.
        let limit_s = count(1200, 36_000);
        command.args(["--", "sh", "/runner.sh", &limit_s.to_string()]);
        command.args(batch.iter().map(|script| file_name(script.name)));

        let mut progress = Progress::new(format!("{kernel} {}", self.name));
        let silence = Silence {
            limit: Duration::from_secs(limit_s) + BEYOND_LIMIT,
            output: output.path(),
        };
        let ended = run_watched(&mut command, &silence, |line| progress.line(line));
        let lost = format!(
            "the guest of {} on {kernel} was lost\n{}\n{}",
            self.name,
            text(&ended.stdout),
            text(&ended.stderr)
        );
        let record = std::fs::read(output.path().join("run.json")).unwrap_or_default();
        let results: Vec<_> = batch
            .iter()
            .filter_map(|script| {
                let name = file_name(script.name);
                let mut result = result(&output.path().join(&name));
                if let Some(Ok(ran)) = &mut result {
                    ran.files.insert("run.json".to_owned(), record.clone());
                }
                // A guest that did not end well may have taken files with it.
                let result = result
                    .or_else(|| (progress.at.as_deref() == Some(&name)).then(|| Err(lost.clone())));
                result.map(|result| (script.name, result))
            })
            .collect();
        let missing = batch.len() - results.len();
        if results.is_empty() {
            // It was lost between two scripts, or before the first.
            return batch
                .iter()
                .map(|script| (script.name, Err(lost.clone())))
                .collect();
        }
        if missing > 0 {
            report(&format!(
                "AGAIN: {missing} scripts of {} on {kernel} run in a fresh guest; the last one was lost at {}",
                self.name,
                progress.at.as_deref().unwrap_or("its end"),
            ));
        }
        results
    }
}

/// A script's name as that of a file.
fn file_name(script: &str) -> String {
    script.replace("::", ".")
}

/// What the runner left of a script; none when it did not get there.
fn result(folder: &Path) -> Option<Result<Ran, String>> {
    let files: BTreeMap<String, Vec<u8>> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            Some((name, std::fs::read(file.path()).ok()?))
        })
        .collect();
    let read = |name: &str| files.get(name).map(|bytes| text(bytes)).unwrap_or_default();
    let (stdout, stderr) = (read(".stdout"), read(".stderr"));
    match read(".ended").trim() {
        "" => None,
        "well" => Some(Ok(Ran {
            stdout,
            stderr,
            files,
        })),
        how => Some(Err(format!(
            "the script ended {how}\nstdout: {stdout}\nstderr: {stderr}"
        ))),
    }
}

/// Follows the runner: which script it is at, and how long each took, for the list of the slowest.
struct Progress {
    guest: String,
    booting: bool,
    at: Option<String>,
    began: Instant,
}

impl Progress {
    fn new(guest: String) -> Self {
        Self {
            guest,
            booting: true,
            at: None,
            began: Instant::now(),
        }
    }

    fn line(&mut self, line: &str) {
        if let Some(script) = line.strip_prefix("@begin ") {
            if self.booting {
                self.took("booting");
                self.booting = false;
            }
            // `make soak` takes hours: it shows where it is.
            if std::env::var_os("ARTIS_SOAK").is_some() {
                report(&format!("at {}: {script}", self.guest));
            }
            self.at = Some(script.to_owned());
        } else if let Some(script) = line.strip_prefix("@end ") {
            self.took(script);
            self.at = None;
        }
    }

    fn took(&mut self, what: &str) {
        let seconds = std::mem::replace(&mut self.began, Instant::now()).elapsed();
        if seconds > Duration::from_millis(100) {
            report(&format!(
                "TIME: {:.1} {}: {what}",
                seconds.as_secs_f64(),
                self.guest
            ));
        }
    }
}
