// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the scheduler, its policy for native callers, and the table of its counters.

use artis_bpf_build::{compile, out_folder, stop};
use std::path::Path;

fn main() {
    // The policy once more, for whoever must decide as the scheduler does: its tests, for now.
    cc::Build::new()
        .file("bpf/policy_native.c")
        .warnings_into_errors(true)
        .compile("artis_policy");
    generate_counters("bpf/intf.h", &out_folder().join("counters.rs"));
    compile("artis", "bpf/artis.bpf.c");
}

/// Writes the table of the scheduler's counters, which `intf.h` declares one a line.
fn generate_counters(header: &str, output: &Path) {
    let text = std::fs::read_to_string(header)
        .unwrap_or_else(|error| stop(&format!("could not read {header}: {error}")));
    let rows: Vec<String> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("COUNTER(")?.split_once(", \""))
        .filter_map(|(name, rest)| Some((name, rest.split_once("\")")?.0)))
        .map(|(name, meaning)| format!("    ({name:?}, {meaning:?}),"))
        .collect();
    let table = format!(
        "/// Each counter: its name, and what it counts.\n\
         pub const COUNTERS: [(&str, &str); {}] = [\n{}\n];\n",
        rows.len(),
        rows.join("\n")
    );
    if let Err(error) = std::fs::write(output, table) {
        stop(&format!("could not write {}: {error}", output.display()));
    }
}
