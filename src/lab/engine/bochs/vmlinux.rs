// SPDX-License-Identifier: GPL-2.0-only
//! Unpacks the kernel on the host: in the guest that would take a thousand million emulated
//! instructions, more than the rest of the boot.
//!
//! The kernel is put into the guest's memory as it lies there after it has unpacked itself without
//! moving (no KASLR). [`ENTER`] replaces its own unpacking code: its real-mode code notices no
//! difference. A kernel packed in another way than Debian's today unpacks itself.
//!
//! Source: the kernel's Documentation/arch/x86/boot.rst; page tables: the processor's manual,
//! volume 3, "4-level paging".

use object::elf::{FileHeader64, PT_LOAD};
use object::endian::LittleEndian;
use object::read::elf::{FileHeader, ProgramHeader};
use std::io::Read;

/// The code at the address of the kernel's 32-bit entry.
pub(super) const ENTER: &[u8; 256] = include_bytes!(concat!(env!("OUT_DIR"), "/enter.bin"));
/// As in `enter.S`: the address of the tables after that code, and the place of the kernel's entry
/// in it.
const TABLES: u32 = super::disk::KERNEL_ADDRESS + PAGE as u32;
const ENTRY: usize = 248;

const PAGE: usize = 4096;
/// One table of the first three levels, and one with 2 MiB pages for each GiB.
const GIB_MAPPED: usize = 4;
const ENTRIES: usize = PAGE / 8;
const PRESENT_WRITABLE: u64 = 0x3;
const LARGE: u64 = 0x80;

/// How Zstandard data begins.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// No kernel is larger or lies higher: a damaged file must not fill the host's memory.
const BYTES_MAX: u64 = 256 << 20;
const ADDRESS_MAX: u64 = 1 << 30;

/// What goes where in the guest's memory.
pub(super) struct Unpacked {
    /// At the kernel's 32-bit entry.
    pub enter: Vec<u8>,
    /// Where the kernel begins, and its content up to the last byte that is not zero.
    pub address: u32,
    pub memory: Vec<u8>,
}

/// Unpacks the kernel whose packed form is `payload`, its length in the last 4 bytes as the
/// kernel's build appends it; `None`: it is packed in another way.
///
/// # Errors
/// The reason why it is damaged, in words.
pub(super) fn unpack(payload: &[u8]) -> Result<Option<Unpacked>, String> {
    if !payload.starts_with(&ZSTD) {
        return Ok(None);
    }
    let damaged = |reason: String| format!("its packed kernel is damaged: {reason}");
    let decoder = ruzstd::decoding::StreamingDecoder::new(payload);
    let mut elf = Vec::new();
    decoder
        .map_err(|error| damaged(error.to_string()))?
        .take(BYTES_MAX)
        .read_to_end(&mut elf)
        .map_err(|error| damaged(error.to_string()))?;
    place(&elf).map(Some).map_err(damaged)
}

/// The loaded segments of `elf`, as they lie in memory.
fn place(elf: &[u8]) -> Result<Unpacked, String> {
    let header = FileHeader64::<LittleEndian>::parse(elf).map_err(|error| error.to_string())?;
    let headers = header
        .program_headers(LittleEndian, elf)
        .map_err(|error| error.to_string())?;
    let loaded = headers
        .iter()
        .filter(|one| one.p_type(LittleEndian) == PT_LOAD);
    let mut segments = Vec::new();
    for segment in loaded {
        let bytes = segment
            .data(LittleEndian, elf)
            .map_err(|()| "a segment lies outside of it")?;
        let address = segment.p_paddr(LittleEndian);
        if address
            .checked_add(bytes.len() as u64)
            .is_none_or(|end| end > ADDRESS_MAX)
        {
            return Err(format!("a segment belongs at {address:#x}"));
        }
        segments.push((address, bytes));
    }
    let start = segments.iter().map(|(address, _)| *address).min();
    let start = start.ok_or("it has no segment")?;
    let ends = segments
        .iter()
        .map(|(address, bytes)| address + bytes.len() as u64);
    let end = ends.max().unwrap_or(start);
    if end - start > BYTES_MAX {
        return Err(format!("its segments lie from {start:#x} to {end:#x}"));
    }
    let mut memory = vec![0; (end - start) as usize];
    for (address, bytes) in segments {
        let at = (address - start) as usize;
        memory[at..at + bytes.len()].copy_from_slice(bytes);
    }
    Ok(Unpacked {
        enter: enter(header.e_entry(LittleEndian)),
        address: u32::try_from(start).map_err(|error| error.to_string())?,
        memory,
    })
}

/// [`ENTER`] for a kernel whose entry is at `entry`, and the page tables after it.
fn enter(entry: u64) -> Vec<u8> {
    let mut code = ENTER.to_vec();
    code[ENTRY..ENTRY + 8].copy_from_slice(&entry.to_le_bytes());
    code.resize(PAGE, 0);
    let tables = u64::from(TABLES);
    let directories = tables + 2 * PAGE as u64;
    let mut table = |entries: &mut dyn Iterator<Item = u64>| {
        let end = code.len() + PAGE;
        for entry in entries.take(ENTRIES) {
            code.extend_from_slice(&entry.to_le_bytes());
        }
        code.resize(end, 0);
    };
    table(&mut std::iter::once(
        tables + PAGE as u64 + PRESENT_WRITABLE,
    ));
    let each = 0..GIB_MAPPED as u64;
    table(&mut each.map(|gib| directories + gib * PAGE as u64 + PRESENT_WRITABLE));
    for gib in 0..GIB_MAPPED as u64 {
        let page = move |index: u64| ((gib << 30) + (index << 21)) | LARGE | PRESENT_WRITABLE;
        table(&mut (0..).map(page));
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn quad(bytes: &[u8], at: usize) -> u64 {
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
    }

    /// The physical address that the processor finds for `address` with the tables of `enter`.
    fn translate(enter: &[u8], address: u64) -> u64 {
        let entry = |table: u64, index: u64| {
            let at = table as usize - super::super::disk::KERNEL_ADDRESS as usize;
            quad(enter, at + (index % 512) as usize * 8)
        };
        let table = |entry: u64| {
            assert_eq!(entry & 0xfff, PRESENT_WRITABLE);
            entry & !0xfff
        };
        let third = table(entry(u64::from(TABLES), address >> 39));
        let second = table(entry(third, address >> 30));
        let page = entry(second, address >> 21);
        assert_eq!(page & 0xfff, LARGE | PRESENT_WRITABLE);
        (page & !0xfff) + address % (1 << 21)
    }

    #[test]
    fn the_first_4_gib_are_mapped_where_they_are() {
        let enter = enter(0x3af_3f40);
        assert_eq!(quad(&enter, ENTRY), 0x3af_3f40);
        for address in [0, 0x10_1234, 0x3af_3f40, 0xfee0_0000, 0xffff_ffff] {
            assert_eq!(translate(&enter, address), address);
        }
    }

    #[test]
    fn a_programs_segments_lie_where_they_belong() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        let unpacked = place(&own).unwrap();
        let header = FileHeader64::<LittleEndian>::parse(&*own).unwrap();
        let headers = header.program_headers(LittleEndian, &*own).unwrap();
        let mut checked = 0;
        for segment in headers
            .iter()
            .filter(|one| one.p_type(LittleEndian) == PT_LOAD)
        {
            let bytes = segment.data(LittleEndian, &*own).unwrap();
            let at = segment.p_paddr(LittleEndian) as usize - unpacked.address as usize;
            assert!(unpacked.memory[at..at + bytes.len()] == *bytes);
            checked += 1;
        }
        assert!(checked > 1);
    }

    #[test]
    fn segments_far_from_each_other_are_refused() {
        const HEADER_SIZE: usize = 56;
        const PHYSICAL_ADDRESS: usize = 24;
        let mut elf = std::fs::read("/proc/self/exe").unwrap();
        let header = FileHeader64::<LittleEndian>::parse(&*elf).unwrap();
        let headers = header.program_headers(LittleEndian, &*elf).unwrap();
        let loaded = |one: &_| ProgramHeader::p_type(one, LittleEndian) == PT_LOAD;
        let last = headers.iter().rposition(loaded).unwrap();
        let at = header.e_phoff(LittleEndian) as usize + last * HEADER_SIZE + PHYSICAL_ADDRESS;
        elf[at..at + 8].copy_from_slice(&(ADDRESS_MAX / 2).to_le_bytes());
        let refused = place(&elf).map(drop).unwrap_err();
        assert!(refused.contains("to 0x2000"), "{refused}");
    }

    #[test]
    fn other_packings_stay_and_damage_is_reported() {
        assert!(
            unpack(&[0xfd, b'7', b'z', b'X', b'Z', 0])
                .unwrap()
                .is_none()
        );
        assert!(unpack(&ZSTD).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_placed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            let _ = place(&bytes);
            let _ = unpack(&[&ZSTD, &bytes[..]].concat());
        }
    }
}
