// SPDX-License-Identifier: GPL-2.0-only
//! The special functions of the laws that verdicts are made with: normal, gamma and beta.
//!
//! Owns nothing else: the crates that have all of them depend on one that is Apache-2.0 alone. The
//! error function and the gamma function are libm's, the normal quantile is distrs'.
//!
//! Source: NIST Digital Library of Mathematical Functions, 7.2 (normal law), 8.4.8 (gamma of whole
//! parameters), 8.17.22 (beta), 5.11.1 (Stirling's series); Lentz's way through a continued
//! fraction as W. H. Press and others, "Numerical Recipes", 2007, 5.2.

use std::f64::consts::SQRT_2;

/// The probability that a standard normal value is below this one.
pub fn normal_below(z: f64) -> f64 {
    libm::erfc(-z / SQRT_2) / 2.0
}

/// The probability that a standard normal value is above this one, with all digits of a small one.
pub fn normal_above(z: f64) -> f64 {
    normal_below(-z)
}

/// The standard normal value that others are below with this probability.
pub fn normal_quantile(p: f64) -> f64 {
    distrs::Normal::ppf(p, 0.0, 1.0)
}

/// The probability that a sum of so many exponential values of mean 1 is above this.
pub fn gamma_above(count: usize, sum: f64) -> f64 {
    let mut term = (-sum).exp();
    let mut all = 0.0;
    for already in 0..count {
        all += term;
        term *= sum / (already as f64 + 1.0);
    }
    all
}

/// The regularized incomplete beta function: that a value of the beta law is below `x`.
pub fn beta_below(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges soonest below the mean; above it, the rest is the mirrored law's.
    // Of few among many the mirrored one would lose the digits of x, and this one converges, too.
    let is_few = a < 1000.0 && x < 0.01;
    match is_few || x < (a + 1.0) / (a + b + 2.0) {
        true => (front(a, b, x.ln(), (-x).ln_1p()) / a * fraction(a, b, x)).min(1.0),
        false => 1.0 - (front(b, a, (-x).ln_1p(), x.ln()) / b * fraction(b, a, 1.0 - x)).min(1.0),
    }
}

/// x^a (1-x)^b / B(a,b), of the logarithms of x and of 1-x.
fn front(a: f64, b: f64, ln_x: f64, ln_rest: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    let ln_beta = libm::lgamma(small) - grown(large, small);
    (a * ln_x + b * ln_rest - ln_beta).exp()
}

/// ln of Γ(from + by) / Γ(from). Both have the digits of a count; their difference is in the last
/// ones, so of large ones only what differs is taken.
fn grown(from: f64, by: f64) -> f64 {
    // From here on, four terms of the series have all digits.
    const LARGE: f64 = 30.0;
    let to = from + by;
    if from < LARGE {
        return libm::lgamma(to) - libm::lgamma(from);
    }
    let series = |z: f64| (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * z * z)) / (z * z)) / z;
    (from - 0.5) * (by / from).ln_1p() + by * to.ln() - by + series(to) - series(from)
}

/// The continued fraction of the incomplete beta function.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    // About the square root of the larger parameter is enough.
    let most = 200 + 10 * a.max(b).sqrt() as u64;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut value = d;
    for step in 1..most {
        let m = step as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / away(1.0 + coefficient * d);
            c = away(1.0 + coefficient / c);
            change = c * d;
            value *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(one: f64, other: f64, error: f64) {
        assert!(
            (one / other - 1.0).abs() < error,
            "{one:e}, not {other:e}: {:e}",
            one / other - 1.0
        );
    }

    /// `scipy.stats.norm.sf` and `.ppf`.
    #[test]
    fn the_normal_law_keeps_the_digits_of_a_small_probability() {
        is(normal_above(1.0), 0.158_655_253_931_457_05, 1e-14);
        is(normal_above(10.0), 7.619_853_024_160_527e-24, 1e-13);
        is(normal_below(1.0), 0.841_344_746_068_542_9, 1e-14);
        is(normal_below(-10.0), 7.619_853_024_160_527e-24, 1e-13);
        is(normal_quantile(0.975), 1.959_963_984_540_054, 1e-14);
        for z in [-3.0, -0.5, 0.1, 2.0] {
            is(normal_quantile(normal_below(z)), z, 1e-13);
        }
    }

    #[test]
    fn sums_of_exponential_values() {
        // e^-2, 3 e^-2, 5 e^-2.
        for (count, times) in [(1, 1.0), (2, 3.0), (3, 5.0)] {
            is(gamma_above(count, 2.0), times * (-2.0_f64).exp(), 1e-15);
        }
        // The complement of the terms that are left out.
        let rest: f64 = (20..100)
            .fold((0.0, 1.0), |(sum, _), k| {
                let ln_term =
                    -15.0 + f64::from(k) * 15.0_f64.ln() - libm::lgamma(f64::from(k) + 1.0);
                (sum + ln_term.exp(), 1.0)
            })
            .0;
        is(gamma_above(20, 15.0), 1.0 - rest, 1e-13);
        assert_eq!(gamma_above(3, 1e4), 0.0);
    }

    /// Sums of the binomial law, term by term.
    #[test]
    fn the_beta_law_is_the_binomial_one_summed() {
        for (misses, of) in [(1_u32, 1_u32), (1, 10), (3, 7), (7, 20), (40, 60), (59, 60)] {
            for p in [1e-6, 0.01, 0.3, 0.5, 0.9] {
                let (mut sum, mut choices) = (0.0, 1.0);
                for k in 0..=of {
                    if k >= misses {
                        sum +=
                            choices * f64::powi(p, k as i32) * f64::powi(1.0 - p, (of - k) as i32);
                    }
                    choices *= f64::from(of - k) / f64::from(k + 1);
                }
                let found = beta_below(f64::from(misses), f64::from(of - misses + 1), p);
                // Below this, neither has its digits.
                if sum > 1e-290 {
                    is(found, sum, 1e-12);
                }
            }
        }
        assert_eq!(
            (beta_below(2.0, 3.0, 0.0), beta_below(2.0, 3.0, 1.0)),
            (0.0, 1.0)
        );
    }

    /// Of many activations: 1 - (1-p)^n, and Poisson's law, whose error is about the probability.
    #[test]
    fn many_activations_lose_no_digits() {
        for count in [1e3_f64, 1e6, 1e9, 1e12, 1e15] {
            let p = 2.0 / count;
            let expected = -(count * (-p).ln_1p()).exp_m1();
            is(beta_below(1.0, count, p), expected, 1e-12);
        }
        for misses in [1, 5, 20] {
            let a = misses as f64;
            let found = beta_below(a, 1e13 - a + 1.0, 4e-13);
            let below = gamma_above(misses, 4.0);
            is(1.0 - found, below, 1e-9);
        }
        // Half of a symmetric law is below its middle.
        for half in [10.0, 1e4, 1e7] {
            is(beta_below(half, half, 0.5), 0.5, 1e-7);
        }
    }
}
