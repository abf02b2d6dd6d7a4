// SPDX-License-Identifier: GPL-2.0-only
//! Control groups of stock: a weight, which its runnable tasks divide, and a limit in each period.

use crate::cpu::Comes;
use crate::sim::Sim;
use crate::task::Id;
use crate::wake::How;

/// A group with a weight, or a limit.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub weight: u64,
    pub runnable: u64,
    quota_ns: i64,
    left_ns: i64,
    period_ns: u64,
    stopped: Vec<Id>,
}

impl Sim<'_> {
    pub(crate) fn fair_start_limits(&mut self) {
        let groups = &self.scenario.objects.groups;
        self.fair.groups = groups.iter().map(group).collect();
        for (place, group) in (0_u32..).zip(groups) {
            if let Some(quota) = group.quota {
                self.set_timer(0, quota.period_ns, Comes::Refill(place));
            }
        }
    }

    fn fair_limit(&mut self, id: Id) -> Option<&mut Group> {
        let place = self.tasks[id as usize].group as usize;
        let group = self.fair.groups.get_mut(place.wrapping_sub(1))?;
        (group.quota_ns > 0).then_some(group)
    }

    pub(super) fn fair_charge_limit(&mut self, id: Id, ran_ns: u64) {
        if let Some(group) = self.fair_limit(id) {
            group.left_ns -= ran_ns as i64;
        }
    }

    pub(super) fn fair_is_out(&mut self, id: Id) -> bool {
        self.fair_limit(id).is_some_and(|group| group.left_ns <= 0)
    }

    pub(super) fn fair_stop(&mut self, id: Id) {
        if let Some(group) = self.fair_limit(id) {
            group.stopped.push(id);
        }
    }

    pub(super) fn fair_is_stopped(&mut self, id: Id) -> bool {
        let is_out = self.fair_is_out(id);
        if is_out {
            self.fair_stop(id);
        }
        is_out
    }

    /// A period of a limit begins: who was stopped goes on.
    pub(crate) fn fair_refill(&mut self, cpu: u32, place: u32) {
        let group = &mut self.fair.groups[place as usize];
        group.left_ns = group.quota_ns.min(group.left_ns + group.quota_ns);
        let at = self.now + group.period_ns;
        let stopped = match group.left_ns > 0 {
            true => std::mem::take(&mut group.stopped),
            false => Vec::new(),
        };
        self.set_timer(cpu, at, Comes::Refill(place));
        for id in stopped {
            self.fair_enqueue_woken(id, cpu, How::Task);
        }
    }
}

fn group(spec: &artis_scenario::model::Group) -> Group {
    let quota_ns = spec.quota.map_or(0, |quota| quota.quota_ns as i64);
    Group {
        weight: u64::from(spec.weight.unwrap_or(100)),
        runnable: 0,
        quota_ns,
        left_ns: quota_ns,
        period_ns: spec.quota.map_or(0, |quota| quota.period_ns),
        stopped: Vec::new(),
    }
}
