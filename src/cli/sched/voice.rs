// SPDX-License-Identifier: GPL-2.0-only
//! What `artis sched run` says on standard error while it runs, a line each.

use crate::cli::partition::warn;
use crate::cli::progress::Sign;
use crate::cli::width;
use crate::partition::apply::{Notice, Partitioned};
use crate::partition::transaction::Reverted;
use crate::report::{partition, scheduler};
use crate::sched::service::Event;
use sd_notify::NotifyState;
use std::fmt::Display;

pub struct Voice {
    /// Warnings only.
    quiet: bool,
    /// Said before anything else, once it is certain that something happens.
    heading: Option<[String; 2]>,
    /// First of the start, then of the scheduling.
    sign: Option<Sign>,
}

impl Voice {
    pub fn new(quiet: bool, heading: [String; 2]) -> Self {
        let heading = (!quiet).then_some(heading);
        Self {
            quiet,
            heading,
            sign: None,
        }
    }

    /// Begins the sign of life of a step.
    pub fn step(&mut self, what: &str) {
        self.sign = None;
        let sign = Sign::new(!self.quiet, None);
        sign.step(what);
        self.sign = Some(sign);
    }

    /// Ends it.
    pub fn done(&mut self) {
        self.sign = None;
    }

    /// The first two lines, if nobody has said them.
    pub fn begin(&mut self) {
        for line in self.heading.take().into_iter().flatten() {
            say!("artis: {line}");
        }
        if self.sign.is_none() {
            self.step("starting");
        }
    }

    /// Of the scheduler.
    pub fn event(&mut self, event: Event) {
        self.begin();
        match event {
            Event::Restored(changes) => say!("artis: {}", scheduler::restored(&changes)),
            Event::LimitsUnseen(cgroups) => {
                say!("artis: {}", scheduler::limits_unseen(&cgroups));
            }
            Event::WeightsUnseen(cgroups) => {
                say!("artis: {}", scheduler::weights_unseen(&cgroups));
            }
            Event::Left(left) => say_each("", &left),
            Event::Refused(refused) => say_each("", &refused),
            Event::Claimed(claims) => say_each("warning: ", &claims),
            Event::Changed(changes) => {
                for change in changes.iter().filter(|_| !self.quiet) {
                    say!("artis: {}", scheduler::changed(change));
                }
            }
            Event::Ready { .. } => {
                if !self.quiet {
                    say!("artis: scheduling, until Ctrl-C or `artis sched stop`");
                }
                self.step("scheduling");
                // Without NOTIFY_SOCKET this does nothing. With a broken one nobody can be
                // notified.
                let _ = sd_notify::notify(&[NotifyState::Ready]);
            }
            Event::Cycled(_) if self.quiet => {}
            Event::Cycled(rt) => say!("artis: {}", scheduler::cycled(&rt)),
            Event::Offline { offline, .. } if self.quiet && offline.is_empty() => {}
            Event::Offline { offline, rt } => say!("artis: {}", scheduler::offline(&offline, &rt)),
        }
    }

    /// Of the partition that is about to be made.
    pub fn notice(&mut self, notice: Notice<'_>) {
        match notice {
            Notice::Earlier(_) if self.quiet => {}
            Notice::Earlier(reverted) => {
                say_text!(
                    "artis: {}",
                    partition::reverted(reverted, "an earlier partition", width::of_stderr())
                );
            }
            Notice::Limits { missing, warnings } => warn(missing, warnings),
        }
    }

    /// The partition is in force.
    pub fn partitioned(&self, made: &Partitioned) {
        for one in &made.refused {
            say!("artis: {one}");
        }
        if self.quiet {
        } else if made.was_there {
            say!("artis: the RT CPUs are partitioned already");
        } else {
            say!(
                "artis: partitioned: {} settings changed (put back at the end; `artis partition \
                 show` lists them)",
                made.plan.changes.len()
            );
        }
    }

    /// The partition has ended. None: it stays, because a person made it.
    pub fn departitioned(&self, reverted: Option<&Reverted>) {
        match reverted {
            _ if self.quiet => {}
            Some(reverted) => {
                say_text!(
                    "artis: {}",
                    partition::reverted(reverted, "the partition", width::of_stderr())
                );
            }
            None => say!(
                "artis: the partition stays: it was made before; `artis partition reset` ends it"
            ),
        }
    }
}

fn say_each(kind: &str, all: &[impl Display]) {
    for one in all {
        say!("artis: {kind}{one}");
    }
}
