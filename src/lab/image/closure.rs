// SPDX-License-Identifier: GPL-2.0-only
//! Which shared libraries a program needs, so that it runs in a guest that has nothing else.
//!
//! The dynamic loader lists them. `ldd` does the same, but it may start the program itself, or a
//! loader that the program names; here only this system's own loader runs.

use crate::Error;
use crate::host::tool;
use artis_machine::arch::LOADER;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a file is loaded.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// Not an x86-64 ELF file: data, or a script.
    Plain,
    /// An ELF file that needs no loader.
    Static,
    /// A program or library that names this loader (libraries name none).
    Dynamic(Option<Vec<u8>>),
}

/// The loader and every library that `program` needs; empty for scripts and static programs.
///
/// # Errors
/// When the program cannot be read, needs another loader, or a library is missing.
pub fn libraries(program: &Path) -> Result<Vec<PathBuf>, Error> {
    let content = fs::read(program).map_err(Error::io("read", program))?;
    let guest = |reason: String| Error::NotForGuest {
        path: program.to_owned(),
        reason,
    };
    match kind(&content) {
        Kind::Plain | Kind::Static => Ok(Vec::new()),
        Kind::Dynamic(Some(loader)) if loader != LOADER.as_bytes() => Err(guest(format!(
            "it needs the loader {}, and the guest has {LOADER} only; link it statically",
            String::from_utf8_lossy(&loader)
        ))),
        Kind::Dynamic(_) => {
            let mut command = Command::new(LOADER);
            // LD_PRELOAD and its like would add libraries that the program does not need.
            command.arg("--list").arg(program).env_clear();
            let listed = tool::output(&mut command).map_err(|error| guest(error.to_string()))?;
            parse(&String::from_utf8_lossy(&listed)).map_err(guest)
        }
    }
}

/// Does `program` run without a loader and libraries?
///
/// # Errors
/// When it cannot be read.
pub fn is_static(program: &Path) -> Result<bool, Error> {
    let content = fs::read(program).map_err(Error::io("read", program))?;
    Ok(kind(&content) == Kind::Static)
}

fn kind(content: &[u8]) -> Kind {
    let Ok(header) = elf::FileHeader64::<object::LittleEndian>::parse(content) else {
        return Kind::Plain;
    };
    let Ok(endian) = header.endian() else {
        return Kind::Plain;
    };
    if header.e_machine(endian) != elf::EM_X86_64 {
        return Kind::Plain;
    }
    let Ok(segments) = header.program_headers(endian, content) else {
        return Kind::Plain;
    };
    let loader = segments
        .iter()
        .find_map(|segment| segment.interpreter(endian, content).ok().flatten());
    // A static program that may be loaded anywhere has a dynamic section too, but names no loader.
    // So does a library, but that needs other libraries.
    let dynamic = segments
        .iter()
        .any(|segment| segment.p_type(endian) == elf::PT_DYNAMIC);
    match loader {
        Some(loader) => Kind::Dynamic(Some(loader.to_vec())),
        None if dynamic && is_library(header, endian, content) => Kind::Dynamic(None),
        None => Kind::Static,
    }
}

/// Does a file without a loader need other libraries?
fn is_library(
    header: &elf::FileHeader64<object::LittleEndian>,
    endian: object::LittleEndian,
    content: &[u8],
) -> bool {
    use object::read::elf::Dyn;
    let Ok(segments) = header.program_headers(endian, content) else {
        return false;
    };
    segments
        .iter()
        .filter_map(|segment| segment.dynamic(endian, content).ok().flatten())
        .flatten()
        .any(|entry| entry.tag(endian) == elf::DT_NEEDED)
}

/// The paths in the loader's list. The vDSO has none; "not found" is an error.
fn parse(listed: &str) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for line in listed.lines().map(str::trim) {
        // "libc.so.6 => /lib/libc.so.6 (0x…)", "/lib64/ld-linux… (0x…)", "linux-vdso.so.1 (0x…)"
        let target = line.split_once(" => ").map_or(line, |(_, target)| target);
        if target == "not found" {
            return Err(format!("its library {line}"));
        }
        let path = target.rsplit_once(" (").map_or(target, |(path, _)| path);
        if path.starts_with('/') {
            paths.push(PathBuf::from(path));
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_list_is_understood() {
        let listed = "\tlinux-vdso.so.1 (0x00007ffd)\n\
            \tlibz.so.1 => /opt/my libs/libz.so.1 (0x00007f1)\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f2)\n";
        let paths = ["/opt/my libs/libz.so.1", LOADER].map(PathBuf::from);
        assert_eq!(parse(listed).unwrap(), paths);
        assert_eq!(
            parse("\tliba.so => not found\n").unwrap_err(),
            "its library liba.so => not found"
        );
    }

    #[test]
    fn this_test_needs_libc_and_the_loader() {
        let found = libraries(&std::env::current_exe().unwrap()).unwrap();
        let has = |name: &str| found.iter().any(|path| path.ends_with(name));
        assert!(has("libc.so.6"), "{found:?}");
        assert!(has("ld-linux-x86-64.so.2"), "{found:?}");
    }

    #[test]
    fn scripts_and_data_need_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        fs::write(&script, "#!/bin/sh\ntrue\n").unwrap();
        assert_eq!(libraries(&script).unwrap(), Vec::<PathBuf>::new());
        assert!(!is_static(&script).unwrap());
    }
}
