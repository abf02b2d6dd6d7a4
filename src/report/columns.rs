// SPDX-License-Identifier: GPL-2.0-only
//! A table whose columns are as wide as what is in them, on a terminal of any width.

/// Between columns, where there is room; else one space.
const GAP: usize = 2;
/// The last column breaks its words when it has so much room; with less, lines are continued.
const WORDS_MIN: usize = 12;
/// Before a line that continues another.
const INDENT: usize = 4;

/// Where a cell stands in its column.
#[derive(Clone, Copy, PartialEq)]
pub enum Side {
    Left,
    Right,
}

/// A table. The last column has words, such as a name.
pub struct Columns<const N: usize> {
    heads: [(&'static str, Side); N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Columns<N> {
    pub fn new(heads: [(&'static str, Side); N]) -> Self {
        Self {
            heads,
            rows: Vec::new(),
        }
    }

    pub fn push(&mut self, row: [String; N]) {
        self.rows.push(row);
    }

    /// The lines, none longer than `width` columns, unless a cell alone is.
    pub fn text(self, width: usize) -> String {
        let heads = self.heads.map(|(head, _)| head.to_owned());
        let sides = self.heads.map(|(_, side)| side);
        let rows: Vec<[String; N]> = [heads].into_iter().chain(self.rows).collect();
        let widest = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: [usize; N] = std::array::from_fn(widest);
        let fixed: usize = widths[..N - 1].iter().sum();
        let gap = match fixed + GAP * (N - 1) + widths[N - 1] <= width {
            true => GAP,
            false => 1,
        };
        let left = width.saturating_sub(fixed + gap * (N - 1));
        let line = |row: &[String; N]| match left >= WORDS_MIN.min(widths[N - 1]) {
            true => in_one(row, &widths, &sides, gap, left),
            false => continued(row, &widths, &sides, width),
        };
        rows.iter().map(line).collect()
    }
}

fn cell(text: &str, width: usize, side: Side) -> String {
    match side {
        Side::Left => format!("{text:width$}"),
        Side::Right => format!("{text:>width$}"),
    }
}

/// All cells on one line, but for words of the last that have no room: they follow below it.
fn in_one<const N: usize>(
    row: &[String; N],
    widths: &[usize; N],
    sides: &[Side; N],
    gap: usize,
    left: usize,
) -> String {
    let cells = row[..N - 1].iter().zip(widths).zip(sides);
    let cells = cells.map(|((text, width), side)| cell(text, *width, *side));
    let mut text = String::new();
    for one in cells {
        text += &one;
        text += &" ".repeat(gap);
    }
    let margin = " ".repeat(text.chars().count());
    for (at, words) in pieces(&row[N - 1], left).iter().enumerate() {
        let before = if at == 0 { "" } else { &margin };
        text += &format!("{before}{words}");
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// The text in pieces of at most so many characters, broken at spaces where there are some.
fn pieces(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut pieces = Vec::new();
    let mut piece = String::new();
    for word in text.split(' ') {
        let room = width.saturating_sub(piece.chars().count());
        if !piece.is_empty() && word.chars().count() >= room {
            pieces.push(std::mem::take(&mut piece));
        } else if !piece.is_empty() {
            piece.push(' ');
        }
        for one in word.chars() {
            if piece.chars().count() == width {
                pieces.push(std::mem::take(&mut piece));
            }
            piece.push(one);
        }
    }
    pieces.push(piece);
    pieces
}

/// As many cells as fit on a line, the others on lines below it.
fn continued<const N: usize>(
    row: &[String; N],
    widths: &[usize; N],
    sides: &[Side; N],
    width: usize,
) -> String {
    let mut text = String::new();
    let mut line = String::new();
    let fixed = row[..N - 1].iter().zip(widths).zip(sides);
    let fixed = fixed.map(|((one, width), side)| cell(one, *width, *side));
    let words = pieces(&row[N - 1], width.saturating_sub(INDENT));
    for one in fixed.chain(words) {
        let is_empty = line.trim().is_empty();
        if !is_empty && line.chars().count() + 1 + one.chars().count() > width {
            text += line.trim_end();
            text.push('\n');
            line = " ".repeat(INDENT);
        } else if !is_empty {
            line.push(' ');
        }
        line += &one;
    }
    text + line.trim_end() + "\n"
}

#[cfg(test)]
mod tests {
    use super::Side::{Left, Right};
    use super::*;

    fn table(width: usize) -> String {
        let mut table = Columns::new([("irq", Right), ("goes to", Left), ("name", Left)]);
        table.push(["9".into(), "0".into(), "a name of words".into()]);
        table.push(["LOC".into(), "0-3".into(), "x".into()]);
        table.text(width)
    }

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let expected = "\
irq  goes to  name
  9  0        a name of words
LOC  0-3      x
";
        assert_eq!(table(80), expected);
    }

    #[test]
    fn words_break_where_there_is_little_room() {
        let expected = "\
irq goes to name
  9 0       a name of
            words
LOC 0-3     x
";
        assert_eq!(table(24), expected);
    }

    #[test]
    fn lines_are_continued_where_there_is_none() {
        let expected = "\
irq goes to name
  9 0
    a name of
    words
LOC 0-3     x
";
        assert_eq!(table(16), expected);
    }

    #[test]
    fn a_word_without_a_space_is_broken_anywhere() {
        assert_eq!(pieces("abcdef gh", 4), ["abcd", "ef", "gh"]);
        assert_eq!(pieces("", 4), [""]);
    }
}
