// SPDX-License-Identifier: GPL-2.0-only
//! What a guest has beside CPUs and memory, when asked for: a disk, a network card.
//!
//! Both are virtio devices; their drivers are modules of Debian's kernels. They give access to
//! nothing of the host: the disk is empty and is deleted after the run, the network ends at QEMU.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;

/// Size of a disk's sectors.
const SECTOR_BYTES: u64 = 512;

/// Gives the card its address, then becomes the command.
const ADDRESS: &str = r#"ip address add 10.0.2.15/24 dev eth0 && ip link set eth0 up && exec "$@""#;

/// A guest's devices; by default none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Devices {
    /// Size of the disk, `/dev/vda`.
    pub disk_bytes: Option<u64>,
    /// What the card `eth0` is plugged into.
    pub network: Option<Network>,
}

/// What a network card is plugged into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// QEMU's own: eth0 is 10.0.2.15, the gateway 10.0.2.2 answers, nothing else
    User,
}

impl Devices {
    /// The modules that the guest needs to see them.
    pub fn modules(self) -> impl Iterator<Item = &'static str> {
        let disk = self.disk_bytes.map(|_| "virtio_blk");
        disk.into_iter().chain(self.network.map(|_| "virtio_net"))
    }

    /// The command, after the set-up that the devices need: the card gets the address that QEMU's
    /// user network has for its guest. This is not in the guest's init, because guests without a
    /// card have the same init: where figures repeat, each further byte of it would change them.
    pub fn set_up_for(self, command: &[OsString]) -> Vec<OsString> {
        let first = self
            .network
            .map(|Network::User| ["sh", "-c", ADDRESS, "sh"]);
        let first = first.iter().flatten().map(OsString::from);
        first.chain(command.iter().cloned()).collect()
    }

    /// The first device that was asked for, in words, and its option.
    pub fn first(self) -> Option<(&'static str, &'static str)> {
        let disk = self.disk_bytes.map(|_| ("disk", "--disk"));
        disk.or(self.network.map(|_| ("network card", "--network")))
    }
}

/// Reads a disk's size, in bytes: `64M`, `2G`; as of qemu-img, a letter is a power of 1024.
///
/// # Errors
/// When the text is not a size, or no disk can have that size.
pub fn disk_size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        Some((at, 'T' | 't')) => (&text[..at], 40),
        _ => (text, 0),
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| "a size is a number and K, M, G or T: 64M".to_owned())?;
    // The system calls have signed sizes.
    let bytes = number
        .checked_mul(1 << shift)
        .filter(|bytes| i64::try_from(*bytes).is_ok())
        .ok_or("no file can be so large")?;
    if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) {
        return Err(format!(
            "a disk has whole sectors of {SECTOR_BYTES} bytes, at least one"
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_those_of_qemu_img() {
        for (text, bytes) in [
            ("512", 512),
            ("8k", 8192),
            ("64M", 64 << 20),
            ("2G", 2 << 30),
            ("1T", 1 << 40),
        ] {
            assert_eq!(disk_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "0", "0G", "513", "-1M", "1.5G", "1 G", "1GB", "9é"] {
            assert!(disk_size(text).is_err(), "{text}");
        }
        assert!(disk_size("8388608T").unwrap_err().contains("so large"));
    }

    #[test]
    fn each_device_has_its_driver() {
        let none = Devices::default();
        assert_eq!((none.modules().count(), none.first()), (0, None));
        let both = Devices {
            disk_bytes: Some(512),
            network: Some(Network::User),
        };
        let modules: Vec<_> = both.modules().collect();
        assert_eq!(modules, ["virtio_blk", "virtio_net"]);
        assert_eq!(both.first(), Some(("disk", "--disk")));
        let command = ["uname".into()];
        assert_eq!(none.set_up_for(&command), command);
        assert_eq!(both.set_up_for(&command).last(), Some(&command[0]));
    }

    proptest! {
        #[test]
        fn any_words_are_a_size_or_refused(text in "\\PC{0,6}|[0-9]{1,22}[kKmMgGtT]?") {
            if let Ok(bytes) = disk_size(&text) {
                prop_assert!(bytes >= SECTOR_BYTES && i64::try_from(bytes).is_ok());
            }
        }
    }
}
