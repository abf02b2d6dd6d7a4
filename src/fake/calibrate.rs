// SPDX-License-Identifier: GPL-2.0-only
//! User work of a known length, and work in the kernel of a known length.
//!
//! What an undisturbed CPU does is the best of many short tries: whatever disturbs only makes a try
//! longer. On a machine whose frequency changes, it is that of the moment of calibration.

use super::Error;
use artis_machine::cpulist::CPUS_MAX;
use artis_measure::clock::now_ns;
use nix::errno::Errno;
use std::fs::File;
use std::hint::black_box;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Steps of a try, and how many tries there are: some milliseconds in all.
const STEPS: u64 = 20_000;
const TRIES: u32 = 60;
/// The buffer that the kernel clears again and again.
pub const BUFFER_BYTES: usize = 1 << 20;
/// Pieces of one system call at most (`IOV_MAX`).
const PIECES_MAX: usize = 1024;

/// What things take here.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    pub step_ns: f64,
    pub kernel_bytes_per_ns: f64,
}

/// So many steps of integer work: each needs the result of the one before (Marsaglia's xorshift64,
/// "Xorshift RNGs", 2003), as [`artis_load::own::compute`] has them.
pub fn steps(state: u64, count: u64) -> u64 {
    let mut x = black_box(state);
    for _ in 0..count {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x)
}

/// User work between two looks at the CPU and at the end of the run.
const PIECE_NS: f64 = 20_000.0;

/// Steps of such a piece.
pub fn piece(step_ns: f64) -> u64 {
    ((PIECE_NS / step_ns) as u64).max(1)
}

/// Steps that are counted for the CPU on which they end.
pub fn counted(state: u64, count: u64, units: &[AtomicU64]) -> u64 {
    let state = steps(state, count);
    // SAFETY: a call without arguments, which reads what the kernel keeps in this process.
    let cpu = unsafe { libc::sched_getcpu() };
    if let Some(unit) = usize::try_from(cpu).ok().and_then(|cpu| units.get(cpu)) {
        unit.fetch_add(count, Relaxed);
    }
    state
}

/// Measures this machine.
pub fn rates() -> Result<Rates, Error> {
    let mut state = artis_load::own::compute::START;
    let bare_ns = best_ns(|| state = steps(state, STEPS)) as f64 / STEPS as f64;
    // As tasks do it: with the counting between pieces.
    let units: Vec<AtomicU64> = (0..CPUS_MAX).map(|_| AtomicU64::new(0)).collect();
    let steps = piece(bare_ns);
    let counted_ns = best_ns(|| state = counted(state, steps, &units));
    let zero = Zero::open()?;
    let call = |bytes: u64| {
        let mut outcome = Ok(());
        let ns = best_ns(|| outcome = zero.clear(bytes));
        outcome
            .map_err(Error::system("read /dev/zero"))
            .map(|()| ns)
    };
    // The difference leaves out what the call itself takes.
    let (short, long) = (call(64 << 10)?, call(1 << 20)?);
    let bytes = f64::from((1 << 20) - (64 << 10));
    Ok(Rates {
        step_ns: counted_ns as f64 / steps as f64,
        kernel_bytes_per_ns: bytes / (long.saturating_sub(short)).max(1) as f64,
    })
}

/// Instructions of one step, as the processor counts them.
pub fn instructions_per_step() -> Result<f64, Error> {
    let failed = |errno| Error::System {
        what: "count instructions, which the steps `instructions` need; this processor or virtual \
               machine does not let us, so write compute with a time"
            .to_owned(),
        errno,
    };
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        config: COUNT_INSTRUCTIONS,
        flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
        ..Attributes::default()
    };
    // SAFETY: live attributes of the size that they say; the descriptor is owned from here on.
    let counter = unsafe {
        let made = libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            0,
            -1,
            -1,
            0,
        );
        let made = Errno::result(made).map_err(failed)?;
        OwnedFd::from_raw_fd(made as i32)
    };
    let read = || {
        let mut count = [0; 8];
        nix::unistd::read(&counter, &mut count).map(|_| u64::from_ne_bytes(count))
    };
    let began = read().map_err(failed)?;
    steps(artis_load::own::compute::START, STEPS);
    let counted = read().map_err(failed)? - began;
    match counted {
        0 => Err(failed(Errno::ENOTSUP)),
        counted => Ok(counted as f64 / STEPS as f64),
    }
}

/// The first version of perf_event_open(2)'s attributes, of 64 bytes.
#[derive(Default)]
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

/// Of include/uapi/linux/perf_event.h, of hardware events.
const COUNT_INSTRUCTIONS: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;

fn best_ns(mut work: impl FnMut()) -> u64 {
    let tries = (0..TRIES).map(|_| {
        let began_ns = now_ns();
        work();
        now_ns() - began_ns
    });
    tries.min().unwrap_or(0).max(1)
}

/// The kernel clears memory for as long as is asked for, in one system call.
pub struct Zero {
    file: File,
    buffer: Vec<u8>,
}

impl Zero {
    pub fn open() -> Result<Self, Error> {
        let file = File::open("/dev/zero").map_err(|error| Error::System {
            what: "open /dev/zero".to_owned(),
            errno: Errno::from_raw(error.raw_os_error().unwrap_or(0)),
        })?;
        // Touched, so that the call does not fault.
        let buffer = vec![1; BUFFER_BYTES];
        Ok(Self { file, buffer })
    }

    /// Clears so many bytes in one call; what one call cannot do, in the next ones.
    pub fn clear_all(&self, bytes: u64) -> Result<(), Errno> {
        let most = ((PIECES_MAX - 1) * BUFFER_BYTES) as u64;
        let mut left = bytes;
        while left > most {
            self.clear(most)?;
            left -= most;
        }
        self.clear(left)
    }

    /// One call that clears so many bytes, up to nearly a GiB.
    fn clear(&self, bytes: u64) -> Result<(), Errno> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let piece = |length| libc::iovec {
            iov_base: self.buffer.as_ptr().cast_mut().cast(),
            iov_len: length,
        };
        let whole = (bytes / BUFFER_BYTES).min(PIECES_MAX - 1);
        let mut pieces = [piece(BUFFER_BYTES); PIECES_MAX];
        pieces[whole] = piece(bytes % BUFFER_BYTES);
        // SAFETY: the pieces lie in the buffer, whose bytes nobody reads.
        let read = unsafe { libc::readv(self.file.as_raw_fd(), pieces.as_ptr(), whole as i32 + 1) };
        Errno::result(read).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_a_machine() {
        let rates = rates().unwrap();
        assert!(rates.step_ns > 0.1 && rates.step_ns < 1e4, "{rates:?}");
        assert!(rates.kernel_bytes_per_ns > 1e-3, "{rates:?}");
        assert_ne!(steps(5, 1), steps(5, 2));
        assert_eq!(steps(5, 3), steps(steps(5, 1), 2));
    }
}
