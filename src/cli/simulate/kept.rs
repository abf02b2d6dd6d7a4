// SPDX-License-Identifier: GPL-2.0-only
//! Simulations that are done, in a folder: each a file, whole or not there, under a hash of all
//! that it depends on. So an interruption at any moment loses only what was being simulated, and
//! several machines can share the folder.

use crate::cli::exit::UsageError;
use crate::sim::result::Latencies;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// What is kept of a simulation.
#[derive(Serialize, Deserialize)]
pub struct Record {
    /// What it is of; a file with another name was renamed by somebody.
    pub key: String,
    /// The outcome as it was printed.
    pub outcome: Box<RawValue>,
    pub latencies: Latencies,
}

/// The folder.
pub struct Folder(PathBuf);

impl Folder {
    /// Opens it, and makes it when it is not there.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        std::fs::create_dir_all(path)
            .map_err(|error| UsageError(format!("cannot keep simulations in {shown}: {error}")))?;
        Ok(Self(path.to_owned()))
    }

    /// What is kept under this hash; none where nothing is, or a damaged file.
    pub fn find(&self, key: &str) -> anyhow::Result<Option<Record>> {
        let path = self.path(key);
        let content = match std::fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let record: Option<Record> = serde_json::from_slice(&content).ok();
        Ok(record.filter(|record| record.key == key))
    }

    pub fn keep(&self, record: &Record) -> anyhow::Result<()> {
        let path = self.path(&record.key);
        let failed = || format!("cannot write {}; free space and go on", path.display());
        let mut file = tempfile::NamedTempFile::with_prefix_in(".unfinished-", &self.0)
            .with_context(failed)?;
        let text = serde_json::to_vec(record)?;
        // Not synced: what a power cut damages is simulated again.
        file.write_all(&text).with_context(failed)?;
        file.persist(&path)
            .map_err(|error| error.error)
            .with_context(failed)?;
        Ok(())
    }

    fn path(&self, key: &str) -> PathBuf {
        self.0.join(format!("{key}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_or_renamed_is_not_there() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(&place.path().join("new")).unwrap();
        assert!(folder.find("a").unwrap().is_none());
        let mut latencies = Latencies::default();
        latencies.rt0.insert(7, 2);
        let outcome = RawValue::from_string("{\"x\": 1}".to_owned()).unwrap();
        let key = "a".to_owned();
        folder
            .keep(&Record {
                key,
                outcome,
                latencies,
            })
            .unwrap();
        let read = folder.find("a").unwrap().unwrap();
        assert_eq!(
            (read.outcome.get(), read.latencies.rt0[&7]),
            ("{\"x\": 1}", 2)
        );
        std::fs::copy(folder.path("a"), folder.path("b")).unwrap();
        assert!(folder.find("b").unwrap().is_none());
        let whole = std::fs::read(folder.path("a")).unwrap();
        for length in [0, 1, whole.len() - 1] {
            std::fs::write(folder.path("a"), &whole[..length]).unwrap();
            assert!(folder.find("a").unwrap().is_none(), "{length} bytes");
        }
    }
}
