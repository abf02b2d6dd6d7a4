// SPDX-License-Identifier: GPL-2.0-only
//! Nothing that others wrote steers the terminal: names, values, and quoted output.

use super::{folder, shell};

const LINES: &[&str] = &[
    "artis result show $'a\\e[31m.json'",
    "artis result show $'a\\u202e.json'",
    "artis measure latency -p $'\\e[31m7'",
    "artis measure latency $'--comm\\e[1m'",
    "artis $'\\e[31mnosuch'",
    "artis measure commands -- $'\\e]0;title\\a'",
    "artis measure commands -l 1 -q -- sh -c \"printf '\\033[31mred\\233m\\n' >&2; exit 3\"",
    "artis measure throughput --runs 1 -q -- sh -c \"printf '\\033[31mred\\n' >&2; exit 3\"",
    "artis load run $'\\e[1m'",
    "printf 'rt = \"\\\\u001b[31mx\"\\n' >c.toml; artis sched run --config c.toml --check",
    "printf '\"\\\\u001b[31mx\" = 1\\n' >c.toml; artis lab experiment c.toml",
    "printf '[activation]\\nnature = \"\\\\u001b[31m\"\\n' >j.toml; artis decide j.toml",
    "printf '{\"schema\": \"\\\\u001b[31m\"}' >x; artis result show x; artis explain show x",
    "sed 's/\"name\": \"latency\"/\"name\": \"\\\\u009b31mx\"/' a.json >x; artis result show x",
    "sed 's/\"name\": \"latency\"/\"name\": \"\\\\u009b31mx\"/' a.json >x; artis result show --json x",
    "artis compare $'stock\\e[31m=a.json' b.json",
    "artis decide --deadline 250us --work 100us --period 1ms $'x\\e[31m=a.json'",
];

#[test]
fn what_is_printed_steers_no_terminal() {
    let folder = folder();
    for line in LINES {
        // A locale in which $'\u202e' is a character.
        let output = shell(folder.path(), &format!("export LC_ALL=C.UTF-8; {line}"));
        for (name, bytes) in [("output", output.stdout), ("error", output.stderr)] {
            let text = String::from_utf8(bytes).unwrap();
            let steers = |one: char| (one.is_control() && one != '\n') || one == '\u{202e}';
            assert!(!text.contains(steers), "{line}: standard {name}: {text:?}");
        }
    }
}
