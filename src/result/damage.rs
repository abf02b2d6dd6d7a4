// SPDX-License-Identifier: GPL-2.0-only
//! What is wrong with a JSON or TOML file, in a sentence: the parsers' own words name Rust types
//! and give no remedy.

use serde_json::error::Category;
use std::ops::Range;

/// What is wrong with a TOML file that people write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", self.place())]
pub struct Fault {
    /// From 1; none where the file as a whole is meant.
    pub line: Option<usize>,
    /// Begins with the key where there is one.
    pub reason: String,
}

impl Fault {
    fn place(&self) -> String {
        self.line
            .map_or_else(String::new, |line| format!("line {line}: "))
    }

    /// What the parser found in `text` at `span`, in words. `allowed` says what the number of a key
    /// may be.
    pub fn in_toml(
        text: &str,
        span: Option<Range<usize>>,
        message: &str,
        allowed: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let message = message.replace('\n', ", ");
        if let Some(name) = message.strip_prefix("missing field ") {
            let name = name.trim_matches('`');
            return Self {
                line: None,
                reason: format!("the key {name} is missing; add it"),
            };
        }
        let span = span.unwrap_or(0..0);
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let found = text.get(span).unwrap_or_default().trim();
        let key = key_before(before).unwrap_or_default();
        let reason = in_words(&message, found, key, allowed);
        Self {
            line: Some(line),
            reason,
        }
    }
}

/// The key whose value begins after this text.
fn key_before(text: &str) -> Option<&str> {
    let (before, _) = text.rsplit_once('=')?;
    let key = before.rsplit(['\n', '{', ',']).next()?.trim();
    let is_key = |letter: char| letter.is_ascii_alphanumeric() || "-_\"'.".contains(letter);
    (!key.is_empty() && key.chars().all(is_key)).then_some(key)
}

fn in_words(
    message: &str,
    found: &str,
    key: &str,
    allowed: &dyn Fn(&str) -> Option<String>,
) -> String {
    let listed = |known: &str| known.trim_start_matches("one of ").replace('`', "");
    if let Some((name, known)) = split(message, "unknown field ", ", expected ") {
        let name = name.trim_matches('`');
        return format!("{name} is no key here; write {}", listed(known));
    }
    let of_key = match key {
        "" => String::new(),
        key => format!("{key}: "),
    };
    if let Some((name, known)) = split(message, "unknown variant ", ", expected ") {
        return format!(
            "{of_key}{} is not known here; write {}",
            quoted(name),
            quoted(known.trim_start_matches("one of ")).replace(", ", " or ")
        );
    }
    let fitting = [
        ("invalid type: ", "does not fit"),
        ("invalid value: ", "is out of range"),
    ];
    for (kind, what) in fitting {
        if let Some((_, expected)) = split(message, kind, ", expected ") {
            let is_number = matches!(expected, "u8" | "u16" | "u32" | "u64" | "i64" | "usize");
            let allowed = match is_number {
                true => allowed(key).unwrap_or_else(|| "write a whole number from 0 up".to_owned()),
                false => format!("write {}", of_type(expected)),
            };
            return format!("{of_key}{found} {what}; {allowed}");
        }
    }
    format!("{of_key}{message}")
}

/// What TOML calls a type of serde's.
fn of_type(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list in square brackets",
        "a string" | "string" => "a text in quotes",
        "a boolean" => "true or false",
        "f64" => "a number",
        other => other,
    }
}

/// What is wrong, without the place, which the caller puts in front.
pub fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let words = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(words, _)| words);
    match error.classify() {
        Category::Eof => "the file ends in the middle of a document; it is cut off or empty, so \
                          copy it again, or write it anew"
            .to_owned(),
        Category::Syntax => {
            format!("this is not JSON: {words}; restore the file, or write it anew")
        }
        Category::Data | Category::Io => data(words),
    }
}

/// What serde has to say of values that do not fit.
fn data(words: &str) -> String {
    let remedy = "restore the file, or write it anew";
    if let Some(name) = words.strip_prefix("missing field ") {
        return format!("the field {} is missing; {remedy}", quoted(name));
    }
    if let Some((name, known)) = split(words, "unknown field ", ", expected ") {
        let name = quoted(name);
        return format!(
            "the field {name} is not known to this artis (known: {}); remove it, or take the \
             artis that wrote it",
            quoted(known.trim_start_matches("one of "))
        );
    }
    if let Some((name, known)) = split(words, "unknown variant ", ", expected ") {
        return format!(
            "{} is not known here; write {}",
            quoted(name),
            quoted(known.trim_start_matches("one of ")).replace(", ", " or ")
        );
    }
    for kind in ["invalid type: ", "invalid value: "] {
        if let Some((found, expected)) = split(words, kind, ", expected ") {
            let expected = expected
                .replace("a borrowed string", "a string")
                .replace("f64", "a number")
                .replace("u64", "a whole number from 0 up")
                .replace("u32", "a whole number from 0 up")
                .replace("i64", "a whole number");
            return format!("here is {found} instead of {expected}; {remedy}");
        }
    }
    words.to_owned()
}

fn split<'a>(words: &'a str, start: &str, between: &str) -> Option<(&'a str, &'a str)> {
    words.strip_prefix(start)?.split_once(between)
}

/// Rust's quotation marks as those of JSON.
fn quoted(words: &str) -> String {
    words.replace('`', "\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document;

    #[test]
    fn every_kind_of_damage_is_a_sentence_with_a_remedy() {
        let whole = r#"{"schema": "artis.result/1", "tool": "t", "setup": {"command": []}, "#;
        for (text, part) in [
            ("", "the file ends in the middle"),
            ("{", "the file ends in the middle"),
            ("{,", "this is not JSON: "),
            (
                r#"{"schema": "artis.result/1"}"#,
                "the field \"tool\" is missing",
            ),
            (
                &format!("{whole}\"colour\": 1}}"),
                "the field \"colour\" is not known to this artis (known: \"schema\"",
            ),
            (
                &format!("{whole}\"series\": [\"x\"]}}"),
                "here is string \"x\" instead of a series: an object in braces",
            ),
            (
                &format!("{whole}\"series\": [{{\"name\": \"a\", \"kind\": \"speed\"}}]}}"),
                "\"speed\" is not known here; write \"latency\" or ",
            ),
            (
                &format!("{whole}\"seconds\": true}}"),
                "here is boolean `true` instead of a number",
            ),
        ] {
            let error = serde_json::from_str::<Document>(text).unwrap_err();
            let reason = reason(&error);
            assert!(reason.contains(part), "{text}: {reason}");
            assert!(!reason.contains(" at line "), "{reason}");
        }
    }
}
