// SPDX-License-Identifier: GPL-2.0-only
//! `artis-results`, run by `make results`: measures what the pages show, and writes the pages.
//!
//! | words | what |
//! |---|---|
//! | | run what is not in the cache, write results, pictures and pages |
//! | `only NAME...` | the same, of these experiments |
//! | `pages` | write pictures and pages from the results that are there |
//! | `short` | run `lab/short.toml`, and say which gates are held |
//! | `predict`, `predict short` | compare the simulator with the lab, in all scenarios or in four |
//! | `same FILE FILE...` | compare results of builds that should not differ |

use anyhow::{Context, bail};
use artis_report::results::{judged, same};
use artis_result::experiment::{Experiment, Made};
use artis_results::predict;
use artis_results::{Repository, output, read_result};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// As of `artis compare`.
const BOUND_MISSED: u8 = 2;
/// Debian packages whose files are in guests.
const PACKAGES: [&str; 6] = [
    "busybox",
    "busybox-static",
    "rt-tests",
    "libc6",
    "libelf1t64",
    "zlib1g",
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let repository = Repository::at(Path::new("."));
    let done = match words.as_slice() {
        [] => results(&repository, &[]),
        ["only", names @ ..] if !names.is_empty() => results(&repository, names),
        ["pages"] => pages(&repository),
        ["short"] => short(&repository),
        ["predict"] => predict(false),
        ["predict", "short"] => predict(true),
        ["same", files @ ..] if files.len() > 1 => compare_builds(files),
        _ => {
            eprintln!(
                "artis-results: no words, `only` and experiments, `pages`, `short`, `predict`, `predict short`, or `same` and several results"
            );
            return ExitCode::from(64);
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("artis-results: {error:#}");
        ExitCode::FAILURE
    })
}

/// Of `only` these experiments, of all if it names none.
fn results(repository: &Repository, only: &[&str]) -> anyhow::Result<ExitCode> {
    let mut names = repository.experiments()?;
    if let Some(name) = only
        .iter()
        .find(|&&name| names.iter().all(|known| known != name))
    {
        bail!(
            "no page shows the experiment {name}; name some of: {}",
            names.join(", ")
        );
    }
    names.retain(|name| only.is_empty() || only.contains(&name.as_str()));
    for name in &names {
        lab(repository, name, &["--list".as_ref()])?;
    }
    fs::create_dir_all("target/results")?;
    for name in &names {
        let measured = PathBuf::from(format!("target/results/{name}.json"));
        lab(repository, name, &["--json".as_ref(), measured.as_os_str()])?;
        keep(&measured, &repository.result(name))?;
    }
    pages(repository)
}

/// Replaces a result by a new one, unless that is of the same guests.
fn keep(measured: &Path, kept: &Path) -> anyhow::Result<()> {
    let mut new = read_result(measured)?;
    let old = read_result(kept).ok();
    let guests = |of: &Experiment| -> Vec<String> {
        of.rows.iter().flat_map(|row| row.guests.clone()).collect()
    };
    let made = match old {
        Some(old) if guests(&old) == guests(&new) => old.made,
        _ => Some(made()?),
    };
    new.made = made;
    let mut text = serde_json::to_string_pretty(&new)?;
    text.push('\n');
    write(kept, &text)
}

fn pages(repository: &Repository) -> anyhow::Result<ExitCode> {
    for made in repository.made()? {
        write(&made.path, &made.content)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, content: &str) -> anyhow::Result<()> {
    if fs::read_to_string(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("artis-results: {} is new", path.display());
    Ok(())
}

fn short(repository: &Repository) -> anyhow::Result<ExitCode> {
    let name = "short";
    let file = PathBuf::from("target/short.json");
    lab(repository, name, &["--json".as_ref(), file.as_os_str()])?;
    let (_, verdicts) = repository.judged(name, &file)?;
    write!(std::io::stdout(), "\n{}", judged(name, &verdicts))?;
    let held = verdicts.iter().all(|verdict| verdict.held());
    Ok(status(held))
}

/// Only the full form writes, into the page that says what the simulator is worth.
fn predict(is_short: bool) -> anyhow::Result<ExitCode> {
    let artis = std::env::current_exe()?.with_file_name("artis");
    let prediction = predict::run::all(&artis, is_short)?;
    let (table, is_held) = prediction.table();
    std::io::stdout().write_all(table.as_bytes())?;
    if !is_short {
        let text = serde_json::to_string_pretty(&prediction)? + "\n";
        write(Path::new("docs/results/predict.json"), &text)?;
        let page = Path::new("docs/scenarios.md");
        let made =
            artis_report::results::page(&fs::read_to_string(page)?, |_| format!("\n{table}\n"))?;
        write(page, &made)?;
    }
    Ok(status(is_held))
}

fn compare_builds(files: &[&str]) -> anyhow::Result<ExitCode> {
    let builds = files.iter().map(|file| read_result(Path::new(file)));
    let builds: Vec<Experiment> = builds.collect::<Result<_, _>>()?;
    let (text, held) = same::table(&builds);
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(status(held))
}

fn status(held: bool) -> ExitCode {
    match held {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(BOUND_MISSED),
    }
}

/// `artis lab experiment`, which goes on where it was interrupted.
fn lab(repository: &Repository, name: &str, words: &[&std::ffi::OsStr]) -> anyhow::Result<()> {
    let artis = std::env::current_exe()?.with_file_name("artis");
    let status = Command::new(&artis)
        .args(["lab", "experiment"])
        .arg(repository.plan_file(name))
        .args(words)
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot run {}", artis.display()))?;
    match status.success() {
        true => Ok(()),
        false => bail!("the experiment {name} ended with {status}; the same command goes on"),
    }
}

/// The commit, and the versions of what goes into guests from this machine.
fn made() -> anyhow::Result<Made> {
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"])?;
    let changed = output(
        "git",
        &[
            "status",
            "--porcelain",
            "--untracked-files=no",
            "src",
            "lab",
        ],
    )?;
    let mut packages = Vec::new();
    for package in PACKAGES {
        let format = "-f=${Package} ${Version}";
        // One of the two kinds of busybox is not installed.
        packages.extend(output("dpkg-query", &["-W", format, package]).ok());
    }
    packages.push(output("rustc", &["--version"])?);
    let clang = output("clang", &["--version"]).ok();
    packages.extend(clang.and_then(|text| text.lines().next().map(str::to_owned)));
    Ok(Made {
        commit: commit + if changed.is_empty() { "" } else { "+" },
        packages,
    })
}
