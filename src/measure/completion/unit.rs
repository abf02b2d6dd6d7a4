// SPDX-License-Identifier: GPL-2.0-only
//! A unit of work: a number of steps of one nature.

use crate::clock::now_ns;
use crate::routine::{Routine, Work};
use artis_result::Nature;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

/// A step of input and output writes and reads so much.
const BLOCK: usize = 4096;
/// And goes through so many places of the file, one after the other.
const BLOCKS: u32 = 256;
/// The shortest of so many times counts.
const TRIES: u32 = 20;
/// Steps whose time is taken.
const CALIBRATION: u32 = 2000;

/// How many steps of each nature take a microsecond on the idle machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steps {
    pub user: f64,
    pub system_calls: f64,
    pub io: f64,
}

impl Steps {
    fn of(&self, nature: Nature) -> f64 {
        match nature {
            Nature::User => self.user,
            Nature::SystemCalls => self.system_calls,
            Nature::Io => self.io,
        }
    }
}

/// Finds them out, in some milliseconds.
///
/// # Errors
/// When there can be no file for input and output.
pub fn steps_per_us() -> io::Result<Steps> {
    let of = |nature| {
        let unit = Unit::of_steps(nature, 0, CALIBRATION)?;
        let time = |_| {
            let began_ns = now_ns();
            unit.run();
            now_ns() - began_ns
        };
        let shortest_ns = (0..TRIES).map(time).min().unwrap_or(1).max(1);
        Ok::<f64, io::Error>(f64::from(CALIBRATION) * 1000.0 / shortest_ns as f64)
    };
    Ok(Steps {
        user: of(Nature::User)?,
        system_calls: of(Nature::SystemCalls)?,
        io: of(Nature::Io)?,
    })
}

/// Work that is ready to be done.
#[derive(Debug)]
pub struct Unit {
    nature: Nature,
    length_us: u32,
    steps: Kind,
}

#[derive(Debug)]
enum Kind {
    Routine(Work),
    Io { file: File, count: u32 },
}

impl Unit {
    /// One of this length on the idle machine.
    ///
    /// # Errors
    /// When there can be no file for input and output.
    pub fn new(nature: Nature, length_us: u32, steps: &Steps) -> io::Result<Self> {
        let count = (f64::from(length_us) * steps.of(nature)).round();
        Self::of_steps(
            nature,
            length_us,
            count.clamp(1.0, f64::from(u32::MAX)) as u32,
        )
    }

    fn of_steps(nature: Nature, length_us: u32, count: u32) -> io::Result<Self> {
        let steps = match nature {
            Nature::User => Kind::Routine(Work::new(Routine::Integer, count)),
            Nature::SystemCalls => Kind::Routine(Work::new(Routine::Syscall, count)),
            Nature::Io => Kind::Io {
                file: nameless_file()?,
                count,
            },
        };
        Ok(Self {
            nature,
            length_us,
            steps,
        })
    }

    pub fn nature(&self) -> Nature {
        self.nature
    }

    pub fn length_us(&self) -> u32 {
        self.length_us
    }

    /// Does it once.
    pub fn run(&self) {
        match &self.steps {
            Kind::Routine(work) => work.run(),
            Kind::Io { file, count } => input_and_output(file, *count),
        }
    }
}

fn input_and_output(file: &File, count: u32) {
    let mut block = [0x5a; BLOCK];
    for step in 0..count {
        let offset = u64::from(step % BLOCKS) * BLOCK as u64;
        // The time counts, not the bytes; the file was written whole before.
        let _ = file.write_at(&block, offset);
        let _ = file.read_at(&mut block, offset);
    }
}

/// A file without a name in the folder for temporary ones: through the page cache, as most input
/// and output goes. All its blocks are there.
fn nameless_file() -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_TMPFILE)
        .mode(0o600)
        .open(std::env::temp_dir())?;
    for block in 0..BLOCKS {
        file.write_all_at(&[0; BLOCK], u64::from(block) * BLOCK as u64)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nature_has_steps_and_a_unit_has_as_many_as_its_length() {
        let steps = steps_per_us().unwrap();
        for nature in Nature::ALL {
            assert!(steps.of(nature) > 0.0, "{steps:?}");
            let unit = Unit::new(nature, 10, &steps).unwrap();
            assert_eq!((unit.nature(), unit.length_us()), (nature, 10));
            unit.run();
        }
    }
}
