// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure latency --source gpio` against the kernel's simulated chip in QEMU; and the
//! kernel modules that this takes.

use super::guest::{artis, stderr};
use super::sched::TWO_CPUS;
use super::shared::Script;
use crate::common::count;

on_kernel!(normal, "newest": each_edge_is_answered, a_module_comes_with_what_it_needs);
on_kernel!(rt, "newest-rt": each_edge_is_answered);

pub static EDGES: Script = Script {
    name: "gpio::each_edge_is_answered",
    rt: true,
    counts: &[("EDGES", 20, 2000)],
    text: include_str!("../guest/gpio.sh"),
};

fn each_edge_is_answered(kernel: &str) {
    let ran = TWO_CPUS.ran(kernel, &EDGES);
    let document = ran.json("gpio");
    let latency = &document["series"][0];
    assert_eq!(latency["name"], "latency", "{document:#}");
    assert_eq!(latency["count"], count(20, 2000), "{latency:#}");
    assert_eq!(latency["missed"], 0, "{latency:#}");
    // The answer comes after the edge; how long after means nothing here.
    assert!(latency["min"].as_i64().unwrap() > 0, "{latency:#}");

    let statuses: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("refused "))
        .collect();
    assert_eq!(statuses, ["refused 1"; 4], "{}", ran.stderr);
    let refused = String::from_utf8_lossy(ran.file("refused"));
    for sentence in [
        "cannot use line 0 of /dev/gpiochip0 as input with edges; gpioinfo",
        "cannot use line 1 of /dev/gpiochip0 as output; gpioinfo",
        "has no line 4: it has 4 lines",
        "line 2 cannot be both",
    ] {
        assert!(refused.contains(sentence), "{sentence}\n{refused}");
    }
}

fn a_module_comes_with_what_it_needs(kernel: &str) {
    let ran = TWO_CPUS.ran(kernel, &EDGES);
    let modules = String::from_utf8_lossy(ran.file("modules"));
    assert_eq!(modules, "gpio_sim\nconfigfs\n");
    let recorded = &ran.json("run")["modules"];
    assert_eq!(recorded, &serde_json::json!(["configfs", "gpio_sim"]));
}

#[test]
fn an_unknown_module_is_refused_as_usage() {
    let words = ["lab", "run", "--module", "gpio-simulator", "--", "true"];
    let output = artis(&words).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(64), "{said}");
    assert!(said.contains("no module \"gpio_simulator\""), "{said}");
}
