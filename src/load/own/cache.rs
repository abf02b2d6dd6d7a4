// SPDX-License-Identifier: GPL-2.0-only
//! Cache misses: reads all over a region that no cache of a core holds, each at a place that the
//! one before named, so that none can be fetched ahead. User mode only.

use super::Error;
use super::counters::Counters;
use std::convert::Infallible;
use std::hint::black_box;

/// Links in the chain, one a cache line: 8 MiB.
const LINKS: usize = 1 << 17;
const WORDS_PER_LINE: usize = 8;
/// Reads in a unit of work.
const READS: usize = 1000;
/// From one link to the next: odd, so that the chain meets every link before it closes, and far
/// from any power of two, so that no two neighbours share a page.
const STRIDE: usize = 40_503;

pub(super) fn run(counters: &Counters) -> Result<Infallible, Error> {
    let mut chain = vec![0_usize; LINKS * WORDS_PER_LINE];
    for link in 0..LINKS {
        chain[link * WORDS_PER_LINE] = (link + STRIDE) % LINKS;
    }
    let mut link = 0;
    loop {
        for _ in 0..READS {
            link = black_box(chain[link * WORDS_PER_LINE]);
        }
        counters.add_done(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_meets_every_link() {
        let mut link = 0;
        let mut met = vec![false; LINKS];
        for _ in 0..LINKS {
            met[link] = true;
            link = (link + STRIDE) % LINKS;
        }
        assert_eq!(link, 0);
        assert!(met.iter().all(|met| *met));
    }
}
