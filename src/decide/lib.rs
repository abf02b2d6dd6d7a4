// SPDX-License-Identifier: GPL-2.0-only
//! What figures mean for a choice: which configuration is better, by how much, and whether
//! that is certain.
//!
//! Pure: works on what [`artis_result`] has read, and neither reads nor prints anything.

pub mod compare;
pub mod completion;
pub mod extremes;
pub mod job;
pub mod special;
pub mod verdict;
