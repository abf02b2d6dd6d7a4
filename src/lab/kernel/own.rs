// SPDX-License-Identifier: GPL-2.0-only
//! A kernel image of the user's own, from wherever it is, with or without a folder of its modules.
//!
//! What it is stands in the image itself, where the boot protocol puts it:
//! `Documentation/arch/x86/boot.rst`, `kernel_version`.

use super::config::Config;
use super::{Facts, Flavour, Kernel, Modules, config_of};
use crate::Error;
use crate::distribution::Distro;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// The mark of a bootable image, and where it is.
const MAGIC: (usize, &[u8]) = (0x202, b"HdrS");
/// Where the place of the version is said, less 0x200.
const VERSION_AT: usize = 0x20e;
/// Enough to hold the version in every image.
const HEAD_BYTES: u64 = 64 * 1024;
/// A path has it, and a name has not.
const SEPARATOR: char = '/';

/// Is `name` the path of an image, rather than the name of a release?
pub fn is_path(name: &str) -> bool {
    name.contains(SEPARATOR)
}

/// The kernel in an image of the user's own. `modules` is the folder that holds them, such as
/// `/lib/modules/RELEASE`.
///
/// # Errors
/// When it is no image for PCs, or cannot be read, or no mirror of apt is known (emulators come
/// from there).
pub fn kernel(
    distribution: &dyn Distro,
    vmlinuz: &Path,
    modules: Option<&Path>,
) -> Result<Kernel, Error> {
    let mut head = Vec::new();
    File::open(vmlinuz)
        .and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head))
        .map_err(Error::io("read", vmlinuz))?;
    let version = version(&head).ok_or_else(|| Error::NotAKernel(vmlinuz.to_owned()))?;
    let release = version.split_whitespace().next().unwrap_or_default();
    let config = config_of(vmlinuz, release)
        .and_then(|path| fs::read_to_string(path).ok())
        .map(Config::new);
    let facts = Facts {
        release: release.to_owned(),
        flavour: match version.contains("PREEMPT_RT") {
            true => Flavour::Rt,
            false => Flavour::Normal,
        },
        package: vmlinuz.display().to_string(),
        version: version.clone(),
        suite: "none: the user's own".to_owned(),
        mirror: distribution.mirror()?,
        sched_ext: config.as_ref().map(Config::sched_ext),
        preemption: config
            .and_then(|config| config.preemption())
            .map(str::to_owned),
        packages: Vec::new(),
    };
    Ok(Kernel {
        facts,
        vmlinuz: vmlinuz.to_owned(),
        modules: match modules {
            Some(folder) => Modules::Folder(folder.to_owned()),
            None => Modules::Unknown,
        },
    })
}

/// What the kernel in an image that begins with `head` says of itself; none: it is no image.
fn version(head: &[u8]) -> Option<String> {
    let (at, magic) = MAGIC;
    if head.get(at..at + magic.len())? != magic {
        return None;
    }
    let at = u16::from_le_bytes(head.get(VERSION_AT..VERSION_AT + 2)?.try_into().ok()?);
    let text = head.get(0x200 + usize::from(at)..)?;
    let text = text.split(|byte| *byte == 0).next()?;
    let text = String::from_utf8_lossy(text).trim().to_owned();
    (at != 0 && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debian::kernel::Kernels;
    use crate::host::cache::Cache;

    fn image(text: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 0x400];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[VERSION_AT] = 0x80;
        image[0x280..0x280 + text.len()].copy_from_slice(text);
        image
    }

    #[test]
    fn a_path_is_no_name() {
        assert!(is_path("./vmlinuz") && is_path("/boot/vmlinuz-7"));
        assert!(!is_path("newest-rt"));
    }

    #[test]
    fn an_image_says_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("vmlinuz");
        fs::write(&file, image(b"7.9.1-me (me@home) #1 SMP PREEMPT_RT Tue\0")).unwrap();
        fs::write(
            folder.path().join("config-7.9.1-me"),
            "CONFIG_SCHED_CLASS_EXT=y\nCONFIG_PREEMPT_RT=y\n",
        )
        .unwrap();
        let mirror = Some("http://mirror.example/debian".to_owned());
        let kernels = Kernels::new(Cache::at(folder.path().join("cache")).unwrap(), mirror);
        let own = kernel(&kernels, &file, None).unwrap();
        assert_eq!(own.facts.release, "7.9.1-me");
        assert_eq!(own.facts.flavour, Flavour::Rt);
        assert_eq!(own.facts.sched_ext, Some(true));
        assert_eq!(own.facts.preemption.as_deref(), Some("rt"));
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("vmlinux");
        let kernels = Kernels::new(Cache::at(folder.path().join("cache")).unwrap(), None);
        for content in [&b"\x7fELF"[..], &image(b"")] {
            fs::write(&file, content).unwrap();
            let refused = kernel(&kernels, &file, None);
            assert!(matches!(refused, Err(Error::NotAKernel(path)) if path == file));
        }
        let missing = kernel(&kernels, Path::new("/no/such/vmlinuz"), None);
        assert!(matches!(missing, Err(Error::Io { .. })));
    }
}
