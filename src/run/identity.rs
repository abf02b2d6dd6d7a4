// SPDX-License-Identifier: GPL-2.0-only
//! Which build of artis this is: results that are kept for its next run are of this one alone.

use anyhow::Context;
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ReadCache};
use sha2::{Digest, Sha256};
use std::fs::File;

/// What this program was linked as: the build id of its file, else a hash of the file.
///
/// # Errors
/// When the file cannot be read.
pub fn of_build() -> anyhow::Result<String> {
    let path = std::env::current_exe().context("cannot find the program that runs")?;
    let open = || File::open(&path).with_context(|| format!("cannot read {}", path.display()));
    let content = ReadCache::new(open()?);
    let file = ElfFile64::<LittleEndian, _>::parse(&content).ok();
    if let Some(id) = file.and_then(|file| file.build_id().ok().flatten().map(hex)) {
        return Ok(id);
    }
    let mut hash = Sha256::new();
    std::io::copy(&mut open()?, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

/// The hash of these texts, which are kept apart.
pub fn hash_of(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hex(&hash.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_has_a_name_and_texts_are_kept_apart() {
        assert!(of_build().unwrap().len() >= 16);
        assert_eq!(of_build().unwrap(), of_build().unwrap());
        assert_ne!(hash_of(&["ab", "c"]), hash_of(&["a", "bc"]));
    }
}
