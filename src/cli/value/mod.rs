// SPDX-License-Identifier: GPL-2.0-only
//! The values of options, one parser for each kind: numbers, times, CPUs.
//!
//! clap names the option and quotes the value; the sentences here say what is allowed and so what
//! to type. Wrong values end with status 64, before anything is started.

pub mod cpus;
pub mod duration;
pub mod number;
