// SPDX-License-Identifier: GPL-2.0-only
//! Tests of distributions: merging, moments, percentiles, limits.

use super::*;
use proptest::prelude::*;

fn of(values: &[i64]) -> Distribution {
    let mut all = Distribution::signed();
    for value in values {
        all.record(*value);
    }
    all
}

#[test]
fn nothing_recorded_has_no_statistics() {
    assert_eq!(Distribution::new().moments(), None);
    assert_eq!(Distribution::new().percentile(50.0), None);
}

#[test]
fn small_values_are_exact() {
    let some = of(&[5, 1, 4, 2, 3]);
    let moments = some.moments().unwrap();
    assert_eq!((moments.min, moments.max, moments.mean), (1, 5, 3.0));
    assert!((moments.stddev.unwrap() - 2.5_f64.sqrt()).abs() < 1e-12);
    assert_eq!(some.percentile(50.0), Some(3));
    assert_eq!(some.percentile(100.0), Some(5));
}

#[test]
fn a_summary_makes_no_percentile_up() {
    let mut all = Distribution::summary(10, 1, 3.0, 9).unwrap();
    assert_eq!((all.percentile(50.0), all.buckets().count()), (None, 0));
    all.merge(&of(&[1, 2, 30]));
    let moments = all.moments().unwrap();
    assert_eq!((moments.count, moments.min, moments.max), (13, 1, 30));
    assert!((moments.mean - 63.0 / 13.0).abs() < 1e-12);
    assert_eq!((moments.stddev, all.percentile(50.0)), (None, None));
    let mut other = of(&[1, 2, 30]);
    other.merge(&Distribution::summary(10, 1, 3.0, 9).unwrap());
    assert!(other.is_summary());
    assert!(Distribution::summary(1, 5, 5.0, 4).is_err());
    assert!(Distribution::summary(1, 5, 9.0, 6).is_err());
    assert!(Distribution::summary(1, 5, f64::NAN, 6).is_err());
}

#[test]
fn a_percentile_needs_a_value_beyond_it() {
    let ten = of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(ten.supported_percentile(90.0), Some(9));
    assert_eq!(ten.supported_percentile(99.0), None);
    assert_eq!(ten.percentile(99.0), Some(10));
}

#[test]
fn the_maximum_stays_exact_above_the_histogram() {
    let huge = 5 * signed(HIGHEST);
    assert_eq!(of(&[1, huge]).moments().unwrap().max, huge);
}

#[test]
fn record_tells_a_new_maximum() {
    let mut some = Distribution::new();
    assert!(some.record(3) && !some.record(3) && some.record(4) && !some.record(1));
}

#[test]
fn parts_that_contradict_each_other_are_refused() {
    let some = of(&[1, 2]);
    let moments = some.moments().unwrap();
    let refused =
        |moments| Distribution::from_parts(some.histogram().clone(), None, Some(moments)).is_err();
    assert!(!refused(moments));
    assert!(refused(Moments {
        count: 3,
        ..moments
    }));
    assert!(refused(Moments { min: 9, ..moments }));
    assert!(refused(Moments {
        mean: 9.0,
        ..moments
    }));
    assert!(refused(Moments {
        stddev: Some(-1.0),
        ..moments
    }));
    assert!(refused(Moments {
        stddev: None,
        ..moments
    }));
}

proptest! {
    #[test]
    fn percentiles_are_those_of_the_sorted_values(
        mut values in prop::collection::vec(-1_000_000_000_i64..1_000_000_000, 1..300),
        percent in 0.0..=100.0_f64,
    ) {
        let found = of(&values).percentile(percent).unwrap();
        values.sort_unstable();
        let rank = (values.len() as f64 * percent / 100.0).ceil() as usize;
        let exact = values[rank.clamp(1, values.len()) - 1];
        prop_assert!((found - exact).abs() as f64 <= exact.abs() as f64 * 0.001 + 0.5);
    }

    #[test]
    fn merged_is_as_recorded_together(
        one in prop::collection::vec(-1_000_000_i64..1_000_000, 0..100),
        two in prop::collection::vec(-1_000_000_i64..1_000_000, 0..100),
    ) {
        let mut merged = of(&one);
        merged.merge(&of(&two));
        let together = of(&[one, two].concat());
        prop_assert_eq!(merged.histogram(), together.histogram());
        prop_assert_eq!(merged.negative(), together.negative());
        match (merged.moments(), together.moments()) {
            (Some(merged), Some(together)) => {
                prop_assert_eq!(merged.count, together.count);
                prop_assert_eq!((merged.min, merged.max), (together.min, together.max));
                prop_assert!((merged.mean - together.mean).abs() < 1e-6);
                let deviation = |moments: Moments| moments.stddev.unwrap();
                prop_assert!((deviation(merged) - deviation(together)).abs() < 1e-6);
            }
            (merged, together) => prop_assert_eq!(merged, together),
        }
    }
}
