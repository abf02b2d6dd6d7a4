// SPDX-License-Identifier: GPL-2.0-only
//! Who made a thread late, to the last nanosecond.
//!
//! Owns what a recording is ([`recording`]), the cutting of what a thread lost into segments, each
//! with a lane and a culprit ([`mod@cut`]), the sums over all of them ([`summary`]), what to do
//! about it ([`advice`]), the document that holds it all ([`document`]), and what rtla says of a
//! late wakeup ([`rtla`]). Pure: `artis-recorder` fills recordings, and the commands print.
//!
//! Lanes over time are Frank Rowand's ("How Linux `RT_PREEMPT` Works"): there somebody draws them
//! by hand and counts the score; here a program does.

pub mod advice;
pub mod cut;
pub mod document;
pub mod functions;
pub mod lane;
pub mod recording;
pub mod rtla;
pub mod summary;

pub use cut::{Segment, cut};
pub use document::Document;
pub use lane::Lane;
pub use recording::Recording;
