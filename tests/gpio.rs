// SPDX-License-Identifier: GPL-2.0-only
//! Edges answered through GPIO lines, against the kernel's simulated chip in QEMU; and the kernel
//! modules that this takes.

mod common;

use common::probe;
use std::process::{Command, Output};

fn lab(options: &[&str], command: &[&str]) -> Output {
    let guest = |name: &str| format!("{}/tests/guest/{name}", env!("CARGO_MANIFEST_DIR"));
    Command::new(env!("CARGO_BIN_EXE_artis"))
        .args(["lab", "run"])
        .args(options)
        .args(["--file", &format!("{}:/common.sh", guest("common.sh"))])
        .args(["--file", &format!("{}:/gpio.sh", guest("gpio.sh"))])
        .arg("--file")
        .arg(probe())
        .arg("--")
        .args(command)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn each_edge_is_answered(kernel: &str) {
    let options = ["--kernel", kernel, "--module", "gpio-sim"];
    let output = lab(&options, &["sh", "/gpio.sh"]);
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}{complaint}");
    let lines: Vec<&str> = said.lines().collect();
    let in_use = "refused cannot have line";
    assert!(
        lines[0].starts_with(in_use) && lines[0].contains("line 0 of"),
        "{said}"
    );
    assert!(
        lines[1].starts_with(in_use) && lines[1].contains("line 1 of"),
        "{said}"
    );
    assert!(lines[2].contains("has no line 4: it has 4 lines"), "{said}");
    assert_eq!(lines[3..], ["ready", "ordered 20", "lost 0"], "{complaint}");
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
