// SPDX-License-Identifier: GPL-2.0-only
//! The host's part of the demo: boots one guest, and gets its counts back.

use crate::Error as LabError;
use crate::debian::kernel::Kernel;
use crate::engine::Engine;
use crate::host::cache::Cache;
use crate::host::scratch::Scratch;
use crate::image::Image;
use crate::machine::Machine;
use crate::machine::record::Ended;
use crate::progress::Progress;
use artis_guest::demo::{Configuration, Measured, Task};
use artis_machine::CpuList;
use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// Virtual CPUs; the last one is RT.
pub const CPUS: u32 = 2;
/// An idle CPU keeps spinning, as seen from the host. A sleeping CPU makes the emulator faster for
/// the other one: with affinity, which leaves the RT CPU idle, the other tasks then had 20 % more
/// than a CPU. On a real machine with one core for each CPU they have one.
const POLL_WHEN_IDLE: &str = "idle=poll";
/// Time beyond the windows, for what comes between them on a busy host; then something hangs.
const SPARE: Duration = Duration::from_secs(240);

/// Why the demo has no figures.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error("the demo failed in the guest with status {0}; its message is above")]
    Failed(u8),
    #[error("the demo took longer than {} s in the guest; is the host very busy?", .0.as_secs())]
    TimedOut(Duration),
    #[error("interrupted by signal {0}; the virtual machine was ended")]
    Interrupted(i32),
    /// The guest's answer is damaged.
    #[error("the guest's part of the demo sent no figures")]
    NoFigures(#[from] serde_json::Error),
}

/// What to run.
pub struct Options {
    /// What runs the guest.
    pub engine: Arc<dyn Engine>,
    /// Where the engine's programs are kept.
    pub cache: Cache,
    /// Kernel to boot.
    pub kernel: Kernel,
    /// The guest's file system.
    pub system: Arc<Image>,
    /// The configurations, in this order.
    pub configurations: Vec<Configuration>,
    /// Seconds counted in each.
    pub seconds: u32,
    /// A signal number put here ends the guest.
    pub stop: Arc<AtomicUsize>,
}

/// The RT CPU.
pub fn rt_cpu() -> CpuList {
    CpuList::from_iter([CPUS - 1])
}

/// Boots the kernel and runs the demo there; once more, at most twice, when the emulator loses the
/// guest. What the guest says meanwhile goes to `stderr`. Gives the signal that ended it, if one
/// did, with what was measured in whole turns before.
///
/// # Errors
/// When the guest cannot be booted, or its part of the demo fails.
pub fn run(
    options: Options,
    stderr: &mut dyn Write,
    progress: &mut dyn Progress,
) -> Result<(Vec<Measured>, Option<i32>), Error> {
    let task = Task {
        configurations: options.configurations,
        rt: rt_cpu(),
        seconds: options.seconds,
    };
    let windows = u32::try_from(task.configurations.len()).unwrap_or(u32::MAX);
    let timeout = Duration::from_secs(options.seconds.into()) * windows + SPARE;
    let words = ["artis-guest", "demo", &serde_json::to_string(&task)?];
    let command = words.map(OsString::from);

    let output = Scratch::new()?;
    let folder = output.path().to_owned();
    let (cache, kernel, system) = (&options.cache, options.kernel, options.system);
    let mut machine = Machine::new(options.engine, cache, kernel, system, folder);
    machine.cpus = CPUS;
    machine.append = POLL_WHEN_IDLE.to_owned();
    machine.timeout = Some(timeout);
    machine.stop = options.stop;
    let ran = machine.run_again_when_lost(&command, stderr, progress);
    // The console is the only trace of what went wrong.
    let (outcome, answer) = ran.map_err(|error| output.keep_console(error))?;
    match outcome.ended {
        Ended::Exit(0) => Ok((last_turn(&answer)?, None)),
        Ended::Exit(status) => Err(Error::Failed(status)),
        Ended::TimedOut => Err(Error::TimedOut(timeout)),
        Ended::Interrupted(signal) => {
            // The last line may be half a line.
            let end = answer.iter().rposition(|byte| *byte == b'\n');
            let end = end.ok_or(Error::Interrupted(signal))?;
            Ok((last_turn(&answer[..end])?, Some(signal)))
        }
    }
}

/// The guest's last line: each has all that was measured until then.
fn last_turn(answer: &[u8]) -> Result<Vec<Measured>, Error> {
    let answer = answer.trim_ascii_end();
    let begin = answer.iter().rposition(|byte| *byte == b'\n');
    Ok(serde_json::from_slice(
        &answer[begin.map_or(0, |at| at + 1)..],
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_turn_counts() {
        assert!(last_turn(b"[1]\n[]\n").unwrap().is_empty());
        assert!(last_turn(b"[]").unwrap().is_empty());
        assert!(last_turn(b"").is_err());
    }
}
