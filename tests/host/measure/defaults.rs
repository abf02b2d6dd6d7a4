// SPDX-License-Identifier: GPL-2.0-only
//! What a help calls the default is what is measured.

use super::{catches_interrupts, measure, said, wait_for};
use crate::common::skipped;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::process::Stdio;

const VERBS: [&str; 7] = [
    "latency",
    "exec",
    "all",
    "jitter",
    "completion",
    "messages",
    "commands",
];

/// An option, and the name of its value in the result.
const OPTIONS: [(&str, &str); 9] = [
    ("priority", "priority"),
    ("interval", "interval_us"),
    ("distance", "distance_us"),
    ("latency", "dma_latency_us"),
    ("longest", "longest_us"),
    ("pairs", "pairs"),
    ("workers", "workers"),
    ("count", "count"),
    ("duration", "duration_s"),
];

/// The default of an option by a help text: the number that it begins with.
fn default(help: &str, option: &str) -> Option<f64> {
    let joined = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, after) = joined.split_once(&format!("--{option} <"))?;
    // Until the next option.
    let own = after.split(" --").next()?;
    let (_, value) = own.split_once("[default: ")?;
    let digits: String = value.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The options of the result when none was given; Ctrl-C ends it.
fn measured(verb: &str) -> Result<Value, String> {
    let child = measure(&[verb, "--json", "-"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(|| catches_interrupts(child.id()).then_some(()));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let document: Value =
        serde_json::from_slice(&output.stdout).map_err(|_| said(&output).trim().to_owned())?;
    Ok(document["setup"]["options"].clone())
}

#[test]
fn the_default_of_a_help_is_what_is_measured() {
    as_root_if_possible!("the_default_of_a_help_is_what_is_measured");
    let mut checked = 0;
    for verb in VERBS {
        let help = measure(&[verb, "--help"]).output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let options = match measured(verb) {
            Ok(options) => options,
            Err(reason) => {
                skipped(verb, &reason);
                continue;
            }
        };
        for (option, key) in OPTIONS {
            if let Some(default) = default(&help, option) {
                assert_eq!(options[key].as_f64(), Some(default), "{verb} --{option}");
                checked += 1;
            }
        }
        let is_real_time = ["fifo", "rr"].contains(&options["policy"].as_str().unwrap_or("fifo"));
        let priority = options["priority"].as_u64();
        assert!(is_real_time || priority == Some(0), "{verb}: {options}");
    }
    assert!(checked > 15, "{checked}");
}
