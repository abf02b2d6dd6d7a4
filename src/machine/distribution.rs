// SPDX-License-Identifier: GPL-2.0-only
//! Whose kernel this is, and what its users type to get another one.

use super::Root;
use serde::Serialize;

/// Where a distribution describes itself: os-release(5).
pub const FILE: &str = "/etc/os-release";

/// A Linux distribution.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// As people call it, with its version; empty when nothing is known.
    pub name: String,
    /// `ID`, and then those that it is like.
    pub ids: Vec<String>,
    /// `VERSION_ID`; empty where there are no versions.
    pub version: String,
}

impl Distribution {
    /// Reads it; nothing is known where the file is not there.
    pub fn read(root: &Root) -> Self {
        let text = root
            .hint(FILE)
            .or_else(|| root.hint("/usr/lib/os-release"))
            .unwrap_or_default();
        let value = |key: &str| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            line.map_or("", |value| value.trim().trim_matches(['"', '\'']))
                .to_owned()
        };
        let ids = format!("{} {}", value("ID"), value("ID_LIKE"));
        Self {
            name: value("PRETTY_NAME"),
            ids: ids.split_whitespace().map(str::to_owned).collect(),
            version: value("VERSION_ID"),
        }
    }

    /// How its users get the newest kernel that it has.
    pub fn newest_kernel(&self) -> String {
        let known = self.ids.iter().find_map(|id| match id.as_str() {
            "debian" if self.version == "12" => Some(
                "upgrade to Debian 13; then `sudo apt install -t trixie-backports linux-image-amd64`",
            ),
            "debian" => Some("`sudo apt install -t trixie-backports linux-image-amd64`"),
            "ubuntu" if self.version == "24.04" => {
                Some("`sudo apt install linux-generic-hwe-24.04`")
            }
            "ubuntu" => Some("upgrade to Ubuntu 25.04 or newer"),
            "fedora" => Some("`sudo dnf upgrade kernel`"),
            "arch" => Some("`sudo pacman -Syu linux`"),
            "opensuse-tumbleweed" => Some("`sudo zypper dup`"),
            _ => None,
        });
        known.map_or_else(
            || "install a newer kernel of your distribution".to_owned(),
            |words| match self.name.as_str() {
                "" => words.to_owned(),
                name => format!("{name}: {words}"),
            },
        )
    }

    /// How its users give the kernel an argument for each boot.
    pub fn boot_with(&self, argument: &str) -> String {
        let known = self.ids.iter().find_map(|id| match id.as_str() {
            "debian" | "ubuntu" => Some(format!(
                "add {argument} to GRUB_CMDLINE_LINUX in /etc/default/grub and run \
                 `sudo update-grub`"
            )),
            "fedora" | "rhel" => Some(format!(
                "`sudo grubby --update-kernel=ALL --args={argument}`"
            )),
            "suse" | "arch" => Some(format!(
                "add {argument} to GRUB_CMDLINE_LINUX in /etc/default/grub and run \
                 `sudo grub-mkconfig -o /boot/grub/grub.cfg` (SUSE: grub2-mkconfig, /boot/grub2)"
            )),
            _ => None,
        });
        known.unwrap_or_else(|| format!("boot with {argument}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    fn of(text: &str) -> Distribution {
        let (_folder, root) = canned(&[("etc/os-release", text)]);
        Distribution::read(&root)
    }

    const DEBIAN: &str =
        "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nVERSION_ID=\"13\"\nID=debian\n";

    #[test]
    fn a_distribution_is_known_by_its_own_words() {
        let debian = of(DEBIAN);
        assert_eq!(debian.ids, ["debian"]);
        let words = debian.newest_kernel();
        assert!(
            words.starts_with("Debian GNU/Linux 13 (trixie): "),
            "{words}"
        );
        assert!(words.contains("trixie-backports"), "{words}");
    }

    #[test]
    fn one_that_is_like_another_gets_the_other_one_s_advice() {
        let rocky = of("ID='rocky'\nID_LIKE='rhel centos fedora'\nVERSION_ID=10.1\n");
        assert_eq!(rocky.ids, ["rocky", "rhel", "centos", "fedora"]);
        assert!(rocky.boot_with("preempt=full").contains("grubby"));
    }

    #[test]
    fn an_unknown_one_gets_general_advice() {
        let (_folder, root) = canned(&[]);
        let unknown = Distribution::read(&root);
        assert_eq!(unknown, Distribution::default());
        assert!(unknown.newest_kernel().contains("newer kernel"));
        assert_eq!(unknown.boot_with("preempt=full"), "boot with preempt=full");
    }
}
