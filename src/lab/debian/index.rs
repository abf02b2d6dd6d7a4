// SPDX-License-Identifier: GPL-2.0-only
//! Which kernels the suites offer, read from their package lists.
//!
//! The packages of a kernel have changed. Up to 6.18 `linux-image-<release>` holds the image. Later
//! it only refers to `linux-binary-<release>` (the image) and, from 7.2 on, to
//! `linux-base-<release>` (its configuration). Modules are beside the image first, later in
//! `linux-modules-<release>`; they are fetched only when asked for: the drivers that every guest
//! needs are built in.

use super::version;
use crate::Error;
use crate::kernel::{Flavour, Package};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A kernel that a suite offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// What `uname -r` says when it runs.
    pub release: String,
    /// Which build.
    pub flavour: Flavour,
    /// Suite that offers it.
    pub suite: String,
    /// What to download; the first holds the image.
    pub packages: Vec<Package>,
    /// What holds its modules; empty when the suite has dropped it.
    pub modules: Vec<Package>,
}

impl Offer {
    /// Version of the package that holds the image.
    pub fn version(&self) -> &str {
        self.packages
            .first()
            .map_or("", |package| package.version.as_str())
    }

    /// Size of all downloads, bytes.
    pub fn size_bytes(&self) -> u64 {
        self.packages.iter().map(|package| package.size_bytes).sum()
    }
}

/// All offers, with the time and mirror of their lists.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Index {
    /// When the lists were fetched, seconds since 1970.
    pub refreshed_s: u64,
    /// Mirror they were read from.
    pub mirror: String,
    /// Oldest version first.
    pub offers: Vec<Offer>,
}

/// Flavour of a release such as `7.3.4+deb13-rt-amd64`; none for cloud kernels and other
/// builds.
pub(super) fn flavour(release: &str) -> Option<Flavour> {
    let base = release.strip_suffix("-amd64")?;
    match base.strip_suffix("-rt") {
        Some(version) if !version.contains('-') => Some(Flavour::Rt),
        None if !base.contains('-') => Some(Flavour::Normal),
        _ => None,
    }
}

/// Finds the kernels in package lists (suite, text), oldest version first.
///
/// A release that several suites offer is taken from the suite with the highest version.
///
/// # Errors
/// When dpkg cannot compare versions.
pub fn offers(lists: &[(String, String)]) -> Result<Vec<Offer>, Error> {
    let mut found = Vec::new();
    for (suite, text) in lists {
        found.extend(offers_of_suite(suite, text));
    }
    version::sort(&mut found, Offer::version)?;
    // Later means newer: the last of a release stays, and so does the order.
    let last: BTreeMap<String, usize> = found
        .iter()
        .enumerate()
        .map(|(at, offer)| (offer.release.clone(), at))
        .collect();
    let mut at = 0;
    found.retain(|offer| {
        at += 1;
        last.get(&offer.release) == Some(&(at - 1))
    });
    Ok(found)
}

fn offers_of_suite(suite: &str, text: &str) -> Vec<Offer> {
    let mut packages: BTreeMap<&str, Package> = BTreeMap::new();
    for stanza in text.split("\n\n") {
        if let Some(package) = kernel_package(stanza) {
            packages.insert(field(stanza, "Package").unwrap_or_default(), package);
        }
    }
    let releases = packages
        .keys()
        .filter_map(|name| name.strip_prefix("linux-image-"));
    releases
        .filter_map(|release| {
            let package = |kind: &str| packages.get(format!("linux-{kind}-{release}").as_str());
            let (image, configuration, modules) = match package("binary") {
                Some(binary) => (binary, package("base"), package("modules")),
                None => (package("image")?, None, package("image")),
            };
            Some(Offer {
                release: release.to_owned(),
                flavour: flavour(release)?,
                suite: suite.to_owned(),
                packages: [Some(image), configuration]
                    .into_iter()
                    .flatten()
                    .cloned()
                    .collect(),
                modules: modules.into_iter().cloned().collect(),
            })
        })
        .collect()
}

/// The package that a stanza describes, if it belongs to a kernel.
fn kernel_package(stanza: &str) -> Option<Package> {
    let name = field(stanza, "Package")?;
    // linux-image-amd64 and the like mean the newest kernel; releases start with a digit.
    ["image", "binary", "base", "modules"]
        .iter()
        .find_map(|kind| {
            name.strip_prefix("linux-")?
                .strip_prefix(kind)?
                .strip_prefix('-')
        })
        .filter(|release| release.starts_with(|letter: char| letter.is_ascii_digit()))?;
    Some(Package {
        name: name.to_owned(),
        version: field(stanza, "Version")?.to_owned(),
        size_bytes: field(stanza, "Size")?.parse().ok()?,
        sha256: field(stanza, "SHA256")?.to_owned(),
    })
}

/// Value of a one-line field of a stanza.
fn field<'a>(stanza: &'a str, name: &str) -> Option<&'a str> {
    stanza
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stanza(name: &str, version: &str) -> String {
        format!(
            "Package: {name}\nSource: linux\nVersion: {version}\nDescription: a\n kernel\nSize: 100\nSHA256: ab\n\n"
        )
    }

    fn lists() -> Vec<(String, String)> {
        let backports = [
            stanza("bash", "5"),
            stanza("linux-image-6.18.5+deb13-amd64", "6.18.5-1~bpo13+1"),
            stanza("linux-image-7.1.3+deb13-amd64", "7.1.3-1~bpo13+1"),
            stanza("linux-binary-7.1.3+deb13-amd64", "7.1.3-1~bpo13+1"),
            stanza("linux-image-7.1.3+deb13-cloud-amd64", "7.1.3-1~bpo13+1"),
            stanza("linux-image-7.1.3+deb13-amd64-dbg", "7.1.3-1~bpo13+1"),
            stanza("linux-image-amd64", "7.3.4-1~bpo13+1"),
        ];
        let sid = [
            stanza("linux-base-7.2.13+deb14-rt-amd64", "7.2.13-1"),
            stanza("linux-binary-7.2.13+deb14-rt-amd64", "7.2.13-1"),
            stanza("linux-image-7.2.13+deb14-rt-amd64", "7.2.13-1"),
            stanza("linux-modules-7.2.13+deb14-rt-amd64", "7.2.13-1"),
            stanza("linux-image-6.18.5+deb13-amd64", "6.18.5-2"),
        ];
        vec![
            ("trixie-backports".to_owned(), backports.concat()),
            ("sid".to_owned(), sid.concat()),
        ]
    }

    #[test]
    fn kernels_are_found_in_order_each_once() {
        let offers = offers(&lists()).unwrap();
        let seen: Vec<_> = offers
            .iter()
            .map(|offer| (offer.release.as_str(), offer.suite.as_str(), offer.flavour))
            .collect();
        assert_eq!(
            seen,
            [
                ("6.18.5+deb13-amd64", "sid", Flavour::Normal),
                ("7.1.3+deb13-amd64", "trixie-backports", Flavour::Normal),
                ("7.2.13+deb14-rt-amd64", "sid", Flavour::Rt),
            ]
        );
    }

    #[test]
    fn old_and_new_packages_are_understood() {
        let offers = offers(&lists()).unwrap();
        let modules: Vec<Option<&str>> = offers
            .iter()
            .map(|offer| offer.modules.first().map(|one| one.name.as_str()))
            .collect();
        assert_eq!(
            modules,
            [
                Some("linux-image-6.18.5+deb13-amd64"),
                None,
                Some("linux-modules-7.2.13+deb14-rt-amd64"),
            ]
        );
        let names: Vec<Vec<String>> = offers
            .into_iter()
            .map(|offer| offer.packages.into_iter().map(|one| one.name).collect())
            .collect();
        assert_eq!(
            names,
            [
                vec!["linux-image-6.18.5+deb13-amd64"],
                vec!["linux-binary-7.1.3+deb13-amd64"],
                vec![
                    "linux-binary-7.2.13+deb14-rt-amd64",
                    "linux-base-7.2.13+deb14-rt-amd64"
                ],
            ]
        );
    }

    #[test]
    fn flavours_come_from_the_release() {
        assert_eq!(flavour("7.3.4+deb13-amd64"), Some(Flavour::Normal));
        assert_eq!(flavour("7.3.4+deb13-rt-amd64"), Some(Flavour::Rt));
        for other in [
            "7.3.4+deb13-cloud-amd64",
            "7.3.4+deb13-amd64-dbg",
            "7.3.4+deb13-arm64",
        ] {
            assert_eq!(flavour(other), None, "{other}");
        }
    }
}
