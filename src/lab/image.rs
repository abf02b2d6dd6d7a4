// SPDX-License-Identifier: GPL-2.0-only
//! The guest's initramfs: artis-guest, this very artis, busybox, rt-tests, stress-ng, chrt and
//! taskset (or only some of them), and what a run adds.
//!
//! Programs keep their host path and bring the libraries they load. (libgcc_s, which glibc
//! loads by itself when a thread is cancelled, comes with artis-guest.) The archive is the
//! kernel's "newc" cpio, uncompressed: unpacking would cost more time in an emulated CPU than
//! copying does.

use super::modules::Module;
use super::{Error, closure, slim, tool};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The guest's first process.
const INIT: &str = include_str!("../../lab/init");

/// Where a file goes when no guest path is given; the first folder of the guest's `PATH`.
const FILES: &str = "/files";

/// Where the guest's init looks for kernel modules.
const MODULES: &str = "/modules";

/// Which host programs a guest has beside busybox and artis-guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programs {
    /// All that there are, and artis.
    All,
    /// Only these, by name: a small image boots sooner where every byte is emulated, and one
    /// without artis stays the same when artis does not.
    Only(&'static [&'static str]),
}

impl Programs {
    fn include(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(&name),
        }
    }
}

/// The name of artis in a guest.
const ARTIS: &str = "artis";
/// The name of the guest's half of the lab.
const ARTIS_GUEST: &str = "artis-guest";

/// The programs of artis itself.
#[derive(Clone, Debug)]
pub struct Own {
    artis: PathBuf,
    guest: PathBuf,
}

impl Own {
    /// The artis whose file is `artis`, and the artis-guest beside it.
    ///
    /// # Errors
    /// [`Error::NoGuestProgram`].
    pub fn beside(artis: PathBuf) -> Result<Self, Error> {
        let guest = artis.with_file_name(ARTIS_GUEST);
        match guest.is_file() {
            true => Ok(Self { artis, guest }),
            false => Err(Error::NoGuestProgram(guest)),
        }
    }
}

/// Host programs for guests: name, and the Debian package to install when it is missing.
const PROGRAMS: &[(&str, &str)] = &[
    ("cyclictest", "rt-tests"),
    ("hackbench", "rt-tests"),
    ("pi_stress", "rt-tests"),
    ("rt-migrate-test", "rt-tests"),
    ("signaltest", "rt-tests"),
    ("stress-ng", "stress-ng"),
    // Debian's static busybox lacks these two.
    ("chrt", "util-linux"),
    ("taskset", "util-linux"),
];

/// Programs of rt-tests that not every version of it has.
const PROGRAMS_WHERE_FOUND: &[&str] = &[
    "cyclicdeadline",
    "deadline_test",
    "oslat",
    "pip_stress",
    "pmqtest",
    "ptsematest",
    "queuelat",
    "sigwaittest",
    "ssdd",
    "svsematest",
];

/// Paths that programs expect and that are links in the guest, as on a present-day system.
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

/// A host file that a run adds to the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFile {
    /// File on the host.
    pub host: PathBuf,
    /// Absolute path in the guest.
    pub guest: PathBuf,
}

impl GuestFile {
    /// Reads `HOSTPATH[:GUESTPATH]`; without a guest path it goes to `/files`, which is in `PATH`.
    pub fn parse(words: &OsStr) -> Result<Self, Error> {
        let bytes = words.as_bytes();
        // The guest's path is absolute; a colon before anything else belongs to the host's name.
        let split = memchr::memmem::rfind(bytes, b":/");
        let (host, guest) = match split {
            Some(at) if at > 0 => (&bytes[..at], Some(&bytes[at + 1..])),
            _ => (bytes, None),
        };
        let host = PathBuf::from(OsStr::from_bytes(host));
        let refused = |reason: &str| Error::Guest {
            path: PathBuf::from(words),
            reason: reason.to_owned(),
        };
        let guest = match guest {
            Some(guest) => PathBuf::from(OsStr::from_bytes(guest)),
            None => Path::new(FILES).join(
                host.file_name()
                    .ok_or_else(|| refused("it has no file name"))?,
            ),
        };
        let plain = |part: Component| matches!(part, Component::RootDir | Component::Normal(_));
        if guest.file_name().is_none() || !guest.components().all(plain) {
            return Err(refused("its guest path must be a file's, without \"..\""));
        }
        Ok(Self { host, guest })
    }
}

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
    /// The system every guest has, and `programs`.
    ///
    /// # Errors
    /// When a program is missing, or its libraries cannot be told.
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
        if programs.include(ARTIS) {
            image.add_own(&own.artis, ARTIS)?;
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
        // With the host's table the guest's loader finds every library where the host's did.
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
    pub fn copy(&mut self, host: &Path, guest: &Path) -> Result<(), Error> {
        let metadata = fs::metadata(host).map_err(Error::io("read", host))?;
        if !metadata.is_file() {
            return Err(Error::Guest {
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

    /// Adds a program of artis itself, without what only a debugger reads.
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

    /// Writes the archive.
    pub fn write(&self, out: &File) -> Result<(), Error> {
        let mut out = BufWriter::with_capacity(1 << 20, out);
        let archive = Path::new("initramfs");
        for (inode, (path, entry)) in (1u32..).zip(&self.entries) {
            let host = match entry {
                Entry::Copy(host, _) => host,
                _ => archive,
            };
            write_entry(&mut out, path, entry, inode).map_err(Error::io("copy", host))?;
        }
        cpio::newc::trailer(&mut out)
            .and_then(|out| out.flush())
            .map_err(Error::io("write", archive))
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
            // A real program goes before the applet of the same name.
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

fn write_entry(out: &mut dyn Write, path: &Path, entry: &Entry, inode: u32) -> io::Result<()> {
    const FOLDER: u32 = 0o040_000;
    const FILE: u32 = 0o100_000;
    const LINK: u32 = 0o120_000;
    let (mode, mut content): (u32, Box<dyn io::Read>) = match entry {
        Entry::Folder => (FOLDER | 0o755, Box::new(io::empty())),
        Entry::Link(target) => (
            LINK | 0o777,
            Box::new(io::Cursor::new(target.as_os_str().as_bytes())),
        ),
        Entry::Text(text, mode) => (FILE | mode, Box::new(io::Cursor::new(text))),
        Entry::Copy(host, mode) => (FILE | mode, Box::new(File::open(host)?)),
    };
    let size = match entry {
        Entry::Folder => 0,
        Entry::Link(target) => target.as_os_str().len() as u64,
        Entry::Text(text, _) => text.len() as u64,
        Entry::Copy(host, _) => fs::metadata(host)?.len(),
    };
    let size = u32::try_from(size).map_err(|_| io::Error::other("larger than 4 GiB"))?;
    // The archive's paths are relative to its root.
    let name = path.strip_prefix("/").unwrap_or(path);
    let name = name
        .to_str()
        .ok_or_else(|| io::Error::other("its guest path is not UTF-8"))?;
    let mut entry = cpio::newc::Builder::new(name)
        .ino(inode)
        .mode(mode)
        .write(out, size);
    let copied = io::copy(&mut content, &mut entry)?;
    if copied != u64::from(size) {
        return Err(io::Error::other("it changed while it was read"));
    }
    entry.finish()?;
    Ok(())
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

    fn parse(words: &str) -> Result<GuestFile, Error> {
        GuestFile::parse(OsStr::new(words))
    }

    #[test]
    fn guest_files_have_a_host_and_a_guest_path() {
        let file = parse("target/tool").unwrap();
        assert_eq!(file.guest, Path::new("/files/tool"));
        let file = parse("a:b:/etc/c").unwrap();
        assert_eq!((file.host, file.guest), ("a:b".into(), "/etc/c".into()));
        for bad in ["..", "/", "a:/", "a:/etc/../b", "a:/.."] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn artis_without_its_other_half_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let beside = || Own::beside(folder.path().join("artis"));
        let error = beside().unwrap_err().to_string();
        assert!(error.contains("artis-guest is missing"), "{error}");
        fs::write(folder.path().join("artis-guest"), "").unwrap();
        assert!(beside().is_ok());
    }

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
    fn the_archive_holds_what_was_added_each_below_its_folder() {
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
        assert!(matches!(refused, Err(Error::Guest { .. })));
    }
}
