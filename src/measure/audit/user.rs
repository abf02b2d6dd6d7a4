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
    /// The user who started this process.
    pub fn current() -> Self {
        if !nix::unistd::geteuid().is_root() {
            Self::Ordinary
        } else if std::env::var_os("SUDO_UID").is_some() {
            Self::Sudo
        } else {
            Self::Root
        }
    }

    /// The findings with commands as this user types them, and without what root has already done.
    pub fn can_type(self, mut found: Vec<Warning>) -> Vec<Warning> {
        for warning in &mut found {
            warning.fix = warning.fix.take().map(|fix| self.typed(&fix));
            warning.seen = self.typed(&warning.seen);
        }
        found
    }

    fn typed(self, text: &str) -> String {
        let as_root = || {
            text.replace("run artis as root, on", "run artis on")
                .replace(", and measure as root", "")
        };
        match self {
            Self::Ordinary => text.to_owned(),
            Self::Sudo => as_root(),
            Self::Root => as_root().replace("`sudo ", "`").replace("| sudo ", "| "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(user: User) -> String {
        let found = vec![Warning {
            id: String::new(),
            seen: String::new(),
            why: String::new(),
            fix: Some("`sudo sysctl a=1` or `echo 1 | sudo tee b`".to_owned()),
        }];
        user.can_type(found).remove(0).fix.unwrap()
    }

    #[test]
    fn root_needs_no_sudo() {
        assert_eq!(typed(User::Root), "`sysctl a=1` or `echo 1 | tee b`");
        assert!(typed(User::Sudo).contains("`sudo sysctl"));
        assert!(typed(User::Ordinary).contains("| sudo tee"));
        let root = User::Sudo.typed("`sudo mount x`, and measure as root");
        assert_eq!(root, "`sudo mount x`");
        assert_eq!(
            User::Root.typed("run artis as root, on a machine"),
            "run artis on a machine"
        );
    }
}
