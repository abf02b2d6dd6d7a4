// SPDX-License-Identifier: GPL-2.0-only
//! Execution times that were measured: what of a result of `artis measure exec` counts.

use artis_decide::extremes::Tail;
use artis_result::{Document, Kind, Unit};
use serde::Serialize;

/// What of the measured times counts as the longest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// So many of them, 0 to 1, were no longer; 1 is the longest that was seen.
    Quantile(f64),
    /// What the law of extremes says is exceeded with at most this probability, each job.
    Probability(f64),
}

/// A time that a result file has.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The file, relative to that of the tasks.
    pub file: String,
    pub part: Part,
    /// Nanoseconds, once the file was read.
    pub ns: Option<u64>,
    /// What that number does not say, once the file was read.
    pub doubt: String,
}

/// The time that counts, nanoseconds, and what it leaves open.
///
/// # Errors
/// A sentence: why the document has no such time.
pub fn measured(document: &Document, part: Part) -> Result<(u64, String), String> {
    if document.is_emulated() || document.virtual_unit().is_some() {
        return Err(
            "its times are an emulator's, and those of the tasks are real; measure on the machine"
                .to_owned(),
        );
    }
    let of_work = |name: Option<&str>| {
        document.series.iter().find(|series| {
            let is_time = series.kind == Kind::ExecutionTime && series.unit == Unit::Nanoseconds;
            is_time && name.is_none_or(|name| series.name == name)
        })
    };
    let series = of_work(Some("execution_time"))
        .or_else(|| of_work(None))
        .ok_or("it has no execution times; give a result of artis measure exec")?;
    let count = series.distribution.count();
    let ns = match part {
        Part::Quantile(quantile) => {
            let exact = || series.distribution.moments().map(|moments| moments.max);
            let found = match quantile < 1.0 {
                true => series.distribution.supported_percentile(quantile * 100.0),
                false => exact(),
            };
            found.map(|ns| ns as f64).ok_or_else(|| {
                format!(
                    "it has {count} values, too few for the quantile {quantile}; measure longer, \
                     or take a smaller quantile"
                )
            })?
        }
        Part::Probability(probability) => {
            let blocks: Vec<_> = series.blocks.iter().collect();
            let tail = Tail::new(&blocks, Some(&series.distribution)).map_err(|refusal| {
                format!(
                    "no law of extremes fits: {refusal}; take a quantile, or measure as that says"
                )
            })?;
            tail.reach(probability)
        }
    };
    if !(ns >= 1.0 && ns <= super::TIME_NS_MAX as f64) {
        return Err(format!(
            "the time that it gives, {ns:.0} ns, is not between 1 ns and 1 day; measure longer"
        ));
    }
    let doubt = match part {
        Part::Quantile(quantile) if quantile < 1.0 => format!(
            "{:.6} % of its {count} measured jobs took longer, and for those the answer says nothing",
            (1.0 - quantile) * 100.0
        ),
        Part::Quantile(_) => format!("the longest of {count} measured jobs, and no bound"),
        Part::Probability(probability) => format!(
            "by a law of extremes: a job is longer with a probability of at most {probability:e}"
        ),
    };
    Ok((ns.ceil() as u64, doubt))
}
