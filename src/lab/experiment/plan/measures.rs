// SPDX-License-Identifier: GPL-2.0-only
//! What an experiment file must say of what it measures.

use super::Experiment;
use artis_guest::experiment::Measure;

impl Experiment {
    /// There is something for each row's latency, and what a measure needs is there.
    pub(super) fn check_measures(&self) -> Result<(), String> {
        if self.measure.contains(&Measure::Caches) != self.caches.is_some() {
            return Err(
                "measure = [\"caches\"] and the table [caches] with the cycles l1_miss, l2_miss, \
                 other_cpu and memory need each other"
                    .to_owned(),
            );
        }
        let rt0 = [
            Measure::Latency,
            Measure::Responsiveness,
            Measure::Caches,
            Measure::Set,
        ];
        if !rt0.iter().any(|one| self.measure.contains(one)) {
            return Err(
                "measure must hold \"latency\", \"responsiveness\", \"caches\" or \"set\": every row \
                 of the table has RT0's latency"
                    .to_owned(),
            );
        }
        if self.answers.is_empty() {
            return Err(
                "answers must hold \"wakeups\", \"commands\" or \"messages\", or be left out for \
                 all three"
                    .to_owned(),
            );
        }
        Ok(())
    }
}
