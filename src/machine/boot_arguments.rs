// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's boot arguments.
//!
//! Source: `Documentation/admin-guide/kernel-parameters.txt`; `next_arg()` in `lib/cmdline.c` for
//! quotes.

use super::CpuList;
use super::cpulist::ParseError;
use serde::Serialize;

/// The file.
pub const FILE: &str = "/proc/cmdline";

/// The arguments, in order: name, and value where there is one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BootArguments(Vec<(String, Option<String>)>);

/// `isolcpus=`: CPUs that the scheduler leaves alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Isolcpus {
    /// `domain`, `nohz`, `managed_irq`; without a flag the kernel assumes `domain`.
    pub flags: Vec<String>,
    pub cpus: CpuList,
}

impl Isolcpus {
    /// The CPUs that get no task which is not bound to them.
    pub fn domain(&self) -> CpuList {
        let is_domain = self.flags.is_empty() || self.flags.iter().any(|flag| flag == "domain");
        match is_domain {
            true => self.cpus.clone(),
            false => CpuList::new(),
        }
    }
}

impl BootArguments {
    /// Parses the line. Spaces between double quotes belong to the value.
    pub fn parse(cmdline: &str) -> Self {
        let mut quoted = false;
        let words = cmdline.split(|one: char| {
            quoted ^= one == '"';
            one.is_whitespace() && !quoted
        });
        let argument = |word: &str| {
            let word = word.replace('"', "");
            match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word, None),
            }
        };
        Self(
            words
                .filter(|word| !word.is_empty())
                .map(argument)
                .collect(),
        )
    }

    /// Whether the argument is there, with or without a value.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(own, _)| own == name)
    }

    /// The argument's last value. The kernel uses the last one.
    pub fn value(&self, name: &str) -> Option<&str> {
        let values = self.0.iter().filter(|(own, _)| own == name);
        values.filter_map(|(_, value)| value.as_deref()).next_back()
    }

    /// The possible CPUs in an argument such as `rcu_nocbs=`; empty when it is not there.
    ///
    /// # Errors
    /// When its value is no CPU list.
    pub fn cpus(&self, name: &str, possible: &CpuList) -> Result<CpuList, ParseError> {
        let value = self.value(name);
        value.map_or_else(|| Ok(CpuList::new()), |value| cpus(value, possible))
    }

    /// `isolcpus=`, when it is there.
    ///
    /// # Errors
    /// When its value is no CPU list.
    pub fn isolcpus(&self, possible: &CpuList) -> Result<Option<Isolcpus>, ParseError> {
        let Some(value) = self.value("isolcpus") else {
            return Ok(None);
        };
        // As `housekeeping_isolcpus_setup()` of kernel/sched/isolation.c: words with a comma behind
        // them are flags, and the kernel skips those that it does not know.
        let is_word = |word: &&str| word.starts_with(|one: char| one.is_ascii_alphabetic());
        let is_list = |word: &&str| *word == "N" || word.starts_with("N-") || *word == "all";
        let words: Vec<&str> = value.split(',').collect();
        let before_last = words.iter().take(words.len() - 1);
        let count = before_last
            .take_while(|word| is_word(word) && !is_list(word))
            .count();
        let (flags, list) = words.split_at(count);
        let known = |word: &&&str| ["nohz", "domain", "managed_irq"].contains(*word);
        Ok(Some(Isolcpus {
            flags: flags
                .iter()
                .filter(known)
                .map(|word| (*word).to_owned())
                .collect(),
            cpus: &cpus(&list.join(","), possible)? & possible,
        }))
    }
}

/// A CPU list of the command line, where `all` and `N` (the last CPU) are allowed too.
fn cpus(text: &str, possible: &CpuList) -> Result<CpuList, ParseError> {
    if text == "all" {
        return Ok(possible.clone());
    }
    let last = possible.last().unwrap_or(0).to_string();
    CpuList::from_kernel(&text.replace('N', &last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn eight() -> CpuList {
        "0-7".parse().unwrap()
    }

    #[test]
    fn the_last_value_counts_and_quotes_keep_spaces() {
        let arguments = BootArguments::parse("ro dyndbg=\"file a +p\" preempt=none preempt=full\n");
        assert!(arguments.has("ro") && !arguments.has("rw"));
        assert_eq!(arguments.value("preempt"), Some("full"));
        assert_eq!(arguments.value("dyndbg"), Some("file a +p"));
        assert_eq!(arguments.value("ro"), None);
    }

    #[test]
    fn lists_of_cpus_are_read() {
        let arguments = BootArguments::parse(
            "isolcpus=nohz,managed_irq,1-3,5 rcu_nocbs=4-N nohz_full=all irqaffinity=x",
        );
        let isolcpus = arguments.isolcpus(&eight()).unwrap().unwrap();
        assert_eq!(isolcpus.flags, ["nohz", "managed_irq"]);
        assert_eq!(isolcpus.cpus.to_string(), "1-3,5");
        for (value, cpus, domain) in [
            ("1", "1", "1"),
            ("domain,managed_irq,1", "1", "1"),
            ("managed_irq,1-2", "1-2", ""),
            ("nohz,2", "2", ""),
            ("nohz,domain,0-7:1/2", "0,2,4,6", "0,2,4,6"),
            ("1,3-N", "1,3-7", "1,3-7"),
            ("newer_flag,5", "5", "5"),
            ("6-9", "6-7", "6-7"),
        ] {
            let line = format!("isolcpus={value}");
            let isolcpus = BootArguments::parse(&line).isolcpus(&eight());
            let isolcpus = isolcpus.unwrap().unwrap();
            assert_eq!(isolcpus.cpus.to_string(), cpus, "{value}");
            assert_eq!(isolcpus.domain().to_string(), domain, "{value}");
        }
        let cpus = |name| arguments.cpus(name, &eight());
        assert_eq!(cpus("rcu_nocbs").unwrap().to_string(), "4-7");
        assert_eq!(cpus("nohz_full").unwrap(), eight());
        assert!(cpus("absent").unwrap().is_empty());
        assert!(cpus("irqaffinity").is_err());
    }

    proptest! {
        #[test]
        fn any_line_is_read(line in "(isolcpus=|rcu_nocbs=|\"| |,|N|all|domain|-|[0-9]|.){0,30}") {
            let arguments = BootArguments::parse(&line);
            let _ = arguments.isolcpus(&eight());
            let _ = arguments.cpus("rcu_nocbs", &eight());
        }
    }
}
