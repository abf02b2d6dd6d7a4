// SPDX-License-Identifier: GPL-2.0-only
//! Writes results in the formats of other programs: one format, one file, one [`Exporter`].
//!
//! Each keeps all that its format can hold and says so in its file. What does not fit at all (a
//! series below zero where a format has no sign, two quantities where it has room for one) is
//! refused, never left out.

mod csv;
mod cyclictest;
mod hgrm;
mod hlog;

use super::document::{Document, SCHEMA};
use super::series::{Series, Unit};
pub use cyclictest::CyclictestHistogram;

/// Why a result does not fit a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("{format} holds series of one name, and there are {}; choose one with --series", names.join(", "))]
    SeveralNames {
        format: &'static str,
        names: Vec<String>,
    },
    #[error("{format} holds times, and {name} counts something; take csv or hlog")]
    NoTime { format: &'static str, name: String },
    #[error("{format} has no values below zero, and {name} has; take csv, hlog or hgrm")]
    Negative { format: &'static str, name: String },
    #[error(
        "{format} holds histograms, and of {name} only count, minimum, mean and maximum are known; \
         measure again with a histogram (cyclictest -h 1000), or write --to artis"
    )]
    NoHistogram { format: &'static str, name: String },
    #[error("there is no series to export")]
    Nothing,
    #[error("a histogram cannot be written: {0}")]
    Histogram(String),
}

/// One format to write.
pub trait Exporter: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// The text of a file with these series of the document, which have histograms; called by
    /// [`write`].
    ///
    /// # Errors
    /// [`Unfit`].
    fn write(&self, document: &Document, series: &[&Series]) -> Result<String, Unfit>;
}

/// Every format that can be written.
pub static EXPORTERS: [&dyn Exporter; 4] = [
    &CyclictestHistogram {
        lines: None,
        sums: false,
    },
    &csv::Csv,
    &hgrm::Hgrm,
    &hlog::Hlog,
];

/// Writes these series of the document with `exporter`.
///
/// # Errors
/// [`Unfit`].
pub fn write(
    exporter: &dyn Exporter,
    document: &Document,
    series: &[&Series],
) -> Result<String, Unfit> {
    if let Some(bare) = series.iter().find(|one| one.distribution.is_summary()) {
        return Err(Unfit::NoHistogram {
            format: exporter.name(),
            name: bare.name.clone(),
        });
    }
    exporter.write(document, series)
}

/// The series' name, when all have the same.
fn one_name<'a>(format: &'static str, series: &[&'a Series]) -> Result<&'a str, Unfit> {
    let mut names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match names[..] {
        [] => Err(Unfit::Nothing),
        [name] => Ok(name),
        _ => Err(Unfit::SeveralNames {
            format,
            names: names.into_iter().map(str::to_owned).collect(),
        }),
    }
}

/// Who wrote it, for formats with comments.
fn written_by(document: &Document) -> String {
    format!(
        "{SCHEMA} of {}, written by artis {}",
        document.tool.replace(char::is_control, " "),
        env!("CARGO_PKG_VERSION")
    )
}

/// One microsecond, or one of what is counted.
fn printed_unit(unit: Unit) -> f64 {
    match unit {
        Unit::Nanoseconds => 1000.0,
        Unit::Count => 1.0,
    }
}
