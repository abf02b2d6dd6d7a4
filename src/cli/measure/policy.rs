// SPDX-License-Identifier: GPL-2.0-only
//! How the measuring threads are scheduled: the options that choose it, and what they resolve to.

use crate::cli::exit::UsageError;
use crate::cli::value;
use crate::measure::thread::{PRIORITY, Policy};
use clap::Arg;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The policies by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    Fifo,
    Rr,
    // cyclictest's word.
    #[value(alias = "other")]
    Normal,
    Ext,
    // Of cyclictest; each is answered with what does the same.
    #[value(hide = true)]
    Batch,
    #[value(hide = true)]
    Idle,
}

/// The options of commands that measure real-time and normal tasks. Each such command says with
/// [`help`] what its default is.
#[derive(clap::Args, Default)]
pub(super) struct Scheduling {
    #[arg(short, long, alias = "prio", value_name = "PRIO", help = "")]
    #[arg(value_parser = value::number::whole(0..=99_u8))]
    priority: Option<u8>,
    /// Their policy: normal, fifo, rr, or ext (SCHED_EXT: RT1+ where artis schedules)
    #[arg(
        long,
        value_enum,
        value_name = "NAME",
        hide_possible_values = true,
        ignore_case = true
    )]
    policy: Option<Name>,
    /// Their nice value where they are normal or ext, -20 to 19
    #[arg(long, value_name = "N", value_parser = value::number::nice)]
    nice: Option<i8>,
}

/// The help of `-p` where nobody asking for a policy means `default`, which [`Scheduling::resolve`]
/// gets, too. `whose` it is: "the threads".
pub(super) fn help(arg: Arg, default: Policy, whose: &str) -> Arg {
    let default = match default {
        Policy::Fifo(priority) | Policy::RoundRobin(priority) => priority,
        Policy::Normal | Policy::Other { .. } | Policy::Ext { .. } => 0,
    };
    arg.help(format!(
        "SCHED_FIFO priority of {whose}, 1 to 99; 0 is the normal policy [default: {default}]"
    ))
}

impl Scheduling {
    /// The policy, `default` where the user asked for none.
    pub(super) fn resolve(&self, default: Policy) -> anyhow::Result<Policy> {
        let name = match (self.policy, self.priority) {
            (Some(name), _) => name,
            (None, Some(0)) => Name::Normal,
            (None, Some(_)) => Name::Fifo,
            (None, None) if default.is_real_time() => Name::Fifo,
            (None, None) => Name::Normal,
        };
        let wrong = |sentence: String| Err(UsageError(sentence).into());
        match (name, self.priority.filter(|priority| *priority > 0)) {
            (Name::Batch | Name::Idle, _) => wrong(
                "normal threads keep the policy that artis is started with; type `chrt --batch 0` or \
                 `chrt --idle 0` before artis, and --policy normal"
                    .to_owned(),
            ),
            (Name::Fifo | Name::Rr, _) if self.nice.is_some() => wrong(
                "--nice is of normal tasks and those of SCHED_EXT, and these are real-time; leave it \
                 out, or add --policy normal or --policy ext"
                    .to_owned(),
            ),
            (Name::Fifo | Name::Rr, None) if self.priority.is_some() => wrong(
                "a real-time policy needs a priority from 1 to 99, and -p is 0; leave one of them out"
                    .to_owned(),
            ),
            (Name::Fifo, priority) => Ok(Policy::Fifo(priority.unwrap_or(PRIORITY))),
            (Name::Rr, priority) => Ok(Policy::RoundRobin(priority.unwrap_or(PRIORITY))),
            (Name::Normal | Name::Ext, Some(priority)) => wrong(format!(
                "-p {priority} is a priority of SCHED_FIFO, and --policy asks for another policy; leave \
                 one of them out"
            )),
            (Name::Normal, None) => Ok(self
                .nice
                .map_or(Policy::Normal, |nice| Policy::Other { nice })),
            (Name::Ext, None) => Ok(Policy::Ext {
                nice: self.nice.unwrap_or(0),
            }),
        }
    }
}

/// What the result says of a policy. The priority of a normal task is 0.
pub(super) fn settings(policy: Policy) -> BTreeMap<String, Value> {
    let (name, priority, nice) = match policy {
        Policy::Normal => ("normal", 0, None),
        Policy::Other { nice } => ("normal", 0, Some(nice)),
        Policy::Ext { nice } => ("ext", 0, Some(nice)),
        Policy::Fifo(priority) => ("fifo", priority, None),
        Policy::RoundRobin(priority) => ("rr", priority, None),
    };
    let mut settings = BTreeMap::from([
        ("policy".to_owned(), json!(name)),
        ("priority".to_owned(), json!(priority)),
    ]);
    settings.extend(nice.map(|nice| ("nice".to_owned(), json!(nice))));
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(options: &Scheduling) -> anyhow::Result<Policy> {
        options.resolve(Policy::Fifo(PRIORITY))
    }

    #[test]
    fn a_priority_alone_means_what_it_means_to_cyclictest() {
        let with = |priority| Scheduling {
            priority,
            ..Scheduling::default()
        };
        assert_eq!(resolved(&with(None)).unwrap(), Policy::Fifo(PRIORITY));
        assert_eq!(with(None).resolve(Policy::Normal).unwrap(), Policy::Normal);
        assert_eq!(resolved(&with(Some(0))).unwrap(), Policy::Normal);
        assert_eq!(resolved(&with(Some(7))).unwrap(), Policy::Fifo(7));
        let rr = Scheduling {
            policy: Some(Name::Rr),
            ..with(Some(7))
        };
        assert_eq!(resolved(&rr).unwrap(), Policy::RoundRobin(7));
    }

    #[test]
    fn a_nice_value_belongs_to_normal_and_ext_tasks() {
        let with = |policy, nice| Scheduling {
            policy: Some(policy),
            nice,
            priority: None,
        };
        for (name, nice, policy) in [
            (Name::Normal, None, Policy::Normal),
            (Name::Normal, Some(-5), Policy::Other { nice: -5 }),
            (Name::Ext, None, Policy::Ext { nice: 0 }),
            (Name::Ext, Some(19), Policy::Ext { nice: 19 }),
        ] {
            assert_eq!(resolved(&with(name, nice)).unwrap(), policy);
        }
        assert!(
            resolved(&with(Name::Fifo, Some(1)))
                .unwrap_err()
                .is::<UsageError>()
        );
    }

    #[test]
    fn the_result_has_policy_priority_and_nice_value() {
        let ext = settings(Policy::Ext { nice: 3 });
        assert_eq!((&ext["policy"], &ext["nice"]), (&json!("ext"), &json!(3)));
        let fifo = settings(Policy::Fifo(98));
        assert_eq!(fifo["priority"], json!(98));
        assert!(!fifo.contains_key("nice"));
    }
}
