// SPDX-License-Identifier: GPL-2.0-only
//! Who is logged in, without names: sessions by their numbers.
//!
//! Source: sd-login(3); the files of `/run/systemd/sessions` are logind's own and are read as
//! leniently as they are private to it.

use super::{Root, Unreadable};
use std::collections::BTreeMap;

/// The folder with a file for each session.
pub const FOLDER: &str = "/run/systemd/sessions";

/// The sessions of people, each with whether it has a screen; none where no logind keeps them.
///
/// # Errors
/// When the folder cannot be listed.
pub fn all(root: &Root) -> Result<Option<BTreeMap<String, bool>>, Unreadable> {
    // An empty folder is also there where logind does not run.
    if !root.exists("/run/systemd/seats") || !root.exists("/run/systemd/system") {
        return Ok(None);
    }
    let names = root.names(FOLDER)?.into_iter();
    let of_people = names.filter_map(|name| {
        let text = root.hint(format!("{FOLDER}/{name}"))?;
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        let class = value("CLASS=")?;
        let kind = value("TYPE=").unwrap_or_default();
        class
            .starts_with("user")
            .then(|| (name, ["x11", "wayland", "mir"].contains(&kind)))
    });
    Ok(Some(of_people.collect()))
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn sessions_of_people_are_found_and_managers_are_not() {
        let (_folder, root) = canned(&[
            ("run/systemd/system/x", ""),
            ("run/systemd/seats/seat0", ""),
            (
                "run/systemd/sessions/2",
                "UID=1000\nUSER=bob\nCLASS=user\nTYPE=wayland\n",
            ),
            (
                "run/systemd/sessions/3",
                "CLASS=manager\nTYPE=unspecified\n",
            ),
            ("run/systemd/sessions/c1", "CLASS=user\nTYPE=tty\n"),
            ("run/systemd/sessions/2.ref", ""),
        ]);
        let all = all(&root).unwrap().unwrap();
        let all: Vec<(&str, bool)> = all.iter().map(|(name, on)| (name.as_str(), *on)).collect();
        assert_eq!(all, [("2", true), ("c1", false)]);
    }

    #[test]
    fn without_logind_nobody_knows() {
        let (_folder, root) = canned(&[("run/systemd/sessions/1", "CLASS=user\n")]);
        assert_eq!(super::all(&root).unwrap(), None);
    }
}
