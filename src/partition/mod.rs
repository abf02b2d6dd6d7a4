// SPDX-License-Identifier: GPL-2.0-only
//! Changes the machine, with an undo journal.
//!
//! Every change is a path, what stood there and what shall stand there. Nothing is written
//! before the journal that undoes it is on disk.

pub mod journal;
