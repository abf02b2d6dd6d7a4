// SPDX-License-Identifier: GPL-2.0-only
//! The demo: the same work three times on one kernel, so that one table shows what artis is for.
//!
//! Owns the host's part: the guest it takes ([`run`]) and what its counts mean ([`verdict`]). The
//! work itself, and what both sides agree on, is in [`artis_guest::demo`].

pub mod run;
pub mod verdict;
