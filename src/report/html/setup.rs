// SPDX-License-Identifier: GPL-2.0-only
//! What was measured where and how, and what the audit found.

use super::{Content, Section};
use crate::result::{alike, load_in_words, machine_in_words, options};
use crate::rounded;
use crate::words::plain;
use artis_result::experiment::Experiment;
use artis_result::{Document, Warning};
use maud::{Markup, html};
use std::path::Path;

/// Words of a command that say what it measured.
const WORDS: usize = 3;

pub(super) fn section(content: &Content) -> Option<Section> {
    let body = html! {
        div.columns { @for one in content.measured { @for document in one.documents {
            (result(one.name, document))
        } } }
        @for one in content.experiments { (experiment(one)) }
        @for (name, one) in content.explanations {
            dl.facts {
                dt { (plain(name)) }
                dd { "artis explain, " (plain(&one.tool)) ", Linux " (plain(&one.kernel)) }
                @for words in &one.absent { dt { "not shown" } dd { (plain(words)) } }
            }
        }
    };
    Some(Section {
        id: "setup",
        title: "Set-up and audit",
        single: false,
        body,
    })
}

fn result(name: &str, document: &Document) -> Markup {
    let time = document
        .seconds
        .map(|seconds| format!("{} s", rounded(seconds, 3)));
    let when: Vec<String> = document.started.iter().cloned().chain(time).collect();
    let command = document.setup.command.join(" ");
    let options = options(document);
    let loads: Vec<String> = document.load.iter().map(load_in_words).collect();
    let machine = document.machine.as_ref().map(machine_in_words);
    html! {
        article.part {
            h3 { (plain(name)) @if let Some(what) = measurement(document) { ": " (what) } }
            dl.facts {
                dt { "measured by" } dd { (plain(&document.tool)) }
                @if !when.is_empty() { dt { "when" } dd { (plain(&when.join(", "))) } }
                @if let Some(machine) = machine { dt { "machine" } dd { (plain(&machine)) } }
                @if !command.is_empty() { dt { "command" } dd { code { (plain(&command)) } } }
                @if !options.is_empty() { dt { "settings" } dd { code { (plain(&options)) } } }
                @if !loads.is_empty() { dt { "load" } dd { (plain(&loads.join("; "))) } }
                @if let Some(reason) = &document.ended_early {
                    dt { "ended early" } dd { (plain(reason)) }
                }
                dt { "audit" }
                dd {
                    @if document.audit.is_empty() { "nothing speaks against the figures" }
                    @for warnings in alike(&document.audit) { (warning(&warnings)) }
                }
            }
        }
    }
}

/// Which command it was: `artis measure jitter`.
fn measurement(document: &Document) -> Option<String> {
    let mut words = document.setup.command.iter();
    let program = Path::new(words.next()?).file_name()?.to_string_lossy();
    let subcommands = words.take_while(|word| !word.starts_with('-'));
    let all = std::iter::once(program.as_ref()).chain(subcommands.map(String::as_str));
    Some(plain(&all.take(WORDS).collect::<Vec<_>>().join(" ")))
}

/// Warnings that differ in what was seen only.
fn warning(alike: &[&Warning]) -> Markup {
    let Some(first) = alike.first() else {
        return html! {};
    };
    let seen: Vec<&str> = alike.iter().map(|one| one.seen.as_str()).collect();
    html! {
        div.warning {
            strong { "⚠ " (plain(&first.id)) } ": " (plain(&seen.join("; "))) ". "
            @if !first.why.is_empty() { "Why it matters: " (plain(&first.why)) ". " }
            @if let Some(fix) = &first.fix { "To do: " code { (plain(fix)) } }
        }
    }
}

fn experiment(one: &Experiment) -> Markup {
    html! {
        h3 { (plain(&one.name)) }
        dl.facts {
            dt { "measured by" }
            dd { "artis " (plain(&one.tool)) ", on " (plain(&one.engine)) " "
                 (plain(&one.engine_version)) }
            dt { "unit" } dd { (plain(&one.time_unit())) }
            dt { "kernel" } dd { (plain(&one.kernel)) }
        }
        div.scroll tabindex="0" role="region" aria-label={ "rows of " (plain(&one.name)) } {
            table.sortable {
                thead { tr {
                    th scope="col" { "configuration" }
                    th.word scope="col" { "kernel" }
                    th.word scope="col" { "preemption" }
                    th scope="col" { "CPUs" }
                    th scope="col" { "RT0 threads" }
                    th scope="col" { "seconds a seed" }
                    th scope="col" { "seeds" }
                    th.word scope="col" { "loads" }
                } }
                tbody { @for row in &one.rows { tr {
                    th scope="row" { (plain(&row.configuration)) }
                    td.word { (plain(&row.kernel)) }
                    td.word { (plain(&row.preemption)) }
                    td { (row.cpus) }
                    td { (row.timers) }
                    td { (row.seconds) }
                    td { (row.seeds.len()) }
                    td.word { (plain(&row.loads.join(", "))) }
                } } }
            }
        }
    }
}
