// SPDX-License-Identifier: GPL-2.0-only
//! What lies in the guest's memory before it starts, so that no emulated instruction copies it: an
//! image that Bochs reads.
//!
//! Bochs 3.0 keeps the guest's memory in blocks, in the order in which they are first used, and
//! reads the image as if all of its blocks were in a row. They are, if the debugger looks at the
//! image from its beginning to its end before anything else does ([`Image::in_a_row`]). The
//! firmware leaves memory above 1 MiB alone, but for its tables at the end.

use super::disk::{Boot, KERNEL_ADDRESS};
use crate::Error;
use crate::host::cache::Cache;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// Where the image begins: at the kernel, and at a block's beginning (they have 128 KiB).
pub(super) const ADDRESS: u32 = KERNEL_ADDRESS;

/// The image, in a file without a name.
pub(super) struct Image {
    pub file: File,
    length: u64,
}

impl Image {
    /// Writes what `boot` names, and the initramfs.
    ///
    /// # Errors
    /// When the cache cannot be written.
    pub fn write(boot: &Boot, initramfs: &File, cache: &Cache) -> Result<Self, Error> {
        let file = cache.nameless_file()?;
        // It is the largest file of a run, and so the first that a full disk has no room for.
        let what = format!(
            "the guest's memory, a file in {} (XDG_CACHE_HOME moves that)",
            cache.root().display()
        );
        let length =
            assemble(boot, initramfs, &file).map_err(Error::io("write", Path::new(&what)))?;
        Ok(Self { file, length })
    }

    /// The debugger's command that looks at all of it.
    pub fn in_a_row(&self) -> String {
        format!("writemem \"/dev/null\" {ADDRESS:#x} {}\n", self.length)
    }
}

/// Puts everything at its place; returns the length of all.
fn assemble(boot: &Boot, mut initramfs: &File, mut out: &File) -> io::Result<u64> {
    let at = |address: u32| SeekFrom::Start(u64::from(address - ADDRESS));
    for piece in &boot.kernel {
        out.seek(at(piece.address))?;
        out.write_all(&piece.content)?;
    }
    initramfs.seek(SeekFrom::Start(0))?;
    let begin = out.seek(at(boot.initramfs_address))?;
    Ok(begin + io::copy(&mut initramfs, &mut out)?)
}

#[cfg(test)]
mod tests {
    use super::super::disk::Piece;
    use super::*;
    use std::io::Read;

    #[test]
    fn each_piece_lies_at_its_address() {
        let piece = |offset, content: &[u8]| Piece {
            address: ADDRESS + offset,
            content: content.to_vec(),
        };
        let boot = Boot {
            kernel: vec![piece(0, b"enter"), piece(0x20, b"kernel")],
            initramfs_address: ADDRESS + 0x40,
        };
        let [mut initramfs, mut file] = [(); 2].map(|()| tempfile::tempfile().unwrap());
        initramfs.write_all(b"initramfs").unwrap();
        let length = assemble(&boot, &initramfs, &file).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        let mut image = Vec::new();
        file.read_to_end(&mut image).unwrap();
        assert_eq!((length, image.len()), (0x49, 0x49));
        assert!(image[..0x20].starts_with(b"enter\0\0\0"));
        assert_eq!(
            (&image[0x20..0x26], &image[0x40..]),
            (&b"kernel"[..], &b"initramfs"[..])
        );
        let image = Image { file, length };
        assert_eq!(image.in_a_row(), "writemem \"/dev/null\" 0x100000 73\n");
    }
}
