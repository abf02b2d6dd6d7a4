// SPDX-License-Identifier: GPL-2.0-only
//! Cache misses: reads all over a region that is larger than the caches of a core. Each read has
//! the address of the next one, so that none can be fetched ahead. User mode only.

use super::Error;
use super::counters::Counters;
use std::convert::Infallible;
use std::hint::black_box;

/// Links in the chain, one for each cache line: 8 MiB.
const LINKS: usize = 1 << 17;
const WORDS_PER_LINE: usize = 8;
/// Reads in a unit of work.
const READS: usize = 1000;
/// The distance from one link to the next. It is odd, so that the chain visits every link before it
/// closes, and larger than a page, so that two links in a row never share a page.
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
    fn the_chain_visits_every_link() {
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
