// SPDX-License-Identifier: GPL-2.0-only
//! `--lava`: the lines are printed beside the figures, and gates decide the status.

use super::measure;
use std::process::Output;

const SHORT: [&str; 6] = ["messages", "-D", "200ms", "-p", "0", "--lava"];

fn run(words: &[&str]) -> Output {
    measure(&[&SHORT, words].concat()).output().unwrap()
}

fn lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text
        .lines()
        .filter(|line| line.starts_with("<LAVA_SIGNAL_TESTCASE "));
    lines.map(str::to_owned).collect()
}

#[test]
fn figures_and_gates_have_lines_and_a_missed_gate_ends_with_2() {
    let held = run(&["--gate", "round_trip.max < 1e12"]);
    assert!(held.status.success(), "{held:?}");
    let said = lines(&held.stdout);
    assert!(said.len() > 2, "{said:?}");
    let gate = said.iter().find(|line| line.contains("=gate.")).unwrap();
    assert!(
        gate.contains(".below.1000000000000 RESULT=pass MEASUREMENT="),
        "{gate}"
    );
    assert!(gate.ends_with(" UNITS=us>"), "{gate}");
    let missed = run(&["--gate", "round_trip.max<0.001"]);
    assert_eq!(missed.status.code(), Some(2), "{missed:?}");
    assert!(
        lines(&missed.stdout)
            .iter()
            .any(|line| line.contains("RESULT=fail"))
    );
    let words = String::from_utf8_lossy(&missed.stderr).into_owned();
    assert!(words.contains("not held: round_trip.max<0.001"), "{words}");
}

#[test]
fn where_the_document_goes_to_standard_output_lines_go_to_standard_error() {
    let output = run(&["--json", "-"]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
    assert!(lines(&output.stderr).len() > 1, "{output:?}");
}

#[test]
fn a_gate_on_another_configuration_is_refused_before_anything_is_measured() {
    for gate in ["stock:latency.max<5", "latency.max<=1.1*stock"] {
        let output = run(&["--gate", gate]);
        assert_eq!(output.status.code(), Some(64), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("no other configurations"), "{said}");
    }
}
