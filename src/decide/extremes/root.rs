// SPDX-License-Identifier: GPL-2.0-only
//! Where a monotone condition begins to hold, and where it ends.

/// Between `holds` and `fails`, where `condition` holds and fails, the last place where it holds,
/// to `close`.
pub fn last(holds: f64, fails: f64, close: f64, condition: impl Fn(f64) -> bool) -> f64 {
    let (mut holds, mut fails) = (holds, fails);
    while (holds - fails).abs() > close {
        let middle = f64::midpoint(holds, fails);
        // Nothing lies between neighbours.
        if middle == holds || middle == fails {
            break;
        }
        if condition(middle) {
            holds = middle;
        } else {
            fails = middle;
        }
    }
    holds
}

/// Between two places with values of unlike signs, one at which the value is zero, to `close`.
/// `at` gives a place and its value, which is finite.
///
/// The Illinois method: of the straight line between both ends it takes the place where that is
/// zero, and halves the value of an end that stays for the second time. M. Dowell and P. Jarratt,
/// "A modified regula falsi method for computing the root of an equation", 1971.
pub fn crossing(
    mut moved: (f64, f64),
    mut other: (f64, f64),
    close: f64,
    at: impl Fn(f64) -> (f64, f64),
) -> f64 {
    while (moved.0 - other.0).abs() > close && moved.1 != other.1 {
        let next = moved.0 - moved.1 * (moved.0 - other.0) / (moved.1 - other.1);
        if (next - moved.0).abs() <= close {
            return next;
        }
        let there = at(next);
        if there.1.signum() == moved.1.signum() {
            other.1 /= 2.0;
        } else {
            other = moved;
        }
        moved = there;
    }
    moved.0
}
