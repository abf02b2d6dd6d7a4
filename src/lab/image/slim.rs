// SPDX-License-Identifier: GPL-2.0-only
//! A program without the parts that only a debugger reads. An emulated CPU copies every byte of an
//! image into the guest's memory, so only what is run should be there.

use object::elf::FileHeader64;
use object::endian::LittleEndian;
use object::read::elf::{FileHeader, ProgramHeader};
use std::mem::offset_of;

/// The part of an ELF program that is loaded: the file up to the end of its last segment, with
/// no table of sections. Anything else stays as it is, also a damaged program.
pub fn loaded_part(program: Vec<u8>) -> Vec<u8> {
    match end_of_segments(&program) {
        Some(end) => cut(program, end),
        None => program,
    }
}

fn end_of_segments(program: &[u8]) -> Option<usize> {
    let header = FileHeader64::<LittleEndian>::parse(program).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, program).ok()?;
    let ends = segments
        .iter()
        .map(|one| one.p_offset(endian).checked_add(one.p_filesz(endian)));
    let end = ends.collect::<Option<Vec<u64>>>()?.into_iter().max()?;
    usize::try_from(end)
        .ok()
        .filter(|end| *end <= program.len())
}

fn cut(mut program: Vec<u8>, end: usize) -> Vec<u8> {
    type Header = FileHeader64<LittleEndian>;
    program.truncate(end);
    let table = offset_of!(Header, e_shoff);
    let counts = offset_of!(Header, e_shnum);
    for zeroed in [table..table + size_of::<u64>(), counts..size_of::<Header>()] {
        if let Some(bytes) = program.get_mut(zeroed) {
            bytes.fill(0);
        }
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_slim_program_runs_as_before() {
        let program = std::fs::read("/proc/self/exe").unwrap();
        let whole = program.len();
        let slim = loaded_part(program);
        assert!(slim.len() < whole, "{} of {whole}", slim.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slim");
        std::fs::write(&path, slim).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let output = std::process::Command::new(path).arg("--list").output();
        let listed = String::from_utf8(output.unwrap().stdout).unwrap();
        assert!(listed.contains("a_slim_program_runs_as_before"), "{listed}");
    }

    proptest! {
        #[test]
        fn anything_else_stays_as_it_is(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(loaded_part(bytes.clone()), bytes);
        }
    }
}
