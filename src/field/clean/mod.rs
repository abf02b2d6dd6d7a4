// SPDX-License-Identifier: GPL-2.0-only
//! Is a run clean? What somebody else did to the machine meanwhile is not what the machine does.
//!
//! [`before`] looks once, before all runs, and says what to stop. [`during`] looks at both ends of
//! each run and in between; [`stall`] at the worsts of all threads. A run that was disturbed is
//! kept, marked ([`Cause`]) and not pooled. What the machine does by itself is never a reason to
//! leave a run out: system management interrupts, a heavy tail, a governor. Else the best runs
//! would be chosen, and the answer would be wrong.

pub mod before;
pub mod during;
pub mod stall;

use artis_result::{Document, Warning};
use serde::{Deserialize, Serialize};

/// What disturbed a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// All threads had their worst at one moment.
    Stall,
    /// Heat made CPUs slower.
    Throttled,
    /// A setting of the configuration was changed by somebody else.
    Undone,
    /// Somebody logged in or out.
    Login,
    /// A package manager worked.
    Packages,
    /// The battery was plugged in or out.
    Supply,
}

impl Cause {
    pub const ALL: [Self; 6] = [
        Self::Stall,
        Self::Throttled,
        Self::Undone,
        Self::Login,
        Self::Packages,
        Self::Supply,
    ];

    /// The id of its warning in a result.
    fn id(self) -> &'static str {
        match self {
            Self::Stall => "unclean_stall",
            Self::Throttled => "unclean_throttled",
            Self::Undone => "unclean_undone",
            Self::Login => "unclean_login",
            Self::Packages => "unclean_packages",
            Self::Supply => "unclean_supply",
        }
    }

    /// In a few words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Stall => "the whole machine stood still",
            Self::Throttled => "heat made CPUs slower",
            Self::Undone => "somebody undid settings",
            Self::Login => "somebody logged in or out",
            Self::Packages => "a package manager worked",
            Self::Supply => "the power supply changed",
        }
    }

    fn warning(self, seen: String, why: &str, fix: &str) -> Warning {
        Warning {
            id: self.id().to_owned(),
            seen,
            why: why.to_owned(),
            fix: Some(fix.to_owned()),
        }
    }
}

/// What disturbed this run, and the warning that says so.
pub fn causes(run: &Document) -> impl Iterator<Item = (Cause, &Warning)> {
    run.audit.iter().filter_map(|warning| {
        let mut all = Cause::ALL.into_iter();
        Some((all.find(|cause| cause.id() == warning.id)?, warning))
    })
}

/// Which of the runs of one configuration are pooled, by what disturbed each of them.
///
/// A stall that most runs have is the machine's own, and their figures are those of the machine.
pub fn pooled(runs: &[Vec<Cause>]) -> Vec<bool> {
    let with_stall = runs.iter().filter(|causes| causes.contains(&Cause::Stall));
    let stalls_are_its_own = with_stall.count() * 2 > runs.len() && runs.len() > 1;
    let is_clean = |causes: &Vec<Cause>| {
        let mut all = causes.iter();
        all.all(|cause| *cause == Cause::Stall && stalls_are_its_own)
    };
    runs.iter().map(is_clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Cause::{Login, Stall};

    #[test]
    fn disturbed_runs_are_left_out_but_for_what_the_machine_always_does() {
        for (runs, expected) in [
            (
                vec![vec![], vec![Login], vec![Stall]],
                vec![true, false, false],
            ),
            (vec![vec![Stall]], vec![false]),
            (
                vec![vec![Stall], vec![Stall], vec![]],
                vec![true, true, true],
            ),
            (
                vec![vec![Stall], vec![Stall, Login], vec![]],
                vec![true, false, true],
            ),
            (vec![vec![Stall], vec![]], vec![false, true]),
            (vec![vec![Login]; 3], vec![false; 3]),
            (vec![], vec![]),
        ] {
            assert_eq!(pooled(&runs), expected, "{runs:?}");
        }
    }

    #[test]
    fn causes_are_read_back_from_a_result() {
        let mut document = Document::new(artis_result::Setup::default());
        for id in ["virtual_machine", "unclean_login", "unclean_stall"] {
            document.audit.push(Warning {
                id: id.to_owned(),
                seen: String::new(),
                why: String::new(),
                fix: None,
            });
        }
        let found: Vec<Cause> = causes(&document).map(|(cause, _)| cause).collect();
        assert_eq!(found, [Login, Stall]);
    }
}
