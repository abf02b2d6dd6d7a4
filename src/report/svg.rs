// SPDX-License-Identifier: GPL-2.0-only
//! The few SVG shapes that pictures consist of.
//!
//! Owns escaping and the form of numbers; knows nothing of what is drawn. The same calls give
//! the same bytes.

use super::rounded;
use std::fmt::Write;

/// A picture that is being drawn.
pub struct Svg {
    text: String,
}

/// Which part of a text is at its place.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// How a line looks.
#[derive(Clone, Copy)]
pub struct Stroke<'a> {
    pub colour: &'a str,
    pub width: f64,
    /// Lengths of strokes and gaps, as SVG writes them; empty: a solid line.
    pub dash: &'a str,
}

/// How a text looks.
#[derive(Clone, Copy)]
pub struct Font<'a> {
    pub size: f64,
    pub colour: &'a str,
    pub bold: bool,
    pub anchor: Anchor,
}

/// Sans-serif fonts of all systems; they differ little in width.
const FAMILY: &str = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";
/// Width of a character relative to the font's size, rather too much.
const CHARACTER: f64 = 0.58;

/// About how wide a text will be.
pub fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * CHARACTER
}

impl Svg {
    /// A white picture. `description` is for those who cannot see it.
    pub fn new(width: f64, height: f64, title: &str, description: &str) -> Self {
        let mut text = String::new();
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FAMILY}\">\n\
             <title>{}</title>\n<desc>{}</desc>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n",
            escaped(title),
            escaped(description)
        );
        Self { text }
    }

    /// A part of a page, as wide as there is room, on the page's ground. Its words stand on the
    /// page; `label` is for those who cannot see it.
    pub fn inline(width: f64, height: f64, label: &str) -> Self {
        let text = format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"group\" aria-label=\"{}\" \
             font-family=\"{FAMILY}\">\n",
            escaped(label)
        );
        Self { text }
    }

    /// What `draw` draws, with words that appear when it is pointed at.
    pub fn value(&mut self, words: &str, draw: impl FnOnce(&mut Self)) {
        let _ = writeln!(
            self.text,
            "<g class=\"value\"><title>{}</title>",
            escaped(words)
        );
        draw(self);
        self.text.push_str("</g>\n");
    }

    /// A place to point at, without looks of its own.
    pub fn target(&mut self, (left, right): (f64, f64), (top, bottom): (f64, f64)) {
        let _ = writeln!(
            self.text,
            "<rect class=\"target\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" \
             pointer-events=\"all\"/>",
            n(left),
            n(top),
            n(right - left),
            n(bottom - top)
        );
    }

    /// A path through `points`.
    pub fn path(&mut self, points: &[(f64, f64)], stroke: Stroke) {
        let mut data = String::new();
        for (at, (x, y)) in points.iter().enumerate() {
            let _ = write!(
                data,
                "{}{} {}",
                if at == 0 { 'M' } else { 'L' },
                n(*x),
                n(*y)
            );
        }
        let _ = writeln!(
            self.text,
            "<path d=\"{data}\" fill=\"none\" stroke-linejoin=\"round\"{}/>",
            of_stroke(stroke)
        );
    }

    /// A filled outline with an edge, which separates it from what is below.
    pub fn shape(&mut self, corners: &[(f64, f64)], colour: &str, edge: &str) {
        let _ = writeln!(
            self.text,
            "<polygon points=\"{}\" fill=\"{colour}\" stroke=\"{edge}\"/>",
            points(corners)
        );
    }

    /// A filled outline without an edge, however narrow.
    pub fn fill(&mut self, corners: &[(f64, f64)], colour: &str) {
        let _ = writeln!(
            self.text,
            "<polygon points=\"{}\" fill=\"{colour}\"/>",
            points(corners)
        );
    }

    /// A filled circle with an edge.
    pub fn circle(&mut self, (x, y): (f64, f64), radius: f64, colour: &str, edge: &str) {
        let _ = writeln!(
            self.text,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{colour}\" stroke=\"{edge}\"/>",
            n(x),
            n(y),
            n(radius)
        );
    }

    /// A text whose base line goes through the place.
    pub fn text(&mut self, place: (f64, f64), words: &str, font: Font) {
        self.turned_text(place, words, font, false);
    }

    /// The same, or reading upwards.
    pub fn turned_text(&mut self, (x, y): (f64, f64), words: &str, font: Font, upwards: bool) {
        let anchor = match font.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if font.bold {
            " font-weight=\"bold\""
        } else {
            ""
        };
        let turn = match upwards {
            true => format!(" transform=\"rotate(-90 {} {})\"", n(x), n(y)),
            false => String::new(),
        };
        let _ = writeln!(
            self.text,
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{anchor}\"{weight}{turn}>{}</text>",
            n(x),
            n(y),
            n(font.size),
            font.colour,
            escaped(words)
        );
    }

    /// The whole file.
    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

fn points(corners: &[(f64, f64)]) -> String {
    let points = corners.iter();
    let points: Vec<String> = points
        .map(|(x, y)| format!("{},{}", n(*x), n(*y)))
        .collect();
    points.join(" ")
}

fn of_stroke(stroke: Stroke) -> String {
    let dash = match stroke.dash {
        "" => String::new(),
        dash => format!(" stroke-dasharray=\"{dash}\""),
    };
    format!(
        " stroke=\"{}\" stroke-width=\"{}\"{dash}",
        stroke.colour,
        n(stroke.width)
    )
}

/// To a hundredth of a pixel, without zeros at the end.
fn n(value: f64) -> String {
    let text = rounded(value, 2);
    if text == "-0" { "0".to_owned() } else { text }
}

/// XML takes no control characters, not even escaped.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for one in text.chars() {
        match one {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Not characters of XML 1.0, section 2.2.
            '\u{fffe}' | '\u{ffff}' => {}
            one if one.is_control() => {}
            one => out.push(one),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_file_is_escaped() {
        assert_eq!(escaped("a<b>&\"c\"\u{7}"), "a&lt;b&gt;&amp;&quot;c&quot;");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [n(1.0), n(0.125), n(-0.001), n(10.5)],
            ["1", "0.12", "0", "10.5"]
        );
    }
}
