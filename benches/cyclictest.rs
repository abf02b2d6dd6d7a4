// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure latency` beside cyclictest: the same CPU, priority and period, in turns, so that
//! what the machine does to one it does to the other. Prints a table and says which bars hold.
//!
//! What is compared is the two samplers, not the machine: its own latency is in both.

use artis::result::import;
use artis::result::{Distribution, Document};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// Turns, and the slices that each of the two measures in a turn: ten seconds in all.
///
/// The phase of a periodic timer against the tick, the other CPU and the hypervisor is drawn when
/// a sampler starts, and stays: on one machine, seconds apart, it makes a difference of
/// microseconds. Short slices average over that draw.
const TURNS: usize = 5;
const SLICES: usize = 100;
/// A slice is 0.1 s.
const SLICE_SAMPLES: &str = "100";
const NAMES: [&str; 2] = ["cyclictest", "artis"];
/// The options of both: one thread, 1 kHz.
const COMMON: [&str; 9] = [
    "-q",
    "-p",
    "98",
    "-i",
    "1000",
    "-t",
    "1",
    "-l",
    SLICE_SAMPLES,
];
/// Our median minimum and mean may be above cyclictest's by this much.
const ABOVE_NS_MAX: f64 = 200.0;

/// Where both run. A sample that comes while the CPU is awake for the sampler's own main thread is
/// early by microseconds, so that thread is kept away.
struct Place {
    /// The CPU that is measured.
    measured: String,
    /// The CPU of the main thread.
    main: String,
}

/// The figures of one run, ns.
#[derive(Clone, Copy)]
struct Run {
    min: f64,
    /// The floor: the minimum itself is a matter of one lucky sample.
    p0_1: f64,
    mean: f64,
    p50: f64,
    p99_9: f64,
    max: f64,
}

fn main() -> ExitCode {
    match compare() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(2),
        Err(reason) => {
            eprintln!("bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn compare() -> Result<bool, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let cpu = artis::task::syscall::affinity(0).map_err(|errno| errno.to_string())?;
    let place = match (cpu.last(), cpu.first()) {
        (Some(measured), Some(main)) if measured != main => Place {
            measured: measured.to_string(),
            main: main.to_string(),
        },
        _ => {
            return Err("two CPUs are needed: one to measure, one for the main threads".to_owned());
        }
    };
    let mut runs = [Vec::new(), Vec::new()];
    println!(
        "CPU {}, {TURNS} turns of {SLICES} x {SLICE_SAMPLES} samples each, SCHED_FIFO 98, 1 kHz; ns",
        place.measured
    );
    println!("turn  sampler         min      p0.1      mean       p50     p99.9       max");
    for turn in 1..=TURNS {
        let mut all = [Distribution::new(), Distribution::new()];
        for slice in 0..SLICES {
            // The second run finds the machine as the first one left it: each is first in turn.
            let order = if slice % 2 == 0 { [0, 1] } else { [1, 0] };
            for sampler in order {
                all[sampler].merge(&match sampler {
                    0 => cyclictest(&place, folder.path())?,
                    _ => own(&place, folder.path())?,
                });
            }
        }
        for ((name, all), runs) in NAMES.iter().zip(&all).zip(&mut runs) {
            let run = figures(all)?;
            println!(
                "{turn:4}  {name:<10} {:8.0}  {:8.0}  {:8.0}  {:8.0}  {:8.0}  {:8.0}",
                run.min, run.p0_1, run.mean, run.p50, run.p99_9, run.max
            );
            runs.push(run);
        }
    }
    Ok(judge(&runs[0], &runs[1]))
}

fn judge(theirs: &[Run], ours: &[Run]) -> bool {
    let mut held = true;
    let mut bar = |what: &str, holds: bool| {
        println!("{} {what}", if holds { "held:  " } else { "MISSED:" });
        held &= holds;
    };
    for (name, of) in [
        ("min", (|run| run.min) as fn(&Run) -> f64),
        ("mean", |run| run.mean),
    ] {
        let above = median(ours, of) - median(theirs, of);
        bar(
            &format!("median {name} above cyclictest's by {above:.0} ns, {ABOVE_NS_MAX} allowed"),
            above <= ABOVE_NS_MAX,
        );
    }
    let spread = |runs: &[Run]| {
        let all = runs.iter().map(|run| run.p99_9);
        (
            all.clone().fold(f64::MAX, f64::min),
            all.fold(0.0, f64::max),
        )
    };
    let (low, high) = spread(theirs);
    let ours = median(ours, |run| run.p99_9);
    bar(
        &format!("median p99.9 {ours:.0} ns not above cyclictest's spread, {low:.0} to {high:.0}"),
        ours <= high,
    );
    held
}

fn median(runs: &[Run], of: fn(&Run) -> f64) -> f64 {
    let mut values: Vec<f64> = runs.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn cyclictest(place: &Place, folder: &Path) -> Result<Distribution, String> {
    let file = folder.join("cyclictest.json");
    let mut command = Command::new("cyclictest");
    // Nanoseconds, memory locked, a bucket for each ns up to 1 ms: its histogram's largest.
    command
        .args(COMMON)
        .args(["-a", &place.measured, "-m", "-N", "-h", "1000000"])
        .arg(format!("--mainaffinity={}", place.main))
        .arg(format!("--json={}", file.display()));
    let package = "; it is in the Debian package rt-tests, and needs root";
    run(&mut command, "cyclictest", package)?;
    latency(&import::read(&file, None, None).map_err(|error| error.to_string())?)
}

fn own(place: &Place, folder: &Path) -> Result<Distribution, String> {
    let file = folder.join("artis.json");
    let mut command = Command::new("taskset");
    command
        .args(["-c", &place.main, env!("CARGO_BIN_EXE_artis")])
        .args(["measure", "latency"])
        .args(COMMON)
        .args(["-a", &place.measured, "--json"]);
    run(
        command.arg(&file),
        "artis measure latency",
        "; it needs root",
    )?;
    latency(&artis::result::file::read(&file).map_err(|error| error.to_string())?)
}

fn run(command: &mut Command, name: &str, hint: &str) -> Result<(), String> {
    let output = command
        .stdout(Stdio::null())
        .output()
        .map_err(|error| format!("could not start {name}: {error}{hint}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{name} ended with {}: {}{hint}",
            output.status,
            said.trim()
        )),
    }
}

fn latency(document: &Document) -> Result<Distribution, String> {
    let all = document.merged("latency");
    all.ok_or_else(|| "the result has no latency".to_owned())
}

fn figures(all: &Distribution) -> Result<Run, String> {
    let moments = all.moments().ok_or("the result has no sample")?;
    let percentile = |percent| all.percentile(percent).map_or(f64::NAN, |ns| ns as f64);
    Ok(Run {
        min: moments.min as f64,
        p0_1: percentile(0.1),
        mean: moments.mean,
        p50: percentile(50.0),
        p99_9: percentile(99.9),
        max: moments.max as f64,
    })
}
