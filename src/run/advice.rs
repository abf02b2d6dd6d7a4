// SPDX-License-Identifier: GPL-2.0-only
//! Advice as the user of this process can follow it: no sudo for root, and none where there is
//! none.

use artis_measure::audit::User;
use std::env;

/// A sentence for somebody who is not root and has no sudo, in place of one that names it.
const AS_ROOT: [(&str, &str); 5] = [
    (
        "run artis with sudo",
        "run artis as root (there is no sudo here)",
    ),
    ("as root, with sudo or as", "as root, or as"),
    ("try it with sudo", "try it as root"),
    ("; use sudo", "; do it as root (there is no sudo here)"),
    (" and sudo", " as root (there is no sudo here)"),
];

/// The same for root, who lacks something all the same.
const BY_ROOT: [(&str, &str); 1] = [(
    "run artis with sudo",
    "run artis where root lacks no capability, which may be outside of a container",
)];

/// This text with the commands, between backquotes, as this user types them here.
pub fn followable(text: &str) -> String {
    if !text.contains("sudo") {
        return text.to_owned();
    }
    match User::current() {
        User::Root => for_root(text),
        User::Ordinary if !has_sudo() => without_sudo(text),
        User::Ordinary | User::Sudo => text.to_owned(),
    }
}

/// Whether a folder of `PATH` holds sudo.
fn has_sudo() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join("sudo").is_file())
}

fn for_root(text: &str) -> String {
    commands(&replaced(text, &BY_ROOT), |command| command.to_owned())
}

fn without_sudo(text: &str) -> String {
    commands(&replaced(text, &AS_ROOT), |command| {
        match command.contains('\'') {
            true => command.to_owned(),
            false => format!("su -c '{command}'"),
        }
    })
}

fn replaced(text: &str, table: &[(&str, &str)]) -> String {
    let begin = text.to_owned();
    table
        .iter()
        .fold(begin, |text, (old, new)| text.replace(old, new))
}

/// The text with each command that has sudo in it as `write` writes the rest of it.
fn commands(text: &str, write: impl Fn(&str) -> String) -> String {
    let pieces: Vec<String> = text
        .split('`')
        .enumerate()
        .map(|(at, piece)| match at % 2 == 1 && piece.contains("sudo ") {
            true => write(&piece.replace("sudo ", "")),
            false => piece.to_owned(),
        })
        .collect();
    pieces.join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIX: &str = "`echo full | sudo tee /sys/x`, and `sudo update-grub`; see `man artis`";

    #[test]
    fn root_types_no_sudo() {
        assert_eq!(
            for_root(FIX),
            "`echo full | tee /sys/x`, and `update-grub`; see `man artis`"
        );
        let words = for_root("CAP_SYS_NICE is missing; run artis with sudo");
        assert!(words.contains("where root lacks no capability"), "{words}");
    }

    #[test]
    fn without_sudo_there_is_su() {
        assert_eq!(
            without_sudo(FIX),
            "`su -c 'echo full | tee /sys/x'`, and `su -c 'update-grub'`; see `man artis`"
        );
        assert_eq!(
            without_sudo("`sudo sh -c 'echo 0 >x'`"),
            "`sh -c 'echo 0 >x'`"
        );
        for text in [
            "only root may stop the scheduler; try it with sudo",
            "only root may change it; use sudo",
            "measure with -p 98 and sudo",
        ] {
            let words = without_sudo(text);
            assert!(words.contains("root"), "{words}");
            assert!(
                !words.replace("there is no sudo here", "").contains("sudo"),
                "{words}"
            );
        }
    }

    #[test]
    fn a_text_without_sudo_stays_as_it_is() {
        assert_eq!(followable("it is `here"), "it is `here");
    }
}
