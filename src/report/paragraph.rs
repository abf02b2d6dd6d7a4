// SPDX-License-Identifier: GPL-2.0-only
//! A title and words beside it, broken at spaces.

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
        let mut text = String::new();
        let mut line = format!("{:margin$}{title:1$}", "", indent - margin);
        // A title that reaches into the words keeps a space after it.
        let mut empty = margin + title.chars().count() < indent;
        for word in words.split_whitespace() {
            let word: String = word.chars().filter(|one| !one.is_control()).collect();
            if !empty && line.chars().count() + 1 + word.chars().count() > width {
                text += line.trim_end();
                text.push('\n');
                line = " ".repeat(indent);
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line += &word;
            empty = false;
        }
        if words.trim().is_empty() {
            return String::new();
        }
        text + &line + "\n"
    }
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
