// SPDX-License-Identifier: GPL-2.0-only
//! The result file, which every measuring command writes and everything else reads.
//!
//! Owns: what is in the file ([`document`], [`series`]) and the distributions in it
//! ([`distribution`]), the file of a whole experiment ([`experiment`]), files on disk ([`file`]),
//! the formats of other programs ([`import`], [`export`]), how several files become one
//! ([`merge`]), what runs of a workload took ([`runs`]), times, sizes and parts as people write
//! them in TOML files ([`value`]), and messages of [`protobuf`] for viewers and collectors.
//! Measures nothing and never looks at the machine.

mod amount;
pub mod beyond;
pub mod blocks;
pub mod claims;
pub mod damage;
pub mod distribution;
pub mod document;
pub mod experiment;
pub mod export;
pub mod few_samples;
pub mod file;
mod histogram;
pub mod import;
pub mod merge;
pub mod names;
pub mod protobuf;
pub mod runs;
mod same;
mod schema;
pub mod series;
pub mod standard;
mod tag;
pub mod target;
pub mod terminal;
pub mod unit_of_work;
pub mod value;

pub use beyond::{Beyond, Piece};
pub use blocks::{Block, BlockMaxima, Blocks};
pub use distribution::{Distribution, Moments, PERCENTILES};
pub use document::{Document, LoadDone, Machine, SCHEMA, SchemaName, Setup, Warning};
pub use same::{first_copy, is_same_run};
pub use series::{Kind, Series, Unit};
pub use unit_of_work::{Nature, UnitOfWork};
