// SPDX-License-Identifier: GPL-2.0-only
//! How the running kernel was built.
//!
//! The kernel shows it itself (`CONFIG_IKCONFIG_PROC`), or the distribution has installed a file
//! with it. Source: `Documentation/kbuild/kconfig.rst`.

use super::Root;
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::io::Read;

/// Where the kernel shows it.
const OWN: &str = "/proc/config.gz";
/// A real one has some 300 KiB; a much larger file is something else.
const SIZE_MAX: u64 = 8 << 20;

/// The options that are set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildConfig {
    /// The file that they were read from.
    pub file: String,
    options: BTreeMap<String, String>,
}

impl BuildConfig {
    /// Reads the configuration of this release; none where this machine does not have it.
    pub fn read(root: &Root, release: &str) -> Option<Self> {
        let installed = || {
            let files = [
                format!("/boot/config-{release}"),
                format!("/lib/modules/{release}/config"),
            ];
            files
                .into_iter()
                .find_map(|file| Some((root.hint(&file)?, file)))
        };
        let (text, file) = own(root)
            .map(|text| (text, OWN.to_owned()))
            .or_else(installed)?;
        Some(Self {
            options: parse(&text),
            file,
        })
    }

    /// Whether the option is built in (`=y`).
    pub fn is_set(&self, option: &str) -> bool {
        self.options.get(option).is_some_and(|value| value == "y")
    }

    /// The number that the option is set to.
    pub fn number(&self, option: &str) -> Option<u32> {
        self.options.get(option)?.parse().ok()
    }
}

fn own(root: &Root) -> Option<String> {
    let file = std::fs::File::open(root.path(OWN)).ok()?;
    let mut text = String::new();
    GzDecoder::new(file)
        .take(SIZE_MAX)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

fn parse(text: &str) -> BTreeMap<String, String> {
    let options = text.lines().filter_map(|line| line.split_once('='));
    options
        .filter(|(name, _)| name.starts_with("CONFIG_"))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;
    use std::io::Write;

    const INSTALLED: (&str, &str) = (
        "boot/config-7.2",
        "# CONFIG_KASAN is not set\nCONFIG_SMP=y\nCONFIG_HZ=250\nCONFIG_EXT4=m\n",
    );

    #[test]
    fn the_installed_file_is_read() {
        let (_folder, root) = canned(&[INSTALLED]);
        let config = BuildConfig::read(&root, "7.2").unwrap();
        assert_eq!(config.file, "/boot/config-7.2");
        assert!(config.is_set("CONFIG_SMP"));
        assert!(!config.is_set("CONFIG_KASAN") && !config.is_set("CONFIG_EXT4"));
        assert_eq!(config.number("CONFIG_HZ"), Some(250));
        assert_eq!(BuildConfig::read(&root, "7.3"), None);
    }

    #[test]
    fn the_kernels_own_file_comes_first_and_a_damaged_file_is_skipped() {
        let (_folder, root) = canned(&[INSTALLED, ("proc/version", "")]);
        std::fs::write(root.path(OWN), "not compressed").unwrap();
        let config = BuildConfig::read(&root, "7.2").unwrap();
        assert_eq!(config.file, "/boot/config-7.2");
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(b"CONFIG_HZ=1000\n").unwrap();
        std::fs::write(root.path(OWN), packed.finish().unwrap()).unwrap();
        let config = BuildConfig::read(&root, "7.2").unwrap();
        assert_eq!(config.number("CONFIG_HZ"), Some(1000));
        assert_eq!(config.file, OWN);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(CONFIG_[A-Z]{0,3}=?.{0,9}\n?){0,4}") {
            parse(&text);
        }
    }
}
