// SPDX-License-Identifier: GPL-2.0-only
//! No output takes the place of an input or of another output, and none is lost.

use super::{folder, said, shell};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Refused as wrong words, and every file stays as it is.
const REFUSED: &[&str] = &[
    // Over an input, by all its names.
    "artis result convert a.json --to csv -o a.json",
    "artis result convert a.json --to csv -o ./a.json",
    "artis result convert ./a.json --to artis -o \"$PWD/a.json\"",
    "artis result convert a.json --to csv -o link.json",
    "artis result convert link.json --to csv -o a.json",
    "artis result convert a.json --to csv -o hard.json",
    "artis result convert - --to csv -o a.json <a.json",
    "artis result convert /dev/stdin --to csv -o a.json <a.json",
    "artis result convert a.json --to csv -o /dev/stdin <a.json",
    "artis result convert a.json --to csv -o /dev/fd/3 3<>a.json",
    "artis result convert a.json --to csv >>a.json",
    "artis result show a.json >>a.json",
    "artis result merge a.json b.json -o a.json",
    "artis result merge a.json b.json -o ./b.json",
    "artis result merge a.json b.json -o hard.json",
    "artis report a.json -o a.json",
    "artis report x=b.json a.json -o link.json",
    "artis explain show late.json --json late.json",
    "artis explain show late.json --perfetto ./late.json",
    "artis lab experiment smoke.toml --json smoke.toml",
    "artis lab explain smoke.toml --configuration artis --seed 1 --calls smoke.toml",
    "artis measure completion -p 0 -q -D 1ms --longest 1 --json like.json && \
     artis measure completion --like like.json --json like.json; x=$?; rm like.json; exit $x",
    "mkdir d; cp a.json d/run.json; artis lab run --file d/run.json --output d -- true; x=$?; rm -r d; exit $x",
    // Two in one file.
    "artis explain show late.json --json x --perfetto x",
    "artis explain show late.json --json x --perfetto ./x",
    "ln -s x y; artis explain show late.json --json x --perfetto y",
    "artis explain show late.json --json - --perfetto -",
    "artis explain show late.json --json p/01.svg --svg p",
    "artis explain run --json x --perfetto x -- true",
    "artis lab explain smoke.toml --configuration artis --seed 1 --calls x --json x",
    "artis measure latency -p 0 -q -l 5 --json x --histfile ./x",
    "artis measure latency -p 0 -q -l 5 --json - --histfile /dev/stdout",
    "artis measure latency -p 0 -q -l 5 --explain --explain-json x --histfile x",
    "artis measure latency -p 0 -q -l 5 --json x >x",
    // One input, which can be read once.
    "cat a.json | artis result merge - /dev/stdin -o x",
];

/// The content of every file in a folder; what commands make empty is left out.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let named = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        Some((name, fs::read(&path).ok()?))
    };
    files
        .filter_map(named)
        .filter(|(_, bytes)| !bytes.is_empty())
        .collect()
}

#[test]
fn no_output_takes_the_place_of_an_input_or_another_output() {
    for line in REFUSED {
        let folder = folder();
        let before = content(folder.path());
        let output = shell(folder.path(), line);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(64), "{line}: {said}");
        assert_eq!(said.lines().count(), 1, "{line}: {said}");
        assert!(said.starts_with("artis: "), "{line}: {said}");
        assert_eq!(content(folder.path()), before, "{line}");
    }
}

#[test]
fn an_output_follows_links_and_has_standard_output_for_itself() {
    let folder = folder();
    let done = |line: &str| {
        let output = shell(folder.path(), line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", said(&output));
        output.stdout
    };
    done("ln -s new.csv link.csv && artis result convert a.json --to csv -o link.csv");
    assert!(
        fs::symlink_metadata(folder.path().join("link.csv"))
            .unwrap()
            .is_symlink()
    );
    assert!(
        fs::read(folder.path().join("new.csv"))
            .unwrap()
            .starts_with(b"name,")
    );
    let text = done("artis result convert a.json --to csv -o /dev/fd/3 3>&1");
    assert!(text.starts_with(b"name,"));
    for to in ["-o /dev/stdout", "-o -"] {
        let text = done(&format!("artis result convert a.json --to csv {to}"));
        assert!(text.starts_with(b"name,"), "{to}");
        done(&format!(
            "{{ artis result convert a.json --to csv {to}; }} >out.csv"
        ));
        assert_eq!(
            fs::read(folder.path().join("out.csv")).unwrap(),
            text,
            "{to}"
        );
    }
    let histogram = done("artis measure latency -p 0 -t 1 -q -l 5 --histfile -");
    assert!(
        histogram.starts_with(b"# "),
        "the table stands in front of the histogram"
    );
    // Devices and different files are no conflict.
    done("artis measure latency -p 0 -t 1 -q -l 5 --json /dev/null --histfile /dev/null");
    done("artis result merge a.json b.json -o both.json && artis result show both.json >show");
}

/// A command that measures, and a file that has room for nothing.
#[test]
fn a_closed_output_and_a_limit_of_file_size_lose_no_result() {
    // One row a line.
    #[rustfmt::skip]
    let rows = [
        ("artis measure latency -p 0 -t 1 -q -l 5 >&-", "; the result is in "),
        ("artis measure latency -p 0 -t 1 -q -l 5 --json - >&-", "; the result is in "),
        ("artis load run compute -D 100ms -q >&-", "; the result is in "),
        ("ulimit -Sf 1; artis measure latency -p 0 -t 1 -q -l 5 -h 999 >x", "; the result is in "),
        ("ulimit -Sf 1; artis measure latency -p 0 -t 1 -q -l 5 --json x", "; the result is in "),
    ];
    for (line, says) in rows {
        let folder = folder();
        let output = shell(folder.path(), line);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        let (_, path) = said
            .trim_end()
            .rsplit_once(says)
            .unwrap_or_else(|| panic!("{line}: {said}"));
        let kept = fs::read_to_string(folder.path().join(path)).unwrap();
        assert!(kept.contains("\"artis.result/1\""), "{line}: {kept}");
    }
    let folder = folder();
    for line in [
        "artis check >&-",
        "artis result show a.json >&-",
        "artis load list >&-",
    ] {
        let output = shell(folder.path(), line);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(
            said.contains("cannot write to standard output"),
            "{line}: {said}"
        );
    }
}
