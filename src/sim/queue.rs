// SPDX-License-Identifier: GPL-2.0-only
//! What comes next: one moment for each CPU, so that the queue never holds what is no longer true.
//!
//! A binary heap that knows where each CPU stands in it (Sedgewick, "Algorithms", section 2.4).

/// A CPU to which nothing comes.
pub const NEVER: u64 = u64::MAX;

/// The next moment of each CPU; of equal ones the CPU with the lowest number comes first.
#[derive(Debug)]
pub struct Queue {
    heap: Vec<u32>,
    place: Vec<u32>,
    at: Vec<u64>,
}

impl Queue {
    pub fn new(cpus: u32) -> Self {
        Self {
            heap: (0..cpus).collect(),
            place: (0..cpus).collect(),
            at: vec![NEVER; cpus as usize],
        }
    }

    /// The first moment, and whose it is.
    pub fn first(&self) -> (u64, u32) {
        let cpu = self.heap[0];
        (self.at[cpu as usize], cpu)
    }

    /// The next moment of a CPU is another one.
    pub fn set(&mut self, cpu: u32, at: u64) {
        if self.at[cpu as usize] == at {
            return;
        }
        self.at[cpu as usize] = at;
        let place = self.place[cpu as usize] as usize;
        let place = self.up(place);
        self.down(place);
    }

    fn key(&self, place: usize) -> (u64, u32) {
        let cpu = self.heap[place];
        (self.at[cpu as usize], cpu)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[self.heap[a] as usize] = a as u32;
        self.place[self.heap[b] as usize] = b as u32;
    }

    fn up(&mut self, mut place: usize) -> usize {
        while place > 0 {
            let above = (place - 1) / 2;
            if self.key(above) <= self.key(place) {
                break;
            }
            self.swap(above, place);
            place = above;
        }
        place
    }

    fn down(&mut self, mut place: usize) {
        loop {
            let left = 2 * place + 1;
            if left >= self.heap.len() {
                return;
            }
            let right = left + 1;
            let less = match right < self.heap.len() && self.key(right) < self.key(left) {
                true => right,
                false => left,
            };
            if self.key(place) <= self.key(less) {
                return;
            }
            self.swap(place, less);
            place = less;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_least(changes in prop::collection::vec((0_u32..9, 0_u64..50), 1..200)) {
            let mut queue = Queue::new(9);
            let mut plain = [NEVER; 9];
            for (cpu, at) in changes {
                queue.set(cpu, at);
                plain[cpu as usize] = at;
                let least = (0..9).map(|cpu| (plain[cpu as usize], cpu)).min();
                prop_assert_eq!(Some(queue.first()), least);
            }
        }
    }
}
