// SPDX-License-Identifier: GPL-2.0-only
//! How every command prints: to standard output, with errors that say so, and through the one
//! filter for terminals. What a long run gave is printed first and written then, so that neither
//! can lose the other.

use super::advice::followable;
use super::{exit, width};
use anyhow::anyhow;
use artis_report::fitted;
use artis_result::file::{self, Target};
use artis_result::terminal::{self, printable};
use artis_result::{standard, target};
use serde::Serialize;
use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, StdoutLock, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Standard output, this process's own until dropped. Its errors name it.
pub struct Output {
    out: StdoutLock<'static>,
    is_text: bool,
}

/// Opens standard output for text, which loses what would steer a terminal.
pub fn stdout() -> Output {
    Output {
        out: io::stdout().lock(),
        is_text: true,
    }
}

/// Opens standard output for the bytes of another program, as they are.
pub fn raw_stdout() -> Output {
    Output {
        is_text: false,
        ..stdout()
    }
}

impl Output {
    /// Prints text for people: on a terminal no line is wider than it.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        match self.out.is_terminal() {
            true => self.write_all(fitted(text, width::of_stdout()).as_bytes()),
            false => self.write_all(text.as_bytes()),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        standard::check_open().map_err(named)?;
        if !self.is_text {
            return self.out.write(bytes).map_err(named);
        }
        let text = printable(&String::from_utf8_lossy(bytes));
        self.out.write_all(text.as_bytes()).map_err(named)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().map_err(named)
    }
}

/// Prints on standard error, for [`say!`]; when that fails there is nowhere left to say so.
pub fn to_stderr(text: fmt::Arguments<'_>) {
    let text = followable(&printable(&text.to_string()));
    let mut stderr = io::stderr().lock();
    if HAS_SIGN.swap(false, Ordering::Relaxed) {
        let _ = stderr.write_all(EMPTY_LINE);
    }
    let _ = stderr.write_all(text.as_bytes());
}

/// Whether the terminal's last line is a sign of life. Changed by who holds standard error.
static HAS_SIGN: AtomicBool = AtomicBool::new(false);
const EMPTY_LINE: &[u8] = b"\r\x1b[K";

/// Writes this sign of life in the place of the one before; an empty one takes it away.
pub fn to_sign(line: &str) {
    let mut stderr = io::stderr().lock();
    if HAS_SIGN.swap(!line.is_empty(), Ordering::Relaxed) {
        let _ = stderr.write_all(EMPTY_LINE);
    }
    let _ = stderr.write_all(printable(line).as_bytes());
    let _ = stderr.flush();
}

/// The error with its place and the next step; a closed pipe stays recognisable by its kind.
fn named(error: io::Error) -> io::Error {
    let next = match error.kind() {
        ErrorKind::StorageFull => "; free space where it goes, or send it elsewhere",
        ErrorKind::FileTooLarge => "; raise the limit on the size of files (ulimit -f)",
        _ if error.raw_os_error() == Some(libc::EBADF) => "; it is closed, send it somewhere",
        _ => "",
    };
    io::Error::new(
        error.kind(),
        format!("cannot write to standard output: {error}{next}"),
    )
}

/// Prints a document for a program to read.
///
/// # Errors
/// When `out` cannot be written; a closed pipe stays recognisable as such.
pub fn print_json(out: &mut dyn Write, document: &impl Serialize) -> anyhow::Result<()> {
    // Not serialised straight to `out`: that would wrap the I/O error in one of JSON.
    let text = terminal::json(&serde_json::to_string_pretty(document)?);
    writeln!(out, "{text}")?;
    Ok(())
}

/// What a long run gave.
pub struct Outcome<'a, D> {
    /// For people, on standard output, unless the document or a file goes there.
    pub text: &'a str,
    pub document: &'a D,
    /// Where the document goes, if anywhere.
    pub json: Option<Target>,
    /// Other files and their content.
    pub files: Vec<(Target, Vec<u8>)>,
    /// What failed during the run.
    pub failures: Vec<anyhow::Error>,
}

impl<D: Serialize> Outcome<'_, D> {
    /// Prints the text, then writes the files. Each failure leaves the rest to be done, and what
    /// cannot be written where it should be is written elsewhere.
    ///
    /// # Errors
    /// The first failure; the others are printed. A closed pipe comes last: it is no failure alone.
    pub fn publish(self) -> anyhow::Result<()> {
        let mut failures = self.failures;
        let others = self.files.iter().map(|(target, _)| target);
        let to_stdout = self.json.iter().chain(others).any(Target::is_stdout);
        let printed = match to_stdout {
            true => Ok(()),
            false => stdout().text(self.text),
        };
        let document = file::to_json(self.document)?;
        if let Err(error) = printed {
            failures.push(match self.json {
                None => kept_elsewhere(error, &document),
                Some(_) => error.into(),
            });
        }
        let json = self.json.map(|target| (target, document));
        for (target, content) in json.into_iter().chain(self.files) {
            if let Err(error) = target.write_or_rescue(&content) {
                let error = anyhow::Error::from(error);
                if !exit::is_broken_pipe(&error) && error.downcast_ref().is_some_and(is_lost) {
                    say_text!("{}", String::from_utf8_lossy(&content));
                }
                failures.push(error);
            }
        }
        failures.sort_by_key(exit::is_broken_pipe);
        let mut failures = failures.into_iter();
        let Some(first) = failures.next() else {
            return Ok(());
        };
        for error in failures.filter(|error| !exit::is_broken_pipe(error)) {
            say!("artis: {error:#}");
        }
        Err(first)
    }
}

/// Whether no file took the figures, so that standard error is the only place left for them.
fn is_lost(error: &target::Error) -> bool {
    matches!(error, target::Error::Write { .. })
}

/// The error of a text that could not be printed. Nobody asked for a file, so the document is the
/// only place left for its figures: in another file, or else on standard error.
fn kept_elsewhere(error: io::Error, document: &[u8]) -> anyhow::Error {
    if error.kind() == ErrorKind::BrokenPipe {
        return error.into();
    }
    match file::rescue(Path::new("result.json"), None, document) {
        Some(rescued) => anyhow!("{error}; the result is in {}", rescued.display()),
        None => {
            say_text!("{}", String::from_utf8_lossy(document));
            anyhow!("{error}; no folder takes the result, so it stands above")
        }
    }
}
