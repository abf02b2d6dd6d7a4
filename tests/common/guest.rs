// SPDX-License-Identifier: GPL-2.0-only
//! A script in the lab's guest, and what it left behind.

use super::{probe, tell};
use serde_json::Value;
use std::process::{Command, Output};

/// What artis says of a guest that neither its kernel nor the command brought down.
const FAULT: &str = "by a fault of the emulator";
/// How often such a guest is started again before its loss counts as a failure.
const RESTARTS: usize = 2;

/// Runs an `artis lab run` to its end; again when its emulator failed, which it says.
pub fn run(command: &mut Command) -> Output {
    let mut output = command.output().unwrap();
    for _ in 0..RESTARTS {
        let said = String::from_utf8_lossy(&output.stderr);
        let Some(fault) = said.lines().find(|line| line.contains(FAULT)) else {
            break;
        };
        tell(&format!("AGAIN: {fault}"));
        output = command.output().unwrap();
    }
    output
}

/// What a guest script left behind.
pub struct Guest {
    folder: tempfile::TempDir,
    pub stdout: String,
    pub stderr: String,
}

impl Guest {
    /// A status that the script saved by this name.
    pub fn status(&self, name: &str) -> Value {
        let path = self.folder.path().join(format!("{name}.json"));
        let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        serde_json::from_slice(&text).unwrap()
    }

    /// The numbers in the lines of standard output that start with this word.
    pub fn numbers(&self, word: &str) -> Vec<u64> {
        self.stdout
            .lines()
            .filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '))
            .map(|number| number.trim().parse().unwrap())
            .collect()
    }
}

/// Boots the kernel, runs the script there, and fails unless it ended well.
#[track_caller]
pub fn boot(kernel: &str, options: &[&str], script: &str) -> Guest {
    let folder = tempfile::tempdir().unwrap();
    let library = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/guest/common.sh:/common.sh"
    );
    let output = run(Command::new(env!("CARGO_BIN_EXE_artis"))
        .args(["lab", "run", "--kernel", kernel])
        .arg("--output")
        .arg(folder.path())
        .args(["--file", library, "--file"])
        .arg(probe())
        .args(options)
        .args(["--", "sh", "-c", &format!(". /common.sh\n{script}")]));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success(),
        "stdout: {stdout}\nstderr: {stderr}"
    );
    Guest {
        folder,
        stdout,
        stderr,
    }
}
