// SPDX-License-Identifier: GPL-2.0-only
//! Where a monotone condition begins to hold.

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
