// SPDX-License-Identifier: GPL-2.0-only
//! How the lab tells what takes long, without knowing whether anybody looks.

/// Told about long steps; the command line shows them on stderr.
pub trait Progress {
    /// A step goes on: `what` it is, and how far, 0 to 100, where that is known.
    fn step(&mut self, what: &str, percent: Option<f32>);
    /// The present step ended.
    fn done(&mut self);
    /// A sentence the user should read, for instance that a cached kernel is used.
    fn note(&mut self, sentence: &str);
}

/// Says nothing.
pub struct Silent;

impl Progress for Silent {
    fn step(&mut self, _what: &str, _percent: Option<f32>) {}
    fn done(&mut self) {}
    fn note(&mut self, _sentence: &str) {}
}
