// SPDX-License-Identifier: GPL-2.0-only
//! The worst wakeups as lanes, who made them, and what to do: from the documents of `artis
//! explain`, and what rtla says of others.

use super::chart::figure;
use super::{Content, Section};
use crate::digits::digits;
use crate::explain::{picture, rtla, us};
use crate::style::Sheet;
use crate::words::plain;
use artis_explain::document::Document;
use maud::{Markup, html};

/// How many are drawn; the document has all.
const DRAWN: usize = 6;

pub(super) fn section(content: &Content) -> Option<Section> {
    let count = content.explanations.len() + content.analyses.len();
    if count == 0 {
        return None;
    }
    let several = count > 1;
    let body = html! {
        @for (name, document) in content.explanations {
            @if several { h3 { (plain(name)) } }
            (explanation(document))
        }
        @for (name, all) in content.analyses {
            @if several { h3 { (plain(name)) } }
            pre { (rtla::text(all)) }
        }
    };
    Some(Section {
        id: "wakeups",
        title: "The worst wakeups",
        single: false,
        body,
    })
}

fn explanation(document: &Document) -> Markup {
    let drawn = document.worst.iter().take(DRAWN).enumerate();
    html! {
        p.of {
            "Watched: " (plain(&document.watched)) ", " (digits(document.seconds)) " s, Linux "
            (plain(&document.kernel))
            @if document.worst.len() > DRAWN {
                "; the " (DRAWN) " worst of " (document.worst.len()) " are drawn"
            }
        }
        @if document.worst.is_empty() { p { "No thread was late: nothing to explain." } }
        div.charts { @for (at, explained) in drawn {
            @let draw = |sheet| picture::draw(at + 1, explained, sheet);
            (figure(
                &plain(&picture::title(at + 1, explained)),
                "lanes over time, from when it was due to when it was done; us",
                &[],
                &draw(&Sheet::WIDE),
                &draw(&Sheet::NARROW),
            ))
        } }
        @if !document.culprits.is_empty() { (culprits(document)) }
        @if !document.advice.is_empty() {
            h3 { "What to do" }
            dl.advice { @for one in &document.advice {
                dt { (one.lane) }
                dd {
                    (plain(&one.text))
                    @if !one.steps.is_empty() {
                        "; artis partition: " (plain(&one.steps.join(", ")))
                    }
                    @if !one.findings.is_empty() {
                        "; artis check: " (plain(&one.findings.join(", ")))
                    }
                }
            } }
        }
    }
}

fn culprits(document: &Document) -> Markup {
    html! {
        h3 { "Who made them late" }
        div.scroll tabindex="0" role="region" aria-label="culprits" {
            table.sortable {
                thead { tr {
                    th scope="col" { "culprit" }
                    th.word scope="col" { "lane" }
                    th scope="col" { "times" }
                    th scope="col" { "us in all" }
                    th scope="col" { "us at worst" }
                    th scope="col" { "share, %" }
                } }
                tbody { @for row in &document.culprits { tr {
                    th scope="row" { (plain(row.culprit.as_deref().unwrap_or("unknown"))) }
                    td.word { (row.lane) }
                    td { (row.times) }
                    td { (format!("{:.1}", us(row.ns_sum))) }
                    td { (format!("{:.1}", us(row.ns_max))) }
                    td { (format!("{:.1}", 100.0 * row.share)) }
                } } }
            }
        }
    }
}
