// SPDX-License-Identifier: GPL-2.0-only
//! Debian's packages of a kernel: which files are taken out of them, and what they say about it.

use super::apt::Apt;
use super::index::Offer;
use super::kernel::SUITES;
use crate::Error;
use crate::host::cache::Cache;
use crate::host::tool;
use crate::kernel::config::Config;
use crate::kernel::{Facts, Package};
use crate::progress::Progress;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Drivers that the guest needs before it can load a module.
const NEEDED: [&str; 3] = [
    "CONFIG_VIRTIO_PCI",
    "CONFIG_VIRTIO_CONSOLE",
    "CONFIG_SERIAL_8250_CONSOLE",
];

/// The name under which a file of a package is kept, by its path there; none when it is not kept.
pub(super) type Place<'a> = &'a dyn Fn(&Path) -> Option<PathBuf>;

/// Fetches `offer` and puts its `vmlinuz` and, where there is one, its `config` into `folder`. The
/// caller holds the cache's lock.
///
/// # Errors
/// When they cannot be fetched or unpacked.
pub fn download(
    cache: &Cache,
    offer: &Offer,
    mirror: &str,
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<(), Error> {
    let place = |path: &Path| place_of(path, &offer.release).map(PathBuf::from);
    let what = &offer.release;
    download_files(
        cache,
        mirror,
        what,
        &offer.packages,
        folder,
        &place,
        progress,
    )
}

/// Fetches `packages` and keeps those of their files to which `place` gives a name below `folder`.
/// The progress line calls them `what`.
///
/// The caller holds the cache's lock.
pub(super) fn download_files(
    cache: &Cache,
    mirror: &str,
    what: &str,
    packages: &[Package],
    folder: &Path,
    place: Place<'_>,
    progress: &mut dyn Progress,
) -> Result<(), Error> {
    let archives = folder.join("packages");
    fs::create_dir(&archives).map_err(Error::io("create", &archives))?;
    Apt::new(cache, SUITES)?.download(mirror, what, packages, &archives, progress)?;
    for entry in fs::read_dir(&archives).map_err(Error::io("read", &archives))? {
        let file = entry.map_err(Error::io("read", &archives))?.path();
        if file.extension() == Some(OsStr::new("deb")) {
            unpack(&file, place, folder)?;
        }
    }
    fs::remove_dir_all(&archives).map_err(Error::io("remove", &archives))
}

/// Takes the wanted files out of a Debian package.
fn unpack(package: &Path, place: Place<'_>, folder: &Path) -> Result<(), Error> {
    let mut dpkg = Command::new(tool::find("dpkg-deb", "dpkg")?);
    let mut child = dpkg
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Error::io("unpack", package))?;
    let kept = match child.stdout.take() {
        Some(pipe) => keep(pipe, place, folder),
        None => Ok(()),
    };
    let ended = child
        .wait_with_output()
        .map_err(Error::io("unpack", package))?;
    // A failure here makes dpkg-deb fail too, so this reason comes first.
    kept.map_err(Error::io("unpack", package))?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
    Err(Error::io("unpack", package)(std::io::Error::other(said)))
}

/// Copies the wanted files of an archive into `folder`.
fn keep(archive: impl Read, place: Place<'_>, folder: &Path) -> std::io::Result<()> {
    let mut archive = tar::Archive::new(archive);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = place(&entry.path()?);
        if let Some(name) = name {
            std::io::copy(&mut entry, &mut fs::File::create(folder.join(name))?)?;
        }
    }
    // Padding follows the last entry; dpkg-deb fails when nobody reads it.
    std::io::copy(&mut archive.into_inner(), &mut std::io::sink())?;
    Ok(())
}

/// The name under which a file of a kernel package is kept; none when it is not kept.
fn place_of(path: &Path, release: &str) -> Option<&'static str> {
    let path = path.strip_prefix(".").unwrap_or(path);
    let folder = Path::new("usr/lib/modules").join(release);
    ["vmlinuz", "config"].into_iter().find(|name| {
        path == folder.join(name) || path == Path::new("boot").join(format!("{name}-{release}"))
    })
}

/// What is known about the kernel that [`download`] put into `folder`.
///
/// # Errors
/// When it has no image, or lacks a driver that every guest needs.
pub fn facts(offer: &Offer, mirror: &str, folder: &Path) -> Result<Facts, Error> {
    let package = offer
        .packages
        .first()
        .map_or_else(String::new, |package| package.name.clone());
    if !folder.join("vmlinuz").exists() {
        return Err(Error::NoImage { package });
    }
    // 6.19 to 7.1: the archive still has the image, but not the package with the configuration.
    let config = fs::read_to_string(folder.join("config"))
        .ok()
        .map(Config::new);
    for option in NEEDED {
        if config
            .as_ref()
            .is_some_and(|config| !config.built_in(option))
        {
            return Err(Error::KernelLacks {
                release: offer.release.clone(),
                option,
            });
        }
    }
    Ok(Facts {
        release: offer.release.clone(),
        flavour: offer.flavour,
        package,
        version: offer.version().to_owned(),
        suite: offer.suite.clone(),
        mirror: mirror.to_owned(),
        sched_ext: config.as_ref().map(Config::sched_ext),
        preemption: config
            .as_ref()
            .and_then(Config::preemption)
            .map(str::to_owned),
        packages: offer.packages.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Flavour;

    #[test]
    fn only_the_image_and_its_configuration_are_kept() {
        let place = |path: &str| place_of(Path::new(path), "7.3-amd64");
        assert_eq!(
            place("./usr/lib/modules/7.3-amd64/vmlinuz"),
            Some("vmlinuz")
        );
        assert_eq!(place("./boot/config-7.3-amd64"), Some("config"));
        for other in [
            "./boot/vmlinuz-7.4-amd64",
            "./usr/lib/modules/7.3-amd64/kernel/vmlinuz",
            "../vmlinuz",
        ] {
            assert_eq!(place(other), None, "{other}");
        }
    }

    #[test]
    fn a_kernel_the_guest_cannot_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let offer = Offer {
            release: "7.3-amd64".to_owned(),
            flavour: Flavour::Normal,
            suite: "sid".to_owned(),
            packages: Vec::new(),
            modules: Vec::new(),
        };
        let facts = || facts(&offer, "http://mirror.example/debian", folder.path());
        assert!(matches!(facts(), Err(Error::NoImage { .. })));
        fs::write(folder.path().join("vmlinuz"), "image").unwrap();
        assert_eq!(facts().unwrap().sched_ext, None);

        let needed = NEEDED.map(|option| format!("{option}=y\n")).concat();
        let config = folder.path().join("config");
        fs::write(&config, &needed).unwrap();
        assert_eq!(facts().unwrap().sched_ext, Some(false));
        fs::write(&config, format!("{needed}CONFIG_SCHED_CLASS_EXT=y\n")).unwrap();
        assert_eq!(facts().unwrap().sched_ext, Some(true));
        fs::write(
            &config,
            needed.replace("VIRTIO_CONSOLE=y", "VIRTIO_CONSOLE=m"),
        )
        .unwrap();
        let error = facts().unwrap_err().to_string();
        assert!(error.contains("CONFIG_VIRTIO_CONSOLE"), "{error}");
    }
}
