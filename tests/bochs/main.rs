// SPDX-License-Identifier: GPL-2.0-only
//! The deterministic engine and experiments in it: what goes in and comes out, that it repeats to
//! the byte, and that an interrupted experiment loses nothing.
//!
//! Boots kernels in Bochs: some twenty seconds each. One program after the other, because a guest
//! keeps a CPU of the host busy.

#[macro_use]
#[path = "../common/mod.rs"]
mod common;
mod cost;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

const SMOKE: &str = "lab/smoke.toml";

fn artis(words: &[&str]) -> Command {
    let mut command = Command::new(common::artis());
    command.args(words).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Two guests side by side: their streams, status and files come back, and are the same to the
/// byte, clocks and random numbers included. Both keep the time limit, by their own clock.
#[test]
fn a_guest_comes_back_whole_and_the_same_twice_also_after_a_time_out() {
    let script = r#"printf '\000\377 out'; printf 'to stderr\n' >&2; [ "$ARTIS_LAB_SEED" = 3 ]
        { cat /proc/uptime /proc/interrupts /proc/stat; head -c 16 /dev/urandom | od -x; date; } >facts
        head -c 100000 /dev/zero >zeros; sleep 1000"#;
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let guests = folders.each_ref().map(|folder| {
        let mut command = artis(&["lab", "run", "--engine", "bochs", "--seed", "3"]);
        command
            .args(["--timeout", "3", "--output"])
            .arg(folder.path());
        command.args(["--", "sh", "-c", script]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    });
    for guest in guests {
        let output = guest.wait_with_output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(124), "{said}");
        assert_eq!(output.stdout, b"\0\xff out");
        assert!(said.contains("to stderr\n"), "{said}");
        assert!(said.contains("us at 100 MIPS, emulated"), "{said}");
    }
    let [one, two] = folders
        .each_ref()
        .map(|folder| fs::read(folder.path().join("facts")).unwrap());
    assert!(one.len() > 500);
    assert_eq!(String::from_utf8_lossy(&one), String::from_utf8_lossy(&two));
    let zeros = fs::read(folders[0].path().join("zeros")).unwrap();
    assert_eq!(zeros, vec![0; 100_000]);
    let record = fs::read_to_string(folders[0].path().join("run.json")).unwrap();
    assert!(
        record.contains(r#""engine": "bochs""#) && record.contains(r#""seed": 3"#),
        "{record}"
    );
    assert!(record.contains("Bochs x86 Emulator 3"), "{record}");
}

/// A file of the guest's side of the tests.
fn guest_file(name: &str) -> String {
    format!("{}/tests/guest/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// What tasks printed beside the scheduler, all in one guest: to load it is most of the work here.
/// `$0`: seconds of the hog; `$1`: CPU time of the tasks whose shares are taken, in ms.
static TASKS: LazyLock<String> = LazyLock::new(|| {
    scheduled(
        "probe hog $0
        shares_by_nice bound 0 $1 0 10
        shares_by_nice free 0,1 $(($1 * 2)) 0 0 10 10",
        &[common::count(1, 20), common::count(2000, 20_000)],
    )
});

/// The same of cgroups. `$0`: CPU time of those whose shares are taken, in ms.
static CGROUPS: LazyLock<String> = LazyLock::new(|| {
    scheduled(
        "group d 900 0; echo +cpu >$groups/d/cgroup.subtree_control
        group a 100 4; group d/b 10 3; group d/c 20 2
        shares_of_groups share $0 a d/b d/c
        mkdir $groups/e; echo 30000 100000 >$groups/e/cpu.max; group e 100 2
        sleep 1; of_a_cpu limited 6 e; ungroup e",
        &[common::count(6000, 60_000)],
    )
});

/// What a script printed in a guest of two CPUs where the scheduler is on.
fn scheduled(script: &str, words: &[u64]) -> String {
    in_guest("2", &format!("start --rt 1; {script}; stop"), words)
}

/// What a script printed in a guest of so many CPUs.
fn in_guest(cpus: &str, script: &str, words: &[u64]) -> String {
    let script = format!(". /common.sh; . /shares.sh; {script}");
    let mut command = artis(&["lab", "run", "--engine", "bochs", "--cpus", cpus]);
    for name in ["common.sh", "shares.sh"] {
        let file = format!("{}:/{name}", guest_file(name));
        command.args(["--file", &file]);
    }
    let output = command
        .arg("--file")
        .arg(common::probe())
        .args(["--", "sh", "-c", &script])
        .args(words.iter().map(u64::to_string))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", stderr(&output));
    said
}

/// The paper's 13 normal tasks with the same work, beside real-time tasks of 90 % on the three RT
/// CPUs of four: all of them end at nearly the same time, and no later than without artis. So they
/// share what the bursts leave, and none of that is lost. Not in QEMU: there all CPUs share one,
/// and who waits for a moment on the clock, as the bursts do for their end, takes from the others.
#[test]
#[ignore = "takes as long as all other tests of the row; make soak"]
fn tasks_beside_long_bursts_end_together_and_as_soon_as_without_artis() {
    let said = in_guest(
        "4",
        "probe completions 13 | sed 's/^/without_/'; start --rt 1-3
        for _ in $(seq $0); do probe completions 13 | sed 's/^/with_/'; done; stop",
        &[common::count(1, 10)],
    );
    println!("{said}");
    let [first, last] = ["with_first_ms", "with_last_ms"].map(|name| common::numbers(&said, name));
    let without = common::numbers(&said, "without_last_ms")[0];
    assert!(!last.is_empty(), "{said}");
    for (first, last) in first.iter().zip(&last) {
        assert!(last * 10 <= first * 12, "{first} to {last} ms");
        assert!(last * 100 <= without * 105, "{last} ms, {without} without");
    }
}

#[test]
#[ignore = "make test has it in guests of QEMU whose instructions are counted; make soak"]
fn nobody_is_stranded_behind_a_hog() {
    common::assert_nobody_was_stranded(&TASKS);
}

/// Weights of 100 : 300 : 600, on two levels and each with another number of tasks.
#[test]
#[ignore = "make test has it in guests of QEMU whose instructions are counted; make soak"]
fn cgroups_share_by_weight() {
    let shares = common::numbers(&CGROUPS, "share");
    println!("{shares:?} of 1000");
    common::assert_shares(&shares, [100, 300, 600], &CGROUPS);
}

#[test]
#[ignore = "make test has it in guests of QEMU whose instructions are counted; make soak"]
fn nice_values_count() {
    common::assert_nice_values_counted(&TASKS);
}

/// Two tasks that compute, in a cgroup with 30 ms in each 100 ms (cpu.max): three tenths of a CPU,
/// when artis has noticed that there is a limit.
#[test]
#[ignore = "make test has it in guests of QEMU whose instructions are counted; make soak"]
fn a_limit_holds() {
    let limited = common::numbers(&CGROUPS, "limited");
    println!("{limited:?} of 1000, 300 wanted");
    assert!(
        matches!(limited[..], [share] if share.abs_diff(300) <= 15),
        "{limited:?}"
    );
}

/// Starts an experiment and ends it when it says `when`: everything it said.
fn interrupted(mut command: Command, when: &str) -> Vec<String> {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.contains(when) {
            kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
        }
        said.push(line);
    }
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15), "{said:?}");
    said
}

/// Interrupted, the first sample is kept, and what was begun leaves nothing half-done: the same
/// command goes on. In long tests also: who starts over finds nothing of before, and the result is
/// the same to the byte as the one that was interrupted.
#[test]
fn an_interrupted_experiment_goes_on_and_gives_the_same_file_as_another() {
    let folder = tempfile::tempdir().unwrap();
    let start = |json: &Path, words: &[&str]| {
        let mut command = artis(&["lab", "experiment", SMOKE]);
        command.args(words).arg("--json").arg(json);
        command
    };
    let says = |said: &[String], what: &str| said.iter().any(|line| line.contains(what));
    let [one, two] = ["one.json", "two.json"].map(|name| folder.path().join(name));
    let said = interrupted(start(&one, &["--jobs", "1", "--fresh"]), "1 of 2 samples …");
    assert!(says(&said, "1 of 2 samples are kept"), "{said:?}");
    assert!(!one.exists());

    let output = start(&one, &[]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("1 of 2 samples are in the cache"), "{said}");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");

    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table.contains("us at 100 MIPS, emulated (bochs)"),
        "{table}"
    );
    let one = fs::read_to_string(one).unwrap();
    let document: serde_json::Value = serde_json::from_str(&one).unwrap();
    let row = &document["rows"][1];
    assert_eq!(row["configuration"], "artis");
    assert_eq!(row["leaks"], 0, "{row}");
    assert!(row["samples"].as_u64().unwrap() >= 990, "{row}");
    assert!(row["rt_cpu_share_others"].as_f64().unwrap() > 0.5, "{row}");

    // Shards, each with its half of the samples, make the same file where nothing can be run.
    let parts = ["1/2", "2/2"].map(|shard| {
        let output = artis(&["lab", "experiment", SMOKE, "--shard", shard]).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let part = folder.path().join(shard.replace('/', "-"));
        fs::write(&part, output.stdout).unwrap();
        part
    });
    let merged = artis(&["lab", "experiment", SMOKE, "--json", "--merge"])
        .args(parts.iter().rev())
        .env("XDG_CACHE_HOME", folder.path())
        .output()
        .unwrap();
    assert!(merged.status.success(), "{}", stderr(&merged));
    assert_eq!(one, String::from_utf8(merged.stdout).unwrap());

    if common::count(0, 1) > 0 {
        interrupted(start(&two, &["--fresh"]), "0 of 2 samples …");
        let output = start(&two, &[]).output().unwrap();
        let said = stderr(&output);
        assert!(output.status.success(), "{said}");
        assert!(!said.contains("in the cache"), "{said}");
        assert_eq!(one, fs::read_to_string(two).unwrap());
    }
}

/// The observer sees the kernel work on the RT CPU for others with the stock scheduler, and none
/// with artis.
#[test]
#[ignore = "two guests more: make soak"]
fn an_observer_that_knows_no_scheduler_counts_no_leak_of_artis() {
    let folder = tempfile::tempdir().unwrap();
    let [file, json] = ["leaks.toml", "leaks.json"].map(|name| folder.path().join(name));
    let text = fs::read_to_string(SMOKE).unwrap();
    let observed = text.replace("[\"latency\"]", "[\"latency\", \"leaks\"]");
    assert_ne!(text, observed);
    fs::write(&file, observed).unwrap();
    let output = artis(&["lab", "experiment"])
        .args([file.as_os_str(), "--json".as_ref(), json.as_os_str()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let leaks = [0, 1].map(|row| document["rows"][row]["leaks"].as_u64().unwrap());
    assert!(leaks[0] > 0 && leaks[1] == 0, "{leaks:?}");
}

/// Those that `lab/others.toml` compares artis with start on the newest kernel, and are on until
/// all has been measured: the guest looks.
#[test]
#[ignore = "two schedulers are built, and two guests: make soak"]
fn published_schedulers_schedule_their_guests() {
    let others = fs::read_to_string("lab/others.toml").unwrap();
    let configurations = others.split("[[configuration]]").skip(1);
    let published: Vec<&str> = configurations.filter(|one| one.contains('@')).collect();
    assert!(published.len() >= 2, "{published:?}");
    let mut text =
        "name = \"published\"\ntitle = \"do they start?\"\nmeasure = [\"responsiveness\"]\n\
                    answers = [\"commands\"]\ncpus = [2]\nseconds = 1\nseeds = [1]\n\
                    loads = [\"compute\"]\n"
            .to_owned();
    for one in &published {
        text += &format!("[[configuration]]{one}");
    }
    let folder = tempfile::tempdir().unwrap();
    let [file, json] = ["published.toml", "published.json"].map(|name| folder.path().join(name));
    fs::write(&file, text).unwrap();
    let output = artis(&["lab", "experiment"])
        .args([file.as_os_str(), "--json".as_ref(), json.as_os_str()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    for (row, one) in document["rows"].as_array().unwrap().iter().zip(published) {
        assert!(one.contains(row["scheduler"].as_str().unwrap()), "{row}");
        let commands = &row["responsiveness"]["commands"]["samples"];
        assert!(commands.as_u64() >= Some(10), "{row}");
    }
}

/// Three losses of RT0 in the smoke test's guest, cut to their ends, and what it called in each.
/// The guest that is explained is the one that is measured.
fn explained(which: &[&str]) -> (serde_json::Value, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let [file, listed] = ["late.json", "calls"].map(|name| folder.path().join(name));
    let output = artis(&["lab", "explain", SMOKE, "--configuration", "lazy"])
        .args(["--seed", "1", "--worst", "3", "--json"])
        .arg(&file)
        .arg("--calls")
        .arg(&listed)
        .args(which)
        .output()
        .unwrap();
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("that of the plain run, to the last count"),
        "{said}"
    );
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let worst = document["worst"].as_array().unwrap();
    assert_eq!(worst.len(), 3);
    for loss in worst {
        let of = |name: &str| loss["recording"]["subject"][name].as_u64().unwrap();
        let mut end_ns = 0;
        for segment in loss["segments"].as_array().unwrap() {
            assert_eq!(segment["begin_ns"], end_ns);
            end_ns = segment["end_ns"].as_u64().unwrap();
        }
        assert_eq!(end_ns, of("end_ns") - of("due_ns"));
    }
    let calls = fs::read_to_string(&listed).unwrap();
    let of_each: Vec<String> = calls.split("\n\n").map(str::to_owned).collect();
    assert_eq!(of_each.len(), 3, "{calls}");
    (document, of_each)
}

#[test]
#[ignore = "two or three guests, one of them under the debugger: make soak"]
fn the_worst_samples_are_explained_in_the_same_guest() {
    let (document, calls) = explained(&[]);
    let max_ns = document["threads"][0]["wakeups"]["ns_max"]
        .as_u64()
        .unwrap();
    for (at, loss) in document["worst"].as_array().unwrap().iter().enumerate() {
        let subject = &loss["recording"]["subject"];
        let lost_ns = subject["lost_ns"].as_u64().unwrap();
        assert_eq!(subject["loss"], "late");
        assert_eq!(
            subject["end_ns"].as_u64(),
            subject["due_ns"].as_u64().map(|due| due + lost_ns)
        );
        // A tick is 10 ns.
        assert!(at > 0 || max_ns - lost_ns < 10, "{lost_ns} of {max_ns}");
    }
    for one in calls {
        assert!(one.contains(" hrtimer_wakeup\n"), "{one}");
        assert!(one.trim_end().ends_with(" user mode: a call"), "{one}");
    }
}

/// RT0's work in that guest is interrupted by nothing but the tick.
#[test]
#[ignore = "two or three guests, one of them under the debugger: make soak"]
fn the_longest_activations_are_explained_in_the_same_guest() {
    let (document, _) = explained(&["--activations"]);
    let activations = &document["threads"][0]["activations"];
    assert!(activations["count"].as_u64() >= Some(900), "{activations}");
    for loss in document["worst"].as_array().unwrap() {
        let subject = &loss["recording"]["subject"];
        assert_eq!(subject["loss"], "stretched");
        let lanes: Vec<&str> = loss["segments"]
            .as_array()
            .unwrap()
            .iter()
            .map(|segment| segment["lane"].as_str().unwrap())
            .collect();
        assert_eq!(lanes, ["own_work", "hard_interrupt", "own_work"]);
        let interrupt = &loss["segments"][1];
        let length =
            interrupt["end_ns"].as_u64().unwrap() - interrupt["begin_ns"].as_u64().unwrap();
        // What surrounds the handler is lost, too.
        assert!(length <= subject["lost_ns"].as_u64().unwrap());
    }
}

#[test]
fn what_cannot_be_explained_is_said() {
    for (words, said) in [
        (
            ["--configuration", "art", "--seed", "1"],
            "it has lazy, artis",
        ),
        (["--configuration", "artis", "--seed", "7"], "it has 1"),
    ] {
        let output = artis(&["lab", "explain", SMOKE])
            .args(words)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(64));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

#[test]
fn what_cannot_be_run_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    fs::write(&file, "name = \"bad\"\nsecunds = 3\n").unwrap();
    let output = artis(&["lab", "experiment"]).arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("bad.toml") && said.contains("secunds is no key here"),
        "{said}"
    );
    let many = artis(&[
        "lab", "run", "--engine", "bochs", "--cpus", "64", "--", "true",
    ])
    .output()
    .unwrap();
    assert_eq!(many.status.code(), Some(64));
    assert!(
        stderr(&many).contains("at most 16 CPUs, not 64; give fewer (--cpus N)"),
        "{}",
        stderr(&many)
    );
}
