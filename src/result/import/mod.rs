// SPDX-License-Identifier: GPL-2.0-only
//! Reads what other programs measured as a result file: one format, one file, one
//! [`Importer`].
//!
//! Owns finding out which format a file has. Never guesses what a file does not say: a unit
//! that a format leaves open is an option of the command, statistics that are missing are
//! computed from the histogram, and values beyond a histogram count as the largest one that the
//! file gives, with a warning in the result ([`tally`]). Without a histogram there are no
//! percentiles. A file that contradicts itself is refused with its line.
//!
//! Each format is described in its file, as its program writes it.

mod cyclictest_histogram;
mod cyclictest_json;
mod cyclictest_summary;
mod cyclictest_verbose;
mod date;
mod hlog;
mod hwlatdetect;
mod jitterdebugger;
mod jitterdebugger_samples;
mod json;
mod latmus;
mod log;
mod oslat;
mod oslat_json;
mod plain;
mod rt_tests;
mod rt_tests_json;
mod rt_tests_text;
mod rtai;
mod rtla;
mod rtla_frame;
mod rtla_noise;
mod rtla_top;
mod tally;
mod text;
mod threads;
mod xenomai;

use super::document::{Document, Setup, Warning};
use super::file;
use super::series::Series;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The unit of the numbers in a foreign file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    Nanoseconds,
    Microseconds,
}

impl TimeUnit {
    /// One of it in nanoseconds.
    pub fn ns(self) -> u64 {
        match self {
            Self::Nanoseconds => 1,
            Self::Microseconds => 1000,
        }
    }
}

/// Where a file is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line, from 1.
    Line(usize),
    /// Byte of a binary file, from 0.
    Byte(usize),
}

/// Why a file was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub place: Place,
    /// A sentence.
    pub reason: String,
}

impl Refusal {
    fn line(number: usize, reason: impl Into<String>) -> Self {
        Self {
            place: Place::Line(number),
            reason: reason.into(),
        }
    }
}

/// What can go wrong with a file to be imported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read, or it is an artis file and damaged.
    #[error(transparent)]
    File(#[from] file::Error),
    /// It is damaged. The text begins with file and place.
    #[error("{}{}", path.display(), placed(refusal))]
    Damaged { path: PathBuf, refusal: Refusal },
    /// No format fits.
    #[error(
        "{}:1: no format that artis reads begins like this; name one with --from: {}",
        path.display(), names().join(", ")
    )]
    Unknown { path: PathBuf },
    /// It is what rtla says of a late wakeup ([`analysis`]).
    #[error(
        "{0}:1: this is rtla's analysis of a late wakeup, which has no figures of a run; to see \
         it, type: artis explain show {0}", path.display()
    )]
    Analysis { path: PathBuf },
    /// `--from artis` for a file that is not one.
    #[error("{}:1: this is not a file of artis, which begins with a brace; {remedy}", path.display())]
    NotOwn { path: PathBuf, remedy: String },
    /// A unit was given for a file that has its own.
    #[error("{}: {format} files say what their unit is; leave --unit away", path.display())]
    UnitKnown { path: PathBuf, format: &'static str },
}

fn placed(refusal: &Refusal) -> String {
    match refusal.place {
        Place::Line(number) => format!(":{number}: {}", refusal.reason),
        Place::Byte(number) => format!(": byte {number}: {}", refusal.reason),
    }
}

/// One foreign format.
pub trait Importer: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Does this look like the format? `head` is the first part of a file as text.
    fn recognises(&self, head: &str) -> bool;

    /// How lines begin that a log is searched for.
    fn anchors(&self) -> &'static [&'static str] {
        &[]
    }

    /// Does a file say in which unit its numbers are?
    fn says_unit(&self) -> bool {
        true
    }

    /// Understands a whole file. `unit` is what the user says where the file does not.
    ///
    /// # Errors
    /// [`Refusal`] for a damaged file; never a panic, and never more memory than a small
    /// multiple of the content and [`tally::Budget`].
    fn read(&self, content: &[u8], unit: Option<TimeUnit>) -> Result<Document, Refusal>;
}

/// Every foreign format. The first that recognises a file reads it.
pub static IMPORTERS: [&dyn Importer; 18] = [
    &oslat_json::OslatJson,
    &rt_tests_json::RtTestsJson,
    &cyclictest_json::CyclictestJson,
    &jitterdebugger::Jitterdebugger,
    &hlog::Hlog,
    &rtla::Rtla,
    &rtla_top::RtlaTop,
    &rtla_noise::RtlaNoise,
    &oslat::Oslat,
    &hwlatdetect::Hwlatdetect,
    &rt_tests_text::RtTestsText,
    &latmus::Latmus,
    &rtai::Rtai,
    &xenomai::Xenomai,
    &cyclictest_histogram::CyclictestHistogram,
    &cyclictest_verbose::CyclictestVerbose,
    &cyclictest_summary::CyclictestSummary,
    &jitterdebugger_samples::JitterdebuggerSamples,
];

/// artis' own format, as `--from` names it.
pub const OWN: &str = "artis";

/// What `--from` takes.
pub fn names() -> Vec<&'static str> {
    let foreign = IMPORTERS.iter().map(|importer| importer.name());
    std::iter::once(OWN).chain(foreign).collect()
}

/// A format is recognised by so many bytes.
const HEAD_BYTES: usize = 64 << 10;

/// Reads the file at `path` (`-` is standard input) in the format `from`, or the one it looks
/// like; `unit` is for formats that do not say theirs.
///
/// # Errors
/// [`Error`].
pub fn read(path: &Path, from: Option<&str>, unit: Option<TimeUnit>) -> Result<Document, Error> {
    parse(path, &file::read_text(path)?, from, unit)
}

/// Understands the content of the file at `path`, as [`read`] does.
///
/// # Errors
/// [`Error`], but for reading.
pub fn parse(
    path: &Path,
    content: &[u8],
    from: Option<&str>,
    unit: Option<TimeUnit>,
) -> Result<Document, Error> {
    let damaged = |refusal| Error::Damaged {
        path: path.to_owned(),
        refusal,
    };
    let content = plain::plain(content).map_err(damaged)?;
    let begins_with_brace = content.trim_ascii_start().starts_with(b"{");
    if from == Some(OWN) && !begins_with_brace {
        let (looks_like, _) = format(None, content);
        return Err(Error::NotOwn {
            path: path.to_owned(),
            remedy: looks_like.map_or_else(
                || format!("name its format with --from: {}", names()[1..].join(", ")),
                |format| format!("it looks like {}: leave --from away", format.name()),
            ),
        });
    }
    let (importer, content) = format(from, content);
    let Some(importer) = importer else {
        let path = path.to_owned();
        // Any other JSON is read as a damaged file of artis: the refusal names what is missing.
        if from == Some(OWN) || begins_with_brace {
            return match unit {
                Some(_) => Err(Error::UnitKnown { path, format: OWN }),
                None => Ok(file::parse(&path, &content)?),
            };
        }
        return Err(match analysis(&content) {
            Some(_) => Error::Analysis { path },
            None => Error::Unknown { path },
        });
    };
    if unit.is_some() && importer.says_unit() {
        return Err(Error::UnitKnown {
            path: path.to_owned(),
            format: importer.name(),
        });
    }
    let document = importer.read(&content, unit).map_err(damaged)?;
    document.check().map_err(|reason| {
        let newlines = content.iter().filter(|byte| **byte == b'\n');
        let end = newlines.count().max(1);
        damaged(Refusal::line(end, reason))
    })?;
    Ok(document)
}

/// The text in which rtla analyses a late wakeup, if there is such a text in a content; `artis
/// explain` reads it.
pub fn analysis(content: &[u8]) -> Option<String> {
    let plain = plain::plain(content).ok()?;
    let text = std::str::from_utf8(&plain).ok()?;
    let begins = |line: &str| line.starts_with("## CPU ") && line.ends_with("analyzing it ##");
    let fits = |text: &str| text.lines().any(begins).then_some(());
    log::within(text, &["## CPU "], fits).map(|(_, text)| text)
}

/// The format that a content is in, and the content without what a log adds to it.
fn format<'a>(
    from: Option<&str>,
    content: Cow<'a, [u8]>,
) -> (Option<&'static dyn Importer>, Cow<'a, [u8]>) {
    let named = from.map(|name| IMPORTERS.iter().find(|one| one.name() == name));
    let all: &[&'static dyn Importer] = match &named {
        Some(Some(one)) => std::slice::from_ref(*one),
        Some(None) => return (None, content),
        None => &IMPORTERS,
    };
    let fits = |text: &str| all.iter().find(|one| one.recognises(text)).copied();
    let head = String::from_utf8_lossy(&content[..content.len().min(HEAD_BYTES)]);
    if let Some(found) = fits(&head) {
        return (Some(found), content);
    }
    let anchors: Vec<&str> = all.iter().flat_map(|one| one.anchors()).copied().collect();
    let text = std::str::from_utf8(&content).ok();
    match text.and_then(|text| log::within(text, &anchors, fits)) {
        Some((found, plain)) => (Some(found), Cow::Owned(plain.into_bytes())),
        None => (named.flatten().copied(), content),
    }
}

/// A document of imported figures.
fn document(tool: String, series: Vec<Series>, audit: Vec<Warning>) -> Document {
    Document {
        tool,
        series,
        audit,
        ..Document::new(Setup {
            command: Vec::new(),
            options: BTreeMap::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Line and reason with which `file` is refused once `from` is replaced by `to` in it.
    #[track_caller]
    pub(super) fn refused_at(
        importer: &dyn Importer,
        file: &str,
        from: &str,
        to: &str,
    ) -> (usize, String) {
        let damaged = file.replacen(from, to, 1);
        assert_ne!(damaged, file);
        let refusal = importer.read(damaged.as_bytes(), None).unwrap_err();
        let Place::Line(line) = refusal.place else {
            panic!("{refusal:?}");
        };
        (line, refusal.reason)
    }

    /// The examples of all formats, which the damage below is done to.
    fn examples() -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/result");
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_none_or(|ending| ending != "md"))
            .collect();
        paths.sort();
        paths
            .iter()
            .map(|path| std::fs::read(path).unwrap())
            .collect()
    }

    /// Whatever an importer takes must be a result that can be written and read.
    fn all_importers(content: &[u8]) {
        let path = Path::new("some");
        for name in names() {
            if let Ok(document) = parse(path, content, Some(name), None) {
                let text = serde_json::to_vec(&document).unwrap();
                let read = parse(path, &text, Some(OWN), None).unwrap();
                assert_eq!(read.series.len(), document.series.len(), "{name}");
                for (one, other) in document.series.iter().zip(&read.series) {
                    // Not assert_eq!: a histogram is pages long.
                    let (one, other) = (&one.distribution, &other.distribution);
                    assert!(one.histogram() == other.histogram(), "{name}");
                    assert!(one.negative() == other.negative(), "{name}");
                }
            }
        }
        let _ = parse(path, content, None, None);
    }

    #[test]
    fn words_that_fit_no_format_are_refused_with_the_list_of_formats() {
        let message = parse(Path::new("some"), b"hello\n", None, None)
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with("some:1: ") && message.contains("rtla"),
            "{message}"
        );
    }

    #[test]
    fn a_foreign_file_is_not_read_as_artis() {
        for (content, part) in [
            (
                "# RTLA timerlat histogram\n",
                "looks like rtla: leave --from away",
            ),
            ("hello\n", "name its format with --from: oslat-json, "),
        ] {
            let error = parse(Path::new("some"), content.as_bytes(), Some(OWN), None);
            let message = error.unwrap_err().to_string();
            assert!(
                message.starts_with("some:1: this is not a file of artis")
                    && message.contains(part),
                "{message}"
            );
        }
    }

    #[test]
    fn a_unit_is_refused_where_the_file_says_it() {
        let content = b"# RTLA timerlat histogram\n";
        let unit = Some(TimeUnit::Nanoseconds);
        let error = parse(Path::new("some"), content, None, unit).unwrap_err();
        assert!(matches!(error, Error::UnitKnown { .. }));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn no_bytes_make_an_importer_panic(content in prop::collection::vec(any::<u8>(), 0..400)) {
            all_importers(&content);
        }

        #[test]
        fn no_lines_make_an_importer_panic(content in "(#|[A-Z]{3}\\||[0-9 \t:|.-]|[a-z\"{}]|\n){0,200}") {
            all_importers(content.as_bytes());
        }

        #[test]
        fn no_damage_makes_an_importer_panic(
            which: prop::sample::Index,
            at: prop::sample::Index,
            until: prop::sample::Index,
            instead in prop_oneof![
                Just(Vec::new()),
                Just(b"18446744073709551615".to_vec()),
                Just(b"1000000000000000000".to_vec()),
                Just(b"-1".to_vec()),
                Just(b"1e308".to_vec()),
                prop::collection::vec(any::<u8>(), 0..8),
            ],
        ) {
            let examples = examples();
            let mut content = which.get(&examples).clone();
            let at = at.index(content.len());
            let until = (at + until.index(12)).min(content.len());
            content.splice(at..until, instead);
            all_importers(&content);
        }
    }
}
