// SPDX-License-Identifier: GPL-2.0-only
//! `artis result` as a user runs it: what it prints, what it writes, how it ends.

use artis::result::{Document, file};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/result");
    folder.join(name).display().to_string()
}

fn artis(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_artis"))
        .arg("result")
        .args(words)
        .output()
        .unwrap()
}

/// Standard output of a command that must succeed.
#[track_caller]
fn stdout(words: &[&str]) -> String {
    let output = artis(words);
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{complaint}");
    assert_eq!(complaint, "");
    String::from_utf8(output.stdout).unwrap()
}

/// Status and standard error of a command that must fail and print nothing else.
#[track_caller]
fn failure(words: &[&str]) -> (i32, String) {
    let output = artis(words);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let status = output.status.code().unwrap();
    (status, String::from_utf8(output.stderr).unwrap())
}

fn scratch() -> (tempfile::TempDir, impl Fn(&str) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().to_owned();
    (folder, move |name: &str| {
        path.join(name).display().to_string()
    })
}

#[test]
fn every_format_is_recognised_by_its_content() {
    let tools = [
        ("cyclictest.json", "cyclictest 2.40"),
        ("cyclictest-keys.json", "cyclictest 2.40"),
        ("cyclictest-ns.json", "cyclictest 2.40"),
        ("cyclictest.hist", "cyclictest"),
        ("cyclictest-histofall.txt", "cyclictest"),
        ("cyclictest-live.txt", "cyclictest"),
        ("cyclictest-plain.txt", "cyclictest"),
        ("cyclictest-plain.json", "cyclictest 2.40"),
        ("cyclictest-verbose.txt", "cyclictest"),
        ("rtla-timerlat.txt", "rtla timerlat"),
        ("rtla-osnoise.txt", "rtla osnoise"),
        ("jitterdebugger.json", "jitterdebugger"),
        ("xenomai.txt", "xenomai latency"),
        ("evl.txt", "xenomai latency"),
        ("rtai.txt", "RTAI latency"),
        ("latmus.plot", "latmus"),
        ("artis.hlog", "hlog"),
    ];
    for (name, tool) in tools {
        let text = stdout(&["convert", &example(name), "--to", "artis"]);
        let document: Document = serde_json::from_str(&text).unwrap();
        assert_eq!(document.tool, tool, "{name}");
        assert!(
            document
                .series
                .iter()
                .any(|one| one.distribution.count() > 0),
            "{name}"
        );
    }
}

#[test]
fn cyclictests_two_outputs_of_one_run_agree() {
    let read = |name: &str| -> Document {
        let text = stdout(&["convert", &example(name), "--to", "artis"]);
        serde_json::from_str(&text).unwrap()
    };
    let (json, text) = (read("cyclictest.json"), read("cyclictest.hist"));
    for (one, other) in json.series.iter().zip(&text.series) {
        assert_eq!(one.thread, other.thread);
        assert_eq!(one.distribution.histogram(), other.distribution.histogram());
        let extremes = |series: &artis::result::Series| {
            series
                .distribution
                .moments()
                .map(|it| (it.count, it.min, it.max))
        };
        assert_eq!(extremes(one), extremes(other));
    }
    assert_eq!(read("cyclictest-keys.json"), json);
}

#[test]
fn show_prints_a_table_of_80_columns() {
    let text = stdout(&["show", &example("cyclictest.json"), &example("latmus.plot")]);
    assert!(
        text.lines()
            .all(|line| line.chars().count() <= 80 || line.starts_with("result")),
        "{text}"
    );
    let line = text
        .lines()
        .find(|line| line.starts_with("  1   1"))
        .unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[..4], ["1", "1", "999", "17.0"]);
    assert_eq!(words[8], "1546.0");
    for part in [
        "latency, us",
        "setup       cyclictest -q",
        "warning     ",
        "all         1990",
        "at s",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn show_as_json_lists_files_and_results() {
    let name = example("rtla-osnoise.txt");
    let list: serde_json::Value =
        serde_json::from_str(&stdout(&["show", "--json", &name])).unwrap();
    assert_eq!(list[0]["file"], name.as_str());
    assert_eq!(list[0]["result"]["schema"], "artis.result/1");
}

#[test]
fn merge_adds_counts_and_refuses_strangers() {
    let (_folder, path) = scratch();
    let (one, out) = (example("cyclictest.json"), path("out.json"));
    let (two, three) = (path("two.json"), path("three.json"));
    later_run(&one, &two, 5);
    later_run(&one, &three, 6);
    assert_eq!(stdout(&["merge", &one, &two, "-o", &out]), "");
    let merged = file::read(Path::new(&out)).unwrap();
    let counts: Vec<u64> = merged
        .series
        .iter()
        .map(|it| it.distribution.count())
        .collect();
    assert_eq!(counts, [2 * 991, 2 * 999]);
    let all = path("all.json");
    stdout(&["merge", &out, &three, "-o", &all]);
    assert_eq!(
        file::read(Path::new(&all)).unwrap().series[0]
            .distribution
            .count(),
        3 * 991
    );

    let other = example("cyclictest-ns.json");
    let before = std::fs::read(&out).unwrap();
    let (status, complaint) = failure(&["merge", &one, &example("latmus.plot"), "-o", &out]);
    assert_eq!(status, 1);
    assert!(
        complaint.contains("another program") && complaint.contains("--force"),
        "{complaint}"
    );
    assert_eq!(std::fs::read(&out).unwrap(), before);
    stdout(&[
        "merge",
        "--force",
        &one,
        &other,
        &example("latmus.plot"),
        "-o",
        &out,
    ]);
}

/// Writes a run like that of cyclictest in `from`, begun at another minute.
fn later_run(from: &str, to: &str, minute: u32) {
    let text = std::fs::read_to_string(from).unwrap();
    let (before, time) = text.split_once("\"start_time\": \"").unwrap();
    let (date, after) = time.split_once(':').unwrap();
    let rest = &after[2..];
    let later = format!("{before}\"start_time\": \"{date}:{minute:02}{rest}");
    std::fs::write(to, later).unwrap();
}

#[test]
fn merge_refuses_the_same_run_in_any_format_and_names_both_files() {
    let (_folder, path) = scratch();
    let (one, copy, out) = (
        example("cyclictest.json"),
        path("copy.json"),
        path("out.json"),
    );
    std::fs::copy(&one, &copy).unwrap();
    let own = path("own.json");
    stdout(&["convert", &one, "--to", "artis", "-o", &own]);
    let text = example("cyclictest.hist");
    for other in [&one, &copy, &own, &text] {
        let (status, complaint) = failure(&["merge", "--force", &one, other, "-o", &out]);
        assert_eq!(status, 1);
        assert!(
            complaint.contains(&format!("{one} and {other}: ")) && complaint.contains("same run"),
            "{complaint}"
        );
        assert!(!Path::new(&out).exists());
    }
}

#[test]
fn without_a_histogram_no_percentile_is_made_up() {
    for (name, figures) in [
        (
            "cyclictest-plain.txt",
            "-   0      300     29.0     49.0        -        -        -    285.0",
        ),
        (
            "cyclictest-plain.json",
            "0   0      300     21.0     43.0        -        -        -    222.0",
        ),
    ] {
        let text = stdout(&["show", &example(name)]);
        assert!(text.contains(figures), "{text}");
        assert!(
            text.contains("no_histogram") || text.contains("only count"),
            "{text}"
        );
        let own: serde_json::Value =
            serde_json::from_str(&stdout(&["convert", &example(name), "--to", "artis"])).unwrap();
        assert_eq!(own["series"][0]["percentiles"], serde_json::json!({}));
        assert_eq!(own["series"][0]["stddev"], serde_json::Value::Null);
        assert!(own["series"][0].get("histogram").is_none());
        for format in ["cyclictest-histogram", "csv", "hgrm", "hlog"] {
            let (status, complaint) = failure(&["convert", &example(name), "--to", format]);
            assert_eq!(status, 1);
            assert!(
                complaint.contains(format) && complaint.contains("-h 1000"),
                "{complaint}"
            );
        }
    }
}

#[test]
fn cyclictests_verbose_output_is_a_whole_distribution() {
    let text = stdout(&[
        "convert",
        &example("cyclictest-verbose.txt"),
        "--to",
        "artis",
    ]);
    let document: Document = serde_json::from_str(&text).unwrap();
    let counts: Vec<u64> = document
        .series
        .iter()
        .map(|one| one.distribution.count())
        .collect();
    assert_eq!(counts, [60, 40]);
    assert!(document.series[0].distribution.percentile(50.0).is_some());
}

#[test]
fn every_format_can_be_written_and_read_where_it_has_a_reader() {
    let (_folder, path) = scratch();
    let source = example("cyclictest.json");
    for format in ["cyclictest-histogram", "csv", "hgrm", "hlog", "artis"] {
        let out = path(format);
        assert_eq!(
            stdout(&["convert", &source, "--to", format, "-o", &out]),
            ""
        );
        let text = std::fs::read_to_string(&out).unwrap();
        assert_eq!(stdout(&["convert", &source, "--to", format]), text);
    }
    for format in ["cyclictest-histogram", "hlog", "artis"] {
        assert!(stdout(&["show", &path(format)]).contains("all         1990"));
    }
}

#[test]
fn formats_for_one_quantity_want_it_named() {
    let source = example("rtla-timerlat.txt");
    let (status, complaint) = failure(&["convert", &source, "--to", "hgrm"]);
    assert_eq!(status, 64);
    assert!(
        complaint.contains("--series") && complaint.contains("timer_to_irq"),
        "{complaint}"
    );
    let text = stdout(&[
        "convert",
        &source,
        "--to",
        "hgrm",
        "--series",
        "timer_to_irq",
    ]);
    assert!(text.contains("Total count    =       120000"), "{text}");
    let (status, complaint) = failure(&["convert", &source, "--to", "csv", "--series", "x"]);
    assert_eq!(status, 64);
    assert!(complaint.contains("there are timer_to_irq"), "{complaint}");
}

#[test]
fn units_can_be_given_only_where_the_file_does_not_say() {
    let unit = |name: &str| artis(&["show", &example(name), "--unit", "ns"]);
    assert!(unit("cyclictest.hist").status.success());
    assert_eq!(unit("rtla-osnoise.txt").status.code(), Some(64));
}

#[test]
fn samples_without_a_mark_need_their_format() {
    let name = example("jitterdebugger.raw");
    let (status, complaint) = failure(&["show", &name]);
    assert_eq!(status, 1);
    assert!(complaint.contains("--from"), "{complaint}");
    assert!(stdout(&["show", &name, "--from", "jitterdebugger-samples"]).contains("905.0"));
}

#[test]
fn damage_is_reported_with_file_line_and_reason() {
    let (_folder, path) = scratch();
    let name = path("damaged");
    let damage = |example_name: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(example(example_name)).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(&name, text.replacen(from, to, 1)).unwrap();
        refused(&name)
    };
    assert!(damage("cyclictest.json", "\"cycles\": 991", "\"cycles\": 9").starts_with(":19:"));
    assert!(damage("cyclictest.hist", "000016 000001", "000016 00000x").starts_with(":18:"));
    assert!(damage("rtla-timerlat.txt", "max: ", "mux: ").contains("number"));
    assert!(damage("artis.hlog", "HIST", "HOST").starts_with(":5:"));
    let own = stdout(&["convert", &example("cyclictest.json"), "--to", "artis"]);
    std::fs::write(&name, own.replace("\"count\": 991", "\"count\": 990")).unwrap();
    let (status, complaint) = failure(&["show", &name]);
    assert_eq!(status, 1);
    assert!(complaint.contains("holds 991 values"), "{complaint}");
}

/// How `show` refuses a file: place and reason, without its name.
#[track_caller]
fn refused(name: &str) -> String {
    let (status, complaint) = failure(&["show", name]);
    assert_eq!(status, 1);
    let (before, reason) = complaint.split_once(name).unwrap();
    assert_eq!(before, "artis: ");
    reason.to_owned()
}

#[test]
fn ill_formed_results_are_refused_with_line_reason_and_remedy() {
    let (_folder, path) = scratch();
    let name = path("result.json");
    let own = stdout(&["convert", &example("cyclictest.json"), "--to", "artis"]);
    let with = |key: &str, value: serde_json::Value| {
        let mut document: serde_json::Value = serde_json::from_str(&own).unwrap();
        document[key] = value;
        serde_json::to_string_pretty(&document).unwrap()
    };
    let document: serde_json::Value = serde_json::from_str(&own).unwrap();
    let one = &document["series"][0];
    let mut furlongs = one.clone();
    furlongs["unit"] = "furlongs".into();
    // One row a line.
    #[rustfmt::skip]
    let rows = [
        ("{".to_owned(), Some(1), "it is cut off or empty"),
        (own[..own.len() / 3].to_owned(), None, "copy it again"),
        (own[..own.len() - 3].to_owned(), None, "copy it again"),
        (
            r#"{"schema": "artis.result/1"}"#.to_owned(),
            Some(1),
            "field \"tool\" is missing; restore the file",
        ),
        (
            r#"{"schema": "artis.check/1"}"#.to_owned(),
            Some(1),
            "\"artis.result/1\" is needed here; give the file to the command that reads it",
        ),
        (with("seconds", (-1).into()), None, "correct the number"),
        (with("seconds", 1e308.into()), None, "from 0 to 1152921505 (36 years)"),
        (with("series", serde_json::json!([])), None, "neither a series nor a load"),
        (with("series", serde_json::json!([one, one])), None, "a second series \"latency\""),
        (
            with("series", serde_json::json!(["latency"])),
            None,
            "instead of a series: an object in braces; restore the file",
        ),
        (
            with("series", serde_json::json!([furlongs])),
            None,
            "\"furlongs\" is not known here; write \"ns\" or \"count\"",
        ),
    ];
    for (content, line, reason) in rows {
        std::fs::write(&name, &content).unwrap();
        let message = refused(&name);
        let (found, _) = message[1..].split_once(':').unwrap();
        let found: usize = found.parse().unwrap();
        assert!((1..=content.lines().count()).contains(&found), "{message}");
        assert!(line.is_none_or(|line| line == found), "{message}");
        assert!(message.contains(reason), "{message}");
        for raw in [
            "EOF while",
            "missing field",
            "invalid type",
            "unknown variant",
        ] {
            assert!(!message.contains(raw), "{message}");
        }
        let (status, _) = failure(&["merge", &name, "-o", &path("out.json")]);
        assert_eq!(status, 1);
    }
}

#[test]
fn foreign_files_and_experiments_are_sent_where_they_are_read() {
    let name = example("cyclictest.hist");
    let (status, complaint) = failure(&["show", "--from", "artis", &name]);
    assert_eq!(status, 1);
    assert!(
        complaint.contains("looks like cyclictest-histogram: leave --from away"),
        "{complaint}"
    );
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results");
    let name = folder.join("table1.json").display().to_string();
    let message = refused(&name);
    assert!(
        message.ends_with(&format!("type: artis compare {name}\n")),
        "{message}"
    );
}

#[test]
fn what_cannot_be_read_or_written_is_reported() {
    let source = example("cyclictest.json");
    let (status, complaint) = failure(&["show", "/no/such/file"]);
    assert_eq!(status, 1);
    assert!(complaint.contains("/no/such/file"), "{complaint}");
    for out in ["/no/such/folder/file", "/dev/full"] {
        let (status, complaint) = failure(&["convert", &source, "--to", "csv", "-o", out]);
        assert_eq!(status, 1);
        assert!(complaint.contains(out), "{complaint}");
    }
    assert_eq!(failure(&["show"]).0, 64);
    assert_eq!(failure(&["show", "-", "-"]).0, 64);
    assert_eq!(failure(&["convert", &source, "--to", "gif"]).0, 64);
}
