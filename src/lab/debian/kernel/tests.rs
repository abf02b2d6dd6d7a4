// SPDX-License-Identifier: GPL-2.0-only
//! Tests of kernels in the cache, and canned ones for other tests.

use super::*;
use crate::progress::Silent;

/// Puts a kernel into the cache.
pub(crate) fn kernel(cache: &Cache, release: &str, flavour: Flavour, version: &str) {
    let folder = cache
        .folder(&format!("kernels/{release}_{version}"))
        .unwrap();
    let facts = Facts {
        release: release.to_owned(),
        flavour,
        package: format!("linux-binary-{release}"),
        version: version.to_owned(),
        suite: "sid".to_owned(),
        mirror: "http://mirror.example/debian".to_owned(),
        sched_ext: Some(true),
        preemption: None,
        packages: Vec::new(),
    };
    fs::write(
        folder.join("kernel.json"),
        serde_json::to_vec(&facts).unwrap(),
    )
    .unwrap();
    fs::write(folder.join("vmlinuz"), "image").unwrap();
    fs::write(folder.join("config"), "CONFIG_HZ=250\n").unwrap();
}

/// Writes what the suites offered so many seconds ago.
pub(crate) fn index(cache: &Cache, age_s: u64, releases: &[&str]) {
    let offer = |release: &&str| Offer {
        release: (*release).to_owned(),
        flavour: Flavour::Normal,
        suite: "sid".to_owned(),
        packages: vec![Package {
            name: format!("linux-binary-{release}"),
            version: "2-1".to_owned(),
            size_bytes: 1,
            sha256: String::new(),
        }],
        modules: Vec::new(),
    };
    let index = Index {
        refreshed_s: now_s() - age_s,
        mirror: "http://mirror.example/debian".to_owned(),
        offers: releases.iter().map(offer).collect(),
    };
    let path = cache.path("index.json").unwrap();
    cache
        .write_file(&path, &serde_json::to_vec(&index).unwrap())
        .unwrap();
}

fn canned() -> (tempfile::TempDir, Cache, Kernels) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().to_owned()).unwrap();
    let kernels = Kernels::new(cache.clone(), None);
    (folder, cache, kernels)
}

#[test]
fn every_name_of_a_kernel_means_it() {
    let normal = Request::Newest(Flavour::Normal);
    assert_eq!(Request::of("newest"), normal);
    assert_eq!(Request::of("linux-image-amd64"), normal);
    assert_eq!(
        Request::of("linux-image-rt-amd64"),
        Request::of("newest-rt")
    );
    let release = Request::Release("7.3.4+deb13-amd64".to_owned());
    for name in [
        "7.3.4+deb13-amd64",
        "linux-image-7.3.4+deb13-amd64",
        "linux-binary-7.3.4+deb13-amd64",
    ] {
        assert_eq!(Request::of(name), release);
    }
}

#[test]
fn a_series_is_its_newest_kernel_of_one_flavour() {
    let series = Request::of("6.18-rt");
    assert!(series.means("6.18.15+deb13-rt-amd64", Flavour::Rt));
    assert!(!series.means("6.18.15+deb13-amd64", Flavour::Normal));
    assert!(!series.means("6.1.18-rt-amd64", Flavour::Rt));
    assert!(Request::of("6.1").means("6.1.18-amd64", Flavour::Normal));
    assert_eq!(
        Request::of("6.18.15"),
        Request::Release("6.18.15".to_owned())
    );
}

#[test]
fn a_cached_kernel_needs_no_mirror() {
    let (_folder, cache, kernels) = canned();
    kernel(&cache, "2.0-amd64", Flavour::Normal, "2-1");
    index(&cache, 60, &["1.0-amd64", "2.0-amd64"]);
    let found = kernels.resolve("newest", &mut Silent).unwrap();
    assert_eq!(found.facts.release, "2.0-amd64");
}

#[test]
fn an_unknown_name_is_refused_with_the_names_that_exist() {
    let (_folder, cache, kernels) = canned();
    index(&cache, 60, &["1.0-amd64", "2.0-amd64"]);
    let error = kernels.resolve("3.0-amd64", &mut Silent).unwrap_err();
    assert!(matches!(error, Error::UnknownKernel { .. }));
    assert!(error.to_string().contains("2.0-amd64, 1.0-amd64"));
}

#[test]
fn a_mirror_that_the_user_names_is_not_replaced_by_the_cache() {
    let (_folder, cache, own) = canned();
    kernel(&cache, "2.0-amd64", Flavour::Normal, "2-1");
    let named = Kernels::new(cache.clone(), Some("zzz".to_owned()));
    let error = named.list(&mut Silent).unwrap_err();
    assert!(error.to_string().contains("http://"), "{error}");
    assert!(named.resolve("newest", &mut Silent).is_err());
    for error in [|| Error::NoMirror, unreachable] {
        assert!(!named.is_mirror_missing(&error()));
        assert!(own.is_mirror_missing(&error()));
    }
    // Nothing that is cached is lost by that.
    index(&cache, 60, &["2.0-amd64"]);
    assert!(own.resolve("newest", &mut Silent).is_ok());
}

fn unreachable() -> Error {
    Error::Program {
        program: "apt-get update".to_owned(),
        reason: "cannot connect".to_owned(),
    }
}

#[test]
fn an_old_index_or_one_of_another_mirror_is_not_used() {
    let (_folder, cache, kernels) = canned();
    let path = cache.path("index.json").unwrap();
    index(&cache, 60, &[]);
    assert!(kernels.fresh_index(&path, INDEX_AGE_MAX).is_some());
    let other = Kernels::new(cache.clone(), Some("http://other.example/".to_owned()));
    assert!(other.fresh_index(&path, INDEX_AGE_MAX).is_none());
    index(&cache, 25 * 60 * 60, &[]);
    assert!(kernels.fresh_index(&path, INDEX_AGE_MAX).is_none());
    fs::write(&path, "{ damaged").unwrap();
    assert!(kernels.fresh_index(&path, INDEX_AGE_MAX).is_none());
}

#[test]
fn the_list_joins_offers_and_cache() {
    let (_folder, cache, kernels) = canned();
    kernel(&cache, "1.0-rt-amd64", Flavour::Rt, "1-1");
    kernel(&cache, "2.0-amd64", Flavour::Normal, "2-1");
    index(&cache, 60, &["1.9-amd64", "2.0-amd64"]);
    let listed = kernels.list(&mut Silent).unwrap();
    let seen: Vec<_> = listed
        .iter()
        .map(|kernel| {
            let offered = kernel.download_bytes.is_some();
            (
                kernel.release.as_str(),
                kernel.newest,
                kernel.cached,
                offered,
                kernel.sched_ext,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("2.0-amd64", true, true, true, Some(true)),
            ("1.9-amd64", false, false, true, None),
            ("1.0-rt-amd64", true, true, false, Some(true)),
        ]
    );
}
