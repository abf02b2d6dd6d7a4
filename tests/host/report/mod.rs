// SPDX-License-Identifier: GPL-2.0-only
//! `artis report`: what is in the page, what a browser makes of it, and what is refused.
//!
//! Screenshots are left in the folder that cargo has for tests, for a person to look at.

mod browser;
mod sample;

use crate::common;
use browser::Browser;
use sample::{NASTY, SKETCHES};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const WIDTHS: [u32; 3] = [400, 1200, 2400];

fn data(file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join(file).display().to_string()
}

fn artis(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_artis"))
        .current_dir(folder)
        .arg("report")
        .args(words)
        .output()
        .unwrap()
}

/// The page of these words.
#[track_caller]
fn page(folder: &Path, words: &[&str]) -> (PathBuf, String) {
    let output = artis(folder, &[words, &["-o", "report.html"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("report.html is written"), "{stderr}");
    let path = folder.join("report.html");
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

/// A folder with the files of both configurations, and the words that name them.
fn everything() -> (tempfile::TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let mut words = Vec::new();
    for one in &SKETCHES {
        let documents = [
            ("all", one.all()),
            ("jitter", one.jitter()),
            ("completion", one.completion()),
        ];
        for (what, document) in documents {
            let file = format!("{}-{what}.json", one.file);
            let text = serde_json::to_vec(&document).unwrap();
            std::fs::write(folder.path().join(&file), text).unwrap();
            words.push(format!("{}={file}", one.file));
        }
    }
    words.push(format!("late={}", data("tests/data/explain/late.json")));
    (folder, words)
}

fn refs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// The anchors of the page's sections.
fn sections(text: &str) -> Vec<&str> {
    let sections = text.split("<section ").skip(1);
    sections
        .filter_map(|part| part.split_once("id=\"")?.1.split('"').next())
        .collect()
}

#[test]
fn a_page_has_all_that_the_files_have() {
    let (folder, words) = everything();
    let (_, text) = page(folder.path(), &refs(&words));
    assert_eq!(
        sections(&text),
        [
            "numbers",
            "latency",
            "time",
            "throughput",
            "jitter",
            "completion",
            "wakeups",
            "figures",
            "setup",
            "files"
        ]
    );
    for words in [
        "artis is at worst",
        "pays: 6.0 % of the baseline's work",
        "rt_throttling",
        "artis measure completion",
        "later from",
        "Who made them late",
    ] {
        assert!(text.contains(words), "{words}");
    }
    assert!(!text.contains(NASTY), "words of a file became markup");
    // The same files give the same page.
    assert_eq!(page(folder.path(), &refs(&words)).1, text);
}

#[test]
fn the_page_needs_nothing_and_gives_its_files_back() {
    use base64::Engine;
    let (folder, words) = everything();
    let (_, text) = page(folder.path(), &refs(&words));
    assert!(text.contains("default-src 'none'"));
    for word in ["http://", "https://", "url(", "@import", "src="] {
        let found = text
            .replace("http://www.w3.org/2000/svg", "")
            .contains(word);
        assert!(!found, "{word}");
    }
    let links = text.split("download=\"").skip(1);
    let files: Vec<(&str, Vec<u8>)> = links
        .map(|link| {
            let name = link.split('"').next().unwrap();
            let data = link.split_once(";base64,").unwrap().1;
            let data = data.split('"').next().unwrap();
            let engine = base64::engine::general_purpose::STANDARD;
            (name, engine.decode(data).unwrap())
        })
        .collect();
    assert_eq!(files.len(), 7);
    for (name, bytes) in files {
        let path = match name {
            "late.json" => data("tests/data/explain/late.json").into(),
            name => folder.path().join(name),
        };
        assert_eq!(bytes, std::fs::read(path).unwrap(), "{name}");
    }
}

#[test]
fn every_kind_of_file_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let table1 = data("docs/results/table1.json");
    let (_, text) = page(folder.path(), &[&table1, "--baseline", "isolcpus"]);
    let expected = [
        "numbers",
        "latency",
        "throughput",
        "figures",
        "setup",
        "files",
    ];
    assert_eq!(sections(&text), expected);
    assert!(text.contains("us at 100 MIPS, emulated (bochs)"));
    assert!(text.contains("no microseconds of a real machine"));
    let document: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&table1).unwrap()).unwrap();
    let rows = document["rows"].as_array().unwrap().iter();
    let samples: Vec<u64> = rows.map(|row| row["samples"].as_u64().unwrap()).collect();
    let [least, most] = [samples.iter().min(), samples.iter().max()]
        .map(|samples| *samples.unwrap())
        .map(|samples| format!("{},{:03}", samples / 1000, samples % 1000));
    let words = format!("the worst of {least} to {most} samples each");
    assert!(text.contains(&words), "{words}");
    // What docs/report.md shows.
    let said = artis(folder.path(), &[&table1, "-o", "table1.html", "--json"]).stdout;
    let said: serde_json::Value = serde_json::from_slice(&said).unwrap();
    let docs = std::fs::read_to_string(data("docs/report.md")).unwrap();
    let line = docs
        .lines()
        .find(|line| line.starts_with("artis: table1.html is written"))
        .unwrap();
    assert!(line.ends_with(said["headline"].as_str().unwrap()), "{said}");
    for section in said["sections"].as_array().unwrap() {
        let anchor = format!("| `#{}` |", section.as_str().unwrap());
        assert!(docs.contains(&anchor), "{anchor}");
    }
    let foreign = data("tests/data/result/cyclictest.json");
    let (_, text) = page(folder.path(), &[&foreign]);
    assert!(text.contains("cyclictest was at worst"));
    let late = data("tests/data/explain/late.json");
    let (_, text) = page(folder.path(), &[&late]);
    assert_eq!(sections(&text), ["wakeups", "setup", "files"]);
}

/// isolcpus is the first by half a microsecond, artis keeps twice the throughput.
#[test]
fn of_worst_latencies_that_are_alike_the_fastest_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let demo = data("tests/data/report/demo.json");
    let words = [
        &demo,
        "--allow-unequal-samples",
        "-o",
        "demo.html",
        "--json",
    ];
    let said = artis(folder.path(), &words).stdout;
    let said: serde_json::Value = serde_json::from_slice(&said).unwrap();
    let headline = said["headline"].as_str().unwrap();
    let begins = "artis is at worst 49.85 us late, stock 263.4 us, and keeps 111.2 % of";
    assert!(headline.starts_with(begins), "{headline}");
}

#[test]
fn a_job_gets_its_verdict() {
    let folder = PathBuf::from(data("tests/data/decide"));
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("report.html");
    let output = artis(
        &folder,
        &[
            "--job",
            "control-loop.toml",
            "stock=board-stock.json",
            "shield=board-shield.json",
            "artis=board-artis.json",
            "--json",
            "-o",
            out.to_str().unwrap(),
        ],
    );
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["headline"], "Verdict: artis");
    assert_eq!(said["sections"][0], "verdict");
    let text = std::fs::read_to_string(out).unwrap();
    assert_eq!(said["bytes"], text.len());
    for words in [
        "artis meets the deadline, stock does not",
        "What would flip it",
    ] {
        assert!(text.contains(words), "{words}");
    }
}

#[test]
fn a_browser_shows_the_page_as_it_should() {
    let Some(browser) = Browser::find() else {
        return common::skipped(
            "a_browser_shows_the_page_as_it_should",
            "there is no chromium; run: apt-get install chromium",
        );
    };
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    std::fs::create_dir_all(&kept).unwrap();
    let (folder, mut words) = everything();
    let job = "[activation]\ndeadline = \"150us\"\nwork = \"50us\"\nperiod = \"1ms\"\n\
               [rest]\nload = \"hackbench\"\nloss = \"20 %\"\n";
    std::fs::write(folder.path().join("job.toml"), job).unwrap();
    words.push("--job=job.toml".to_owned());
    let (whole, text) = page(folder.path(), &refs(&words));
    assert!(sections(&text).contains(&"job") && text.contains("Verdict: artis"));
    let other = tempfile::tempdir().unwrap();
    let table1 = page(other.path(), &[&data("docs/results/table1.json")]).0;
    let pages = [("everything", &*whole), ("table1", &*table1)];
    for dark in [false, true] {
        let looked = browser.look(&pages.map(|(_, page)| page), &WIDTHS, dark);
        let frames = pages
            .iter()
            .flat_map(|(name, _)| WIDTHS.map(|width| (name, width)));
        for (seen, (name, width)) in looked.iter().zip(frames) {
            let what = format!("{name}, {width} wide, dark: {dark}");
            assert!(seen.found.is_empty(), "{what}: {:#?}", seen.found);
            assert_eq!((seen.width, seen.dark), (width, dark), "{what}");
            // The checks saw something.
            assert!(seen.texts > 200 && seen.values > 60, "{what}: {seen:?}");
            assert!(seen.pictures >= 3, "{what}: {seen:?}");
        }
    }
    // For whoever wants to look. Each picture starts a browser: of both pages in the long run only.
    for (name, page) in pages.iter().take(common::count(1, 2) as usize) {
        for width in WIDTHS {
            let picture = kept.join(format!("{name}-{width}.png"));
            browser.photograph(page, width, &picture);
            let bytes = std::fs::read(&picture).unwrap();
            // PNG: the width is the first number of the first chunk.
            assert_eq!(bytes[16..20], width.to_be_bytes(), "{}", picture.display());
        }
        let printed = kept.join(format!("{name}.pdf"));
        browser.print(page, &printed);
        assert!(std::fs::read(&printed).unwrap().starts_with(b"%PDF"));
    }
}

#[test]
fn the_check_finds_what_is_wrong() {
    let Some(browser) = Browser::find() else {
        return common::skipped("the_check_finds_what_is_wrong", "there is no chromium");
    };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("wrong.html");
    let text = "<!DOCTYPE html><body><a href='#gone'>link</a>\
                <p style='width: 3000px'>wide</p><p style='color: #ccc'>pale</p>\
                <p style='position: absolute; top: 0; left: 0'>over</p></body>";
    std::fs::write(&page, text).unwrap();
    let found = browser.look(&[&page], &[1200], false)[0].found.join("\n");
    for words in [
        "leads nowhere: #gone",
        "the page is 3",
        "faint: pale",
        "covered: ",
    ] {
        assert!(found.contains(words), "{words}: {found}");
    }
}

#[test]
fn what_cannot_be_shown_or_written_is_said() {
    let (folder, _) = everything();
    let says = |words: &[&str], status: i32, parts: &[&str]| {
        let output = artis(folder.path(), words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {stderr}");
        for part in parts {
            assert!(stderr.contains(part), "{words:?}: {part}: {stderr}");
        }
        assert!(output.stdout.is_empty(), "{words:?}");
    };
    let out = ["-o", "out.html"];
    says(
        &[&["gone.json"], &out[..]].concat(),
        1,
        &["gone.json", "No such file"],
    );
    let late = data("tests/data/explain/late.json");
    let twice = [late.as_str(), &late];
    says(
        &[&twice[..], &out].concat(),
        1,
        &["the same run", "leave one out"],
    );
    says(
        &["stock-all.json", "-o", "./stock-all.json"],
        64,
        &["would overwrite", "name another file"],
    );
    let mixed = ["stock-all.json", &data("docs/results/table1.json")];
    says(
        &[&mixed[..], &out].concat(),
        1,
        &["these cannot be compared"],
    );
    let mut jitter = SKETCHES[0].jitter();
    jitter.load.clear();
    std::fs::write(
        folder.path().join("idle.json"),
        serde_json::to_vec(&jitter).unwrap(),
    )
    .unwrap();
    let mut latency = SKETCHES[0].all();
    latency.load.clear();
    std::fs::write(
        folder.path().join("latency.json"),
        serde_json::to_vec(&latency).unwrap(),
    )
    .unwrap();
    let unlike = ["a=latency.json", "b=idle.json"];
    says(
        &[&unlike[..], &out].concat(),
        1,
        &[
            "no figure in common",
            "stock=latency.json stock=jitter.json",
        ],
    );
    says(
        &["stock-all.json", "--json", "-o", "-"],
        64,
        &["name a file: -o report.html"],
    );
    std::fs::write(
        folder.path().join("empty.json"),
        r#"{"schema": "artis.result/1", "tool": "artis", "setup": {"command": []}, "series": []}"#,
    )
    .unwrap();
    says(
        &[&["empty.json"], &out[..]].concat(),
        1,
        &["neither a series nor a load"],
    );
    assert!(!folder.path().join("out.html").exists());
    let whole = std::fs::read(folder.path().join("stock-all.json")).unwrap();
    assert!(whole.starts_with(b"{"), "an input was overwritten");
}

#[test]
fn a_page_that_cannot_be_written_is_kept_elsewhere() {
    let (folder, _) = everything();
    let output = Command::new(env!("CARGO_BIN_EXE_artis"))
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .args(["report", "stock-all.json", "-o", "/dev/full"])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let (_, rescued) = stderr.trim().rsplit_once("the result is in ").unwrap();
    let text = std::fs::read_to_string(rescued).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>") && text.contains("</html>"));
}
