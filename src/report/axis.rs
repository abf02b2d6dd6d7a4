// SPDX-License-Identifier: GPL-2.0-only
//! Axes: from values to pixels, and which values get a mark.

use super::rounded;

/// One axis of a picture.
#[derive(Clone, Debug)]
pub struct Axis {
    scale: Scale,
    /// Values at both ends.
    low: f64,
    high: f64,
    /// Pixels at both ends.
    from: f64,
    to: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    /// With a mark at every multiple of `step`.
    Linear {
        step: f64,
    },
    Logarithmic,
}

/// About so many marks on a linear axis.
const MARKS: f64 = 6.0;

impl Axis {
    /// A linear axis from 0 to a round number that is at least `highest`.
    pub fn linear(highest: f64, pixels: (f64, f64)) -> Self {
        let highest = if highest > 0.0 { highest } else { 1.0 };
        let step = step(highest);
        Self {
            scale: Scale::Linear { step },
            low: 0.0,
            high: (highest / step).ceil() * step,
            from: pixels.0,
            to: pixels.1,
        }
    }

    /// A logarithmic axis for values above 0, both ends as they are.
    pub fn logarithmic(values: (f64, f64), pixels: (f64, f64)) -> Self {
        let low = values.0.max(f64::MIN_POSITIVE);
        Self {
            scale: Scale::Logarithmic,
            low,
            high: values.1.max(low * 2.0),
            from: pixels.0,
            to: pixels.1,
        }
    }

    /// Where a value lies; those beyond an end lie at the end.
    pub fn pixel(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let part = match self.scale {
            Scale::Linear { .. } => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + part * (self.to - self.from)
    }

    /// The values that get a mark, each with its words.
    pub fn marks(&self) -> Vec<(f64, String)> {
        let values = match self.scale {
            Scale::Linear { step } => {
                let count = (self.high / step).round() as u32;
                (0..=count).map(|at| f64::from(at) * step).collect()
            }
            Scale::Logarithmic => self.powers(),
        };
        let marks = values.into_iter().map(|value| (value, words(value)));
        marks.collect()
    }

    /// The powers of ten, and as many of their multiples as there is room for.
    fn powers(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let digits: &[f64] = match decades {
            ..0.8 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
            ..3.5 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let all = (first..=last)
            .flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)));
        // Rounding may put a mark a little beyond the end.
        let slack = 1.0 + 1e-9;
        all.filter(|value| *value * slack >= self.low && *value <= self.high * slack)
            .collect()
    }
}

/// A distance of marks: 1, 2 or 5 times a power of ten.
fn step(highest: f64) -> f64 {
    let rough = highest / MARKS;
    let power = 10_f64.powf(rough.log10().floor());
    let digits = [1.0, 2.0, 5.0, 10.0];
    let digit = digits.into_iter().find(|digit| rough <= digit * power);
    digit.unwrap_or(10.0) * power
}

/// A mark's words: as short as the value allows, thousands set apart.
fn words(value: f64) -> String {
    if value.abs() >= 1e5 || value != 0.0 && value.abs() < 0.001 {
        // 2.50e5: without the zeros at the end.
        let text = format!("{value:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        return format!("{digits}e{power}");
    }
    if value.abs() >= 1000.0 {
        let whole = value.round() as i64;
        return format!("{},{:03}", whole / 1000, whole % 1000);
    }
    rounded(value, 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marks(axis: &Axis) -> Vec<String> {
        axis.marks().into_iter().map(|(_, words)| words).collect()
    }

    #[test]
    fn linear_marks_are_round() {
        let axis = Axis::linear(1.13, (0.0, 100.0));
        assert_eq!(marks(&axis), ["0", "0.2", "0.4", "0.6", "0.8", "1", "1.2"]);
        assert!((axis.pixel(0.6) - 50.0).abs() < 1e-9);
        let axis = Axis::linear(5300.0, (0.0, 1.0));
        assert_eq!(marks(&axis).last().unwrap(), "6,000");
    }

    #[test]
    fn logarithmic_marks_are_as_many_as_fit() {
        let axis = Axis::logarithmic((50.0, 1200.0), (0.0, 1.0));
        assert_eq!(marks(&axis), ["50", "100", "200", "500", "1,000"]);
        let axis = Axis::logarithmic((1.0, 1e6), (0.0, 1.0));
        assert_eq!(marks(&axis).len(), 7);
        let axis = Axis::logarithmic((40.0, 150.0), (0.0, 1.0));
        assert_eq!(marks(&axis)[4..], ["80", "90", "100", "150"]);
        let axis = Axis::logarithmic((1e-5, 1.0), (0.0, 1.0));
        assert_eq!(marks(&axis)[..3], ["1e-5", "1e-4", "0.001"]);
        let axis = Axis::linear(1_500_000.0, (0.0, 1.0));
        assert_eq!(marks(&axis)[..2], ["0", "5e5"]);
        assert_eq!(words(2_500_000.0), "2.5e6");
    }

    proptest! {
        #[test]
        fn every_value_lies_between_the_ends(low in 1e-3..1e6_f64, times in 1.0..1e6_f64, value: f64) {
            let axes = [
                Axis::logarithmic((low, low * times), (10.0, 90.0)),
                Axis::linear(low, (90.0, 10.0)),
            ];
            for axis in axes {
                if !value.is_nan() {
                    let pixel = axis.pixel(value);
                    prop_assert!((10.0 - 1e-6..=90.0 + 1e-6).contains(&pixel), "{pixel}");
                }
                prop_assert!((1..=40).contains(&axis.marks().len()));
            }
        }
    }
}
