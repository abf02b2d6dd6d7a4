// SPDX-License-Identifier: GPL-2.0-only
//! Standard input and output by all their names, and what becomes of them when they are closed.

use super::terminal::printable;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{self, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// So many links lead to a file at most, as in the kernel.
const LINKS_MAX: usize = 40;

/// What a path of the command line stands for.
#[derive(Debug, PartialEq, Eq)]
pub enum Path {
    /// A file descriptor of this process: `-`, `/dev/stdout`, `/dev/fd/63`.
    Stream(i32),
    /// A file, links resolved.
    File(PathBuf),
}

/// What an output's path stands for. A link that [`is_trap`] is the file itself.
pub fn resolve(path: &path::Path) -> Path {
    match path == path::Path::new("-") {
        true => Path::Stream(1),
        false => followed(path, is_trap),
    }
}

/// What an input's path stands for.
pub fn resolve_input(path: &path::Path) -> Path {
    match path == path::Path::new("-") {
        true => Path::Stream(0),
        false => followed(path, |_, _| false),
    }
}

/// Follows links by hand: the kernel's own name for a descriptor, `/proc/PID/fd/1`, is a link, too,
/// and the file that it leads to is open already.
fn followed(path: &path::Path, is_trap: fn(&path::Path, &path::Path) -> bool) -> Path {
    let own = fs::canonicalize("/proc/self/fd").ok();
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let folder = super::target::folder(&path);
        let number = path.file_name();
        let number = number.and_then(|name| name.to_str()?.parse::<u16>().ok());
        if let Some(number) = number
            && own.is_some()
            && fs::canonicalize(folder).ok() == own
        {
            return Path::Stream(number.into());
        }
        match fs::read_link(&path) {
            Ok(next) => {
                let next = folder.join(next);
                if is_trap(&path, &next) {
                    break;
                }
                path = next;
            }
            Err(_) => break,
        }
    }
    Path::File(path)
}

/// Whether following this link, or writing to this pipe or device, would do for its owner what that
/// user cannot do: it is neither ours nor root's, nor its owner's the folder that it leads to. The
/// kernel asks only in folders like /tmp (protected_symlinks), and only when it follows itself.
pub fn is_trap(path: &path::Path, leads_to: &path::Path) -> bool {
    let Ok(there) = path.symlink_metadata() else {
        return false;
    };
    let ours = nix::unistd::geteuid().as_raw();
    let folder = super::target::folder(leads_to);
    let owner = fs::metadata(folder).map(|folder| folder.uid());
    there.uid() != 0 && there.uid() != ours && owner.ok() != Some(there.uid())
}

/// A descriptor of this process, to be written to.
///
/// # Errors
/// When it is not open for writing.
pub fn writable(number: i32) -> io::Result<File> {
    // SAFETY: it is only asked for its state and copied; one that is not open is an error.
    let stream = unsafe { BorrowedFd::borrow_raw(number) };
    let flags = OFlag::from_bits_truncate(fcntl(stream, FcntlArg::F_GETFL)?);
    if flags & OFlag::O_ACCMODE == OFlag::O_RDONLY {
        return Err(io::Error::other("it is open for reading only"));
    }
    Ok(File::from(stream.try_clone_to_owned()?))
}

/// Prints a whole output on standard output; a terminal gets only text.
///
/// # Errors
/// When it cannot be written, or was closed when the program began.
pub fn print(content: &[u8]) -> io::Result<()> {
    check_open()?;
    let mut out = io::stdout().lock();
    match io::stdout().is_terminal() {
        true => out.write_all(printable(&String::from_utf8_lossy(content)).as_bytes())?,
        false => out.write_all(content)?,
    }
    out.flush()
}

/// Whether standard output was closed (`>&-`) when the program began.
static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Refuses a standard output that was closed when the program began.
///
/// # Errors
/// EBADF, as the kernel would say.
pub fn check_open() -> io::Result<()> {
    match WAS_CLOSED.load(Ordering::Relaxed) {
        true => Err(io::Error::from_raw_os_error(nix::libc::EBADF)),
        false => Ok(()),
    }
}

/// Rust's runtime opens `/dev/null` in the place of closed standard streams before `main`, which
/// then takes every figure without a word. So this looks before it.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: asks for the flags of a descriptor, which need not be open.
    let flags = unsafe { nix::libc::fcntl(1, nix::libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}
