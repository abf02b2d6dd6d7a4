// SPDX-License-Identifier: GPL-2.0-only
//! The disk that Bochs boots: our boot sector (`boot.S`), then the kernel in its pieces and the
//! initramfs, each a whole number of chunks.
//!
//! Source: "The Linux/x86 Boot Protocol", the kernel's Documentation/arch/x86/boot.rst, version
//! 2.12 and later: the offsets of the header, and where its pieces may lie.

use super::vmlinux;
use crate::Error;
use crate::engine::Hardware;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The boot sector as the assembler made it.
pub(super) const BOOT_SECTOR: &[u8; SECTOR] = include_bytes!(concat!(env!("OUT_DIR"), "/boot.bin"));

const SECTOR: usize = 512;
/// The disk's geometry, for Bochs' configuration.
pub(super) const HEADS: u64 = 16;
pub(super) const SECTORS_PER_TRACK: u64 = 63;
const CYLINDER: u64 = HEADS * SECTORS_PER_TRACK * SECTOR as u64;

/// As in `boot.S`: bytes read at once, the place of the list of pieces, the length of an entry.
const CHUNK: u64 = 64 * SECTOR as u64;
const PIECES: usize = 480;
const PIECE: usize = 6;

/// The kernel's real-mode code with its heap and the command line takes one segment here.
const SETUP_ADDRESS: u32 = 0x1_0000;
const SETUP_BYTES: usize = 0x1_0000;
const HEAP_END: u16 = 0xde00;
const COMMAND_LINE: usize = 0xe000;
/// The kernel's 32-bit entry: the code that unpacks it begins here, or what replaces that code.
pub(super) const KERNEL_ADDRESS: u32 = 0x10_0000;

/// Offsets in the kernel's header.
const SETUP_SECTORS: usize = 0x1f1;
const MAGIC: usize = 0x202;
const VERSION: usize = 0x206;
const LOADER_TYPE: usize = 0x210;
const LOAD_FLAGS: usize = 0x211;
const RAMDISK_IMAGE: usize = 0x218;
const RAMDISK_SIZE: usize = 0x21c;
const HEAP_END_POINTER: usize = 0x224;
const COMMAND_LINE_POINTER: usize = 0x228;
const COMMAND_LINE_SIZE: usize = 0x238;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;
/// Where the header ends in every version: no kernel is shorter.
const HEADER_END: usize = 0x268;

const VERSION_OLDEST: u16 = 0x20c;
/// A boot loader without a number of its own.
const LOADER_UNKNOWN: u8 = 0xff;
/// The kernel is loaded high; the heap's end is given.
const LOADED_HIGH: u8 = 0x01;
const CAN_USE_HEAP: u8 = 0x80;

/// The firmware keeps its tables at the end of memory; no initramfs may lie above 2 GiB.
const MEMORY_TOP: u64 = 1 << 20;
const RAMDISK_TOP: u64 = 0x7ff0_0000;
const RAMDISK_ALIGN: u64 = 1 << 20;

/// Writes the disk of `hardware` with `initramfs` into the empty file `disk`; returns its
/// cylinders.
pub(super) fn write(hardware: &Hardware, mut initramfs: &File, disk: &File) -> Result<u64, Error> {
    let vmlinuz = &hardware.vmlinuz;
    let kernel = fs::read(vmlinuz).map_err(Error::io("read", vmlinuz))?;
    let image = Path::new("the initramfs");
    let length = initramfs
        .seek(SeekFrom::End(0))
        .map_err(Error::io("read", image))?;
    initramfs
        .seek(SeekFrom::Start(0))
        .map_err(Error::io("read", image))?;
    let memory = u64::from(hardware.memory_mib) << 20;
    let address = ramdisk_address(memory, length).ok_or_else(|| Error::NotForGuest {
        path: image.to_owned(),
        reason: format!(
            "its {} MiB do not fit into {} MiB of memory; give the guest more (--memory MIB)",
            length.div_ceil(1 << 20),
            hardware.memory_mib
        ),
    })?;
    let refused = |reason: String| Error::NotForGuest {
        path: vmlinuz.clone(),
        reason,
    };
    let (setup, rest) = prepare(&kernel, &hardware.arguments, address, length).map_err(refused)?;
    let mut pieces = vec![(SETUP_ADDRESS, setup)];
    match vmlinux::unpack(payload(&kernel, rest)).map_err(refused)? {
        Some(unpacked) => {
            pieces.push((KERNEL_ADDRESS, unpacked.enter));
            pieces.push((unpacked.address, unpacked.memory));
        }
        None => pieces.push((KERNEL_ADDRESS, rest.to_vec())),
    }
    let target = Path::new("the guest's disk");
    assemble(&pieces, initramfs, (address, length), disk).map_err(Error::io("write", target))
}

/// The packed kernel in `rest`, which is `kernel` without its real-mode code.
fn payload<'a>(kernel: &[u8], rest: &'a [u8]) -> &'a [u8] {
    let [start, length] =
        [PAYLOAD_OFFSET, PAYLOAD_LENGTH].map(|at| u32::from_le_bytes(bytes(kernel, at)) as usize);
    rest.get(start..)
        .and_then(|from| from.get(..length))
        .unwrap_or_default()
}

/// The address of the initramfs: as high as the firmware's tables allow, well above the kernel.
fn ramdisk_address(memory: u64, length: u64) -> Option<u32> {
    let top = memory.checked_sub(MEMORY_TOP)?.min(RAMDISK_TOP);
    let address = top.checked_sub(length)? / RAMDISK_ALIGN * RAMDISK_ALIGN;
    // The kernel unpacks itself in the lower half of memory and may need all of it.
    let address = u32::try_from(address).ok()?;
    (u64::from(address) >= memory.min(RAMDISK_TOP) / 2).then_some(address)
}

/// The segment of real-mode code, with its header filled in and the command line after it, and the
/// rest of the kernel.
fn prepare<'a>(
    kernel: &'a [u8],
    arguments: &str,
    ramdisk: u32,
    ramdisk_bytes: u64,
) -> Result<(Vec<u8>, &'a [u8]), String> {
    let magic = kernel.get(MAGIC..MAGIC + 4);
    if kernel.len() < HEADER_END || magic != Some(b"HdrS") {
        return Err("it is not a bootable x86 kernel image".to_owned());
    }
    let version = u16::from_le_bytes([kernel[VERSION], kernel[VERSION + 1]]);
    if version < VERSION_OLDEST {
        return Err(format!(
            "its boot protocol {version:#06x} is older than {VERSION_OLDEST:#06x}"
        ));
    }
    // 0 means 4, for very old kernels.
    let sectors = match kernel[SETUP_SECTORS] {
        0 => 4,
        some => usize::from(some),
    };
    let setup_end = (sectors + 1) * SECTOR;
    let (code, rest) = kernel
        .split_at_checked(setup_end)
        .filter(|(code, _)| code.len() <= usize::from(HEAP_END))
        .ok_or("its real-mode code has an impossible length")?;
    let mut setup = vec![0; SETUP_BYTES];
    setup[..code.len()].copy_from_slice(code);
    let longest = u32::from_le_bytes(bytes(&setup, COMMAND_LINE_SIZE)) as usize;
    // A zero byte ends it.
    if arguments.len() > longest || arguments.len() >= SETUP_BYTES - COMMAND_LINE {
        return Err(format!(
            "it takes a command line of {longest} bytes, and this one has {}",
            arguments.len()
        ));
    }
    setup[COMMAND_LINE..COMMAND_LINE + arguments.len()].copy_from_slice(arguments.as_bytes());
    setup[LOADER_TYPE] = LOADER_UNKNOWN;
    setup[LOAD_FLAGS] |= LOADED_HIGH | CAN_USE_HEAP;
    let mut put = |at: usize, value: u32| {
        setup[at..at + 4].copy_from_slice(&value.to_le_bytes());
    };
    put(RAMDISK_IMAGE, ramdisk);
    let size = u32::try_from(ramdisk_bytes).map_err(|_| "the initramfs is too large".to_owned())?;
    put(RAMDISK_SIZE, size);
    put(COMMAND_LINE_POINTER, SETUP_ADDRESS + COMMAND_LINE as u32);
    setup[HEAP_END_POINTER..HEAP_END_POINTER + 2].copy_from_slice(&HEAP_END.to_le_bytes());
    Ok((setup, rest))
}

fn bytes(from: &[u8], at: usize) -> [u8; 4] {
    [from[at], from[at + 1], from[at + 2], from[at + 3]]
}

/// Writes the boot sector, the pieces of `kernel` with their addresses, and the initramfs, whose
/// address and length are given; returns the cylinders.
fn assemble(
    kernel: &[(u32, Vec<u8>)],
    initramfs: impl Read,
    (address, length): (u32, u64),
    disk: &File,
) -> io::Result<u64> {
    let lengths = kernel.iter().map(|(at, piece)| (*at, piece.len() as u64));
    let list: Vec<(u32, u64)> = lengths.chain([(address, length)]).collect();
    let mut out = BufWriter::new(disk);
    out.write_all(&boot_sector(&list)?)?;
    let mut written = SECTOR as u64;
    for (_, piece) in kernel {
        written += write_piece(&piece[..], piece.len() as u64, &mut out)?;
    }
    written += write_piece(initramfs, length, &mut out)?;
    out.flush()?;
    // The last cylinder is filled up with a hole.
    let cylinders = written.div_ceil(CYLINDER);
    disk.set_len(cylinders * CYLINDER)?;
    Ok(cylinders)
}

/// Writes `length` bytes, filled up to whole chunks; returns the bytes written.
fn write_piece(content: impl Read, length: u64, out: &mut impl Write) -> io::Result<u64> {
    if io::copy(&mut content.take(length), out)? != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let padded = length.next_multiple_of(CHUNK);
    io::copy(&mut io::repeat(0).take(padded - length), out)?;
    Ok(padded)
}

fn boot_sector(pieces: &[(u32, u64)]) -> io::Result<[u8; SECTOR]> {
    let mut sector = *BOOT_SECTOR;
    for (index, (address, length)) in pieces.iter().enumerate() {
        let chunks = u16::try_from(length.div_ceil(CHUNK))
            .map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        let at = PIECES + index * PIECE;
        sector[at..at + 4].copy_from_slice(&address.to_le_bytes());
        sector[at + 4..at + 6].copy_from_slice(&chunks.to_le_bytes());
    }
    Ok(sector)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A header like that of today's kernels, 2 sectors of real-mode code, and a body.
    fn kernel(body: &[u8]) -> Vec<u8> {
        let mut kernel = vec![0u8; 3 * SECTOR];
        kernel[SETUP_SECTORS] = 2;
        kernel[MAGIC..MAGIC + 4].copy_from_slice(b"HdrS");
        kernel[VERSION..VERSION + 2].copy_from_slice(&0x20f_u16.to_le_bytes());
        kernel[COMMAND_LINE_SIZE..COMMAND_LINE_SIZE + 4].copy_from_slice(&2047_u32.to_le_bytes());
        kernel.extend_from_slice(body);
        kernel
    }

    #[test]
    fn the_sector_boots_and_has_room_for_the_pieces() {
        assert_eq!(BOOT_SECTOR[510..], [0x55, 0xaa]);
        assert!(BOOT_SECTOR[PIECES..510].iter().all(|byte| *byte == 0));
        assert!(BOOT_SECTOR[..PIECES].iter().any(|byte| *byte != 0));
        // Four pieces, and an empty one that ends the list.
        const { assert!(PIECES + 5 * PIECE <= 510) };
    }

    #[test]
    fn pieces_lie_on_the_disk_in_the_order_of_the_list() {
        let kernel = kernel(b"kernel");
        let (setup, rest) = prepare(&kernel, "quiet", 0x800_0000, 9).unwrap();
        let file = tempfile::tempfile().unwrap();
        let pieces = [
            (SETUP_ADDRESS, setup.clone()),
            (KERNEL_ADDRESS, rest.to_vec()),
        ];
        let cylinders = assemble(&pieces, &b"initramfs"[..], (0x800_0000, 9), &file).unwrap();
        let mut disk = Vec::new();
        (&file).seek(SeekFrom::Start(0)).unwrap();
        (&file).read_to_end(&mut disk).unwrap();
        assert_eq!(disk.len() as u64, cylinders * CYLINDER);
        let mut at = SECTOR;
        for (entry, (address, content)) in [
            (SETUP_ADDRESS, &setup[..]),
            (KERNEL_ADDRESS, b"kernel"),
            (0x800_0000, b"initramfs"),
        ]
        .into_iter()
        .enumerate()
        {
            let list = &disk[PIECES + entry * PIECE..];
            assert_eq!(bytes(list, 0), address.to_le_bytes());
            assert_eq!(&disk[at..at + content.len()], content);
            at += usize::from(u16::from_le_bytes([list[4], list[5]])) * CHUNK as usize;
        }
        assert_eq!(disk[PIECES + 3 * PIECE + 4..][..2], [0, 0], "the list ends");
        assert_eq!(&setup[COMMAND_LINE..COMMAND_LINE + 6], b"quiet\0");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(
            ramdisk_address(1 << 30, 1 << 20),
            Some((1 << 30) - (2 << 20))
        );
        assert_eq!(ramdisk_address(256 << 20, 200 << 20), None);
        assert_eq!(ramdisk_address(1 << 19, 1), None);
        let four_gib = ramdisk_address(4 << 30, 1 << 20).unwrap();
        assert!(u64::from(four_gib) + (1 << 20) <= RAMDISK_TOP);
        assert!(prepare(&kernel(b""), &"x".repeat(2048), 0, 0).is_err());
        assert!(prepare(b"MZ", "", 0, 0).is_err());
    }

    proptest! {
        #[test]
        fn any_file_is_prepared_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _ = prepare(&bytes, "quiet", 0, 0);
            let mut header = kernel(&bytes);
            header[SETUP_SECTORS] = bytes.first().copied().unwrap_or(0);
            if let Ok((_, rest)) = prepare(&header, "quiet", 0, 0) {
                let _ = payload(&header, rest);
            }
        }
    }
}
