// SPDX-License-Identifier: GPL-2.0-only
//! What the bytes of a file are, before anybody looks for a format: plain text as a program
//! printed it, without what a terminal or an editor adds; or else a sentence that says what it
//! is instead.
//!
//! Lines keep their numbers.

use super::Refusal;
use std::borrow::Cow;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// How files begin that hold no text: what they are, and what to do.
const OTHERS: [(&[u8], &str); 13] = [
    (b"\x1f\x8b", "this is compressed by gzip; type: gunzip FILE"),
    (b"\xfd7zXZ\0", "this is compressed by xz; type: unxz FILE"),
    (
        b"\x28\xb5\x2f\xfd",
        "this is compressed by zstd; type: unzstd FILE",
    ),
    (b"BZh", "this is compressed by bzip2; type: bunzip2 FILE"),
    (b"PK\x03\x04", "this is a ZIP archive; type: unzip FILE"),
    (b"\x7fELF", "this is a program, not what it printed"),
    (b"%PDF", "this is a PDF document"),
    (b"\x89PNG", "this is a PNG picture"),
    (
        b"\x17\x08Dtracing",
        "this is a recording of trace-cmd, which holds events, not figures; see trace-cmd report",
    ),
    (
        b"PERFILE2",
        "this is a recording of perf, which holds events, not figures; see perf report",
    ),
    (
        b"version https://git-lfs",
        "this is a pointer of Git LFS; type: git lfs pull",
    ),
    (
        b"<!DOCTYPE html",
        "this is an HTML page; did a download fail?",
    ),
    (b"<html", "this is an HTML page; did a download fail?"),
];

/// The content as plain text; as it is where it is none, which may be a binary format.
///
/// # Errors
/// What it is instead.
pub fn plain(content: &[u8]) -> Result<Cow<'_, [u8]>, Refusal> {
    let refused = |reason: &str| Err(Refusal::line(1, reason));
    if is_utf16(content) {
        return refused(
            "this is UTF-16 text, as PowerShell writes; type: iconv -f UTF-16 -t UTF-8 FILE",
        );
    }
    if let Some((_, what)) = OTHERS.iter().find(|(head, _)| content.starts_with(head)) {
        return refused(what);
    }
    let has_mark = content.starts_with(BOM);
    let content = content.strip_prefix(BOM).unwrap_or(content);
    if content.iter().all(u8::is_ascii_whitespace) {
        return refused(match (content.is_empty(), has_mark) {
            (true, false) => "the file is empty; copy it again, or measure again",
            (true, true) => "there is nothing in the file but a byte order mark; measure again",
            (false, _) => "there is nothing in the file but blanks; measure again",
        });
    }
    let is_text = !content.contains(&0) && std::str::from_utf8(content).is_ok();
    let untouched = !content
        .iter()
        .any(|byte| matches!(byte, b'\r' | 0x1b | b'^'));
    if !is_text || untouched {
        return Ok(Cow::Borrowed(content));
    }
    let mut plain = Vec::with_capacity(content.len());
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        clean(line, &mut plain);
    }
    Ok(Cow::Owned(plain))
}

/// By its mark, or by every other byte.
fn is_utf16(content: &[u8]) -> bool {
    let head = &content[..content.len().min(32) & !1];
    let one_is_zero = |at: usize| {
        let pairs = head.chunks_exact(2);
        head.len() >= 8
            && pairs
                .into_iter()
                .all(|pair| pair[at] == 0 && pair[1 - at] != 0)
    };
    content.starts_with(b"\xff\xfe")
        || content.starts_with(b"\xfe\xff")
        || one_is_zero(0)
        || one_is_zero(1)
}

/// A line as a terminal shows it: without escape sequences, `^C` and what was overwritten.
fn clean(line: &[u8], plain: &mut Vec<u8>) {
    let start = plain.len();
    let mut rest = line;
    while let Some((byte, behind)) = rest.split_first() {
        rest = match byte {
            0x1b => behind_escape(behind),
            b'^' if plain.len() == start && behind.first() == Some(&b'C') => &behind[1..],
            // A carriage return goes back to the begin of the line, unless it ends there.
            b'\r' if behind.iter().all(|byte| matches!(byte, b'\r' | b'\n')) => behind,
            b'\r' => {
                plain.truncate(start);
                behind
            }
            byte => {
                plain.push(*byte);
                behind
            }
        };
    }
}

/// What follows an escape sequence (ECMA-48), whose first byte was taken.
fn behind_escape(sequence: &[u8]) -> &[u8] {
    let end = match sequence.first() {
        // Control sequence: parameters, then a letter.
        Some(b'[') => {
            let body = &sequence[1..];
            let parameters = body.iter().take_while(|byte| (0x20..0x40).contains(*byte));
            let end = parameters.count();
            1 + end + usize::from(body.get(end).is_some_and(|byte| *byte != b'\n'))
        }
        // A title or a link, until a bell or another escape.
        Some(b']') => {
            let end = sequence
                .iter()
                .position(|byte| matches!(byte, 0x07 | 0x1b | b'\n'));
            end.map_or(sequence.len(), |at| at + usize::from(sequence[at] == 0x07))
        }
        Some(b'\n') | None => 0,
        Some(_) => 1,
    };
    &sequence[end..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_adds_is_taken_off() {
        for (content, text) in [
            ("a\nb\n", "a\nb\n"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("\u{feff}a\n", "a\n"),
            ("\x1b[32ma\x1b[0m\n\x1b[2Ab\x1b[K\n", "a\nb\n"),
            ("\x1bca\n", "a\n"),
            ("\x1b]0;title\x07a\n\x1b]8;;x\x1b\\b\n", "a\nb\n"),
            ("^CRTS|\na^C\n", "RTS|\na^C\n"),
            ("10 %\r20 %\rdone\r\n", "done\n"),
            ("section_start:1:x\r\x1b[0Ka\n", "a\n"),
            ("a\x1b[3", "a"),
            ("a\x1b\nb", "a\nb"),
        ] {
            let plain = plain(content.as_bytes()).unwrap();
            assert_eq!(std::str::from_utf8(&plain).unwrap(), text, "{content:?}");
        }
    }

    #[test]
    fn what_is_no_text_is_named() {
        let utf16: Vec<u8> = "T: 0 (437)\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let with_mark = [b"\xff\xfe", utf16.as_slice()].concat();
        let big: Vec<u8> = "T: 0 (437)\n"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        for (content, what) in [
            (&b""[..], "the file is empty"),
            (BOM, "byte order mark"),
            (b" \n\n", "blanks"),
            (&utf16, "UTF-16"),
            (&with_mark, "UTF-16"),
            (&big, "UTF-16"),
            (b"\x1f\x8b\x08\0", "gzip"),
            (b"PK\x03\x04", "ZIP"),
        ] {
            let refusal = plain(content).unwrap_err();
            assert!(refusal.reason.contains(what), "{content:?}: {refusal:?}");
        }
        // May be a binary format.
        assert_eq!(*plain(b"\x01\0\0\0\r\n").unwrap(), b"\x01\0\0\0\r\n"[..]);
    }
}
