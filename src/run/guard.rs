// SPDX-License-Identifier: GPL-2.0-only
//! Takes a partition back when the process that measures under it ends without having done so, in
//! whatever way: `kill -9` included.
//!
//! It is a process of its own that waits for the end of a pipe, so nothing that happens to its
//! starter keeps it from going on. What applies the partition holds the pipe, too: a partition that
//! is still being made is taken back when it is whole. After a power cut there is nothing to take
//! back: the settings end with the boot.

use anyhow::Context;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// The hidden option of `artis partition reset`.
const WHEN_INPUT_ENDS: &str = "--when-input-ends";

/// One such process.
pub(crate) struct Guard {
    process: Child,
    pipe: ChildStdin,
}

impl Guard {
    pub fn start(artis: &Path) -> anyhow::Result<Self> {
        let mut process = Command::new(artis)
            .args(["partition", "reset", "-q", WHEN_INPUT_ENDS])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What is typed at the terminal is not for it.
            .process_group(0)
            .spawn()
            .context("cannot start artis")?;
        let pipe = process.stdin.take().context("cannot start artis")?;
        Ok(Self { process, pipe })
    }

    /// Standard input of a process that the guard waits for, too.
    pub fn held(&self) -> anyhow::Result<Stdio> {
        let held = self.pipe.as_fd().try_clone_to_owned();
        Ok(Stdio::from(held.context("cannot start artis")?))
    }

    /// Everything was taken back.
    pub fn end(mut self) -> anyhow::Result<()> {
        // When it is gone already, it has nothing left to do.
        let _ = self.pipe.write_all(b".");
        drop(self.pipe);
        self.process.wait().context("cannot wait for artis")?;
        Ok(())
    }
}
