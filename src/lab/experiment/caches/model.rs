// SPDX-License-Identifier: GPL-2.0-only
//! The caches: of each CPU a first one for data and a private second one, and a third one that all
//! share. Owns what they hold and what each access misses; knows no guest, no engine, no cost.
//!
//! The second caches keep a line in one of MESI's states (Papamarcos and Patel, "A low-overhead
//! coherence solution for multiprocessors with private cache memories", ISCA 1984): a store takes
//! the line away from all others. The second contains the first. Each set replaces the line that
//! was used least recently.
//!
//! What it leaves out: instructions are fetched without a cost, nothing is fetched ahead, and a
//! line that leaves a cache is written back at no cost.

use artis_result::experiment::CacheCounts;

const LINE_BITS: u32 = 6;
const L1: Shape = Shape { sets: 64, ways: 8 };
const L2: Shape = Shape {
    sets: 2048,
    ways: 8,
};
const L3: Shape = Shape {
    sets: 16384,
    ways: 16,
};
/// What counts mean; a part of the name under which they are kept. It changes with the model.
pub const NAME: &str = "L1D 32 KiB/8, L2 1 MiB/8 each; L3 16 MiB/16; 64-byte lines; 1";

#[derive(Clone, Copy)]
struct Shape {
    sets: usize,
    ways: usize,
}

/// What a cache may do with a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Shared = 1,
    Exclusive = 2,
    Modified = 3,
}

impl State {
    fn of(bits: u64) -> Self {
        match bits {
            1 => Self::Shared,
            2 => Self::Exclusive,
            _ => Self::Modified,
        }
    }
}

/// One cache: in each set the lines, the one used last first, as `number << 2 | state`; 0 is none.
struct Level {
    shape: Shape,
    lines: Vec<u64>,
}

impl Level {
    fn new(shape: Shape) -> Self {
        let lines = vec![0; shape.sets * shape.ways];
        Self { shape, lines }
    }

    fn set(&mut self, number: u64) -> &mut [u64] {
        let first = (number as usize % self.shape.sets) * self.shape.ways;
        &mut self.lines[first..first + self.shape.ways]
    }

    /// Looks without using it.
    fn state(&mut self, number: u64) -> Option<State> {
        let mut lines = self.set(number).iter();
        let line = lines.find(|line| **line >> 2 == number && **line != 0)?;
        Some(State::of(line & 3))
    }

    /// Makes it the one used last, in this state; returns the line that has to leave.
    fn use_it(&mut self, number: u64, state: State) -> Option<u64> {
        let set = self.set(number);
        let at = set
            .iter()
            .position(|line| *line >> 2 == number && *line != 0);
        let oldest = set.len() - 1;
        let victim = match at {
            Some(_) => 0,
            None => set[oldest],
        };
        set[..=at.unwrap_or(oldest)].rotate_right(1);
        set[0] = number << 2 | state as u64;
        (victim != 0).then_some(victim >> 2)
    }

    fn drop_it(&mut self, number: u64) {
        if let Some(line) = self
            .set(number)
            .iter_mut()
            .find(|line| **line >> 2 == number)
        {
            *line = 0;
        }
    }

    /// Another CPU reads it, too.
    fn share(&mut self, number: u64) {
        if let Some(line) = self
            .set(number)
            .iter_mut()
            .find(|line| **line >> 2 == number && **line != 0)
        {
            *line = number << 2 | State::Shared as u64;
        }
    }
}

struct Cpu {
    l1: Level,
    l2: Level,
}

/// The caches of a machine.
pub struct Caches {
    cpus: Vec<Cpu>,
    l3: Level,
}

impl Caches {
    /// Empty ones.
    pub fn new(cpus: u32) -> Self {
        let cpu = |_| Cpu {
            l1: Level::new(L1),
            l2: Level::new(L2),
        };
        Self {
            cpus: (0..cpus).map(cpu).collect(),
            l3: Level::new(L3),
        }
    }

    /// An access of `cpu` to so many bytes from a physical address on.
    pub fn access(
        &mut self,
        cpu: u32,
        address: u64,
        bytes: u64,
        is_store: bool,
        counts: &mut CacheCounts,
    ) {
        let me = cpu as usize;
        if me >= self.cpus.len() {
            return;
        }
        let last = (address + bytes.max(1) - 1) >> LINE_BITS;
        for number in address >> LINE_BITS..=last {
            counts.accesses += 1;
            self.access_line(me, number, is_store, counts);
        }
    }

    fn access_line(&mut self, me: usize, number: u64, is_store: bool, counts: &mut CacheCounts) {
        let own = &mut self.cpus[me];
        let state = own.l1.state(number);
        let state = match state {
            Some(state) if !is_store || state != State::Shared => match is_store {
                true => State::Modified,
                false => state,
            },
            _ => {
                counts.l1 += u64::from(state.is_none());
                self.beyond_l1(me, number, is_store, counts)
            }
        };
        let own = &mut self.cpus[me];
        own.l1.use_it(number, state);
        // The others ask the second cache.
        if is_store && own.l2.state(number) != Some(State::Modified) {
            own.l2.use_it(number, State::Modified);
        }
    }

    /// The first cache has not what is needed. Gives the line's new state, and has it in the
    /// second.
    fn beyond_l1(
        &mut self,
        me: usize,
        number: u64,
        is_store: bool,
        counts: &mut CacheCounts,
    ) -> State {
        let known = self.cpus[me].l2.state(number);
        let state = match known {
            Some(state) if !is_store => state,
            Some(State::Shared) => {
                counts.upgrades += 1;
                self.take_from_others(me, number);
                State::Modified
            }
            Some(_) => State::Modified,
            None => self.beyond_l2(me, number, is_store, counts),
        };
        let own = &mut self.cpus[me];
        if let Some(victim) = own.l2.use_it(number, state) {
            own.l1.drop_it(victim);
        }
        state
    }

    fn beyond_l2(
        &mut self,
        me: usize,
        number: u64,
        is_store: bool,
        counts: &mut CacheCounts,
    ) -> State {
        counts.l2 += 1;
        let others = self
            .cpus
            .iter_mut()
            .enumerate()
            .filter(|(cpu, _)| *cpu != me);
        let states: Vec<State> = others
            .filter_map(|(_, other)| other.l2.state(number))
            .collect();
        let in_l3 = self.l3.state(number).is_some();
        if states.contains(&State::Modified) {
            counts.dirty += 1;
        } else if !states.is_empty() {
            counts.clean += 1;
        } else if !in_l3 {
            counts.memory += 1;
        }
        self.l3.use_it(number, State::Shared);
        if is_store {
            self.take_from_others(me, number);
            return State::Modified;
        }
        for other in self.others(me) {
            other.l1.share(number);
            other.l2.share(number);
        }
        match states.is_empty() {
            true => State::Exclusive,
            false => State::Shared,
        }
    }

    /// The caches of all CPUs but this one.
    fn others(&mut self, me: usize) -> impl Iterator<Item = &mut Cpu> {
        let all = self.cpus.iter_mut().enumerate();
        all.filter(move |(number, _)| *number != me)
            .map(|(_, cpu)| cpu)
    }

    fn take_from_others(&mut self, me: usize, number: u64) {
        for other in self.others(me) {
            other.l1.drop_it(number);
            other.l2.drop_it(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 1 << LINE_BITS;

    /// Counts of accesses, each a CPU, a line and whether it stores.
    fn counts(accesses: impl IntoIterator<Item = (u32, u64, bool)>) -> CacheCounts {
        let mut caches = Caches::new(2);
        let mut counts = CacheCounts::default();
        for (cpu, line, is_store) in accesses {
            caches.access(cpu, line * LINE, 8, is_store, &mut counts);
        }
        counts
    }

    #[test]
    fn a_line_is_missed_once() {
        let seen = counts([(0, 5, false), (0, 5, true), (0, 5, false)]);
        let once = CacheCounts {
            accesses: 3,
            l1: 1,
            l2: 1,
            memory: 1,
            ..CacheCounts::default()
        };
        assert_eq!(seen, once);
    }

    #[test]
    fn each_cache_holds_as_much_as_it_says() {
        let twice =
            |lines: u64| counts((0..2).flat_map(|_| (0..lines).map(|line| (0, line, true))));
        let [l1, l2, l3] = [L1, L2, L3].map(|of| (of.sets * of.ways) as u64);
        assert_eq!(twice(l1).l1, l1);
        let more = twice(2 * l1);
        assert_eq!((more.l1, more.l2), (4 * l1, 2 * l1));
        let more = twice(2 * l2);
        assert_eq!((more.l2, more.memory), (4 * l2, 2 * l2));
        assert_eq!(twice(2 * l3).memory, 4 * l3);
    }

    #[test]
    fn a_dirty_line_comes_from_the_other_cpu() {
        let seen = counts([
            (0, 5, true),
            (1, 5, false),
            (0, 5, false),
            (1, 5, true),
            (0, 5, true),
        ]);
        assert_eq!((seen.dirty, seen.clean, seen.upgrades), (2, 0, 1));
        let read = counts([(0, 5, false), (1, 5, false)]);
        assert_eq!((read.dirty, read.clean, read.memory), (0, 1, 1));
        // Written in the first cache only: the others see it nevertheless.
        let late = counts([(0, 5, false), (0, 5, true), (1, 5, false)]);
        assert_eq!(late.dirty, 1);
    }

    #[test]
    fn an_access_may_touch_two_lines() {
        let mut caches = Caches::new(1);
        let mut counts = CacheCounts::default();
        caches.access(0, 2 * LINE - 4, 8, false, &mut counts);
        assert_eq!((counts.accesses, counts.l1), (2, 2));
        caches.access(7, 0, 8, false, &mut counts);
        assert_eq!(counts.accesses, 2, "no such CPU");
    }
}
