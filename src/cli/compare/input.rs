// SPDX-License-Identifier: GPL-2.0-only
//! The files of `artis compare`, `artis decide` and `artis report`: which is what, and what each
//! configuration is called.

use crate::cli::exit::UsageError;
use crate::cli::progress::Sign;
use crate::decide::compare::figures::machine::one_machine;
use crate::decide::compare::figures::{self, of_experiment, of_results};
use crate::decide::compare::{self, Configuration};
use crate::explain::{self, document};
use crate::result::experiment::{self, Experiment};
use crate::result::{Document, file, import, is_same_run};
use anyhow::{Context, bail};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// A word of the command line: `[NAME=]FILE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    name: Option<String>,
    path: PathBuf,
}

impl Input {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl FromStr for Input {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        // A name has no slash, so that ./a=b.json is a file.
        let (name, path) = match word.split_once('=') {
            Some((name, path)) if !name.contains('/') => (Some(name), path),
            _ => (None, word),
        };
        if name.is_some_and(str::is_empty) {
            return Err("the name in front of = is empty");
        }
        if path.is_empty() {
            return Err("there is no file after the =");
        }
        Ok(Self {
            name: name.map(str::to_owned),
            path: path.into(),
        })
    }
}

/// What each file is called: by the name in front of it, or its stem. Files of one stem are
/// called by more of their paths, so that only a name in front makes several files the runs of
/// one configuration.
fn names(inputs: &[Input]) -> Result<Vec<String>, UsageError> {
    let name = |input: &Input| match &input.name {
        Some(name) => Ok(name.clone()),
        None => {
            let others = inputs.iter().filter(|other| other.name.is_none());
            let paths: Vec<&Path> = others.map(|other| other.path.as_path()).collect();
            unlike(&input.path, &paths)
        }
    };
    inputs.iter().map(name).collect()
}

/// A name of the file that none of `all` but itself has.
fn unlike(path: &Path, all: &[&Path]) -> Result<String, UsageError> {
    let namings: [fn(&Path) -> String; 2] = [
        |path| text(path.file_stem().unwrap_or(path.as_os_str()).as_ref()),
        |path| text(path.file_name().unwrap_or(path.as_os_str()).as_ref()),
    ];
    let is_alone = |naming: &dyn Fn(&Path) -> String| {
        let alike = all.iter().filter(|other| naming(other) == naming(path));
        // Once more is the same file, and refused as the same run.
        alike.collect::<BTreeSet<_>>().len() <= 1
    };
    for naming in namings {
        if is_alone(&naming) {
            return Ok(naming(path));
        }
    }
    let depth = |path: &Path| path.components().count();
    for parts in 2..=all.iter().map(|path| depth(path)).max().unwrap_or(0) {
        let naming = |path: &Path| {
            let all: Vec<Component> = path.components().collect();
            let last: PathBuf = all[all.len().saturating_sub(parts)..].iter().collect();
            text(&last.with_extension(""))
        };
        if is_alone(&naming) {
            return Ok(naming(path));
        }
    }
    let name = namings[0](path);
    Err(UsageError(format!(
        "several files would be named {name}; name each: {name}-1={} and so on",
        path.display()
    )))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What the files hold.
pub struct Read {
    pub configurations: Vec<Configuration>,
    /// The unit of all their times.
    pub unit: String,
}

/// A file of the command line.
pub struct File {
    /// What it is called.
    pub name: String,
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    pub content: Content,
}

/// A file's content.
pub enum Content {
    Result(Box<Document>),
    Experiment(Experiment),
    /// Has no figures to compare.
    Explanation(Box<explain::Document>),
}

impl Content {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Result(one), Self::Result(other)) => is_same_run(one, other),
            (Self::Experiment(one), Self::Experiment(other)) => one.rows == other.rows,
            (Self::Explanation(one), Self::Explanation(other)) => one == other,
            _ => false,
        }
    }
}

/// What belongs together.
pub enum Group {
    /// The runs of one configuration.
    Results(String, Vec<Document>),
    /// An experiment, and what comes in front of its rows' names.
    Experiment(String, Experiment),
}

/// Reads all files, in the order of the command line; standard input can be one of them.
pub fn files(inputs: &[Input]) -> anyhow::Result<Vec<File>> {
    if inputs
        .iter()
        .filter(|input| input.path == Path::new("-"))
        .count()
        > 1
    {
        return Err(UsageError("standard input (-) can be read only once".to_owned()).into());
    }
    let sign = Sign::of("reading");
    let each = sign.each(inputs, "files");
    let contents: Vec<(Vec<u8>, Content)> = each
        .map(|input| content(&input.path))
        .collect::<Result<_, _>>()?;
    sign.done(1.0);
    sign.step("looking for a run that is there twice");
    refuse_same(inputs, &contents)?;
    let files = inputs.iter().zip(contents).zip(names(inputs)?);
    let files = files.map(|((input, (bytes, content)), name)| File {
        name,
        path: input.path.clone(),
        bytes,
        content,
    });
    Ok(files.collect())
}

/// Reads all files, and puts together what belongs together.
pub fn groups(inputs: &[Input]) -> anyhow::Result<Vec<Group>> {
    let files = files(inputs)?;
    let explanation = |file: &&File| matches!(file.content, Content::Explanation(_));
    if let Some(file) = files.iter().find(explanation) {
        let path = file.path.display();
        bail!(
            "{path} is an explanation ({}), which has no figures to compare; to see it, type: \
             artis explain show {path}",
            document::SCHEMA
        );
    }
    let contents = files.into_iter().map(|file| (file.name, file.content));
    Ok(grouped(contents.collect()))
}

/// Puts together what belongs together; explanations belong to nothing.
pub fn grouped(contents: Vec<(String, Content)>) -> Vec<Group> {
    let count = contents.len();
    let mut groups: Vec<Group> = Vec::new();
    for (name, content) in contents {
        match content {
            Content::Experiment(experiment) => {
                // With one file alone, the rows' own names are enough.
                let prefix = match count {
                    1 => String::new(),
                    _ => name + "/",
                };
                groups.push(Group::Experiment(prefix, experiment));
            }
            Content::Result(document) => {
                // All runs of a name come where the first of them is.
                let known = groups.iter_mut().find_map(|group| match group {
                    Group::Results(known, runs) if *known == name => Some(runs),
                    _ => None,
                });
                match known {
                    Some(runs) => runs.push(*document),
                    None => groups.push(Group::Results(name, vec![*document])),
                }
            }
            Content::Explanation(_) => {}
        }
    }
    groups
}

/// The same without the files that are no runs of their configuration's first measurement.
///
/// # Errors
/// When the files of a name are of several machines.
pub fn of_one_measurement(groups: &[Group]) -> Result<Vec<Group>, figures::Error> {
    let all = groups.iter().map(|group| match group {
        Group::Results(name, runs) => {
            one_machine(name, runs)?;
            let runs = figures::of_one_measurement(runs);
            Ok(Group::Results(name.clone(), runs))
        }
        Group::Experiment(prefix, experiment) => {
            Ok(Group::Experiment(prefix.clone(), experiment.clone()))
        }
    });
    all.collect()
}

/// The configurations of all files.
pub fn read(groups: &[Group]) -> anyhow::Result<Read> {
    let mut configurations = Vec::new();
    for group in groups {
        match group {
            Group::Experiment(prefix, experiment) => {
                let rows = of_experiment(experiment)?.into_iter();
                configurations.extend(rows.map(|row| Configuration {
                    name: format!("{prefix}{}", row.name),
                    ..row
                }));
            }
            Group::Results(name, runs) => configurations.push(of_results(name, runs)?),
        }
    }
    let unit = common_unit(&configurations)?;
    Ok(Read {
        configurations,
        unit,
    })
}

/// Refuses a run that is there twice: it would prove nothing, and look certain.
fn refuse_same(inputs: &[Input], contents: &[(Vec<u8>, Content)]) -> anyhow::Result<()> {
    for (at, (_, content)) in contents.iter().enumerate() {
        let same = contents[..at]
            .iter()
            .position(|(_, other)| content.is_same(other));
        if let Some(other) = same {
            bail!(
                "{} and {} hold the same run, which compared with itself proves nothing; leave \
                 one out",
                inputs[other].path.display(),
                inputs[at].path.display()
            );
        }
    }
    Ok(())
}

fn content(path: &Path) -> anyhow::Result<(Vec<u8>, Content)> {
    let bytes = file::read_text(path)?;
    let content = match file::schema(&bytes).as_deref() {
        Some(experiment::SCHEMA) => Content::Experiment(file::parse_as(path, &bytes)?),
        Some(document::SCHEMA) => {
            let document = explain::Document::read(&bytes);
            Content::Explanation(Box::new(
                document.with_context(|| path.display().to_string())?,
            ))
        }
        _ => Content::Result(Box::new(import::parse(path, &bytes, None, None)?)),
    };
    Ok((bytes, content))
}

/// Microseconds of an emulator are not those of a machine.
fn common_unit(configurations: &[Configuration]) -> Result<String, UsageError> {
    let Some(first) = configurations.first() else {
        return Err(UsageError(
            "there is no configuration to compare".to_owned(),
        ));
    };
    match configurations.iter().find(|one| one.unit != first.unit) {
        None => Ok(first.unit.clone()),
        Some(other) => Err(UsageError(
            compare::Error::Units {
                one: first.name.clone(),
                one_unit: first.unit.clone(),
                other: other.name.clone(),
                other_unit: other.unit.clone(),
            }
            .to_string(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_in_front_or_is_the_stem() {
        let read = |word: &str| {
            let input: Input = word.parse().unwrap();
            let path = input.path.display().to_string();
            (names(&[input]).unwrap().concat(), path)
        };
        let is = |name: &str, path: &str| (name.to_owned(), path.to_owned());
        assert_eq!(read("runs/stock.json"), is("stock", "runs/stock.json"));
        assert_eq!(read("a=b=c.json"), is("a", "b=c.json"));
        assert_eq!(read("./a=b.json"), is("a=b", "./a=b.json"));
        assert_eq!(read("a=-"), is("a", "-"));
        assert!("=a".parse::<Input>().is_err() && "a=".parse::<Input>().is_err());
    }

    #[test]
    fn files_of_one_stem_get_names_that_differ() {
        let names = |words: &[&str]| {
            let inputs: Vec<Input> = words.iter().map(|word| word.parse().unwrap()).collect();
            super::names(&inputs)
        };
        let is = |words: &[&str], expected: &[&str]| {
            assert_eq!(names(words).unwrap(), expected);
        };
        is(&["mon/a.json", "tue/b.json"], &["a", "b"]);
        is(&["mon/a.json", "tue/a.json"], &["mon/a", "tue/a"]);
        is(&["a.json", "a.hist", "b.json"], &["a.json", "a.hist", "b"]);
        is(&["x/mon/a.json", "y/mon/a.json"], &["x/mon/a", "y/mon/a"]);
        is(&["x/mon/a.json", "a.json"], &["mon/a", "a"]);
        // A name in front is meant.
        is(&["a=mon/a.json", "a=tue/a.json"], &["a", "a"]);
        is(&["a.json", "a=tue/a.json"], &["a", "a"]);
        let refused = names(&["x/a.json", "x/a.hist", "y/a.json", "y/a.hist"]).unwrap_err();
        assert!(refused.0.contains("a-1=x/a.json"), "{refused}");
    }
}
