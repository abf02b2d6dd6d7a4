// SPDX-License-Identifier: GPL-2.0-only
//! Figures for people: text tables and pictures.
//!
//! Pure: gives text, and writes no file. The pictures are SVG by hand, because they are two, a
//! few shapes each, and have to be the same to the byte for the same figures.

mod axis;
pub mod comparison;
pub mod experiment;
pub mod histograms;
pub mod scatter;
pub mod scheduler;
mod style;
mod svg;
pub mod words;
