// SPDX-License-Identifier: GPL-2.0-only
//! Where an explanation goes, besides standard output.

use crate::cli::exit::UsageError;
use crate::cli::output::Outcome;
use crate::explain::Document;
use crate::explain::document::Error;
use crate::report::Sheet;
use crate::report::explain::{perfetto, picture, text};
use crate::result::file::{self, Target};
use crate::result::target;
use anyhow::{Context, anyhow};
use std::path::{Path, PathBuf};

#[derive(clap::Args, Default)]
pub(in crate::cli) struct Files {
    /// Write the document (artis.explain/1) to FILE; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a trace for ui.perfetto.dev to FILE
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Write a picture of the lanes of each into this folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
}

/// The same, ready to be written.
pub(in crate::cli) struct Opened {
    json: Option<Target>,
    perfetto: Option<Target>,
    svg: Option<PathBuf>,
}

impl Files {
    /// Whether none is asked for.
    pub fn is_empty(&self) -> bool {
        self.json.is_none() && self.perfetto.is_none() && self.svg.is_none()
    }

    /// Finds out what can fail before anything is watched.
    pub fn open(&self) -> anyhow::Result<Opened> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(private).transpose();
        let taken = [&self.json, &self.perfetto].into_iter().flatten();
        if let Some(folder) = &self.svg
            && let Some(path) = taken.into_iter().find(|path| is_picture(path, folder))
        {
            return Err(UsageError(format!(
                "{} is a name of the pictures in {}; name another file",
                path.display(),
                folder.display()
            ))
            .into());
        }
        if let Some(folder) = &self.svg {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        Ok(Opened {
            json: open(&self.json)?,
            perfetto: open(&self.perfetto)?,
            svg: self.svg.clone(),
        })
    }
}

impl Opened {
    /// Prints the text, then writes the files; each failure leaves the rest to be done.
    pub fn publish(self, document: &Document) -> anyhow::Result<()> {
        let mut failures = Vec::new();
        let trace = self
            .perfetto
            .map(|target| (target, perfetto::bytes(document)));
        if let Some(folder) = &self.svg {
            failures.extend(pictures(document, folder).err());
        }
        Outcome {
            text: &text(document),
            document,
            json: self.json,
            files: trace.into_iter().collect(),
            failures,
        }
        .publish()
    }
}

/// A recording names other users' tasks and what they did: as perf's, it is for who made it.
fn private(path: &Path) -> Result<Target, target::Error> {
    Target::open(path)?.private()
}

/// Whether a picture of the folder could have this path.
fn is_picture(path: &Path, folder: &Path) -> bool {
    let whole = |folder: &Path| std::fs::canonicalize(folder).ok();
    let beside = path.parent().filter(|parent| *parent != Path::new(""));
    let beside = whole(beside.unwrap_or(Path::new(".")));
    path.extension().is_some_and(|end| end == "svg") && beside.is_some() && beside == whole(folder)
}

/// Understands the content of the explanation at `path`.
pub(in crate::cli) fn parse(path: &Path, content: &[u8]) -> anyhow::Result<Document> {
    Document::read(content).map_err(|error| match error {
        Error::Json(error) => file::damaged(path, &error).into(),
        other => anyhow!("{}: {other}", path.display()),
    })
}

fn pictures(document: &Document, folder: &Path) -> anyhow::Result<()> {
    for (at, explained) in document.worst.iter().enumerate() {
        let path = folder.join(format!("{:02}.svg", at + 1));
        let target = private(&path)?;
        target.write(picture::draw(at + 1, explained, &Sheet::FILE).as_bytes())?;
    }
    Ok(())
}
