// SPDX-License-Identifier: GPL-2.0-only
//! Programs of this machine that the lab calls: finds them, and runs them to their end.

use crate::Error;
use artis_task::starter::ends_with;
use nix::sys::signal::Signal;
use nix::unistd::getpid;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Folders of system programs that the `PATH` of an ordinary user may lack.
const SYSTEM_FOLDERS: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// Full path of program `name`.
///
/// # Errors
/// [`Error::MissingTool`], which names the Debian `package` to install.
pub fn find(name: &str, package: &'static str) -> Result<PathBuf, Error> {
    let mut folders = std::env::var_os("PATH").unwrap_or_default();
    folders.push(":");
    folders.push(SYSTEM_FOLDERS);
    which::which_in(name, Some(folders), "/").map_err(|_| Error::MissingTool {
        tool: name.to_owned(),
        package,
    })
}

/// Runs `command` and returns its standard output.
///
/// # Errors
/// [`Error::Program`] with what it printed on standard error, when it fails.
pub fn output(command: &mut Command) -> Result<Vec<u8>, Error> {
    let program = describe(command);
    ends_with_us(command);
    let out = command.output().map_err(|error| Error::Program {
        program: program.clone(),
        reason: error.to_string(),
    })?;
    if out.status.success() {
        Ok(out.stdout)
    } else {
        Err(failed(program, &out))
    }
}

/// Makes the program end when this process ends, also by SIGKILL. The thread that starts the
/// program must live as long as the program runs.
pub fn ends_with_us(command: &mut Command) {
    let starter = getpid();
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(move || ends_with(starter, Signal::SIGKILL)) };
}

/// "apt-get update": the program and its first word that is not an option, for messages.
pub fn describe(command: &Command) -> String {
    let name = PathBuf::from(command.get_program());
    let name = name.file_name().unwrap_or(name.as_os_str());
    let verb = command
        .get_args()
        .map(OsStr::to_string_lossy)
        .find(|word| word.chars().all(|letter| letter.is_ascii_lowercase()));
    let name = name.to_string_lossy();
    verb.map_or_else(|| name.to_string(), |verb| format!("{name} {verb}"))
}

fn failed(program: String, out: &Output) -> Error {
    let said = String::from_utf8_lossy(&out.stderr);
    let words: Vec<&str> = said.lines().map(str::trim).collect();
    let reason = if said.trim().is_empty() {
        out.status.to_string()
    } else {
        words.join(" ")
    };
    Error::Program { program, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_names_its_package() {
        let error = find("no-such-program", "some-package").unwrap_err();
        assert!(error.to_string().contains("apt install some-package"));
    }

    #[test]
    fn a_failure_carries_what_the_program_said() {
        let error = output(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "sh failed: why");
        let error = output(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert!(error.to_string().contains("exit status: 3"));
    }
}
