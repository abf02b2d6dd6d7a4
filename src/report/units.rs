// SPDX-License-Identifier: GPL-2.0-only
//! Times with the unit that suits them.

/// A time with the unit that suits it, to three digits.
pub fn time(us: f64) -> String {
    time_to(us, 3)
}

/// The same to so many digits.
pub fn time_to(us: f64, digits: usize) -> String {
    let units = [
        (86_400e6, "d"),
        (3600e6, "h"),
        (60e6, "min"),
        (1e6, "s"),
        (1e3, "ms"),
    ];
    let (size, unit) = units
        .into_iter()
        .find(|(size, _)| us >= *size)
        .unwrap_or((1.0, "us"));
    let before = match us / size {
        100.0.. => 3,
        10.0.. => 2,
        _ => 1,
    };
    let digits = digits.saturating_sub(before);
    let text = format!("{:.digits$}", us / size);
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text} {unit}")
}
