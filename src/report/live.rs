// SPDX-License-Identifier: GPL-2.0-only
//! What a measurement says while it goes on: the worst so far, and of how many.

use super::us;

/// `worst 31.0 us, 200 commands`: `counted` names what is counted.
pub fn so_far(worst: &str, max_ns: i64, count: u64, counted: &str) -> String {
    format!("{worst} {:.1} us, {count} {counted}", us(max_ns))
}
