// SPDX-License-Identifier: GPL-2.0-only
//! Files into the model: one module for each format, and what was taken, ignored or assumed.
//!
//! Whatever a file says, reading it takes time and memory in proportion to its length, which is
//! bounded ([`crate::model::FILE_BYTES_MAX`]), and ends with a scenario that
//! [`crate::model::check`] has accepted, or with a place in the file and what is allowed there.

mod builder;
mod doubts;
mod lbmicro;
mod lenient;
mod own;
mod place;
mod rtapp;
#[cfg(test)]
mod shipped;
mod tree;

pub use lbmicro::LOOP_NS;
pub use place::{Error, Place};

use crate::model::{FILE_BYTES_MAX, Scenario};
use builder::Builder;
use place::Wrong;
use serde::Serialize;

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// That of piel-artis, figure 4.
    #[serde(rename = "lb-micro")]
    LbMicro,
    /// rt-app's.
    #[serde(rename = "rt-app")]
    RtApp,
    /// artis's own, in TOML.
    Toml,
}

impl Format {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::LbMicro => "lb-micro",
            Self::RtApp => "rt-app",
            Self::Toml => "toml",
        }
    }

    /// The format of a text, by what it begins with: rt-app's and the paper's begin with a
    /// bracket, and then with a key that a colon or an equals sign follows. The paper's may begin
    /// with settings.
    pub fn of(text: &str) -> Self {
        let mut rest = text.trim_start_matches('\u{feff}');
        loop {
            rest = rest.trim_start();
            rest = match rest {
                _ if rest.starts_with("/*") => rest.split_once("*/").map_or("", |(_, it)| it),
                _ if rest.starts_with("//") => rest.split_once('\n').map_or("", |(_, it)| it),
                _ if rest.starts_with('#') => rest.split_once('\n').map_or("", |(_, it)| it),
                _ => break,
            };
        }
        let blocks = |text: &str| text.lines().any(|line| line.trim_start().starts_with('{'));
        match rest.strip_prefix('{') {
            Some(inside) if equals_first(inside) => Self::LbMicro,
            Some(_) => Self::RtApp,
            None if blocks(rest) && !rest.lines().any(|line| line.trim() == "[[task]]") => {
                Self::LbMicro
            }
            None => Self::Toml,
        }
    }
}

/// Whether an equals sign comes before any colon, outside of comments.
fn equals_first(text: &str) -> bool {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    let sign = lines.flat_map(str::chars).find(|it| ":=\"".contains(*it));
    sign == Some('=')
}

/// What a reader should know of how a file was understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    pub kind: NoteKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    pub text: String,
}

/// The kinds of notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// Probably not what was meant.
    Doubt,
    /// It has no effect here.
    Ignored,
    /// The file does not say it.
    Assumed,
    /// It is not as the format has it, and was understood.
    Taken,
}

impl NoteKind {
    /// In front of the note.
    pub fn name(self) -> &'static str {
        match self {
            Self::Doubt => "doubt",
            Self::Ignored => "ignored",
            Self::Assumed => "assumed",
            Self::Taken => "taken",
        }
    }
}

/// What was understood of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    pub format: Format,
    pub scenario: Scenario,
    pub notes: Vec<Note>,
}

/// Reads a text. Its format is found out if none is given; `name` is the scenario's where the
/// file gives it none.
///
/// # Errors
/// The first thing that is wrong, with its place and what is allowed.
pub fn read(text: &str, format: Option<Format>, name: &str) -> Result<Reading, Error> {
    if text.len() > FILE_BYTES_MAX {
        let reason = format!(
            "the file has {} bytes; at most {FILE_BYTES_MAX} are read, so write loops and counts",
            text.len()
        );
        return Err(Wrong::new(0, reason).in_text(text));
    }
    let format = format.unwrap_or_else(|| Format::of(text));
    let mut builder = Builder::new(name);
    let read = match format {
        Format::LbMicro => lbmicro::read(text, &mut builder),
        Format::RtApp => rtapp::read(text, &mut builder),
        Format::Toml => own::read(text, &mut builder),
    };
    let (scenario, mut notes) = read
        .and_then(|()| builder.finish())
        .map_err(|wrong| wrong.in_text(text))?;
    let doubts = doubts::of(&scenario).into_iter().map(|text| Note {
        kind: NoteKind::Doubt,
        place: None,
        text,
    });
    let mut placed: Vec<Note> = notes
        .drain(..)
        .map(|(kind, at, words)| Note {
            kind,
            place: at.map(|at| Place::of(text, at)),
            text: words,
        })
        .chain(doubts)
        .collect();
    placed.sort_by_key(|note| (note.kind, note.place));
    Ok(Reading {
        format,
        scenario,
        notes: placed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_says_its_format() {
        for (text, format) in [
            ("# a normal task\n{\n cpu_mask = 0xffff\n}", Format::LbMicro),
            ("cpus = 4 # ours\n{ loop = 5 }", Format::LbMicro),
            ("/* a = b */ { \"tasks\" : {} }", Format::RtApp),
            ("{ tasks: {} }", Format::RtApp),
            ("{ // nothing\n}", Format::RtApp),
            (
                "name = \"x\"\n[[task]]\nrun = [\n  { sleep = \"1s\" },\n]",
                Format::Toml,
            ),
            ("", Format::Toml),
        ] {
            assert_eq!(Format::of(text), format, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn no_text_makes_a_reader_panic(text in "\\PC{0,120}") {
            for format in [Format::LbMicro, Format::RtApp, Format::Toml] {
                let _ = read(&text, Some(format), "it");
            }
        }

        #[test]
        fn what_is_cut_off_is_read_or_has_a_place(cut in 0_usize..2000, format in 0_usize..3) {
            let (text, format) = [
                (include_str!("examples/all.toml"), Format::Toml),
                (include_str!("examples/all.json"), Format::RtApp),
                (include_str!("examples/all.lb"), Format::LbMicro),
            ][format];
            let mut cut = cut.min(text.len());
            while !text.is_char_boundary(cut) {
                cut -= 1;
            }
            if let Err(error) = read(&text[..cut], Some(format), "it") {
                prop_assert!(error.place.line <= text.lines().count() + 1, "{error}");
            }
        }
    }
}
