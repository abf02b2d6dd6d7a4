// SPDX-License-Identifier: GPL-2.0-only
//! The tracepoint of system calls, which every kernel has.
//!
//! An event on it makes the kernel call `perf_tp_event` on the event's CPU. The other CPUs find an
//! empty list and go on, which takes 104 instructions a system call.

use artis_machine::{Root, Unreadable};
use libbpf_rs::libbpf_sys::{PERF_TYPE_TRACEPOINT, perf_event_attr};

/// The tracepoint's number, where tracefs is mounted.
const ID: &str = "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id";

/// Why the tracepoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("there is no {ID}; mount tracefs: mount -t tracefs tracefs /sys/kernel/tracing")]
    Unnumbered,
}

/// The number of the tracepoint, as perf knows it.
///
/// # Errors
/// When tracefs is not mounted, or the kernel has no system call tracepoints.
pub fn number(root: &Root) -> Result<u32, Error> {
    root.number::<u32>(ID)?
        .filter(|id| *id != 0)
        .ok_or(Error::Unnumbered)
}

pub(super) fn attributes(id: u32) -> perf_event_attr {
    perf_event_attr {
        type_: PERF_TYPE_TRACEPOINT,
        config: id.into(),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_number_is_read_or_its_lack_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root(folder.path().to_owned());
        assert!(matches!(number(&root), Err(Error::Unnumbered)));
        let file = folder.path().join(&ID[1..]);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "348\n").unwrap();
        assert_eq!(number(&root).unwrap(), 348);
    }
}
