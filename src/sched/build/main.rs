// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the scheduler, its policy for native callers, the table of its counters and constants.

mod policy;

use artis_bpf_build::{compile, find_clang, generate_constants, out_folder, stop};
use std::path::Path;

fn main() {
    let (clang, out) = (find_clang(), out_folder());
    policy::generate("bpf/policy.h", &clang, &out);
    // Which compiler and which policy a test compiles the BPF side with.
    println!("cargo:rustc-env=ARTIS_CLANG={}", clang.display());
    generate_counters("bpf/intf.h", &out.join("counters.rs"));
    generate_constants("bpf/intf.h", "ARTIS_");
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
