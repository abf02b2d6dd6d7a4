// SPDX-License-Identifier: GPL-2.0-only
//! What `artis sched status` prints, and `artis sched run` at its start and its end.

use artis_machine::CpuList;
use artis_partition::change::{Change, Target};
use std::fmt::{Display, Write};
use std::time::Duration;

/// Which counters to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counters {
    NotZero,
    All,
}

/// The scheduler while it is on.
pub struct Status<'a> {
    pub pid: u32,
    /// RFC 3339, UTC.
    pub since: &'a str,
    pub uptime_s: u64,
    pub kernel: &'a str,
    pub rt_cpus: &'a CpuList,
    pub nrt_cpus: &'a CpuList,
    pub rt_cpus_offline: &'a CpuList,
    /// How kernel entries are noticed, and what that cannot see.
    pub detector: String,
    pub blind_spots: &'a [String],
    /// Each counter: its value, and what it counts.
    pub counters: Vec<(u64, &'static str)>,
    pub linux_wait_ns_max: u64,
    pub leave_ns_max: u64,
    pub rt_cpu_times: Vec<CpuTimes>,
}

/// Where the time of one RT CPU went, ns.
pub struct CpuTimes {
    pub cpu: u32,
    /// Linux tasks, RT1+, kernel threads, offline.
    pub known_ns: [u64; 4],
    /// Idle, and RT0 with interrupts; none while the CPU is offline.
    pub idle_ns: Option<u64>,
    pub rt0_and_interrupts_ns: Option<u64>,
}

/// What noticing system calls costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Breakpoints: an exception for each call on an RT CPU.
    OnRtCpus,
    /// The tracepoint: some instructions for each call anywhere.
    Everywhere,
    /// `nohz_full`: longer kernel entries on the RT CPUs.
    EachEntry,
}

/// What `artis sched run` says first: what it runs on, and what that costs everybody else.
/// `no_breakpoints`: why they are not used, though nobody asked for another detector.
pub fn heading(
    kernel: &str,
    rt: &CpuList,
    nrt: &CpuList,
    (detector, cost): (impl Display, Cost),
    no_breakpoints: Option<impl Display>,
) -> [String; 2] {
    let calls = match cost {
        Cost::OnRtCpus => {
            "each system call on an RT CPU takes an exception, and debuggers have fewer hardware \
             breakpoints"
        }
        Cost::Everywhere => "each system call on any CPU takes about 100 instructions more",
        Cost::EachEntry => {
            "nohz_full on the RT CPUs makes each kernel entry there, and each wakeup of RT0, longer"
        }
    };
    let why = no_breakpoints.map(|reason| format!(" (no breakpoints: {reason})"));
    let why = why.unwrap_or_default();
    [
        format!("kernel {kernel}, RT CPUs {rt}, NRT CPUs {nrt}, detector {detector}"),
        format!(
            "what it costs: {calls}{why}; work in the kernel has {} of {} CPUs",
            nrt.len(),
            nrt.len() + rt.len()
        ),
    ]
}

/// Limits on CPU time that do not hold while the scheduler is on, of these cgroups.
pub fn limits_unseen(cgroups: &[String]) -> String {
    format!(
        "warning: while artis schedules on this kernel, limits on CPU time (cpu.max) do not hold, \
         of {}; boot 6.17 or newer, or give such a cgroup a low cpu.weight",
        some(cgroups)
    )
}

/// Weights that count for nothing while the scheduler is on, of these cgroups.
pub fn weights_unseen(cgroups: &[String]) -> String {
    format!(
        "warning: while artis schedules on this kernel, weights of cgroups (cpu.weight) count for \
         nothing, of {}; boot one with CONFIG_EXT_GROUP_SCHED=y",
        some(cgroups)
    )
}

/// The first of these names, and how many more there are.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>();
    let shown = shown.join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A setting that is changed for as long as the scheduler is on.
pub fn changed(change: &Change) -> String {
    let Change { old, new, .. } = change;
    format!("{}: {old} -> {new} (put back at the end)", named(change))
}

/// Settings that an earlier artis left, because it was killed, and that were put back.
pub fn restored(changes: &[Change]) -> String {
    let all: Vec<String> = changes.iter().map(named).collect();
    format!(
        "an earlier artis was killed; put back what it had changed: {}",
        all.join(", ")
    )
}

/// RT CPUs that the scheduler took offline and back.
pub fn cycled(rt: &CpuList) -> String {
    format!(
        "RT CPUs {rt} were offline for a moment: timers and work that others had started there are \
         on other CPUs now"
    )
}

/// Which of the RT CPUs are offline now.
pub fn offline(offline: &CpuList, rt: &CpuList) -> String {
    if offline.is_empty() {
        return format!("all RT CPUs ({rt}) are online again");
    }
    format!(
        "RT CPU {offline} of {rt} is offline: RT0 tasks bound to it run wherever the kernel put \
         them, without any guarantee; bring it online again, or stop them"
    )
}

/// A kernel thread by its name and what of it is changed, everything else by its file.
fn named(change: &Change) -> String {
    match change.target {
        Target::Affinity { .. } => format!("CPUs of {}", change.what),
        Target::Scheduling { .. } => format!("policy of {}", change.what),
        _ => change.target.path(),
    }
}

/// The status as text: the facts, the time of each RT CPU, the counters by what they mean.
pub fn in_words(details: &Status, counters: Counters) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "scheduling since {} ({}), process {}, kernel {}",
        details.since,
        humantime::format_duration(Duration::from_secs(details.uptime_s)),
        details.pid,
        details.kernel
    );
    let _ = write!(
        text,
        "RT CPUs {}, NRT CPUs {}",
        details.rt_cpus, details.nrt_cpus
    );
    if !details.rt_cpus_offline.is_empty() {
        let _ = write!(text, ", offline {}", details.rt_cpus_offline);
    }
    let _ = writeln!(text, "\ndetector {}, which cannot see", details.detector);
    for spot in details.blind_spots {
        let _ = writeln!(text, "  - {spot}");
    }
    let uptime_ns = Duration::from_secs(details.uptime_s).as_nanos() as u64;
    rt_cpu_times(&mut text, &details.rt_cpu_times, uptime_ns);
    let _ = writeln!(
        text,
        "\nlongest wait of a runnable Linux task: {:.1} ms",
        details.linux_wait_ns_max as f64 / 1e6
    );
    let _ = writeln!(
        text,
        "longest time from a kernel entry on an RT CPU to leaving it: {:.3} ms",
        details.leave_ns_max as f64 / 1e6
    );
    let mut left_out = 0;
    for (value, meaning) in &details.counters {
        match value {
            0 if counters == Counters::NotZero => left_out += 1,
            value => {
                let _ = writeln!(text, "{value:>12}  {meaning}");
            }
        }
    }
    if left_out > 0 {
        let _ = writeln!(
            text,
            "{left_out:>12}  other counters are 0: --verbose shows them"
        );
    }
    text
}

fn rt_cpu_times(text: &mut String, all_times: &[CpuTimes], uptime_ns: u64) {
    let _ = writeln!(
        text,
        "\n{:<8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>22}",
        "RT CPU", "Linux", "RT1+", "kthreads", "offline", "idle", "RT0 and interrupts"
    );
    for times in all_times {
        let known: u64 = times.known_ns.iter().sum();
        let all = match times.idle_ns.zip(times.rt0_and_interrupts_ns) {
            Some((idle, rt0)) => known + idle + rt0,
            None => known.max(uptime_ns),
        };
        let share = |ns: u64| format!("{:.1} %", ns as f64 * 100.0 / all.max(1) as f64);
        let [linux, rt1, kthreads, offline] = times.known_ns.map(share);
        let share_if = |ns: Option<u64>| ns.map_or_else(|| "?".to_owned(), share);
        let _ = writeln!(
            text,
            "{:<8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>22}",
            times.cpu,
            linux,
            rt1,
            kthreads,
            offline,
            share_if(times.idle_ns),
            share_if(times.rt0_and_interrupts_ns)
        );
    }
    if all_times.iter().any(|times| times.idle_ns.is_none()) {
        let _ = writeln!(text, "?: the kernel shows it when the CPU is online again");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_partition::change::Kind;

    #[test]
    fn the_price_is_said_for_each_detector() {
        let list = |text: &str| -> CpuList { text.parse().unwrap() };
        let of = |name, cost, why: Option<&str>| {
            heading("7.0.1", &list("2-3"), &list("0-1,4"), (name, cost), why)
        };
        let [_, second] = of("breakpoint", Cost::OnRtCpus, None);
        assert!(second.contains("an exception") && !second.contains("100 instructions"));
        let [_, second] = of("syscall", Cost::Everywhere, Some("this kernel has none"));
        assert!(second.contains("more (no breakpoints: this kernel has none);"));
        let [first, second] = of("syscall", Cost::Everywhere, None);
        assert_eq!(
            first,
            "kernel 7.0.1, RT CPUs 2-3, NRT CPUs 0-1,4, detector syscall"
        );
        assert!(second.contains("about 100 instructions more; work in the kernel has 3 of 5 CPUs"));
        let [_, second] = of("entry", Cost::EachEntry, None);
        assert!(second.contains("nohz_full") && !second.contains("100 instructions"));
    }

    #[test]
    fn cgroups_are_named_and_many_are_counted() {
        let names =
            |count: usize| -> Vec<String> { (1..=count).map(|n| format!("/{n}")).collect() };
        assert_eq!(some(&names(1)), "/1");
        assert_eq!(some(&names(3)), "/1, /2, /3");
        assert_eq!(some(&names(5)), "/1, /2, /3 and 2 more");
        assert!(limits_unseen(&names(1)).contains("(cpu.max) do not hold, of /1;"));
        assert!(weights_unseen(&names(2)).contains("of /1, /2; boot"));
    }

    #[test]
    fn a_kernel_thread_has_its_name() {
        let change = |target| Change {
            kind: Kind::IrqThreadPriority,
            what: "rcu_preempt".to_owned(),
            target,
            old: "SCHED_OTHER 0".to_owned(),
            new: "SCHED_FIFO 1".to_owned(),
            detour: None,
            reason: String::new(),
        };
        let (tid, start_ticks) = (15, 5);
        let thread = change(Target::Scheduling { tid, start_ticks });
        assert_eq!(
            changed(&thread),
            "policy of rcu_preempt: SCHED_OTHER 0 -> SCHED_FIFO 1 (put back at the end)"
        );
        let words = restored(&[thread, change(Target::file("/proc/sys/x"))]);
        assert!(
            words.ends_with(": policy of rcu_preempt, /proc/sys/x"),
            "{words}"
        );
    }

    #[test]
    fn time_offline_stands_apart() {
        let line = |idle_ns, rt0_and_interrupts_ns| {
            let times = CpuTimes {
                cpu: 1,
                known_ns: [1, 0, 0, 5],
                idle_ns,
                rt0_and_interrupts_ns,
            };
            let mut text = String::new();
            rt_cpu_times(&mut text, &[times], 10);
            let lines: Vec<&str> = text.lines().skip(2).collect();
            lines
                .join("|")
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            line(Some(2), Some(2)),
            "1 10.0 % 0.0 % 0.0 % 50.0 % 20.0 % 20.0 %"
        );
        let offline = line(None, None);
        assert!(
            offline.starts_with("1 10.0 % 0.0 % 0.0 % 50.0 % ? ?|?: "),
            "{offline}"
        );
    }

    #[test]
    fn counters_of_zero_are_shown_to_whoever_asks() {
        let (rt, nrt) = ("1".parse().unwrap(), "0".parse().unwrap());
        let details = Status {
            pid: 7,
            since: "2026-01-01T00:00:00Z",
            uptime_s: 90,
            kernel: "7.0",
            rt_cpus: &rt,
            nrt_cpus: &nrt,
            rt_cpus_offline: &CpuList::default(),
            detector: "syscall".to_owned(),
            blind_spots: &[],
            counters: vec![(4711, "moves"), (0, "returns")],
            linux_wait_ns_max: 1,
            leave_ns_max: 1,
            rt_cpu_times: vec![CpuTimes {
                cpu: 1,
                known_ns: [1, 0, 0, 0],
                idle_ns: Some(3),
                rt0_and_interrupts_ns: Some(0),
            }],
        };
        let short = in_words(&details, Counters::NotZero);
        assert!(short.contains("4711  moves"), "{short}");
        assert!(
            short.contains("25.0 %") && short.contains("--verbose"),
            "{short}"
        );
        assert!(!short.contains("returns"), "{short}");
        let all = in_words(&details, Counters::All);
        assert!(
            all.contains("0  returns") && !all.contains("--verbose"),
            "{all}"
        );
    }
}
