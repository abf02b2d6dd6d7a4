// SPDX-License-Identifier: GPL-2.0-only
//! What the unit tests of several packages need: canned machines, and a made-up experiment.

pub mod experiment;

use artis_machine::Root;
use std::path::Path;
use tempfile::TempDir;

/// A temporary folder with these files, by their paths below it.
///
/// # Panics
/// When the folder or a file cannot be written.
pub fn tree(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (path, text) in files {
        let path = folder.path().join(path.trim_start_matches('/'));
        let parent = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(parent).expect("a folder below a temporary one");
        std::fs::write(path, text).expect("a file in a temporary folder");
    }
    folder
}

/// A canned machine: a temporary folder with these files, and the root that reads there.
///
/// # Panics
/// As [`tree`].
pub fn canned(files: &[(&str, &str)]) -> (TempDir, Root) {
    let folder = tree(files);
    let root = Root(folder.path().to_owned());
    (folder, root)
}

/// A canned machine of four CPUs, whose kubelet has given CPU 3 to a pod alone.
pub fn with_pod() -> (TempDir, Root) {
    let entries = r#"{"5a1e":{"motor":"3"}}"#;
    let state = format!(r#"{{"policyName":"static","defaultCpuSet":"0-2","entries":{entries}}}"#);
    canned(&[
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/devices/system/cpu/possible", "0-3\n"),
        ("var/lib/kubelet/cpu_manager_state", &state),
    ])
}

/// BTF of functions, each with the names of its parameters, and of variables, as the kernel's file
/// has it: `Documentation/bpf/btf.rst`.
pub fn btf(functions: &[(&str, &[&str])], variables: &[&str]) -> Vec<u8> {
    const INT: u32 = 1 << 24;
    const FUNC: u32 = 12 << 24;
    const FUNC_PROTO: u32 = 13 << 24;
    const VAR: u32 = 14 << 24;
    let mut names = vec![0u8];
    let mut name = |text: &str| {
        let at = names.len() as u32;
        names.extend(text.bytes().chain([0]));
        at
    };
    // Type 1 is an int of 32 bits; prototype and function follow in pairs.
    let mut types = vec![name("int"), INT, 4, 32];
    for (pair, (function, parameters)) in functions.iter().enumerate() {
        types.extend([0, FUNC_PROTO | parameters.len() as u32, 1]);
        for parameter in *parameters {
            types.extend([name(parameter), 1]);
        }
        types.extend([name(function), FUNC | 1, 2 + 2 * pair as u32]);
    }
    for variable in variables {
        types.extend([name(variable), VAR, 1, 1]);
    }
    let types: Vec<u8> = types.into_iter().flat_map(u32::to_ne_bytes).collect();
    let lengths = [24, 0, types.len(), types.len(), names.len()].map(|word| word as u32);
    let mut file = 0xeb9f_u16.to_ne_bytes().to_vec();
    file.extend([1, 0]);
    file.extend(lengths.into_iter().flat_map(u32::to_ne_bytes));
    [file, types, names].concat()
}
