// SPDX-License-Identifier: GPL-2.0-only
//! A loss as a picture: lanes over time, as Rowand draws them.

use super::{colour, short, us};
use crate::axis::Axis;
use crate::digits::digits;
use crate::style::{FAINT, INK, Sheet, font, grid, x_axis};
use crate::svg::{Anchor, Font, Svg};
use artis_explain::document::Explained;
use artis_explain::lane::{ALL, Lane};
use artis_explain::recording::Loss;

/// Rows at most: a lane and a culprit each.
const ROWS_MAX: usize = 24;
/// So that no segment is invisible, pixels.
const NARROWEST: f64 = 1.0;
/// Room below the lanes, for the axis.
const FOOT: f64 = 60.0;

/// Where the lanes are.
struct Place {
    sheet: Sheet,
    row: f64,
    /// Of a row, what its bar leaves free on top.
    lift: f64,
    /// Columns of a name.
    name: usize,
}

impl Place {
    /// Names stand beside the lanes where there is room, else above each.
    fn on(sheet: &Sheet) -> Self {
        match sheet.worded {
            true => Self {
                sheet: Sheet {
                    width: 900.0,
                    left: 300.0,
                    right: 870.0,
                    top: 76.0,
                    ..*sheet
                },
                row: 26.0,
                lift: 4.0,
                name: 40,
            },
            false => Self {
                sheet: Sheet {
                    left: 14.0,
                    top: 6.0,
                    ..*sheet
                },
                row: 36.0,
                lift: 19.0,
                name: if sheet.is_narrow() { 40 } else { 74 },
            },
        }
    }
}

/// What a loss is called.
pub fn title(number: usize, explained: &Explained) -> String {
    let subject = &explained.recording.subject;
    let what = match subject.loss {
        Loss::Late => "late",
        Loss::LockedOut => "waiting for a lock",
        Loss::Stretched => "lost in an activation",
    };
    format!(
        "{number}. {}: {:.3} us {what}",
        subject.task.name,
        us(subject.lost_ns)
    )
}

/// The picture of one loss.
pub fn draw(number: usize, explained: &Explained, sheet: &Sheet) -> String {
    let Place {
        sheet,
        row,
        lift,
        name,
    } = Place::on(sheet);
    let subject = &explained.recording.subject;
    let rows = rows(explained);
    let whole_ns = subject.end_ns.saturating_sub(subject.due_ns);
    let bottom = sheet.top + row * rows.len() as f64;
    let title = title(number, explained);
    let words = "lanes over time, from when it was due to when it was done";
    let mut svg = sheet.svg(bottom + FOOT, &title, words);
    if sheet.worded {
        let heading = Font {
            size: 18.0,
            bold: true,
            ..font(Anchor::Start, INK)
        };
        svg.text((24.0, 32.0), &title, heading);
        svg.text((24.0, 54.0), words, font(Anchor::Start, FAINT));
    }
    let axis = Axis::linear(us(whole_ns), sheet.across());
    x_axis(&mut svg, &sheet, &axis, "us", bottom);
    for (at, (lane, culprit)) in rows.iter().enumerate() {
        let top = sheet.top + row * at as f64;
        svg.path(&[(sheet.left, top + row), (sheet.right, top + row)], grid());
        let words = format!("{lane}: {}", culprit.as_deref().unwrap_or("unknown"));
        let place = match sheet.worded {
            true => ((sheet.left - 10.0, top + 17.0), Anchor::End),
            false => ((sheet.left, top + 14.0), Anchor::Start),
        };
        svg.text(place.0, &short(&words, name), font(place.1, INK));
        for segment in &explained.segments {
            if segment.lane != *lane || segment.culprit != *culprit {
                continue;
            }
            let from = axis.pixel(us(segment.begin_ns));
            let to = axis.pixel(us(segment.end_ns)).max(from + NARROWEST);
            let (high, low) = (top + lift, top + row - 4.0);
            let corners = [(from, high), (to, high), (to, low), (from, low)];
            let did = segment
                .code
                .as_ref()
                .map_or_else(String::new, |code| format!(", {code}"));
            let words = format!(
                "{words}{did}: {} us, from {} to {}",
                digits(us(segment.ns())),
                digits(us(segment.begin_ns)),
                digits(us(segment.end_ns))
            );
            svg.value(&words, |svg: &mut Svg| svg.fill(&corners, colour(*lane)));
        }
    }
    svg.finish()
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
