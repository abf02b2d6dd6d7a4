// SPDX-License-Identifier: GPL-2.0-only
//! A small generated C program in several files, so that a source build works offline and is the
//! same everywhere. It needs a compiler and `make`, and no header.

use super::{Error, program};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Source files. A build runs one compiler for each, and one linker.
const FILES: usize = 12;
/// Functions in each: enough that a compiler takes about a tenth of a second.
const FUNCTIONS: usize = 8;

/// The programs that a build runs.
#[derive(Clone, Debug)]
pub struct Tools {
    make: PathBuf,
    cc: PathBuf,
}

impl Tools {
    /// Finds them, for the load or workload with this name.
    ///
    /// # Errors
    /// [`Error::MissingProgram`].
    pub fn find(load: &'static str) -> Result<Self, Error> {
        Ok(Self {
            make: program::find(load, "make", "make")?,
            cc: program::find(load, "cc", "gcc")?,
        })
    }

    /// A command that builds everything in `folder` anew, `jobs` compilers at a time.
    pub fn command(&self, folder: &Path, jobs: usize) -> Command {
        let mut command = Command::new(&self.make);
        command
            .args(["--silent", "--always-make"])
            .arg(format!("--jobs={jobs}"))
            .arg(format!("CC={}", self.cc.display()))
            .current_dir(folder)
            // If make started artis, its options and its pipe must not reach this make.
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL")
            // Compilers put files there, which are removed with the folder.
            .env("TMPDIR", folder);
        command
    }
}

/// Makes `folder` and writes the sources into it.
///
/// # Errors
/// [`Error::Folder`].
pub fn write(folder: &Path) -> Result<(), Error> {
    let write = || {
        std::fs::create_dir_all(folder)?;
        for file in 0..FILES {
            std::fs::write(folder.join(format!("part{file}.c")), source(file))?;
        }
        std::fs::write(folder.join("Makefile"), makefile())
    };
    write().map_err(|reason| Error::Folder {
        folder: folder.to_owned(),
        reason,
    })
}

/// Linked with -r, which needs no library.
fn makefile() -> String {
    let objects: Vec<String> = (0..FILES).map(|file| format!("part{file}.o")).collect();
    let objects = objects.join(" ");
    format!(
        "program.o: {objects}\n\t$(CC) -r -nostdlib -o $@ {objects}\n%.o: %.c\n\t$(CC) -O2 -c -o $@ $<\n"
    )
}

/// Loops, branches and arrays, as work for the optimiser.
fn source(file: usize) -> String {
    let mut text = String::new();
    for function in 0..FUNCTIONS {
        let odd = 2 * (file * FUNCTIONS + function) + 1;
        write!(
            text,
            "unsigned part{file}_{function}(unsigned *a, unsigned n)\n{{\n\
             \tunsigned i, j, s = {odd}u;\n\
             \tfor (i = 0; i < n; i++) {{\n\
             \t\tfor (j = 0; j < 8; j++)\n\t\t\ts = s * {odd}u + (a[i] >> j);\n\
             \t\tswitch (s % 7) {{\n\
             \t\tcase 0: a[i] ^= s; break;\n\
             \t\tcase 3: a[i] += a[i / 2] * {odd}u; break;\n\
             \t\tcase 5: s -= a[n - 1 - i]; break;\n\
             \t\tdefault: a[i] = s << (i & 15);\n\
             \t\t}}\n\t}}\n\treturn s;\n}}\n\n"
        )
        .expect("a string takes text");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_build_again_and_again() {
        let tools = match Tools::find("build") {
            Ok(tools) => tools,
            Err(error) => return println!("SKIPPED: the_sources_build: {error}"),
        };
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("source");
        write(&place).unwrap();
        for _ in 0..2 {
            let output = tools.command(&place, 2).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let built = place.join("program.o");
            assert!(std::fs::metadata(&built).unwrap().len() > 0);
            // Removed, so that the next build has to make it.
            std::fs::remove_file(built).unwrap();
        }
    }

    #[test]
    fn an_unwritable_folder_is_named() {
        let error = write(Path::new("/proc/no-such-folder")).unwrap_err();
        assert!(
            error.to_string().contains("/proc/no-such-folder"),
            "{error}"
        );
    }
}
