// SPDX-License-Identifier: GPL-2.0-only
//! The sections of pictures: latencies, latencies over time, throughput, completion, jitter.

use super::chart::{absent, chart, figure};
use super::{Content, Section};
use crate::curves::{self, Shown};
use crate::over_time::Timeline;
use crate::style::Sheet;
use crate::{exceedance, histograms, noise, over_time, scatter};
use artis_decide::completion::{Curve, curves};
use maud::{Markup, html};

/// A unit when nothing else says it.
fn unit<'a>(content: &Content<'a>) -> &'a str {
    content.comparison.map_or("us", |all| &all.unit)
}

fn section(id: &'static str, title: &'static str, body: Markup) -> Option<Section> {
    Some(Section {
        id,
        title,
        single: false,
        body,
    })
}

/// With one picture.
fn single(id: &'static str, title: &'static str, body: Markup) -> Option<Section> {
    Some(Section {
        single: true,
        ..section(id, title, body)?
    })
}

pub(super) fn latency(content: &Content) -> Option<Section> {
    let all = content.comparison?;
    let histogram = chart(|sheet| histograms::picture(all, sheet).picture)?;
    let exceedance = chart(|sheet| exceedance::picture(all, sheet).picture);
    let names = histograms::picture(all, &Sheet::WIDE).absent;
    let body = html! {
        div.charts { (histogram) @if let Some(chart) = exceedance { (chart) } }
        (absent(&names, "a histogram of latencies"))
    };
    section("latency", "Latency", body)
}

pub(super) fn over_time(content: &Content) -> Option<Section> {
    let lines: Vec<Timeline> = content
        .measured
        .iter()
        .map(|one| Timeline {
            index: one.index,
            name: one.name,
            blocks: over_time::blocks(one.documents),
        })
        .filter(|one| !one.blocks.is_empty())
        .collect();
    let chart = chart(|sheet| over_time::picture(&lines, unit(content), sheet))?;
    single("time", "Over time", html! { div.charts { (chart) } })
}

pub(super) fn throughput(content: &Content) -> Option<Section> {
    let all = content.comparison?;
    let chart = chart(|sheet| scatter::picture(all, sheet).picture)?;
    let names = scatter::picture(all, &Sheet::WIDE).absent;
    let body = html! {
        div.charts { (chart) }
        (absent(&names, "a worst latency, or of work of a load that all had"))
    };
    single("throughput", "Latency against throughput", body)
}

pub(super) fn completion(content: &Content) -> Option<Section> {
    let all = content.comparison?;
    let of = |index: usize| -> Vec<Curve> {
        let files = content.measured.iter().find(|one| one.index == index);
        files.map(|one| curves(one.documents)).unwrap_or_default()
    };
    let held: Vec<Vec<Curve>> = (0..all.configurations.len()).map(of).collect();
    let shown: Vec<Shown> = all
        .configurations
        .iter()
        .zip(&held)
        .map(|(one, curves)| Shown {
            name: &one.configuration.name,
            curves,
        })
        .collect();
    let draw = |sheet| curves::pictures(&shown, all.baseline, &all.unit, sheet);
    let (wide, names) = draw(&Sheet::WIDE);
    let (narrow, _) = draw(&Sheet::NARROW);
    if wide.is_empty() {
        return None;
    }
    let body = html! {
        div.charts { @for ((_, wide), (_, narrow)) in wide.iter().zip(&narrow) {
            (figure(&wide.title, &wide.caption, &wide.legend, &wide.svg, &narrow.svg))
        } }
        (absent(&names, "a file of artis measure completion"))
    };
    section("completion", "Completion time", body)
}

pub(super) fn jitter(content: &Content) -> Option<Section> {
    let chart = chart(|sheet| noise::picture(content.measured, unit(content), sheet))?;
    single("jitter", "OS jitter", html! { div.charts { (chart) } })
}
