// SPDX-License-Identifier: GPL-2.0-only
//! Writes the pictures of completion times.

use crate::decide::completion::Curve;
use crate::report::Sheet;
use crate::report::curves::{Shown, pictures};
use crate::result::file::Target;
use std::path::Path;

/// A picture for each nature of work that some configuration has a curve of, into `folder`, which
/// exists. Nothing without a curve; says which configurations are left out.
pub fn write(
    folder: &Path,
    all: &[(String, Vec<Curve>)],
    base: usize,
    unit: &str,
) -> anyhow::Result<()> {
    let shown: Vec<Shown> = all
        .iter()
        .map(|(name, curves)| Shown { name, curves })
        .collect();
    let (pictures, absent) = pictures(&shown, base, unit, &Sheet::FILE);
    if !absent.is_empty() && !pictures.is_empty() {
        say!(
            "artis: the pictures of completion times leave configurations out: no file of artis \
             measure completion, in {}",
            absent.join(", ")
        );
    }
    for (nature, picture) in pictures {
        let path = folder.join(format!("completion-{nature}.svg"));
        Target::open(&path)?.write(picture.svg.as_bytes())?;
    }
    Ok(())
}
