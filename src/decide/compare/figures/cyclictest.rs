// SPDX-License-Identifier: GPL-2.0-only
//! What a command line of cyclictest asks for: its files say it nowhere else.

use artis_result::Document;

/// Options with a value in cyclictest's manual, but for `-p` and `-i`.
const WITH_VALUE: &str = "aAbcdDFhHlotTy";
/// cyclictest's own interval, where none is given.
const INTERVAL_US: u64 = 1000;

/// The settings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Asked {
    /// 0 is the normal policy.
    pub priority: Option<i64>,
    pub interval_us: Option<u64>,
}

/// None where it was another program, or no command is known.
pub fn asked(document: &Document) -> Option<Asked> {
    let words = &document.setup.command;
    let is_cyclictest = document.tool.starts_with("cyclictest") && !words.is_empty();
    is_cyclictest.then(|| of_words(words))
}

fn of_words(words: &[String]) -> Asked {
    let mut asked = Asked {
        priority: Some(0),
        interval_us: Some(INTERVAL_US),
    };
    let mut words = words.iter().skip(1).map(String::as_str).peekable();
    while let Some(word) = words.next() {
        let (letter, value) = match word.strip_prefix("--") {
            Some(long) => {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (long, None),
                };
                match name {
                    "priority" | "prio" => ('p', value),
                    "interval" => ('i', value),
                    _ => continue,
                }
            }
            None => match short(word) {
                Some(found) => found,
                None => continue,
            },
        };
        let value = value.or_else(|| words.next());
        match (letter, value) {
            ('p', Some(value)) => asked.priority = value.parse().ok(),
            ('i', Some(value)) => asked.interval_us = value.parse().ok(),
            _ => {}
        }
    }
    asked
}

/// `-p` or `-i` in a word of letters such as `-Smp99`, and the value that follows in it.
fn short(word: &str) -> Option<(char, Option<&str>)> {
    let letters = word.strip_prefix('-')?;
    for (at, letter) in letters.char_indices() {
        if matches!(letter, 'p' | 'i') {
            let value = &letters[at + 1..];
            return Some((letter, Some(value).filter(|value| !value.is_empty())));
        }
        if WITH_VALUE.contains(letter) {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priority_and_interval_are_found_in_each_spelling() {
        for (line, priority, interval_us) in [
            ("cyclictest", 0, 1000),
            ("cyclictest -q -t 2 -a 0 -p 80 -m -D 1 -i 500", 80, 500),
            ("cyclictest -Smp99 -i200 -h400 -q", 99, 200),
            ("cyclictest --priority=95 --interval 10000", 95, 10_000),
            ("cyclictest --prio 7 -a1 -l 100000", 7, 1000),
            // The letters of a value are none of its own.
            ("cyclictest -qDp1 -t5", 0, 1000),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let expected = Asked {
                priority: Some(priority),
                interval_us: Some(interval_us),
            };
            assert_eq!(of_words(&words), expected, "{line}");
        }
    }
}
