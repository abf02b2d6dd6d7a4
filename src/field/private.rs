// SPDX-License-Identifier: GPL-2.0-only
//! What of a machine is personal, and how a text is freed of it.
//!
//! Two walls. (a) A file to hand on is made of figures and of words that are listed here or that
//! the kernel and the firmware's makers chose; nothing else gets in. (b) Before it is written,
//! every text in it is searched for what identifies this machine or its users ([`Secrets`]), and
//! loses the word.

use artis_machine::Root;
use std::collections::BTreeSet;

/// Words that makers of kernels put into a release.
const WORDS: [&str; 32] = [
    "aarch64",
    "amd64",
    "arch",
    "arm64",
    "aws",
    "azure",
    "bpo",
    "cachyos",
    "cloud",
    "default",
    "gcp",
    "generic",
    "hardened",
    "intel",
    "kvm",
    "liquorix",
    "lowlatency",
    "lts",
    "oem",
    "oracle",
    "pve",
    "raspi",
    "rc",
    "realtime",
    "riscv64",
    "rpi",
    "rt",
    "server",
    "v8",
    "virtual",
    "xanmod",
    "zen",
];
/// Prefixes of words that end in a number: `deb13`, `fc43`, `rt9`.
const NUMBERED: [&str; 9] = ["arch", "bpo", "deb", "el", "fc", "rc", "rt", "v", "x86_"];
/// What stands for words that a kernel's builder chose.
const OWN: &str = "own";
/// What stands where something personal stood.
const GONE: &str = "…";

/// A kernel's release without what its builder wrote into it: `6.12.5-bob` is `6.12.5-own`.
pub fn release(text: &str) -> String {
    let mut out = String::new();
    for (at, (separator, word)) in words(text).into_iter().enumerate() {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let is_numbered = || {
            NUMBERED.iter().any(|prefix| {
                word.strip_prefix(prefix)
                    .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
            })
        };
        if is_number || WORDS.contains(&word.as_str()) || is_numbered() {
            if at > 0 {
                out.push(separator);
            }
            out += &word;
        } else if !out.ends_with(OWN) {
            out.push('-');
            out += OWN;
        }
    }
    out
}

/// The words of a release, each with what stands in front of it.
fn words(text: &str) -> Vec<(char, String)> {
    let mut all = vec![('-', String::new())];
    for letter in text.chars() {
        if ".-+~".contains(letter) {
            all.push((letter, String::new()));
        } else if let Some((_, word)) = all.last_mut() {
            word.push(letter);
        }
    }
    all.retain(|(_, word)| !word.is_empty());
    all
}

/// The longest value, such as a list of mitigations.
const VALUE_MAX: usize = 64;

/// A word that can only be a value such as `1-3`, `off`, `force` or `0x3`: short and plain.
pub fn is_plain_value(text: &str) -> bool {
    text.len() <= VALUE_MAX
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "-_,.:=".contains(letter))
}

/// What identifies a machine or a person here, the longest first: a name with its domain goes
/// before the name alone.
#[derive(Debug, Default)]
pub struct Secrets(Vec<String>);

/// Files whose whole content does.
const FILES: [&str; 10] = [
    "/etc/hostname",
    "/etc/machine-id",
    "/proc/sys/kernel/domainname",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/random/boot_id",
    "/sys/class/dmi/id/board_serial",
    "/sys/class/dmi/id/chassis_serial",
    "/sys/class/dmi/id/product_serial",
    "/sys/class/dmi/id/product_uuid",
    "/proc/device-tree/serial-number",
];
const PASSWORDS: &str = "/etc/passwd";
/// Ordinary users begin here (`UID_MIN` of login.defs(5)); above are the system's own.
const USERS: std::ops::Range<u32> = 1000..60_000;
const INTERFACES: &str = "/sys/class/net";
/// Firmwares that have no serial number say so.
const NONE: [&str; 7] = [
    "(none)",
    "default string",
    "localhost",
    "none",
    "not specified",
    "system serial number",
    "to be filled by o.e.m.",
];

impl Secrets {
    /// Looks for them, also below a canned root; `also` are further ones, such as who uses sudo.
    pub fn read(root: &Root, also: impl IntoIterator<Item = String>) -> Self {
        let mut all: Vec<String> = FILES.iter().filter_map(|file| root.hint(file)).collect();
        // A machine is known by the first word of its name, too.
        let short: Vec<String> = all
            .iter()
            .filter_map(|name| Some(name.split_once('.')?.0.to_owned()))
            .collect();
        all.extend(short);
        all.extend(users(&root.hint(PASSWORDS).unwrap_or_default()));
        for name in root.names(INTERFACES).unwrap_or_default() {
            all.extend(root.hint(format!("{INTERFACES}/{name}/address")));
        }
        all.extend(addresses(root));
        all.extend(also);
        let plain = all.iter().map(|one| one.trim_matches(['\0', ' ', '\n']));
        let is_one = |one: &&str| {
            let empty = one.chars().all(|letter| "0:-. ".contains(letter));
            // What stands for them is none.
            !empty && !one.contains(GONE) && !NONE.contains(&one.to_lowercase().as_str())
        };
        let all: BTreeSet<String> = plain.filter(is_one).map(str::to_ascii_lowercase).collect();
        let mut all = Vec::from_iter(all);
        all.sort_by_key(|one| std::cmp::Reverse(one.len()));
        Self(all)
    }

    /// The text without them, as whole words, in any case.
    pub fn without(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            while let Some(at) = place(&text, secret) {
                text.replace_range(at..at + secret.len(), GONE);
            }
        }
        text
    }

    /// Whether one is in it.
    pub fn are_in(&self, text: &str) -> bool {
        self.0.iter().any(|secret| place(text, secret).is_some())
    }
}

/// Where a word stands in a text, and is no part of a longer one.
fn place(text: &str, word: &str) -> Option<usize> {
    // ASCII alone, so that places are those of the text.
    let lower = text.to_ascii_lowercase();
    let is_word = |letter: char| letter.is_alphanumeric();
    lower.match_indices(word).map(|(at, _)| at).find(|at| {
        !lower[..*at].ends_with(is_word) && !lower[at + word.len()..].starts_with(is_word)
    })
}

/// Names of people who have an account, and their full names.
fn users(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, uid, _, full, ..] = fields[..] else {
            continue;
        };
        if uid.parse().is_ok_and(|uid: u32| USERS.contains(&uid)) {
            all.push(name.to_owned());
            let full = full.split(',').next().unwrap_or_default();
            all.push(full.to_owned());
            let parts = full.split(' ').filter(|part| part.chars().count() > 2);
            all.extend(parts.map(str::to_owned));
        }
    }
    all
}

/// Addresses of the machine: `/proc/net/fib_trie` and `/proc/net/if_inet6`.
fn addresses(root: &Root) -> Vec<String> {
    let routes = root.hint("/proc/net/fib_trie").unwrap_or_default();
    let words: Vec<&str> = routes.split_whitespace().collect();
    // The line after an address says that it is the machine's own.
    let own = words
        .windows(3)
        .filter(|all| all[1] == "/32" && all[2] == "host");
    let mut all: Vec<String> = own.map(|all| all[0].to_owned()).collect();
    let six = root.hint("/proc/net/if_inet6").unwrap_or_default();
    for line in six.lines() {
        let Some(digits) = line
            .split_whitespace()
            .next()
            .filter(|word| word.len() == 32)
        else {
            continue;
        };
        let number = u128::from_str_radix(digits, 16).ok();
        all.extend(number.map(|number| std::net::Ipv6Addr::from(number).to_string()));
    }
    all.retain(|address| !address.starts_with("127.") && address != "::1");
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn releases_lose_what_their_builder_chose() {
        for (text, expected) in [
            ("6.12.57+deb13-rt-amd64", "6.12.57+deb13-rt-amd64"),
            ("6.18.3-200.fc43.x86_64", "6.18.3-200.fc43.x86_64"),
            ("6.8.0-51-generic", "6.8.0-51-generic"),
            ("7.1.0-rc3-rt2", "7.1.0-rc3-rt2"),
            ("6.12.5-bob-desktop", "6.12.5-own"),
            ("6.12.5-bobs-rt-box", "6.12.5-own-rt-own"),
            ("6.18.44-fc-v769", "6.18.44-fc-v769"),
            ("bob", "-own"),
            ("", ""),
        ] {
            assert_eq!(release(text), expected, "{text}");
        }
    }

    fn secrets() -> Secrets {
        let (_folder, root) = artis_testing::canned(&[
            ("etc/hostname", "vm.example.org\n"),
            ("etc/machine-id", "0123456789abcdef0123456789abcdef\n"),
            (
                "etc/passwd",
                "root:x:0:0:root:/root:/bin/sh\nbob:x:1000:1000:Bob Miller,,:/home/bob:/bin/sh\n\
                 nobody:x:65534:65534::/:/bin/sh\n",
            ),
            ("sys/class/dmi/id/product_serial", "PF-2X9\n"),
            ("sys/class/dmi/id/board_serial", "None\n"),
            ("sys/class/net/lo/address", "00:00:00:00:00:00\n"),
            ("sys/class/net/eth0/address", "52:54:00:12:34:56\n"),
            (
                "proc/net/fib_trie",
                "Local:\n  +-- 10.0.0.0/8 2 0 2\n     |-- 10.0.0.7\n        /32 host LOCAL\n     |-- \
                 127.0.0.1\n        /32 host LOCAL\n",
            ),
            (
                "proc/net/if_inet6",
                "fe800000000000005054 00\nfe80000000000000505400fffe123456 02 40 20 80 eth0\n",
            ),
        ]);
        Secrets::read(&root, ["alice".to_owned()])
    }

    #[test]
    fn what_identifies_is_found_as_a_whole_word_in_any_case() {
        let secrets = secrets();
        for (text, expected) in [
            ("the host VM is here", "the host … is here"),
            ("a KVM guest", "a KVM guest"),
            ("vm.example.org", "…"),
            ("of Bob Miller", "of …"),
            ("bob-alice", "…-…"),
            ("s/n PF-2X9", "s/n …"),
            ("None", "None"),
            ("0123456789ABCDEF0123456789abcdef", "…"),
            ("52:54:00:12:34:56 10.0.0.7", "… …"),
            ("fe80::5054:ff:fe12:3456", "…"),
            ("127.0.0.1 root nobody", "127.0.0.1 root nobody"),
        ] {
            assert_eq!(secrets.without(text), expected);
            assert_eq!(secrets.are_in(text), text != expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_and_none_keeps_one(text in "(vm|Bob|PF-2X9|ä|…|[ -]|.){0,12}") {
            let _ = release(&text);
            prop_assert!(!secrets().are_in(&secrets().without(&text)));
        }
    }
}
