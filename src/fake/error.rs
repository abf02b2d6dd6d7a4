// SPDX-License-Identifier: GPL-2.0-only
//! Why a scenario did not run.

use super::fit::Unfit;
use nix::errno::Errno;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Unfit(#[from] Unfit),
    #[error("could not {what}: {errno}")]
    System { what: String, errno: Errno },
    /// A task could not do a step.
    #[error("task {task} could not {what}: {errno}{remedy}")]
    Task {
        task: String,
        what: &'static str,
        errno: Errno,
        remedy: &'static str,
    },
    #[error("{0}")]
    Group(String),
    #[error(transparent)]
    Supervised(#[from] artis_load::Error),
}

impl Error {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(Errno) -> Self {
        let what = what.into();
        move |errno| Self::System { what, errno }
    }
}
