// SPDX-License-Identifier: GPL-2.0-only
//! Fits against those of another program, and the tests that refuse one by one.

use super::super::random::Random;
use super::super::{gpd, outliers};
use super::*;
use artis_result::{Block, BlockMaxima};

/// `KEY NUMBER` pairs of a line.
fn numbers(line: &str) -> impl Fn(&str) -> f64 {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    move |key: &str| {
        let at = words.iter().position(|word| word == key).unwrap();
        words[at + 1].parse().unwrap()
    }
}

#[track_caller]
fn is(one: f64, other: f64, name: &str) {
    // A shape near 0 is compared with what it does to the values: 1 % of the scale.
    let room = 0.01 * other.abs().max(0.1);
    assert!((one - other).abs() <= room, "{name}: {one}, not {other}");
}

#[test]
fn fits_are_those_of_scipy_within_1_per_cent() {
    let text = include_str!("../data/fits.txt");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 8);
    for pair in lines.chunks(2) {
        let (name, number) = (pair[0], numbers(pair[0]));
        let values = pair[1].split(' ').skip(1);
        let mut values: Vec<f64> = values.map(|word| word.parse().unwrap()).collect();
        values.sort_by(f64::total_cmp);
        let fit = gpd::Fit::new(number("location"), &values, 0).unwrap();
        is(fit.law.scale, number("scale"), name);
        is(fit.law.shape, number("shape"), name);
    }
}

/// Ten runs' worth of exponential values above 10 us, 2 us each, and one more value.
fn exponential(seed: u64, clock: f64, one_more: Option<f64>) -> (Blocks, Distribution) {
    let mut random = Random(seed);
    let mut maxima = BlockMaxima::new();
    let mut all = Distribution::new();
    for at in 0..200_000_u64 {
        let value = 10_000.0 - 2000.0 * random.uniform().ln();
        let value = one_more.filter(|_| at == 123_456).unwrap_or(value);
        let value = ((value / clock).round() * clock) as i64;
        all.record(value);
        maxima.record(value, at * 100_000);
    }
    (maxima.blocks().unwrap(), all)
}

#[test]
fn the_interval_holds_the_truth_and_allows_for_what_was_not_seen() {
    let (blocks, all) = exponential(5, 1.0, None);
    let tail = Tail::new(&[&blocks], Some(&all)).unwrap();
    // e^-15 is 3e-7.
    let (value, truth) = (40_000.0, (-15.0_f64).exp());
    let found = tail.exceedance(value);
    for it in [found.by_peaks, found.probability] {
        assert!(it.low < truth && truth < it.high, "{found:?}");
        assert!(it.low < it.value && it.value < it.high, "{found:?}");
    }
    // Twice the largest value: a quarter of the exact bound.
    let max = all.moments().unwrap().max as f64;
    let twice = tail.exceedance(2.0 * max);
    let exact = binomial::upper(0, 200_000, 0.95);
    assert!((twice.unseen / exact * 4.0 - 1.0).abs() < 1e-9, "{twice:?}");
    assert_eq!(twice.probability.high, twice.unseen);
    // The same from the other side, where the law ends the interval and where the allowance does.
    for probability in [1e-4, 1e-5, 1e-7] {
        let edge = tail.exceedance(tail.reach(probability)).probability.high;
        assert!((edge / probability - 1.0).abs() < 1e-6, "{edge:e}");
    }
    // What it goes by is shown, and what the largest ones do to it.
    let [law, first, .., many] = &found.laws[..] else {
        panic!("{found:?}");
    };
    assert_eq!((law.values, law.left_out), (100, 0));
    assert!((2000..2050).contains(&many.values), "{many:?}");
    assert_eq!(law.probability, found.by_peaks.value);
    assert_eq!(first.left_out, 1);
    assert!((1.8..2.2).contains(&many.scale_us), "{many:?}");
    assert!(
        many.shape.abs() < 0.07 && (24.0..27.0).contains(&law.threshold_us),
        "{law:?}"
    );
}

/// A clock with steps is no reason to refuse, as long as the law is wider than they are.
#[test]
fn steps_are_held_against_the_scale_of_the_law() {
    let fine = |clock: f64| {
        let (blocks, all) = exponential(5, clock, None);
        Tail::new(&[&blocks], Some(&all)).map(|tail| tail.exceedance(40_000.0).by_peaks)
    };
    let exact = fine(1.0).unwrap();
    for clock in [10.0, 100.0, 400.0] {
        let found = fine(clock).unwrap();
        assert!(
            (found.value / exact.value).ln().abs() < 0.7,
            "{clock}: {found:?} {exact:?}"
        );
    }
    let coarse = fine(4000.0).unwrap_err();
    assert!(
        matches!(coarse, Refusal::Discrete { percent } if percent > 100.0),
        "{coarse}"
    );
}

#[test]
fn what_was_seen_once_is_a_cause() {
    let (blocks, all) = exponential(5, 1.0, Some(100_000.0));
    let refusal = Tail::new(&[&blocks], Some(&all)).unwrap_err();
    assert!(
        matches!(refusal, Refusal::Outliers { count: 1, .. }),
        "{refusal}"
    );
    assert!(
        refusal
            .to_string()
            .starts_with("the largest value does not belong to the law")
    );
}

/// Values of one law: how likely the tests find them to be by chance.
#[test]
fn outliers_of_good_values_are_as_rare_as_they_should_be() {
    let sets = 400;
    let rare = (0..sets).filter(|seed| {
        let mut random = Random(*seed);
        let mut ascending: Vec<f64> = (0..2000).map(|_| -random.uniform().ln()).collect();
        ascending.sort_by(f64::total_cmp);
        let largest = Largest {
            threshold: 0.0,
            ascending,
            step: 0.0,
        };
        outliers::found(&largest, 0.02).is_some()
    });
    // Of seven tries on the same values, each in favour of the values.
    let rare = rare.count();
    assert!((2..=20).contains(&rare), "{rare} of {sets}");
}

#[test]
fn values_in_clusters_are_found() {
    let mut random = Random(9);
    let mut of = |cluster: usize| {
        let mut all = Distribution::new();
        let mut maxima = vec![0.0_f64; 200];
        for _ in 0..20_000 / cluster {
            let block = (random.uniform() * 200.0) as usize;
            let one = -1e6 * random.uniform().ln();
            for _ in 0..cluster {
                all.record(one as i64);
                maxima[block] = maxima[block].max(one.trunc());
            }
        }
        clusters::of(&maxima, &Largest::of(&all, 200, 1).unwrap())
    };
    let (alone, together) = (of(1), of(4));
    assert!(alone.p > 0.01 && alone.size < 1.3, "{alone:?}");
    assert!(
        together.p < 1e-6 && (3.0..5.5).contains(&together.size),
        "{together:?}"
    );
}

#[test]
fn too_few_and_no_blocks_say_so() {
    let (mut blocks, all) = exponential(5, 1.0, None);
    assert_eq!(Tail::new(&[], Some(&all)).unwrap_err(), Refusal::NoBlocks);
    assert_eq!(Tail::new(&[&blocks], None).unwrap_err(), Refusal::NoBlocks);
    let mut few = Distribution::new();
    for at in 0..1000 {
        few.record(at);
    }
    let refusal = Tail::new(&[&blocks], Some(&few)).unwrap_err();
    let sentence = "there are 1000 values and 5000 are needed; measure longer";
    assert_eq!(refusal.to_string(), sentence);
    blocks.all.truncate(3);
    let refusal = Tail::new(&[&blocks], Some(&all)).unwrap_err();
    let sentence = "there are 3 blocks and 50 are needed; measure longer";
    assert_eq!(refusal.to_string(), sentence);
    // A negative maximum says nothing of how much larger a value may be.
    let block = Block {
        count: 1000,
        max: -5,
        max_at_s: 1.0,
    };
    assert_eq!(
        clock_step(&[&Blocks {
            seconds: 0.1,
            all: vec![block; 2]
        }]),
        0
    );
}

/// Computes the table of the module again.
#[test]
#[ignore = "takes minutes; make soak runs it"]
fn distances_are_those_of_simulated_samples() {
    let samples = 10_000;
    for (shape, bound) in DISTANCES {
        let mut random = Random(1);
        let law = Gpd {
            threshold: 0.0,
            scale: 1.0,
            shape,
        };
        let one = |_| {
            let mut values: Vec<f64> = (0..200).map(|_| law.quantile(random.uniform())).collect();
            values.sort_by(f64::total_cmp);
            gpd::Fit::new(0.0, &values, 0).map_or(0.0, |fit| fit.distance())
        };
        let mut all: Vec<f64> = (0..samples).map(one).collect();
        all.sort_by(f64::total_cmp);
        let distance = all[samples * 99 / 100];
        assert!((bound - distance).abs() < 0.02, "shape {shape}: {distance}");
    }
}
