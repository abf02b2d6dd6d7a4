// SPDX-License-Identifier: GPL-2.0-only
//! Why nothing is claimed beyond what was seen.

use serde::Serialize;

/// The reason, and what removes it.
#[derive(Clone, Debug, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Refusal {
    #[error(
        "there are no block maxima or no histogram; measure with artis measure, which keeps both"
    )]
    NoBlocks,
    #[error("there are {blocks} blocks and {needed} are needed; measure longer")]
    TooFew { blocks: usize, needed: usize },
    #[error("there are {values} values and {needed} are needed; measure longer")]
    TooFewValues { values: u64, needed: u64 },
    #[error(
        "the values have steps that are {percent:.0} % of the scale of their law: they are \
         discrete, and these laws are for continuous ones; measure with a finer clock"
    )]
    Discrete { percent: f64 },
    #[error(
        "the maxima {what} in the course of the run (probability of that by chance {p:.1e}); \
         find the cause, or leave out the beginning"
    )]
    Trend { what: &'static str, p: f64 },
    #[error(
        "maxima that follow each other resemble each other (probability of that by chance \
         {p:.1e}); find what comes periodically or in clusters, or take longer blocks"
    )]
    Dependent { p: f64 },
    #[error(
        "large values come in clusters of {size:.1} on average (probability of that by chance \
         {p:.1e}), so that the run shows as much as one that is {size:.1} times shorter; find what \
         makes several late, one after the other"
    )]
    Clusters { size: f64, p: f64 },
    #[error(
        "the largest values end at a bound that was about reached (shape {shape:.2}): what is \
         beyond it has another cause, of which the run says nothing"
    )]
    Bounded { shape: f64 },
    #[error(
        "the tail is so heavy (shape {shape:.2}) that several causes of different size are more \
         likely than one; find the cause of the largest with artis explain"
    )]
    Heavy { shape: f64 },
    #[error(
        "no law of extremes fits the largest values (distance {distance:.2}, at most {bound:.2} \
         for one cause): they are a mixture of causes; find them one by one"
    )]
    Mixture { distance: f64, bound: f64 },
    #[error(
        "{} not belong to the law of the others (probability of that by chance {p:.1e}): what was \
         seen so seldom is a cause of its own, not a law; find it with artis explain",
        if *.count == 1 { "the largest value does".to_owned() } else { format!("the {count} largest values do") }
    )]
    Outliers { count: usize, p: f64 },
    #[error(
        "the {few} largest values have another law (shape {shape:.2}) than the {many} largest \
         (shape {shape_of_many:.2}; probability of that by chance {p:.1e}): they are a mixture of \
         causes; find them one by one"
    )]
    Disagree {
        few: usize,
        many: usize,
        shape: f64,
        shape_of_many: f64,
        p: f64,
    },
}
