// SPDX-License-Identifier: GPL-2.0-only
//! What a measurement says beside its result: one line for each warning, nothing with `-q`.

use super::{measure, said};

const SHORT: [&str; 7] = [
    "-p",
    "0",
    "-D",
    "50ms",
    "--unloaded",
    "10ms",
    "--count=1000",
];

fn run(words: &[&str]) -> String {
    let output = measure(words).args(SHORT).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(!output.stdout.is_empty());
    said(&output)
}

#[test]
fn a_warning_is_one_line_unless_reasons_are_asked_for() {
    let said = run(&["exec"]);
    // At the normal policy there is always one.
    assert!(said.contains("artis: warning: policy: "), "{said}");
    assert!(
        said.lines().all(|line| line.starts_with("artis: ")),
        "{said}"
    );
    assert_eq!(said.matches("--verbose says").count(), 1, "{said}");

    let said = run(&["exec", "--verbose"]);
    for part in ["artis: warning: policy: ", "  why: ", "  fix: "] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn quiet_is_quiet_and_the_result_keeps_the_warnings() {
    for command in ["exec", "jitter", "all"] {
        assert_eq!(run(&[command, "-q"]), "", "{command}");
    }
    let output = measure(&["exec", "--quiet", "--json", "-"])
        .args(SHORT)
        .output();
    let output = output.unwrap();
    assert_eq!(said(&output), "");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let audit = document["audit"].as_array().unwrap();
    let policy = audit.iter().find(|warning| warning["id"] == "policy");
    assert!(policy.unwrap()["why"].is_string());
    let output = measure(&["throughput", "-q", "--runs", "1", "--", "true"]).output();
    assert_eq!(said(&output.unwrap()), "");
}

#[test]
fn help_fits_80_columns_and_a_screen_and_ends_with_an_example() {
    for command in [
        "exec",
        "jitter",
        "throughput",
        "commands",
        "messages",
        "all",
    ] {
        let output = measure(&[command, "--help"]).env("COLUMNS", "80").output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines.iter().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(
            lines.last().unwrap().starts_with("  artis measure "),
            "{text}"
        );
        assert!(lines.len() <= 50, "{} lines: {text}", lines.len());
        // Text that was broken by hand and again by the terminal has lines of one word.
        let prose = lines
            .iter()
            .skip_while(|line| !line.starts_with("One") && !line.starts_with("A "));
        for line in prose.take_while(|line| !line.is_empty()) {
            assert!(line.split(' ').count() > 2 || line.ends_with('.'), "{text}");
        }
    }
}

#[test]
fn a_command_without_its_dashes_or_its_name_says_what_to_type() {
    for (words, status, part) in [
        (&["sleep", "0.1"][..], 64, "-- sleep 0.1"),
        (&["true", "--runs", "1"], 64, "--runs 1 -- true"),
        (&[], 64, "--workload build"),
        (
            &["--workload", "build", "--", "true"],
            64,
            "leave one of them out",
        ),
        (&["--", ""], 1, "its name is empty"),
        (&["--", "/etc/passwd"], 1, "not an executable file"),
        (&["--", "/"], 1, "it is a folder"),
        (&["--", "/no/such/program"], 1, "no such file"),
        (&["--", "no-such-program"], 1, "PATH"),
    ] {
        let output = measure(&[&["throughput"], words].concat())
            .output()
            .unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
        assert!(said.contains(part), "{words:?}: {said}");
        assert!(output.stdout.is_empty(), "{words:?}");
    }
}

#[test]
fn runs_before_a_failed_one_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs");
    // Its fourth run fails: one is not recorded, two are.
    let script = format!("echo >> {0}; [ $(wc -l < {0}) -lt 4 ]", file.display());
    let output = measure(&["throughput", "--runs", "5", "--", "sh", "-c", &script]).output();
    let output = output.unwrap();
    let table = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        table.contains("run 2") && !table.contains("run 3"),
        "{table}"
    );
    assert!(
        said(&output).contains("exit status: 1"),
        "{}",
        said(&output)
    );
}
