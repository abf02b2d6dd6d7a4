// SPDX-License-Identifier: GPL-2.0-only
//! Looks after those whom real-time tasks keep from a CPU for long.
//!
//! On NRT CPUs the kernel's deadline servers do, from Linux 7.0 on. Where one does not, its
//! setting is written again, which starts it anew; where that is no remedy either, the scheduler
//! has to end, because the kernel's own has servers. On RT CPUs servers are off. There the tasks
//! that may run nowhere else are served only by one that is on while they need it: when RT0 has
//! left them no time for a second.

use super::policy;
use super::program::{Error, Program};
use artis_machine::deadline_servers::{EXT_SERVER, runtime_file, runtime_ns};
use artis_machine::{CpuList, Root};
use artis_partition::change::{Change, Kind, Target};
use artis_partition::host::Host;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long RT0 may keep a bound task from its CPU.
const RT0_KEEPS_MAX: Duration = Duration::from_secs(1);
/// A server of an RT CPU stays on for so long after the last task that needed it.
const SERVER_STAYS: Duration = Duration::from_secs(10);

/// Tasks of a CPU had no turn for so long, although the kernel should have given them one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unserved {
    pub cpu: u32,
    pub waited: Duration,
    /// Has this kernel a deadline server for tasks of a BPF scheduler?
    pub has_server: bool,
}

/// Since when tasks have been runnable on each CPU that was beset all the time.
#[derive(Debug, Default)]
struct Waits(BTreeMap<u32, Instant>);

impl Waits {
    /// One more look, at `now`: the CPU has been beset for `beset_ns`, and `waits` says whether
    /// tasks are runnable there. Returns for how long they have been.
    fn note(&mut self, cpu: u32, beset_ns: u64, waits: bool, now: Instant) -> Duration {
        if !waits || !policy::is_beset_long(beset_ns) {
            self.0.remove(&cpu);
            return Duration::ZERO;
        }
        let since = self.0.entry(cpu).or_insert(now);
        // One of them ran in between.
        if now - *since > Duration::from_nanos(beset_ns) {
            *since = now;
        }
        now - *since
    }
}

/// What was found and done so far.
pub struct Lookout {
    host: Host<'static>,
    nrt: CpuList,
    /// The servers that were switched off on RT CPUs.
    off: Vec<Change>,
    /// Those of them for tasks of a BPF scheduler, by CPU: places in `off`.
    ext: BTreeMap<u32, usize>,
    nrt_waits: Waits,
    rt_waits: Waits,
    /// Servers of NRT CPUs that were started anew, and when.
    restarted: BTreeMap<u32, Instant>,
    /// Servers of RT CPUs that are on, and since when nobody needs them.
    on: BTreeMap<u32, Instant>,
}

impl Lookout {
    /// `changed`: what was changed for as long as the scheduler is on.
    pub fn new(root: &Root, rt: &CpuList, nrt: &CpuList, changed: &[Change]) -> Self {
        let server = |change: &&Change| change.kind == Kind::DeadlineServers;
        let off: Vec<Change> = changed.iter().filter(server).cloned().collect();
        let place = |cpu: u32| {
            let file = runtime_file(EXT_SERVER, cpu);
            Some((cpu, off.iter().position(|one| one.target.path() == file)?))
        };
        Self {
            host: Host::at(root.clone()),
            nrt: nrt.clone(),
            ext: rt.iter().filter_map(place).collect(),
            off,
            nrt_waits: Waits::default(),
            rt_waits: Waits::default(),
            restarted: BTreeMap::new(),
            on: BTreeMap::new(),
        }
    }

    /// Looks once. Cheap while no CPU is beset.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn look(&mut self, program: &Program<'_>) -> Result<Option<Unserved>, Error> {
        self.look_at_rt(program);
        let now = Instant::now();
        let records = program.records();
        let beset: Vec<(u32, u64)> = self
            .nrt
            .iter()
            .filter_map(|cpu| Some((cpu, records.online(cpu)?.beset_ns())))
            .collect();
        let all = beset.iter().all(|&(_, ns)| policy::is_beset_long(ns));
        for (cpu, beset_ns) in beset {
            let runnable = match policy::is_beset_long(beset_ns) {
                true => program.serve_beset(cpu, all)?,
                false => 0,
            };
            let waited = self.nrt_waits.note(cpu, beset_ns, runnable > 0, now);
            if !policy::is_unserved(waited.as_nanos() as u64) {
                continue;
            }
            let restarted = self.restarted.get(&cpu);
            if restarted.is_none_or(|&at| now - at > waited) && self.start_anew(cpu) {
                self.restarted.insert(cpu, now);
                continue;
            }
            let again = self.restarted.get(&cpu).map(|&at| now - at);
            if again.is_none_or(|since| policy::is_unserved(since.as_nanos() as u64)) {
                return Ok(Some(Unserved {
                    cpu,
                    waited,
                    has_server: program.has_servers(),
                }));
            }
        }
        Ok(None)
    }

    /// Starts the server of this CPU anew, if the kernel lets anybody.
    fn start_anew(&self, cpu: u32) -> bool {
        let server = Target::File {
            path: runtime_file(EXT_SERVER, cpu),
            shown: None,
        };
        match runtime_ns(&self.host.root, EXT_SERVER, cpu) {
            Ok(Some(ns)) if ns > 0 => self.host.set(&server, &ns.to_string()).is_ok(),
            _ => false,
        }
    }

    /// Switches all servers of RT CPUs on again: the end of the scheduler, and other settings that
    /// are put back behind it, wait for threads there.
    pub fn serve_all(&mut self) {
        self.on.clear();
        for server in &self.off {
            // Putting back all settings tries again, and reports.
            let _ = self.host.set(&server.target, &server.old);
        }
    }

    fn look_at_rt(&mut self, program: &Program<'_>) {
        let now = Instant::now();
        let records = program.records();
        for (&cpu, &place) in &self.ext {
            let server = &self.off[place];
            let set = |value: &str| self.host.set(&server.target, value).is_ok();
            let record = records.online(cpu);
            let (beset_ns, waits) = record.map_or((0, false), |one| (one.beset_ns(), one.waits()));
            let waited = self.rt_waits.note(cpu, beset_ns, waits, now);
            let needs = waited >= RT0_KEEPS_MAX;
            match self.on.get(&cpu) {
                None if needs && set(&server.old) => {
                    self.on.insert(cpu, now);
                }
                Some(_) if needs => {
                    self.on.insert(cpu, now);
                }
                Some(&since) if now - since > SERVER_STAYS && set(&server.new) => {
                    self.on.remove(&cpu);
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_on_a_cpu_that_is_beset_is_timed_from_the_first_look() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let ns = |ms: u64| ms * 1_000_000;
        let mut waits = Waits::default();
        // Beset for long, and somebody becomes runnable only now.
        assert_eq!(waits.note(0, ns(9000), true, at(0)), Duration::ZERO);
        assert_eq!(waits.note(0, ns(9200), true, at(200)).as_millis(), 200);
        assert_eq!(waits.note(0, ns(11_500), true, at(2500)).as_millis(), 2500);
        // A server let one of them run meanwhile.
        assert_eq!(waits.note(0, ns(300), true, at(2700)), Duration::ZERO);
        assert_eq!(waits.note(0, ns(500), true, at(2900)).as_millis(), 200);
        // Nobody waits any more; then somebody does again.
        assert_eq!(waits.note(0, ns(900), false, at(3300)), Duration::ZERO);
        assert_eq!(waits.note(0, ns(1100), true, at(3500)), Duration::ZERO);
        // No longer beset.
        assert_eq!(waits.note(0, 0, true, at(9000)), Duration::ZERO);
    }
}
