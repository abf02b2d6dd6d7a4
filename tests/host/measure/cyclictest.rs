// SPDX-License-Identifier: GPL-2.0-only
//! cyclictest's options: each is taken, or answered with what does the same.

use super::{document, measure, said};
use std::process::Command;

/// What `artis measure latency` takes as cyclictest means it, and what is in the result then.
const TAKEN: [(&str, &str, &str); 14] = [
    ("-n", "source", "\"timer\""),
    ("--nanosleep", "source", "\"timer\""),
    ("-M", "source", "\"timer\""),
    ("-u", "source", "\"timer\""),
    ("-m", "source", "\"timer\""),
    ("-c 0", "source", "\"timer\""),
    ("-r", "source", "\"nanosleep\""),
    ("-s", "source", "\"nanosleep\""),
    ("--policy=rr --prio=2", "policy", "\"rr\""),
    ("-y fifo -p 2", "policy", "\"fifo\""),
    ("--policy=OTHER", "policy", "\"normal\""),
    ("-e 7", "dma_latency_us", "7"),
    ("--default-system", "dma_latency_us", "2000000000"),
    ("--laptop", "dma_latency_us", "2000000000"),
];

#[test]
fn what_means_the_same_is_taken() {
    as_root_if_possible!("what_means_the_same_is_taken");
    for (line, key, value) in TAKEN {
        let mut words = vec!["latency", "-l", "3", "-a", "0"];
        words.extend(line.split(' '));
        if let Some(document) = document(line, &words, 0) {
            assert_eq!(
                document["setup"]["options"][key].to_string(),
                value,
                "{line}"
            );
        }
    }
}

/// The others, and a word of what does the same.
const ANSWERED: [(&str, &str); 20] = [
    ("-N", "ns"),
    ("-v", "--json"),
    ("-c 1", "CLOCK_MONOTONIC"),
    ("-A", "-d 0"),
    ("-A 100", "-d 0"),
    ("--secaligned", "start together"),
    ("-F /tmp/x", "--json"),
    ("-o 10", "artis report"),
    ("--priospread", "-p"),
    ("-R", "artis check"),
    ("--spike=10", "--explain"),
    ("--spike-nodes=10", "--explain"),
    ("--smi", "artis check"),
    ("--tracemark", "-b"),
    ("-x", "timerfd"),
    ("--dbg_cyclictest", "--verbose"),
    ("--deepest-idle-state=1", "--latency"),
    ("--delay 3", "sleep"),
    ("--mainaffinity=0", "by itself"),
    ("--policy=batch", "chrt"),
];

#[test]
fn what_does_the_same_in_another_way_is_said_in_a_sentence() {
    for (line, answer) in ANSWERED {
        let mut words = vec!["latency", "-D", "1"];
        words.extend(line.split(' '));
        let output = measure(&words).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(64), "{line}: {said}");
        let is_one_line = said.starts_with("artis: ") && said.lines().count() == 1;
        assert!(is_one_line && said.contains(answer), "{line}: {said}");
    }
}

/// The installed cyclictest may be newer than the list.
#[test]
fn no_option_of_cyclictest_is_unknown() {
    let Ok(output) = Command::new("cyclictest").arg("--help").output() else {
        return crate::common::skipped("no_option_of_cyclictest", "install rt-tests");
    };
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut checked = 0;
    for word in help.split([' ', '\t', '\n', '=', '[']) {
        let is_option = word.starts_with('-') && word.len() > 1 && word != "--";
        let is_plain = |one: char| one.is_ascii_alphanumeric() || "-_".contains(one);
        if !is_option || !word.chars().all(is_plain) || word.starts_with("-3") {
            continue;
        }
        // Without its value most of them are wrong, and none is unknown.
        let output = measure(&["latency", word, "--no-such-option"])
            .output()
            .unwrap();
        let said = said(&output);
        let unknown = format!("unexpected argument '{word}'");
        assert!(!said.contains(&unknown), "{word}: {said}");
        checked += 1;
    }
    assert!(checked > 40, "{checked}");
}

#[test]
fn a_histogram_of_all_has_a_sum_column() {
    as_root_if_possible!("a_histogram_of_all_has_a_sum_column");
    let words = [
        "latency", "-p", "0", "-l", "20", "-a", "0", "-t", "2", "-H", "5",
    ];
    let output = measure(&words).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let of = |name: &str| -> Vec<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let numbers = line.unwrap().split_whitespace();
        numbers.map(|number| number.parse().unwrap()).collect()
    };
    for name in ["# Total:", "# Histogram Overflows:"] {
        let all = of(name);
        assert_eq!(all.len(), 3, "{text}");
        assert_eq!(all[0] + all[1], all[2], "{text}");
    }
    let maxima = of("# Max Latencies:");
    assert_eq!(maxima[2], maxima[0].max(maxima[1]), "{text}");
    assert_eq!(of("# Min Latencies:").len(), 2, "{text}");
}
