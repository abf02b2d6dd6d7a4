// SPDX-License-Identifier: GPL-2.0-only
//! A whole result, in 80 columns: machine, setup, load, warnings and figures.

use super::paragraph::Layout;
use super::{rounded, series};
use artis_result::{Document, LoadDone, Machine, Warning};

/// All that a result says, for people.
pub fn in_words(name: &str, document: &Document) -> String {
    let mut text = paragraph("result", &heading(name, document));
    if let Some(machine) = &document.machine {
        text += &paragraph("machine", &machine_in_words(machine));
    }
    text += &setup(document);
    let loads: Vec<String> = document.load.iter().map(load_in_words).collect();
    text += &paragraph("load", &loads.join("; "));
    if let Some(reason) = &document.ended_early {
        text += &paragraph("ended early", reason);
    }
    for warnings in alike(&document.audit) {
        text += &paragraph("warning", &warning_in_words(&warnings));
    }
    text += &series::of_document(document);
    text
}

fn heading(name: &str, document: &Document) -> String {
    let mut words = vec![format!("{name}, {}", document.tool)];
    words.extend(document.started.clone());
    words.extend(
        document
            .seconds
            .map(|seconds| format!("{} s", rounded(seconds, 3))),
    );
    words.join(", ")
}

/// The machine in one line.
pub(super) fn machine_in_words(machine: &Machine) -> String {
    let mut words = vec![format!("Linux {}", machine.kernel)];
    let mut add = |name: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            words.push(format!("{name}{value}"));
        }
    };
    add("preemption ", Some(&machine.preemption));
    add("CPUs ", Some(&machine.cpus));
    add("", machine.cpu_model.as_deref());
    add("scheduler ", machine.scheduler.as_deref());
    add("virtual machine: ", machine.virtualisation.as_deref());
    add("booted with: ", Some(&machine.cmdline));
    words.join(", ")
}

/// The command, and the settings it resolved to.
fn setup(document: &Document) -> String {
    let command = document.setup.command.join(" ");
    paragraph("setup", &command) + &paragraph("", &options(document))
}

/// The settings that the command resolved to.
pub(super) fn options(document: &Document) -> String {
    let options = document.setup.options.iter();
    let options = options.map(|(name, value)| match value.as_str() {
        Some(text) => format!("{name}={text}"),
        None => format!("{name}={value}"),
    });
    options.collect::<Vec<_>>().join(" ")
}

/// A load and what it did.
pub(super) fn load_in_words(load: &LoadDone) -> String {
    let cpus = load
        .cpus
        .as_ref()
        .map_or_else(String::new, |cpus| format!(" on CPUs {cpus}"));
    let busy = load.cpu_seconds.map_or_else(String::new, |seconds| {
        format!(", {} s of CPU time", rounded(seconds, 3))
    });
    format!(
        "{}{cpus}: {} {} in {} s{busy}",
        load.name,
        rounded(load.work, 3),
        load.unit,
        rounded(load.seconds, 3)
    )
}

/// Warnings that differ only in what was seen, together.
pub(super) fn alike(audit: &[Warning]) -> Vec<Vec<&Warning>> {
    let mut groups: Vec<Vec<&Warning>> = Vec::new();
    for warning in audit {
        let same = |group: &&mut Vec<&Warning>| {
            let first = group[0];
            (&first.id, &first.why, &first.fix) == (&warning.id, &warning.why, &warning.fix)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(warning),
            None => groups.push(vec![warning]),
        }
    }
    groups
}

fn warning_in_words(alike: &[&Warning]) -> String {
    let seen: Vec<&str> = alike.iter().map(|warning| warning.seen.as_str()).collect();
    let mut words = seen.join("; ");
    if let Some(warning) = alike.first() {
        words += &format!(". Why it matters: {}", warning.why);
        if let Some(fix) = &warning.fix {
            words += &format!(". To do: {fix}");
        }
    }
    words
}

const LAYOUT: Layout = Layout {
    margin: 0,
    indent: 12,
    width: 80,
};

fn paragraph(title: &str, words: &str) -> String {
    LAYOUT.paragraph(title, words)
}
