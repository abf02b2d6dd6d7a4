// SPDX-License-Identifier: GPL-2.0-only
//! The guest's file system: artis-guest, artis-guest-sched, this very artis, busybox, rt-tests,
//! stress-ng, chrt and taskset (or only some of them), and what a run adds.
//!
//! Programs keep their host path, and the libraries that they load come along. (libgcc_s, which
//! glibc loads by itself when a thread is cancelled, comes with artis-guest.)

mod archive;
pub mod closure;
pub mod file;
pub mod programs;
pub mod slim;

use super::Error;
use super::host::tool;
use super::kernel::modules::Module;
use artis_guest::scheduler;
use programs::{ARTIS, ARTIS_GUEST, Own, PROGRAMS, PROGRAMS_WHERE_FOUND, Programs};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The guest's first process.
const INIT: &str = include_str!("../../../lab/init");

/// Where the guest's init looks for kernel modules.
const MODULES: &str = "/modules";

/// Paths that programs expect and that are links in the guest, as on today's systems.
const LINKS: &[(&str, &str)] = &[
    ("/bin", "usr/bin"),
    ("/sbin", "usr/bin"),
    ("/lib", "usr/lib"),
    ("/lib64", "usr/lib64"),
    ("/usr/sbin", "bin"),
];

/// Small files of the guest: path and content.
const TEXTS: &[(&str, &str)] = &[
    (
        "/etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    ),
    ("/etc/group", "root:x:0:\nnogroup:x:65534:\n"),
    ("/etc/hosts", "127.0.0.1 localhost artis-lab\n"),
    (
        "/etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files\n",
    ),
];

/// Folders that are mount points or homes.
const FOLDERS: &[&str] = &[
    "/dev",
    "/proc",
    "/sys",
    "/run",
    "/tmp",
    "/var/tmp",
    "/root",
    "/output",
    "/files",
    "/usr/lib64",
];

/// What one entry of the archive is.
#[derive(Clone, Debug)]
enum Entry {
    Folder,
    Link(PathBuf),
    /// Content and permission bits.
    Text(Vec<u8>, u32),
    /// A host file and its permission bits.
    Copy(PathBuf, u32),
}

/// The guest's file system, by guest path.
#[derive(Clone, Debug, Default)]
pub struct Image {
    entries: BTreeMap<PathBuf, Entry>,
    scanned: BTreeSet<PathBuf>,
}

impl Image {
    /// The system that every guest has, and `programs`.
    ///
    /// # Errors
    /// When a program is missing, or its libraries cannot be found.
    pub fn new(own: &Own, programs: Programs) -> Result<Self, Error> {
        let mut image = Self::default();
        for folder in FOLDERS {
            image.add(Path::new(folder), Entry::Folder);
        }
        for (path, target) in LINKS {
            image
                .entries
                .insert(path.into(), Entry::Link(target.into()));
        }
        for (path, text) in TEXTS {
            image.add(
                Path::new(path),
                Entry::Text(text.as_bytes().to_vec(), 0o644),
            );
        }
        image
            .entries
            .insert("/init".into(), Entry::Text(INIT.into(), 0o755));
        image.add_own(&own.guest, ARTIS_GUEST)?;
        for (program, name) in [(&own.artis, ARTIS), (&own.scheduler, scheduler::PROGRAM)] {
            if programs.include(name) {
                image.add_own(program, name)?;
            }
        }
        for (name, package) in PROGRAMS {
            if !programs.include(name) {
                continue;
            }
            let program = tool::find(name, package)?;
            image.copy(&program, &program)?;
        }
        for name in PROGRAMS_WHERE_FOUND {
            if !programs.include(name) {
                continue;
            }
            if let Ok(program) = tool::find(name, "rt-tests") {
                image.copy(&program, &program)?;
            }
        }
        // With the host's table the guest's loader finds every library in the same place.
        let table = Path::new("/etc/ld.so.cache");
        if table.exists() {
            image.copy(table, table)?;
        }
        image.add_busybox()?;
        Ok(image)
    }

    /// Adds a host file with its permissions, and the libraries of a program.
    ///
    /// Later files replace earlier ones, so that a run can bring its own build of a tool.
    ///
    /// # Errors
    /// When it is not a regular file or cannot be read, or a library of it is missing.
    pub fn copy(&mut self, host: &Path, guest: &Path) -> Result<(), Error> {
        let metadata = fs::metadata(host).map_err(Error::io("read", host))?;
        if !metadata.is_file() {
            return Err(Error::NotForGuest {
                path: host.to_owned(),
                reason: "it is not a regular file; pack a folder into an archive first".to_owned(),
            });
        }
        let mode = metadata.permissions().mode() & 0o7777;
        self.add(guest, Entry::Copy(host.to_owned(), mode));
        if mode & 0o111 != 0 && self.scanned.insert(host.to_owned()) {
            for library in closure::libraries(host)? {
                self.add(&library, Entry::Copy(library.clone(), 0o755));
            }
        }
        Ok(())
    }

    /// Adds a program of artis itself, without the parts that only a debugger reads.
    fn add_own(&mut self, host: &Path, name: &str) -> Result<(), Error> {
        let guest = Path::new("/usr/bin").join(name);
        self.copy(host, &guest)?;
        let program = fs::read(host).map_err(Error::io("read", host))?;
        self.add(&guest, Entry::Text(slim::loaded_part(program), 0o755));
        Ok(())
    }

    /// Adds kernel modules, which the guest's init loads in this order.
    pub fn add_modules(&mut self, modules: &[Module]) {
        for (position, module) in modules.iter().enumerate() {
            // The shell lists file names in order.
            let name = format!("{MODULES}/{position:04}-{}.ko", module.name);
            let content = Entry::Text(module.content.clone(), 0o600);
            self.add(Path::new(&name), content);
        }
    }

    /// Sets the command to run, variables for it, and the end mark of this run's streams.
    pub fn set_run(&mut self, command: &[OsString], variables: &[(&str, String)], end: &str) {
        let mut script = format!("END={}\n", quote(end)).into_bytes();
        for (name, value) in variables {
            script.extend(format!("export {name}={}\n", quote(value)).bytes());
        }
        script.extend_from_slice(b"set --");
        for word in command {
            script.push(b' ');
            script.extend(quote_bytes(word.as_bytes()));
        }
        script.push(b'\n');
        self.add(Path::new("/run.sh"), Entry::Text(script, 0o600));
    }

    /// Writes the archive that the kernel unpacks.
    ///
    /// # Errors
    /// When a file cannot be read or `out` cannot be written.
    pub fn write(&self, out: &File) -> Result<(), Error> {
        archive::write(&self.entries, out)
    }

    fn add_busybox(&mut self) -> Result<(), Error> {
        let busybox = tool::find("busybox", "busybox-static")?;
        if !closure::is_static(&busybox)? {
            return Err(Error::MissingTool {
                tool: format!("a static busybox ({} is not)", busybox.display()),
                package: "busybox-static",
            });
        }
        let listed = tool::output(Command::new(&busybox).arg("--list"))?;
        self.copy(&busybox, Path::new("/usr/bin/busybox"))?;
        for applet in String::from_utf8_lossy(&listed).lines() {
            let path = Path::new("/usr/bin").join(applet);
            // A real program takes precedence over the applet of the same name.
            self.entries
                .entry(path)
                .or_insert_with(|| Entry::Link("busybox".into()));
        }
        Ok(())
    }

    /// Adds an entry at its place in the merged layout, and the folders above it.
    fn add(&mut self, path: &Path, entry: Entry) {
        let path = merged(path);
        for folder in path
            .ancestors()
            .skip(1)
            .filter(|folder| folder.parent().is_some())
        {
            self.entries
                .entry(folder.to_owned())
                .or_insert(Entry::Folder);
        }
        self.entries.insert(path, entry);
    }
}

/// The path with the guest's [`LINKS`] resolved: `/sbin/x` is `/usr/bin/x`.
fn merged(path: &Path) -> PathBuf {
    for (link, target) in LINKS {
        if let Ok(rest) = path.strip_prefix(link) {
            let target = match *target {
                "bin" => "usr/bin",
                other => other,
            };
            return Path::new("/").join(target).join(rest);
        }
    }
    path.to_owned()
}

fn quote(text: &str) -> String {
    String::from_utf8_lossy(&quote_bytes(text.as_bytes())).into_owned()
}

/// `text` as one word of a shell script.
fn quote_bytes(text: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in text {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    OsString::from_vec(quoted).into_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn old_paths_are_merged() {
        assert_eq!(
            merged(Path::new("/lib64/ld.so")),
            Path::new("/usr/lib64/ld.so")
        );
        assert_eq!(merged(Path::new("/usr/sbin/x")), Path::new("/usr/bin/x"));
        assert_eq!(merged(Path::new("/library/x")), Path::new("/library/x"));
    }

    #[test]
    fn any_word_survives_the_shell() {
        let words = ["", "it's", "$(x) \"`\n\\", "-n"];
        let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
        let script = format!("set -- {}; printf '%s\\0' \"$@\"", quoted.join(" "));
        let out = tool::output(Command::new("sh").args(["-c", &script])).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            words.map(|word| format!("{word}\0")).concat()
        );
    }

    #[test]
    fn the_archive_holds_what_was_added_and_the_folders_above_it() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o751)).unwrap();
        let mut image = Image::default();
        image.copy(&script, Path::new("/opt/deep/script")).unwrap();
        image.add(Path::new("/link"), Entry::Link("opt".into()));
        let archive = folder.path().join("archive");
        image.write(&File::create(&archive).unwrap()).unwrap();

        let mut seen = Vec::new();
        let mut input: Box<dyn io::Read> = Box::new(File::open(&archive).unwrap());
        loop {
            let mut reader = cpio::newc::Reader::new(input).unwrap();
            if reader.entry().is_trailer() {
                break;
            }
            let mut content = String::new();
            io::Read::read_to_string(&mut reader, &mut content).unwrap();
            seen.push((
                reader.entry().name().to_owned(),
                reader.entry().mode(),
                content,
            ));
            input = reader.finish().unwrap();
        }
        let entry =
            |name: &str, mode: u32, content: &str| (name.to_owned(), mode, content.to_owned());
        assert_eq!(
            seen,
            [
                entry("link", 0o120_777, "opt"),
                entry("opt", 0o040_755, ""),
                entry("opt/deep", 0o040_755, ""),
                entry("opt/deep/script", 0o100_751, "#!/bin/sh\n"),
            ]
        );
    }

    #[test]
    fn a_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = Image::default().copy(folder.path(), Path::new("/x"));
        assert!(matches!(refused, Err(Error::NotForGuest { .. })));
    }
}
