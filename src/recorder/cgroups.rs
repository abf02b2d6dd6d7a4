// SPDX-License-Identifier: GPL-2.0-only
//! The folders of cgroups by the kernel's numbers of them.

use artis_machine::Root;
use std::cell::OnceCell;
use std::collections::BTreeMap;

const MOUNTED: &str = "/sys/fs/cgroup";
/// Groups within groups that are looked through.
const DEPTH: usize = 16;

/// Looked for when the first is asked for.
#[derive(Default)]
pub(crate) struct Cgroups(OnceCell<BTreeMap<u64, Vec<String>>>);

impl Cgroups {
    /// The path of the group with this number below where cgroups are mounted. Several hierarchies
    /// may give the same number, so the begin of its name has to fit, too.
    pub fn path(&self, number: u64, name: &str) -> Option<String> {
        let paths = self.0.get_or_init(|| {
            let mut paths = BTreeMap::new();
            collect(&Root::default(), "", DEPTH, &mut paths);
            paths
        });
        let named = |path: &&String| {
            let last = path.rsplit('/').next();
            last.is_some_and(|last| last.starts_with(name))
        };
        paths.get(&number)?.iter().find(named).cloned()
    }
}

/// A group's number is that of its folder in the file system.
fn collect(root: &Root, path: &str, depth: usize, paths: &mut BTreeMap<u64, Vec<String>>) {
    use std::os::unix::fs::MetadataExt;
    let folder = root.path(format!("{MOUNTED}{path}"));
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        if !metadata.is_dir() {
            continue;
        }
        let below = format!("{path}/{}", entry.file_name().to_string_lossy());
        if depth > 0 {
            collect(root, &below, depth - 1, paths);
        }
        paths.entry(metadata.ino()).or_default().push(below);
    }
}
