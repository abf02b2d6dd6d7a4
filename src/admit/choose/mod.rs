// SPDX-License-Identifier: GPL-2.0-only
//! What is chosen for a set where its file does not say it: priorities, CPUs and release offsets.

pub mod offsets;
pub mod place;
pub mod priorities;
