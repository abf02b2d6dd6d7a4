// SPDX-License-Identifier: GPL-2.0-only
//! A loss as a picture: lanes over time, as Rowand draws them.

use super::{colour, short, us};
use crate::axis::Axis;
use crate::style::{FAINT, INK, font};
use crate::svg::{Anchor, Font, Stroke, Svg};
use artis_explain::document::Explained;
use artis_explain::lane::{ALL, Lane};
use artis_explain::recording::Loss;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 300.0;
const RIGHT: f64 = 870.0;
const TOP: f64 = 76.0;
const ROW: f64 = 26.0;
/// Rows at most: a lane and a culprit each.
const ROWS_MAX: usize = 24;
/// So that no segment is invisible, pixels.
const NARROWEST: f64 = 1.0;

/// The picture of one loss.
pub fn draw(number: usize, explained: &Explained) -> String {
    let subject = &explained.recording.subject;
    let rows = rows(explained);
    let whole_ns = subject.end_ns.saturating_sub(subject.due_ns);
    let bottom = TOP + ROW * rows.len() as f64;
    let what = match subject.loss {
        Loss::Late => "late",
        Loss::LockedOut => "waiting for a lock",
        Loss::Stretched => "lost in an activation",
    };
    let title = format!(
        "{}. {}: {:.3} us {what}",
        number,
        subject.task.name,
        us(subject.lost_ns)
    );
    let words = "lanes over time, from when it was due to when it was done";
    let mut svg = Svg::new(WIDTH, bottom + 60.0, &title, words);
    let heading = Font {
        size: 18.0,
        bold: true,
        ..font(Anchor::Start, INK)
    };
    svg.text((24.0, 32.0), &title, heading);
    svg.text((24.0, 54.0), words, font(Anchor::Start, FAINT));
    let axis = Axis::linear(us(whole_ns), (LEFT, RIGHT));
    for (value, mark) in axis.marks() {
        let at = axis.pixel(value);
        svg.path(&[(at, TOP), (at, bottom)], grid());
        svg.text((at, bottom + 18.0), &mark, font(Anchor::Middle, INK));
    }
    let middle = f64::midpoint(LEFT, RIGHT);
    svg.text((middle, bottom + 42.0), "us", font(Anchor::Middle, INK));
    for (at, (lane, culprit)) in rows.iter().enumerate() {
        let top = TOP + ROW * at as f64;
        svg.path(&[(LEFT, top + ROW), (RIGHT, top + ROW)], grid());
        let words = format!("{lane}: {}", culprit.as_deref().unwrap_or("unknown"));
        let words = short(&words, 40);
        svg.text((LEFT - 10.0, top + 17.0), &words, font(Anchor::End, INK));
        for segment in &explained.segments {
            if segment.lane != *lane || segment.culprit != *culprit {
                continue;
            }
            let from = axis.pixel(us(segment.begin_ns));
            let to = axis.pixel(us(segment.end_ns)).max(from + NARROWEST);
            let (high, low) = (top + 4.0, top + ROW - 4.0);
            let corners = [(from, high), (to, high), (to, low), (from, low)];
            svg.fill(&corners, colour(*lane));
        }
    }
    svg.finish()
}

fn grid() -> Stroke<'static> {
    Stroke {
        colour: "#e3e3e3",
        width: 1.0,
        dash: "",
    }
}

/// The lanes with their culprits: from the outside of the machine to the thread. The longest, where
/// there are too many.
fn rows(explained: &Explained) -> Vec<(Lane, Option<String>)> {
    let mut rows: Vec<(Lane, Option<String>, u64)> = Vec::new();
    for segment in &explained.segments {
        let like = |row: &&mut (Lane, Option<String>, u64)| {
            row.0 == segment.lane && row.1 == segment.culprit
        };
        match rows.iter_mut().find(like) {
            Some(row) => row.2 += segment.ns(),
            None => rows.push((segment.lane, segment.culprit.clone(), segment.ns())),
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.2));
    rows.truncate(ROWS_MAX);
    let place = |lane: Lane| ALL.iter().position(|one| *one == lane);
    rows.sort_by_key(|row| place(row.0));
    rows.into_iter()
        .map(|(lane, culprit, _)| (lane, culprit))
        .collect()
}
