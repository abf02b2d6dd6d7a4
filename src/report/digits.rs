// SPDX-License-Identifier: GPL-2.0-only
//! Numbers as pictures and pages write them: about four digits, thousands set apart.

use super::rounded;

/// About four digits, and none that says nothing.
pub fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1e9.. => format!("{value:.2e}"),
        1000.0.. => grouped(value.round() as i64),
        100.0.. => rounded(value, 1),
        10.0.. => rounded(value, 2),
        0.001.. => rounded(value, 3),
        _ => format!("{value:.1e}"),
    }
}

/// A whole number with commas: 40,003.
pub fn grouped(value: i64) -> String {
    let all = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in all.chars().enumerate() {
        if at > 0 && (all.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    match value < 0 {
        true => format!("-{text}"),
        false => text,
    }
}

/// The same of a number of things.
pub fn counted(number: u64) -> String {
    grouped(number.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_digits_as_say_something() {
        let all = [
            0.0, 0.25, 4.0, 61.634, 300.14, 23_753.161, 1e12, 0.000_02, -1500.0,
        ];
        assert_eq!(
            all.map(digits),
            [
                "0", "0.25", "4", "61.63", "300.1", "23,753", "1.00e12", "2.0e-5", "-1,500"
            ]
        );
        assert_eq!(grouped(40_003), "40,003");
        assert_eq!(grouped(-7), "-7");
        assert_eq!(counted(1_234_567), "1,234,567");
    }
}
