// SPDX-License-Identifier: GPL-2.0-only
//! The least value of a smooth function of a few variables, without derivatives.
//!
//! J. A. Nelder and R. Mead, "A simplex method for function minimization", 1965, with the usual
//! factors. The packages that have it take dynamic types and a configuration of their own; these
//! are sixty lines without an allocation.

const STEPS_MAX: usize = 400;

/// From `start`, with first steps of these lengths; the place and the value there. Ends when the
/// simplex's values differ by less than `close`.
pub fn of<const N: usize>(
    start: [f64; N],
    steps: [f64; N],
    close: f64,
    function: impl Fn(&[f64; N]) -> f64,
) -> ([f64; N], f64) {
    let mut best = (start, function(&start));
    let mut simplex = [best; N];
    for (at, corner) in simplex.iter_mut().enumerate() {
        corner.0[at] += steps[at];
        corner.1 = function(&corner.0);
    }
    for _ in 0..STEPS_MAX {
        // The best stands apart, the worst last.
        simplex.sort_by(|one, other| one.1.total_cmp(&other.1));
        if simplex[0].1 < best.1 {
            std::mem::swap(&mut simplex[0], &mut best);
            simplex.sort_by(|one, other| one.1.total_cmp(&other.1));
        }
        let worst = simplex[N - 1];
        if worst.1 - best.1 < close {
            break;
        }
        let mut centre = best.0;
        for corner in &simplex[..N - 1] {
            for (sum, value) in centre.iter_mut().zip(corner.0) {
                *sum += value;
            }
        }
        let towards = |factor: f64| {
            let mut place = [0.0; N];
            for at in 0..N {
                let middle = centre[at] / N as f64;
                place[at] = middle + factor * (worst.0[at] - middle);
            }
            (place, function(&place))
        };
        let reflected = towards(-1.0);
        let second = if N > 1 { simplex[N - 2].1 } else { best.1 };
        simplex[N - 1] = if reflected.1 < best.1 {
            let expanded = towards(-2.0);
            if expanded.1 < reflected.1 {
                expanded
            } else {
                reflected
            }
        } else if reflected.1 < second {
            reflected
        } else {
            let contracted = towards(if reflected.1 < worst.1 { -0.5 } else { 0.5 });
            if contracted.1 < worst.1.min(reflected.1) {
                contracted
            } else {
                for corner in &mut simplex {
                    for at in 0..N {
                        corner.0[at] = f64::midpoint(corner.0[at], best.0[at]);
                    }
                    corner.1 = function(&corner.0);
                }
                continue;
            }
        };
    }
    let all = simplex.into_iter().chain([best]);
    all.min_by(|one, other| one.1.total_cmp(&other.1))
        .unwrap_or(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bent_valley_is_followed_to_its_end() {
        // Rosenbrock's function.
        let valley = |p: &[f64; 2]| (1.0 - p[0]).powi(2) + 100.0 * (p[1] - p[0] * p[0]).powi(2);
        let (place, value) = of([-1.2, 1.0], [0.5, 0.5], 1e-14, valley);
        assert!((place[0] - 1.0).abs() < 1e-4 && value < 1e-8, "{place:?}");
        let (place, _) = of([5.0], [1.0], 1e-14, |p| (p[0] - 2.0).powi(2));
        assert!((place[0] - 2.0).abs() < 1e-5, "{place:?}");
    }
}
