// SPDX-License-Identifier: GPL-2.0-only
//! Those who read the metrics: promtool, Prometheus and node_exporter as Debian has them.

use super::{ARTIS, Running, artis, free_port, get, keeps, rt0, stdout, wait_for};
use crate::common::skipped;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ALERTS: &str = "packaging/monitoring/alerts.yml";
const DASHBOARD: &str = "packaging/monitoring/dashboard.json";

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn promtool(words: &[&str], input: &str) -> Option<std::process::Output> {
    let mut child = Command::new("promtool")
        .args(words)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    // It may end before it has read all.
    let _ = child.stdin.take()?.write_all(input.as_bytes());
    child.wait_with_output().ok()
}

#[test]
fn promtool_finds_no_fault() {
    const TEST: &str = "promtool_finds_no_fault";
    let tests = "tests/data/monitoring/alerts.test.yml";
    for words in [["check", "rules", ALERTS], ["test", "rules", tests]] {
        let Some(output) = promtool(&words, "") else {
            return skipped(TEST, "promtool is not there (Debian's package prometheus)");
        };
        assert!(output.status.success(), "{words:?}: {output:?}");
    }
    let metrics = stdout(&artis(&["metrics", "--every", "200ms"]));
    let output = promtool(&["check", "metrics"], &metrics).unwrap();
    assert!(
        output.status.success() && output.stdout.is_empty(),
        "{output:?}"
    );
    // It does find some.
    let output = promtool(&["check", "metrics"], "artis 1\nartis 2\n").unwrap();
    assert!(!output.status.success());
}

/// The names of metrics in an expression.
fn names(text: &str) -> Vec<String> {
    let is_name = |one: char| one.is_ascii_alphanumeric() || one == '_';
    let words = text.split(|one| !is_name(one));
    let words = words.filter(|word| word.starts_with("artis_"));
    words.map(str::to_owned).collect()
}

#[test]
fn alerts_and_dashboard_ask_for_metrics_that_there_are() {
    let sources = repository("src/monitor/metrics/families.rs");
    let sources = fs::read_to_string(sources).unwrap();
    let known = |name: &str| {
        let bare = ["_bucket", "_count", "_sum", "_total"];
        let bare = bare.iter().find_map(|end| name.strip_suffix(end));
        let bare = bare.unwrap_or(name);
        let of_kind = bare.strip_prefix("artis_scheduler_").unwrap_or("-");
        sources.contains(&format!("\"{bare}\"")) || sources.contains(&format!("\"{of_kind}_\""))
    };
    let dashboard = fs::read_to_string(repository(DASHBOARD)).unwrap();
    let document: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    assert!(document["panels"].as_array().unwrap().len() >= 10);
    let alerts = fs::read_to_string(repository(ALERTS)).unwrap();
    let mut checked = 0;
    for name in names(&alerts).iter().chain(&names(&dashboard)) {
        assert!(known(name), "{name} is no metric of artis");
        checked += 1;
    }
    assert!(checked > 20, "{checked}");
    assert!(!known("artis_rt0_lateness_seconds"));
}

/// The value that Prometheus has of an expression.
fn query(address: &str, expression: &str) -> Option<f64> {
    let encoded: String = expression
        .bytes()
        .map(|byte| format!("%{byte:02x}"))
        .collect();
    let answer = get(address, &format!("/api/v1/query?query={encoded}"))?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    let body = &body[body.find('{')?..=body.rfind('}')?];
    let document: serde_json::Value = serde_json::from_str(body).ok()?;
    document["data"]["result"][0]["value"][1]
        .as_str()?
        .parse()
        .ok()
}

#[test]
fn debians_prometheus_scrapes_it_with_native_histograms() {
    const TEST: &str = "debians_prometheus_scrapes_it";
    if Command::new("prometheus")
        .arg("--version")
        .output()
        .is_err()
    {
        return skipped(TEST, "prometheus is not there (Debian's package)");
    }
    let rt0 = rt0();
    let words = ["metrics", "--listen", "127.0.0.1:0", "--every", "500ms"];
    let metrics = Running::start(Command::new(ARTIS).args(words));
    let line = metrics.until("metrics on http://");
    let target = line
        .split("http://")
        .nth(1)
        .unwrap()
        .trim_end_matches("/metrics");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prometheus.yml");
    let text = format!(
        "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\nrule_files: [{}]\n\
         scrape_configs:\n  - job_name: artis\n    static_configs:\n      - targets: ['{target}']\n",
        repository(ALERTS).display()
    );
    fs::write(&file, text).unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let _prometheus = Running::start(
        Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .arg("--enable-feature=native-histograms"),
    );
    let up = wait_for("a scrape", || query(&address, "up").filter(|up| *up == 1.0));
    assert_eq!(up, 1.0);
    let on = wait_for("artis_scheduling", || query(&address, "artis_scheduling"));
    assert_eq!(on, 0.0);
    if rt0.is_none() {
        return skipped(TEST, "nobody may watch here, so there is no histogram");
    }
    let count = || query(&address, "sum(histogram_count(artis_rt0_late_seconds))");
    let count = wait_for("a native histogram", || {
        count().filter(|count| *count > 100.0)
    });
    assert!(count > 100.0);
    let quantile = query(
        &address,
        "max(histogram_quantile(1, artis_rt0_late_seconds))",
    )
    .unwrap();
    let worst = query(&address, "max(artis_rt0_worst_seconds)").unwrap();
    // Within a bucket of both sides' histograms, unless it has grown meanwhile.
    assert!(
        quantile > 0.0 && worst >= quantile / 1.3,
        "{quantile} {worst}"
    );
}

#[test]
fn node_exporter_takes_the_text_file() {
    const TEST: &str = "node_exporter_takes_the_text_file";
    let exporter = "prometheus-node-exporter";
    if Command::new(exporter).arg("--version").output().is_err() {
        return skipped(
            TEST,
            "node_exporter is not there (Debian's prometheus-node-exporter)",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("artis.prom");
    let mut metrics = keeps(&path, &[]);
    let address = format!("127.0.0.1:{}", free_port());
    let _exporter = Running::start(
        Command::new(exporter)
            .arg(format!(
                "--collector.textfile.directory={}",
                folder.path().display()
            ))
            .args(["--collector.disable-defaults", "--collector.textfile"])
            .arg(format!("--web.listen-address={address}")),
    );
    let scraped = wait_for("node_exporter", || get(&address, "/metrics"));
    assert!(scraped.contains("\nartis_scheduling 0\n"), "{scraped}");
    assert!(
        scraped.contains("node_textfile_scrape_error 0"),
        "{scraped}"
    );
    // Figures that nobody renews are of an earlier time.
    let pid = Pid::from_raw(metrics.child.id() as i32);
    kill(pid, Signal::SIGTERM).unwrap();
    assert!(metrics.child.wait().unwrap().success());
    assert!(!path.exists());
}
