// SPDX-License-Identifier: GPL-2.0-only
//! Licences of other people's crates: what is linked into what is shipped, as cargo says, and the
//! rest of `deny.toml`, as cargo-deny says where it is installed.

use std::path::Path;
use std::process::{Command, Output};

const SHIPPED: [&str; 3] = ["artis-rt", "artis-guest", "artis-guest-sched"];

fn cargo(words: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    Command::new(cargo)
        .args(words)
        .current_dir(root)
        .output()
        .unwrap()
}

/// The licences that `deny.toml` allows.
fn allowed() -> Vec<String> {
    let deny: toml::Table = include_str!("../../deny.toml").parse().unwrap();
    let allowed = deny["licenses"]["allow"].as_array().unwrap();
    let allowed = allowed.iter().map(|one| one.as_str().unwrap().to_owned());
    allowed.collect()
}

/// Does one of the choices that an expression gives fit, in each of its parts?
fn fits(expression: &str, allowed: &[String]) -> bool {
    let fits_one = |part: &str| {
        let part = part.trim_matches(['(', ')', ' ']).replace('/', " OR ");
        let mut choices = part.split(" OR ").map(str::trim);
        choices.any(|choice| allowed.iter().any(|one| one == choice))
    };
    !expression.is_empty() && expression.split(" AND ").all(fits_one)
}

/// Each as a sentence: a crate that is linked and must not be.
pub fn unfit() -> Vec<String> {
    let mut words = vec!["tree", "--offline", "--locked", "--prefix", "none"];
    words.extend([
        "--edges",
        "no-dev,no-build,no-proc-macro",
        "--format",
        "{p}|{l}",
    ]);
    words.extend(SHIPPED.iter().flat_map(|package| ["--package", package]));
    let output = cargo(&words);
    assert!(output.status.success(), "{output:?}");
    let allowed = allowed();
    let text = String::from_utf8(output.stdout).unwrap();
    // "name v1.2.3 (*)|MIT"
    let crates = text.lines().filter_map(|line| line.split_once('|'));
    let crates: Vec<_> = crates.collect();
    assert!(crates.len() > 100, "{text}");
    let unfit = crates.iter().filter(|(_, licence)| {
        let licence = licence.trim_end_matches("(*)").trim();
        !fits(licence, &allowed)
    });
    let say = |(name, licence): &(&str, &str)| {
        format!("{name}: {licence} does not fit GPL-2.0-only; take another crate")
    };
    unfit.map(say).collect()
}

/// What cargo-deny says of these checks; none: it is not there, or has not what it needs.
fn deny(test: &str, checks: &[&str], offline: bool) -> Option<Output> {
    let skipped = |reason: &str| {
        println!("SKIPPED: {test}: {reason}");
        None
    };
    if !cargo(&["deny", "--version"]).status.success() {
        return skipped("cargo-deny is not there; run: cargo install --locked cargo-deny");
    }
    let words = ["deny", "--offline", "--color", "never"];
    let words = if offline {
        &words[..]
    } else {
        &["deny", "--color", "never"]
    };
    let output = cargo(&[words, &["check"], checks].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("advisory database") && said.contains("fetch") {
        return skipped("the database of advisories cannot be fetched from here");
    }
    Some(output)
}

#[test]
fn crates_fit_deny_toml() {
    if let Some(output) = deny(
        "crates_fit_deny_toml",
        &["licenses", "bans", "sources"],
        true,
    ) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(
            !said.contains("not-encountered"),
            "deny.toml allows what is not there: {said}"
        );
    }
}

#[test]
fn no_crate_has_a_known_fault() {
    if let Some(output) = deny("no_crate_has_a_known_fault", &["advisories"], false) {
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn a_licence_fits_when_one_of_its_choices_does() {
    let allowed = ["MIT", "Unicode-3.0"].map(str::to_owned);
    for good in [
        "MIT",
        "Apache-2.0 OR MIT",
        "MIT/Apache-2.0",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
    ] {
        assert!(fits(good, &allowed), "{good}");
    }
    for bad in [
        "",
        "Apache-2.0",
        "Apache-2.0 OR GPL-3.0-only",
        "MIT AND OpenSSL",
        "MIT-0",
    ] {
        assert!(!fits(bad, &allowed), "{bad}");
    }
}
