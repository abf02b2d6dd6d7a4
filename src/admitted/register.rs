// SPDX-License-Identifier: GPL-2.0-only
//! The register's file: read as it is now, and written whole or not at all.
//!
//! Nobody is asked to leave it. Each reading holds the entries against `/proc`: an entry counts
//! while the boot is the same and a thread of its number and its start is there. So a task that
//! ended in whatever way leaves no ghost. One process changes it at a time, under flock.

use crate::entry::Register;
use crate::whole;
use artis_machine::{Root, kernel_threads, processes};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Below the machine's root.
pub const FILE: &str = "/run/artis/admitted.json";
const LOCK: &str = "/run/artis/admitted.lock";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not {what} {path}; admitting tasks needs root", path = path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(
        "the register of admitted tasks {path} is damaged; remove it, and admit the tasks again",
        path = path.display()
    )]
    Damaged {
        path: PathBuf,
        source: serde_json::Error,
    },
}

fn fail(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File { what, path, source }
}

/// The tasks that are admitted and run now. Needs no lock: the file is replaced as a whole.
///
/// # Errors
/// When the file cannot be read or understood.
pub fn read(root: &Root) -> Result<Register, Error> {
    let path = root.path(FILE);
    let boot_id = root.hint(BOOT_ID).unwrap_or_default();
    let none = Register {
        boot_id: boot_id.clone(),
        cpus: Vec::new(),
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(none);
        }
        Err(error) => return Err(fail("read", &path)(error)),
    };
    let mut register: Register = match serde_json::from_str(&text) {
        Ok(register) => register,
        Err(source) => return Err(Error::Damaged { path, source }),
    };
    if register.boot_id != boot_id {
        return Ok(none);
    }
    register.retain(|task| is_alive(root, task.tid, task.start_ticks));
    Ok(register)
}

/// Whether this thread runs: not one that has its number now, and none that has ended and was not
/// waited for.
pub fn is_alive(root: &Root, tid: i32, start_ticks: u64) -> bool {
    let ended = || processes::one(root, tid).is_some_and(|one| one.is_zombie);
    kernel_threads::start_ticks(root, tid) == Some(start_ticks) && !ended()
}

/// The right to change the register, which one process has at a time.
pub struct Writer<'a> {
    root: &'a Root,
    _lock: Flock<File>,
}

impl<'a> Writer<'a> {
    /// Waits for the right. It ends with this, or with the process, in whatever way.
    ///
    /// # Errors
    /// When the lock's file cannot be made.
    pub fn lock(root: &'a Root) -> Result<Self, Error> {
        let path = root.path(LOCK);
        if let Some(folder) = path.parent() {
            let make = DirBuilder::new().recursive(true).mode(0o755).create(folder);
            make.map_err(fail("create", folder))?;
        }
        let open = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(&path);
        let mut file = open.map_err(fail("open the lock", &path))?;
        loop {
            match Flock::lock(file, FlockArg::LockExclusive) {
                Ok(lock) => return Ok(Self { root, _lock: lock }),
                Err((same, Errno::EINTR)) => file = same,
                Err((_, error)) => return Err(fail("take the lock", &path)(error.into())),
            }
        }
    }

    /// As [`read`].
    ///
    /// # Errors
    /// As [`read`].
    pub fn read(&self) -> Result<Register, Error> {
        read(self.root)
    }

    /// Replaces the register.
    ///
    /// # Errors
    /// When it cannot be written; the old one is there then.
    pub fn write(&self, register: &Register) -> Result<(), Error> {
        let path = self.root.path(FILE);
        let write = || -> io::Result<()> {
            let text = serde_json::to_string_pretty(register)?;
            whole::write(&path, &format!("{text}\n"))
        };
        write().map_err(fail("write", &path))
    }
}

/// Takes threads out of the register, because they are no longer what was admitted. Says which
/// were in it.
///
/// # Errors
/// When the register cannot be read or written.
pub fn leave(root: &Root, is_leaving: impl Fn(i32) -> bool) -> Result<Vec<i32>, Error> {
    let leaving = |register: &Register| -> Vec<i32> {
        let tids = register.tasks().map(|(_, task)| task.tid);
        tids.filter(|tid| is_leaving(*tid)).collect()
    };
    // Most machines have no register, and most tasks are not in one: no lock for them.
    if leaving(&read(root)?).is_empty() {
        return Ok(Vec::new());
    }
    let writer = Writer::lock(root)?;
    let mut register = writer.read()?;
    let left = leaving(&register);
    register.retain(|task| !left.contains(&task.tid));
    writer.write(&register)?;
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{OfCpu, tests::task};
    use artis_admit::model::Policy;
    use artis_testing::canned;
    use proptest::prelude::*;

    fn stat(tid: i32, state: char, start: u64) -> (String, String) {
        let rest = "0 ".repeat(17);
        let line = format!(
            "{tid} (x) {state} 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {start} {rest}0 0 0 0 0\n"
        );
        (format!("proc/{tid}/stat"), line)
    }

    /// A machine where the threads 7 (alive), 8 (reused number) and 9 (a zombie) are.
    fn machine() -> (impl Sized, Root) {
        let files = [stat(7, 'S', 5), stat(8, 'S', 6), stat(9, 'Z', 5)];
        let mut files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        files.push(("proc/sys/kernel/random/boot_id", "one\n"));
        canned(&files)
    }

    fn register(tids: &[i32]) -> Register {
        let mut of_cpu = OfCpu::new(1, Policy::Rm);
        of_cpu.tasks = tids.iter().map(|tid| task(*tid, 1, 10)).collect();
        Register {
            boot_id: "one".to_owned(),
            cpus: vec![of_cpu],
        }
    }

    fn tids(register: &Register) -> Vec<i32> {
        register.tasks().map(|(_, task)| task.tid).collect()
    }

    #[test]
    fn who_has_ended_is_no_more_in_it_whatever_ended_them() {
        let (_folder, root) = machine();
        Writer::lock(&root)
            .unwrap()
            .write(&register(&[7, 8, 9, 10]))
            .unwrap();
        assert_eq!(tids(&read(&root).unwrap()), [7]);
        fs::write(root.path(BOOT_ID), "two\n").unwrap();
        assert_eq!(read(&root).unwrap().cpus, []);
    }

    #[test]
    fn a_half_written_one_is_never_read() {
        let (_folder, root) = machine();
        let writer = Writer::lock(&root).unwrap();
        writer.write(&register(&[7])).unwrap();
        // As kill -9 leaves it between the first byte and the new name.
        fs::write(root.path("/run/artis/admitted.new"), "{\"boot_id\": \"o").unwrap();
        assert_eq!(tids(&read(&root).unwrap()), [7]);
        writer.write(&register(&[])).unwrap();
        assert_eq!(tids(&read(&root).unwrap()), [0_i32; 0]);
    }

    #[test]
    fn without_a_register_there_is_none_and_a_damaged_one_is_said() {
        let (_folder, root) = machine();
        assert_eq!(read(&root).unwrap().cpus, []);
        assert_eq!(leave(&root, |_| true).unwrap(), [0_i32; 0]);
        assert!(!root.exists(LOCK));
        Writer::lock(&root).unwrap();
        fs::write(root.path(FILE), "{").unwrap();
        let error = read(&root).unwrap_err().to_string();
        assert!(error.contains("remove it"), "{error}");
    }

    #[test]
    fn a_task_that_becomes_another_class_leaves() {
        let (_folder, root) = machine();
        let writer = Writer::lock(&root).unwrap();
        writer.write(&register(&[7])).unwrap();
        drop(writer);
        assert_eq!(leave(&root, |tid| tid == 1).unwrap(), [0_i32; 0]);
        assert_eq!(leave(&root, |tid| tid == 7).unwrap(), [7]);
        assert_eq!(tids(&read(&root).unwrap()), [0_i32; 0]);
    }

    #[test]
    fn one_process_changes_it_at_a_time() {
        let (_folder, root) = machine();
        let first = Writer::lock(&root).unwrap();
        let file = File::open(root.path(LOCK)).unwrap();
        let second = Flock::lock(file, FlockArg::LockExclusiveNonblock);
        assert!(matches!(second, Err((_, Errno::EWOULDBLOCK))));
        drop(first);
        Writer::lock(&root).unwrap();
    }

    proptest! {
        // Each one writes files, and waits until they are on the disk.
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn any_register_is_read_or_refused(text in ".{0,80}") {
            let (_folder, root) = machine();
            Writer::lock(&root).unwrap();
            fs::write(root.path(FILE), text).unwrap();
            prop_assert!(read(&root).is_err());
        }

        #[test]
        fn what_is_written_is_read(tids_ in prop::collection::vec(1..12_i32, 0..4)) {
            let (_folder, root) = machine();
            Writer::lock(&root).unwrap().write(&register(&tids_)).unwrap();
            let wanted: Vec<i32> = tids_.into_iter().filter(|tid| *tid == 7).collect();
            prop_assert_eq!(tids(&read(&root).unwrap()), wanted);
        }
    }
}
