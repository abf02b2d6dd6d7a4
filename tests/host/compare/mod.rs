// SPDX-License-Identifier: GPL-2.0-only
//! `artis compare` as a user runs it: what it prints, what it writes, how it ends.
//!
//! Whole transcripts are in `tests/data/compare/`; with `ARTIS_WRITE_TRANSCRIPTS=1` they are
//! written again, for a person to look at the difference.

mod sample;

use artis::result::{Distribution, Document, Kind, Series, Setup, Unit};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with the sample experiment, in which commands run.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = serde_json::to_vec(&sample::experiment()).unwrap();
    std::fs::write(folder.path().join("table1.json"), text).unwrap();
    folder
}

fn artis(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_artis"))
        .current_dir(folder)
        .arg("compare")
        .args(words)
        .output()
        .unwrap()
}

/// A command, its output and how it ended, as a shell would show them.
fn transcript(folder: &Path, words: &[&str]) -> String {
    let output = artis(folder, words);
    let quoted = words
        .iter()
        .map(|word| match word.contains(['<', '>', '*']) {
            true => format!("'{word}'"),
            false => (*word).to_owned(),
        });
    format!(
        "$ artis compare {}\n{}{}[status {}]\n",
        quoted.collect::<Vec<_>>().join(" "),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
        output.status.code().unwrap()
    )
}

/// The commands print what the transcript of this name says.
#[track_caller]
fn golden(name: &str, folder: &Path, commands: &[&[&str]]) {
    let text: String = commands
        .iter()
        .map(|words| transcript(folder, words))
        .collect::<Vec<_>>()
        .join("\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/compare")
        .join(name);
    if std::env::var_os("ARTIS_WRITE_TRANSCRIPTS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert!(text == expected, "{} is now:\n{text}", path.display());
}

/// A result of cyclictest with these latencies, in microseconds.
fn cyclictest(folder: &Path, name: &str, latencies_us: &[u64]) {
    let mut text = String::from("# Histogram\n");
    let largest = latencies_us.iter().max().unwrap();
    for us in 0..=*largest {
        let times = latencies_us.iter().filter(|one| **one == us).count();
        text += &format!("{us:06} {times:06}\n");
    }
    let smallest = latencies_us.iter().min().unwrap();
    let mean = latencies_us.iter().sum::<u64>() / latencies_us.len() as u64;
    text += &format!(
        "# Total: {:09}\n# Min Latencies: {smallest:05}\n# Avg Latencies: {mean:05}\n\
         # Max Latencies: {largest:05}\n# Histogram Overflows: 00000\n",
        latencies_us.len()
    );
    std::fs::write(folder.join(name), text).unwrap();
}

#[test]
fn an_experiments_rows_are_compared() {
    let folder = folder();
    golden(
        "table1.txt",
        folder.path(),
        &[&["table1.json"], &["table1.json", "--baseline", "isolcpus"]],
    );
}

#[test]
fn an_explanation_is_sent_to_the_command_that_shows_it() {
    let late = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/explain/late.json");
    let output = artis(Path::new("."), &[late]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("artis.explain/1") && said.contains("artis explain show"),
        "{said}"
    );
}

#[test]
fn gates_end_with_status_2_when_missed() {
    let folder = folder();
    let tail = |words: &[&str]| {
        let output = artis(folder.path(), words);
        let text = String::from_utf8(output.stdout).unwrap();
        let sentences: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with("gate "))
            .map(str::to_owned)
            .collect();
        (output.status.code().unwrap(), sentences)
    };
    let (status, sentences) = tail(&[
        "table1.json",
        "--gate",
        "artis:latency.mean<=1.1*isolcpus",
        "--gate",
        "artis:leaks==0",
    ]);
    assert_eq!(status, 0);
    assert!(sentences[0].contains("held by artis ("), "{sentences:?}");
    assert_eq!(sentences[1], "gate artis:leaks==0: held by artis (0)");
    let (status, sentences) = tail(&["table1.json", "--gate", "latency.max<=1.2*isolcpus"]);
    assert_eq!(status, 2);
    assert!(
        sentences[0].contains("MISSED by stock-lazy ("),
        "{sentences:?}"
    );
    let (status, sentences) = tail(&["table1.json", "--gate", "leaks==0"]);
    assert_eq!(status, 2);
    assert_eq!(
        sentences,
        [
            "gate leaks==0: MISSED by rt-artis (3); held by artis (0); NOT JUDGED for stock-lazy, \
             stock-full, rt, isolcpus: leaks was not measured"
        ]
    );
}

/// A run of `measure latency -D 20` at 1 ms: so many periods missed, so late at worst.
fn latency(folder: &Path, name: &str, missed: u64, max_us: i64) {
    let mut values = Distribution::new();
    values.record_n(40_000, 19_999 - missed);
    values.record_n(max_us * 1000, 1);
    let mut document = Document::new(Setup::default());
    document.seconds = Some(20.0);
    let options = &mut document.setup.options;
    options.insert("interval_us".to_owned(), 1000.into());
    document.series.push(Series {
        missed: Some(missed),
        ..Series::new("latency", Kind::Latency, Unit::Nanoseconds, values)
    });
    let text = serde_json::to_vec(&document).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
}

/// Equally long, so judged, and never with the status of wrong words.
#[test]
fn runs_of_one_duration_are_judged_whatever_they_missed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    latency(path, "a.json", 53, 5000);
    for (missed, max_us, gate, status, said) in [
        (308, 5900, "latency.max<=1.2*a", 0, "held by b (5900)"),
        (308, 6100, "latency.max<=1.2*a", 2, "MISSED by b (6100)"),
        (9000, 5900, "latency.max<=1.2*a", 0, "held by b (5900)"),
        (308, 5900, "latency.mean<=a", 2, "MISSED by b ("),
        (9000, 5900, "b:latency.p50<=100", 0, "held by b (40"),
        (9000, 5900, "b:latency.p90<=100", 2, "MISSED by b (40"),
        (9000, 5900, "b:latency.p90<=2000", 2, "NOT JUDGED for b ("),
        (
            308,
            5900,
            "kernel.max<=a",
            2,
            "NOT JUDGED for b: kernel.max was not measured",
        ),
    ] {
        latency(path, "b.json", missed, max_us);
        let output = artis(path, &["a.json", "b.json", "--gate", gate]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(status), "{gate}: {text}");
        let sentence = text.lines().find(|line| line.starts_with("gate "));
        assert!(sentence.unwrap().contains(said), "{gate}: {text}");
        let missing = format!("b missed periods, {missed} of them");
        assert!(text.contains(&missing), "{text}");
    }
}

/// A comparison with a gate of each outcome.
pub fn document_with_gates() -> Value {
    let folder = folder();
    let gates = [
        "latency.max<=1.2*isolcpus",
        "artis:leaks==0",
        "stock-lazy:leaks==0",
    ];
    let gates = gates.iter().flat_map(|gate| ["--gate", gate]);
    let words: Vec<&str> = ["table1.json", "--json"].into_iter().chain(gates).collect();
    serde_json::from_slice(&artis(folder.path(), &words).stdout).unwrap()
}

/// Whatever is not alike stands below the table, for machines, too.
#[test]
fn what_is_not_alike_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let write = |name: &str, model: &str, cmdline: &str, interval_us: u32| {
        let path = path.join(name);
        let mut document: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        document["machine"] = serde_json::json!({
            "kernel": "6.12", "preemption": "lazy", "cpus": "0-3",
            "cpu_model": model, "cmdline": cmdline,
        });
        document["setup"]["options"]["interval_us"] = interval_us.into();
        std::fs::write(path, document.to_string()).unwrap();
    };
    latency(path, "a.json", 0, 50);
    latency(path, "b.json", 0, 60);
    write("a.json", "A 9000", "", 1000);
    write("b.json", "A 10", "isolcpus=1", 10_000);
    let output = artis(path, &["a.json", "b.json", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        document["notes"],
        serde_json::json!([
            "not alike: CPU model: A 9000 in a, A 10 in b",
            "not alike: boot arguments: none of these in a, isolcpus=1 in b",
            "not alike: interval: 1000 us in a, 10000 us in b",
        ])
    );
}

#[test]
fn wrong_words_are_answered_with_right_ones() {
    let folder = folder();
    golden(
        "wrong-words.txt",
        folder.path(),
        &[
            &["table1.json", "--gate", "latency.max"],
            &["table1.json", "--gate", "latency.median<=5"],
            &["table1.json", "--gate", "latency.max<=1.2*shield"],
            &["table1.json", "--gate", "artis:user.max<=1.1*isolcpus"],
            &["table1.json", "--baseline", "shield"],
            &["=table1.json"],
            &["-", "-"],
            &["absent.json"],
        ],
    );
}

#[test]
fn results_are_configurations_and_runs_of_them() {
    let folder = folder();
    let path = folder.path();
    cyclictest(path, "stock.hist", &[10, 20, 30, 200]);
    cyclictest(path, "stock-2.hist", &[10, 22, 30, 300]);
    cyclictest(path, "artis.hist", &[10, 11, 12, 50]);
    cyclictest(path, "artis-2.hist", &[10, 11, 12, 40]);
    cyclictest(path, "long.hist", &[10, 11, 12, 50, 12, 12, 12]);
    golden(
        "runs.txt",
        path,
        &[
            &[
                "stock.hist",
                "stock=stock-2.hist",
                "artis=artis.hist",
                "artis=artis-2.hist",
            ],
            &["stock.hist", "long.hist"],
            &["stock.hist", "long.hist", "--gate", "latency.max<=stock"],
            &[
                "stock.hist",
                "long.hist",
                "--gate",
                "latency.max<=stock",
                "--allow-unequal-samples",
            ],
            &["stock.hist", "table1.json"],
        ],
    );
}

/// Status and standard error.
fn refusal(folder: &Path, words: &[&str]) -> (i32, String) {
    let output = artis(folder, words);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let complaint = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), complaint)
}

#[test]
fn the_same_run_is_refused_whatever_it_is_called() {
    let folder = folder();
    let path = folder.path();
    cyclictest(path, "one.hist", &[10, 20, 30, 200]);
    cyclictest(path, "copy.hist", &[10, 20, 30, 200]);
    std::fs::copy(path.join("table1.json"), path.join("table2.json")).unwrap();
    for files in [
        ["one.hist", "one.hist"],
        ["one.hist", "copy.hist"],
        ["a=one.hist", "b=copy.hist"],
        ["table1.json", "table2.json"],
    ] {
        let (status, complaint) = refusal(path, &files);
        assert_eq!(status, 1, "{complaint}");
        let names = files.map(|file| file.split('=').next_back().unwrap());
        let both = format!("{} and {} hold the same run", names[0], names[1]);
        assert!(complaint.contains(&both), "{complaint}");
    }
}

#[test]
fn only_a_name_in_front_makes_files_the_runs_of_one_configuration() {
    let folder = folder();
    let path = folder.path();
    let mut names = Vec::new();
    for (day, worst) in [("mon", 200), ("tue", 300)] {
        std::fs::create_dir(path.join(day)).unwrap();
        let name = format!("{day}/result.hist");
        cyclictest(path, &name, &[10, 20, 30, worst]);
        names.push(name);
    }
    let configurations = |words: &[&str]| -> Vec<(String, u64)> {
        let output = artis(path, &[words, &["--json"]].concat());
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let all = document["configurations"].as_array().unwrap();
        all.iter()
            .map(|one| {
                let name = one["name"].as_str().unwrap().to_owned();
                (name, one["runs"].as_u64().unwrap())
            })
            .collect()
    };
    assert_eq!(
        configurations(&[&names[0], &names[1]]),
        [("mon/result".to_owned(), 1), ("tue/result".to_owned(), 1)]
    );
    let [one, two] = [&names[0], &names[1]].map(|name| format!("stock={name}"));
    assert_eq!(configurations(&[&one, &two]), [("stock".to_owned(), 2)]);
}

#[test]
fn files_that_share_nothing_are_not_compared() {
    let folder = folder();
    let path = folder.path();
    cyclictest(path, "latency.hist", &[10, 20, 30, 200]);
    let noise = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/result/rtla-osnoise.txt");
    std::fs::copy(noise, path.join("noise.txt")).unwrap();
    let (status, complaint) = refusal(path, &["latency.hist", "noise.txt"]);
    assert_eq!(status, 1);
    assert!(
        complaint.contains("latency and noise have no figure in common")
            && complaint.contains("latency.max")
            && complaint.contains("noise.max"),
        "{complaint}"
    );
}

#[test]
fn results_without_a_histogram_are_compared_by_what_is_known() {
    let folder = folder();
    let path = folder.path();
    let plain = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/result");
    cyclictest(path, "whole.hist", &[10, 20, 30, 200]);
    std::fs::copy(plain.join("cyclictest-plain.txt"), path.join("plain.txt")).unwrap();
    let words = ["whole.hist", "plain.txt", "--json", "--plot", "pictures"];
    let output = artis(path, &words);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let figures = &document["configurations"][1]["figures"];
    assert_eq!(figures["latency.max"]["value"], 844.0);
    assert_eq!(figures["latency.p50"], serde_json::Value::Null);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(
        complaint.contains("histograms.svg leaves configurations out")
            && complaint.contains("plain"),
        "{complaint}"
    );
}

/// Documents of before, which say `user_latency`, stay readable.
#[test]
fn the_published_experiments_are_compared() {
    let folder = folder();
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results");
    let mut read = 0;
    for entry in std::fs::read_dir(results).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "json") {
            let output = artis(folder.path(), &[path.to_str().unwrap()]);
            assert!(output.status.success(), "{}", path.display());
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.contains("latency.mean"), "{text}");
            assert!(
                text.lines().all(|line| line.chars().count() <= 80),
                "{text}"
            );
            read += 1;
        }
    }
    assert!(read >= 5, "{read}");
}

#[test]
fn the_json_document_has_what_the_table_has() {
    let folder = folder();
    let output = artis(
        folder.path(),
        &[
            "table1.json",
            "--json",
            "--gate",
            "latency.max<=1.2*isolcpus",
        ],
    );
    assert_eq!(output.status.code(), Some(2));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "artis.comparison/1");
    assert_eq!(document["unit"], "us at 100 MIPS, emulated (bochs)");
    assert_eq!(document["baseline"], "stock-lazy");
    let artis = &document["configurations"][4];
    assert_eq!(artis["samples"], 5 * sample::SAMPLES_PER_SEED);
    let max = &artis["figures"]["latency.max"];
    assert_eq!(max["runs"].as_array().unwrap().len(), 5);
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    assert!(number(&max["interval"]["low"]) < number(&max["ratio_of_means"]));
    assert!(number(&max["ratio_of_means"]) < number(&max["interval"]["high"]));
    assert_eq!(document["gates"][0]["held"], false);
    assert!(artis["throughput_kept"].is_number());
}

#[test]
fn pictures_are_written_and_always_the_same() {
    let folder = folder();
    let written = |name: &str| -> Vec<String> {
        let output = artis(folder.path(), &["table1.json", "--plot", name]);
        assert!(output.status.success());
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let path: PathBuf = folder.path().join(name);
        ["latency-throughput.svg", "histograms.svg"]
            .map(|file| std::fs::read_to_string(path.join(file)).unwrap())
            .to_vec()
    };
    let pictures = written("pictures");
    assert_eq!(pictures, written("deep/er"));
    for picture in &pictures {
        assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
        for sketch in &sample::TABLE1 {
            assert!(picture.contains(sketch.name), "{}", sketch.name);
        }
        assert!(picture.contains("us at 100 MIPS, emulated (bochs)"));
    }
}

#[test]
fn what_cannot_be_drawn_is_reported() {
    let folder = folder();
    let path = folder.path();
    cyclictest(path, "stock.hist", &[10, 20, 30, 200]);
    let output = artis(path, &["stock.hist", "--plot", "pictures"]);
    assert!(output.status.success());
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(
        complaint.contains("latency-throughput.svg was not written: no worst latency"),
        "{complaint}"
    );
    assert!(path.join("pictures/histograms.svg").exists());
    assert!(!path.join("pictures/latency-throughput.svg").exists());
    let output = artis(path, &["stock.hist", "--plot", "stock.hist"]);
    assert_eq!(output.status.code(), Some(1));
}
