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
    let clang = find_clang();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    policy::generate("src/sched/bpf/policy.h", &clang, &out);
    // Which compiler and which policy a test compiles the BPF side with.
    println!("cargo:rustc-env=ARTIS_CLANG={}", clang.display());
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

/// The policy for native callers: C wrappers of its inline functions, and Rust for them.
mod policy {
    use super::stop;
    use bindgen::callbacks::{EnumVariantValue, IntKind, ItemInfo, ItemKind, ParseCallbacks};
    use std::env;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// Compiles `header` for native callers and writes `policy.rs` into `out`.
    pub fn generate(header: &str, clang: &Path, out: &Path) {
        println!("cargo:rerun-if-changed={header}");
        find_libclang(clang);
        let wrappers = out.join("policy_wrappers.c");
        let bindings = bindgen::Builder::default()
            .header(header)
            .allowlist_file(header)
            .blocklist_item("POLICY_H")
            .wrap_static_fns(true)
            .wrap_static_fns_path(&wrappers)
            .default_enum_style(bindgen::EnumVariation::Rust {
                non_exhaustive: false,
            })
            .derive_default(true)
            .derive_eq(true)
            .layout_tests(false)
            .merge_extern_blocks(true)
            .rust_edition(bindgen::RustEdition::Edition2024)
            .parse_callbacks(Box::new(Names))
            .generate();
        let rust = match bindings {
            Ok(bindings) => bindings.to_string(),
            Err(error) => stop(&format!("bindgen could not read {header}: {error}")),
        };
        let file = out.join("policy.rs");
        if let Err(error) = std::fs::write(&file, in_rust(&rust)) {
            stop(&format!("could not write {}: {error}", file.display()));
        }
        cc::Build::new()
            .file(&wrappers)
            .include(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default())
            .warnings_into_errors(true)
            .compile("artis_policy");
    }

    /// What bindgen wrote, with references, safe functions and names as Rust has them. (Were the
    /// names changed by bindgen itself, its wrappers in C would use the new ones, too.)
    fn in_rust(bindings: &str) -> String {
        // Pure C over what the references point to: whoever has these has all that it needs.
        let text = bindings
            .replace("*const ", "&")
            .replace("*mut ", "&mut ")
            .replace("    pub fn artis_", "    pub safe fn ");
        text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .map(|piece| {
                let word = piece.trim_end_matches(|letter: char| {
                    !letter.is_ascii_alphanumeric() && letter != '_'
                });
                let rest = &piece[word.len()..];
                match word.strip_prefix("artis_") {
                    Some(name) if !name.ends_with("__extern") => camel(name) + rest,
                    _ => piece.to_owned(),
                }
            })
            .collect()
    }

    /// Tells bindgen where the library is that belongs to `clang`; it loads it at run time.
    fn find_libclang(clang: &Path) {
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
        let beside = print("-print-resource-dir")
            .and_then(|folder| Some(folder.parent()?.parent()?.to_owned()));
        let folder = beside.filter(|folder| holds_libclang(folder));
        let Some(folder) = folder else {
            stop(&format!(
                "there is no libclang beside {}, which the policy's bindings need; install it \
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
            (name.starts_with("libclang.so") || name.starts_with("libclang-"))
                && name.contains(".so")
        })
    }

    /// Rust's names for C's: no prefix, since the module says it, and Rust's case.
    #[derive(Debug)]
    struct Names;

    impl ParseCallbacks for Names {
        fn int_macro(&self, _name: &str, _value: i64) -> Option<IntKind> {
            Some(IntKind::U64)
        }

        fn item_name(&self, item: ItemInfo) -> Option<String> {
            let is_constant = matches!(item.kind, ItemKind::Var);
            strip(item.name).filter(|_| is_constant).map(str::to_owned)
        }

        fn enum_variant_name(
            &self,
            of: Option<&str>,
            variant: &str,
            _value: EnumVariantValue,
        ) -> Option<String> {
            let of = of.unwrap_or_default().trim_start_matches("enum ");
            let prefix = format!("{}_", of.to_uppercase());
            let short = variant.strip_prefix(&prefix).or_else(|| strip(variant))?;
            Some(camel(short))
        }
    }

    fn strip(name: &str) -> Option<&str> {
        name.strip_prefix("artis_")
            .or_else(|| name.strip_prefix("ARTIS_"))
    }

    fn camel(name: &str) -> String {
        name.split('_')
            .map(|word| {
                let mut letters = word.chars();
                let first = letters.next().map(|letter| letter.to_ascii_uppercase());
                first
                    .into_iter()
                    .chain(letters.map(|letter| letter.to_ascii_lowercase()))
                    .collect::<String>()
            })
            .collect()
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
