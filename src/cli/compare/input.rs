// SPDX-License-Identifier: GPL-2.0-only
//! The files of `artis compare`, `artis decide` and `artis report`: which is what, and what each
//! configuration is called.

use crate::cli::exit::UsageError;
use crate::cli::explain::files::parse as parse_explanation;
use crate::cli::progress::Sign;
use crate::decide::compare::figures::machine::one_machine;
use crate::decide::compare::figures::{self, of_experiment, of_results};
use crate::decide::compare::{self, Configuration};
use crate::explain::rtla::{self, Analysis};
use crate::explain::{self, document};
use crate::result::experiment::{self, Experiment};
use crate::result::{Document, file, first_copy, import};
use anyhow::{anyhow, bail};
use std::collections::{BTreeMap, BTreeSet};
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

    /// The name in front of it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
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
        if word.is_empty() {
            return Err("the word is empty; write the path of a file");
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
    let without = inputs.iter().filter(|input| input.name.is_none());
    let paths: BTreeSet<&Path> = without.map(|input| input.path.as_path()).collect();
    let unlike = unlike(paths)?;
    let name = |input: &Input| match &input.name {
        Some(name) => name.clone(),
        None => unlike[input.path.as_path()].clone(),
    };
    Ok(inputs.iter().map(name).collect())
}

/// A name for each of the files that no other has.
fn unlike(paths: BTreeSet<&Path>) -> Result<BTreeMap<&Path, String>, UsageError> {
    let depth = |path: &&Path| path.components().count();
    let deepest = paths.iter().map(depth).max().unwrap_or(0);
    let mut names = BTreeMap::new();
    // From the shortest name on: those that several have get a longer one.
    for length in 0..=deepest.max(1) {
        let mut alike: BTreeMap<String, usize> = BTreeMap::new();
        for path in &paths {
            *alike.entry(name(path, length)).or_default() += 1;
        }
        for path in &paths {
            let name = name(path, length);
            if alike[&name] == 1 {
                names.entry(*path).or_insert(name);
            }
        }
        if names.len() == paths.len() {
            return Ok(names);
        }
    }
    let path = paths.into_iter().find(|path| !names.contains_key(path));
    let path = path.unwrap_or(Path::new(""));
    let name = name(path, 0);
    Err(UsageError(format!(
        "several files would be named {name}; name each: {name}-1={} and so on",
        path.display()
    )))
}

/// The name of a file: its stem, with its extension, or so many parts of its path.
fn name(path: &Path, length: usize) -> String {
    match length {
        0 => text(path.file_stem().unwrap_or(path.as_os_str()).as_ref()),
        1 => text(path.file_name().unwrap_or(path.as_os_str()).as_ref()),
        parts => {
            let all: Vec<Component> = path.components().collect();
            let last: PathBuf = all[all.len().saturating_sub(parts)..].iter().collect();
            text(&last.with_extension(""))
        }
    }
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
    /// What rtla says of late wakeups: no figures, either.
    Analysis(Vec<Analysis>),
}

impl Content {
    /// Whether both are one experiment or one explanation. Results are compared by their runs.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Experiment(one), Self::Experiment(other)) => one.rows == other.rows,
            (Self::Explanation(one), Self::Explanation(other)) => one == other,
            (Self::Analysis(one), Self::Analysis(other)) => one == other,
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
    for file in &files {
        let what = match file.content {
            Content::Explanation(_) => document::SCHEMA,
            Content::Analysis(_) => "rtla's",
            Content::Result(_) | Content::Experiment(_) => continue,
        };
        let path = file.path.display();
        bail!(
            "{path} is an explanation ({what}), which has no figures to compare; to see it, type: \
             artis explain show {path}"
        );
    }
    let contents = files.into_iter().map(|file| (file.name, file.content));
    Ok(grouped(contents.collect()))
}

/// Puts together what belongs together; explanations belong to nothing.
pub fn grouped(contents: Vec<(String, Content)>) -> Vec<Group> {
    let count = contents.len();
    let mut groups: Vec<Group> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
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
                let place = *places.entry(name.clone()).or_insert(groups.len());
                match groups.get_mut(place) {
                    Some(Group::Results(_, runs)) => runs.push(*document),
                    _ => groups.push(Group::Results(name, vec![*document])),
                }
            }
            Content::Explanation(_) | Content::Analysis(_) => {}
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
    let results = contents.iter().enumerate();
    let results: Vec<(usize, &Document)> = results
        .filter_map(|(at, (_, content))| match content {
            Content::Result(document) => Some((at, document.as_ref())),
            _ => None,
        })
        .collect();
    let copy = first_copy(results.iter().map(|(_, document)| *document));
    let copy = copy.map(|(one, other)| (results[one].0, results[other].0));
    let others = || {
        let mut others = contents.iter().enumerate();
        others.find_map(|(at, (_, content))| {
            let mut earlier = contents[..at].iter();
            let one = earlier.position(|(_, other)| content.is_same(other))?;
            Some((one, at))
        })
    };
    let Some((one, other)) = copy.or_else(others) else {
        return Ok(());
    };
    bail!(
        "{} and {} hold the same run, which compared with itself proves nothing; leave one out",
        inputs[one].path.display(),
        inputs[other].path.display()
    );
}

fn content(path: &Path) -> anyhow::Result<(Vec<u8>, Content)> {
    let bytes = file::read_text(path)?;
    let content = match file::schema(&bytes).as_deref() {
        Some(experiment::SCHEMA) => Content::Experiment(file::parse_as(path, &bytes)?),
        Some(document::SCHEMA) => Content::Explanation(Box::new(parse_explanation(path, &bytes)?)),
        _ => match import::parse(path, &bytes, None, None) {
            Err(import::Error::Analysis { .. }) => {
                let all = rtla::read(&import::analysis(&bytes).unwrap_or_default());
                Content::Analysis(all.map_err(|error| anyhow!("{}:{error}", path.display()))?)
            }
            result => Content::Result(Box::new(result?)),
        },
    };
    Ok((bytes, content))
}

/// Microseconds of an emulator are not those of a machine.
fn common_unit(configurations: &[Configuration]) -> anyhow::Result<String> {
    let Some(first) = configurations.first() else {
        let sentence = "there is no configuration to compare".to_owned();
        return Err(UsageError(sentence).into());
    };
    match configurations.iter().find(|one| one.unit != first.unit) {
        None => Ok(first.unit.clone()),
        Some(other) => Err(anyhow::Error::new(compare::Error::Units {
            one: first.name.clone(),
            one_unit: first.unit.clone(),
            other: other.name.clone(),
            other_unit: other.unit.clone(),
        })),
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
        assert!(
            "".parse::<Input>()
                .unwrap_err()
                .contains("the word is empty")
        );
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
        assert!(refused.0.contains("a-1=x/a.hist"), "{refused}");
    }
}
