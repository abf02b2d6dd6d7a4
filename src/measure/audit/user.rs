// SPDX-License-Identifier: GPL-2.0-only
//! Who measures: advice that this user cannot follow is not given.

use artis_result::Warning;

/// How this process got its rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// Not root.
    Ordinary,
    /// Root by sudo: the user's next command begins with it, too.
    Sudo,
    /// Root, perhaps on a machine that has no sudo.
    Root,
}

impl User {
    /// The one who started this process.
    pub fn current() -> Self {
        if !nix::unistd::geteuid().is_root() {
            Self::Ordinary
        } else if std::env::var_os("SUDO_UID").is_some() {
            Self::Sudo
        } else {
            Self::Root
        }
    }

    /// The findings with commands as this user types them.
    pub fn can_type(self, mut found: Vec<Warning>) -> Vec<Warning> {
        if self == Self::Root {
            for warning in &mut found {
                warning.mend = warning.mend.take().map(|fix| without_sudo(&fix));
                warning.seen = without_sudo(&warning.seen);
            }
        }
        found
    }
}

fn without_sudo(text: &str) -> String {
    text.replace("`sudo ", "`").replace("| sudo ", "| ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(user: User) -> String {
        let found = vec![Warning {
            id: String::new(),
            seen: String::new(),
            why: String::new(),
            mend: Some("`sudo sysctl a=1` or `echo 1 | sudo tee b`".to_owned()),
        }];
        user.can_type(found).remove(0).mend.unwrap()
    }

    #[test]
    fn root_needs_no_sudo() {
        assert_eq!(typed(User::Root), "`sysctl a=1` or `echo 1 | tee b`");
        assert!(typed(User::Sudo).contains("`sudo sysctl"));
        assert!(typed(User::Ordinary).contains("| sudo tee"));
    }
}
