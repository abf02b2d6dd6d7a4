// SPDX-License-Identifier: GPL-2.0-only
//! What the demo's counts mean: the figures of the table and of the JSON document, the bars they
//! are held against, and the one sentence that says what to see.

use super::{Configuration, Measured};
use serde::Serialize;

/// Entries without which "no leak" would say little.
pub const ENTRIES_MIN: u64 = 100_000;
/// Part of what RT0 leaves of the RT CPU that other tasks are to get.
pub const SHARE_MIN: f64 = 0.90;
/// Part of the shielded run's hackbench rounds a second that artis is to reach.
pub const HACKBENCH_MIN: f64 = 0.90;

/// The figures of one configuration; the names are those of the JSON document.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Which configuration.
    pub name: Configuration,
    /// Kernel entries of all tasks but RT0, on all CPUs.
    pub entries: u64,
    /// Entries whose kernel work started on an RT CPU.
    pub leaks: u64,
    /// Part, 0 to 1, of the RT CPUs' time without RT0 that other user tasks had.
    pub rt_cpu_share_others: f64,
    /// Units of integer work done by the batch tasks.
    pub batch_work: u64,
    /// Rounds of hackbench.
    pub hackbench_rounds: u64,
    /// Periods of RT0 released.
    pub rt0_periods: u64,
    /// Periods of RT0 finished before the next release.
    pub rt0_periods_served: u64,
    /// Entries that began on an RT CPU.
    pub entries_rt: u64,
    /// Of the leaks: system calls.
    pub leaks_syscalls: u64,
    /// Of the leaks: page faults.
    pub leaks_faults: u64,
    /// Of the leaks: signals.
    pub leaks_signals: u64,
    /// System calls that were on an RT CPU when they returned, wherever they began. A check on
    /// the leaks by other means: a task woken inside its call on an RT CPU shows here.
    pub syscalls_returned_rt: u64,
    /// Part of the RT CPUs' time that RT0 had.
    pub rt_cpu_share_rt0: f64,
    /// Part of the RT CPUs' time that nobody had.
    pub rt_cpu_share_idle: f64,
    /// Part of the RT CPUs' time that kernel threads had.
    pub rt_cpu_share_kthreads: f64,
    /// All that was counted.
    pub counts: Measured,
}

impl Figures {
    /// Makes the figures of what was measured.
    pub fn new(measured: Measured) -> Self {
        let rt = &measured.rt;
        let all_ns = rt.time_ns();
        Self {
            name: measured.name,
            entries: measured.all.begun(),
            leaks: rt.worked(),
            rt_cpu_share_others: share(rt.others_ns, all_ns - rt.rt0_ns),
            batch_work: measured.work.batch_units,
            hackbench_rounds: measured.work.hackbench_rounds,
            rt0_periods: measured.rt0_periods,
            rt0_periods_served: measured.rt0_periods_served,
            entries_rt: rt.begun(),
            leaks_syscalls: rt.syscalls.worked,
            leaks_faults: rt.faults.worked,
            leaks_signals: rt.signals.worked,
            syscalls_returned_rt: rt.syscalls_returned,
            rt_cpu_share_rt0: share(rt.rt0_ns, all_ns),
            rt_cpu_share_idle: share(rt.idle_ns, all_ns),
            rt_cpu_share_kthreads: share(rt.kthreads_ns, all_ns),
            counts: measured,
        }
    }
}

/// A part of a whole; 0 of nothing is 0.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}

/// The bars that artis missed, each as a sentence; empty when it held all that could be judged.
///
/// Without an artis run there is nothing to judge; without a shielded one hackbench is not.
pub fn missed(figures: &[Figures]) -> Vec<String> {
    let mut missed = Vec::new();
    let Some(artis) = find(figures, Configuration::Artis) else {
        return missed;
    };
    if artis.entries < ENTRIES_MIN {
        missed.push(format!(
            "only {} kernel entries were seen, {ENTRIES_MIN} are wanted (run longer: --seconds)",
            artis.entries
        ));
    }
    if artis.leaks > 0 {
        missed.push(format!(
            "{} of {} kernel entries were worked on on the RT CPU, 0 are wanted",
            artis.leaks, artis.entries
        ));
    }
    if artis.rt_cpu_share_others < SHARE_MIN {
        missed.push(format!(
            "other tasks got {:.1} % of what RT0 leaves of the RT CPU, {:.0} % are wanted",
            artis.rt_cpu_share_others * 100.0,
            SHARE_MIN * 100.0
        ));
    }
    if let Some(shield) = find(figures, Configuration::Shield) {
        let kept = hackbench_kept(artis, shield);
        if kept < HACKBENCH_MIN {
            missed.push(format!(
                "hackbench did {:.0} % of the rounds a second that it did behind the shield, \
                 {:.0} % are wanted",
                kept * 100.0,
                HACKBENCH_MIN * 100.0
            ));
        }
    }
    missed
}

/// What to see in the figures, in one sentence; it names each bar that was missed.
pub fn sentence(figures: &[Figures]) -> String {
    let missed = missed(figures);
    if !missed.is_empty() {
        return format!("Not reached: {}.", missed.join("; "));
    }
    let by = |name| find(figures, name);
    let (Some(stock), Some(shield), Some(artis)) = (
        by(Configuration::Stock),
        by(Configuration::Shield),
        by(Configuration::Artis),
    ) else {
        return "Not all three configurations were run, so there is nothing to compare.".to_owned();
    };
    format!(
        "What to see: with artis the kernel worked for nobody else on the RT CPU (0 of {} entries; \
         {} on the stock scheduler), and yet the others got {:.0} % of the time RT0 leaves there \
         (behind the shield: {:.0} %), with {:.0} % of the shield's hackbench rounds.",
        artis.entries,
        stock.leaks,
        artis.rt_cpu_share_others * 100.0,
        shield.rt_cpu_share_others * 100.0,
        hackbench_kept(artis, shield) * 100.0
    )
}

/// hackbench's rounds in a second of guest time, as a part of those behind the shield; 0 when
/// there were none, because then nothing was shown.
fn hackbench_kept(artis: &Figures, shield: &Figures) -> f64 {
    let shielded = shield.hackbench_rounds as f64 * artis.counts.window_ns as f64;
    if shielded == 0.0 {
        return 0.0;
    }
    artis.hackbench_rounds as f64 * shield.counts.window_ns as f64 / shielded
}

fn find(figures: &[Figures], name: Configuration) -> Option<&Figures> {
    figures.iter().find(|figures| figures.name == name)
}

#[cfg(test)]
mod tests {
    use super::super::Work;
    use super::*;
    use crate::trace::occupancy::{Counts, Entries};

    fn measured(name: Configuration, leaks: u64, others_ns: u64, rounds: u64) -> Measured {
        let rt = Counts {
            syscalls: Entries {
                begun: 500,
                worked: leaks,
            },
            rt0_ns: 200,
            others_ns,
            idle_ns: 800 - others_ns,
            ..Counts::default()
        };
        Measured {
            name,
            window_ns: 1000,
            rt,
            all: Counts {
                syscalls: Entries {
                    begun: 200_000,
                    worked: 200_000,
                },
                ..Counts::default()
            },
            work: Work {
                hackbench_rounds: rounds,
                ..Work::default()
            },
            rt0_periods: 10,
            rt0_periods_served: 9,
            scheduler: Vec::new(),
        }
    }

    fn figures(leaks: u64, others_ns: u64, rounds: u64) -> Vec<Figures> {
        [
            measured(Configuration::Stock, 500, 780, 150),
            measured(Configuration::Shield, 0, 0, 100),
            measured(Configuration::Artis, leaks, others_ns, rounds),
        ]
        .map(Figures::new)
        .to_vec()
    }

    #[test]
    fn the_share_is_of_what_rt0_leaves() {
        let figures = Figures::new(measured(Configuration::Artis, 0, 600, 1));
        assert!((figures.rt_cpu_share_others - 0.75).abs() < 1e-9);
        assert!((figures.rt_cpu_share_rt0 - 0.2).abs() < 1e-9);
    }

    #[test]
    fn bars_held_are_praised() {
        let figures = figures(0, 720, 90);
        assert_eq!(missed(&figures), Vec::<String>::new());
        let sentence = sentence(&figures);
        assert!(sentence.contains("0 of 200000 entries"), "{sentence}");
        assert!(sentence.contains("90 %"), "{sentence}");
    }

    #[test]
    fn every_bar_missed_is_named() {
        let figures = figures(3, 719, 89);
        assert_eq!(missed(&figures).len(), 3);
        let sentence = sentence(&figures);
        for part in ["Not reached", "3 of 200000", "89.9 %", "did 89 %"] {
            assert!(sentence.contains(part), "{part} in {sentence}");
        }
    }

    #[test]
    fn too_few_entries_prove_nothing() {
        let mut figures = figures(0, 720, 100);
        figures[2].entries = ENTRIES_MIN - 1;
        assert_eq!(missed(&figures).len(), 1);
    }

    #[test]
    fn without_artis_nothing_is_judged() {
        let figures = &figures(3, 719, 89)[..2];
        assert_eq!(missed(figures), Vec::<String>::new());
        assert!(sentence(figures).contains("nothing to compare"));
    }
}
