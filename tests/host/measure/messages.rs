// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure messages`.

use super::{document, measure, said, series};
use std::path::Path;
use std::process::Command;

#[test]
fn every_round_trip_of_every_pair_is_recorded() {
    for (pairs, workers) in [("1", "1"), ("3", "1"), ("2", "4")] {
        let words = [
            "messages",
            "-l",
            "100",
            "--pairs",
            pairs,
            "--workers",
            workers,
        ];
        let document = document("every_round_trip", &words, 0).unwrap();
        let one = |name| {
            let all = series(&document, name);
            assert_eq!(all.len(), 1, "{name}");
            all[0].clone()
        };
        let number = |text: &str| text.parse::<u64>().unwrap();
        let (pairs, workers) = (number(pairs), number(workers));
        assert_eq!(one("round_trip")["count"], 100 * pairs);
        assert_eq!(one("wakeup")["count"], 100 * pairs * workers);
        assert_eq!(one("wakeup")["kind"], "latency");
        for rate in ["messages_per_second", "messages_per_cpu_second"] {
            assert_eq!(
                (&one(rate)["count"], &one(rate)["unit"]),
                (&1.into(), &"count".into())
            );
        }
        // Messages and their answers, in the time that was measured.
        let messages = 2.0 * 100.0 * (pairs * workers) as f64;
        let rate = one("messages_per_second")["mean"].as_f64().unwrap();
        let seconds = document["seconds"].as_f64().unwrap();
        assert!(
            (rate * seconds / messages - 1.0).abs() < 0.01,
            "{document:#}"
        );
        assert_eq!(document["setup"]["options"]["workers"], workers);
    }
}

#[test]
fn the_table_gives_rates_and_fits_80_columns() {
    let output = measure(&["messages", "-D", "100ms", "-q"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("1 pair of threads, normal\n"), "{text}");
    for part in [" messages a second, ", "round trip ", "wakeup "] {
        assert!(text.contains(part), "{text}");
    }
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}

/// Runs artis in this folder, which must succeed, and gives what it prints.
fn artis(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_artis"));
    let output = command.args(words).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn results_are_shown_merged_and_compared_as_others_are() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["one.json", "two.json"] {
        let words = ["measure", "messages", "-l", "2000", "-q", "--json", file];
        artis(folder.path(), &words);
    }
    let shown = artis(folder.path(), &["result", "show", "one.json"]);
    assert!(shown.contains("messages_per_cpu_second"), "{shown}");
    let words = [
        "result",
        "merge",
        "--force",
        "one.json",
        "two.json",
        "-o",
        "both.json",
    ];
    artis(folder.path(), &words);
    let both = std::fs::read_to_string(folder.path().join("both.json")).unwrap();
    let both: serde_json::Value = serde_json::from_str(&both).unwrap();
    assert_eq!(series(&both, "messages_per_second")[0]["count"], 2);
    assert_eq!(series(&both, "round_trip")[0]["count"], 4000);
    let table = artis(folder.path(), &["compare", "a=one.json", "b=two.json"]);
    assert!(table.contains("round_trip"), "{table}");
}
