// SPDX-License-Identifier: GPL-2.0-only
//! Finds the programs that loads run, and quotes their output when they fail.

use super::Error;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How much of the end of a program's output is read.
const TAIL_BYTES: u64 = 4096;
/// How many of the last lines an error quotes.
const LINES: usize = 3;

/// Full path of `program`, or an error that names the Debian `package` to install for `load`.
///
/// # Errors
/// [`Error::MissingProgram`].
pub fn find(
    load: &'static str,
    program: &'static str,
    package: &'static str,
) -> Result<PathBuf, Error> {
    which::which(program).map_err(|_| Error::MissingProgram {
        load,
        program,
        package,
    })
}

/// The end of the output in this file, on one line, for an error message.
pub fn last_words(output: &Path) -> String {
    let mut tail = Vec::new();
    // Output that cannot be read counts as no output.
    let _ = File::open(output).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        file.read_to_end(&mut tail)
    });
    let text = String::from_utf8_lossy(&tail);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    match lines.get(lines.len().saturating_sub(LINES)..) {
        Some(last) if !last.is_empty() => format!("it said: {}", last.join(" / ")),
        _ => "it said nothing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_names_its_package() {
        let error = find("io", "no-such-program", "some-package").unwrap_err();
        assert!(error.to_string().contains("apt install some-package"));
    }

    #[test]
    fn the_last_lines_are_quoted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(last_words(file.path()), "it said nothing");
        std::fs::write(file.path(), "a\nb\n\nc\nd\n").unwrap();
        assert_eq!(last_words(file.path()), "it said: b / c / d");
        assert_eq!(last_words(Path::new("/no/such/file")), "it said nothing");
    }
}
