// SPDX-License-Identifier: GPL-2.0-only
//! Sets of tasks in an experiment file: a table `[set.NAME]` has what a file of `artis admit` has,
//! and a configuration names one, with the policy and the releases.

use super::{Configuration, Experiment};
use artis_admit::model::Set;
use artis_guest::experiment::{Asked, Measure, Releases};

impl Experiment {
    /// What a guest of the configuration is asked to admit; none without a set.
    pub(super) fn asked(&self, of: &Configuration) -> Option<Asked> {
        let mut table = self.sets.get(of.set.as_ref()?)?.clone();
        if let Some(policy) = of.policy {
            table.insert("policy".to_owned(), policy.name().into());
        }
        Some(Asked {
            text: table.to_string(),
            releases: of.releases,
        })
    }

    /// Either all configurations run a set, or none does.
    pub(super) fn check_sets(&self) -> Result<(), String> {
        let is_measured = self.measure.contains(&Measure::Set);
        if is_measured && self.measure.len() > 1 {
            return Err("measure: \"set\" stands alone".to_owned());
        }
        for one in &self.configurations {
            let name = &one.name;
            match (is_measured, &one.set) {
                (false, None) if one.policy.is_none() && one.releases == Releases::Together => {}
                (false, _) => {
                    return Err(format!(
                        "configuration {name}: set, policy and releases need measure = [\"set\"]"
                    ));
                }
                (true, Some(set)) if self.sets.contains_key(set) => {
                    let asked = self.asked(one).map(|asked| asked.text);
                    Set::parse(&asked.unwrap_or_default())
                        .map_err(|error| format!("the table set.{set}: {error}"))?;
                }
                (true, named) => {
                    let known: Vec<&str> = self.sets.keys().map(String::as_str).collect();
                    let named = named.as_deref().unwrap_or("none");
                    return Err(format!(
                        "configuration {name}: its set is {named}; write set = and one of: {}",
                        known.join(", ")
                    ));
                }
            }
        }
        Ok(())
    }
}
