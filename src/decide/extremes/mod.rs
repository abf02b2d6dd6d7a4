// SPDX-License-Identifier: GPL-2.0-only
//! What a run says about values that it never saw.
//!
//! Two kinds of claim, kept apart. (a) Exact: the bound on a probability that so many values
//! above a limit among so many give ([`binomial`]). It needs nothing but independent values of
//! one law. (b) Extrapolated: a law of extremes, fitted to the largest values ([`gpd`]), with an
//! interval from the likelihood's profile. It holds only for values of one cause that do not
//! change in time, so [`tail`] tests that first ([`assumptions`], [`clusters`], [`outliers`]) and
//! refuses with the reason when it does not hold. No test finds a cause that was not seen, so the
//! interval allows for one: as frequent as the exact bound permits, and as heavy as any law.
//!
//! Theory: S. Coles, "An Introduction to Statistical Modeling of Extreme Values", 2001.

pub mod assumptions;
pub mod binomial;
mod clusters;
pub mod gpd;
mod largest;
mod minimum;
mod outliers;
mod root;
pub mod tail;

pub use gpd::Gpd;
pub use tail::{Extrapolation, Found, Refusal, Tail};

use serde::Serialize;

/// Probability that an interval holds the true value.
pub const CONFIDENCE: f64 = 0.95;

/// An estimate and the interval that holds the true value in 95 of 100 cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

#[cfg(test)]
pub(crate) mod random;
