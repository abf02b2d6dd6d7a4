// SPDX-License-Identifier: GPL-2.0-only
//! Words broken at spaces, with or without a title beside them.

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

/// The words on lines that begin with `first` and then `rest`, and end at `width` columns unless a
/// single word is longer.
pub fn wrapped(
    words: impl Iterator<Item = String>,
    first: &str,
    rest: &str,
    width: usize,
) -> String {
    let mut text = String::new();
    let mut line = first.to_owned();
    let mut empty = first.is_empty() || first.ends_with(' ');
    for word in words {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            text += line.trim_end();
            text.push('\n');
            line = rest.to_owned();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line += &word;
        empty = false;
    }
    text + &line + "\n"
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
