// SPDX-License-Identifier: GPL-2.0-only
//! What all pictures share: size, colours, marks, the frame with its axes.
//!
//! The colours are those of M. Okabe and K. Ito ("Color universal design", 2008), which people
//! with any colour vision tell apart, without the yellow, which is too faint on white. Dashes
//! and shapes of marks differ as well, so that a picture can be printed in grey.

use super::axis::Axis;
use super::svg::{Anchor, Font, Stroke, Svg};

/// Size of a picture, pixels; one may be higher.
const WIDTH: f64 = 800.0;
pub const HEIGHT: f64 = 520.0;
/// What the axes enclose.
pub const LEFT: f64 = 88.0;
pub const RIGHT: f64 = 776.0;
pub const TOP: f64 = 72.0;
pub const BOTTOM: f64 = 456.0;

/// Text that says what, and text that explains.
pub const INK: &str = "#222";
pub const FAINT: &str = "#555";
const GRID: &str = "#e3e3e3";
const FRAME: &str = "#888";

pub const TEXT_PX: f64 = 13.0;

const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];
const DASHES: [&str; 3] = ["", "9 3", "3 2"];

/// The colour of the configuration with this index.
pub fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// Its line; colours come back with other dashes.
pub fn line(index: usize) -> Stroke<'static> {
    let round = index / COLOURS.len() + index % COLOURS.len();
    Stroke {
        colour: colour(index),
        width: 2.0,
        dash: DASHES[round % DASHES.len()],
    }
}

/// Its mark: a circle, square, triangle or diamond.
pub fn mark(svg: &mut Svg, (x, y): (f64, f64), index: usize) {
    const R: f64 = 6.5;
    let shape: &[(f64, f64)] = match index % 4 {
        0 => return svg.circle((x, y), R, colour(index)),
        1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        2 => &[(0.0, -1.15), (1.1, 0.8), (-1.1, 0.8)],
        _ => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
    };
    let corners: Vec<(f64, f64)> = shape
        .iter()
        .map(|(dx, dy)| (x + dx * R, y + dy * R))
        .collect();
    svg.shape(&corners, colour(index));
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

/// The words around a picture.
pub struct Words<'a> {
    pub title: &'a str,
    /// What holds for all of it: unit and engine, numbers of samples.
    pub subtitle: &'a str,
    pub x: &'a str,
    pub y: &'a str,
}

/// A picture with title, grid and axes, and nothing in it yet.
pub fn frame(words: &Words, x: &Axis, y: &Axis, height: f64) -> Svg {
    let mut svg = Svg::new(WIDTH, height, words.title, words.subtitle);
    let title = Font {
        size: 18.0,
        bold: true,
        ..font(Anchor::Start, INK)
    };
    svg.text((LEFT, 30.0), words.title, title);
    svg.text((LEFT, 52.0), words.subtitle, font(Anchor::Start, FAINT));
    let grid = Stroke {
        colour: GRID,
        width: 1.0,
        dash: "",
    };
    for (value, mark) in x.marks() {
        let at = x.pixel(value);
        svg.path(&[(at, TOP), (at, BOTTOM)], grid);
        svg.text((at, BOTTOM + 18.0), &mark, font(Anchor::Middle, INK));
    }
    for (value, mark) in y.marks() {
        let at = y.pixel(value);
        svg.path(&[(LEFT, at), (RIGHT, at)], grid);
        svg.text((LEFT - 8.0, at + 4.5), &mark, font(Anchor::End, INK));
    }
    let frame = Stroke {
        colour: FRAME,
        ..grid
    };
    svg.path(&[(LEFT, TOP), (LEFT, BOTTOM), (RIGHT, BOTTOM)], frame);
    let middle = f64::midpoint(LEFT, RIGHT);
    svg.text((middle, BOTTOM + 44.0), words.x, font(Anchor::Middle, INK));
    let middle = f64::midpoint(TOP, BOTTOM);
    svg.turned_text((18.0, middle), words.y, font(Anchor::Middle, INK), true);
    svg
}

/// The pixels of both axes, for values that grow to the right and upwards.
pub const ACROSS: (f64, f64) = (LEFT, RIGHT);
pub const UP: (f64, f64) = (BOTTOM, TOP);
