// SPDX-License-Identifier: GPL-2.0-only
//! What the flight recorder of `artis explain` costs, counted in instructions: RT0's wakeups and the
//! work of loads beside it, with the recorder and without, one after the other in one guest.

use super::{artis, guest_file, stderr};
use artis::explain;
use artis::result::{Distribution, file};
use std::fs;
use std::path::Path;

/// Of each measurement.
const SECONDS: u64 = 2;

/// Seeds, and what comes first with each: who comes second finds the machine as the first left it.
const ROUNDS: [(u64, &str); 1] = [(1, "off on")];

/// What is held beside a load (`none`: no load): with the recorder, so many times what it is
/// without. At most: the mean wakeup and the worst one; at least: the load's work. Measured, with a
/// tenth more for means and work, and a quarter for the worst, which is one sample.
struct Bars {
    load: &'static str,
    mean: f64,
    worst: f64,
    work: f64,
}

/// Each row is a guest of its own.
const BARS: [[Bars; 2]; 2] = [
    [
        Bars {
            load: "none",
            mean: 2.0,
            worst: 5.1,
            work: 0.0,
        },
        Bars {
            load: "compute",
            mean: 2.1,
            worst: 8.1,
            work: 0.62,
        },
    ],
    [
        Bars {
            load: "hackbench",
            mean: 1.9,
            worst: 1.95,
            work: 0.59,
        },
        Bars {
            load: "io",
            mean: 2.1,
            worst: 5.1,
            work: 0.57,
        },
    ],
];

/// What one way of measuring gave beside a load, in all rounds.
struct Way {
    latency: Distribution,
    work: f64,
    work_seconds: f64,
    events: u64,
    events_seconds: f64,
    lost: u64,
}

impl Way {
    fn read(folders: &[tempfile::TempDir], load: &str, way: &str) -> Self {
        let mut all = Self {
            latency: Distribution::new(),
            work: 0.0,
            work_seconds: 0.0,
            events: 0,
            events_seconds: 0.0,
            lost: 0,
        };
        for folder in folders {
            all.add(folder.path(), &format!("{load}-{way}"));
        }
        all
    }

    fn add(&mut self, folder: &Path, name: &str) {
        let document = file::read(&folder.join(format!("{name}.json"))).unwrap();
        self.latency.merge(&document.merged("latency").unwrap());
        for done in &document.load {
            self.work += done.work;
            self.work_seconds += done.seconds;
        }
        let Ok(text) = fs::read(folder.join(format!("{name}-events.json"))) else {
            return;
        };
        let document = explain::Document::read(&text).unwrap();
        let missed = document.missed;
        self.events += document.events;
        self.events_seconds += document.seconds;
        self.lost += missed.events + missed.losses + missed.incomplete;
    }

    fn mean_us(&self) -> f64 {
        self.latency.moments().unwrap().mean / 1000.0
    }

    fn percentile_us(&self, percent: f64) -> f64 {
        self.latency.percentile(percent).unwrap() as f64 / 1000.0
    }

    fn work_per_second(&self) -> f64 {
        self.work / self.work_seconds
    }

    fn print(&self, load: &str, way: &str) {
        println!(
            "{load:<10} {way:<8} {:8} {:8.2} {:8.2} {:8.2} {:10.1} {:9.0} {:5}",
            self.latency.count(),
            self.mean_us(),
            self.percentile_us(99.9),
            self.percentile_us(100.0),
            self.work_per_second(),
            self.events as f64 / self.events_seconds,
            self.lost,
        );
    }
}

/// A guest that measures beside these loads. Its files.
fn guest(seed: u64, order: &str, row: &[Bars]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut command = artis(&["lab", "run", "--engine", "bochs", "--output"]);
    command.arg(folder.path()).arg("--seed");
    command.arg(seed.to_string());
    for name in ["common.sh", "cost.sh"] {
        let file = format!("{}:/{name}", guest_file(name));
        command.args(["--file", &file]);
    }
    command.args(["--", "sh", "/cost.sh", &SECONDS.to_string(), order]);
    command.args(row.iter().map(|bars| bars.load));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    folder
}

#[test]
#[ignore = "two guests, four minutes each: make soak"]
fn the_recorder_costs_what_is_said() {
    println!("us at 100 MIPS, emulated (bochs)");
    println!("load       recorder  wakeups     mean   99.9 %    worst     work/s  events/s  lost");
    let mut held = Vec::new();
    for row in &BARS {
        let folders = ROUNDS.map(|(seed, order)| guest(seed, order, row));
        for bars in row {
            let ways = ["off", "on"].map(|way| Way::read(&folders, bars.load, way));
            ways[0].print(bars.load, "off");
            ways[1].print(bars.load, "on");
            held.push((bars, ways));
        }
    }
    for (bars, [off, on]) in &held {
        let load = bars.load;
        assert!(on.events > 0 && on.lost == 0, "{load}: {} lost", on.lost);
        let mean = on.mean_us() / off.mean_us();
        let worst = on.percentile_us(100.0) / off.percentile_us(100.0);
        let work = on.work_per_second() / off.work_per_second();
        println!("{load}: mean {mean:.3}, worst {worst:.3}, work {work:.3} times");
        assert!(mean <= bars.mean && worst <= bars.worst, "beside {load}");
        // Without a load there is no work, and so no ratio.
        assert!(load == "none" || work >= bars.work, "beside {load}");
    }
}
