// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure completion`, and the pictures that `artis compare` draws of it.

use super::{document, measure, said};
use std::process::Command;

#[test]
fn every_length_of_every_nature_is_measured_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let one = path("stock.json");
    let words = [
        "completion",
        "-p",
        "0",
        "-D",
        "0.1",
        "--longest",
        "100",
        "-q",
    ];
    let output = measure(&words).args(["--json", &one]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let like = [&words[..], &["--like", &one]].concat();
    let Some(other) = document("every_length_of_every_nature", &like, 0) else {
        return;
    };
    let text = std::fs::read_to_string(&one).unwrap();
    let one: serde_json::Value = serde_json::from_str(&text).unwrap();
    let steps = |document: &serde_json::Value| document["setup"]["options"]["steps_per_us"].clone();
    assert_eq!(steps(&one), steps(&other));
    let names: Vec<&str> = other["series"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|series| series["count"].as_u64().unwrap() > 0)
        .map(|series| series["name"].as_str().unwrap())
        .collect();
    // Three parts of three natures of three lengths.
    assert_eq!(names.len(), 27, "{names:?}");
    assert!(
        names.contains(&"completion.system-calls.100us"),
        "{names:?}"
    );

    std::fs::write(path("again.json"), other.to_string()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_artis"))
        .args(["compare", &path("stock.json"), &path("again.json")])
        .args(["--plot", &path("pictures")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    for nature in ["user", "system-calls", "io"] {
        let picture = folder
            .path()
            .join(format!("pictures/completion-{nature}.svg"));
        let picture = std::fs::read_to_string(picture).unwrap();
        assert!(picture.contains(">again"), "{picture}");
    }
}
