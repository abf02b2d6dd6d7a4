// SPDX-License-Identifier: GPL-2.0-only
//! A finished picture, and what a page writes beside it.

/// A configuration in a legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Of the configuration: its colour, dash and mark.
    pub index: usize,
    pub words: String,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub svg: String,
    pub title: String,
    /// What holds for all of it: unit and engine, numbers of samples.
    pub caption: String,
    pub legend: Vec<Entry>,
}

/// What became of a picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawn {
    /// None when no configuration has what it needs.
    pub picture: Option<Picture>,
    /// The names of those that have not.
    pub absent: Vec<String>,
}
