// SPDX-License-Identifier: GPL-2.0-only
//! A picture on the page: for wide and narrow places, with its legend and its caption.

use crate::picture::{Entry, Picture};
use crate::style::{Sheet, sample};
use crate::svg::Svg;
use maud::{Markup, PreEscaped, html};

/// The picture that `draw` draws on a sheet, on both sheets of a page; none where it draws none.
pub(super) fn chart(draw: impl Fn(&Sheet) -> Option<Picture>) -> Option<Markup> {
    let (wide, narrow) = (draw(&Sheet::WIDE)?, draw(&Sheet::NARROW)?);
    Some(figure(
        &wide.title,
        &wide.caption,
        &wide.legend,
        &wide.svg,
        &narrow.svg,
    ))
}

/// A picture drawn twice. The line below it has the words of what is pointed at.
pub(super) fn figure(
    title: &str,
    caption: &str,
    legend: &[Entry],
    wide: &str,
    narrow: &str,
) -> Markup {
    html! {
        figure.chart {
            figcaption { (title) }
            div.wide { (PreEscaped(wide)) }
            div.narrow { (PreEscaped(narrow)) }
            output aria-live="polite" {}
            p.caption { (caption) }
            @if !legend.is_empty() {
                ul.legend { @for entry in legend {
                    li { (swatch(entry.index)) span { (entry.words) } }
                } }
            }
        }
    }
}

/// A configuration's line and mark.
pub(super) fn swatch(index: usize) -> Markup {
    let mut svg = Svg::inline(32.0, 16.0, "");
    sample(&mut svg, (1.0, 8.0), 30.0, index);
    html! { span.swatch aria-hidden="true" { (PreEscaped(svg.finish())) } }
}

/// Names of those that a picture leaves out, and what they lack.
pub(super) fn absent(names: &[String], needs: &str) -> Markup {
    html! {
        @if !names.is_empty() {
            p.quiet { "Not in it, for want of " (needs) ": " (names.join(", ")) "." }
        }
    }
}
