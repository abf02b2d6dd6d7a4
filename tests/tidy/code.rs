// SPDX-License-Identifier: GPL-2.0-only
//! Functions and lines of Rust and C, as far as lengths need it: no parser, only brackets outside
//! of comments and strings.

use crate::files::File;

/// Columns of a line; a tab goes on to the next multiple of eight.
pub fn width(line: &str) -> usize {
    line.chars().fold(0, |at, letter| match letter {
        '\t' => (at / 8 + 1) * 8,
        _ => at + 1,
    })
}

/// A function and the lines from its name to its last bracket.
pub struct Function {
    pub name: String,
    pub lines: usize,
}

/// All functions with a body.
pub fn functions(file: &File) -> Vec<Function> {
    let plain = blanked(&file.text, file.path.ends_with(".rs"), true);
    if file.path.ends_with(".rs") {
        rust_functions(&plain)
    } else {
        c_functions(&plain)
    }
}

/// How many lines are longer than this. Text in strings may be: `rustfmt` leaves it as it is.
pub fn long_lines(file: &File, columns: usize) -> usize {
    let plain = blanked(&file.text, file.path.ends_with(".rs"), false);
    let both = file.text.lines().zip(plain.lines());
    both.filter(|(line, plain)| line == plain && width(line) > columns)
        .count()
}

/// The text with spaces for what is in strings, letters and, if `comments`, in those; lines stay.
fn blanked(text: &str, is_rust: bool, comments: bool) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let end = at + foreign(rest, is_rust).max(1);
        let is_comment = rest.starts_with(b"//") || rest.starts_with(b"/*");
        if end > at + 1 && (comments || !is_comment) {
            for byte in &mut out[at..end.min(bytes.len())] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
        at = end;
        // A name may end with what begins a raw string.
        while at < bytes.len() && is_word(bytes[at]) && is_word(bytes[at - 1]) {
            at += 1;
        }
    }
    String::from_utf8(out).expect("only whole pieces of text were replaced")
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// How long the comment, string or letter is that begins here; 0: there is none.
fn foreign(rest: &[u8], is_rust: bool) -> usize {
    let until = |begin: usize, end: &[u8]| {
        let found = rest[begin..]
            .windows(end.len())
            .position(|part| part == end);
        found.map_or(rest.len(), |found| begin + found + end.len())
    };
    if rest.starts_with(b"//") {
        return until(2, b"\n") - 1;
    }
    if rest.starts_with(b"/*") {
        return until(2, b"*/");
    }
    if is_rust && (rest.starts_with(b"r\"") || rest.starts_with(b"r#") || rest.starts_with(b"br")) {
        let hashes = rest.iter().skip_while(|byte| is_word(**byte));
        let hashes = hashes.take_while(|byte| **byte == b'#').count();
        let quote = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(0) + hashes;
        if rest.get(quote) == Some(&b'"') {
            let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
            return until(quote + 1, &end);
        }
    }
    match rest[0] {
        b'"' => escaped(rest, b'"'),
        // A lifetime has no end.
        b'\'' if rest.get(1) == Some(&b'\\') => escaped(rest, b'\''),
        b'\'' => {
            let letter = rest[1..]
                .iter()
                .position(|byte| *byte == b'\'')
                .unwrap_or(9)
                + 2;
            let one = std::str::from_utf8(&rest[1..(letter - 1).min(rest.len())]);
            if one.is_ok_and(|text| text.chars().count() == 1) {
                letter
            } else {
                0
            }
        }
        _ => 0,
    }
}

fn escaped(rest: &[u8], end: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != end {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

fn rust_functions(plain: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (begin, _) in plain.match_indices("fn ") {
        let before = plain.as_bytes()[..begin].last();
        let name = &plain[begin + 3..];
        let name = &name[..name
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(0)];
        if before.is_some_and(|byte| is_word(*byte)) || name.is_empty() {
            continue;
        }
        // A declaration ends with a semicolon; one within brackets is of an array's type.
        let mut depth = 0;
        let end = plain[begin..].bytes().enumerate().find_map(|(at, byte)| {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                _ => {}
            }
            match byte {
                b';' if depth == 0 => Some((at, false)),
                b'}' if depth == 0 => Some((at, true)),
                _ => None,
            }
        });
        if let Some((length, true)) = end {
            let lines = plain[begin..begin + length].matches('\n').count() + 1;
            found.push(Function {
                name: name.to_owned(),
                lines,
            });
        }
    }
    found
}

/// As the kernel writes them: a body is between two lines that are one bracket.
fn c_functions(plain: &str) -> Vec<Function> {
    let lines: Vec<&str> = plain.lines().collect();
    let mut found = Vec::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| **line == "{") {
        let length = lines[at..].iter().position(|line| *line == "}");
        let head = (0..at).rev().take_while(|at| !lines[*at].trim().is_empty());
        let head = head.last().unwrap_or(at);
        let signature = lines[head..at].join(" ");
        let name = match signature.split_once("BPF_PROG(") {
            Some((_, rest)) => rest.split([',', ')']).next().unwrap_or_default(),
            None => {
                let name = signature.split('(').next().unwrap_or_default();
                name.rsplit([' ', '*']).next().unwrap_or_default()
            }
        };
        if let Some(length) = length {
            found.push(Function {
                name: name.to_owned(),
                lines: at + length - head + 1,
            });
        }
    }
    found
}

/// The lines with an `allow` or `expect` that does not say why.
pub fn without_reason(text: &str) -> Vec<usize> {
    let plain = blanked(text, true, true);
    let mut found = Vec::new();
    for begin in ["allow(", "expect("] {
        for (at, _) in plain.match_indices(begin) {
            let is_attribute = plain[..at].ends_with("#[") || plain[..at].ends_with("#![");
            let rest = &plain[at..];
            let attribute = &rest[..rest.find(")]").unwrap_or(rest.len())];
            if is_attribute && !attribute.contains("reason") {
                found.push(plain[..at].matches('\n').count() + 1);
            }
        }
    }
    found
}

#[test]
fn functions_are_found_whatever_is_in_strings() {
    let text = "fn one(a: [u8; 2]) -> char {\n    let s = \"}\\\"\"; // }\n    '}'\n}\n\
                trait T { fn none(&self); }\nfn two<'a>() { r#\"}\"# }\n";
    let file = File {
        path: "a.rs".to_owned(),
        text: text.to_owned(),
    };
    let found: Vec<_> = functions(&file)
        .into_iter()
        .map(|f| (f.name, f.lines))
        .collect();
    assert_eq!(found, [("one".to_owned(), 4), ("two".to_owned(), 1)]);
}

#[test]
fn functions_of_c_are_found() {
    let text = "/* a { */\nstatic int one(int a,\n\t       int b)\n{\n\treturn 0;\n}\n\n\
                SEC(\"x\")\nint BPF_PROG(two, int a)\n{\n}\n";
    let file = File {
        path: "a.h".to_owned(),
        text: text.to_owned(),
    };
    let found: Vec<_> = functions(&file)
        .into_iter()
        .map(|f| (f.name, f.lines))
        .collect();
    assert_eq!(found, [("one".to_owned(), 5), ("two".to_owned(), 4)]);
}

#[test]
fn a_reason_is_asked_for() {
    let text = "#[allow(dead_code)]\n#[expect(a, reason = \"b\")]\nlet x = y.expect(\"z\");\n";
    assert_eq!(without_reason(text), [1]);
}
