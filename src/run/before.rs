// SPDX-License-Identifier: GPL-2.0-only
//! What is found out before `artis decide --measure` measures for hours.

use crate::exit::UsageError;
use artis_decide::job::{Job, Work};
use artis_load::preset::Presets;
use artis_measure::program;
use artis_result::claims::is_one_file;
use std::ffi::OsString;
use std::path::Path;

/// Finds out before anything is measured what could not be started later.
pub fn startable(load: &str, job: &Job) -> anyhow::Result<()> {
    if job.rest_command.is_none() {
        load.parse::<Presets>()
            .map_err(|error| UsageError(format!("the other work, --rest {load}: {error}")))?;
    }
    let of_job = match &job.work {
        Some(Work::Command(words)) => Some(words),
        _ => None,
    };
    for words in of_job.into_iter().chain(&job.rest_command) {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        program::find(&words)?;
    }
    Ok(())
}

/// Refuses a result's place where an input is.
pub fn refuse_overwriting(path: &Path, inputs: &[&Path]) -> Result<(), UsageError> {
    match inputs.iter().find(|input| is_one_file(path, input)) {
        None => Ok(()),
        Some(input) => Err(UsageError(format!(
            "--keep would overwrite {}, which is read; name another folder",
            input.display()
        ))),
    }
}
