// SPDX-License-Identifier: GPL-2.0-only
//! What speaks against a measurement, for the screen.

use super::words::plain;
use artis_result::Warning;

/// One line: what was seen.
pub fn line(warning: &Warning) -> String {
    plain(&format!("artis: warning: {}: {}", warning.id, warning.seen)) + "\n"
}

/// The line, what it does to the figures, and what to type.
pub fn block(warning: &Warning) -> String {
    let mut text = line(warning);
    text += &plain(&format!("  why: {}", warning.why));
    text.push('\n');
    if let Some(fix) = &warning.fix {
        text += &plain(&format!("  fix: {fix}"));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_a_line_for_each_part() {
        let mut warning = Warning {
            id: "memory".to_owned(),
            seen: "it is not\nlocked".to_owned(),
            why: "page faults".to_owned(),
            fix: Some("run artis with sudo".to_owned()),
        };
        assert_eq!(line(&warning), "artis: warning: memory: it is notlocked\n");
        assert_eq!(
            block(&warning),
            line(&warning) + "  why: page faults\n  fix: run artis with sudo\n"
        );
        warning.fix = None;
        assert_eq!(block(&warning).lines().count(), 2);
    }
}
