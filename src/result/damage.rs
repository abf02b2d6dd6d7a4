// SPDX-License-Identifier: GPL-2.0-only
//! What is wrong with a JSON file, in a sentence: the parser's own words name Rust types and
//! give no remedy.

use serde_json::error::Category;

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
