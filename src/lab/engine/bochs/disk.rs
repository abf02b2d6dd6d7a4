// SPDX-License-Identifier: GPL-2.0-only
//! What Bochs boots: a disk with our boot sector (`boot.S`) and the kernel's real-mode code, and
//! the pieces that lie in the guest's memory before it starts: the rest of the kernel, and the
//! initramfs.
//!
//! Source: "The Linux/x86 Boot Protocol", the kernel's Documentation/arch/x86/boot.rst, version
//! 2.12 and later: the offsets of the header, and where its pieces may lie.

use super::vmlinux;
use crate::Error;
use crate::engine::Hardware;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

/// The boot sector as the assembler made it.
pub(super) const BOOT_SECTOR: &[u8; SECTOR] = include_bytes!(concat!(env!("OUT_DIR"), "/boot.bin"));

const SECTOR: usize = 512;
/// The disk's geometry, for Bochs' configuration: the smallest that has room for both.
pub(super) const CYLINDERS: u64 = 1;
pub(super) const HEADS: u64 = 16;
pub(super) const SECTORS_PER_TRACK: u64 = 63;
const DISK_BYTES: u64 = CYLINDERS * HEADS * SECTORS_PER_TRACK * SECTOR as u64;

/// The kernel's real-mode code with its heap and the command line takes one segment here: `boot.S`
/// puts it there. (The firmware uses this memory before.)
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
const PREFERRED_ADDRESS: usize = 0x258;
const MEMORY_NEEDED: usize = 0x260;
/// Where the header ends in every version: no kernel is shorter.
const HEADER_END: usize = 0x268;

const VERSION_OLDEST: u16 = 0x20c;
/// A boot loader without a number of its own.
const LOADER_UNKNOWN: u8 = 0xff;
/// The kernel is loaded high; the heap's end is given.
const LOADED_HIGH: u8 = 0x01;
const CAN_USE_HEAP: u8 = 0x80;

/// The firmware keeps its tables at the end of memory; no initramfs may lie above 2 GiB. It lies
/// behind the memory that the kernel needs, so that the image of both is short.
const MEMORY_TOP: u64 = 1 << 20;
const RAMDISK_TOP: u64 = 0x7ff0_0000;
const RAMDISK_ALIGN: u64 = 1 << 20;

/// A piece of the guest's memory, from this address on.
pub(super) struct Piece {
    pub address: u32,
    pub content: Vec<u8>,
}

impl Piece {
    /// # Errors
    /// A sentence when it does not lie between where kernels begin and `end`, where the initramfs
    /// does.
    fn fits(&self, end: u32) -> Result<(), String> {
        let mine = u64::from(self.address)..u64::from(self.address) + self.content.len() as u64;
        if mine.start >= u64::from(KERNEL_ADDRESS) && mine.end <= u64::from(end) {
            return Ok(());
        }
        Err(format!(
            "a part of it belongs at {:#x} to {:#x}, and there is room for it at \
             {KERNEL_ADDRESS:#x} to {end:#x}",
            mine.start, mine.end
        ))
    }
}

/// What a guest boots.
pub(super) struct Boot {
    /// The kernel but for its real-mode code.
    pub kernel: Vec<Piece>,
    /// Where the initramfs belongs.
    pub initramfs_address: u32,
}

/// Writes the disk of `hardware` into the empty file `disk`; returns what lies in its memory.
pub(super) fn write(
    hardware: &Hardware,
    mut initramfs: &File,
    mut disk: &File,
) -> Result<Boot, Error> {
    let vmlinuz = &hardware.vmlinuz;
    let kernel = fs::read(vmlinuz).map_err(Error::io("read", vmlinuz))?;
    let image = Path::new("the initramfs");
    let length = initramfs
        .seek(SeekFrom::End(0))
        .map_err(Error::io("read", image))?;
    let refused = |reason: String| Error::NotForGuest {
        path: vmlinuz.clone(),
        reason,
    };
    let memory = u64::from(hardware.memory_mib) << 20;
    let kernel_end = kernel_end(&kernel).map_err(refused)?;
    let address =
        ramdisk_address(memory, kernel_end, length).ok_or_else(|| Error::NotForGuest {
            path: image.to_owned(),
            reason: format!(
                "its {} MiB and the kernel's {} MiB do not fit into {} MiB of memory; give the \
                 guest more (--memory MIB)",
                length.div_ceil(1 << 20),
                kernel_end.div_ceil(1 << 20),
                hardware.memory_mib
            ),
        })?;
    let (setup, rest) = prepare(&kernel, &hardware.arguments, address, length).map_err(refused)?;
    let at_entry = |content| Piece {
        address: KERNEL_ADDRESS,
        content,
    };
    let pieces = match vmlinux::unpack(payload(&kernel, rest)).map_err(refused)? {
        Some(unpacked) => {
            let whole = Piece {
                address: unpacked.address,
                content: unpacked.memory,
            };
            vec![at_entry(unpacked.enter), whole]
        }
        None => vec![at_entry(rest.to_vec())],
    };
    pieces
        .iter()
        .try_for_each(|piece| piece.fits(address))
        .map_err(refused)?;
    disk.write_all(&[BOOT_SECTOR, &setup[..]].concat())
        // The rest of it is a hole.
        .and_then(|()| disk.set_len(DISK_BYTES))
        .map_err(Error::io("write", Path::new("the guest's disk")))?;
    Ok(Boot {
        kernel: pieces,
        initramfs_address: address,
    })
}

/// The packed kernel in `rest`, which is `kernel` without its real-mode code.
fn payload<'a>(kernel: &[u8], rest: &'a [u8]) -> &'a [u8] {
    let [start, length] =
        [PAYLOAD_OFFSET, PAYLOAD_LENGTH].map(|at| u32::from_le_bytes(bytes(kernel, at)) as usize);
    rest.get(start..)
        .and_then(|from| from.get(..length))
        .unwrap_or_default()
}

/// The address of an initramfs of `length` bytes beside a kernel that needs the memory up to
/// `kernel_end`.
fn ramdisk_address(memory: u64, kernel_end: u64, length: u64) -> Option<u32> {
    let top = memory.checked_sub(MEMORY_TOP)?.min(RAMDISK_TOP);
    let address = kernel_end.checked_next_multiple_of(RAMDISK_ALIGN)?;
    let end = address.checked_add(length)?;
    u32::try_from(address).ok().filter(|_| end <= top)
}

/// Has the file the header of a kernel?
fn check_header(kernel: &[u8]) -> Result<(), String> {
    if kernel.len() < HEADER_END || kernel[MAGIC..MAGIC + 4] != *b"HdrS" {
        return Err("it is not a bootable x86 kernel image".to_owned());
    }
    Ok(())
}

/// The end of the memory that the kernel needs before it knows what else there is.
fn kernel_end(kernel: &[u8]) -> Result<u64, String> {
    check_header(kernel)?;
    let low = u32::from_le_bytes(bytes(kernel, PREFERRED_ADDRESS));
    let high = u32::from_le_bytes(bytes(kernel, PREFERRED_ADDRESS + 4));
    let needed = u32::from_le_bytes(bytes(kernel, MEMORY_NEEDED));
    if high != 0 {
        return Err(format!("it prefers to be at {high:#x}{low:08x}"));
    }
    let packed_end = u64::from(KERNEL_ADDRESS) + kernel.len() as u64;
    Ok(packed_end.max(u64::from(low) + u64::from(needed)))
}

/// The segment of real-mode code, with its header filled in and the command line after it, and the
/// rest of the kernel.
fn prepare<'a>(
    kernel: &'a [u8],
    arguments: &str,
    ramdisk: u32,
    ramdisk_bytes: u64,
) -> Result<(Vec<u8>, &'a [u8]), String> {
    check_header(kernel)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::devices::Devices;
    use proptest::prelude::*;
    use std::io::Read;

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
    fn the_disk_has_the_sector_and_the_real_mode_code() {
        assert_eq!(BOOT_SECTOR[510..], [0x55, 0xaa]);
        const { assert!(DISK_BYTES >= (SECTOR + SETUP_BYTES) as u64) };
        let folder = tempfile::tempdir().unwrap();
        let hardware = Hardware {
            cpus: 1,
            topology: None,
            memory_mib: 128,
            devices: Devices::default(),
            vmlinuz: folder.path().join("vmlinuz"),
            arguments: "quiet".to_owned(),
        };
        fs::write(&hardware.vmlinuz, kernel(b"kernel")).unwrap();
        let [mut initramfs, mut disk] = [(); 2].map(|()| tempfile::tempfile().unwrap());
        initramfs.write_all(b"initramfs").unwrap();
        let boot = write(&hardware, &initramfs, &disk).unwrap();

        let mut written = Vec::new();
        disk.seek(SeekFrom::Start(0)).unwrap();
        disk.read_to_end(&mut written).unwrap();
        assert_eq!(written.len() as u64, DISK_BYTES);
        assert_eq!(written[..SECTOR], BOOT_SECTOR[..]);
        let setup = &written[SECTOR..SECTOR + SETUP_BYTES];
        assert_eq!(setup[COMMAND_LINE..COMMAND_LINE + 6], *b"quiet\0");
        assert_eq!(
            bytes(setup, RAMDISK_IMAGE),
            boot.initramfs_address.to_le_bytes()
        );
        assert_eq!(bytes(setup, RAMDISK_SIZE), 9_u32.to_le_bytes());
        let [piece] = &boot.kernel[..] else {
            panic!("{} pieces", boot.kernel.len());
        };
        assert_eq!(
            (piece.address, &piece.content[..]),
            (KERNEL_ADDRESS, &b"kernel"[..])
        );
    }

    #[test]
    fn a_kernel_needs_what_it_says_or_where_it_is_packed() {
        let mut header = kernel(b"");
        let packed = u64::from(KERNEL_ADDRESS) + header.len() as u64;
        assert_eq!(kernel_end(&header), Ok(packed));
        header[PREFERRED_ADDRESS..][..4].copy_from_slice(&0x100_0000_u32.to_le_bytes());
        header[MEMORY_NEEDED..][..4].copy_from_slice(&0x300_0000_u32.to_le_bytes());
        assert_eq!(kernel_end(&header), Ok(0x400_0000));
        header[PREFERRED_ADDRESS + 4] = 1;
        assert!(kernel_end(&header).is_err() && kernel_end(b"MZ").is_err());
    }

    #[test]
    fn a_piece_lies_between_the_kernels_begin_and_the_initramfs() {
        let piece = |address| Piece {
            address,
            content: vec![0; 0x1000],
        };
        let end = KERNEL_ADDRESS + 0x3000;
        for address in [KERNEL_ADDRESS, KERNEL_ADDRESS + 0x2000] {
            assert_eq!(piece(address).fits(end), Ok(()));
        }
        for address in [0, KERNEL_ADDRESS - 1, KERNEL_ADDRESS + 0x2001, u32::MAX] {
            let error = piece(address).fits(end).unwrap_err();
            assert!(error.contains(&format!("{address:#x} to ")), "{error}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let address = |memory, kernel_end, length| ramdisk_address(memory, kernel_end, length);
        assert_eq!(address(1 << 30, (5 << 20) + 1, 1 << 20), Some(6 << 20));
        assert_eq!(address(8 << 20, 6 << 20, 1 << 20), Some(6 << 20));
        assert_eq!(address(8 << 20, 6 << 20, (1 << 20) + 1), None);
        assert_eq!(address(1 << 19, 1, 1), None);
        assert_eq!(address(4 << 30, 6 << 20, 2 << 30), None);
        assert_eq!(address(4 << 30, u64::MAX, 1), None);
        assert!(prepare(&kernel(b""), &"x".repeat(2048), 0, 0).is_err());
        assert!(prepare(b"MZ", "", 0, 0).is_err());
    }

    proptest! {
        #[test]
        fn any_file_is_prepared_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _ = (kernel_end(&bytes), prepare(&bytes, "quiet", 0, 0));
            let mut header = kernel(&bytes);
            header[SETUP_SECTORS] = bytes.first().copied().unwrap_or(0);
            if let Ok((_, rest)) = prepare(&header, "quiet", 0, 0) {
                let _ = payload(&header, rest);
            }
        }
    }
}
