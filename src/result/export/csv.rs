// SPDX-License-Identifier: GPL-2.0-only
//! Comma-separated values (RFC 4180) for spreadsheets and data frames: a line for each bucket
//! of each series, with the lowest and highest value that it counts.
//!
//! Keeps the whole histogram and the extremes; mean and deviation follow from it to the width
//! of the buckets.

use super::{Exporter, Unfit};
use crate::tag::word;
use crate::{Document, Series};
use std::fmt::Write;

pub struct Csv;

impl Exporter for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn write(&self, _: &Document, series: &[&Series]) -> Result<String, Unfit> {
        if series.is_empty() {
            return Err(Unfit::Nothing);
        }
        let mut text = "name,kind,unit,cpu,thread,lowest,highest,count\n".to_owned();
        for series in series {
            let number = |number: Option<u32>| number.map_or_else(String::new, |it| it.to_string());
            let about = format!(
                "{},{},{},{},{}",
                field(&series.name),
                word(&series.kind),
                word(&series.unit),
                number(series.cpu),
                number(series.thread)
            );
            let Some(moments) = series.distribution.moments() else {
                continue;
            };
            for (highest, count) in series.distribution.buckets() {
                let lowest = series.distribution.lowest(highest).max(moments.min);
                let highest = highest.min(moments.max).max(lowest);
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{about},{lowest},{highest},{count}");
            }
        }
        Ok(text)
    }
}

/// Quoted where it must be.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Distribution, Kind, Setup, Unit};

    #[test]
    fn each_bucket_is_a_line() {
        let mut values = Distribution::signed();
        for value in [-7, 5, 5, 100_001] {
            values.record(value);
        }
        let series = Series {
            cpu: Some(2),
            ..Series::new("a,\"b\"", Kind::Noise, Unit::Nanoseconds, values)
        };
        let text = Csv
            .write(&Document::new(Setup::default()), &[&series])
            .unwrap();
        let expected = "\
name,kind,unit,cpu,thread,lowest,highest,count
\"a,\"\"b\"\"\",noise,ns,2,,-7,-7,1
\"a,\"\"b\"\"\",noise,ns,2,,5,5,2
\"a,\"\"b\"\"\",noise,ns,2,,99968,100001,1
";
        assert_eq!(text, expected);
    }
}
