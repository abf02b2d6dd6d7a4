// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the BPF programs and generates their Rust skeletons into `OUT_DIR`.

use libbpf_cargo::SkeletonBuilder;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each BPF object: the name of its skeleton, and its source.
const OBJECTS: &[(&str, &str)] = &[
    ("artis", "src/sched/bpf/artis.bpf.c"),
    ("occupancy", "src/trace/bpf/occupancy.bpf.c"),
    ("split", "src/measure/latency/bpf/split.bpf.c"),
];

/// Oldest clang whose BPF back end knows what the programs use (`-mcpu=v3`, typed kernel symbols).
const CLANG_OLDEST: u32 = 14;
/// Newest clang version looked for by name (`clang-NN`).
const CLANG_NEWEST: u32 = 40;

fn main() {
    // Its build id would hash the whole file, with what only a debugger reads.
    println!("cargo:rustc-link-arg-bin=artis-guest=-Wl,--build-id=none");
    println!("cargo:rerun-if-env-changed=CLANG");
    println!("cargo:rerun-if-changed=src/bpf");
    // The policy once more, for whoever must decide as the scheduler does: its tests, for now.
    cc::Build::new()
        .file("src/sched/bpf/policy_native.c")
        .warnings_into_errors(true)
        .compile("artis_policy");
    let clang = find_clang();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    assemble(&clang, &out, "boot", 512);
    assemble(&clang, &out, "enter", 256);
    generate_counters("src/sched/bpf/intf.h", &out.join("counters.rs"));
    for (name, source) in OBJECTS {
        let folder = Path::new(source).parent().expect("a source has a folder");
        println!("cargo:rerun-if-changed={}", folder.display());
        // A hook has the arguments the kernel gives it, used or not.
        let arguments = [
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-parameter",
            "-mcpu=v3",
            "-I",
            "src/bpf",
            // An object names its sources line by line: not by where they lie on this machine.
            "-fdebug-compilation-dir=.",
        ]
        .map(OsStr::new);
        if let Err(error) = SkeletonBuilder::new()
            .source(source)
            .clang(&clang)
            .clang_args(arguments)
            .build_and_generate(out.join(format!("{name}.skel.rs")))
        {
            stop(&format!(
                "{} could not compile {source}: {error:?}",
                clang.display()
            ));
        }
    }
}

/// Assembles what the lab's machines execute before their kernel. It is x86 code whatever this machine
/// is, and it needs no linker: the assembler's `.text` is the code, which has `length` bytes.
fn assemble(clang: &Path, out: &Path, name: &str, length: usize) {
    use object::{Object, ObjectSection};
    let source = format!("src/lab/engine/bochs/{name}.S");
    println!("cargo:rerun-if-changed={source}");
    let assembled = out.join(format!("{name}.o"));
    let status = Command::new(clang)
        .args(["--target=i386-unknown-none", "-m16", "-c", &source, "-o"])
        .arg(&assembled)
        .status();
    if !status.is_ok_and(|status| status.success()) {
        stop(&format!("{} could not assemble {source}", clang.display()));
    }
    let bytes = std::fs::read(&assembled).unwrap_or_default();
    let code = object::File::parse(&*bytes).ok().and_then(|file| {
        let text = file.section_by_name(".text")?;
        // An address that a linker had to fill in would be 0.
        let is_final = text.relocations().next().is_none();
        is_final.then(|| text.data().ok().map(<[u8]>::to_vec))?
    });
    let Some(code) = code.filter(|code| code.len() == length) else {
        stop(&format!(
            "{source} did not become {length} bytes without relocations"
        ));
    };
    if let Err(error) = std::fs::write(out.join(format!("{name}.bin")), code) {
        stop(&format!("could not write {name}.bin: {error}"));
    }
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

/// The compiler that `CLANG` names, or the newest one on the search path.
fn find_clang() -> PathBuf {
    if let Some(named) = env::var_os("CLANG") {
        return PathBuf::from(named);
    }
    let versioned = (CLANG_OLDEST..=CLANG_NEWEST)
        .rev()
        .map(|version| format!("clang-{version}"));
    let found = versioned.chain(["clang".to_owned()]).find(|name| {
        Command::new(name)
            .arg("--version")
            .output()
            .is_ok_and(|out| out.status.success())
    });
    match found {
        Some(name) => PathBuf::from(name),
        None => stop(&format!(
            "the BPF programs need clang {CLANG_OLDEST} or newer and none was found; \
             install it (`make setup`, or `apt install clang`), or name one with CLANG=/path/to/clang"
        )),
    }
}

/// Ends the build with one sentence instead of a panic's backtrace.
fn stop(message: &str) -> ! {
    eprintln!("artis build: {message}");
    std::process::exit(1);
}
