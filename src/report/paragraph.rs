// SPDX-License-Identifier: GPL-2.0-only
//! Words broken at spaces, with or without a title beside them.

use super::comparison::WIDTH;
use super::words::plain;

/// How a paragraph is laid out, in columns.
#[derive(Clone, Copy)]
pub struct Layout {
    /// Before the title.
    pub margin: usize,
    /// Where the words begin.
    pub indent: usize,
    /// Where a line ends, unless a single word is longer.
    pub width: usize,
}

/// The lines of a verdict: a short title beside each.
pub(super) const TITLED: Layout = Layout {
    margin: 0,
    indent: 10,
    width: WIDTH,
};

impl Layout {
    /// The paragraph, or an empty text without words. Control characters are left out.
    pub fn paragraph(self, title: &str, words: &str) -> String {
        let Self {
            margin,
            indent,
            width,
        } = self;
        if words.trim().is_empty() {
            return String::new();
        }
        // A title that reaches into the words keeps a space after it.
        let first = format!("{:margin$}{title:1$}", "", indent - margin);
        let words = words.split_whitespace().map(plain);
        wrapped(words, &first, &" ".repeat(indent), width)
    }
}

/// What stays on the line of the number before it.
const UNITS: [&str; 7] = ["%", "us", "ms", "s", "min", "h", "MiB"];

/// Is this word the unit of the number before it?
fn is_unit_of(word: &str, before: &str) -> bool {
    UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']))
        && before.ends_with(|last: char| last.is_ascii_digit())
}

/// The words on lines that begin with `first` and then `rest`, and end at `width` columns. A word
/// that is longer than that, such as a path, begins further left, and is not broken.
pub fn wrapped(
    words: impl Iterator<Item = String>,
    first: &str,
    rest: &str,
    width: usize,
) -> String {
    let mut text = String::new();
    let mut line = first.to_owned();
    let mut empty = first.is_empty() || first.ends_with(' ');
    let mut words = words.peekable();
    while let Some(mut word) = words.next() {
        if let Some(unit) = words.next_if(|next| is_unit_of(next, &word)) {
            word = format!("{word} {unit}");
        }
        let length = word.chars().count();
        let begins = line.chars().count() + usize::from(!empty);
        if begins + length > width && (!empty || !line.trim().is_empty()) {
            text += line.trim_end();
            text.push('\n');
            line = rest.to_owned();
            empty = true;
        }
        if empty && line.trim().is_empty() && line.chars().count() + length > width {
            line = " ".repeat(width.saturating_sub(length));
        }
        if !empty {
            line.push(' ');
        }
        line += &word;
        empty = false;
    }
    text + &line + "\n"
}

/// How much further than the line itself what continues it begins.
const CONTINUED: usize = 4;

/// The text with lines of at most `width` columns: longer ones are broken at spaces, or anywhere
/// where there is none.
pub fn fitted(text: &str, width: usize) -> String {
    let width = width.max(2 * CONTINUED);
    let mut fitted = String::new();
    for line in text.lines() {
        let before = line.chars().take_while(|one| *one == ' ').count();
        let indent = " ".repeat((before + CONTINUED).min(width / 2));
        let mut rest: Vec<char> = line.chars().collect();
        while rest.len() > width {
            let first = rest.iter().take_while(|one| **one == ' ').count();
            let space = rest[..=width].iter().rposition(|one| *one == ' ');
            let end = space.filter(|at| *at > first).unwrap_or(width);
            let head: String = rest[..end].iter().collect();
            fitted += head.trim_end();
            fitted.push('\n');
            let tail: String = rest[end..].iter().collect();
            rest = indent.chars().chain(tail.trim_start().chars()).collect();
        }
        fitted.extend(rest);
        fitted.push('\n');
    }
    if !text.ends_with('\n') {
        fitted.pop();
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout {
        margin: 0,
        indent: 12,
        width: 80,
    };

    #[test]
    fn paragraphs_fit_the_width() {
        let text = LAYOUT.paragraph("machine", &"word ".repeat(40));
        assert!(
            text.lines()
                .all(|line| line.chars().count() <= LAYOUT.width),
            "{text}"
        );
        assert!(
            text.lines()
                .skip(1)
                .all(|line| line.starts_with(&" ".repeat(LAYOUT.indent)))
        );
        assert_eq!(LAYOUT.paragraph("load", ""), "");
        assert_eq!(LAYOUT.paragraph("a", "b\x1b[2Jc"), "a           b[2Jc\n");
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let wrapped = |text| wrapped(words(text).into_iter(), "", "", 12);
        assert_eq!(wrapped("some 100 % of it"), "some 100 %\nof it\n");
        assert_eq!(wrapped("they are 100 %."), "they are\n100 %.\n");
        assert_eq!(wrapped("that was for us"), "that was for\nus\n");
    }

    #[test]
    fn long_lines_are_broken_and_short_ones_stay() {
        let is = |text, expected| assert_eq!(fitted(text, 12), expected);
        is("short\n  two\n", "short\n  two\n");
        is("  one two three", "  one two\n      three");
        is("abcdefghijklmnop\n", "abcdefghijkl\n    mnop\n");
        is("a   b  12345678", "a   b\n    12345678");
        is("", "");
        for width in 1..40 {
            let text = fitted(&"word 12345 ".repeat(9), width);
            let limit = width.max(2 * CONTINUED);
            assert!(text.lines().all(|line| line.chars().count() <= limit));
        }
    }

    #[test]
    fn long_titles_keep_their_space() {
        let narrow = Layout {
            margin: 2,
            indent: 6,
            width: 12,
        };
        assert_eq!(
            narrow.paragraph("abcdef", "g h i"),
            "  abcdef g h\n      i\n"
        );
        assert_eq!(narrow.paragraph("abcd", "g"), "  abcd g\n");
    }
}
