// SPDX-License-Identifier: GPL-2.0-only
//! Which metrics there are. What is unknown has no sample: a zero would say that it is known.

use super::{Family, Label, Lengths, Samples};
use crate::now::{Now, Rt0};
use artis_sched::COUNTERS;
use artis_sched::status::Details;
use artis_watch::Histogram;

/// The classic buckets end at powers of two from here to there, where those of the light watch do.
const POWERS: std::ops::RangeInclusive<u32> = 10..=30;

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// As the formats have them.
fn lengths(histogram: &Histogram) -> Lengths {
    let edges = POWERS.map(|power| 1_u64 << power);
    Lengths {
        count: histogram.count(),
        sum_s: seconds(histogram.sum_ns()),
        classic: edges
            .map(|ns| (seconds(ns), histogram.count_below(ns)))
            .collect(),
        fine: histogram
            .buckets()
            .map(|(_, end, count)| (seconds(end), count))
            .collect(),
    }
}

fn label(name: &'static str, value: impl ToString) -> Label {
    (name, value.to_string())
}

fn family(name: &str, help: &str, samples: Samples) -> Family {
    Family {
        name: name.to_owned(),
        help: help.to_owned(),
        samples,
    }
}

fn gauge(name: &str, help: &str, value: Option<f64>) -> Family {
    let samples = value.map(|value| (Vec::new(), value)).into_iter().collect();
    family(name, help, Samples::Gauge(samples))
}

fn counter(name: &str, help: &str, value: Option<f64>) -> Family {
    let samples = value.map(|value| (Vec::new(), value)).into_iter().collect();
    family(name, help, Samples::Counter(samples))
}

/// All of them; those without a sample are left out.
pub fn of(now: &Now) -> Vec<Family> {
    let mut all = vec![
        family(
            "artis_info",
            "Versions: of artis and of the kernel.",
            Samples::Gauge(vec![(
                vec![label("version", now.tool), label("kernel", &now.kernel)],
                1.0,
            )]),
        ),
        gauge(
            "artis_scheduling",
            "Whether the asymmetric scheduler is on.",
            Some(f64::from(u8::from(now.scheduler.is_some()))),
        ),
    ];
    if let Some(details) = &now.scheduler {
        all.extend(scheduler(details));
    }
    all.push(cpus(now));
    all.extend(watch(now));
    all.extend(wakeups(now));
    all.extend(admitted(now));
    let changes = now.partition.changes;
    let drifted = changes.map(|_| now.partition.drifted.len() as f64);
    all.push(gauge(
        "artis_partition_changes",
        "Settings that partition the machine.",
        changes.map(|count| count as f64),
    ));
    all.push(gauge(
        "artis_partition_drifted",
        "Of these settings, those that somebody else has changed since.",
        drifted,
    ));
    all.retain(|one| !one.is_empty());
    all
}

impl Family {
    fn is_empty(&self) -> bool {
        match &self.samples {
            Samples::Counter(all) | Samples::Gauge(all) => all.is_empty(),
            Samples::Histogram(all) => all.is_empty(),
        }
    }
}

/// Counters that are of several kinds, by the begin of their names.
const KINDS: [(&str, &str); 3] = [
    (
        "entries_",
        "Kernel entries that began on an RT CPU since the scheduler is on.",
    ),
    (
        "evictions_",
        "Tasks sent to an NRT CPU since the scheduler is on.",
    ),
    (
        "leaks_",
        "Kernel work that ran on an RT CPU all the same since the scheduler is on.",
    ),
];

/// One family each: sums over kinds are then sums over a label.
fn kinds(details: &Details) -> impl Iterator<Item = Family> {
    KINDS.iter().map(|(prefix, help)| {
        let of_kind = |(name, value): (&String, &u64)| {
            let kind = name.strip_prefix(prefix)?;
            Some((vec![label("kind", kind)], *value as f64))
        };
        let samples = details.counters.iter().filter_map(of_kind).collect();
        let name = format!("artis_scheduler_{}", prefix.trim_end_matches('_'));
        family(&name, help, Samples::Counter(samples))
    })
}

fn scheduler(details: &Details) -> Vec<Family> {
    let mut all = vec![
        gauge(
            "artis_scheduler_uptime_seconds",
            "How long the scheduler is on.",
            Some(details.uptime_s as f64),
        ),
        gauge(
            "artis_linux_wait_max_seconds",
            "Longest wait of a runnable Linux task since the scheduler is on.",
            Some(seconds(details.linux_wait_ns_max)),
        ),
        gauge(
            "artis_leave_max_seconds",
            "Longest time from a kernel entry on an RT CPU to leaving that CPU.",
            Some(seconds(details.leave_ns_max)),
        ),
    ];
    all.extend(kinds(details));
    let is_kind = |name: &str| KINDS.iter().any(|(prefix, _)| name.starts_with(prefix));
    for (name, meaning) in COUNTERS.iter().filter(|(name, _)| !is_kind(name)) {
        let value = details.counters.get(*name).map(|value| *value as f64);
        let help = format!("Since the scheduler is on: {meaning}.");
        all.push(counter(&format!("artis_scheduler_{name}"), &help, value));
    }
    let mut times = Vec::new();
    for one in &details.rt_cpu_times {
        let parts = [
            ("linux", Some(one.linux_ns)),
            ("rt1", Some(one.rt1_ns)),
            ("kthread", Some(one.kthread_ns)),
            ("offline", Some(one.offline_ns)),
            ("idle", one.idle_ns),
            ("rt0_and_interrupts", one.rt0_and_interrupts_ns),
        ];
        for (class, ns) in parts {
            if let Some(ns) = ns {
                let labels = vec![label("cpu", one.cpu), label("class", class)];
                times.push((labels, seconds(ns)));
            }
        }
    }
    all.push(family(
        "artis_rt_cpu_seconds",
        "Where the time of RT CPUs went since the scheduler is on.",
        // What is a rest of others may step back a little.
        Samples::Gauge(times),
    ));
    all
}

fn cpus(now: &Now) -> Family {
    let role = |one: &crate::now::Cpu| {
        let role = match one.role.word() {
            "-" => "any",
            word => word,
        };
        (vec![label("cpu", one.cpu), label("role", role)], 1.0)
    };
    let help = "The role of each CPU.";
    family(
        "artis_cpu_role",
        help,
        Samples::Gauge(now.cpus.iter().map(role).collect()),
    )
}

fn watch(now: &Now) -> Vec<Family> {
    let watch = &now.watch;
    let counted = |value: u64| watch.is_on.then_some(value as f64);
    vec![
        gauge(
            "artis_watch_on",
            "Whether wakeups of real-time threads are watched.",
            Some(f64::from(u8::from(watch.is_on))),
        ),
        gauge(
            "artis_late_bound_seconds",
            "Wakeups above it are late.",
            watch.bound_ns.map(seconds),
        ),
        counter(
            "artis_watch_not_kept",
            "Wakeups of threads for which there was no room.",
            counted(watch.not_kept),
        ),
        counter(
            "artis_recordings",
            "How often the flight recorder was switched on because of a late wakeup.",
            watch.bound_ns.and(counted(watch.recordings)),
        ),
    ]
}

fn labels(one: &Rt0) -> Vec<Label> {
    vec![
        label("thread", &one.name),
        label("tid", one.tid),
        label("pid", one.pid),
    ]
}

fn wakeups(now: &Now) -> Vec<Family> {
    let watched = || {
        now.rt0
            .iter()
            .filter_map(|one| Some((one, one.wakeups.as_ref()?)))
    };
    let late = watched().map(|(one, it)| (labels(one), lengths(&it.late.histogram)));
    let queued = watched().map(|(one, it)| (labels(one), lengths(&it.queued.histogram)));
    let above = watched().filter_map(|(one, it)| Some((labels(one), it.above? as f64)));
    let unseen = watched().map(|(one, it)| (labels(one), it.unseen as f64));
    let worst = watched().filter_map(|(one, it)| Some((labels(one), seconds(it.worst_ns()?))));
    vec![
        family(
            "artis_rt0_late_seconds",
            "How late wakeups by a timer were, until the scheduler began to switch to the thread.",
            Samples::Histogram(late.collect()),
        ),
        family(
            "artis_rt0_queued_seconds",
            "Of wakeups without a known due time: from runnable to the switch to the thread.",
            Samples::Histogram(queued.collect()),
        ),
        family(
            "artis_rt0_worst_seconds",
            "The worst wakeup of either kind since the thread is watched.",
            Samples::Gauge(worst.collect()),
        ),
        family(
            "artis_rt0_late_wakeups",
            "Wakeups above the bound.",
            Samples::Counter(above.collect()),
        ),
        family(
            "artis_rt0_unseen_wakeups",
            "Wakeups of which nothing is known.",
            Samples::Counter(unseen.collect()),
        ),
    ]
}

fn admitted(now: &Now) -> Vec<Family> {
    let each = || {
        now.rt0
            .iter()
            .filter_map(|one| Some((one, one.admitted.as_ref()?)))
    };
    let bounds = each().filter_map(|(one, it)| Some((labels(one), seconds(it.bound_ns?))));
    let deadlines = each().map(|(one, it)| (labels(one), seconds(it.deadline_ns)));
    vec![
        family(
            "artis_rt0_bound_seconds",
            "The bound of the response time that a task was admitted with.",
            Samples::Gauge(bounds.collect()),
        ),
        family(
            "artis_rt0_deadline_seconds",
            "The deadline that a task was admitted with.",
            Samples::Gauge(deadlines.collect()),
        ),
    ]
}
