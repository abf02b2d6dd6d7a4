// SPDX-License-Identifier: GPL-2.0-only
//! Bounds that a user sets on figures: `latency.max<=1.2*isolcpus`.
//!
//! Owns the language and the verdict. A gate reads
//! `[CONFIGURATION:]FIGURE OPERATOR BOUND`, spaces allowed; the bound is a number, a
//! configuration's name, or `FACTOR*CONFIGURATION`, which mean that configuration's same
//! figure. Without a configuration in front it holds for every one but that. Figures are those of
//! all runs together, so a gate is held or missed, whatever the interval. A gate on what was
//! not measured is an error.

use super::metric::{Metric, NoMetric, Quantity};
use super::{Compared, Comparison, alike};
use std::fmt;
use std::str::FromStr;

/// What the latency of a task was called before.
const OLD_LATENCY: &str = "user";

/// One bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// What it is for; none is every configuration but the reference.
    pub configuration: Option<String>,
    pub metric: Metric,
    pub operator: Operator,
    pub bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    AtMost,
    AtLeast,
    Equal,
    Below,
    Above,
}

/// The right-hand side.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// Times in microseconds of the comparison's unit.
    Number(f64),
    /// How many times what the reference has.
    Times { factor: f64, reference: String },
}

/// Why words are no gate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SyntaxError {
    #[error("no operator; write <=, <, >=, > or ==, as in latency.max<=1.2*isolcpus")]
    NoOperator,
    #[error(transparent)]
    Metric(#[from] NoMetric),
    #[error("there is nothing before the colon; write CONFIGURATION:FIGURE or only FIGURE")]
    NoConfiguration,
    #[error("there is nothing after {0}; write a number, a configuration or FACTOR*CONFIGURATION")]
    NoBound(Operator),
    #[error("{0:?} is no factor; write a positive number, as in 1.2*isolcpus")]
    Factor(String),
    #[error("{0} is no bound; write a finite number")]
    Infinite(f64),
    #[error("{0:?} has a second operator; write one gate for each bound")]
    TwoOperators(String),
}

/// Why a gate does not fit what is compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unfit {
    #[error("gate {gate}: {reason}")]
    Configuration { gate: String, reason: super::Error },
    #[error(
        "gate {gate}: {configuration} has no {metric}; choose those that have it with \
         CONFIGURATION:{metric}. It has {}", has.join(", ")
    )]
    NotMeasured {
        gate: String,
        configuration: String,
        metric: String,
        has: Vec<String>,
    },
    #[error(
        "gate {gate}: the task's latency is called latency now, not {OLD_LATENCY}; write {write}"
    )]
    OldName { gate: String, write: String },
    #[error("gate {0}: no configuration is left: a configuration is not compared with itself")]
    Nobody(String),
    #[error(
        "gate {gate}: {metric} of {samples} samples ({configuration}) and of {reference_samples} \
         ({reference}) are not alike, the larger sample has the wider extremes; measure equally \
         long, or add --allow-unequal-samples"
    )]
    Unequal {
        gate: String,
        metric: String,
        configuration: String,
        samples: u64,
        reference: String,
        reference_samples: u64,
    },
}

impl Operator {
    /// Two characters before their first one.
    const ALL: [(&'static str, Self); 5] = [
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("==", Self::Equal),
        ("<", Self::Below),
        (">", Self::Above),
    ];

    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::AtMost => value <= bound,
            Self::AtLeast => value >= bound,
            Self::Equal => value == bound,
            Self::Below => value < bound,
            Self::Above => value > bound,
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let word = Self::ALL.iter().find(|(_, operator)| operator == self);
        out.write_str(word.map_or("", |(word, _)| word))
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        if let Some(name) = &self.configuration {
            write!(out, "{name}:")?;
        }
        write!(out, "{}{}", self.metric, self.operator)?;
        match &self.bound {
            Bound::Number(number) => write!(out, "{number}"),
            Bound::Times { factor, reference } if *factor == 1.0 => out.write_str(reference),
            Bound::Times { factor, reference } => write!(out, "{factor}*{reference}"),
        }
    }
}

impl FromStr for Gate {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Self, SyntaxError> {
        let at = text.find(['<', '>', '=']).ok_or(SyntaxError::NoOperator)?;
        let (left, rest) = text.split_at(at);
        let (operator, right) = Operator::ALL
            .iter()
            .find_map(|(word, operator)| Some((*operator, rest.strip_prefix(word)?)))
            .ok_or(SyntaxError::NoOperator)?;
        let (left, right) = (left.trim(), right.trim());
        let (configuration, metric) = match left.rsplit_once(':') {
            Some((name, _)) if name.trim().is_empty() => return Err(SyntaxError::NoConfiguration),
            Some((name, metric)) => (Some(name.trim().to_owned()), metric.trim()),
            None => (None, left),
        };
        Ok(Self {
            configuration,
            metric: metric.parse()?,
            operator,
            bound: bound(operator, right)?,
        })
    }
}

fn bound(operator: Operator, text: &str) -> Result<Bound, SyntaxError> {
    if text.is_empty() {
        return Err(SyntaxError::NoBound(operator));
    }
    if text.contains(['<', '>', '=']) {
        return Err(SyntaxError::TwoOperators(text.to_owned()));
    }
    if let Ok(number) = text.parse::<f64>() {
        return match number.is_finite() {
            true => Ok(Bound::Number(number)),
            false => Err(SyntaxError::Infinite(number)),
        };
    }
    let (factor, reference) = match text.split_once('*') {
        None => (1.0, text),
        Some((factor, reference)) => {
            let number = factor.trim().parse::<f64>().ok();
            let number = number.filter(|factor| factor.is_finite() && *factor > 0.0);
            let refused = || SyntaxError::Factor(factor.trim().to_owned());
            (number.ok_or_else(refused)?, reference.trim())
        }
    };
    match reference {
        "" => Err(SyntaxError::NoBound(operator)),
        reference => Ok(Bound::Times {
            factor,
            reference: reference.to_owned(),
        }),
    }
}

/// What became of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub gate: Gate,
    /// What the figure was to be compared with.
    pub bound: f64,
    /// The reference's figure, where there is one.
    pub reference: Option<f64>,
    /// Each configuration it is for.
    pub checks: Vec<Check>,
}

/// A gate and one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub configuration: String,
    pub value: f64,
    pub held: bool,
    /// Samples of the figure and of the reference's, when they differ and it matters.
    pub unequal: Option<(u64, u64)>,
}

impl Verdict {
    /// Whether every configuration held it.
    pub fn held(&self) -> bool {
        self.checks.iter().all(|check| check.held)
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
        let reference = match reference {
            None => None,
            Some(one) => Some((one, self.value(one)?.figure)),
        };
        let bound = match (&self.bound, reference) {
            (Bound::Times { factor, .. }, Some((_, figure))) => factor * figure.value,
            (Bound::Times { .. }, None) => return Err(Unfit::Nobody(self.to_string())),
            (Bound::Number(number), _) => *number,
        };
        let mut checks = Vec::new();
        for one in subjects {
            let figure = self.value(one)?.figure;
            let mut unequal = None;
            if let Some((other, base)) = reference
                && self.metric.is_extreme()
                && !alike(figure.samples, base.samples)
            {
                let (samples, reference_samples) =
                    (figure.samples.unwrap_or(0), base.samples.unwrap_or(0));
                if !all.unequal_allowed {
                    return Err(Unfit::Unequal {
                        gate: self.to_string(),
                        metric: self.metric.to_string(),
                        configuration: one.configuration.name.clone(),
                        samples,
                        reference: other.configuration.name.clone(),
                        reference_samples,
                    });
                }
                unequal = Some((samples, reference_samples));
            }
            checks.push(Check {
                configuration: one.configuration.name.clone(),
                value: figure.value,
                held: self.operator.holds(figure.value, bound),
                unequal,
            });
        }
        Ok(Verdict {
            gate: self.clone(),
            bound,
            reference: reference.map(|(_, figure)| figure.value),
            checks,
        })
    }

    fn value<'a>(&self, one: &'a Compared) -> Result<&'a super::Cell, Unfit> {
        one.cells
            .get(&self.metric)
            .ok_or_else(|| self.not_measured(one))
    }

    fn not_measured(&self, one: &Compared) -> Unfit {
        if let Some(metric) = self.renamed()
            && one.cells.contains_key(&metric)
        {
            let write = Self {
                metric,
                ..self.clone()
            };
            return Unfit::OldName {
                gate: self.to_string(),
                write: write.to_string(),
            };
        }
        Unfit::NotMeasured {
            gate: self.to_string(),
            configuration: one.configuration.name.clone(),
            metric: self.metric.to_string(),
            has: one.configuration.in_tables(),
        }
    }

    /// The metric by its new name, where it may be meant: `user` is also the CPU time of a
    /// command in user mode.
    fn renamed(&self) -> Option<Metric> {
        match &self.metric {
            Metric::Of(Quantity::Other(name), stat) if name == OLD_LATENCY => {
                Some(Metric::Of(Quantity::Latency, *stat))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::metric::tests::metrics;
    use super::super::tests::compared;
    use super::*;
    use proptest::prelude::*;

    fn gate(text: &str) -> Gate {
        text.parse().unwrap()
    }

    fn operators() -> impl Strategy<Value = Operator> {
        prop::sample::select(Operator::ALL.map(|(_, operator)| operator).to_vec())
    }

    fn bounds() -> impl Strategy<Value = Bound> {
        let positive = || prop::num::f64::POSITIVE | prop::num::f64::NORMAL;
        prop_oneof![
            positive().prop_map(Bound::Number),
            (
                prop_oneof![Just(1.0), 0.001..1e6_f64],
                "c[a-z0-9@:/_-]{0,8}"
            )
                .prop_map(|(factor, reference)| Bound::Times { factor, reference }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            configuration in prop::option::of("[a-z0-9@:/_-]{1,8}"),
            metric in metrics(),
            operator in operators(),
            bound in bounds(),
        ) {
            let gate = Gate { configuration, metric, operator, bound };
            prop_assert_eq!(gate.to_string().parse(), Ok(gate));
        }

        #[test]
        fn spaces_do_not_matter(metric in metrics(), operator in operators(), bound in bounds()) {
            let gate = Gate { configuration: Some("a".to_owned()), metric, operator, bound };
            let text = gate.to_string();
            let word = operator.to_string();
            let spaced = text.replacen(&word, &format!(" {word}\t"), 1).replacen(':', " : ", 1);
            prop_assert_eq!(spaced.parse(), Ok(gate));
        }

        #[test]
        fn no_text_makes_it_panic(text in "(latency\\.max|[a-z]{0,4}:|<=|>|=|\\*|1e9|.){0,12}") {
            let _ = text.parse::<Gate>();
        }
    }

    #[test]
    fn every_form_of_bound_is_understood() {
        let times = |factor, reference: &str| Bound::Times {
            factor,
            reference: reference.to_owned(),
        };
        assert_eq!(
            gate("latency.max<=1.2*isolcpus").bound,
            times(1.2, "isolcpus")
        );
        assert_eq!(gate("latency.max < isolcpus").bound, times(1.0, "isolcpus"));
        assert_eq!(gate("leaks==0").bound, Bound::Number(0.0));
        let one = gate("rt@4cpus:kernel.max >= 1e2");
        assert_eq!(one.configuration.as_deref(), Some("rt@4cpus"));
        assert_eq!(
            (one.operator, one.bound),
            (Operator::AtLeast, Bound::Number(100.0))
        );
    }

    #[test]
    fn other_words_are_refused_with_what_is_wrong() {
        for (text, part) in [
            ("", "no operator"),
            ("latency.max", "no operator"),
            ("latency.max=5", "no operator"),
            ("latency.median<=5", "no figure"),
            (":latency.max<=5", "before the colon"),
            ("latency.max<=", "nothing after <="),
            ("latency.max<=2*", "nothing after <="),
            ("latency.max<=x*isolcpus", "\"x\" is no factor"),
            ("latency.max<=-1*isolcpus", "\"-1\" is no factor"),
            ("latency.max<=inf", "finite"),
            ("1<latency.max<5", "no figure"),
            ("latency.max<5<6", "second operator"),
        ] {
            let complaint = text.parse::<Gate>().unwrap_err().to_string();
            assert!(complaint.contains(part), "{text}: {complaint}");
        }
    }

    #[test]
    fn gates_are_held_and_missed() {
        let all = compared(
            &[
                ("stock", &[900.0]),
                ("shield", &[100.0]),
                ("artis", &[115.0]),
            ],
            false,
        );
        let held = |text: &str| {
            let verdict = gate(text).check(&all).unwrap();
            let checks = verdict.checks.iter();
            let checks: Vec<(&str, bool)> = checks
                .map(|check| (check.configuration.as_str(), check.held))
                .collect();
            format!("{checks:?}")
        };
        assert_eq!(
            held("latency.max<=1.2*shield"),
            r#"[("stock", false), ("artis", true)]"#
        );
        assert_eq!(held("artis:latency.max<shield"), r#"[("artis", false)]"#);
        assert_eq!(held("artis:latency.max==115"), r#"[("artis", true)]"#);
        assert_eq!(
            held("latency.max>100"),
            r#"[("stock", true), ("shield", false), ("artis", true)]"#
        );
    }

    #[test]
    fn gates_that_do_not_fit_are_errors() {
        let all = compared(&[("stock", &[900.0, 800.0]), ("artis", &[115.0])], false);
        for (text, part) in [
            ("latency.max<=1.2*isolcpus", "there are stock, artis"),
            ("rt:latency.max<=5", "no configuration \"rt\""),
            ("leaks==0", "stock has no leaks"),
            (
                "latency.max<=stock",
                "1000 samples (artis) and of 2000 (stock)",
            ),
        ] {
            let complaint = gate(text).check(&all).unwrap_err().to_string();
            assert!(complaint.contains(part), "{text}: {complaint}");
        }
        let alone = compared(&[("stock", &[900.0])], false);
        let complaint = gate("latency.max<=stock").check(&alone);
        assert!(matches!(complaint, Err(Unfit::Nobody(_))));
        let all = compared(&[("stock", &[900.0, 800.0]), ("artis", &[115.0])], true);
        let verdict = gate("latency.max<=stock").check(&all).unwrap();
        assert_eq!(verdict.checks[0].unequal, Some((1000, 2000)));
        // A mean does not grow with the sample.
        assert!(gate("latency.mean<=stock").check(&all).unwrap().held());
    }
}
