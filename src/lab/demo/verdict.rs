// SPDX-License-Identifier: GPL-2.0-only
//! What the demo's counts mean: the figures of the table and of the JSON document, the bars that
//! artis must reach, and the sentences that say what to see.

use artis_guest::demo::{Configuration, Measured};
use serde::Serialize;

/// Kernel entries without which "no leak" would say little. So few that the slowest host gets
/// there.
pub const ENTRIES_MIN: u64 = 1000;

/// The figures of one configuration; the names are those of the JSON document.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Which configuration.
    pub name: Configuration,
    /// Kernel entries of all tasks but RT0, on all CPUs.
    pub entries: u64,
    /// Entries whose kernel work started on an RT CPU.
    pub leaks: u64,
    /// Part, 0 to 1, of the time that RT0 leaves on the RT CPUs in which other user tasks ran.
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
    /// System calls that were on an RT CPU when they returned, wherever they began. This checks the
    /// leaks by other means: it also sees a task that wakes up inside its call on an RT CPU.
    pub syscalls_returned_rt: u64,
    /// Part of the RT CPUs' time in which RT0 ran.
    pub rt_cpu_share_rt0: f64,
    /// Part of the RT CPUs' time in which they were idle.
    pub rt_cpu_share_idle: f64,
    /// Part of the RT CPUs' time in which kernel threads ran.
    pub rt_cpu_share_kthreads: f64,
    /// All counts.
    pub counts: Measured,
}

impl Figures {
    /// The figures of what was measured.
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
/// Only counts of the guest are judged. How much work an emulated machine does, and how busy its
/// CPUs are, depends on the host: [`informative`] says that.
pub fn missed(figures: &[Figures]) -> Vec<String> {
    let mut missed = Vec::new();
    // Without an artis run there is nothing to judge.
    let Some(artis) = find(figures, Configuration::Artis) else {
        return missed;
    };
    if artis.entries < ENTRIES_MIN {
        missed.push(format!(
            "only {} kernel entries were seen, at least {ENTRIES_MIN} are needed (run longer: \
             --seconds)",
            artis.entries
        ));
    }
    if artis.leaks > 0 {
        missed.push(format!(
            "with artis the kernel did the work of {} of {} entries on the RT CPU; the bar is 0",
            artis.leaks, artis.entries
        ));
    }
    if find(figures, Configuration::Stock).is_some_and(|stock| stock.leaks == 0) {
        missed.push(
            "no kernel work was seen on the RT CPU with the stock scheduler either, so the count \
             proves nothing (run longer: --seconds)"
                .to_owned(),
        );
    }
    missed
}

/// The verdict in one sentence; it names each bar that was missed.
pub fn sentence(figures: &[Figures]) -> String {
    let missed = missed(figures);
    if !missed.is_empty() {
        return format!("Not reached: {}.", missed.join("; "));
    }
    let by = |name| find(figures, name);
    match (by(Configuration::Stock), by(Configuration::Artis)) {
        (_, None) => "Without the configuration artis there is nothing to judge.".to_owned(),
        (None, Some(artis)) => format!(
            "Reached: with artis the kernel worked for nobody else on the RT CPU: 0 of {} entries.",
            artis.entries
        ),
        (Some(stock), Some(artis)) => format!(
            "Reached: with artis the kernel worked for nobody else on the RT CPU: 0 of {} entries, \
             and {} of {} with the stock scheduler.",
            artis.entries, stock.leaks, stock.entries
        ),
    }
}

/// What the others got with artis, in one sentence; none without an artis run. It is not judged.
pub fn informative(figures: &[Figures]) -> Option<String> {
    let artis = find(figures, Configuration::Artis)?;
    let share = percent(artis.rt_cpu_share_others);
    let mut text = format!("The others got {share} of the time that RT0 leaves on the RT CPU");
    if let Some(affinity) = find(figures, Configuration::Affinity) {
        let theirs = percent(affinity.rt_cpu_share_others);
        text += &format!(" (with affinity: {theirs})");
        if let Some(kept) = hackbench_kept(artis, affinity) {
            let kept = percent(kept);
            text += &format!(", and did {kept} of the hackbench rounds of affinity");
        }
    }
    text += ". These depend on how busy the host is, so they are not judged.";
    Some(text)
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// hackbench's rounds in a second of guest time, as a part of those with affinity; none when there
/// were none, because then nothing was shown.
fn hackbench_kept(artis: &Figures, affinity: &Figures) -> Option<f64> {
    let theirs = affinity.hackbench_rounds as f64 * artis.counts.window_ns as f64;
    let ours = artis.hackbench_rounds as f64 * affinity.counts.window_ns as f64;
    (theirs > 0.0).then(|| ours / theirs)
}

fn find(figures: &[Figures], name: Configuration) -> Option<&Figures> {
    figures.iter().find(|figures| figures.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_guest::demo::Work;
    use artis_trace::occupancy::{Counts, Entries};

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
            measured(Configuration::Affinity, 0, 0, 100),
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
    fn no_kernel_work_on_the_rt_cpu_reaches_the_bar() {
        let figures = figures(0, 720, 90);
        assert_eq!(missed(&figures), Vec::<String>::new());
        let sentence = sentence(&figures);
        assert!(sentence.starts_with("Reached"), "{sentence}");
        assert!(sentence.contains("0 of 200000 entries"), "{sentence}");
        assert!(sentence.contains("500 of 200000"), "{sentence}");
    }

    #[test]
    fn one_leak_misses_the_bar() {
        let figures = figures(3, 720, 90);
        assert_eq!(missed(&figures).len(), 1);
        let sentence = sentence(&figures);
        for part in ["Not reached", "3 of 200000"] {
            assert!(sentence.contains(part), "{part} in {sentence}");
        }
    }

    /// A busy host makes the emulator slow, and idles its CPUs.
    #[test]
    fn the_speed_of_the_host_is_reported_and_not_judged() {
        let figures = figures(0, 100, 1);
        assert_eq!(missed(&figures), Vec::<String>::new());
        let said = informative(&figures).unwrap();
        for part in [
            "12 %",
            "affinity: 0 %",
            "1 % of the hackbench",
            "not judged",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
    }

    #[test]
    fn too_few_entries_prove_nothing() {
        let mut figures = figures(0, 720, 100);
        figures[2].entries = ENTRIES_MIN - 1;
        assert_eq!(missed(&figures).len(), 1);
    }

    #[test]
    fn an_observer_that_sees_nothing_proves_nothing() {
        let mut figures = figures(0, 720, 100);
        figures[0].leaks = 0;
        assert_eq!(missed(&figures).len(), 1);
    }

    #[test]
    fn without_artis_nothing_is_judged() {
        let figures = &figures(3, 719, 89)[..2];
        assert_eq!(missed(figures), Vec::<String>::new());
        assert!(sentence(figures).contains("nothing to judge"));
        assert_eq!(informative(figures), None);
    }
}
