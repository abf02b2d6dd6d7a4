// SPDX-License-Identifier: GPL-2.0-only
//! For programs that ask themselves: the calling thread becomes an admitted real-time task, or
//! learns why not.
//!
//! The analysis and the register are those of the program `artis`, which is started for it
//! (`artis run rt0 --pid … --thread`); so there is one answer for everybody. `artis.h` is the same
//! for C. Needs the rights of `artis run rt0`. An example: `tests/guest/control.rs`.

use nix::unistd::gettid;
use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What the calling thread asks for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Task<'a> {
    /// The least time between two jobs.
    pub period: Duration,
    /// The longest execution of a job.
    pub budget: Duration,
    /// None: the period.
    pub deadline: Option<Duration>,
    /// None: the first RT CPU on which it fits.
    pub cpu: Option<u32>,
    /// `rm`, `dm` or `edf`; none: that of the CPU's tasks, or rate monotonic.
    pub policy: Option<&'a str>,
    /// `report`, `demote` or `end`; none: nobody watches.
    pub on_overrun: Option<&'a str>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The thread is a real-time task now.
    Admitted,
    /// A deadline could be missed: the analysis. The thread is as it was.
    Refused(String),
    /// It is not known whether one could be: why.
    Unknown(String),
}

impl Task<'_> {
    /// Asks for the calling thread.
    ///
    /// # Errors
    /// When `artis` cannot be started, or could not do it: its words.
    pub fn admit(&self) -> io::Result<Answer> {
        let ns = |time: Duration| format!("{}ns", time.as_nanos());
        let words = [
            ("--period", Some(ns(self.period))),
            ("--budget", Some(ns(self.budget))),
            ("--deadline", self.deadline.map(ns)),
            ("--cpu", self.cpu.map(|cpu| cpu.to_string())),
            ("--policy", self.policy.map(str::to_owned)),
            ("--on-overrun", self.on_overrun.map(str::to_owned)),
        ];
        let words = words
            .into_iter()
            .filter_map(|(name, value)| Some([name.to_owned(), value?]));
        let words: Vec<String> = words.flatten().collect();
        match artis("rt0", &words, self.on_overrun.is_some())? {
            (Some(0), _) => Ok(Answer::Admitted),
            (Some(2), said) => Ok(Answer::Refused(said)),
            (Some(3), said) => Ok(Answer::Unknown(said)),
            (_, said) => Err(io::Error::other(said)),
        }
    }
}

/// Makes the calling thread a normal task, which is admitted no more.
///
/// # Errors
/// As [`Task::admit`].
pub fn leave() -> io::Result<()> {
    match artis("linux", &[], false)? {
        (Some(0), _) => Ok(()),
        (_, said) => Err(io::Error::other(said)),
    }
}

/// Runs `artis run` for the calling thread: its exit status, and what it said. `ARTIS` names the
/// program, where it is not on the search path.
fn artis(class: &str, words: &[String], is_watched: bool) -> io::Result<(Option<i32>, String)> {
    let program = std::env::var_os("ARTIS").unwrap_or_else(|| "artis".into());
    // The watch of overruns goes on with standard error, so that is no pipe then.
    let said = if is_watched {
        Stdio::inherit()
    } else {
        Stdio::piped()
    };
    let mut command = Command::new(program);
    command.args([
        "run",
        class,
        "--quiet",
        "--thread",
        "--pid",
        &gettid().to_string(),
    ]);
    let command = command.args(words).stdin(Stdio::null()).stderr(said);
    let output = command.spawn()?.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output.status.code(), said))
}
