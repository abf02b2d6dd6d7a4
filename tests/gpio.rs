// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure latency --source gpio` against the kernel's simulated chip in QEMU; and the kernel
//! modules that this takes.

mod common;

use common::guest::run;
use common::probe;
use std::process::{Command, Output};

fn lab(options: &[&str], command: &[&str]) -> Output {
    let guest = |name: &str| format!("{}/tests/guest/{name}", env!("CARGO_MANIFEST_DIR"));
    run(Command::new(env!("CARGO_BIN_EXE_artis"))
        .args(["lab", "run"])
        .args(options)
        .args(["--file", &format!("{}:/common.sh", guest("common.sh"))])
        .args(["--file", &format!("{}:/gpio.sh", guest("gpio.sh"))])
        .arg("--file")
        .arg(probe())
        .arg("--")
        .args(command))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn each_edge_is_answered(kernel: &str) {
    let folder = tempfile::tempdir().unwrap();
    let keep = folder.path().to_str().unwrap();
    let options = ["--kernel", kernel, "--module", "gpio-sim", "--output", keep];
    let output = lab(&options, &["sh", "/gpio.sh"]);
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}{complaint}");

    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&read("gpio.json")).unwrap();
    let latency = &document["series"][0];
    assert_eq!(latency["name"], "latency", "{document:#}");
    assert_eq!(latency["count"], 20, "{latency:#}");
    assert_eq!(latency["missed"], 0, "{latency:#}");
    // The answer comes after the edge; how long after means nothing here.
    assert!(latency["min"].as_i64().unwrap() > 0, "{latency:#}");

    let statuses: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("refused "))
        .collect();
    assert_eq!(statuses, ["refused 1"; 4], "{complaint}");
    let refused = text(&read("refused"));
    for sentence in [
        "cannot have line 0 of /dev/gpiochip0 as input with edges; gpioinfo",
        "cannot have line 1 of /dev/gpiochip0 as output; gpioinfo",
        "has no line 4: it has 4 lines",
        "line 2 cannot be both",
    ] {
        assert!(refused.contains(sentence), "{sentence}\n{refused}");
    }
}

#[test]
fn each_edge_is_answered_on_the_newest_kernel() {
    each_edge_is_answered("newest");
}

#[test]
fn each_edge_is_answered_on_the_newest_rt_kernel() {
    each_edge_is_answered("newest-rt");
}

#[test]
fn a_module_comes_with_what_it_needs_and_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let keep = folder.path().to_str().unwrap();
    let options = [
        "--output", keep, "--module", "gpio_sim", "--module", "gpio-sim",
    ];
    let output = lab(&options, &["cut", "-d ", "-f1", "/proc/modules"]);
    assert_eq!(
        text(&output.stdout),
        "gpio_sim\nconfigfs\n",
        "{}",
        text(&output.stderr)
    );
    let record = std::fs::read(folder.path().join("run.json")).unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(
        record["modules"],
        serde_json::json!(["configfs", "gpio_sim"])
    );
}

#[test]
fn an_unknown_module_is_refused_as_usage() {
    let output = lab(&["--module", "gpio-simulator"], &["true"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(64), "{said}");
    assert!(said.contains("no module \"gpio_simulator\""), "{said}");
}
