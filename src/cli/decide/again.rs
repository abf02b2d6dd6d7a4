// SPDX-License-Identifier: GPL-2.0-only
//! The words of this command line that ask the same question again: the job's, and no file.

use crate::decide::verdict::Again;
use crate::report::words::plain;

/// Options that say how to answer, with the number of words that follow them.
const NOT_THE_JOB: [(&str, usize); 10] = [
    ("--json", 0),
    ("--measure", 0),
    ("--plan", 0),
    ("--plot", 1),
    ("--page", 1),
    ("--hand-on", 1),
    ("--duration", 1),
    ("-D", 1),
    ("--runs", 1),
    ("--keep", 1),
];

/// `words` are those after the program's name, `files` those of them that name results.
pub fn again(words: impl Iterator<Item = String>, files: &[&str]) -> Again {
    let words: Vec<String> = words.collect();
    let is_kept = |word: &String| word == "--keep" || word.starts_with("--keep=");
    let kept = words.iter().any(is_kept).then(|| {
        let all = words.iter().map(|word| quoted(&plain(word)));
        format!("artis {}", all.collect::<Vec<_>>().join(" "))
    });
    let mut command = String::from("artis");
    let mut measured = false;
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        measured |= word == "--measure";
        let (name, value) = match word.split_once('=') {
            Some((name, _)) => (name, true),
            None => (word.as_str(), false),
        };
        if let Some((_, count)) = NOT_THE_JOB.iter().find(|(known, _)| *known == name) {
            for _ in 0..if value { 0 } else { *count } {
                words.next();
            }
        } else if !is_short_duration(&word) && !files.contains(&word.as_str()) {
            command.push(' ');
            command += &quoted(&plain(&word));
        }
    }
    Again {
        command,
        measured,
        kept,
    }
}

/// `-D10m`.
fn is_short_duration(word: &str) -> bool {
    word.starts_with("-D")
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=./,:%+@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jobs_words_stay_and_the_answers_go() {
        for (line, files, command, measured) in [
            (
                "decide --deadline 250us --work 100us stock=a.json",
                &["stock=a.json"][..],
                "artis decide --deadline 250us --work 100us",
                false,
            ),
            (
                "decide my.toml a.json --json --plot dir -D 10m --rt 1 --measure --keep=x -D5",
                &["a.json"],
                "artis decide my.toml --rt 1",
                true,
            ),
            ("decide", &[], "artis decide", false),
        ] {
            let words = line.split(' ').map(str::to_owned);
            let expected = Again {
                command: command.to_owned(),
                measured,
                kept: measured.then(|| format!("artis {line}")),
            };
            assert_eq!(again(words, files), expected, "{line}");
        }
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        assert_eq!(quoted("--loss=20%"), "--loss=20%");
        assert_eq!(quoted("20 %"), "'20 %'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
