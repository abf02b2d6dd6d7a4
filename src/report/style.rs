// SPDX-License-Identifier: GPL-2.0-only
//! What all pictures share: sheets to draw on, colours, dashes, marks, the frame with its axes.
//!
//! The colours are those of M. Okabe and K. Ito ("Color universal design", 2008), which people
//! with any colour vision tell apart, without the yellow, which is too faint on white. Dashes
//! and shapes of marks differ as well, so that nothing is said by colour alone.

use super::axis::Axis;
use super::svg::{Anchor, Font, Stroke, Svg, text_width};
use super::words::plain;

/// What a picture is drawn on, pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sheet {
    pub width: f64,
    /// A picture may be higher.
    pub height: f64,
    /// What the axes enclose.
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    /// Title, subtitle and legend are in the picture; else they stand beside it.
    pub worded: bool,
}

impl Sheet {
    /// A file of its own.
    pub const FILE: Self = Self {
        width: 800.0,
        height: 520.0,
        left: 88.0,
        right: 776.0,
        top: 72.0,
        bottom: 456.0,
        worded: true,
    };
    /// A part of a page.
    pub const WIDE: Self = Self {
        width: 640.0,
        height: 400.0,
        left: 78.0,
        right: 626.0,
        top: 18.0,
        bottom: 344.0,
        worded: false,
    };
    /// The same on a small screen.
    pub const NARROW: Self = Self {
        width: 360.0,
        height: 330.0,
        left: 74.0,
        right: 346.0,
        top: 16.0,
        bottom: 274.0,
        worded: false,
    };

    /// The pixels of an axis whose values grow to the right.
    pub fn across(&self) -> (f64, f64) {
        (self.left, self.right)
    }

    /// The pixels of an axis whose values grow upwards.
    pub fn up(&self) -> (f64, f64) {
        (self.bottom, self.top)
    }

    pub fn is_narrow(&self) -> bool {
        self.width <= Self::NARROW.width
    }

    /// The unit as an axis writes it: whole, or in short where its whole name stands beside the
    /// picture.
    pub fn unit(&self, unit: &str) -> String {
        let unit = plain(unit);
        match (self.worded, unit.contains("emulated")) {
            (true, _) => unit,
            (false, true) => format!("{}, emulated", first_word(&unit)),
            (false, false) => first_word(&unit).to_owned(),
        }
    }

    /// An empty picture.
    pub fn svg(&self, height: f64, title: &str, subtitle: &str) -> Svg {
        match self.worded {
            true => Svg::new(self.width, height, title, subtitle),
            false => Svg::inline(self.width, height, title),
        }
    }
}

/// `us` of `us at 100 MIPS, emulated (bochs)`.
pub fn first_word(unit: &str) -> &str {
    unit.split([' ', ',']).next().unwrap_or("")
}

/// Text that says what, and text that explains.
pub const INK: &str = "#222";
pub const FAINT: &str = "#555";
pub const GRID: &str = "#e3e3e3";
const FRAME: &str = "#888";
/// The edge of marks, as the paper.
pub const PAPER: &str = "#fff";

pub const TEXT_PX: f64 = 13.0;

const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];
const DASHES: [&str; 7] = ["", "9 3", "3 2", "12 3 3 3", "5 1.5", "16 4", "9 3 2 3 2 3"];

/// What each colour of a picture is on a dark page.
pub const ON_DARK: [(&str, &str); 17] = [
    ("#0072b2", "#45a2e6"),
    ("#d55e00", "#ff8a3d"),
    ("#009e73", "#2fc997"),
    ("#cc79a7", "#e79fc8"),
    ("#e69f00", "#ffc04d"),
    ("#56b4e9", "#a5dcff"),
    ("#000000", "#f4f4f4"),
    // Of lanes.
    ("#7a0019", "#e0607b"),
    ("#6f8fb0", "#93b4d6"),
    ("#7b3294", "#bd86d6"),
    ("#888888", "#999999"),
    ("#bbbbbb", "#c8c8c8"),
    (INK, "#e8e8e8"),
    (FAINT, "#b4b8be"),
    (GRID, "#343a42"),
    (FRAME, "#7c838c"),
    (PAPER, "#14171b"),
];

/// The colour of the configuration with this index.
pub fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// Its line: a colour and a dash that no other of the first seven has; then they come back wider.
pub fn line(index: usize) -> Stroke<'static> {
    let round = index / COLOURS.len();
    Stroke {
        colour: colour(index),
        width: 2.0 + round as f64,
        dash: DASHES[index % DASHES.len()],
    }
}

/// How large a mark is that stands for a configuration.
pub const MARK: f64 = 6.5;
/// And one of many on a line.
pub const SMALL_MARK: f64 = 4.5;

/// Corners of a star and a plus, clockwise from the top.
const STAR: [(f64, f64); 10] = [
    (0.0, -1.3),
    (0.32, -0.42),
    (1.24, -0.4),
    (0.5, 0.17),
    (0.76, 1.06),
    (0.0, 0.54),
    (-0.76, 1.06),
    (-0.5, 0.17),
    (-1.24, -0.4),
    (-0.32, -0.42),
];
const PLUS: [(f64, f64); 12] = [
    (-0.4, -1.1),
    (0.4, -1.1),
    (0.4, -0.4),
    (1.1, -0.4),
    (1.1, 0.4),
    (0.4, 0.4),
    (0.4, 1.1),
    (-0.4, 1.1),
    (-0.4, 0.4),
    (-1.1, 0.4),
    (-1.1, -0.4),
    (-0.4, -0.4),
];

/// Its mark: a shape that no other of the first seven has; then they come back hollow.
pub fn mark(svg: &mut Svg, (x, y): (f64, f64), index: usize, radius: f64) {
    let hollow = (index / COLOURS.len()) % 2 == 1;
    let (fill, edge) = match hollow {
        true => (PAPER, colour(index)),
        false => (colour(index), PAPER),
    };
    let shape: &[(f64, f64)] = match index % COLOURS.len() {
        0 => return svg.circle((x, y), radius, fill, edge),
        1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        2 => &[(0.0, -1.15), (1.1, 0.8), (-1.1, 0.8)],
        3 => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
        4 => &[(0.0, 1.15), (1.1, -0.8), (-1.1, -0.8)],
        5 => &PLUS,
        _ => &STAR,
    };
    let corners: Vec<(f64, f64)> = shape
        .iter()
        .map(|(dx, dy)| (x + dx * radius, y + dy * radius))
        .collect();
    svg.shape(&corners, fill, edge);
}

/// A piece of a configuration's line with its mark, for a legend.
pub fn sample(svg: &mut Svg, (left, y): (f64, f64), width: f64, index: usize) {
    svg.path(&[(left, y), (left + width, y)], line(index));
    mark(svg, (left + width / 2.0, y), index, 5.0);
}

/// Text of the usual size.
pub fn font(anchor: Anchor, colour: &str) -> Font<'_> {
    Font {
        size: TEXT_PX,
        colour,
        bold: false,
        anchor,
    }
}

/// A line of the grid.
pub fn grid() -> Stroke<'static> {
    Stroke {
        colour: GRID,
        width: 1.0,
        dash: "",
    }
}

/// The words around a picture.
pub struct Words<'a> {
    pub title: &'a str,
    /// What holds for all of it: unit and engine, numbers of samples.
    pub subtitle: &'a str,
    pub x: &'a str,
    pub y: &'a str,
}

/// A picture with title, grid and axes, and nothing in it yet.
pub fn frame(sheet: &Sheet, words: &Words, x: &Axis, y: &Axis, height: f64) -> Svg {
    let mut svg = sheet.svg(height, words.title, words.subtitle);
    if sheet.worded {
        let title = Font {
            size: 18.0,
            bold: true,
            ..font(Anchor::Start, INK)
        };
        svg.text((sheet.left, 30.0), words.title, title);
        svg.text(
            (sheet.left, 52.0),
            words.subtitle,
            font(Anchor::Start, FAINT),
        );
    }
    x_axis(&mut svg, sheet, x, words.x, sheet.bottom);
    for (value, mark) in y.marks() {
        let at = y.pixel(value);
        svg.path(&[(sheet.left, at), (sheet.right, at)], grid());
        svg.text((sheet.left - 8.0, at + 4.5), &mark, font(Anchor::End, INK));
    }
    let axes = [
        (sheet.left, sheet.top),
        (sheet.left, sheet.bottom),
        (sheet.right, sheet.bottom),
    ];
    let frame = Stroke {
        colour: FRAME,
        ..grid()
    };
    svg.path(&axes, frame);
    let middle = f64::midpoint(sheet.top, sheet.bottom);
    let beside = if sheet.worded { 18.0 } else { 13.0 };
    svg.turned_text((beside, middle), words.y, font(Anchor::Middle, INK), true);
    svg
}

/// The grid, marks and words of an axis below everything, which ends at `bottom`.
pub fn x_axis(svg: &mut Svg, sheet: &Sheet, x: &Axis, words: &str, bottom: f64) {
    let width = |mark: &String| text_width(mark, TEXT_PX) + 6.0;
    let mut free = f64::NEG_INFINITY;
    for (value, mark) in x.marks() {
        let at = x.pixel(value);
        svg.path(&[(at, sheet.top), (at, bottom)], grid());
        // The last one stays on the sheet; one that does not fit beside the one before it is left
        // out.
        let half = width(&mark) / 2.0;
        let centre = at.min(sheet.width - half);
        if centre - half >= free {
            svg.text((centre, bottom + 18.0), &mark, font(Anchor::Middle, INK));
            free = centre + half;
        }
    }
    let middle = f64::midpoint(sheet.left, sheet.right);
    svg.text((middle, bottom + 44.0), words, font(Anchor::Middle, INK));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn shapes_and_dashes_differ_without_their_colours() {
        let drawn = |index| {
            let mut svg = Svg::inline(20.0, 20.0, "");
            mark(&mut svg, (10.0, 10.0), index, MARK);
            let colourless = COLOURS
                .iter()
                .fold(svg.finish(), |text, colour| text.replace(colour, "colour"));
            (colourless, line(index).dash, line(index).width.to_bits())
        };
        let all: BTreeSet<_> = (0..14).map(drawn).collect();
        assert_eq!(all.len(), 14);
        let shapes: BTreeSet<_> = (0..14).map(|index| drawn(index).0).collect();
        assert_eq!(shapes.len(), 14);
    }

    #[test]
    fn a_page_has_the_unit_in_short_and_says_what_is_emulated() {
        let unit = "us at 100 MIPS, emulated (bochs)";
        assert_eq!(Sheet::FILE.unit(unit), unit);
        assert_eq!(Sheet::WIDE.unit(unit), "us, emulated");
        assert_eq!(Sheet::NARROW.unit("us"), "us");
    }
}
