// SPDX-License-Identifier: GPL-2.0-only
//! For build scripts: compiles BPF programs, and finds the compiler for it.
//!
//! The headers beside this file hold the kernel's types that the programs touch.

pub mod rules;

use libbpf_cargo::SkeletonBuilder;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Oldest clang whose BPF back end knows what the programs use (`-mcpu=v3`, typed kernel symbols).
const CLANG_OLDEST: u32 = 14;
/// Newest clang version looked for by name (`clang-NN`).
const CLANG_NEWEST: u32 = 40;

/// The folder that cargo gives the build script for what it makes.
pub fn out_folder() -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"))
}

/// Compiles `source`, a path below the package, and writes its Rust skeleton to
/// `OUT_DIR/{name}.skel.rs`. Warnings are errors.
pub fn compile(name: &str, source: &str) {
    // Below src/, as each package with BPF programs is.
    const HEADERS: &str = "../bpf";
    let folder = Path::new(source).parent().expect("a source has a folder");
    println!("cargo:rerun-if-changed={}", folder.display());
    println!("cargo:rerun-if-changed={HEADERS}");
    // A hook has the arguments the kernel gives it, used or not.
    let arguments = [
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unused-parameter",
        "-mcpu=v3",
        "-I",
        HEADERS,
        // An object names its sources line by line: not by where they lie on this machine.
        "-fdebug-compilation-dir=.",
    ]
    .map(OsStr::new);
    let clang = find_clang();
    if let Err(error) = SkeletonBuilder::new()
        .source(source)
        .clang(&clang)
        .clang_args(arguments)
        .build_and_generate(out_folder().join(format!("{name}.skel.rs")))
    {
        stop(&format!(
            "{} could not compile {source}: {error:?}",
            clang.display()
        ));
    }
}

/// Writes each `#define {prefix}NAME number` of a header as a constant `NAME` of Rust, to
/// `OUT_DIR/constants.rs`.
pub fn generate_constants(header: &str, prefix: &str) {
    let text = std::fs::read_to_string(header)
        .unwrap_or_else(|error| stop(&format!("could not read {header}: {error}")));
    let constant = |line: &str| {
        let (name, value) = line.strip_prefix("#define ")?.split_once(' ')?;
        let (name, value) = (name.strip_prefix(prefix)?, value.parse::<u32>().ok()?);
        Some(format!("pub const {name}: u32 = {value};\n"))
    };
    let constants: String = text.lines().filter_map(constant).collect();
    let output = out_folder().join("constants.rs");
    if let Err(error) = std::fs::write(&output, constants) {
        stop(&format!("could not write {}: {error}", output.display()));
    }
}

/// The compiler that `CLANG` names, or the newest one on the search path.
pub fn find_clang() -> PathBuf {
    println!("cargo:rerun-if-env-changed=CLANG");
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

/// Tells bindgen where the library is that belongs to `clang`; it loads it at run time.
pub fn find_libclang(clang: &Path) {
    println!("cargo:rerun-if-env-changed=LIBCLANG_PATH");
    if env::var_os("LIBCLANG_PATH").is_some() {
        return;
    }
    let print = |what: &str| {
        let output = Command::new(clang).arg(what).output().ok()?;
        let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        Some(path)
    };
    // <prefix>/lib/clang/NN, or where the distribution keeps its libraries
    let beside =
        print("-print-resource-dir").and_then(|folder| Some(folder.parent()?.parent()?.to_owned()));
    let folder = beside.filter(|folder| holds_libclang(folder));
    let Some(folder) = folder else {
        stop(&format!(
            "there is no libclang beside {}, which the scheduler's bindings need; install it \
             (`make setup`, or Debian's libclang1-NN for clang-NN), or name its folder with \
             LIBCLANG_PATH=/path/to/lib",
            clang.display()
        ));
    };
    // SAFETY: this program has one thread.
    unsafe { env::set_var("LIBCLANG_PATH", folder) };
}

fn holds_libclang(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name.starts_with("libclang.so") || name.starts_with("libclang-")) && name.contains(".so")
    })
}

/// Ends the build with one sentence instead of a panic's backtrace.
pub fn stop(message: &str) -> ! {
    eprintln!("artis build: {message}");
    std::process::exit(1);
}
