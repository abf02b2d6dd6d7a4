// SPDX-License-Identifier: GPL-2.0-only
//! The files of `artis compare`: which is what, and what each configuration is called.

use crate::cli::exit::UsageError;
use crate::decide::compare::figures::{of_experiment, of_results};
use crate::decide::compare::{self, Configuration};
use crate::result::experiment::{self, Experiment};
use crate::result::{Document, file, import};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A word of the command line: `[NAME=]FILE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    name: Option<String>,
    path: PathBuf,
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

impl Input {
    fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| {
            let stem = self.path.file_stem().unwrap_or(self.path.as_os_str());
            stem.to_string_lossy().into_owned()
        })
    }
}

/// What the files hold.
pub struct Read {
    pub configurations: Vec<Configuration>,
    /// The unit of all their times.
    pub unit: String,
}

/// A file's content.
enum Content {
    Result(Box<Document>),
    Experiment(Experiment),
}

/// Only the name of a format.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// Reads all files; standard input can be one of them.
pub fn read(inputs: &[Input]) -> anyhow::Result<Read> {
    if inputs
        .iter()
        .filter(|input| input.path == Path::new("-"))
        .count()
        > 1
    {
        return Err(UsageError("standard input (-) can be read only once".to_owned()).into());
    }
    // Runs of one name stand where the first of them stood.
    let mut results: Vec<(String, Vec<Document>)> = Vec::new();
    let mut places: Vec<Place> = Vec::new();
    for input in inputs {
        match content(&input.path)? {
            Content::Experiment(experiment) => {
                let mut rows = of_experiment(&experiment)?;
                // One alone needs no telling which experiment a row is of.
                if inputs.len() > 1 {
                    for row in &mut rows {
                        row.name = format!("{}/{}", input.name(), row.name);
                    }
                }
                places.push(Place::Rows(rows));
            }
            Content::Result(document) => {
                let name = input.name();
                match results.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, runs)) => runs.push(*document),
                    None => {
                        places.push(Place::Result(results.len()));
                        results.push((name, vec![*document]));
                    }
                }
            }
        }
    }
    let mut configurations = Vec::new();
    for place in places {
        match place {
            Place::Rows(rows) => configurations.extend(rows),
            Place::Result(at) => {
                let (name, runs) = &results[at];
                configurations.push(of_results(name, runs)?);
            }
        }
    }
    let unit = common_unit(&configurations)?;
    Ok(Read {
        configurations,
        unit,
    })
}

/// Where configurations stand in the order of the command line.
enum Place {
    Rows(Vec<Configuration>),
    /// Index of the result.
    Result(usize),
}

fn content(path: &Path) -> anyhow::Result<Content> {
    let bytes = file::read_text(path)?;
    let head: Option<Head> = serde_json::from_slice(&bytes).ok();
    if head.is_some_and(|head| head.schema == experiment::SCHEMA) {
        return Ok(Content::Experiment(file::parse_as(path, &bytes)?));
    }
    let document = import::parse(path, &bytes, None, None)?;
    Ok(Content::Result(Box::new(document)))
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
            (input.name(), input.path.display().to_string())
        };
        let is = |name: &str, path: &str| (name.to_owned(), path.to_owned());
        assert_eq!(read("runs/stock.json"), is("stock", "runs/stock.json"));
        assert_eq!(read("a=b=c.json"), is("a", "b=c.json"));
        assert_eq!(read("./a=b.json"), is("a=b", "./a=b.json"));
        assert_eq!(read("a=-"), is("a", "-"));
        assert!("=a".parse::<Input>().is_err() && "a=".parse::<Input>().is_err());
    }
}
