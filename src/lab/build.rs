// SPDX-License-Identifier: GPL-2.0-only
//! Assembles what the lab's machines execute before their kernel.

use artis_bpf_build::{find_clang, out_folder, stop};
use std::path::Path;
use std::process::Command;

fn main() {
    let (clang, out) = (find_clang(), out_folder());
    assemble(&clang, &out, "boot", 512);
    assemble(&clang, &out, "enter", 256);
}

/// Assembles what the lab's machines execute before their kernel. It is x86 code whatever this
/// machine is, and it needs no linker: the assembler's `.text` is the code, which has `length`
/// bytes.
fn assemble(clang: &Path, out: &Path, name: &str, length: usize) {
    use object::{Object, ObjectSection};
    let source = format!("engine/bochs/{name}.S");
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
