// SPDX-License-Identifier: GPL-2.0-only
//! The result file, which every measuring command writes and everything else reads.
//!
//! Owns: what stands in the file ([`document`], [`series`]) and the distributions in it
//! ([`distribution`]), the file of a whole experiment ([`experiment`]), files on disk ([`file`]),
//! the formats of other programs ([`import`], [`export`]), and the joining of several files
//! ([`merge`]). Measures nothing and never looks at the machine.

pub mod distribution;
pub mod document;
pub mod experiment;
pub mod export;
pub mod file;
mod histogram;
pub mod import;
pub mod merge;
pub mod series;
mod tag;
pub mod target;

pub use distribution::{Distribution, Moments, PERCENTILES};
pub use document::{Document, LoadDone, Machine, SCHEMA, SchemaName, Setup, Warning};
pub use series::{Kind, Series, Unit};
