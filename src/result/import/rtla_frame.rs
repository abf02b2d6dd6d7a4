// SPDX-License-Identifier: GPL-2.0-only
//! The tables that rtla prints again and again: the last one counts.

use super::Refusal;
use super::text::{self, COLUMNS_MAX, number};

/// The rows of the table that is being read; CPUs only ever come to it.
pub struct Frame<Row> {
    pub seconds: Option<f64>,
    pub rows: Vec<Row>,
    rows_before: usize,
    last_row_line: usize,
}

impl<Row> Default for Frame<Row> {
    fn default() -> Self {
        Self {
            seconds: None,
            rows: Vec::new(),
            rows_before: 0,
            last_row_line: 0,
        }
    }
}

impl<Row> Frame<Row> {
    /// A new table begins at `line`.
    pub fn begin(&mut self, line: usize, seconds: f64) -> Result<(), Refusal> {
        self.check(line)?;
        if let Some(before) = self.seconds.filter(|before| *before > seconds) {
            let reason = format!("a duration of {seconds} s after {before} s; are these two runs?");
            return Err(Refusal::line(line, reason));
        }
        *self = Self {
            seconds: Some(seconds),
            rows_before: self.rows.len(),
            ..Self::default()
        };
        Ok(())
    }

    pub fn push(&mut self, line: usize, row: Row) -> Result<(), Refusal> {
        if self.rows.len() >= COLUMNS_MAX {
            return Err(Refusal::line(line, "no machine has so many CPUs"));
        }
        self.last_row_line = line;
        self.rows.push(row);
        Ok(())
    }

    /// The file ends: refuses a table that is cut off.
    pub fn end(self, content: &str) -> Result<Self, Refusal> {
        let end = text::last_line(content);
        self.check(end)?;
        if self.last_row_line == end && !content.ends_with('\n') {
            let reason = "the line has no end; is the file cut off?";
            return Err(Refusal::line(end, reason));
        }
        Ok(self)
    }

    fn check(&self, line: usize) -> Result<(), Refusal> {
        match self.rows.len() < self.rows_before {
            true => {
                let reason = "the table has fewer CPUs than the one before; is the file cut off?";
                Err(Refusal::line(line, reason))
            }
            false => Ok(()),
        }
    }
}

/// `  0 00:10:01`, days and time, as seconds.
pub fn duration(line: usize, text: &str) -> Result<f64, Refusal> {
    let mut words = text.split_whitespace();
    let days: u32 = number(line, words.next().unwrap_or(""), "the days of the duration")?;
    let clock = text::seconds_of_clock(line, words.next().unwrap_or(""))?;
    Ok(f64::from(days) * 86_400.0 + clock)
}
