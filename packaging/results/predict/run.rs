// SPDX-License-Identifier: GPL-2.0-only
//! Runs each scenario in the deterministic lab (Bochs) and in the simulator, and keeps what the lab
//! gave: the same command goes on after an interruption.
//!
//! The lab's figures are kept with what they depend on: the scenario, how it is run, and the state
//! of all sources but the simulator's. Simulations are quick, and made anew.

use super::{Both, Prediction, Simulated, random};
use crate::output;
use anyhow::{Context, bail};
use artis_scenario::outcome::Outcome;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Below the repository.
const FOLDER: &str = "target/predict";
const SHIPPED: &str = "lab/scenario";
/// Those of the short form: what ends by itself, what forks, what waits, and groups.
const SHORT: [&str; 4] = [
    "rule-association.toml",
    "control-loop-build.toml",
    "video-database.toml",
    "service-session.toml",
];
const RANDOM_COUNT: u64 = 40;
const RANDOM_SEED: u64 = 1;
/// How long a scenario is run at most, of its own time.
const LONGEST: Duration = Duration::from_secs(2);
const SCHEDULERS: [&str; 2] = ["stock", "artis"];

/// What the lab gave, and of what.
#[derive(Serialize, Deserialize)]
struct Kept {
    of: String,
    outcome: Outcome,
}

/// Compares all scenarios, or some for the short form.
///
/// # Errors
/// When a scenario cannot be run; the others are run and kept before that is said.
pub fn all(artis: &Path, is_short: bool) -> anyhow::Result<Prediction> {
    fs::create_dir_all(FOLDER).with_context(|| format!("cannot make {FOLDER}"))?;
    let sources = sources()?;
    let mut prediction = Prediction {
        made: output("git", &["rev-parse", "--short=12", "HEAD"])?,
        ..Prediction::default()
    };
    let mut failed = Vec::new();
    let files = scenarios(is_short)?;
    for file in &files {
        match one(artis, &sources, file, &mut prediction) {
            Ok(()) => prediction.scenarios += 1,
            Err(error) => {
                eprintln!("artis-results: {}: {error:#}", file.display());
                failed.push(file.display().to_string());
            }
        }
    }
    if !failed.is_empty() {
        bail!(
            "{} of {} scenarios failed: {}; the same command goes on",
            failed.len(),
            files.len(),
            failed.join(", ")
        );
    }
    Ok(prediction)
}

fn scenarios(is_short: bool) -> anyhow::Result<Vec<PathBuf>> {
    if is_short {
        return Ok(SHORT.map(|name| Path::new(SHIPPED).join(name)).into());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(SHIPPED).with_context(|| format!("cannot read {SHIPPED}"))? {
        files.push(entry?.path());
    }
    files.sort();
    for number in 0..RANDOM_COUNT {
        let file = PathBuf::from(format!("{FOLDER}/random-{number:02}.toml"));
        let text = random::scenario(RANDOM_SEED, number);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        files.push(file);
    }
    Ok(files)
}

/// A scenario with each scheduler.
fn one(
    artis: &Path,
    sources: &str,
    file: &Path,
    prediction: &mut Prediction,
) -> anyhow::Result<()> {
    let text = fs::read_to_string(file)?;
    let reading = artis_scenario::read(&text, None, "it")?;
    let of_file = reading.scenario.end.duration_ns.map(Duration::from_nanos);
    let duration = of_file.unwrap_or(LONGEST).min(LONGEST).as_millis().max(1);
    let duration = format!("--duration={duration}ms");
    // Without an RT CPU there is nothing for artis to do.
    let has_rt = !reading.scenario.machine.rt_cpus.is_empty();
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut both = Vec::new();
    for scheduler in &SCHEDULERS[..1 + usize::from(has_rt)] {
        let words = [scheduler, "--json", &duration];
        let words = [["--scheduler"].as_slice(), &words].concat();
        let of = format!("{sources}\n{}\n{text}", words.join(" "));
        let kept = PathBuf::from(format!("{FOLDER}/{name}-{scheduler}.json"));
        let simulated = run(artis, &["simulate"], file, &words)?;
        both.push((
            scheduler,
            Both {
                lab: lab(artis, &kept, of, file, &words)?,
                simulated: serde_json::from_slice::<Simulated>(&simulated)?,
            },
        ));
    }
    for (scheduler, both) in &both {
        prediction.add(&format!("{name}, {scheduler}"), both);
    }
    if let [(_, stock), (_, artis)] = both.as_slice() {
        prediction.decide(&name, stock, artis);
    }
    Ok(())
}

/// What the lab gives: kept, or run now.
fn lab(
    artis: &Path,
    kept: &Path,
    of: String,
    file: &Path,
    words: &[&str],
) -> anyhow::Result<Outcome> {
    let known = fs::read(kept).ok();
    let known = known.and_then(|text| serde_json::from_slice::<Kept>(&text).ok());
    if let Some(known) = known.filter(|known| known.of == of) {
        return Ok(known.outcome);
    }
    let words = [words, &["--engine", "bochs"]].concat();
    let outcome = run(artis, &["lab", "scenario"], file, &words)?;
    let outcome = serde_json::from_slice(&outcome).context("cannot read what the guest printed")?;
    let new = Kept { of, outcome };
    // An interruption leaves the old file or the new one.
    let part = kept.with_extension("part");
    fs::write(&part, serde_json::to_vec(&new)?)?;
    fs::rename(&part, kept).with_context(|| format!("cannot write {}", kept.display()))?;
    Ok(new.outcome)
}

fn run(artis: &Path, command: &[&str], file: &Path, words: &[&str]) -> anyhow::Result<Vec<u8>> {
    let output = Command::new(artis)
        .args(command)
        .arg(file)
        .args(words)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", artis.display()))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => bail!("artis {} ended with {}", command.join(" "), output.status),
    }
}

/// The state of all sources that a guest is made of.
fn sources() -> anyhow::Result<String> {
    let of = ["--", "src", "Cargo.lock", ":!src/sim", ":!src/report"];
    let commit = output(
        "git",
        &[["log", "-1", "--format=%H"].as_slice(), &of].concat(),
    )?;
    let changed = output("git", &[["diff", "HEAD"].as_slice(), &of].concat())?;
    Ok(format!("{commit}\n{changed}"))
}
