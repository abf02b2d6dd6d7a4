// SPDX-License-Identifier: GPL-2.0-only
//! Where in the kernel a detector notices system calls.

use super::detector::Detector;
use super::watch::{self, breakpoint, tracepoint};
use artis_machine::Root;

/// Where a detector notices system calls.
pub(super) enum Calls {
    /// At the tracepoint with this number.
    Tracepoint(u32),
    /// In the kernel functions at these addresses.
    Functions(Vec<u64>),
    /// Context tracking tells.
    Tracked,
}

impl Calls {
    /// # Errors
    /// When this kernel does not show the place.
    pub fn find(detector: Detector, root: &Root) -> Result<Self, watch::Error> {
        Ok(match detector {
            Detector::Breakpoint => Self::Functions(breakpoint::functions(root)?),
            Detector::Syscall => Self::Tracepoint(tracepoint::number(root)?),
            Detector::Entry => Self::Tracked,
        })
    }
}
