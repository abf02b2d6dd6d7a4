// SPDX-License-Identifier: GPL-2.0-only
//! The dirty walk: writes one word in each cache line of some memory, over and over, and makes a
//! short system call now and then. A scheduler that moves it pays with all of its dirty lines.

use super::counters::Counters;
use super::{Error, compute};
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous};
use std::convert::Infallible;
use std::hint::black_box;
use std::num::NonZeroUsize;

/// How much it writes, and how often it calls.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Walk {
    pub name: &'static str,
    pub kib: u32,
    /// From one system call to the next: instructions in user mode, in thousands.
    pub kilo_instructions: u32,
}

const fn walk(name: &'static str, kib: u32, kilo_instructions: u32) -> Walk {
    Walk {
        name,
        kib,
        kilo_instructions,
    }
}

/// Those that experiments can name: a part of a core's cache, most of it, and more than it; calls
/// that a scheduler can follow, and calls that come before a move has paid.
pub static WALKS: [Walk; 12] = [
    walk("walk-64k-100k", 64, 100),
    walk("walk-64k-500k", 64, 500),
    walk("walk-64k-2500k", 64, 2500),
    walk("walk-256k-100k", 256, 100),
    walk("walk-256k-500k", 256, 500),
    walk("walk-256k-2500k", 256, 2500),
    walk("walk-512k-100k", 512, 100),
    walk("walk-512k-500k", 512, 500),
    walk("walk-512k-2500k", 512, 2500),
    walk("walk-2048k-100k", 2048, 100),
    walk("walk-2048k-500k", 2048, 500),
    walk("walk-2048k-2500k", 2048, 2500),
];

/// Where its memory is, in each process: whoever reads a list of accesses knows whose they are.
/// Nothing else is mapped so far below the kernel's usual places.
pub const ADDRESS: usize = 0x7a00_0000_0000;
/// The end of the largest.
pub const END: usize = ADDRESS + (1 << 30);

const WORDS_PER_LINE: usize = 8;
const BYTES_PER_LINE: usize = 64;
/// Steps of integer work after each line: enough that a line in the first cache costs little of it.
const STEPS: u32 = 5;
/// Instructions for a line, with its steps: what one took in the emulator, release build.
const INSTRUCTIONS_PER_LINE: u32 = 73;
/// Lines in a unit of work.
const LINES_PER_UNIT: u32 = 1000;

impl Walk {
    pub(super) fn run(&self, counters: &Counters) -> Result<Infallible, Error> {
        let region = map(self.kib as usize * 1024)?;
        let lines_per_call = (self.kilo_instructions * 1000 / INSTRUCTIONS_PER_LINE).max(1);
        let (mut until_call, mut until_unit) = (lines_per_call, LINES_PER_UNIT);
        let mut state = compute::START;
        loop {
            for word in region.iter_mut().step_by(WORDS_PER_LINE) {
                for _ in 0..STEPS {
                    state = black_box(compute::step(state));
                }
                *word = black_box(state);
                until_call -= 1;
                if until_call == 0 {
                    until_call = lines_per_call;
                    // SAFETY: takes nothing and changes nothing.
                    unsafe { libc::getppid() };
                }
                until_unit -= 1;
                if until_unit == 0 {
                    until_unit = LINES_PER_UNIT;
                    counters.add_done(1);
                }
            }
        }
    }
}

/// Memory at [`ADDRESS`], touched.
fn map(bytes: usize) -> Result<&'static mut [u64], Error> {
    let length =
        NonZeroUsize::new(bytes.next_multiple_of(BYTES_PER_LINE)).unwrap_or(NonZeroUsize::MIN);
    let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_FIXED_NOREPLACE | MapFlags::MAP_POPULATE;
    let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: nothing that is mapped is replaced.
    let start = unsafe { mmap_anonymous(NonZeroUsize::new(ADDRESS), length, rights, flags) }
        .map_err(Error::system("map the memory of the dirty walk"))?;
    // SAFETY: so many bytes are mapped, zeroed, aligned to a page, and never unmapped; nobody else
    // knows of them.
    Ok(unsafe {
        std::slice::from_raw_parts_mut(start.cast().as_ptr(), length.get() / size_of::<u64>())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_how_much_and_how_often() {
        for walk in &WALKS {
            let said = format!("walk-{}k-{}k", walk.kib, walk.kilo_instructions);
            assert_eq!(walk.name, said);
            assert!(ADDRESS + walk.kib as usize * 1024 <= END);
        }
    }

    #[test]
    fn its_memory_is_where_it_says_and_only_once() {
        let region = map(1 << 16).unwrap();
        assert_eq!(region.as_ptr() as usize, ADDRESS);
        assert_eq!(size_of_val(region), 1 << 16);
        region.fill(1);
        assert!(map(4096).is_err(), "nothing that is mapped is replaced");
    }
}
