// SPDX-License-Identifier: GPL-2.0-only
//! Metrics: what is known now as families of samples, and how it is given to others.
//!
//! [`families`] says what there is; [`text`] writes it as Prometheus' text format 0.0.4, [`open`]
//! as OpenMetrics and [`native`], with native histograms, as protobuf; [`textfile`] puts it where
//! node_exporter takes it, [`serve`] answers on the loopback.
//! Source: Prometheus' "Exposition formats" and "OpenMetrics 1.0".

pub mod families;
pub mod native;
pub mod open;
pub mod serve;
pub mod text;
pub mod textfile;

/// All samples of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Without the `_total` of a counter.
    pub name: String,
    pub help: String,
    pub samples: Samples,
}

/// A label and its value.
pub type Label = (&'static str, String);

/// The values, each with its labels.
#[derive(Debug, Clone, PartialEq)]
pub enum Samples {
    Counter(Vec<(Vec<Label>, f64)>),
    Gauge(Vec<(Vec<Label>, f64)>),
    Histogram(Vec<(Vec<Label>, Lengths)>),
}

/// A histogram of times, in seconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lengths {
    pub count: u64,
    pub sum_s: f64,
    /// Upper edges of classic buckets, and how many are not above; without the one of infinity.
    pub classic: Vec<(f64, u64)>,
    /// Of each bucket of the light watch that has any: its upper edge, and how many it has.
    pub fine: Vec<(f64, u64)>,
}
