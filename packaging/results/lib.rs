// SPDX-License-Identifier: GPL-2.0-only
//! Reads experiments (`lab/NAME.toml`) and their results (`docs/results/NAME.json`), and makes the
//! pages and pictures that show them. The text itself is [`artis_report::results`]'s.
//!
//! A page names what it shows: `<!-- made: NAME -->`. That decides what `make results` runs.

pub mod predict;

use anyhow::{Context, bail};
use artis_decide::compare::gate::{Bound, Gate, Verdict};
use artis_decide::compare::{Comparison, compare, figures};
use artis_lab::experiment::plan;
use artis_lab::experiment::rows;
use artis_report::picture::Drawn;
use artis_report::results::Usual;
use artis_report::{Sheet, histograms, results, scatter};
use artis_result::experiment::Experiment;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The page on which an experiment is shown in brief, and the one with all figures.
const FIRST: &str = "README.md";
const RESULTS: &str = "docs/results/README.md";
/// The made part that is of no experiment: what all of a page have in common.
const COMMON: &str = "common";
type Draw = fn(&Comparison, &Sheet) -> Drawn;

/// The pictures: name, experiment, who draws it.
const PICTURES: [(&str, &str, Draw); 3] = [
    ("demo", "demo", scatter::picture),
    ("latency-throughput", "table1", scatter::picture),
    ("histograms", "table1", histograms::picture),
];

/// The files of a repository.
pub struct Repository(PathBuf);

/// A file as it should be.
pub struct Made {
    /// Below the repository.
    pub path: PathBuf,
    pub content: String,
}

impl Repository {
    /// The one in this folder.
    pub fn at(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    pub fn result(&self, name: &str) -> PathBuf {
        self.0.join(format!("docs/results/{name}.json"))
    }

    pub fn plan_file(&self, name: &str) -> PathBuf {
        self.0.join(format!("lab/{name}.toml"))
    }

    /// The experiments that the pages show and that can be run, each once.
    ///
    /// # Errors
    /// When a page cannot be read.
    pub fn experiments(&self) -> anyhow::Result<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        for page in [FIRST, RESULTS] {
            let text = self.read(page)?;
            for name in results::names(&text) {
                if self.plan_file(name).exists() && !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        Ok(names)
    }

    /// The pages and pictures as the result files have them.
    ///
    /// # Errors
    /// When a file cannot be read, or a gate does not fit its experiment.
    pub fn made(&self) -> anyhow::Result<Vec<Made>> {
        let mut all = Vec::new();
        for page in [FIRST, RESULTS] {
            let text = self.read(page)?;
            let mut judged = Vec::new();
            for name in results::names(&text) {
                if name != COMMON {
                    judged.push((name, self.judged(name, &self.result(name))?));
                }
            }
            let usual = Usual::of(judged.iter().map(|(_, (experiment, _))| experiment));
            let mut parts = BTreeMap::from([(COMMON, results::common(&usual))]);
            for (name, (experiment, verdicts)) in &judged {
                let part = match page {
                    FIRST => results::in_brief(experiment),
                    _ => results::part(name, experiment, verdicts, &usual),
                };
                parts.insert(*name, part);
            }
            let part = |name: &str| parts.get(name).cloned().unwrap_or_default();
            let content = results::page(&text, part);
            all.push(Made {
                path: page.into(),
                content: content.with_context(|| format!("cannot make {page}"))?,
            });
        }
        all.extend(self.pictures()?);
        Ok(all)
    }

    fn pictures(&self) -> anyhow::Result<Vec<Made>> {
        let mut made = Vec::new();
        for (name, of, draw) in PICTURES {
            let all = compared(&read_result(&self.result(of))?)?;
            let picture = draw(&all, &Sheet::FILE)
                .picture
                .with_context(|| format!("{of}: no figures for {name}.svg"))?;
            made.push(Made {
                path: format!("docs/results/{name}.svg").into(),
                content: picture.svg,
            });
        }
        Ok(made)
    }

    /// The result in `file`, and what became of the gates of the experiment `name`; none where the
    /// experiment is no more.
    ///
    /// # Errors
    /// When a file cannot be read, or a gate does not fit.
    pub fn judged(&self, name: &str, file: &Path) -> anyhow::Result<(Experiment, Vec<Verdict>)> {
        let experiment = read_result(file)?;
        // A part of an experiment can have a file of its own, which says whose part it is.
        let plans = [name, &experiment.name].map(|name| self.plan_file(name));
        let verdicts = match plans.iter().find(|path| path.exists()) {
            Some(path) => verdicts(&plan::Experiment::read(path)?, &experiment),
            None => Ok(Vec::new()),
        };
        let verdicts = verdicts.with_context(|| format!("{}: wanted", file.display()))?;
        Ok((experiment, verdicts))
    }

    fn read(&self, page: &str) -> anyhow::Result<String> {
        fs::read_to_string(self.0.join(page)).with_context(|| format!("cannot read {page}"))
    }
}

/// The result in a file.
///
/// # Errors
/// When it cannot be read, or is none.
pub fn read_result(path: &Path) -> anyhow::Result<Experiment> {
    let read = || anyhow::Ok(serde_json::from_slice(&fs::read(path)?)?);
    read().with_context(|| format!("cannot read {}", path.display()))
}

/// What a program prints.
///
/// # Errors
/// When it cannot be run, fails, or prints no text.
pub fn output(program: &str, words: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).args(words).output();
    let output = output.with_context(|| format!("cannot run {program}"))?;
    if !output.status.success() {
        bail!("{program} {} ended with {}", words.join(" "), output.status);
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn compared(experiment: &Experiment) -> anyhow::Result<Comparison> {
    // All rows are measured for the same time; a few wakeups that were missed make no difference.
    let configurations = figures::of_experiment(experiment)?;
    let unit = experiment.time_unit();
    Ok(compare(configurations, unit, None, true)?)
}

/// What became of an experiment's gates, one for each row that a gate is for.
///
/// # Errors
/// When a gate is none, or fits no row.
fn verdicts(plan: &plan::Experiment, experiment: &Experiment) -> anyhow::Result<Vec<Verdict>> {
    let all = compared(experiment)?;
    let has = |name: &Option<String>| {
        let mut rows = experiment.rows.iter();
        name.as_ref()
            .is_none_or(|name| rows.any(|row| row.configuration == *name))
    };
    let groups = rows::names(plan);
    let mut verdicts = Vec::new();
    for text in &plan.wanted {
        let gate: Gate = text.parse().with_context(|| text.clone())?;
        let before = verdicts.len();
        let mut done: Vec<Gate> = Vec::new();
        for group in &groups {
            let row = |name: &String| group.get(name).unwrap_or(name).clone();
            let mut gate = gate.clone();
            gate.configuration = gate.configuration.as_ref().map(row);
            let reference = match &mut gate.bound {
                Bound::Number(_) => None,
                Bound::Times { reference, .. } => {
                    *reference = row(reference);
                    Some(reference.clone())
                }
            };
            // A result may lack rows of the experiment, which is then run again some day.
            if done.contains(&gate) || !has(&gate.configuration) || !has(&reference) {
                continue;
            }
            verdicts.push(gate.check(&all)?);
            done.push(gate);
        }
        if verdicts.len() == before {
            bail!("{text} fits no row of {}", experiment.name);
        }
    }
    Ok(verdicts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> Repository {
        Repository::at(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
    }

    /// Every file that comes with artis, also those without a result.
    #[test]
    fn the_gates_of_all_experiments_are_understood() {
        let folder = repository().0.join("lab");
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|end| end != "toml") {
                continue;
            }
            let plan = plan::Experiment::read(&path).unwrap();
            let names: Vec<String> = rows::names(&plan)
                .into_iter()
                .flat_map(|group| group.into_iter().flat_map(|(of, row)| [of, row]))
                .collect();
            for text in &plan.wanted {
                let gate: Gate = text
                    .parse()
                    .unwrap_or_else(|error| panic!("{text}: {error}"));
                let configuration = gate.configuration.expect(text);
                assert!(names.contains(&configuration), "{text}");
                if let Bound::Times { reference, .. } = gate.bound {
                    assert!(names.contains(&reference), "{text}");
                }
            }
        }
    }

    #[test]
    fn a_configuration_stands_for_each_of_its_rows() {
        let (experiment, verdicts) = {
            let repository = repository();
            let file = repository.result("others");
            repository.judged("others", &file).unwrap()
        };
        let rows = experiment.rows.iter();
        let artis = rows.filter(|row| row.configuration.starts_with("artis-"));
        let text = "artis-six-4cpus:normal.mean<=isolcpus-six-4cpus";
        let all: Vec<String> = verdicts.iter().map(|one| one.gate.to_string()).collect();
        assert!(all.iter().any(|one| one == text), "{all:?}");
        let one = |gate: &&String| gate.contains(":normal.mean<=");
        assert_eq!(all.iter().filter(one).count(), artis.count());
    }
}
