// SPDX-License-Identifier: GPL-2.0-only
//! Events for the journal, not counters: on and off and why, a leak, a late wakeup with its
//! culprit, settings of a partition that drift.
//!
//! Each kind is said at most once in [`PAUSE`]; how many were not said stands in the next one.

use crate::culprits::Outcome;
use crate::now::{Culprit, Now};
use artis_watch::Alert;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Between two of one kind.
pub const PAUSE: Duration = Duration::from_secs(30);

/// How grave, as systemd's journal takes it at the begin of a line: sd-daemon(3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Warning,
    Notice,
}

impl Level {
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Warning => "<4>",
            Self::Notice => "<5>",
        }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub level: Level,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Leak,
    Late,
    Culprit,
    Drift,
    Watch,
}

/// What was said and when.
#[derive(Default)]
pub struct Events {
    before: Option<Seen>,
    said: BTreeMap<Kind, (Instant, u64)>,
}

struct Seen {
    scheduling: Option<String>,
    leaks: u64,
    drifted: Vec<String>,
    unknown: Vec<String>,
}

fn us(ns: u64) -> String {
    format!("{:.1} us", ns as f64 / 1000.0)
}

/// A culprit as a sentence.
pub fn sentence(one: &Culprit) -> String {
    let who = match &one.who {
        Some(who) => format!("{} ({})", who, one.lane),
        None => format!("{}, nobody knows whose", one.lane),
    };
    format!(
        "{} ({}) was {} late at {}: {} of it by {who}",
        one.thread,
        one.tid,
        us(one.late_ns),
        one.at,
        us(one.ns)
    )
}

impl Events {
    /// What has happened since the last look.
    pub fn look(&mut self, now: &Now, alerts: &[Alert], outcome: Option<&Outcome>) -> Vec<Event> {
        let mut all = Vec::new();
        let seen = Seen {
            scheduling: now.scheduler.as_ref().map(|it| it.since.clone()),
            leaks: now.leaks().unwrap_or(0),
            drifted: now.partition.drifted.clone(),
            unknown: now.unknown.clone(),
        };
        self.changes(now, &seen, &mut all);
        self.late(alerts, &mut all);
        self.outcome(outcome, &mut all);
        self.before = Some(seen);
        all
    }

    fn changes(&mut self, now: &Now, seen: &Seen, all: &mut Vec<Event>) {
        let Some(before) = self.before.take() else {
            for unknown in &seen.unknown {
                all.push(notice(unknown.clone()));
            }
            return;
        };
        match (&before.scheduling, &now.scheduler) {
            (None, Some(details)) => all.push(notice(format!(
                "the scheduler is on: RT CPUs {}, process {}",
                details.rt_cpus, details.pid
            ))),
            (Some(_), None) => all.push(warning(
                "the scheduler is off; why stands in the lines of the process that ran it \
                 (`journalctl -u artis-sched`)"
                    .to_owned(),
            )),
            (Some(earlier), Some(details)) if *earlier != details.since => {
                all.push(notice("the scheduler was started again".to_owned()));
            }
            _ => {}
        }
        let is_same = before.scheduling == seen.scheduling;
        if is_same && seen.leaks > before.leaks {
            let more = seen.leaks - before.leaks;
            self.say(Kind::Leak, all, |_| {
                warning(format!(
                    "{more} leaks: kernel work that ran on an RT CPU all the same; `artis sched \
                     status` has their kinds"
                ))
            });
        }
        let drifted: Vec<&String> = (seen.drifted.iter())
            .filter(|place| !before.drifted.contains(place))
            .collect();
        if let Some(first) = drifted.first() {
            let others = match drifted.len() - 1 {
                0 => String::new(),
                others => format!(", and {others} others"),
            };
            let text = format!(
                "the partition has drifted: somebody else has changed {first}{others}; `artis \
                 partition show` lists what is in force"
            );
            self.say(Kind::Drift, all, |_| warning(text));
        }
        for unknown in seen
            .unknown
            .iter()
            .filter(|one| !before.unknown.contains(one))
        {
            self.say(Kind::Watch, all, |_| notice(unknown.clone()));
        }
    }

    fn late(&mut self, alerts: &[Alert], all: &mut Vec<Event>) {
        let Some(worst) = alerts.iter().max_by_key(|one| one.value_ns) else {
            return;
        };
        let kind = match worst.by_timer {
            true => "late",
            false => "queued",
        };
        let text = format!(
            "{} ({}) was {} {kind} on CPU {}",
            worst.name,
            worst.tid,
            us(worst.value_ns),
            worst.cpu
        );
        let others = alerts.len() as u64 - 1;
        self.say(Kind::Late, all, |unsaid| {
            warning(match unsaid + others {
                0 => text,
                more => format!("{text}; {more} others were above the bound"),
            })
        });
    }

    fn outcome(&mut self, outcome: Option<&Outcome>, all: &mut Vec<Event>) {
        match outcome {
            None => {}
            Some(Outcome::Found(found)) => {
                if let Some(worst) = found.first() {
                    let text = sentence(worst);
                    self.say(Kind::Culprit, all, |_| warning(text));
                }
            }
            Some(Outcome::NotAgain { thread, wakeups }) => all.push(notice(format!(
                "{thread} was not late again in {wakeups} recorded wakeups: nobody knows the \
                 culprit"
            ))),
            Some(Outcome::Failed(error)) => all.push(warning(format!(
                "culprits of late wakeups stay unknown: {error}"
            ))),
        }
    }

    /// Says it, unless one of its kind was said a moment ago. `make` is given how many were not.
    fn say(&mut self, kind: Kind, all: &mut Vec<Event>, make: impl FnOnce(u64) -> Event) {
        let unsaid = match self.said.get_mut(&kind) {
            Some((at, unsaid)) if at.elapsed() < PAUSE => {
                *unsaid += 1;
                return;
            }
            Some((_, unsaid)) => *unsaid,
            None => 0,
        };
        self.said.insert(kind, (Instant::now(), 0));
        all.push(make(unsaid));
    }
}

fn warning(text: String) -> Event {
    Event {
        level: Level::Warning,
        text,
    }
}

fn notice(text: String) -> Event {
    Event {
        level: Level::Notice,
        text,
    }
}
