// SPDX-License-Identifier: GPL-2.0-only
//! What a measurement says while it goes on: the worst so far, and of how many.

use artis_measure::live::Live;

/// `worst 31.0 us, 200 commands`: of what `counted` names, above `ideal_ns`.
pub fn so_far(threads: &[Live], worst: &str, ideal_ns: u64, counted: &str) -> String {
    let max_ns = threads.iter().map(Live::max_ns).max().unwrap_or(0);
    let count: u64 = threads.iter().map(Live::count).sum();
    let worst_us = max_ns.saturating_sub(ideal_ns) as f64 / 1000.0;
    format!("{worst} {worst_us:.1} us, {count} {counted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_comes_first() {
        let text = so_far(&[Live::default()], "worst", 0, "rounds");
        assert_eq!(text, "worst 0.0 us, 0 rounds");
    }
}
