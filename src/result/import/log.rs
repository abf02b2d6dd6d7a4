// SPDX-License-Identifier: GPL-2.0-only
//! The output of a program within a log: a CI, a container manager or a journal writes a time
//! or a name before each line, and other programs' lines around.
//!
//! What stands before a line that a format knows is taken as the prefix: words, numbers and
//! punctuation in this order. It is taken off each line that begins alike; the others stay as
//! they are. Lines keep their numbers.

/// A longer prefix is none.
const PREFIX_MAX: usize = 200;
/// So many are tried, or a few more.
const TRIALS_MAX: usize = 64;
/// Each with so many lines, of which so many stand before the anchor.
const NEAR: usize = 500;
const BEFORE: usize = 5;

/// A part of a prefix.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    /// Digits, and blanks before them.
    Number,
    /// Letters and digits, a letter at least.
    Word,
    /// Blanks.
    Blanks,
    Exactly(char),
}

/// What stands before each line.
#[derive(Clone, Debug, PartialEq)]
struct Prefix {
    parts: Vec<Part>,
    /// The blanks at its end, which may be missing before an empty line.
    end: String,
}

/// Looks for lines that `anchors` begin; takes off what stands before them, and gives the rest of
/// the text with what `fits` says of it, the first that it knows.
pub fn within<T>(
    text: &str,
    anchors: &[&str],
    fits: impl Fn(&str) -> Option<T>,
) -> Option<(T, String)> {
    let known = |part: &str| fits(part).or_else(|| fits(&json_alone(part)?));
    let (found, plain) = match known(text) {
        Some(found) => (found, text.to_owned()),
        None => prefixes(text, anchors)
            .into_iter()
            .find_map(|(prefix, at)| {
                // A trial costs as much as what it reads.
                let near: String = text
                    .lines()
                    .skip(at)
                    .take(NEAR)
                    .flat_map(|it| [it, "\n"])
                    .collect();
                known(&prefix.take_off(&near))?;
                let plain = prefix.take_off(text);
                Some((known(&plain)?, plain))
            })?,
    };
    let alone = json_alone(&plain).filter(|alone| fits(alone).is_some());
    Some((found, alone.unwrap_or(plain)))
}

/// Every prefix that may stand before one of `anchors`, with the line from which to try it.
fn prefixes(text: &str, anchors: &[&str]) -> Vec<(Prefix, usize)> {
    let mut all: Vec<(Prefix, usize)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for anchor in anchors {
            for (at, _) in line.match_indices(anchor) {
                for prefix in Prefix::variants(&line[..at]) {
                    if !all.iter().any(|(other, _)| *other == prefix) {
                        all.push((prefix, number.saturating_sub(BEFORE)));
                    }
                }
            }
        }
        if all.len() >= TRIALS_MAX {
            break;
        }
    }
    all
}

impl Prefix {
    /// As it stands there, with one blank at its end, and without: a format may begin with blanks.
    fn variants(text: &str) -> impl Iterator<Item = Self> {
        let bare = text.trim_end_matches([' ', '\t']);
        let blanks = &text[bare.len()..];
        let is_one = !text.is_empty()
            && text.len() <= PREFIX_MAX
            && (!blanks.is_empty() || !bare.ends_with(char::is_alphanumeric));
        let ends = [blanks, blanks.get(..1).unwrap_or(""), ""];
        let parts = is_one.then(|| parts(bare));
        parts.into_iter().flat_map(move |parts| {
            ends.map(|end| Self {
                parts: parts.clone(),
                end: end.to_owned(),
            })
        })
    }

    /// The text without it.
    fn take_off(&self, text: &str) -> String {
        let mut plain = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            plain.push_str(self.behind(line).unwrap_or(line));
        }
        plain
    }

    /// What a line says behind it; none where the line begins otherwise.
    fn behind<'a>(&self, line: &'a str) -> Option<&'a str> {
        let mut rest = line;
        for part in &self.parts {
            let after = match part {
                Part::Exactly(one) => rest.strip_prefix(*one)?,
                Part::Blanks => rest.trim_start_matches([' ', '\t']),
                Part::Number => rest
                    .trim_start_matches([' ', '\t'])
                    .trim_start_matches(|one: char| one.is_ascii_digit()),
                Part::Word => {
                    let after = rest.trim_start_matches(char::is_alphanumeric);
                    let word = &rest[..rest.len() - after.len()];
                    has_letter(word).then_some(after)?
                }
            };
            if after.len() == rest.len() {
                return None;
            }
            rest = after;
        }
        let is_blank = rest.trim_end_matches(['\r', '\n']).is_empty();
        rest.strip_prefix(self.end.as_str())
            .or(is_blank.then_some(rest))
    }
}

fn has_letter(word: &str) -> bool {
    word.contains(char::is_alphabetic)
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = rest.len() - rest.trim_start_matches(char::is_alphanumeric).len();
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let (part, taken) = match (word, blanks) {
            (0, 0) => (Part::Exactly(first), first.len_utf8()),
            (0, blanks) => (Part::Blanks, blanks),
            (word, _) if rest[..word].bytes().all(|byte| byte.is_ascii_digit()) => {
                // The width of a number may differ, and so may the blanks before it.
                if parts.last() == Some(&Part::Blanks) {
                    parts.pop();
                }
                (Part::Number, word)
            }
            (word, _) => (Part::Word, word),
        };
        parts.push(part);
        rest = &rest[taken..];
    }
    parts
}

/// A JSON document in lines of its own, all others blank; none where there is none.
fn json_alone(text: &str) -> Option<String> {
    let mut alone = String::new();
    let mut is_within = None;
    for line in text.split_inclusive('\n') {
        let words = line.trim_end();
        if is_within.is_none() && words == "{" {
            is_within = Some(true);
        }
        match is_within {
            Some(true) => alone.push_str(line),
            _ => alone.push('\n'),
        }
        if is_within == Some(true) && words == "}" {
            is_within = Some(false);
        }
    }
    is_within.map(|_| alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_taken_off_each_line_that_begins_alike() {
        for (first, second) in [
            ("| ", "| "),
            ("[12:00:01] ", "[12:00:59] "),
            ("[    1.234567] ", "[ 3601.000001] "),
            ("[1.2] ", "[10.25] "),
            (
                "2026-11-30T05:33:04.1234567Z ",
                "2026-12-01T15:33:04.1234567Z ",
            ),
            (
                "2026-11-30T05:33:04.962646Z 00O ",
                "2026-11-30T05:33:04.962646Z 01E ",
            ),
            ("[2026-11-30T05:33:04.123Z] ", "[2026-11-30T05:33:05.003Z] "),
            (
                "Nov 30 05:33:04 board-7 run[437]: ",
                "Dec  1 05:33:04 board-7 run[12437]: ",
            ),
            (
                "job\tmeasure it\t2026-11-30T05:33:04.1Z ",
                "job\tmeasure it\t2026-11-30T05:33:04.2Z ",
            ),
            ("#12 0.345 ", "#12 10.5 "),
            ("rt-1  | ", "rt-1  | "),
            ("12:00:01 INFO  ", "12:00:02 ERROR  "),
            (">", ">"),
        ] {
            let head = format!("{first}# Histogram\n");
            let text = format!("{second}000001 5\nother\n{}\n", second.trim_end());
            let fits = |text: &str| text.starts_with("# Histogram").then_some(());
            let found = within(&(head + &text), &["# Histogram"], fits);
            let (_, plain) = found.unwrap_or_else(|| panic!("{first}"));
            assert_eq!(plain, "# Histogram\n000001 5\nother\n\n", "{first}");
        }
    }

    #[test]
    fn a_word_is_no_number_and_a_part_of_a_word_no_prefix() {
        let known = prefixes("job T: 0 (\n", &["T: "]);
        assert_eq!(known[0].0.take_off("000005 000400\n"), "000005 000400\n");
        assert!(prefixes("HOST: 0\nT: 1\n", &["T: "]).is_empty());
    }

    #[test]
    fn a_document_stands_alone_in_its_lines() {
        let text = "+ cat a.json\n{\n \"a\": {\n }\n}\nexit 0\n";
        assert_eq!(json_alone(text).unwrap(), "\n{\n \"a\": {\n }\n}\n\n");
        assert_eq!(json_alone("{ a\n"), None);
    }
}
