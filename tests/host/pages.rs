// SPDX-License-Identifier: GPL-2.0-only
//! README and docs/: the worked examples print what the pages say, links lead somewhere, and the
//! first page stays short.

use crate::common::pages::{examples, pages};
use std::path::{Path, PathBuf};

/// Pages without a worked example: the first one, whose figures differ from run to run by whole
/// lines, and those for people who change artis.
const NO_EXAMPLE: [&str; 3] = ["README.md", "docs/decisions.md", "docs/development.md"];
const README_LINES_MAX: usize = 150;

fn read(page: &Path) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap()
}

#[test]
fn each_page_has_a_worked_example() {
    for page in pages() {
        let without = NO_EXAMPLE.iter().any(|without| page == Path::new(without));
        assert!(
            without || !examples(&page).is_empty(),
            "{}: no block of the kind `console`",
            page.display()
        );
    }
}

#[test]
fn the_worked_examples_print_what_the_pages_say() {
    as_root!("the_worked_examples_print_what_the_pages_say");
    let artis = PathBuf::from(env!("CARGO_BIN_EXE_artis"));
    for page in pages() {
        for example in examples(&page).iter().filter(|example| !example.guest) {
            example.check(&artis);
        }
    }
}

#[test]
fn the_links_lead_to_files() {
    for page in pages() {
        let text = read(&page);
        for after in text.split("](").skip(1) {
            let target = after.split([')', '#']).next().unwrap();
            if target.is_empty() || target.starts_with("http") {
                continue;
            }
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join(page.parent().unwrap())
                .join(target);
            assert!(path.exists(), "{}: no {target}", page.display());
        }
    }
}

/// `make pages` writes them.
#[test]
fn the_figures_of_the_pages_are_those_of_the_results() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for made in artis_results::Repository::at(folder).made().unwrap() {
        let there = std::fs::read_to_string(folder.join(&made.path)).unwrap();
        let path = made.path.display();
        assert!(
            there == made.content,
            "{path} is not what the results say; run `make pages`"
        );
    }
}

#[test]
fn the_first_page_stays_short() {
    let lines = read(Path::new("README.md")).lines().count();
    assert!(lines <= README_LINES_MAX, "{lines} lines");
}
