// SPDX-License-Identifier: GPL-2.0-only
//! `artis admit`: statuses, many sets at once, files that are wrong, measured execution times.

use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const FITS: &str = "[[task]]\nname = \"a\"\nperiod = \"1ms\"\nexecution = \"100us\"\n";
const MISSES: &str = "policy = \"rm\"\n[[task]]\nname = \"a\"\nperiod = \"5ms\"\n\
                      execution = \"2ms\"\n[[task]]\nname = \"b\"\nperiod = \"7ms\"\n\
                      execution = \"4ms\"\n";
const UNKNOWN: &str = "[[task]]\nperiod = \"1ms\"\nexecution = \"1us\"\nserver = true\n";

/// What it says of these words, with this standard input.
pub fn artis(words: &[&str], input: &str) -> Output {
    start("admit", words, input).wait_with_output().unwrap()
}

/// A command in the project's folder that has been given its standard input.
pub fn start(command: &str, words: &[&str], input: &str) -> Child {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    start_in(folder, command, words, input)
}

/// The same in any folder.
pub fn start_in(folder: &Path, command: &str, words: &[&str], input: &str) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_artis"))
        .current_dir(folder)
        .arg(command)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Who finds the words wrong reads none of it.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child
}

/// The documents of sets that together have all there is.
pub fn documents() -> Vec<Value> {
    let meets = "[platform]\ntick = { period = \"4ms\", length = \"5us\" }\n[[task]]\n\
                 period = \"1001us\"\nexecution = \"10us\"\ncommand = [\"./a\"]\n";
    let sets = [FITS, MISSES, UNKNOWN, meets].join("---\n");
    let output = artis(&["-", "--json"], &sets);
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_status_says_whether_all_fit() {
    let between = "---\n";
    for (sets, status) in [
        (FITS.to_owned(), 0),
        (MISSES.to_owned(), 2),
        (UNKNOWN.to_owned(), 3),
        ([FITS, UNKNOWN].join(between), 3),
        ([UNKNOWN, MISSES, FITS].join(between), 2),
        ([FITS, "x = 1\n"].join(between), 64),
        ("period = 5\n".to_owned(), 64),
        (FITS.replace("1ms", "2d"), 64),
    ] {
        let output = artis(&["-", "--brief"], &sets);
        assert_eq!(output.status.code(), Some(status), "{sets}\n{output:?}");
    }
    assert_eq!(artis(&[], "").status.code(), Some(64));
    let example = artis(&["--example"], "");
    let example = String::from_utf8(example.stdout).unwrap();
    assert_eq!(artis(&["-"], &example).status.code(), Some(0));
}

#[test]
fn a_folder_is_all_its_sets() {
    let output = artis(&["lab/admit", "--brief"], "");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("lab/admit/audio.toml: schedulable: "),
        "{text}"
    );
    assert_eq!(lines.len(), 3);
    let folder = tempfile::tempdir().unwrap();
    let output = artis(&[folder.path().to_str().unwrap()], "");
    assert_eq!(output.status.code(), Some(64), "{output:?}");
}

#[test]
fn a_measured_execution_time_is_read_beside_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.toml");
    let text = FITS.replace("\"100us\"", "{ file = \"exec.json\", quantile = 1 }");
    std::fs::write(&path, text).unwrap();
    let words = [path.to_str().unwrap(), "--json"];
    let output = artis(&words, "");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("execution of a") && errors.contains("exec.json"),
        "{errors}"
    );
    let mut times = artis::result::Distribution::new();
    for us in 50..=200 {
        times.record(us * 1000);
    }
    let (kind, unit) = (
        artis::result::Kind::ExecutionTime,
        artis::result::Unit::Nanoseconds,
    );
    let series = artis::result::Series::new("execution_time", kind, unit, times);
    let document = serde_json::json!({
        "schema": "artis.result/1", "tool": "t", "setup": {"command": []}, "series": [series],
    });
    std::fs::write(folder.path().join("exec.json"), document.to_string()).unwrap();
    let output = artis(&words, "");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["cpus"][0]["tasks"][0]["execution_ns"], 200_000);
    let assumptions = answer["assumptions"].to_string();
    assert!(
        assumptions.contains("longest of 151 measured jobs"),
        "{assumptions}"
    );
}
