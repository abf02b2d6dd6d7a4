// SPDX-License-Identifier: GPL-2.0-only
//! What `artis sched status` reports, as one document.

use super::detector::Detector;
use super::program::Readings;
use super::runtime::State;
use artis_machine::{CpuList, Root};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The scheduler, as it is now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    pub enabled: bool,
    /// Present while it is on.
    #[serde(flatten)]
    pub details: Option<Details>,
}

/// The scheduler while it is on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Details {
    pub pid: u32,
    /// RFC 3339, UTC.
    pub since: String,
    pub uptime_s: u64,
    pub kernel: String,
    pub rt_cpus: CpuList,
    pub nrt_cpus: CpuList,
    /// RT CPUs that are offline now.
    pub rt_cpus_offline: CpuList,
    pub detector: Detector,
    /// Kernel work on RT CPUs that this detector cannot see.
    pub detector_blind_spots: Vec<String>,
    /// Each counter by its name; docs/scheduler.md says what it counts.
    pub counters: BTreeMap<String, u64>,
    /// Longest wait of a runnable Linux task, in ns.
    pub linux_wait_ns_max: u64,
    /// Longest time from a kernel entry on an RT CPU to leaving that CPU, in ns.
    pub leave_ns_max: u64,
    pub rt_cpu_times: Vec<CpuTimes>,
}

/// Where the time of one RT CPU went since the scheduler was loaded, in ns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    pub cpu: u32,
    pub linux_ns: u64,
    pub rt1_ns: u64,
    pub kthread_ns: u64,
    /// Offline, in steps of 200 ms.
    pub offline_ns: u64,
    /// Idle, as the kernel accounts it: in steps of 10 ms; none while the CPU is offline, when the
    /// kernel does not show it.
    pub idle_ns: Option<u64>,
    /// The rest: RT0 tasks, and interrupts and switches between tasks; none as with the idle time.
    pub rt0_and_interrupts_ns: Option<u64>,
}

impl Status {
    pub fn off() -> Self {
        Self {
            enabled: false,
            details: None,
        }
    }

    /// Puts together what the scheduling process knows.
    pub fn on(
        state: &State,
        readings: Readings,
        clock: &IdleClock,
        away: &OfflineClock,
        root: &Root,
    ) -> Self {
        let since = UNIX_EPOCH + Duration::from_secs(state.since_unix_s);
        let uptime = clock.started.elapsed();
        let rt_cpu_times = readings
            .ran
            .iter()
            .map(|(&cpu, ran)| {
                let offline_ns = away.offline_ns(cpu);
                let tasks_ns = ran.linux_ns + ran.rt1_ns + ran.kthread_ns;
                let idle_ns = clock.idle_ns(root, cpu);
                let rest = |idle_ns: u64| {
                    let known = tasks_ns + offline_ns + idle_ns;
                    (uptime.as_nanos() as u64).saturating_sub(known)
                };
                CpuTimes {
                    cpu,
                    linux_ns: ran.linux_ns,
                    rt1_ns: ran.rt1_ns,
                    kthread_ns: ran.kthread_ns,
                    offline_ns,
                    idle_ns,
                    rt0_and_interrupts_ns: idle_ns.map(rest),
                }
            })
            .collect();
        Self {
            enabled: true,
            details: Some(Details {
                pid: state.pid,
                since: humantime::format_rfc3339_seconds(since).to_string(),
                uptime_s: uptime.as_secs(),
                kernel: state.kernel.clone(),
                rt_cpus: state.rt_cpus.clone(),
                nrt_cpus: state.nrt_cpus.clone(),
                rt_cpus_offline: readings.rt_offline,
                detector: state.detector,
                detector_blind_spots: state
                    .detector
                    .blind_spots()
                    .iter()
                    .map(|&text| text.to_owned())
                    .collect(),
                counters: readings
                    .counters
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect(),
                linux_wait_ns_max: readings.linux_wait_ns_max,
                leave_ns_max: readings.leave_ns_max,
                rt_cpu_times,
            }),
        }
    }
}

impl Details {
    /// The sum of all counters whose name starts with `prefix`.
    pub fn sum(&self, prefix: &str) -> u64 {
        self.counters
            .iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .map(|(_, value)| value)
            .sum()
    }
}

/// Seconds since 1970, for [`State::since_unix_s`].
pub fn now_unix_s() -> u64 {
    // A clock before 1970 is wrong, and only makes a message wrong.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

/// How long each CPU had been idle when the scheduler was loaded.
#[derive(Debug)]
pub struct IdleClock {
    started: Instant,
    at_start_ns: BTreeMap<u32, u64>,
}

impl IdleClock {
    pub fn start(root: &Root) -> Self {
        Self {
            at_start_ns: idle_times_ns(root),
            started: Instant::now(),
        }
    }

    /// None while the CPU is offline.
    fn idle_ns(&self, root: &Root, cpu: u32) -> Option<u64> {
        let now = idle_times_ns(root).get(&cpu).copied()?;
        Some(now.saturating_sub(self.at_start_ns.get(&cpu).copied().unwrap_or(0)))
    }
}

/// How long CPUs have been offline since the scheduler was loaded, as far as looks have seen it.
#[derive(Debug, Default)]
pub struct OfflineClock {
    before: BTreeMap<u32, Duration>,
    since: BTreeMap<u32, Instant>,
}

impl OfflineClock {
    /// These CPUs are offline now.
    pub fn look(&mut self, offline: &CpuList) {
        for cpu in offline.iter() {
            self.since.entry(cpu).or_insert_with(Instant::now);
        }
        let back: Vec<u32> = self
            .since
            .keys()
            .copied()
            .filter(|cpu| !offline.contains(*cpu))
            .collect();
        for cpu in back {
            let ended = self.since.remove(&cpu).map(|since| since.elapsed());
            *self.before.entry(cpu).or_default() += ended.unwrap_or_default();
        }
    }

    fn offline_ns(&self, cpu: u32) -> u64 {
        let before = self.before.get(&cpu).copied().unwrap_or_default();
        let now = self.since.get(&cpu).map(Instant::elapsed);
        (before + now.unwrap_or_default()).as_nanos() as u64
    }
}

/// Idle and I/O-wait time of each online CPU, from `/proc/stat` (in units of 10 ms there).
fn idle_times_ns(root: &Root) -> BTreeMap<u32, u64> {
    const TICK_NS: u64 = 10_000_000; // USER_HZ is 100 on every architecture artis runs on
    let stat = root.hint("/proc/stat").unwrap_or_default();
    stat.lines()
        .filter_map(|line| {
            // "cpu" alone is the line of all CPUs together: its number is empty.
            let (cpu, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
            let cpu = cpu.parse().ok()?;
            let mut fields = fields.split_ascii_whitespace();
            let idle: u64 = fields.clone().nth(3)?.parse().ok()?;
            let iowait: u64 = fields.nth(4)?.parse().ok()?;
            Some((cpu, (idle + iowait) * TICK_NS))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_offline_is_counted_for_each_cpu_and_stops_when_it_is_back() {
        let list = |text: &str| CpuList::from_kernel(text).unwrap();
        let mut clock = OfflineClock::default();
        clock.look(&list(""));
        assert_eq!(clock.offline_ns(1), 0);
        clock.look(&list("1"));
        std::thread::sleep(Duration::from_millis(2));
        assert!(clock.offline_ns(1) >= 2_000_000);
        clock.look(&list("2"));
        let one = clock.offline_ns(1);
        assert!(one >= 2_000_000);
        assert_eq!(clock.offline_ns(1), one);
        clock.look(&list("1-2"));
        assert!(clock.offline_ns(1) >= one && clock.offline_ns(3) == 0);
    }

    #[test]
    fn while_a_cpu_is_offline_its_idle_time_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root(folder.path().to_owned());
        std::fs::create_dir(root.path("proc")).unwrap();
        let write = |text: &str| std::fs::write(root.path("proc/stat"), text).unwrap();
        write("cpu1 1 2 3 400 5 6 7 0 0 0\n");
        let clock = IdleClock::start(&root);
        write("cpu1 1 2 3 401 5 6 7 0 0 0\n");
        assert_eq!(clock.idle_ns(&root, 1), Some(10_000_000));
        write("cpu0 1 2 3 4 5 6 7 0 0 0\n");
        assert_eq!(clock.idle_ns(&root, 1), None);
    }

    #[test]
    fn idle_time_is_idle_and_iowait_of_each_cpu() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        let stat = "cpu  9 9 9 9 9 0 0 0 0 0\ncpu0 1 2 3 400 5 6 7 0 0 0\ncpu12 1 2 3 4 0 6 7 0 0 0\nintr 5\n";
        std::fs::write(folder.path().join("proc/stat"), stat).unwrap();
        let times = idle_times_ns(&Root(folder.path().to_owned()));
        assert_eq!(
            times,
            BTreeMap::from([(0, 4_050_000_000), (12, 40_000_000)])
        );
    }
}
