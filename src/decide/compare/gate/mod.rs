// SPDX-License-Identifier: GPL-2.0-only
//! Bounds that a user sets on figures: `latency.max<=1.2*isolcpus`.
//!
//! Owns the language and the verdict. A gate reads
//! `[CONFIGURATION:]FIGURE OPERATOR BOUND`, spaces allowed; the bound is a number, a
//! configuration's name, or `FACTOR*CONFIGURATION`, which mean that configuration's same
//! figure. Without a configuration in front it holds for every one but that. Figures are those of
//! all runs together, so a gate is held or missed, whatever the interval. [`check`] says when it is
//! neither.

mod check;

pub use check::{Check, Outcome, Unfit, Verdict};

use super::metric::{Metric, NoMetric};
use std::fmt;
use std::str::FromStr;

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

impl Operator {
    /// Two characters before their first one.
    const ALL: [(&'static str, Self); 5] = [
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("==", Self::Equal),
        ("<", Self::Below),
        (">", Self::Above),
    ];
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

#[cfg(test)]
mod tests {
    use super::super::metric::tests::metrics;
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
}
