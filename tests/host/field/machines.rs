// SPDX-License-Identifier: GPL-2.0-only
//! `artis report` of files that many machines handed on, made from a seed.

use super::{ARTIS, output};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A machine's file. Every second one has the other governor, which makes its stock worse.
fn file(id: u64) -> Value {
    // Weyl's sequence: spread evenly, and never twice the same.
    let mut at = id as f64 * 100.0;
    let mut random = || {
        at += 1.0;
        (at * 0.618_033_988_75).fract()
    };
    let is_slow = id.is_multiple_of(2);
    let mut run = |us: f64| {
        json!({
            "causes": [], "is_pooled": true, "seconds": 60.0,
            "latency": {"count": 60000, "us_mean": 9.0, "us_p99": 20.0,
                        "us_max": us * (1.0 + random())},
            "rt_cpu_share_others": 0.9, "work": {"hackbench": 100.0}, "normal": null,
            "commands": null, "system_management_interrupts": null,
        })
    };
    let stock = if is_slow { 400.0 } else { 100.0 };
    let runs = |run: &mut dyn FnMut(f64) -> Value, us| -> Vec<Value> {
        (0..10).map(|_| run(us)).collect()
    };
    let column = |way: &str, runs| {
        json!({
            "way": way, "runs": runs,
            "boot": {"kernel": "6.18.3", "preemption": "lazy", "arguments": []},
        })
    };
    json!({
        "schema": "artis.machine/1", "tool": "artis", "id": format!("id-{id}"), "month": null,
        "hardware": {
            "cpu_model": format!("CPU {}", id % 7), "architecture": "x86_64", "cpus": 4,
            "vendor": null, "product": null, "board": null, "firmware": null,
            "virtualisation": null,
        },
        "settings": {"governor": if is_slow { "powersave" } else { "performance" }},
        "load": "hackbench",
        "columns": [column("stock", runs(&mut run, stock)), column("artis", runs(&mut run, 30.0))],
    })
}

/// As artis writes it: the schema first.
fn text(mut file: Value) -> String {
    let schema = file.as_object_mut().unwrap().remove("schema").unwrap();
    file.to_string()
        .replacen('{', &format!("{{\"schema\":{schema},"), 1)
}

fn files(folder: &Path, count: u64) -> Vec<PathBuf> {
    let write = |id| {
        let path = folder.join(format!("machine-{id}.json"));
        std::fs::write(&path, text(file(id))).unwrap();
        path
    };
    (0..count).map(write).collect()
}

#[test]
fn a_thousand_machines_are_joined_and_the_setting_that_matters_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = files(folder.path(), 1000);
    let mut far = file(1000);
    far["columns"][1]["runs"][0]["latency"]["us_max"] = json!(90_000.0);
    far["columns"][1]["runs"]
        .as_array_mut()
        .unwrap()
        .truncate(1);
    let path = folder.path().join("far.json");
    std::fs::write(&path, text(far)).unwrap();
    all.push(path);
    let joined = Command::new(ARTIS)
        .args(["report", "--json"])
        .args(&all)
        .output()
        .unwrap();
    let joined: Value = serde_json::from_slice(&joined.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&joined.stderr)));
    assert_eq!(joined["machines"], 1001);
    assert_eq!(joined["ways"].as_array().unwrap().len(), 2);
    assert_eq!(joined["ways"][1]["runs"], 10_010);
    let groups = joined["groups"].as_array().unwrap();
    assert!(groups.len() >= 2, "{groups:?}");
    for group in &groups[..2] {
        assert_eq!(
            (&group["what"], &group["way"]),
            (&json!("governor"), &json!("stock"))
        );
    }
    let far = joined["standing_out"].as_array().unwrap();
    assert_eq!(far.len(), 1, "{far:?}");
    assert!(far[0]["name"].as_str().unwrap().ends_with("far.json"));
}

#[test]
fn what_cannot_be_joined_is_refused_with_what_to_type() {
    let folder = tempfile::tempdir().unwrap();
    let all = files(folder.path(), 2);
    let word = |path: &Path| path.to_str().unwrap().to_owned();
    let (one, copy) = (word(&all[0]), folder.path().join("copy.json"));
    std::fs::copy(&all[0], &copy).unwrap();
    let half = folder.path().join("half.json");
    let text = std::fs::read(&all[1]).unwrap();
    std::fs::write(&half, &text[..text.len() / 2]).unwrap();
    let result = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/decide/board-stock.json"
    );
    for (words, status, part) in [
        (
            vec![&one[..], copy.to_str().unwrap()],
            1,
            "leave the older one out",
        ),
        (
            vec![&one[..], half.to_str().unwrap()],
            1,
            "ends in the middle",
        ),
        (vec![&one[..], result], 64, "give one kind alone"),
        (vec![&one[..], "-o", "x.html"], 64, "leave out -o"),
        (vec![result], 64, "--output report.html"),
    ] {
        let output = output(&[&["report"], &words[..]].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {errors}");
        assert!(errors.contains(part), "{words:?}: {errors}");
        assert!(output.stdout.is_empty(), "{words:?}");
    }
}
