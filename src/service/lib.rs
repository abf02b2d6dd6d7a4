// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler as a service: its configuration file, and the partition that ends with it.
//!
//! [`config`] understands the file and reads nothing. [`partition`] makes the partition that the
//! file asks for and puts it back when the scheduler stops, or, after a `kill -9`, when artis is
//! next called. Loading and driving the scheduler is [`artis_sched::service`]'s.

pub mod config;
pub mod partition;

use artis_machine::cpus::Cpus;
use artis_machine::kernel::Kernel;
use artis_machine::privilege::Privilege;
use artis_machine::{CpuList, Root};
use artis_sched::detector::Detector;
use artis_sched::require;
use artis_sched::service::Error;

/// Whether the scheduler can run on this machine at all. It is asked before the machine is
/// partitioned for it; [`artis_sched::service::run`] asks it again.
///
/// # Errors
/// What is missing, each with what to do.
pub fn can_schedule(root: &Root, rt: &CpuList, detector: Detector) -> Result<(), Error> {
    let (kernel, privilege) = (Kernel::read(root)?, Privilege::of_self(root)?);
    let tickless = Cpus::read(root)?.nohz_full;
    let missing = require::missing(root, &kernel, &privilege, detector, rt, &tickless);
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Error::Missing(missing)),
    }
}
