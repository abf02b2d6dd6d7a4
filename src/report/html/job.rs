// SPDX-License-Identifier: GPL-2.0-only
//! The verdict for a job: the candidates, and what decides, in `artis decide`'s own sentences.

use super::{Content, Section};
use crate::decision::{COLUMNS, cells, sections};
use crate::words::plain;
use maud::html;

pub(super) fn section(content: &Content) -> Option<Section> {
    let verdict = content.verdict?;
    let body = html! {
        div.scroll tabindex="0" role="region" aria-label="candidates" {
            table.sortable {
                caption { "latency in " (plain(&verdict.unit)) }
                thead { tr {
                    th scope="col" { "candidate" }
                    @for title in COLUMNS { th scope="col" { (title) } }
                } }
                tbody { @for one in &verdict.candidates {
                    tr.chosen[verdict.decided.candidate.as_ref() == Some(&one.name)] {
                        th scope="row" { (plain(&one.name)) }
                        @for cell in cells(one, verdict) { td { (cell) } }
                    }
                } }
            }
        }
        div.columns { @for (title, sentences) in sections(verdict) {
            @if !sentences.is_empty() {
                div.part {
                    h3 { (title) }
                    ul { @for sentence in sentences { li { (plain(&sentence)) } } }
                }
            }
        } }
    };
    Some(Section {
        id: "job",
        title: "The verdict's reasons",
        single: false,
        body,
    })
}
