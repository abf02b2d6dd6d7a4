// SPDX-License-Identifier: GPL-2.0-only
//! Where in a file something is, and what is wrong there.

use std::fmt;

/// A place in a file, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Place {
    pub line: usize,
    /// In characters.
    pub column: usize,
}

impl Place {
    /// The place of a byte of `text`.
    pub fn of(text: &str, byte: usize) -> Self {
        let mut byte = byte.min(text.len());
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &text[..byte];
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[begin..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}, column {}", self.line, self.column)
    }
}

/// What is wrong in a file: what was found there, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Error {
    pub place: Place,
    pub reason: String,
}

/// An [`Error`] at a byte of the text, before the place is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub at: usize,
    pub reason: String,
}

impl Wrong {
    pub fn new(at: usize, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { at, reason }
    }

    pub fn in_text(self, text: &str) -> Error {
        Error {
            place: Place::of(text, self.at),
            reason: self.reason,
        }
    }
}

/// At most so many characters of a file are quoted.
const QUOTED_MAX: usize = 40;

/// What a file says, short enough for a sentence.
pub(super) fn quoted(found: &str) -> String {
    let mut short: String = found.chars().take(QUOTED_MAX).collect();
    if short.len() < found.len() {
        short += "…";
    }
    format!("{short:?}")
}
