// SPDX-License-Identifier: GPL-2.0-only
//! The page's style: its sheet, and what the colours of pictures are on a dark screen.

use crate::style::{ON_DARK, PAPER};
use std::fmt::Write;

const SHEET: &str = include_str!("style.css");

/// The whole style.
pub(super) fn style() -> String {
    let mut text = SHEET.to_owned();
    // Print is always light.
    text += "@media screen and (prefers-color-scheme: dark) {\n";
    for (light, dark) in ON_DARK {
        let _ = writeln!(
            text,
            "svg [fill=\"{light}\"] {{ fill: {dark} }} svg [stroke=\"{light}\"] {{ stroke: {dark} }}"
        );
    }
    text += "}\n";
    // Marks have an edge of the page's colour, also where that is not white.
    let _ = writeln!(text, "svg [stroke=\"{PAPER}\"] {{ stroke: var(--paper) }}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_of_pictures_has_one_for_dark_screens() {
        let style = style();
        for index in 0..7 {
            let colour = crate::style::colour(index);
            assert!(
                style.contains(&format!("[fill=\"{colour}\"] {{ fill: ")),
                "{colour}"
            );
        }
        assert!(!style.contains("http"), "nothing is loaded");
    }
}
