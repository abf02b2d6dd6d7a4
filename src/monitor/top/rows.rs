// SPDX-License-Identifier: GPL-2.0-only
//! What stands in the columns: short words and figures, `-` for what is unknown.

use crate::now::{Cpu, Culprit, Now, Rt0, Rt1};
use artis_result::terminal::plain;

/// The columns of each table: head and width; 0 takes the rest.
pub const CPUS: [(&str, u16); 5] = [
    ("CPU", 4),
    ("role", 8),
    ("busy", 5),
    ("stolen", 6),
    ("who", 0),
];
pub const RT0: [(&str, u16); 10] = [
    ("tid", 7),
    ("name", 0),
    ("CPU", 4),
    ("policy", 8),
    ("rate/s", 6),
    ("late", 5),
    ("median", 7),
    ("99.9%", 7),
    ("worst", 7),
    ("bound", 7),
];
pub const RT1: [(&str, u16); 5] = [
    ("tid", 7),
    ("name", 0),
    ("CPU", 4),
    ("level", 5),
    ("share", 5),
];

const UNKNOWN: &str = "-";

/// Microseconds with as many digits as there is room for.
pub fn us(ns: Option<u64>) -> String {
    let Some(ns) = ns else {
        return UNKNOWN.to_owned();
    };
    let us = ns as f64 / 1000.0;
    match us {
        us if us < 1000.0 => format!("{us:.1}"),
        us if us < 10_000_000.0 => format!("{us:.0}"),
        us => format!("{:.0} s", us / 1e6),
    }
}

pub fn percent(share: Option<f64>) -> String {
    share.map_or(UNKNOWN.to_owned(), |share| format!("{:.0}%", share * 100.0))
}

fn number(value: Option<u64>) -> String {
    value.map_or(UNKNOWN.to_owned(), |value| value.to_string())
}

pub fn cpu(one: &Cpu) -> [String; 5] {
    let who = one.holder.as_ref().map(|holder| {
        let share = percent(Some(holder.share));
        format!(
            "{} {} ({}) {share}",
            holder.class,
            plain(&holder.name),
            holder.tid
        )
    });
    [
        one.cpu.to_string(),
        one.role.word().to_owned(),
        percent(one.busy),
        percent(one.stolen),
        who.unwrap_or_default(),
    ]
}

/// A `q` stands behind figures of wakeups whose due time is unknown.
pub fn rt0(one: &Rt0) -> [String; 10] {
    let of = one.wakeups.as_ref();
    let chief = of
        .filter(|it| it.late.count + it.queued.count > 0)
        .map(|it| it.chief());
    let figure = |ns: Option<u64>| {
        let mark = if chief.is_some_and(|(_, is_late)| !is_late) {
            "q"
        } else {
            ""
        };
        match ns {
            Some(_) => us(ns) + mark,
            None => us(ns),
        }
    };
    let rate = of.and_then(|it| it.rate).map(|rate| format!("{rate:.0}"));
    let policy = match one.priority {
        0 => one.policy.to_string(),
        priority => format!("{} {priority}", one.policy),
    };
    let bound = one.admitted.as_ref().map(|it| match it.is_forced {
        true => format!("{}!", us(it.bound_ns)),
        false => us(it.bound_ns),
    });
    [
        one.tid.to_string(),
        plain(&one.name),
        one.cpu.to_string(),
        policy,
        rate.unwrap_or_else(|| UNKNOWN.to_owned()),
        number(of.and_then(|it| it.above)),
        figure(chief.and_then(|(it, _)| it.median_ns)),
        figure(chief.and_then(|(it, _)| it.p999_ns)),
        us(of.and_then(|it| it.worst_ns())),
        bound.unwrap_or_else(|| UNKNOWN.to_owned()),
    ]
}

pub fn rt1(one: &Rt1) -> [String; 5] {
    [
        one.tid.to_string(),
        plain(&one.name),
        one.cpu.to_string(),
        one.level.to_string(),
        percent(one.share),
    ]
}

/// When, who, how late, and most of it by whom: short enough for a line.
pub fn culprit(one: &Culprit) -> String {
    // The day is known to who looks at a screen.
    let at = one
        .at
        .split('T')
        .nth(1)
        .unwrap_or(&one.at)
        .trim_end_matches('Z');
    let who = one.who.as_deref().unwrap_or("nobody knows");
    let (late, ns) = (us(Some(one.late_ns)), us(Some(one.ns)));
    let text = format!(
        "{at} {}: {late} us, {ns} by {who} ({})",
        one.thread, one.lane
    );
    plain(&text)
}

/// The first lines: does artis schedule, and what is watched.
pub fn heading(now: &Now) -> [String; 2] {
    let scheduler = match &now.scheduler {
        Some(details) => {
            let offline = match details.rt_cpus_offline.is_empty() {
                true => String::new(),
                false => format!(" (offline: {})", details.rt_cpus_offline),
            };
            format!(
                "RT CPUs {}{offline}, others {}, leaks {}, longest wait of others {} us",
                details.rt_cpus,
                details.nrt_cpus,
                details.sum("leaks_"),
                us(Some(details.linux_wait_ns_max))
            )
        }
        None => "artis does not schedule here".to_owned(),
    };
    let watch = &now.watch;
    let mut parts = vec![match (watch.is_on, watch.bound_ns) {
        (false, _) => "wakeups are not watched".to_owned(),
        (true, None) => format!("watched {:.0} s", now.watched_s),
        (true, bound) => format!(
            "watched {:.0} s, late is above {} us",
            now.watched_s,
            us(bound)
        ),
    }];
    if watch.is_recording {
        parts.push("recording".to_owned());
    }
    if watch.not_kept > 0 {
        parts.push(format!("{} wakeups without room", watch.not_kept));
    }
    parts.push(match (now.partition.changes, now.partition.drifted.len()) {
        (None, _) => "partition unknown".to_owned(),
        (Some(0), _) => "no partition".to_owned(),
        (Some(count), 0) => format!("partition of {count} settings"),
        (Some(count), drifted) => format!("partition of {count} settings, {drifted} drifted"),
    });
    [plain(&scheduler), parts.join(", ")]
}
