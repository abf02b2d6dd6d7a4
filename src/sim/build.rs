// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the scheduler for this machine, and writes Rust's side of its border.

use artis_bpf_build::{find_clang, find_libclang, out_folder, stop};

/// Folders of headers: the simulator's stand before the kernel's and the scheduler's.
const HEADERS: [&str; 3] = ["native", "../bpf", "../sched/bpf"];

/// As for the kernel's BPF, but that `const` is nothing: the simulator writes the settings again
/// for each simulation.
const DEFINES: [&str; 3] = ["-Dconst=", "-D__bpf__", "-DARTIS_CPUS_MAX=8192"];

fn main() {
    for folder in HEADERS {
        println!("cargo:rerun-if-changed={folder}");
    }
    let clang = find_clang();
    find_libclang(&clang);
    let mut build = cc::Build::new();
    build.compiler(&clang).file("native/artis.c");
    for flag in flags() {
        build.flag(flag);
    }
    build.opt_level(2).compile("artis_sim");
    // What a test compiles a second scheduler with.
    println!("cargo:rustc-env=ARTIS_CLANG={}", clang.display());
    println!("cargo:rustc-env=ARTIS_SIM_FLAGS={}", flags().join(" "));
    write_bindings();
}

fn flags() -> Vec<String> {
    let folders = HEADERS.iter().map(|folder| format!("-I{folder}"));
    let fixed = [
        "-fvisibility=hidden",
        // Attributes that only BPF has, and what only a use in the kernel would need.
        "-Wno-unknown-attributes",
        "-Wno-unused-function",
        "-Wno-unused-parameter",
        "-Wno-unused-variable",
    ];
    let fixed = fixed.iter().chain(&DEFINES).map(ToString::to_string);
    folders.chain(fixed).collect()
}

fn write_bindings() {
    let folders = HEADERS.iter().map(|folder| format!("-I{folder}"));
    let bindings = bindgen::Builder::default()
        .header("native/sim.h")
        .clang_args(folders)
        .allowlist_type(
            "sim_.*|task_struct|bpf_iter_scx_dsq|cgroup|cgroup_subsys_state|kernfs_node",
        )
        .derive_default(true)
        .layout_tests(false)
        .rust_edition(bindgen::RustEdition::Edition2024)
        .generate();
    let output = out_folder().join("sys.rs");
    match bindings {
        Ok(bindings) => {
            if let Err(error) = bindings.write_to_file(&output) {
                stop(&format!("could not write {}: {error}", output.display()));
            }
        }
        Err(error) => stop(&format!("bindgen could not read native/sim.h: {error}")),
    }
}
