// SPDX-License-Identifier: GPL-2.0-only
//! Results of other programs as a user sees them: each file with the figures that it holds, and
//! with what is said where it holds none.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/result");
    folder.join(name).display().to_string()
}

fn artis(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_artis"));
    command.args(words).output().unwrap()
}

/// What a command prints, its blanks made one.
#[track_caller]
fn words(command: &[&str]) -> String {
    let output = artis(command);
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {complaint}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Each file and what `result show` says of it: a line of a table is CPU, thread, count, minimum,
/// mean, three percentiles and maximum.
const SHOWN: &[(&str, &[&str])] = &[
    (
        "cyclictest-nan.json",
        &["0 0 4 23.0 26.0 - - - 34.0", "0 1 0 - - - - - -"],
    ),
    (
        "oslat.json",
        &[
            "oslat, us",
            "0 - 1.04e8 1.0 1.0 1.0 1.0 1.0 140.0",
            "each counted as the maximum, 140 us; it ends at 31 us",
        ],
    ),
    (
        "oslat.txt",
        &["oslat, us", "0 - 1.04e8 1.0 1.0 1.0 1.0 1.0 140.0"],
    ),
    (
        "pmqtest.json",
        &[
            "ipc_latency, us",
            "0 0 200 2.0 3.8 - - - 72.0",
            "are not known",
        ],
    ),
    (
        "pmqtest.txt",
        &["pmqtest", "1 0 50 1.0 542.0 - - - 12160.0"],
    ),
    (
        "signaltest.json",
        &["signal_latency, us", "0 1 200 18.0 725.4 - - - 10205.0"],
    ),
    (
        "rt-migrate-test.txt",
        &["migration_latency, us", "- 1 2 69.0 84.0 - - - 99.0"],
    ),
    (
        "hwlatdetect.txt",
        &[
            "hwlat, us",
            "2 - 3 12.0 16.3 14.0 - - 23.0",
            "smi",
            "- - 1 2.0 2.0 - - - 2.0",
            "may not use",
        ],
    ),
    (
        "rtla-hwnoise.txt",
        &[
            "hwnoise_total, us",
            "3 - 1 71.0 71.0 - - - 71.0",
            "hwnoise_of_period_max, us",
            "3 - 1 31.0 31.0 - - - 31.0",
            "nmi_count",
            "3 - 1 1.0 1.0 - - - 1.0",
            ", 4 s",
        ],
    ),
    (
        "rtla-timerlat-top.txt",
        &[
            "timer_to_thread, us",
            "0 - 62000 1.0 2.0 - - - 29.0",
            "3 - 0 - - - - - -",
        ],
    ),
    (
        "rtla-osnoise-empty.txt",
        &["osnoise", "nothing was above the threshold", ", 5 s"],
    ),
    (
        "rtla-osnoise-empty-old.txt",
        &["osnoise", "nothing was above the threshold", ", 5 s"],
    ),
    (
        "rtla-analysis.txt",
        &[
            "415.00 us late",
            "371.00 us of it",
            "backup/912",
            "in dup_mmap",
            "25.40 6.1 % unknown",
        ],
    ),
    (
        "ci-log.txt",
        &[
            "- 0 60000 4.0 8.0 - - - 61.0",
            "- 1 40000 4.0 9.0 - - - 88.0",
        ],
    ),
    (
        "latmus-timer.plot",
        &["latency, us", "1 - 10000 0.3 1.1", "41.7", "degraded mode"],
    ),
    (
        "latmus-net.plot",
        &[
            "rx_queuing, ns",
            "1 - 100 310 1020",
            "3700",
            "rx_delivery, ns",
            "4700",
        ],
    ),
    (
        "xenomai-statistics.txt",
        &[
            "latency, us",
            "- - 39943 1.2 3.0 - - - 374.1",
            "12 periods were missed",
        ],
    ),
    (
        "xenomai-ctrlc.txt",
        &[
            "- - 3000 6.9 8.1 - - - 28.3",
            "1 period was missed",
            "number of samples is not in the file",
        ],
    ),
];

#[test]
fn every_file_is_read_as_what_it_says() {
    for (name, parts) in SHOWN {
        let text = words(&["result", "show", &example(name)]);
        for part in *parts {
            assert!(text.contains(part), "{name}: no {part:?} in {text}");
        }
    }
}

/// A prefix that a CI, a container manager or a journal writes, and other lines around.
#[test]
fn a_log_gives_what_the_file_alone_gives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log").display().to_string();
    let figures = |path: &str| -> Value {
        let text = words(&["result", "convert", path, "--to", "artis"]);
        let document: Value = serde_json::from_str(&text).unwrap();
        document["series"].clone()
    };
    let alone = [
        "cyclictest.hist",
        "cyclictest.json",
        "cyclictest-plain.txt",
        "hwlatdetect.txt",
        "oslat.txt",
        "oslat.json",
        "pmqtest.txt",
        "rt-migrate-test.txt",
        "rtla-osnoise.txt",
        "rtla-timerlat.txt",
        "rtla-timerlat-top.txt",
        "rtla-hwnoise.txt",
        "xenomai.txt",
        "rtai.txt",
        "latmus-net.plot",
    ];
    let prefixes: [fn(usize) -> String; 6] = [
        |_| "| ".to_owned(),
        |at| format!("[12:{:02}:{:02}] ", at / 60 % 60, at % 60),
        |at| format!("2026-11-30T05:{:02}:{:02}.1234567Z ", at / 60 % 60, at % 60),
        |at| format!("[{:>5}.{:06}] ", at * 7, at),
        |at| format!("Nov 30 05:33:04 board-7 run[{}]: ", at + 95),
        |_| "\x1b[36mrt-1  |\x1b[0m ".to_owned(),
    ];
    for name in alone {
        let text = fs::read_to_string(example(name)).unwrap();
        let expected = figures(&example(name));
        for (number, prefix) in prefixes.iter().enumerate() {
            let around = ["+ ./measure.sh", ""].map(str::to_owned);
            let lines = around.into_iter().chain(text.lines().map(str::to_owned));
            let lines = lines.chain(["done in 60 s".to_owned()]).enumerate();
            let log: String = lines
                .map(|(at, line)| prefix(at) + &line + "\r\n")
                .collect();
            fs::write(&path, log).unwrap();
            assert!(figures(&path) == expected, "{name} with prefix {number}");
        }
    }
}

#[test]
fn what_is_no_result_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file").display().to_string();
    let table = fs::read(example("cyclictest.hist")).unwrap();
    let utf16 = "T: 0 (  437) P:95\r\n".encode_utf16();
    let utf16: Vec<u8> = [0xfeff]
        .into_iter()
        .chain(utf16)
        .flat_map(u16::to_le_bytes)
        .collect();
    for (content, says) in [
        (&b""[..], "the file is empty"),
        (b"\n \n", "blanks"),
        (b"\xef\xbb\xbf", "byte order mark"),
        (&utf16, "UTF-16"),
        (b"\x1f\x8b\x08\0\0", "gzip"),
    ] {
        fs::write(&path, content).unwrap();
        for command in [["result", "show"], ["compare", path.as_str()]] {
            let output = artis(&[&command[..], &[&path]].concat());
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{complaint}");
            assert!(complaint.contains(says), "{says}: {complaint}");
        }
    }
    // A mark before what is read is no reason not to read it.
    fs::write(&path, [b"\xef\xbb\xbf", table.as_slice()].concat()).unwrap();
    assert!(words(&["result", "show", &path]).contains("latency, us"));
    let own = artis(&["result", "convert", &path, "--to", "artis"]).stdout;
    fs::write(&path, [b"\xef\xbb\xbf", own.as_slice()].concat()).unwrap();
    assert!(words(&["result", "show", &path]).contains("latency, us"));
}

#[test]
fn an_analysis_of_rtla_is_an_explanation() {
    let path = example("rtla-analysis.txt");
    let shown = words(&["explain", "show", &path]);
    assert!(shown.contains("371.00 89.4 % - Blocking thread"), "{shown}");
    assert!(shown.contains("backup/912 371.00"), "{shown}");
    let page = words(&["report", &path, "-o", "-"]);
    assert!(
        page.contains("rtla: CPU 3: the thread was 415.00 us late"),
        "{page}"
    );
    let list = words(&["result", "show", "--json", &path]);
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list[0]["analysis"][0]["latency_ns"], 415_000);
    for (command, status, says) in [
        (
            &["explain", "show", "--svg", "/tmp", &path][..],
            64,
            "no events",
        ),
        (
            &["compare", &path, &example("cyclictest.json")][..],
            1,
            "artis explain show",
        ),
        (
            &["result", "convert", &path, "--to", "csv"][..],
            1,
            "artis explain show",
        ),
    ] {
        let output = artis(command);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{complaint}");
        assert!(complaint.contains(says), "{command:?}: {complaint}");
    }
}

#[test]
fn how_many_miss_beyond_a_histogram_is_a_range() {
    let (short, other) = (example("cyclictest-short.hist"), example("cyclictest.json"));
    let decide = |deadline: &str, more: &[&str]| {
        let (stock, rt) = (format!("stock={short}"), format!("rt={other}"));
        let job = [
            "decide",
            "--deadline",
            deadline,
            "--work",
            "10us",
            "--period",
            "1ms",
            &stock,
            &rt,
        ];
        let output = artis(&[&job[..], more].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // The histogram ends at 60 us, ten lie beyond, and the largest is 1,475 us.
    for (deadline, says) in [
        ("160us", "1..10/1000"),
        ("70us", "1..10/1000"),
        ("1484us", "1..10/1000"),
        ("1485us", " 0/1000"),
        ("69.5us", " 10/1000"),
        ("16.5us", " 100/1000"),
    ] {
        let text = decide(deadline, &[]);
        assert!(text.contains(says), "{deadline}: no {says:?} in {text}");
    }
    let json: Value = serde_json::from_str(&decide("160us", &["--json"])).unwrap();
    let misses = &json["candidates"][0]["misses"];
    assert_eq!(
        (&misses["misses"], &misses["misses_most"]),
        (&1.into(), &10.into())
    );
    let text = words(&["result", "show", &short]);
    assert!(
        text.contains("- 0 1000 5.0 11.0 6.0 59.0 - 1475.0"),
        "{text}"
    );
}
