// SPDX-License-Identifier: GPL-2.0-only
//! Signs of life: a line on standard error about a command that takes long: how long it has taken,
//! how long it will take, and the worst so far.
//!
//! It is for somebody who looks: nothing is written where standard error is no terminal, is a dumb
//! one (`TERM=dumb`) or one without escape sequences (`NO_COLOR`), or is not this process's now (it
//! runs in the background). A thread of its own writes it, once a second. What is measured is read
//! from what the measuring threads publish anyway. Own code: libraries for this draw in the
//! background, too, and at once.

use super::{output, width};
use artis_lab::progress::Progress;
use humantime::format_duration;
use nix::unistd::{getpgrp, tcgetpgrp};
use std::io::{IsTerminal, stderr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the line changes, and when it comes first: short commands have none.
const BEAT: Duration = Duration::from_secs(1);
/// How old a text may be before it is computed again.
const FRESH: Duration = Duration::from_millis(500);
/// From here on times are written in minutes and hours, too.
const LONG: Duration = Duration::from_secs(600);
/// A rest is estimated from this part on: less says little.
const PART_MIN: f64 = 0.01;

/// A sign of life, until it is dropped.
pub struct Sign(Option<Shown>);

struct Shown {
    line: Arc<Line>,
    writer: Option<JoinHandle<()>>,
}

/// What its thread writes.
struct Line {
    began: Instant,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    total: Option<Duration>,
    /// How much is done, 0 to 1, where that is what is known.
    part: Option<f64>,
    text: String,
    asked: Option<Instant>,
    is_over: bool,
}

impl Sign {
    /// A sign, if it is `wanted` and somebody can see it, of what takes so long in all; none:
    /// nobody knows.
    pub fn new(wanted: bool, total: Option<Duration>) -> Self {
        if !(wanted && is_seen()) {
            return Self(None);
        }
        let line = Arc::new(Line {
            began: Instant::now(),
            now: Mutex::new(Now {
                total,
                ..Now::default()
            }),
        });
        let writing = Arc::clone(&line);
        // Without a thread nothing is shown, which loses no figure.
        let writer = std::thread::Builder::new()
            .name("artis-sign".to_owned())
            .spawn(move || writing.write());
        Self(writer.ok().map(|writer| Shown {
            line,
            writer: Some(writer),
        }))
    }

    /// A sign of a step without figures, such as "reading".
    pub fn of(step: &str) -> Self {
        let sign = Self::new(true, None);
        sign.step(step);
        sign
    }

    /// All of these, one after the other, and shows how many have been given out: "3 of 20 files".
    pub fn each<'a, T>(&'a self, all: &'a [T], what: &'a str) -> impl Iterator<Item = &'a T> {
        all.iter()
            .enumerate()
            .inspect(move |(at, _)| {
                self.done(*at as f64 / all.len() as f64);
                self.show(|| format!("{at} of {} {what}", all.len()));
            })
            .map(|(_, one)| one)
    }

    /// Whether somebody can see it.
    pub fn is_seen(&self) -> bool {
        self.0.is_some()
    }

    /// Shows `text` beside the time. It is computed at most twice a second, and only when
    /// somebody can see it.
    pub fn show(&self, text: impl FnOnce() -> String) {
        let Some(Shown { line, .. }) = &self.0 else {
            return;
        };
        let mut now = line.now();
        if now.asked.is_none_or(|asked| asked.elapsed() >= FRESH) {
            now.asked = Some(Instant::now());
            now.text = text();
        }
    }

    /// Shows what is being done now beside the time.
    pub fn step(&self, what: &str) {
        if let Some(Shown { line, .. }) = &self.0 {
            what.clone_into(&mut line.now().text);
        }
    }

    /// As much is done of the whole, 0 to 1, for what is counted and not timed.
    pub fn done(&self, part: f64) {
        if let Some(Shown { line, .. }) = &self.0 {
            line.now().part = Some(part);
        }
    }
}

impl Drop for Sign {
    fn drop(&mut self) {
        let Some(Shown { line, writer }) = &mut self.0 else {
            return;
        };
        line.now().is_over = true;
        if let Some(writer) = writer.take() {
            writer.thread().unpark();
            // It panicked: that was on standard error.
            let _ = writer.join();
        }
    }
}

impl Line {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes until it is over, and leaves an empty line.
    fn write(&self) {
        loop {
            std::thread::park_timeout(BEAT);
            let now = self.now();
            if now.is_over {
                break;
            }
            let spent = self.began.elapsed();
            if spent < BEAT || !is_ours() {
                continue;
            }
            let words = words(spent, &now);
            drop(now);
            let line: String = format!("artis: {words}")
                .chars()
                .filter(|one| !one.is_control())
                .take(width::of_stderr().saturating_sub(1))
                .collect();
            output::to_sign(&line);
        }
        output::to_sign("");
    }
}

/// `12 s of 60 s, 48 s left; worst 31.0 us`.
fn words(spent: Duration, now: &Now) -> String {
    let estimated = || {
        let part = now.part.filter(|part| (PART_MIN..1.0).contains(part))?;
        Some(spent.mul_f64(1.0 / part))
    };
    let whole = now.total.or_else(estimated).unwrap_or(spent);
    let time = |time: Duration| match whole < LONG {
        true => format!("{} s", time.as_secs()),
        false => format_duration(Duration::from_secs(time.as_secs())).to_string(),
    };
    // In whole seconds, so that the two make the whole.
    let left = Duration::from_secs(whole.as_secs().saturating_sub(spent.as_secs()));
    let mut words = time(spent);
    if let Some(total) = now.total {
        words += &format!(" of {}", time(total));
    }
    if left.as_secs() > 0 {
        let about = if now.total.is_none() { "about " } else { "" };
        words += &format!(", {about}{} left", time(left));
    }
    if !now.text.is_empty() {
        words += &format!("; {}", now.text);
    }
    words
}

/// Whether standard error is a terminal that knows escape sequences.
fn is_seen() -> bool {
    let is = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    stderr().is_terminal() && is("NO_COLOR").is_none() && is("TERM").is_none_or(|it| it != "dumb")
}

/// Whether this process may write now: a shell's prompt is not written over.
fn is_ours() -> bool {
    tcgetpgrp(stderr()).map_or(true, |foreground| foreground == getpgrp())
}

/// "booting" of "booting, 3 s": the sign has the time.
fn without_time(what: &str) -> &str {
    let is_time = |end: &str| {
        let number = end.strip_suffix(" s");
        number.is_some_and(|number| number.parse::<u64>().is_ok())
    };
    match what.rsplit_once(", ") {
        Some((step, end)) if is_time(end) => step,
        _ => what,
    }
}

/// The lab's progress on standard error: a sign of life on a terminal, short plain lines elsewhere.
#[derive(Default)]
pub struct Stderr {
    sign: Option<Sign>,
    /// The step whose beginning has been printed.
    begun: Option<String>,
}

impl Progress for Stderr {
    fn step(&mut self, what: &str, percent: Option<f32>) {
        if is_seen() {
            let sign = self.sign.get_or_insert_with(|| Sign::new(true, None));
            sign.step(without_time(what));
            if let Some(percent) = percent {
                sign.done(f64::from(percent) / 100.0);
            }
            return;
        }
        // "booting, 3 s" is the step that began as "booting".
        let name = what.split(',').next().unwrap_or(what);
        if self.begun.as_deref() != Some(name) {
            say!("artis: {name} …");
            self.begun = Some(name.to_owned());
        }
    }

    fn done(&mut self) {
        self.sign = None;
        self.begun = None;
    }

    fn note(&mut self, sentence: &str) {
        self.done();
        say!("artis: {sentence}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_that_of_the_whole_where_it_is_known() {
        let s = Duration::from_secs;
        let is = |spent, total, part, text: &str, expected: &str| {
            let now = Now {
                total,
                part,
                text: text.to_owned(),
                ..Now::default()
            };
            assert_eq!(words(spent, &now), expected);
        };
        is(
            s(12),
            Some(s(60)),
            None,
            "worst 3 us",
            "12 s of 60 s, 48 s left; worst 3 us",
        );
        is(s(61), Some(s(60)), None, "", "61 s of 60 s");
        is(s(12), None, None, "reading", "12 s; reading");
        is(s(10), None, Some(0.25), "", "10 s, about 30 s left");
        is(s(10), None, Some(0.0), "", "10 s");
        is(s(61), Some(s(3600)), None, "", "1m 1s of 1h, 58m 59s left");
    }

    #[test]
    fn the_time_stands_there_once() {
        assert_eq!(without_time("booting, 3 s"), "booting");
        assert_eq!(
            without_time("1 of 2 samples, a: booting"),
            "1 of 2 samples, a: booting"
        );
        assert_eq!(without_time("building (minutes)"), "building (minutes)");
    }

    #[test]
    fn nobody_sees_a_sign_that_is_not_wanted() {
        let sign = Sign::new(false, None);
        sign.show(|| unreachable!("nobody can see it"));
    }
}
