// SPDX-License-Identifier: GPL-2.0-only
//! A file that the user adds to a guest: `--file HOSTPATH[:GUESTPATH]`.

use crate::Error;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Where a file goes when no guest path is given; the first folder of the guest's `PATH`.
const FILES: &str = "/files";

/// A host file that a run adds to the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFile {
    /// File on the host.
    pub host: PathBuf,
    /// Absolute path in the guest.
    pub guest: PathBuf,
}

impl GuestFile {
    /// Reads `HOSTPATH[:GUESTPATH]`; without a guest path it goes to `/files`, which is in `PATH`.
    ///
    /// # Errors
    /// When the guest path is not that of a file, or goes up with "..".
    pub fn parse(words: &OsStr) -> Result<Self, Error> {
        let bytes = words.as_bytes();
        // The guest's path is absolute, so any other colon belongs to the host's path.
        let split = memchr::memmem::rfind(bytes, b":/");
        let (host, guest) = match split {
            Some(at) if at > 0 => (&bytes[..at], Some(&bytes[at + 1..])),
            _ => (bytes, None),
        };
        let host = PathBuf::from(OsStr::from_bytes(host));
        let refused = |reason: &str| Error::NotForGuest {
            path: PathBuf::from(words),
            reason: reason.to_owned(),
        };
        let guest = match guest {
            Some(guest) => PathBuf::from(OsStr::from_bytes(guest)),
            None => Path::new(FILES).join(
                host.file_name()
                    .ok_or_else(|| refused("it has no file name"))?,
            ),
        };
        let plain = |part: Component| matches!(part, Component::RootDir | Component::Normal(_));
        if guest.file_name().is_none() || !guest.components().all(plain) {
            return Err(refused("its guest path must be a file's, without \"..\""));
        }
        Ok(Self { host, guest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<GuestFile, Error> {
        GuestFile::parse(OsStr::new(words))
    }

    #[test]
    fn guest_files_have_a_host_and_a_guest_path() {
        let file = parse("target/tool").unwrap();
        assert_eq!(file.guest, Path::new("/files/tool"));
        let file = parse("a:b:/etc/c").unwrap();
        assert_eq!((file.host, file.guest), ("a:b".into(), "/etc/c".into()));
        for bad in ["..", "/", "a:/", "a:/etc/../b", "a:/.."] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
