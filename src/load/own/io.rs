// SPDX-License-Identifier: GPL-2.0-only
//! Input and output: a file is written block by block and read back, again and again. It is in a
//! temporary folder, which may be in memory; then this is file-system work without a disk.

use super::Error;
use super::counters::Counters;
use std::convert::Infallible;
use std::os::unix::fs::FileExt;

const BLOCK: usize = 4096;
/// Blocks in the file: 1 MiB.
const BLOCKS: u64 = 256;

pub(super) fn run(counters: &Counters) -> Result<Infallible, Error> {
    let file = tempfile::tempfile().map_err(Error::io("create a temporary file"))?;
    let mut block = vec![0xa5_u8; BLOCK];
    loop {
        for number in 0..BLOCKS {
            file.write_all_at(&block, number * BLOCK as u64)
                .map_err(Error::io("write the temporary file"))?;
            counters.add_done(1);
        }
        for number in 0..BLOCKS {
            file.read_exact_at(&mut block, number * BLOCK as u64)
                .map_err(Error::io("read the temporary file"))?;
            counters.add_done(1);
        }
    }
}
