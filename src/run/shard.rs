// SPDX-License-Identifier: GPL-2.0-only
//! Parts of a work that several processes or machines do: which part has what, and their lines put
//! in order again.
//!
//! A line is a JSON object that begins with its number, how many lines the whole has, and a hash of
//! what the whole is made of. So lines of another work, or of another build, are refused.

use crate::exit::UsageError;
use anyhow::Context;
use artis_result::file;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Part `at` of `of`, from 1: what has the numbers `at - 1`, `at - 1 + of`, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    at: usize,
    of: usize,
}

impl Shard {
    pub const WHOLE: Self = Self { at: 1, of: 1 };

    /// Whether this part has what is numbered so, from 0.
    pub fn has(self, number: usize) -> bool {
        number % self.of == self.at - 1
    }

    /// That part of this part.
    pub fn part(self, part: Self) -> Self {
        Self {
            at: self.at + self.of * (part.at - 1),
            of: self.of * part.of,
        }
    }

    /// All of so many.
    pub fn all(of: usize) -> impl Iterator<Item = Self> {
        (1..=of).map(move |at| Self { at, of })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.at, self.of)
    }
}

/// Reads `2/4`, for the command line.
///
/// # Errors
/// What to write.
pub fn parse(text: &str) -> Result<Shard, String> {
    let numbers = text.split_once('/');
    let numbers = numbers.and_then(|(at, of)| Some((at.parse().ok()?, of.parse().ok()?)));
    match numbers {
        Some((at, of)) if (1..=of).contains(&at) => Ok(Shard { at, of }),
        _ => Err("write a part and how many there are, such as 2/4".to_owned()),
    }
}

/// What each line begins with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Head {
    /// Its place in the whole, from 0, and how many that has.
    pub number: usize,
    pub of: usize,
    /// Hash of what the whole is made of.
    pub whole: String,
}

impl Head {
    /// Reads what a line begins with; none where it is no line of a part.
    pub fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// The line, of a JSON object that is not empty.
    pub fn line(&self, object: &str) -> String {
        let Self { number, of, whole } = self;
        let rest = object.strip_prefix('{').unwrap_or(object);
        format!("{{\"number\":{number},\"of\":{of},\"whole\":\"{whole}\",{rest}")
    }
}

/// The lines of all parts in order, which the words call `one` each.
///
/// # Errors
/// When a file cannot be read or has another line, and when lines are absent, differ, or are of
/// different wholes.
pub fn merge(files: &[PathBuf], one: &str) -> anyhow::Result<Vec<String>> {
    let refused = |sentence: String| Err(UsageError(sentence).into());
    let mut lines: BTreeMap<usize, (String, &Path)> = BTreeMap::new();
    let mut first: Option<(Head, &Path)> = None;
    for path in files {
        let shown = path.display();
        let text = String::from_utf8(file::read_text(path)?);
        let text = text.with_context(|| format!("{shown} is no text"))?;
        for (at, line) in text.lines().enumerate() {
            let Some(head) = Head::read(line).filter(|head| head.number < head.of) else {
                let at = at + 1;
                return refused(format!(
                    "{shown}, line {at}: this is no whole line of a part; give what the same \
                     command printed with --shard"
                ));
            };
            let number = head.number;
            let (known, place) = first.get_or_insert_with(|| (head.clone(), path));
            if (known.of, &known.whole) != (head.of, &head.whole) {
                let place = place.display();
                return refused(format!(
                    "{shown} and {place} are no parts of one whole; make them with the same \
                     artis, the same file and the same options"
                ));
            }
            if let Some((old, place)) = lines.insert(number, (line.to_owned(), path))
                && old != line
            {
                let place = place.display();
                return refused(format!(
                    "{one} {number} is in {place} and {shown}, and differs"
                ));
            }
        }
    }
    let of = first.map_or(0, |(head, _)| head.of);
    if of == 0 {
        return refused(format!(
            "there is no {one} in the files; give what --shard printed"
        ));
    }
    if let Some(missing) = (0..of).find(|number| !lines.contains_key(number)) {
        let sentence = format!("{one} {missing} is in none of the files; give all shards");
        return refused(sentence);
    }
    Ok(lines.into_values().map(|(line, _)| line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_a_part_of_some() {
        assert_eq!(parse("2/4"), Ok(Shard { at: 2, of: 4 }));
        for wrong in ["0/4", "5/4", "2", "a/b", "1/0"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parts_of_parts_have_everything_once() {
        let of = |shard, parts| Shard::all(parts).map(move |part| parse(shard).unwrap().part(part));
        let parts: Vec<Shard> = of("1/3", 2)
            .chain(of("2/3", 1))
            .chain(of("3/3", 4))
            .collect();
        for number in 0..100 {
            let who = parts.iter().filter(|part| part.has(number));
            assert_eq!(who.count(), 1, "{number}");
        }
    }

    fn files(texts: &[&str]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let paths = texts.iter().enumerate().map(|(at, text)| {
            let path = folder.path().join(at.to_string());
            std::fs::write(&path, text).unwrap();
            path
        });
        let paths = paths.collect();
        (folder, paths)
    }

    fn line(number: usize, of: usize, whole: &str, object: &str) -> String {
        let whole = whole.to_owned();
        Head { number, of, whole }.line(object)
    }

    #[test]
    fn lines_come_in_order_and_none_of_another_whole() {
        let lines = [0, 1, 2].map(|number| line(number, 3, "a", "{\"x\":1}"));
        assert_eq!(lines[1], r#"{"number":1,"of":3,"whole":"a","x":1}"#);
        let (_folder, paths) = files(&[&lines[2], &format!("{}\n{}\n", lines[1], lines[0])]);
        assert_eq!(merge(&paths, "sample").unwrap(), lines);
        let said = |texts: &[&str]| {
            let (_folder, paths) = files(texts);
            merge(&paths, "sample").unwrap_err().to_string()
        };
        let whole = lines.join("\n");
        assert!(said(&[&lines[2], &lines[0]]).contains("sample 1 is in none"));
        assert!(said(&[&whole, &line(1, 3, "a", "{\"x\":2}")]).contains("differs"));
        assert!(said(&[&whole, &line(1, 3, "b", "{\"x\":1}")]).contains("no parts of one whole"));
        assert!(said(&[&whole, &line(1, 4, "a", "{\"x\":1}")]).contains("no parts of one whole"));
        assert!(said(&[&whole, &line(3, 3, "a", "{\"x\":1}")]).contains("line 1"));
        assert!(said(&[&lines[0], &lines[1][..30]]).contains("no whole line"));
        assert!(said(&[""]).contains("no sample in the files"));
    }
}
