// SPDX-License-Identifier: GPL-2.0-only
//! The values that a histogram was too short for: only their number, where it ended, and the
//! largest of them are known.
//!
//! A distribution counts each of them as the largest, so figures made of its buckets may be too
//! high, never too low; what is kept here says by how much.

use serde::{Deserialize, Serialize};

/// More histograms than this are kept as one, which says less but nothing wrong.
const PIECES_MAX: usize = 256;

/// Values beyond the end of one histogram, in the series' unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// How many.
    pub count: u64,
    /// None of them is below this.
    pub from: i64,
    /// The largest.
    pub max: i64,
}

impl Piece {
    /// How many of them are surely above `limit`.
    pub fn surely_above(&self, limit: f64) -> u64 {
        match () {
            () if limit < self.from as f64 => self.count,
            () => u64::from(limit < self.max as f64),
        }
    }
}

/// Those of one or several histograms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Beyond(Vec<Piece>);

impl Beyond {
    /// Of one histogram; none without a value.
    pub fn of(piece: Piece) -> Self {
        Self(if piece.count > 0 {
            vec![piece]
        } else {
            Vec::new()
        })
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// The lowest that any of them may be.
    pub fn from(&self) -> Option<i64> {
        self.0.iter().map(|piece| piece.from).min()
    }

    /// Adds those of another distribution.
    pub fn merge(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
        if self.0.len() > PIECES_MAX {
            let whole = Piece {
                count: self
                    .0
                    .iter()
                    .fold(0, |sum, one| sum.saturating_add(one.count)),
                from: self.from().unwrap_or(i64::MIN),
                // One of them is as large as the smallest of the maxima at least.
                max: self.0.iter().map(|one| one.max).min().unwrap_or(i64::MAX),
            };
            self.0 = vec![whole];
        }
    }

    /// Refuses what no histogram can have.
    pub fn check(&self, count: u64, max: i64) -> Result<(), &'static str> {
        let mut left = count;
        for piece in &self.0 {
            left = match left.checked_sub(piece.count) {
                Some(left) if piece.count > 0 => left,
                _ => return Err("more values lie beyond the histogram than there are"),
            };
            if piece.from > piece.max || piece.max > max {
                return Err("the largest value beyond the histogram is not the maximum");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(count: u64, from: i64, max: i64) -> Piece {
        Piece { count, from, max }
    }

    #[test]
    fn what_is_sure_depends_on_the_limit() {
        let ten = piece(10, 60, 1475);
        let sure = [59.0, 60.0, 1474.9, 1475.0].map(|limit| ten.surely_above(limit));
        assert_eq!(sure, [10, 1, 1, 0]);
    }

    #[test]
    fn many_pieces_become_one_that_says_less() {
        let mut all = Beyond::default();
        for at in 0..600 {
            all.merge(&Beyond::of(piece(2, 60 + at, 1000 + at)));
        }
        assert!(all.pieces().len() <= PIECES_MAX + 1);
        let count: u64 = all.pieces().iter().map(|one| one.count).sum();
        assert_eq!((count, all.from()), (1200, Some(60)));
        assert!(all.check(1200, 1599).is_ok() && all.check(1199, 1599).is_err());
        assert!(all.check(1200, 1000).is_err());
    }
}
