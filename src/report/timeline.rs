// SPDX-License-Identifier: GPL-2.0-only
//! Who ran where in a simulation, over time: a picture with a line for each CPU, and a trace for
//! Perfetto's viewer with a track for each.

use super::explain::perfetto::{self, TrackDescriptor, TrackEvent};
use super::rounded;
use super::svg::{Anchor, Font, Svg, text_width};
use artis_sim::{Outcome, Run};

const WIDTH: f64 = 1000.0;
const ROW: f64 = 22.0;
const BAR: f64 = 16.0;
const TOP: f64 = 36.0;
const RIGHT: f64 = 16.0;
const FONT: f64 = 11.0;
/// Lines of a picture: more CPUs than that are left out, and it says so.
const ROWS_MAX: u32 = 128;
/// Names in the legend.
const NAMES_MAX: usize = 24;
/// Narrower bars are drawn as one with what follows.
const NARROW: f64 = 0.4;

/// Told apart by most people, also without red or green (Okabe, Ito, 2008).
const COLOURS: [&str; 8] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#f0e442",
];

fn colour(task: u32) -> &'static str {
    COLOURS[task as usize % COLOURS.len()]
}

/// The picture.
pub fn svg(outcome: &Outcome, runs: &[Run]) -> String {
    let rows = outcome.cpus.min(ROWS_MAX);
    let names: Vec<&str> = outcome
        .tasks
        .iter()
        .map(|task| task.name.as_str())
        .collect();
    let shown = names.len().min(NAMES_MAX);
    let legend = shown.div_ceil(6) as f64 * ROW;
    let height = TOP + f64::from(rows) * ROW + 2.0 * ROW + legend;
    let end = runs.iter().map(|run| run.to_ns).max().unwrap_or(1).max(1);
    let title = format!("{}, {}", outcome.scenario, outcome.scheduler);
    let description = format!("{} CPUs, from 0 to {} ms", outcome.cpus, end / 1_000_000);
    let mut svg = Svg::new(WIDTH, height, &title, &description);
    let left = 16.0 + text_width("CPU 9999 RT", FONT);
    let scale = (WIDTH - left - RIGHT) / end as f64;
    svg.text((left, 20.0), &title, font(true, Anchor::Start));
    for cpu in 0..rows {
        let y = TOP + f64::from(cpu) * ROW;
        let is_rt = outcome
            .cpu_time
            .get(cpu as usize)
            .is_some_and(|it| it.is_rt);
        let name = format!("CPU {cpu}{}", if is_rt { " RT" } else { "" });
        svg.text((8.0, y + 12.0), &name, font(false, Anchor::Start));
        for (from, to, task) in bars(runs, cpu, scale) {
            let (x, end) = (left + from, left + to);
            let corners = [(x, y), (end, y), (end, y + BAR), (x, y + BAR)];
            svg.fill(&corners, colour(task));
        }
    }
    let axis = TOP + f64::from(rows) * ROW + 12.0;
    for tenth in 0..=10_u64 {
        let ns = end / 10 * tenth;
        let words = format!("{} ms", rounded(ns as f64 / 1e6, 2));
        svg.text(
            (left + ns as f64 * scale, axis),
            &words,
            font(false, Anchor::Middle),
        );
    }
    for (at, name) in names.iter().take(shown).enumerate() {
        let x = 16.0 + (at % 6) as f64 * 160.0;
        let y = axis + ROW + (at / 6) as f64 * ROW;
        svg.fill(
            &[
                (x, y - 9.0),
                (x + 10.0, y - 9.0),
                (x + 10.0, y + 1.0),
                (x, y + 1.0),
            ],
            colour(at as u32),
        );
        svg.text((x + 14.0, y), name, font(false, Anchor::Start));
    }
    svg.finish()
}

fn font(bold: bool, anchor: Anchor) -> Font<'static> {
    Font {
        size: FONT,
        colour: "#222",
        bold,
        anchor,
    }
}

/// The bars of a CPU: from, to, whose. What is too narrow to be seen is part of the one before.
fn bars(runs: &[Run], cpu: u32, scale: f64) -> Vec<(f64, f64, u32)> {
    let mut bars: Vec<(f64, f64, u32)> = Vec::new();
    for run in runs.iter().filter(|run| run.cpu == cpu) {
        let (from, to) = (run.from_ns as f64 * scale, run.to_ns as f64 * scale);
        match bars.last_mut() {
            Some(last) if from - last.1 < NARROW && (to - from < NARROW || last.2 == run.task) => {
                last.1 = to;
            }
            _ => bars.push((from, to, run.task)),
        }
    }
    bars
}

/// The trace for ui.perfetto.dev.
pub fn perfetto(outcome: &Outcome, runs: &[Run]) -> Vec<u8> {
    let mut packet = Vec::new();
    for cpu in &outcome.cpu_time {
        packet.push(perfetto::track(TrackDescriptor {
            uuid: u64::from(cpu.cpu) + 1,
            name: Some(format!(
                "CPU {}{}",
                cpu.cpu,
                if cpu.is_rt { ", RT" } else { "" }
            )),
            thread: None,
            parent_uuid: None,
        }));
    }
    for run in runs {
        let task = outcome.tasks.get(run.task as usize);
        let event = TrackEvent {
            name: task.map(|task| task.name.clone()),
            categories: task
                .map(|task| task.class.to_string())
                .into_iter()
                .collect(),
            ..TrackEvent::default()
        };
        perfetto::slice(
            &mut packet,
            u64::from(run.cpu) + 1,
            run.from_ns,
            run.to_ns,
            event,
        );
    }
    packet.sort_by_key(|packet| packet.timestamp);
    perfetto::Trace { packet }.bytes()
}
