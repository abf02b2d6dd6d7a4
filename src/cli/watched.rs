// SPDX-License-Identifier: GPL-2.0-only
//! Which wakeups the light watch looks at: the same options for each command that has it.

use super::value;
use crate::machine::cpus::Cpus;
use crate::machine::{CpuList, Root, tasks};
use anyhow::bail;
use artis_watch::{Settings, Whom};

#[derive(clap::Args)]
pub(super) struct Options {
    /// Real-time threads on these CPUs, such as 2-3; otherwise on all
    #[arg(long, value_name = "LIST", value_parser = value::cpus::list, conflicts_with_all = ["pid", "thread"])]
    cpus: Option<CpuList>,
    /// The real-time threads of this process; may be given again
    #[arg(long, value_parser = value::number::process)]
    pid: Vec<i32>,
    /// This thread; may be given again
    #[arg(long, value_name = "TID", value_parser = value::number::process)]
    thread: Vec<i32>,
    /// Wakeups above it are late, such as 100us; the flight recorder then looks for the culprit
    #[arg(long, value_name = "US", value_parser = value::duration::microseconds(1..=3_600_000_000_u64))]
    bound: Option<u64>,
    /// Real-time threads of the kernel itself, too
    #[arg(long)]
    kernel_threads: bool,
}

impl Options {
    /// Whom they mean on this machine.
    pub fn resolve(&self, root: &Root) -> anyhow::Result<Settings> {
        for (kind, numbers) in [("process", &self.pid), ("thread", &self.thread)] {
            for number in numbers {
                if tasks::process_of(root, *number).is_none() {
                    bail!(
                        "{kind} {number} does not exist; it may have ended, and `artis tasks --rt` \
                         lists what there is"
                    );
                }
            }
        }
        let unsigned = |numbers: &[i32]| numbers.iter().map(|one| one.unsigned_abs()).collect();
        let whom = match (&self.cpus, self.pid.is_empty() && self.thread.is_empty()) {
            (Some(cpus), _) => Whom::Cpus(cpus.clone()),
            (None, true) => Whom::Cpus(Cpus::read(root)?.possible),
            (None, false) => Whom::Numbers {
                processes: unsigned(&self.pid),
                threads: unsigned(&self.thread),
            },
        };
        Ok(Settings {
            whom,
            bound_ns: self.bound.map(|us| us.saturating_mul(1000)),
            kernel_threads: self.kernel_threads,
        })
    }
}
