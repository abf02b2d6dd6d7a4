// SPDX-License-Identifier: GPL-2.0-only
//! The worked examples of the pages: commands, and what they print.
//!
//! A block of the kind `console` holds lines that begin with `$ `, a command each, and below each
//! what it prints on standard output. A line `...` stands for any number of lines. Words after the
//! kind say more:
//!
//! - `measured`: the figures are other ones each time. Each number is like any other, and so are
//!   the spaces around it.
//! - `guest`: the command boots a virtual machine.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A block.
#[derive(Debug)]
pub struct Example {
    /// Where it stands: `docs/lab.md:12`.
    place: String,
    measured: bool,
    pub guest: bool,
    commands: Vec<(String, Vec<String>)>,
}

impl Example {
    /// Whether one of its commands is written with sudo.
    pub fn needs_root(&self) -> bool {
        let mut commands = self.commands.iter();
        commands.any(|(command, _)| command.starts_with("sudo "))
    }

    /// Runs the commands in a folder that has the repository's `docs`, `lab` and `tests`, with the
    /// folder of `artis` first in PATH.
    ///
    /// # Panics
    /// When a command fails, or prints something else than the page says.
    #[track_caller]
    pub fn check(&self, artis: &Path) {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["docs", "lab", "tests"] {
            let target = repository().join(name);
            std::os::unix::fs::symlink(target, folder.path().join(name)).expect("a link");
        }
        let path = std::env::var("PATH").expect("PATH");
        let path = format!("{}:{path}", artis.parent().expect("a folder").display());
        for (command, expected) in &self.commands {
            let place = &self.place;
            // Whoever needs root is root here.
            let output = Command::new("sh")
                .args(["-c", command.strip_prefix("sudo ").unwrap_or(command)])
                .current_dir(folder.path())
                .env("PATH", &path)
                .output()
                .expect("a shell");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{place}: {command}:\n{errors}");
            let printed = String::from_utf8_lossy(&output.stdout);
            let printed: Vec<String> = printed.lines().map(|line| self.form(line)).collect();
            let wanted: Vec<String> = expected.iter().map(|line| self.form(line)).collect();
            assert!(
                fits(&wanted, &printed),
                "{place}: {command} does not print what the page says, but:\n{}",
                String::from_utf8_lossy(&output.stdout)
            );
        }
    }

    /// A line as it is compared.
    fn form(&self, line: &str) -> String {
        if !self.measured {
            return line.trim_end().to_owned();
        }
        let mut form = String::new();
        let is_figure = |c: char| c.is_ascii_digit() || c == '.';
        for word in line.split_whitespace() {
            // A figure may be below zero once, and above it another time.
            let mut rest = word.trim_start_matches('-');
            rest = if rest.is_empty() { word } else { rest };
            while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
                form.push_str(&rest[..at]);
                form.push('#');
                rest = rest[at..].trim_start_matches(is_figure);
            }
            form.push_str(rest);
            form.push(' ');
        }
        form
    }
}

/// Whether the lines are those that are wanted, of which `...` is any number.
fn fits(wanted: &[String], lines: &[String]) -> bool {
    match wanted.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first.trim() == "..." => {
            (0..=lines.len()).any(|at| fits(rest, &lines[at..]))
        }
        Some((first, rest)) => lines
            .split_first()
            .is_some_and(|(line, lines)| line == first && fits(rest, lines)),
    }
}

/// The pages, by their paths in the repository.
pub fn pages() -> Vec<PathBuf> {
    let mut pages = vec![PathBuf::from("README.md")];
    for folder in ["docs", "docs/results"] {
        let entries = std::fs::read_dir(repository().join(folder)).expect(folder);
        for entry in entries {
            let path = Path::new(folder).join(entry.expect("an entry").file_name());
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// The examples of a page.
pub fn examples(page: &Path) -> Vec<Example> {
    let text = std::fs::read_to_string(repository().join(page)).expect("a page");
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        if inside {
            let example = examples.last_mut().expect("one that has begun");
            if line.starts_with("```") {
                inside = false;
            } else if let Some(command) = line.strip_prefix("$ ") {
                example.commands.push((command.to_owned(), Vec::new()));
            } else {
                let (_, expected) = example.commands.last_mut().expect("a command comes first");
                expected.push(line.to_owned());
            }
        } else if let Some(kind) = line.strip_prefix("```console") {
            inside = true;
            examples.push(Example {
                place: format!("{}:{}", page.display(), index + 1),
                measured: kind.split_whitespace().any(|word| word == "measured"),
                guest: kind.split_whitespace().any(|word| word == "guest"),
                commands: Vec::new(),
            });
        }
    }
    examples
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
