// SPDX-License-Identifier: GPL-2.0-only
//! Whether large values come alone.
//!
//! Of values that do not depend on each other, so many above a threshold fall into blocks as balls
//! into boxes; of clusters fewer blocks have one. The ratio is the extremal index (Coles, section
//! 5.2; the blocks estimator of P. Embrechts, C. Klüppelberg and T. Mikosch, "Modelling Extremal
//! Events", 1997, section 8.1): its reciprocal is the mean size of a cluster.

use super::largest::Largest;
use crate::special::normal_below;

/// How large values come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clusters {
    /// The mean size; 1: they come alone.
    pub size: f64,
    /// The probability that values that come alone look so.
    pub p: f64,
}

/// Of the largest values of all blocks; about as many as there are blocks say the most.
pub fn of(maxima: &[f64], largest: &Largest) -> Clusters {
    let blocks = maxima.len() as f64;
    let hit = maxima.iter().filter(|max| **max > largest.threshold);
    let hit = hit.count() as f64;
    let a_block = largest.ascending.len() as f64 / blocks;
    let none = (-a_block).exp();
    let expected = blocks * (1.0 - none);
    let deviation = (blocks * (none - (1.0 + a_block) * none * none)).sqrt();
    let index = -(1.0 - hit.min(blocks - 0.5) / blocks).ln() / a_block;
    Clusters {
        size: 1.0 / index.min(1.0),
        p: normal_below((hit - expected) / deviation),
    }
}
