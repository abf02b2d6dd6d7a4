// SPDX-License-Identifier: GPL-2.0-only
//! What becomes of a gate: held, missed, or not judged.
//!
//! A gate is held or missed only where nothing that is unknown could change it. Periods without a
//! value leave a figure between two bounds, and both are tried. Extremes of unlike numbers of
//! samples are judged where the number speaks against the result: the worst of more samples that
//! holds a bound would hold it with fewer. All else is not judged, which is no answer that a
//! script may take for a yes.

use super::{Bound, Gate, Operator};
use crate::compare::metric::{Metric, Quantity, Stat};
use crate::compare::{self, Cell, Compared, Comparison, Figure, Range, are_alike};

/// What the latency of a task was called before.
const OLD_LATENCY: &str = "user";

/// Why the words of a gate do not fit what is compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unfit {
    #[error("gate {gate}: {reason}")]
    Configuration {
        gate: String,
        reason: compare::Error,
    },
    #[error(
        "gate {gate}: the task's latency is called latency now, not {OLD_LATENCY}; write {write}"
    )]
    OldName { gate: String, write: String },
    #[error("gate {0}: no configuration is left: a configuration is not compared with itself")]
    Nobody(String),
}

/// What became of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub gate: Gate,
    /// What the figure was to be compared with; none where the reference has no such figure.
    pub bound: Option<Range>,
    /// The reference's figure, where there is one.
    pub reference: Option<f64>,
    /// Each configuration it is for.
    pub checks: Vec<Check>,
}

/// A gate and one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub configuration: String,
    /// None where it was not measured.
    pub figure: Option<Figure>,
    pub outcome: Outcome,
    /// Samples of the figure and of the reference's, when they differ and it matters.
    pub unequal: Option<(u64, u64)>,
}

/// Whether a bound was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Held,
    Missed,
    /// Nobody can say; the reason, a sentence.
    NotJudged(String),
}

impl Verdict {
    /// Whether every configuration held it.
    pub fn held(&self) -> bool {
        self.checks.iter().all(|one| one.outcome == Outcome::Held)
    }
}

impl Operator {
    /// None where the ranges leave it open.
    fn holds(self, value: Range, bound: Range) -> Option<bool> {
        let (surely, surely_not) = match self {
            Self::AtMost => (value.high <= bound.low, value.low > bound.high),
            Self::Below => (value.high < bound.low, value.low >= bound.high),
            Self::AtLeast => (value.low >= bound.high, value.high < bound.low),
            Self::Above => (value.low > bound.high, value.high <= bound.low),
            Self::Equal => (
                value.is_exact() && value == bound,
                value.high < bound.low || value.low > bound.high,
            ),
        };
        match (surely, surely_not) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// Whether a smaller figure can only speak for it, or only against it.
    fn wants_less(self) -> Option<bool> {
        match self {
            Self::AtMost | Self::Below => Some(true),
            Self::AtLeast | Self::Above => Some(false),
            Self::Equal => None,
        }
    }
}

impl Gate {
    /// Holds the gate against what was measured.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn check(&self, all: &Comparison) -> Result<Verdict, Unfit> {
        let named = |name: &str| {
            all.named(name).map_err(|reason| Unfit::Configuration {
                gate: self.to_string(),
                reason,
            })
        };
        let reference = match &self.bound {
            Bound::Number(_) => None,
            Bound::Times { reference, .. } => Some(named(reference)?),
        };
        let mut subjects: Vec<&Compared> = match &self.configuration {
            Some(name) => vec![named(name)?],
            None => all.configurations.iter().collect(),
        };
        if let (None, Some(reference)) = (&self.configuration, reference) {
            subjects.retain(|one| one.configuration.name != reference.configuration.name);
        }
        if subjects.is_empty() {
            return Err(Unfit::Nobody(self.to_string()));
        }
        for one in reference.iter().chain(&subjects) {
            self.refuse_old_name(one)?;
        }
        let figure = |one: &Compared| one.cells.get(&self.metric).map(|cell: &Cell| cell.figure);
        let base = reference.and_then(figure);
        let bound = match &self.bound {
            Bound::Number(number) => Some(Range::of(*number)),
            Bound::Times { factor, .. } => base.map(|base| Range {
                low: factor * base.range.low,
                high: factor * base.range.high,
            }),
        };
        let checks = subjects.into_iter().map(|one| {
            let its = figure(one);
            let mut unequal = None;
            let outcome = match (its, bound) {
                (None, _) => Outcome::NotJudged(format!("{} was not measured", self.metric)),
                (_, None) => Outcome::NotJudged(format!(
                    "{} was not measured of {}",
                    self.metric,
                    reference.map_or("", |one| &one.configuration.name)
                )),
                (Some(its), Some(bound)) => {
                    unequal = reference
                        .zip(base)
                        .and_then(|(reference, base)| self.unequal((one, its), (reference, base)));
                    self.outcome(its, bound, unequal.filter(|_| !all.unequal_allowed))
                }
            };
            Check {
                configuration: one.configuration.name.clone(),
                figure: its,
                outcome,
                unequal,
            }
        });
        Ok(Verdict {
            checks: checks.collect(),
            gate: self.clone(),
            bound,
            reference: base.map(|base| base.value),
        })
    }

    /// The numbers of samples, when extremes of so many cannot be compared.
    fn unequal(
        &self,
        (one, its): (&Compared, Figure),
        (other, theirs): (&Compared, Figure),
    ) -> Option<(u64, u64)> {
        let extents = [one, other].map(|one| one.configuration.extent.as_ref());
        let matters =
            self.metric.is_extreme() && !are_alike((&its, extents[0]), (&theirs, extents[1]));
        let samples = |figure: Figure| figure.offered().unwrap_or(0);
        matters.then(|| (samples(its), samples(theirs)))
    }

    /// With `unequal` numbers of samples: what can be said all the same.
    fn outcome(&self, figure: Figure, bound: Range, unequal: Option<(u64, u64)>) -> Outcome {
        let Some(holds) = self.operator.holds(figure.range, bound) else {
            return Outcome::NotJudged(self.left_open(figure, bound));
        };
        if let Some((ours, others)) = unequal {
            // A part of the larger sample, as large as the other, would have a figure that is no
            // wider. Where that could only say the same, it is said.
            let no_more = self.metric.is_worst() == (ours > others);
            let wants_less = self.operator.wants_less();
            let is_sure = wants_less.is_some_and(|less| (holds == less) == no_more);
            if !is_sure {
                return Outcome::NotJudged(format!(
                    "{} of {ours} samples and of {others} are not alike, the larger sample has \
                     the wider extremes; measure equally long, or add --allow-unequal-samples",
                    self.metric
                ));
            }
        }
        match holds {
            true => Outcome::Held,
            false => Outcome::Missed,
        }
    }
}

impl Gate {
    /// Where missed periods leave a figure between two bounds.
    fn left_open(&self, figure: Figure, bound: Range) -> String {
        let operator = match self.operator {
            Operator::Equal => " (and == wants one number)",
            _ => "",
        };
        format!(
            "with the periods that were missed {} is {} and the bound {}{operator}; write a gate \
             on {} or on a number, or measure with a longer interval",
            self.metric,
            figure.range,
            bound,
            Metric::Of(Quantity::Latency, Stat::Max),
        )
    }

    /// `user` is also the CPU time of a command in user mode.
    fn refuse_old_name(&self, one: &Compared) -> Result<(), Unfit> {
        let metric = match &self.metric {
            Metric::Of(Quantity::Other(name), stat) if name == OLD_LATENCY => {
                Metric::Of(Quantity::Latency, *stat)
            }
            _ => return Ok(()),
        };
        if one.cells.contains_key(&self.metric) || !one.cells.contains_key(&metric) {
            return Ok(());
        }
        let write = Self {
            metric,
            ..self.clone()
        };
        Err(Unfit::OldName {
            gate: self.to_string(),
            write: write.to_string(),
        })
    }
}

#[cfg(test)]
mod tests;
