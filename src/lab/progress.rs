// SPDX-License-Identifier: GPL-2.0-only
//! How the lab reports long steps, without knowing who reads it.

/// Gets reports about long steps; the command line shows them on standard error.
pub trait Progress {
    /// A step continues: `what` it is, and how many per cent are done, where that is known.
    fn step(&mut self, what: &str, percent: Option<f32>);
    /// The current step ended.
    fn done(&mut self);
    /// A sentence the user should read, for instance that a cached kernel is used.
    fn note(&mut self, sentence: &str);
}

/// Reports nothing.
pub struct Silent;

impl Progress for Silent {
    fn step(&mut self, _what: &str, _percent: Option<f32>) {}
    fn done(&mut self) {}
    fn note(&mut self, _sentence: &str) {}
}
