// SPDX-License-Identifier: GPL-2.0-only
//! Samples that have been measured, each under the hash of the guest that gave it: one file in the
//! lab's cache, complete or not there. A sample that is there is not measured again.

use super::caches::Seen;
use crate::Error;
use crate::host::cache::Cache;
use artis_guest::experiment::Sample;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The folder in the cache.
const FOLDER: &str = "samples";

/// What is kept of one guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    pub sample: Sample,
    /// Release and package version of its kernel.
    pub kernel: String,
    /// The emulator's name and version.
    pub engine_version: String,
    /// How long it took on this machine, seconds.
    pub host_seconds: f64,
    /// What its accesses missed, where they were reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<Seen>,
}

/// The samples of one user.
#[derive(Clone, Debug)]
pub struct Store {
    cache: Cache,
}

impl Store {
    pub fn new(cache: Cache) -> Self {
        Self { cache }
    }

    /// The sample with this fingerprint; none when it is not there, or is damaged.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub fn find(&self, fingerprint: &str) -> Result<Option<Kept>, Error> {
        let path = self.path(fingerprint)?;
        match fs::read(&path) {
            Ok(content) => Ok(serde_json::from_slice(&content).ok()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &path)(error)),
        }
    }

    /// Keeps a sample.
    ///
    /// # Errors
    /// When the cache cannot be written; then nothing of the sample is there.
    pub fn keep(&self, fingerprint: &str, kept: &Kept) -> Result<(), Error> {
        let path = self.path(fingerprint)?;
        let text =
            serde_json::to_vec(kept).map_err(|error| Error::io("write", &path)(error.into()))?;
        self.cache.write_file(&path, &text)
    }

    /// Removes a sample, if it is there.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn forget(&self, fingerprint: &str) -> Result<(), Error> {
        let path = self.path(fingerprint)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Error::io("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }

    fn path(&self, fingerprint: &str) -> Result<PathBuf, Error> {
        self.cache.path(&format!("{FOLDER}/{fingerprint}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Cache::at(folder.path().to_owned()).unwrap());
        assert!(store.find("abc").unwrap().is_none());
        let kept = Kept {
            sample: Sample {
                window_ns: 7,
                ..Sample::default()
            },
            kernel: "7.3.4".to_owned(),
            engine_version: "Bochs".to_owned(),
            host_seconds: 1.5,
            caches: None,
        };
        store.keep("abc", &kept).unwrap();
        assert_eq!(store.find("abc").unwrap().unwrap().sample.window_ns, 7);
        let path = folder.path().join("samples/abc.json");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert!(
            store.find("abc").unwrap().is_none(),
            "a damaged sample is measured again"
        );
        store.forget("abc").unwrap();
        store.forget("abc").unwrap();
        assert!(!path.exists());
    }
}
