// SPDX-License-Identifier: GPL-2.0-only
//! JSON as rt-app's users write it: with comments, commas too many or too few, words without
//! quotes or without a value, and keys that come more than once, in the order of the program.
//!
//! Source: rt-app's `doc/tutorial.txt`, and what its `workgen` and json-c let pass. Never panics;
//! takes memory in proportion to the file, up to [`VALUES_MAX`] values.

use super::place::Wrong;
use super::tree::{Kind, Member, VALUES_MAX, Value};
use std::collections::BTreeMap;

/// Objects and lists in one another.
const DEPTH_MAX: usize = 32;

/// What is no JSON and was taken all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leniency {
    Comment,
    CommaTooMany,
    CommaMissing,
    WordWithoutQuotes,
    NoValue,
    KeyRepeated,
    Behind,
}

impl Leniency {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Comment => "comments",
            Self::CommaTooMany => "commas before a closing bracket",
            Self::CommaMissing => "missing commas",
            Self::WordWithoutQuotes => "words without quotes",
            Self::NoValue => "keys without a value",
            Self::KeyRepeated => "keys that come again in an object, in their order",
            Self::Behind => "text behind the end, which was left out",
        }
    }
}

/// Of each kind: how often, and the byte of the first.
pub type Taken = BTreeMap<Leniency, (usize, usize)>;

/// The value of a text, and what was taken leniently.
pub fn parse(text: &str) -> Result<(Value, Taken), Wrong> {
    let mut parser = Parser {
        text,
        at: text.len() - text.trim_start_matches('\u{feff}').len(),
        values: 0,
        taken: Taken::new(),
    };
    parser.space()?;
    let value = parser.value(0)?;
    parser.space()?;
    if parser.at < text.len() {
        parser.take(Leniency::Behind, parser.at);
    }
    Ok((value, parser.taken))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    values: usize,
    taken: Taken,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, what: Leniency, at: usize) {
        self.taken.entry(what).or_insert((0, at)).0 += 1;
    }

    fn wrong<T>(&self, reason: &str) -> Result<T, Wrong> {
        let found = match self.rest().chars().next() {
            None => "the file ends here".to_owned(),
            Some(letter) => format!("{letter:?} does not fit here"),
        };
        Err(Wrong::new(self.at, format!("{found}; {reason}")))
    }

    /// Goes on behind white space and comments.
    fn space(&mut self) -> Result<(), Wrong> {
        loop {
            let rest = self.rest();
            let white = rest.len() - rest.trim_start().len();
            self.at += white;
            let rest = self.rest();
            let length = if rest.starts_with("/*") {
                match rest.find("*/") {
                    Some(end) => end + 2,
                    None => {
                        let reason = "this comment has no end; write */ behind it";
                        return Err(Wrong::new(self.at, reason));
                    }
                }
            } else if rest.starts_with("//") || rest.starts_with('#') {
                rest.find('\n').unwrap_or(rest.len())
            } else {
                return Ok(());
            };
            self.take(Leniency::Comment, self.at);
            self.at += length;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Wrong> {
        let at = self.at;
        self.values += 1;
        if self.values > VALUES_MAX {
            let reason = format!("the file has more than {VALUES_MAX} values; use loops");
            return Err(Wrong::new(at, reason));
        }
        if depth > DEPTH_MAX {
            let reason = format!("more than {DEPTH_MAX} brackets are in one another; close some");
            return Err(Wrong::new(at, reason));
        }
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"' | b'\'') => Kind::Text(self.quoted()?),
            // Nothing stands between the colon and what follows.
            Some(b',' | b'}' | b']') => {
                self.take(Leniency::NoValue, at);
                Kind::Nothing
            }
            Some(_) => self.word()?,
            None => return self.wrong("write a value"),
        };
        Ok(Value { at, kind })
    }

    fn object(&mut self, depth: usize) -> Result<Kind, Wrong> {
        self.at += 1;
        let mut members: Vec<Member> = Vec::new();
        let mut keys = std::collections::BTreeSet::new();
        loop {
            self.space()?;
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Kind::Object(members));
                }
                None => return self.wrong("write the closing bracket } of this object"),
                _ => {}
            }
            let at = self.at;
            let key = self.key()?;
            self.space()?;
            let value = match self.peek() {
                Some(b':') => {
                    self.at += 1;
                    self.space()?;
                    self.value(depth + 1)?
                }
                _ => {
                    self.values += 1;
                    self.take(Leniency::NoValue, at);
                    let kind = Kind::Nothing;
                    Value { at, kind }
                }
            };
            if !keys.insert(key.clone()) {
                self.take(Leniency::KeyRepeated, at);
            }
            members.push(Member { key, at, value });
            self.comma(b'}')?;
        }
    }

    fn list(&mut self, depth: usize) -> Result<Kind, Wrong> {
        self.at += 1;
        let mut values = Vec::new();
        loop {
            self.space()?;
            match self.peek() {
                Some(b']') => {
                    self.at += 1;
                    return Ok(Kind::List(values));
                }
                None => return self.wrong("write the closing bracket ] of this list"),
                Some(b',') => return self.wrong("write a value before the comma"),
                _ => {}
            }
            values.push(self.value(depth + 1)?);
            self.comma(b']')?;
        }
    }

    /// Between two members: a comma, or none.
    fn comma(&mut self, closing: u8) -> Result<(), Wrong> {
        self.space()?;
        let at = self.at;
        if self.peek() == Some(b',') {
            while self.peek() == Some(b',') {
                self.at += 1;
                self.space()?;
            }
            if self.peek() == Some(closing) {
                self.take(Leniency::CommaTooMany, at);
            }
        } else if self.peek() != Some(closing) && self.peek().is_some() {
            self.take(Leniency::CommaMissing, at);
        }
        Ok(())
    }

    fn key(&mut self) -> Result<String, Wrong> {
        match self.peek() {
            Some(b'"' | b'\'') => self.quoted(),
            _ => {
                let (at, word) = (self.at, self.bare());
                if word.is_empty() {
                    return self.wrong("write a key in quotes, or the closing bracket }");
                }
                self.take(Leniency::WordWithoutQuotes, at);
                Ok(word)
            }
        }
    }

    /// Letters, digits and the signs of names and numbers.
    fn bare(&mut self) -> String {
        let is_part = |letter: char| letter.is_alphanumeric() || "_-+./@".contains(letter);
        let rest = self.rest();
        let length = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        let word = rest[..length].to_owned();
        self.at += length;
        word
    }

    fn word(&mut self) -> Result<Kind, Wrong> {
        let at = self.at;
        let word = self.bare();
        Ok(match word.as_str() {
            "" => return self.wrong("write a value: a number, a text in quotes, { or ["),
            "null" => Kind::Nothing,
            // Python's and json-c's ways, too.
            "true" | "True" | "TRUE" => Kind::Bool(true),
            "false" | "False" | "FALSE" => Kind::Bool(false),
            _ => match number(&word) {
                Some(number) => number,
                None => {
                    self.take(Leniency::WordWithoutQuotes, at);
                    Kind::Text(word)
                }
            },
        })
    }

    /// A text in quotes, on one line.
    fn quoted(&mut self) -> Result<String, Wrong> {
        let begin = self.at;
        let quote = self.peek().unwrap_or(b'"') as char;
        let mut found = String::new();
        let mut letters = self.text[begin + 1..].char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\n' => break,
                '\\' => {
                    let escaped = letters.next().map(|(_, it)| it);
                    found.push(match escaped {
                        Some('n') => '\n',
                        Some('t') => '\t',
                        Some('r') => '\r',
                        Some('u') => {
                            let digits: String =
                                letters.by_ref().take(4).map(|(_, it)| it).collect();
                            let code = u32::from_str_radix(&digits, 16).ok();
                            // Half of a pair is no letter.
                            code.and_then(char::from_u32).unwrap_or('\u{fffd}')
                        }
                        Some(letter) if letter != '\n' => letter,
                        _ => break,
                    });
                }
                _ if letter == quote => {
                    self.at = begin + 1 + at + 1;
                    return Ok(found);
                }
                _ => found.push(letter),
            }
        }
        let reason = format!("this text has no end on its line; write {quote} behind it");
        Err(Wrong::new(begin, reason))
    }
}

/// A number as JSON and C write it; none: the word is none.
fn number(word: &str) -> Option<Kind> {
    if let Ok(number) = word.parse() {
        return Some(Kind::Whole(number));
    }
    if let Some(digits) = word.strip_prefix("0x") {
        return Some(Kind::Whole(i64::from_str_radix(digits, 16).ok()?));
    }
    // Words such as "inf" are none.
    let is_number = word.starts_with(|it: char| it.is_ascii_digit() || "+-.".contains(it));
    let number: f64 = word.parse().ok()?;
    (is_number && number.is_finite()).then_some(Kind::Number(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(value: &Value) -> Vec<&str> {
        let members = value.object("it").unwrap();
        members.iter().map(|member| member.key.as_str()).collect()
    }

    #[test]
    fn what_is_no_json_is_taken_and_counted() {
        let text = "/* a */ { // b\n \"run\": 1, run : 2 'run': 0x10, \"yield\", # c\n\
                    suspend:, \"list\" : [1, 2,], }\nbehind";
        let (value, taken) = parse(text).unwrap();
        assert_eq!(
            keys(&value),
            ["run", "run", "run", "yield", "suspend", "list"]
        );
        let count = |what| taken.get(&what).map_or(0, |(count, _)| *count);
        assert_eq!(count(Leniency::Comment), 3);
        assert_eq!(count(Leniency::CommaMissing), 1);
        assert_eq!(count(Leniency::CommaTooMany), 2);
        assert_eq!(count(Leniency::NoValue), 2);
        assert_eq!(count(Leniency::KeyRepeated), 2);
        assert_eq!(count(Leniency::WordWithoutQuotes), 2);
        assert_eq!(count(Leniency::Behind), 1);
        let members = value.object("it").unwrap();
        assert_eq!(members[2].value.kind, Kind::Whole(16));
        assert_eq!(members[3].value.kind, Kind::Nothing);
    }

    #[test]
    fn json_is_read_as_it_is() {
        let text = r#"{"a": [true, null, -1.5, "x\n\u0041"], "b": {}}"#;
        let (value, taken) = parse(text).unwrap();
        assert!(taken.is_empty(), "{taken:?}");
        let list = value.object("it").unwrap()[0].value.list("a").unwrap();
        let kinds: Vec<&Kind> = list.iter().map(|value| &value.kind).collect();
        let text = Kind::Text("x\nA".to_owned());
        assert_eq!(
            kinds,
            [
                &Kind::Bool(true),
                &Kind::Nothing,
                &Kind::Number(-1.5),
                &text
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_has_its_place() {
        let deep = "[".repeat(100);
        for (text, at, words) in [
            ("", 0, "the file ends here"),
            ("{\"a\": ", 6, "write a value"),
            ("{\"a\": 1", 7, "closing bracket }"),
            ("[1", 2, "closing bracket ]"),
            ("{\"a\": \"x\n\"}", 6, "no end on its line"),
            ("/* x", 0, "this comment has no end"),
            ("{ = 1}", 2, "'=' does not fit"),
            ("{\"a\": ;}", 6, "';' does not fit"),
            (&deep, 33, "close some"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert_eq!(wrong.at, at, "{text}: {wrong:?}");
            assert!(wrong.reason.contains(words), "{text}: {wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}") {
            let _ = parse(&text);
        }

        #[test]
        fn no_mixture_of_signs_makes_it_panic(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "{", "}", "[", "]", ",", ":", "\"", "'", "\\", "\\u", "/*", "*/", "//", "#",
                    "\n", " ", "run", "12", "-", "0x", "é", "null", "1e999",
                ]),
                0..60,
            )
        ) {
            let text = parts.concat();
            if let Err(wrong) = parse(&text) {
                prop_assert!(wrong.at <= text.len());
            }
        }

        #[test]
        fn real_json_is_read_without_leniency(keys in prop::collection::btree_set("[a-z]{1,8}", 0..8)) {
            let map: serde_json::Map<String, serde_json::Value> =
                keys.into_iter().map(|key| (key.clone(), key.into())).collect();
            let text = serde_json::to_string_pretty(&map).unwrap();
            let (value, taken) = parse(&text).unwrap();
            prop_assert!(taken.is_empty());
            prop_assert_eq!(value.object("it").unwrap().len(), map.len());
        }
    }
}
