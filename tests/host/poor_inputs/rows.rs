// SPDX-License-Identifier: GPL-2.0-only
//! The table of wrong inputs, and the files that some of them name.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// One wrong input.
pub struct Row {
    pub words: &'static str,
    pub status: i32,
    /// What the answer has to contain.
    pub says: &'static [&'static str],
}

impl Row {
    /// Variables that are part of the input.
    pub fn environment(&self) -> Option<(&'static str, &'static str)> {
        (self.words == NO_PLACE).then_some(("TMPDIR", "/proc"))
    }
}

/// A load whose files cannot be written: its `TMPDIR` is /proc.
const NO_PLACE: &str = "load run compute -D 1";

const fn row(words: &'static str, status: i32, says: &'static [&'static str]) -> Row {
    Row {
        words,
        status,
        says,
    }
}

/// Exit status of wrong words.
const USAGE: i32 = 64;
const FAILURE: i32 = 1;

const INTERVAL: &str =
    "write whole microseconds from 1 to 3600000000, or such a time with its unit";
const FROM_ZERO_US: &str =
    "write whole microseconds from 0 to 3600000000, or such a time with its unit";
const HISTOGRAM: &str = "write whole microseconds from 1 to 1000000,";
const TIME: &str = "write seconds or a number with its unit, more than 0 and at most 36500d: 90";
const COUNT: &str = "write a whole number from 1 to 4294967295";
const RUNS: &str = "write a whole number from 1 to 1000000";
const LOOPS: &str = "write a whole number from 1 to 18446744073709551615";
/// As cyclictest has it, 0 is no limit.
const SAMPLES: &str = "write a whole number from 0 to 18446744073709551615";
const PRIORITY: &str = "write a whole number from 0 to 99";
const NICE: &str = "write a whole number from -20 to 19";
const PROCESS: &str = "write a whole number from 1 to 4194303; `ps -eL`";
const DECIDE_NAMES: &str = "stock, tuned, shield, artis, rt, artis-rt, xenomai, evl or rtai";
const ONE_CPU: &str = "write the number of one CPU; online: 0";
const CPU_LIST: &str = "is not a CPU number; write CPU numbers such as 1 or 1-3,5";
const THERE_ARE: &str = "CPU 8191 is not online; choose among 0";

// One row a line.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    // Negative numbers.
    row("measure latency -p -1", USAGE, &["'-1'", "--priority", PRIORITY]),
    row("measure latency -i -1", USAGE, &["'-1'", "--interval", INTERVAL]),
    row("measure latency -d -1", USAGE, &["'-1'", "--distance", FROM_ZERO_US]),
    row("measure latency -a -1", USAGE, &["'-1'", "--affinity", CPU_LIST]),
    row("measure latency -t -1", USAGE, &["'-1'", "--threads", "number from 1 to 65535"]),
    row("measure latency -h -1", USAGE, &["'-1'", "--histogram", HISTOGRAM]),
    row("measure latency --on-threshold -1", USAGE, &["'-1'", FROM_ZERO_US]),
    row("measure latency --latency -1", USAGE, &["'-1'", "microseconds from 0 to 2000000000,"]),
    row("measure latency -l -1", USAGE, &["'-1'", "--loops", SAMPLES]),
    row("measure latency -D -1", USAGE, &["'-1'", "--duration", TIME]),
    row("measure exec --count -1", USAGE, &["'-1'", "--count", COUNT]),
    row("measure jitter --count -1", USAGE, &["'-1'", "--count", COUNT]),
    row("measure all --count -1", USAGE, &["'-1'", "--count", COUNT]),
    row("measure latency -p 0 --nice -21", USAGE, &["'-21'", "--nice", NICE]),
    row("measure commands -l -1", USAGE, &["'-1'", "--loops", LOOPS]),
    row("measure commands -i -1", USAGE, &["'-1'", "--interval", FROM_ZERO_US]),
    row("measure messages --pairs -1", USAGE, &["'-1'", "--pairs", "number from 1 to 128"]),
    row("measure messages --workers -1", USAGE, &["'-1'", "--workers", "number from 1 to 255"]),
    row("measure throughput --runs -1 -- true", USAGE, &["'-1'", "--runs", RUNS]),
    row("load run compute -D -1", USAGE, &["'-1'", "--duration", TIME]),
    row("partition plan --rt -1", USAGE, &["'-1'", "--rt", CPU_LIST]),
    row("partition plan --rt 1 --exit-latency -1", USAGE, &["'-1'", "microseconds from 0 to"]),
    row("irq -D -1", USAGE, &["'-1'", "--duration", TIME]),
    row("run rt0 --cpu -1 -- true", USAGE, &["'-1'", "--cpu", ONE_CPU]),
    row("run rt0 --cpu 0 --pid -1", USAGE, &["'-1'", "--pid", PROCESS]),
    row("lab run --timeout -1 -- true", USAGE, &["'-1'", "write whole seconds from 0 to"]),
    row("lab run --seed -1 -- true", USAGE, &["'-1'", "--seed", "write a whole number from 0 to"]),
    // No numbers.
    row("measure latency -p abc", USAGE, &["'abc'", "--priority", PRIORITY]),
    row("measure latency -i 1e3", USAGE, &["'1e3'", "--interval", INTERVAL]),
    row("measure latency -p 0 -q -l 1 -i 1ms", 0, &[]),
    row("measure latency -t abc", USAGE, &["'abc'", "number from 1 to 65535"]),
    row("measure latency -h abc", USAGE, &["'abc'", HISTOGRAM]),
    row("measure latency -b abc", USAGE, &["'abc'", "--breaktrace", FROM_ZERO_US]),
    row("measure latency -l abc", USAGE, &["'abc'", SAMPLES]),
    row("measure latency -l 1.5", USAGE, &["'1.5'", SAMPLES]),
    row("measure exec -a zz", USAGE, &["'zz'", ONE_CPU]),
    row("measure latency -p 0 --nice abc", USAGE, &["'abc'", NICE]),
    row("measure commands -D abc", USAGE, &["'abc'", "--duration", TIME]),
    row("measure messages -l abc", USAGE, &["'abc'", "--loops", LOOPS]),
    row("measure throughput --runs abc -- true", USAGE, &["'abc'", RUNS]),
    row("partition plan --rt 1 --rt0-irq abc", USAGE, &["'abc'", "whole number", "`artis irq`"]),
    row("run rt0 --cpu x -- true", USAGE, &["'x'", ONE_CPU]),
    row("run rt0 --cpu 0-1 -- true", USAGE, &["'0-1'", ONE_CPU]),
    row("run rt0 --cpu 0 --pid abc", USAGE, &["'abc'", PROCESS]),
    row("run rt1 --level abc -- true", USAGE, &["'abc'", "write a whole number from 1 to 40"]),
    row("lab run --cpus abc -- true", USAGE, &["'abc'", "write a whole number from 1 to 64"]),
    row("lab run --timeout abc -- true", USAGE, &["'abc'", "whole seconds from 0", "90s, 5m, 1h"]),
    row("decide --per-hour -1", USAGE, &["'-1'", "--per-hour", "0 or more, such as 5"]),
    row("decide --per-second abc", USAGE, &["'abc'", "--per-second", "activations a second"]),
    row("decide --per-hour abc", USAGE, &["'abc'", "--per-hour", "0 or more, such as 5"]),
    row("decide --probability abc", USAGE, &["'abc'", "--probability", "above 0 and below 1"]),
    row("decide --probability 1", USAGE, &["'1'", "--probability", "above 0 and below 1"]),
    row("decide --loss abc", USAGE, &["'abc'", "--loss", "a part from 0 to 1, or per cent"]),
    row("decide --loss -1", USAGE, &["'-1'", "--loss", "a part from 0 to 1, or per cent"]),
    row("decide --deadline -5us", USAGE, &["'-5us'", "--deadline", "from 1ns to 36500d"]),
    row("decide --deadline 1e300s", USAGE, &["'1e300s'", "--deadline", "from 1ns to 36500d"]),
    row("decide --loss -20%", USAGE, &["'-20%'", "--loss", "a part from 0 to 1, or per cent"]),
    row("decide --memory -1GiB", USAGE, &["'-1GiB'", "--memory", "up to 1048576TiB"]),
    row("measure latency -D -5s", USAGE, &["'-5s'", "--duration", TIME]),
    row("measure latency -i -5us", USAGE, &["'-5us'", "--interval", INTERVAL]),
    row("measure messages --pairs 100000", USAGE, &["'100000'", "--pairs", "1 to 128"]),
    row("decide", USAGE, &["neither a job nor a result", "--measure"]),
    row("decide ''", USAGE, &["\"\" is no [NAME=]FILE", "the word is empty"]),
    row("compare ''", USAGE, &["''", "the word is empty"]),
    row("decide --deadline 5ms --work 1ms foo=x", USAGE, &["\"foo\"", "no file x", DECIDE_NAMES]),
    row("decide foo={good}", USAGE, &["\"foo\"", DECIDE_NAMES]),
    row("decide --loss 20%", USAGE, &["without a deadline", "--deadline TIME"]),
    row("decide --loss 20% --deadline 5ms", USAGE, &["no work is given", "--work TIME"]),
    row("decide --per-hour 5 --deadline 5ms --work 1ms", USAGE, &["--period TIME"]),
    row("decide --memory 1GiB", USAGE, &["--memory-needed SIZE"]),
    row("decide --measure --rt abc", USAGE, &["'abc'", "--rt", ONE_CPU]),
    row("decide --measure --rt 8191", USAGE, &["'8191'", "--rt", THERE_ARE]),
    // Words that no command takes.
    row("load run", USAGE, &["required"]),
    row("load run oi", USAGE, &["oi"]),
    row("load run compute -D 0", USAGE, &[TIME]),
    row("load run compute -D soon", USAGE, &["'soon'", TIME]),
    row("load run compute --cpus x", USAGE, &["'x'", CPU_LIST]),
    row("measure exec -p 100", USAGE, &["'100'", PRIORITY]),
    row("measure exec -D 0", USAGE, &[TIME]),
    row("measure exec -D soon", USAGE, &["'soon'", TIME]),
    row("measure exec --routine sorting", USAGE, &["'sorting'"]),
    row("measure exec --count 0", USAGE, &["'0'", COUNT]),
    row("measure exec --routine memory --count 4000000000", USAGE, &["4000000000"]),
    row("measure jitter -a 3-1", USAGE, &["3-1"]),
    row("measure jitter --unloaded -1s", USAGE, &["'-1s'", TIME]),
    row("measure jitter -p -1", USAGE, &["'-1'", PRIORITY]),
    row("measure throughput", USAGE, &[]),
    row("measure throughput --workload sleep", USAGE, &["'sleep'"]),
    row("measure throughput --workload build -- true", USAGE, &["--workload"]),
    row("measure throughput --runs 0 -- true", USAGE, &["'0'", RUNS]),
    row("measure throughput --load oi -- true", USAGE, &["oi"]),
    row("measure throughput --load-cpus 0 -- true", USAGE, &["--load"]),
    row("measure latency -i 0", USAGE, &["'0'", INTERVAL]),
    row("measure latency -p 100", USAGE, &["'100'", PRIORITY]),
    row("measure latency -t 0", USAGE, &["'0'", "number from 1 to 65535"]),
    row("measure latency -D soon", USAGE, &["'soon'", TIME]),
    row("measure latency --source sundial", USAGE, &["'sundial'"]),
    row("measure latency -b 5 --on-threshold 5", USAGE, &["--on-threshold"]),
    row("measure latency --split --source wake", USAGE, &["--split"]),
    row("run rt0 -- true", USAGE, &["--cpu"]),
    row("run rt0 --cpu 0 --priority 0 -- true", USAGE, &["'0'", "--priority"]),
    row("run rt0 --cpu 0 --priority 100 -- true", USAGE, &["'100'", "--priority"]),
    row("run rt1 -- true", USAGE, &["--level"]),
    row("run rt1 --level 0 -- true", USAGE, &["'0'", "from 1 to 40"]),
    row("run rt1 --level 41 -- true", USAGE, &["'41'", "from 1 to 40"]),
    row("run linux", USAGE, &[]),
    row("run linux --pid 0", USAGE, &["'0'", PROCESS]),
    row("run linux --pid 1 -- true", USAGE, &["--pid"]),
    row("run linux --thread -- true", USAGE, &["--pid"]),
    row("check --cpus x", USAGE, &["'x'", CPU_LIST]),
    row("explain run", USAGE, &["required"]),
    row("explain run --pid 4194303", 1, &["process 4194303 does not exist"]),
    row("explain run --thread 4194303", 1, &["thread 4194303 does not exist"]),
    row("explain run --comm ''", 1, &["--comm is empty"]),
    row("explain run --cgroup /no/such", 1, &["the cgroup /no/such: there is no such folder"]),
    row("explain run --cgroup /dev/shm", 1, &["/dev/shm is no cgroup"]),
    row("explain run --pid 1 --worst 0", USAGE, &["1000"]),
    row("explain run --pid 1 --thread 1", USAGE, &["cannot be used with"]),
    row("explain show /no/such/file", 1, &["cannot read"]),
    row("explain show /proc/version", 1, &["version:1:1: this is not JSON"]),
    // Huge.
    row("measure latency -p 99999999999999999999", USAGE, &["'99999999999999999999'", PRIORITY]),
    row("measure latency -i 99999999999999999999", USAGE, &["'99999999999999999999'", INTERVAL]),
    row("measure exec --count 99999999999999999999", USAGE, &["'99999999999999999999'", COUNT]),
    row("measure jitter --count 99999999999999999999", USAGE, &["'99999999999999999999'", COUNT]),
    row("measure all --count 99999999999999999999", USAGE, &["'99999999999999999999'", COUNT]),
    // Damaged results: the file, the line, the reason.
    row("result show {brace}", 1, &["/brace:1:"]),
    row("result show {cut}", 1, &["/cut:"]),
    row("result show {cut-series}", 1, &["/cut-series:", "ends"]),
    row("result show {cut-end}", 1, &["/cut-end:", "ends"]),
    row("result show {schema-result}", 1, &["/schema-result:1"]),
    row("result show {schema-experiment}", 1, &["/schema-experiment:1", "artis compare"]),
    row("result show {schema-unknown}", 1, &["/schema-unknown:1", "artis.nonsense/9"]),
    row("result show {no-series}", 1, &["/no-series:", "series"]),
    row("result show {text-series}", 1, &["/text-series:", "a list of series"]),
    row("result show {unit}", 1, &["/unit:", "furlong"]),
    row("result show --from artis {hist}", 1, &["/hist:1", "--from"]),
    // CPUs that are not there.
    row("measure latency -p 0 -l 1 --load compute --load-cpus 8191", USAGE, &["'8191'", THERE_ARE]),
    row("load run compute --cpus 8191 -D 1", USAGE, &["'8191'", THERE_ARE]),
    row("run rt0 --cpu 8191 -- true", USAGE, &["'8191'", THERE_ARE]),
    row("measure latency -a 8191", USAGE, &["'8191'", THERE_ARE]),
    row("measure exec -a 8191", USAGE, &["'8191'", THERE_ARE]),
    row("measure jitter -a 8191", USAGE, &["'8191'", THERE_ARE]),
    row("measure all -a 8191", USAGE, &["'8191'", THERE_ARE]),
    row("measure commands -a 8191", USAGE, &["'8191'", THERE_ARE]),
    row("measure messages -a 8191", USAGE, &["'8191'", THERE_ARE]),
    row("check --cpus 8191", USAGE, &["CPU 8191", "0"]),
    row("sched run --rt 8191", USAGE, &["CPU 8191", "0"]),
    row("partition plan --rt 8191", USAGE, &["CPU 8191", "0"]),
    // Configurations of the scheduler: the file, the line, what is allowed.
    row("sched run --config {config-key} --check", 1, &["/config-key: line 2", "`cpus`", "`rt`", "`partition`"]),
    row("sched run --config {config-cpus} --check", 1, &["/config-cpus: line 1", "\"x\" is not a CPU number"]),
    row("sched run --config {config-priority} --check", 1, &["/config-priority: line 3", "from 1 to 99"]),
    row("sched run --config {config-empty} --check", 1, &["/config-empty: it names no RT CPU; add rt = \"1\""]),
    row("sched run --config {config-far} --check", 1, &["/config-far: this machine has no CPU 8191", "0"]),
    row("sched run --config {config-zero} --check", 1, &["/config-zero: CPU 0 keeps time", "choose among the CPUs"]),
    row("sched run --config {config-irq} --check", 1, &["/config-irq: this machine has no interrupt 4000000000", "artis irq"]),
    row("sched run --config {config-far} --rt 8190 --check", USAGE, &["no CPU 8190", "0"]),
    row("sched run --config {config-key} --rt 1 --check", 1, &["/config-key: line 2"]),
    row("sched run --config {nothing} --check", 1, &["cannot read", "/nothing"]),
    row("sched run --config {folder} --check", 1, &["cannot read", "no regular file"]),
    row("sched run --check", USAGE, &["--rt"]),
    // What was accepted.
    row("result show {negative}", 1, &["/negative:", "seconds"]),
    row("result show {absurd}", 1, &["/absurd:", "seconds"]),
    row("result show {twice}", 1, &["/twice:", "second series"]),
    row("result merge {no-series} {good} -o {folder}/merged.json", 1, &["/no-series:", "series"]),
    row("compare {good} {other}", FAILURE, &["have no figure in common"]),
    row("report {good} {other} -o -", FAILURE, &["have no figure in common", "one name: stock="]),
    row("report {good} {good} -o -", FAILURE, &["the same run", "leave one out"]),
    row("report {good}", USAGE, &["--output"]),
    row("report {folder} -o -", FAILURE, &["cannot read", "no regular file but a folder"]),
    row("report {good} -o {folder}/gone/page.html", FAILURE, &["cannot write", "/gone/page.html"]),
    row("measure latency -D 99999999999999d", USAGE, &["'99999999999999d'", TIME]),
    row("run rt0 --cpu 0 --pid 2", USAGE, &["task 2", "kthreadd", "--kernel-thread"]),
    row("run rt1 --level 1 --pid 2", USAGE, &["task 2", "kthreadd", "--kernel-thread"]),
    row("run linux --pid 2 --thread", USAGE, &["task 2", "kthreadd", "--kernel-thread"]),
    row("partition plan --rt 1 --rt0-irq 9999", USAGE, &["no interrupt 9999", "artis irq"]),
    // Options that contradict each other.
    row("measure latency --unbound -a 0", USAGE, &["--unbound", "--affinity"]),
    row("measure latency --unbound -S", USAGE, &["--unbound", "--smp"]),
    row("measure latency --nice 5", USAGE, &["--nice", "add --policy normal"]),
    row("measure latency --policy ext -p 5", USAGE, &["-p 5", "leave one of them out"]),
    row("measure messages --policy fifo -p 0", USAGE, &["from 1 to 99", "-p is 0"]),
    row("measure messages --policy round", USAGE, &["'round'", "fifo, rr, normal, ext"]),
    row("measure messages --pairs 100 --workers 9", USAGE, &["1000 threads", "256 is the most"]),
    // What would take for ever, or the machine's memory.
    row("measure latency -t 5000 -D 1", USAGE, &["-t 5000", "threads are the most"]),
    row("measure latency -t 65535", USAGE, &["-t 65535", "threads are the most"]),
    row("measure latency -i 10s -D 1 -q", USAGE, &["10s", "1s", "no sample", "-D"]),
    row("measure latency -i 1ms -d 1s -t 3 -D 2 -q", USAGE, &["2s 1ms", "no sample"]),
    row("measure all -i 10s -D 1 -q", USAGE, &["10s", "no sample"]),
    row("measure exec --count 4000000000 -D 1", USAGE, &["--count 4000000000", "-D"]),
    row("measure jitter --count 4000000000 -D 1", USAGE, &["--count 4000000000", "-D"]),
    row("measure all --count 4000000000 -D 1", USAGE, &["--count 4000000000", "-D"]),
    row("measure commands -i 1000s -D 100ms -q", 0, &[]),
    row("decide --measure --rest nosuch", USAGE, &["nosuch", "there are compute, io"]),
    row("decide {job-rest-command.toml} --measure", 1, &["no-such-program", "PATH"]),
    // Files that people write: the file, the line, the key, what is allowed.
    row("lab experiment {experiment-range}", 1, &["/experiment-range: line 6: seconds: -1", "from 1 to 4294967295"]),
    row("lab explain {experiment-range} --configuration a --seed 1", 1, &["line 6: seconds: -1"]),
    row("lab experiment {experiment-key}", 1, &["/experiment-key: line 6: secs is no key here", "seconds"]),
    row("lab experiment {experiment-cpus}", 1, &["cpus: 64 is out of range", "from 2 to"]),
    row("lab experiment {brace}", 1, &["/brace: line 1"]),
    row("decide {job-far.toml}", 1, &["/job-far.toml: line 2: deadline", "from 1ns to 36500d"]),
    row("decide {job-digits.toml}", 1, &["/job-digits.toml: line 2: deadline", "from 1ns to 36500d"]),
    row("decide {job-type.toml}", 1, &["/job-type.toml: line 2: per_second: \"x\"", "a number"]),
    row("decide --per-second 1e300", USAGE, &["'1e300'", "up to 1e9"]),
    // Damaged explanations, as results.
    row("explain show {brace}", 1, &["/brace:1:", "ends in the middle"]),
    row("explain show {schema-unknown}", 1, &["/schema-unknown", "artis.nonsense/9", "artis.explain/1"]),
    row("explain show {hist}", 1, &["/hist:1:", "this is not JSON"]),
    row("explain show {late-cut}", 1, &["/late-cut:", "ends in the middle"]),
    row("compare {good} {late-cut}", 1, &["/late-cut:", "ends in the middle"]),
    // Others.
    row("measure latency -p 0 -q -l 10 --histfile /dev/full", 1, &["/dev/full", "No space left"]),
    row("measure latency -p 0 -q -l 10 --json /dev/full", 1, &["/dev/full", "No space left"]),
    row("measure latency -p 0 -q -l 10 --json /proc/version", 1, &["/proc/version", "file"]),
    row("measure latency --latency 99999999999", USAGE, &["'99999999999'", "from 0 to 2000000000,"]),
    row("result show {experiment}", 1, &["/experiment:1", "artis compare"]),
    row("measure throughput -- ''", 1, &["empty"]),
    row("measure throughput -- /etc/passwd", 1, &["/etc/passwd", "chmod +x"]),
    row("measure throughput -- /", 1, &["/", "folder"]),
    row("measure throughput true --runs 1", USAGE, &["true", "--", "artis measure throughput"]),
    row("measure throughput sleep 0.1", USAGE, &["sleep", "artis measure throughput", "-- sleep 0.1"]),
    row("measure commands -- ''", 1, &["empty"]),
    row("measure commands -- /", 1, &["/", "folder"]),
    row("measure commands -- no-such-program", 1, &["no-such-program", "PATH"]),
    row("measure commands true", USAGE, &["true", "artis measure commands -- true"]),
    row("lab --mirror zzz kernels", 1, &["zzz", "http://deb.debian.org/debian"]),
    row("lab --mirror http://127.0.0.1:9/debian kernels", 1, &["127.0.0.1:9"]),
    row(NO_PLACE, 1, &["/proc", "TMPDIR"]),
];

/// A histogram of another quantity: it shares no figure with cyclictest's.
const OTHER: &str = include_str!("../../data/result/rtla-osnoise.txt");
const EXPERIMENT: &str = include_str!("../../../lab/smoke.toml");
const LATE: &str = include_str!("../../data/explain/late.json");
const CYCLICTEST: &str = include_str!("../../data/result/cyclictest.hist");

/// Writes the files that rows name in braces.
pub fn write_files(folder: &Path) {
    fs::write(folder.join("hist"), CYCLICTEST).unwrap();
    let good = convert(folder);
    let up_to = |part: &str| good[..good.find(part).unwrap() + part.len()].to_owned();
    let edited = |edit: fn(&mut Value)| {
        let mut document: Value = serde_json::from_str(&good).unwrap();
        edit(&mut document);
        serde_json::to_string_pretty(&document).unwrap()
    };
    let schema = |name: &str| format!("{{\"schema\": \"{name}\"}}\n");
    let twice = |all: &mut Value| {
        let one = all["series"][0].clone();
        all["series"].as_array_mut().unwrap().push(one);
    };
    // One file a line.
    #[rustfmt::skip]
    let files = [
        ("other", OTHER.to_owned()),
        ("brace", "{".to_owned()),
        ("cut", up_to("\"schema\"")),
        ("cut-series", up_to("\"series\": [")),
        ("cut-end", good.trim_end().trim_end_matches('}').to_owned()),
        ("schema-result", schema("artis.result/1")),
        ("schema-experiment", schema("artis.experiment/1")),
        ("schema-unknown", schema("artis.nonsense/9")),
        ("no-series", edited(|all| all["series"] = json!([]))),
        ("text-series", edited(|all| all["series"] = json!("none"))),
        ("unit", edited(|all| all["series"][0]["unit"] = json!("furlong"))),
        ("config-key", "rt = \"1\"\ncpus = 4\n".to_owned()),
        ("config-cpus", "rt = \"x\"\n".to_owned()),
        ("config-priority", "rt = 1\n[partition]\npriority = 0\n".to_owned()),
        ("config-empty", "cycle = true\n".to_owned()),
        ("config-far", "rt = 8191\n".to_owned()),
        ("config-zero", "rt = 0\n[partition]\n".to_owned()),
        ("config-irq", "rt = 1\n[partition]\nrt0_irq = 4000000000\n".to_owned()),
        ("negative", edited(|all| all["seconds"] = json!(-1))),
        ("absurd", edited(|all| all["seconds"] = json!(1e308))),
        ("twice", edited(twice)),
        ("experiment-range", EXPERIMENT.replace("seconds = 1", "seconds = -1")),
        ("experiment-key", EXPERIMENT.replace("seconds = 1", "secs = 1")),
        ("experiment-cpus", EXPERIMENT.replace("cpus = [2]", "cpus = [2, 64]")),
        ("job-far.toml", "[activation]\ndeadline = \"1e300s\"\nwork = \"1us\"\n".to_owned()),
        ("job-digits.toml", format!("[activation]\ndeadline = \"{}us\"\nwork = \"1us\"\n", "9".repeat(300))),
        ("job-type.toml", "[activation]\nper_second = \"x\"\n".to_owned()),
        ("job-rest-command.toml", "[rest]\ncommand = [\"no-such-program\"]\n".to_owned()),
        ("late-cut", LATE[..LATE.len() / 2].to_owned()),
        ("experiment", "{\"schema\": \"artis.experiment/1\", \"rows\": []}\n".to_owned()),
    ];
    for (name, content) in files {
        fs::write(folder.join(name), content).unwrap();
    }
}

/// Makes the file `good`, a whole result, and gives its text.
fn convert(folder: &Path) -> String {
    let status = Command::new(super::ARTIS)
        .args(["result", "convert", "hist", "--to", "artis", "-o", "good"])
        .current_dir(folder)
        .status()
        .unwrap();
    assert!(status.success());
    fs::read_to_string(folder.join("good")).unwrap()
}
