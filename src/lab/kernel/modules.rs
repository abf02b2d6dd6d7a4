// SPDX-License-Identifier: GPL-2.0-only
//! Kernel modules for a guest: fetched when the first one is asked for, and put in loading order.
//!
//! A distribution fills the folder of the modules of one of its kernels. What a module needs is
//! read from the module itself, so neither depmod nor modules.dep is needed. Only the modules that
//! it links to come along; name its "soft" dependencies too where they are wanted.

use super::{Kernel, Modules};
use crate::Error;
use crate::distribution::Distro;
use crate::host::tool;
use crate::progress::Progress;
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How distributions compress modules: the file's ending, the program that unpacks it, and the
/// program's Debian package.
const UNPACKERS: &[(&str, &str, &str)] = &[("xz", "xz", "xz-utils"), ("zst", "zstd", "zstd")];

/// A module for the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name, as lsmod shows it.
    pub name: String,
    /// The file that the guest loads, not compressed.
    pub content: Vec<u8>,
}

/// The modules `names` of `kernel` and all that they need, in the order in which to load them.
///
/// # Errors
/// When there is no such module, or the modules are not in the cache and cannot be fetched.
pub fn resolve(
    distribution: &dyn Distro,
    kernel: &Kernel,
    names: &[String],
    progress: &mut dyn Progress,
) -> Result<Vec<Module>, Error> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let folder = match &kernel.modules {
        Modules::Packages => distribution.modules(&kernel.facts, progress)?,
        Modules::Folder(own) => own.clone(),
        Modules::Unknown => return Err(Error::NoModuleFolder(kernel.facts.release.clone())),
    };
    let mut files = BTreeMap::new();
    list(&folder, &mut files)?;
    let mut chosen = Vec::new();
    for name in names {
        choose(&files, &spell(name), &kernel.facts.release, &mut chosen)?;
    }
    Ok(chosen)
}

/// Every module file of a folder, and of those below it, by its module's name.
fn list(folder: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let entry = entry.map_err(Error::io("read", folder))?;
        let path = entry.path();
        // A link may lead back up, as that to the kernel's source does.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(&path, files)?;
        } else if let Some(module) = name(&path) {
            files.insert(module, path);
        }
    }
    Ok(())
}

/// The name of the module in a file `NAME.ko`, `NAME.ko.xz` or `NAME.ko.zst`.
pub(crate) fn name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let bare = UNPACKERS
        .iter()
        .find_map(|(ending, ..)| name.strip_suffix(ending)?.strip_suffix('.'));
    bare.unwrap_or(name).strip_suffix(".ko").map(spell)
}

/// File names and people write "-" where the kernel writes "_".
fn spell(name: &str) -> String {
    name.replace('-', "_")
}

/// Adds a module to `chosen`, after those that it needs.
fn choose(
    files: &BTreeMap<String, PathBuf>,
    name: &str,
    release: &str,
    chosen: &mut Vec<Module>,
) -> Result<(), Error> {
    if chosen.iter().any(|module| module.name == name) {
        return Ok(());
    }
    let Some(path) = files.get(name) else {
        return Err(unknown(files, name, release));
    };
    let content = read(path)?;
    for needed in needs(&content).map_err(|reason| Error::NotForGuest {
        path: path.clone(),
        reason,
    })? {
        choose(files, &needed, release, chosen)?;
    }
    chosen.push(Module {
        name: name.to_owned(),
        content,
    });
    Ok(())
}

fn unknown(files: &BTreeMap<String, PathBuf>, name: &str, release: &str) -> Error {
    let word = name.split('_').next().unwrap_or(name);
    let like = files.keys().filter(|known| known.contains(word)).take(8);
    let like: Vec<&str> = like.map(String::as_str).collect();
    Error::UnknownModule {
        name: name.to_owned(),
        release: release.to_owned(),
        hint: match word.is_empty() || like.is_empty() {
            true => String::new(),
            false => format!("; it has {}", like.join(", ")),
        },
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    for (ending, program, package) in UNPACKERS {
        if path.extension().is_some_and(|found| found == *ending) {
            let mut unpack = Command::new(tool::find(program, package)?);
            return tool::output(unpack.args(["--decompress", "--stdout"]).arg(path));
        }
    }
    fs::read(path).map_err(Error::io("read", path))
}

/// The modules that a module links to: the entry `depends` of its section `.modinfo`, which is
/// a list of `key=value`, each ended by a zero.
fn needs(content: &[u8]) -> Result<Vec<String>, String> {
    let file = ElfFile64::<object::LittleEndian>::parse(content)
        .map_err(|error| format!("it is not a kernel module: {error}"))?;
    let information = file
        .section_by_name(".modinfo")
        .ok_or("it is not a kernel module: it has no section .modinfo")?
        .data()
        .map_err(|error| format!("its section .modinfo cannot be read: {error}"))?;
    Ok(information
        .split(|&byte| byte == 0)
        .filter_map(|entry| entry.strip_prefix(b"depends="))
        .flat_map(|names| names.split(|&byte| byte == b','))
        .filter(|name| !name.is_empty())
        .map(|name| spell(&String::from_utf8_lossy(name)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_known_by_their_file_names() {
        let name = |path: &str| name(Path::new(path));
        let found = Some("gpio_sim".to_owned());
        assert_eq!(name("./lib/modules/7/kernel/gpio-sim.ko.xz"), found);
        assert_eq!(name("gpio_sim.ko"), found);
        assert_eq!(name("gpio_sim.ko.zst"), found);
        for other in ["modules.order", "gpio-sim.ko.xz.sig", "x.xz", "ko"] {
            assert_eq!(name(other), None, "{other}");
        }
    }

    #[test]
    fn an_unknown_module_is_refused_with_names_like_it() {
        let files: BTreeMap<_, _> = ["gpio_sim", "gpio_ich", "snd"]
            .map(|name| (name.to_owned(), PathBuf::from(name)))
            .into();
        let refused = |name: &str| {
            let mut chosen = Vec::new();
            let error = choose(&files, name, "7.3", &mut chosen).unwrap_err();
            error.to_string()
        };
        assert!(refused("gpio_simulator").contains("gpio_ich, gpio_sim"));
        assert!(refused("gpio_simulator").contains("7.3"));
        assert!(!refused("zzz").contains("it has"));
        assert!(!refused("").contains("it has"));
    }

    #[test]
    fn what_is_not_a_module_is_refused() {
        assert!(needs(b"").is_err());
        assert!(needs(b"\x7fELF and no more").is_err());
        let test = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(needs(&test).unwrap_err().contains(".modinfo"));
    }
}
