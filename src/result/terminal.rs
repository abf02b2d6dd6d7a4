// SPDX-License-Identifier: GPL-2.0-only
//! The one filter for what people read: names, values and quoted output of others must not steer a
//! terminal. Everything printed goes through it, on standard output and standard error.

/// Text of one line without characters that steer a terminal.
pub fn plain(text: &str) -> String {
    text.chars().filter(|one| !steers(*one)).collect()
}

/// The same of text that has lines and columns.
pub fn printable(text: &str) -> String {
    let stays = |one: &char| matches!(one, '\n' | '\t') || !steers(*one);
    text.chars().filter(stays).collect()
}

/// JSON in which such characters are written as JSON writes them, so that nothing of it is lost.
pub fn json(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for one in text.chars() {
        match steers(one) && one != '\n' {
            // All are below U+10000.
            true => safe += &format!("\\u{:04x}", u32::from(one)),
            false => safe.push(one),
        }
    }
    safe
}

/// Control characters, and those that turn the direction of writing.
fn steers(one: char) -> bool {
    let turns = matches!(one, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    one.is_control() || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ESC, DEL, the C1 form of ESC [, a bell, and one that turns the direction of writing.
    const STEERS: &str = "a\x1b[2Jb\x7f\u{9b}31m\x07\u{202e}c";

    #[test]
    fn nothing_that_steers_a_terminal_stays() {
        assert_eq!(plain(&format!("{STEERS}\n\td")), "a[2Jb31mcd");
        assert_eq!(printable(&format!("{STEERS}\r\n\td")), "a[2Jb31mc\n\td");
        assert_eq!(printable("1.5 µs ≤ 2 µs · ×"), "1.5 µs ≤ 2 µs · ×");
    }

    #[test]
    fn json_stays_the_same_document() {
        let text = serde_json::to_string_pretty(&[STEERS]).unwrap();
        let safe = json(&text);
        assert!(!safe.contains(['\x1b', '\x7f', '\u{9b}', '\u{202e}']));
        let read: Vec<String> = serde_json::from_str(&safe).unwrap();
        assert_eq!(read, [STEERS]);
    }
}
