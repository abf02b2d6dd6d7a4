// SPDX-License-Identifier: GPL-2.0-only
//! The watched threads: their records in the kernel, their names, and what is left of ended ones.

use crate::convert::text;
use crate::error::Error;
use crate::skeleton::types::{recorder_call, recorder_thread};
use crate::targets::{Follow, Watched};
use artis_explain::document::{Counts, Thread};
use artis_machine::Root;
use libbpf_rs::{ErrorKind, MapCore, MapFlags, MapHandle};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

/// Names of ended threads that are counted separately; the others are summed up. So the memory does
/// not grow with the time.
const ENDED_NAMES: usize = 1024;
const OTHERS: &str = "(others)";
/// A thread that nobody has asked for its name yet.
pub(crate) const NAMELESS: &str = "?";

pub(crate) struct Threads {
    map: MapHandle,
    names: BTreeMap<u32, String>,
    ended: Ended,
}

impl Threads {
    pub fn new(map: MapHandle) -> Self {
        Self {
            map,
            names: BTreeMap::new(),
            ended: Ended::default(),
        }
    }

    pub fn bytes(&self) -> usize {
        self.map.max_entries() as usize * size_of::<recorder_thread>()
    }

    /// How many of these threads are new. `numbers`: the bits in the kernel of those that may be
    /// watched.
    pub fn watch(&mut self, watched: &Watched, numbers: &mut [u64]) -> Result<usize, Error> {
        let follow = match watched.follow() {
            Follow::Nobody => 0,
            Follow::Threads => 1,
            Follow::Children => 2,
        };
        let mut added = 0;
        for (tid, name) in watched.threads(&Root::default()) {
            // A thread that is watched already keeps its record.
            let fresh = recorder_thread {
                in_call: recorder_call::RECORDER_NOT_SEEN.0 as u16,
                call: -1,
                follow,
                silent: u8::from(*watched == Watched::Caller),
                ..Default::default()
            };
            note(numbers, tid);
            let key = tid.to_ne_bytes();
            match self.map.update(&key, bytes_of(&fresh), MapFlags::NO_EXIST) {
                Ok(()) => added += 1,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(_) => return Err(Error::TooManyThreads(self.map.max_entries())),
            }
            self.names.insert(tid, name);
        }
        Ok(added)
    }

    pub fn forget(&mut self, watched: &Watched) {
        for tid in watched.threads(&Root::default()).keys() {
            self.names.remove(tid);
            // The kernel has forgotten a thread that is not watched.
            let _ = self.map.delete(&tid.to_ne_bytes());
        }
    }

    /// Learns names, and sums up ended threads.
    pub fn refresh(&mut self) {
        let records = self.records();
        for (tid, record) in &records {
            if let Some(name) = Root::default().hint(format!("/proc/{tid}/comm")) {
                self.names.insert(*tid, name.trim_end().to_owned());
            }
            if record.ended != 0 {
                let ended = self.thread(*tid, record);
                self.names.remove(tid);
                self.ended.add(ended);
                // The number may be another's by now; then the kernel has deleted the record.
                let _ = self.map.delete(&tid.to_ne_bytes());
            }
        }
        if self.names.len() > records.len() {
            let known: BTreeSet<u32> = records.iter().map(|(tid, _)| *tid).collect();
            self.names.retain(|tid, _| known.contains(tid));
        }
    }

    pub fn is_alive(&self) -> bool {
        self.records().iter().any(|(_, record)| record.ended == 0)
    }

    pub fn all(&self) -> Vec<Thread> {
        let alive = self.records();
        let alive = alive.iter().map(|(tid, record)| self.thread(*tid, record));
        alive.chain(self.ended.0.values().cloned()).collect()
    }

    fn records(&self) -> Vec<(u32, recorder_thread)> {
        let keys = self.map.keys();
        keys.filter_map(|key| {
            let value = self.map.lookup(&key, MapFlags::ANY).ok()??;
            let tid = u32::from_ne_bytes(key.try_into().ok()?);
            Some((tid, from_bytes(&value)?))
        })
        .collect()
    }

    fn thread(&self, tid: u32, record: &recorder_thread) -> Thread {
        let counts = |loss: usize| Counts {
            count: record.count[loss],
            ns_sum: record.sum_ns[loss],
            ns_max: record.max_ns[loss],
        };
        // Its last name, where it ended; else the one that was seen last.
        let last = text(&record.name);
        let seen = self.names.get(&tid).cloned();
        let name = match last.is_empty() {
            true => seen.unwrap_or_else(|| NAMELESS.to_owned()),
            false => last,
        };
        Thread {
            tid,
            name,
            ended: record.ended != 0,
            wakeups: counts(0),
            locks: counts(1),
            activations: counts(2),
        }
    }
}

/// What ended threads lost, by name: their numbers come again.
#[derive(Default)]
struct Ended(BTreeMap<String, Thread>);

impl Ended {
    fn add(&mut self, one: Thread) {
        let known = self.0.contains_key(&one.name);
        let name = match known || self.0.len() < ENDED_NAMES {
            true => one.name.clone(),
            false => OTHERS.to_owned(),
        };
        let sum = self.0.entry(name.clone()).or_default();
        let plus = |sum: &mut Counts, one: Counts| {
            sum.count += one.count;
            sum.ns_sum += one.ns_sum;
            sum.ns_max = sum.ns_max.max(one.ns_max);
        };
        plus(&mut sum.wakeups, one.wakeups);
        plus(&mut sum.locks, one.locks);
        plus(&mut sum.activations, one.activations);
        sum.tid = one.tid;
        sum.name = name;
        sum.ended = true;
    }
}

/// Sets the bit of a thread's number, without which the kernel's part does not look for its record.
fn note(numbers: &mut [u64], tid: u32) {
    let at = (tid as usize / 64).checked_rem(numbers.len());
    if let Some(bits) = at.and_then(|at| numbers.get_mut(at)) {
        // SAFETY: an aligned integer that lives as long as the slice. The kernel sets bits, too.
        let bits = unsafe { AtomicU64::from_ptr(bits) };
        bits.fetch_or(1 << (tid % 64), Ordering::SeqCst);
    }
}

fn bytes_of(record: &recorder_thread) -> &[u8] {
    let start = std::ptr::from_ref(record).cast::<u8>();
    // SAFETY: plain integers without padding, alive as long as the slice.
    unsafe { std::slice::from_raw_parts(start, size_of::<recorder_thread>()) }
}

fn from_bytes(bytes: &[u8]) -> Option<recorder_thread> {
    if bytes.len() != size_of::<recorder_thread>() {
        return None;
    }
    // SAFETY: as many bytes as the record has, in which every value is valid.
    Some(unsafe { bytes.as_ptr().cast::<recorder_thread>().read_unaligned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_threads_take_a_fixed_amount_of_memory() {
        let mut ended = Ended::default();
        for number in 0..5000_u32 {
            ended.add(Thread {
                tid: number,
                name: format!("worker-{number}"),
                wakeups: Counts {
                    count: 2,
                    ns_sum: 10,
                    ns_max: u64::from(number),
                },
                ..Default::default()
            });
        }
        assert_eq!(ended.0.len(), ENDED_NAMES + 1);
        let counts = ended.0.values().map(|one| one.wakeups);
        assert_eq!(counts.clone().map(|one| one.count).sum::<u64>(), 10_000);
        assert_eq!(counts.map(|one| one.ns_max).max(), Some(4999));
    }
}
