// SPDX-License-Identifier: GPL-2.0-only
//! The page of `artis report`: one file that needs nothing else.
//!
//! Owns the order of its sections, and what makes it a page: head, style, script, links. Every
//! section is a file: what it needs stands in [`Content`], and without that it is not there. The
//! page is the same to the byte for the same files. It asks nobody for anything, which its content
//! policy enforces; without its script all of it can be read, and nothing be sorted.

mod chart;
mod figures;
mod headline;
mod job;
mod pictures;
mod raw;
mod setup;
mod theme;
mod three;
mod wakeups;

pub use raw::Raw;

use crate::noise::Measured;
use crate::words::plain;
use artis_decide::compare::Comparison;
use artis_decide::verdict::Verdict;
use artis_explain::document::Document as Explanation;
use artis_explain::rtla::Analysis;
use artis_result::experiment::Experiment;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const SCRIPT: &str = include_str!("script.js");
/// Nothing is loaded; the page's own style and script are all that it has.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

/// What the page is made of.
pub struct Content<'a> {
    /// None when there are explanations alone.
    pub comparison: Option<&'a Comparison>,
    /// The result files, by the index that their configuration has in the comparison.
    pub measured: &'a [Measured<'a>],
    pub experiments: &'a [&'a Experiment],
    /// Each with its name.
    pub explanations: &'a [(&'a str, &'a Explanation)],
    /// What rtla says of late wakeups, each file with its name.
    pub analyses: &'a [(String, Vec<Analysis>)],
    /// For a job, if one was given.
    pub verdict: Option<&'a Verdict>,
    /// What all of it comes from.
    pub files: &'a [Raw<'a>],
}

/// The page, and what it says in short.
pub struct Page {
    pub html: String,
    /// One sentence.
    pub headline: String,
    /// The anchors that a link can name.
    pub sections: Vec<&'static str>,
}

/// A part of the page.
struct Section {
    /// What a link to it names.
    id: &'static str,
    title: &'static str,
    /// Has one picture alone: several of them stand beside each other where there is room.
    single: bool,
    body: Markup,
}

/// The page.
pub fn page(content: &Content) -> Page {
    let headline = headline::sentence(content);
    let sections: Vec<Section> = [
        three::section(content),
        job::section(content),
        pictures::latency(content),
        pictures::over_time(content),
        pictures::throughput(content),
        pictures::jitter(content),
        pictures::completion(content),
        wakeups::section(content),
        figures::section(content),
        setup::section(content),
        raw::section(content),
    ]
    .into_iter()
    .flatten()
    .collect();
    let title = title(content);
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("artis ", env!("CARGO_PKG_VERSION")));
                title { (title) }
                link rel="icon" href="data:,";
                style { (PreEscaped(theme::style())) }
            }
            body {
                a.skip href="#verdict" { "to the verdict" }
                header {
                    p.kind { "artis report" }
                    h1 #verdict { (plain(&headline)) }
                    (headline::below(content))
                    nav aria-label="Sections" {
                        ul { @for section in &sections {
                            li { a href={ "#" (section.id) } { (section.title) } }
                        } }
                    }
                }
                main {
                    @for section in &sections {
                        section #(section.id) .single[section.single] aria-labelledby={ (section.id) "-title" } {
                            h2 id={ (section.id) "-title" } {
                                (section.title) " "
                                a.anchor href={ "#" (section.id) }
                                    aria-label={ "link to " (section.title) } { "#" }
                            }
                            (section.body)
                        }
                    }
                }
                footer { p { "written by artis " (env!("CARGO_PKG_VERSION")) } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    let mut anchors = vec!["verdict"];
    anchors.extend(sections.iter().map(|section| section.id));
    Page {
        html: html.into_string(),
        headline,
        sections: anchors,
    }
}

/// What the page is about, for the browser's tab.
fn title(content: &Content) -> String {
    let names = match content.comparison {
        Some(all) => all.names(),
        None => {
            let names = content
                .explanations
                .iter()
                .map(|(name, _)| (*name).to_owned());
            let others = content.analyses.iter().map(|(name, _)| name.clone());
            names.chain(others).collect()
        }
    };
    plain(&format!("{} · artis report", names.join(", ")))
}
