// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the translation.

use super::*;
use crate::engine::bochs::trace::steps;
use artis_explain::cut;
use std::fmt::Write;

/// RT0's page table in the excerpts.
const TABLE: u64 = 0x60d_7000;

/// A line for each segment of an excerpt of the debugger's output, with the symbols that it
/// needs, whose last step is the end of a wakeup that was `late` ticks late.
fn segments(excerpt: &str, late: u64) -> String {
    let (symbols, lines) = excerpt.split_once("\n\n").unwrap();
    let wakeup = Wakeup::new(steps(lines));
    let span = Span::wakeup(&wakeup, late);
    let recording = recording(&span, TABLE, 1, &Functions::parse(symbols));
    let mut text = String::new();
    for one in cut(&recording) {
        let lane = one.lane.to_string();
        let said = format!("{:6} {lane:15} {:?} {:?}", one.ns(), one.culprit, one.code);
        writeln!(text, "{said}").unwrap();
        if !one.stack.is_empty() {
            writeln!(text, "       in {}", one.stack.join(" < ")).unwrap();
        }
    }
    text
}

#[test]
fn excerpts_of_guests_are_cut_as_they_were() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/explain/tests");
    for (name, late) in [("lock", 9830), ("sleep", 8165), ("work", 15110)] {
        let read = |end: &str| std::fs::read_to_string(format!("{folder}/{name}.{end}")).unwrap();
        let segments = segments(&read("trace"), late);
        assert!(segments == read("segments"), "{name}:\n{segments}");
    }
}
