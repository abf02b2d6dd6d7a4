// SPDX-License-Identifier: GPL-2.0-only
//! What a run gave: collected from tasks that still live, and from what all have counted.

use super::Error;
use super::actor::{Doing, account};
use super::arena::Slot;
use super::stage::Stage;
use artis_measure::clock::now_ns;
use artis_scenario::{Ended, Outcome, TaskOutcome};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

impl Stage {
    /// What the kernel knows of tasks that have not come to the end of their programs. They are
    /// stopped first, so that what they do meanwhile does not count.
    pub fn collect(&self) {
        let gate = self.shared.gate();
        gate.stop.store(1, Release);
        let end_ns = gate.end_ns.load(Relaxed);
        let now_ns = now_ns();
        gate.end_ns.store(
            if end_ns == 0 {
                now_ns
            } else {
                end_ns.min(now_ns)
            },
            Relaxed,
        );
        let living = || {
            let slots = self.shared.slots[..self.scenario.instances() as usize].iter();
            slots.filter(|slot| slot.has_ended.load(Acquire) == 0)
        };
        living().for_each(|slot| signal(slot, Signal::SIGSTOP));
        for slot in living() {
            let pid = slot.pid.load(Relaxed);
            if pid != 0 {
                account::fill(slot, &pid.to_string());
            }
        }
    }

    /// Why a task could not go on, if one could not.
    pub fn failure(&self) -> Result<(), Error> {
        let names = self.scenario.tasks.iter().enumerate();
        for (place, task) in names {
            let slots = self.slots_of(place).chain([self.forked_slot(place)]);
            for slot in slots {
                let failed = self.shared.slots[slot].failed.load(Acquire);
                if failed != 0 {
                    let (what, remedy) = Doing::of(failed >> 32).words();
                    return Err(Error::Task {
                        task: task.name.clone(),
                        what,
                        errno: Errno::from_raw(failed as u32 as i32),
                        remedy,
                    });
                }
            }
        }
        Ok(())
    }

    pub fn outcome(&self, ended: Ended) -> Outcome {
        let gate = self.shared.gate();
        let start_ns = gate.start_ns.load(Acquire);
        let slots = &self.shared.slots[..self.scenario.instances() as usize];
        let latest = slots
            .iter()
            .map(|it| it.end_ns.load(Relaxed))
            .max()
            .unwrap_or(0);
        let end_ns = match ended {
            Ended::All => latest,
            _ => gate.end_ns.load(Relaxed),
        };
        let late = slots.iter().map(|it| it.begin_late_ns.load(Relaxed)).max();
        let mut tasks = Vec::new();
        for (place, task) in self.scenario.tasks.iter().enumerate() {
            let own = self.slots_of(place);
            for (number, slot) in own.clone().enumerate() {
                let name = match own.len() {
                    1 => task.name.clone(),
                    _ => format!("{}/{}", task.name, number + 1),
                };
                tasks.push(self.task(name, slot, start_ns, false));
            }
            let forked = self.forked_slot(place);
            if self.shared.slots[forked].count.load(Relaxed) > 0 {
                tasks.push(self.task(task.name.clone(), forked, start_ns, true));
            }
        }
        Outcome {
            // Stopped before the start: 0.
            wall_ns: if start_ns == 0 {
                0
            } else {
                end_ns.saturating_sub(start_ns)
            },
            ended,
            step_ns: self.rates.step_ns,
            kernel_bytes_per_ns: self.rates.kernel_bytes_per_ns,
            start_late_ns_max: late.unwrap_or(0),
            tasks,
        }
    }

    fn task(&self, name: String, number: usize, start_ns: u64, is_forked: bool) -> TaskOutcome {
        let slot = &self.shared.slots[number];
        let units = self.shared.units_of(number);
        let all: u64 = units.iter().map(|it| it.load(Relaxed)).sum();
        let share = |(cpu, units): (u32, &AtomicU64)| {
            let units = units.load(Relaxed);
            (units > 0).then(|| (cpu, units as f64 / all as f64))
        };
        let shares: BTreeMap<u32, f64> = (0..).zip(units).filter_map(share).collect();
        let rt_cpus = &self.scenario.machine.rt_cpus;
        let on_rt = shares.iter().filter(|(cpu, _)| rt_cpus.contains(**cpu));
        // A sum of nothing is -0.
        let on_rt = on_rt.map(|(_, share)| share).sum::<f64>() + 0.0;
        let since = |now: &AtomicU64, base: &AtomicU64| {
            now.load(Relaxed).saturating_sub(base.load(Relaxed))
        };
        // 0 is what the kernel did not say; forked tasks were not asked.
        let known = |now: &AtomicU64, base: &AtomicU64| {
            (now.load(Relaxed) > 0 && !is_forked).then(|| since(now, base))
        };
        let base = &slot.base;
        let has_ended = slot.has_ended.load(Acquire) != 0 && !is_forked;
        TaskOutcome {
            name,
            count: if is_forked {
                slot.count.load(Relaxed)
            } else {
                1
            },
            is_forked,
            wall_ns: has_ended.then(|| slot.end_ns.load(Relaxed).saturating_sub(start_ns)),
            cpu_ns: since(&slot.cpu_ns, &base.cpu_ns),
            waiting_ns: known(&slot.waiting_ns, &base.waiting_ns),
            rt_share: (all > 0 && !rt_cpus.is_empty()).then_some(on_rt),
            shares,
            voluntary_switches: since(&slot.voluntary, &base.voluntary),
            involuntary_switches: since(&slot.involuntary, &base.involuntary),
            migrations: known(&slot.migrations, &base.migrations),
            activations: slot.activations.load(Relaxed),
            missed: slot.missed.load(Relaxed),
            late_ns_max: slot.late_ns_max.load(Relaxed),
            steps: slot.steps.load(Relaxed),
        }
    }
}

fn signal(slot: &Slot, signal: Signal) {
    let pid = slot.pid.load(Relaxed);
    if pid != 0 && slot.has_ended.load(Acquire) == 0 {
        let _ = kill(Pid::from_raw(pid), signal);
    }
}
