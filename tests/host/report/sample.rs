// SPDX-License-Identifier: GPL-2.0-only
//! Files that together fill every section of the page. Their figures are made up and always the
//! same; their words are long, and full of what a page must not take for its own.

use artis::result::{
    BlockMaxima, Distribution, Document, Kind, LoadDone, Machine, Series, Setup, Unit, Warning,
};

/// A name that would be markup.
pub const NASTY: &str = "<script>x&y</script>";

/// One configuration: how late, how much stretched, how much work.
pub struct Sketch {
    pub file: &'static str,
    pub base_ns: i64,
    /// The larger, the worse the worst case.
    pub tail_ns: i64,
    pub work: f64,
}

pub const SKETCHES: [Sketch; 2] = [
    Sketch {
        file: "stock",
        base_ns: 21_000,
        tail_ns: 270_000,
        work: 1000.0,
    },
    Sketch {
        file: "artis",
        base_ns: 23_000,
        tail_ns: 28_000,
        work: 940.0,
    },
];

const SAMPLES: i64 = 20_000;

impl Sketch {
    fn document(&self, what: &str) -> Document {
        let words = format!("/usr/bin/artis measure {what} -a 0-3 --load hackbench -D 20");
        let mut document = Document::new(Setup {
            command: words.split(' ').map(str::to_owned).collect(),
            ..Setup::default()
        });
        document.tool = "artis 0.1.0".to_owned();
        document.started = Some("2026-11-25T02:00:00Z".to_owned());
        document.seconds = Some(20.0);
        document.machine = Some(Machine {
            cmdline: format!("quiet {}", "a_long_argument_without_a_blank=1,".repeat(8)),
            cpus: "0-3".to_owned(),
            preemption: "lazy".to_owned(),
            cpu_model: Some("a <b>CPU</b>".to_owned()),
            scheduler: (self.file == "artis").then(|| "artis".to_owned()),
            ..Machine::of_kernel("6.12.0".to_owned())
        });
        document.load.push(LoadDone {
            name: "hackbench".to_owned(),
            cpus: None,
            command: "hackbench".to_owned(),
            work: self.work,
            unit: "rounds".to_owned(),
            seconds: 20.0,
            cpu_seconds: Some(70.0),
        });
        document
    }

    /// Of every seventh, hundredth and so on some are later.
    fn latency(&self, at: i64, cpu: i64) -> i64 {
        let rare = [(7, 9), (101, 6), (1009, 3), (10_007, 1)];
        let late = rare.iter().filter(|(every, _)| at % every == every - 1);
        let late = late.map(|(_, part)| self.tail_ns / part).max().unwrap_or(0);
        self.base_ns + (at * 37 + cpu * 11) % 4000 + late
    }

    /// As `artis measure all` writes it.
    pub fn all(&self) -> Document {
        let mut document = self.document("all");
        for cpu in 0..4 {
            let mut blocks = BlockMaxima::new();
            let mut latencies = Distribution::signed();
            let mut execution = Distribution::new();
            for at in 0..SAMPLES {
                let ns = self.latency(at, cpu);
                latencies.record(ns);
                blocks.record(ns, at.unsigned_abs() * 1_000_000);
                execution.record(50_000 + ns / 4);
            }
            let on_cpu = |series| Series {
                cpu: u32::try_from(cpu).ok(),
                thread: u32::try_from(cpu).ok(),
                max_at_s: Some(10.006),
                ..series
            };
            let latency = Series::new("latency", Kind::Latency, Unit::Nanoseconds, latencies);
            document.series.push(Series {
                blocks: blocks.blocks(),
                ..on_cpu(latency)
            });
            document.series.push(on_cpu(Series::new(
                "execution_time",
                Kind::ExecutionTime,
                Unit::Nanoseconds,
                execution,
            )));
        }
        document.audit.push(Warning {
            id: "rt_throttling".to_owned(),
            seen: format!("{NASTY} {}", "0123456789abcdef".repeat(12)),
            why: "real-time tasks stop for 50 ms of each second".to_owned(),
            fix: Some("sysctl kernel.sched_rt_runtime_us=-1".to_owned()),
        });
        document
    }

    /// As `artis measure jitter` writes it.
    pub fn jitter(&self) -> Document {
        let mut document = self.document("jitter");
        let mut push = |name: &str, kind, cpu, values: &[i64]| {
            let mut all = Distribution::new();
            for value in values {
                all.record(*value);
            }
            let series = Series::new(name, kind, Unit::Nanoseconds, all);
            document.series.push(Series { cpu, ..series });
        };
        push("round", Kind::Duration, None, &[1_000_000, 1_200_000]);
        push("lost", Kind::Noise, None, &[0, 200_000]);
        for cpu in 0..4 {
            let worst = self.tail_ns * i64::from(cpu + 1);
            push("noise", Kind::Noise, Some(cpu), &[1000, 2000, worst]);
        }
        document
    }

    /// As `artis measure completion` writes it.
    pub fn completion(&self) -> Document {
        let mut document = self.document("completion");
        for nature in ["user", "system-calls", "io"] {
            for length_us in [1, 10, 100, 1000, 10_000, 100_000] {
                // Late in beginning and fast, or the other way round.
                let start = self.tail_ns / 4;
                let work = i64::from(length_us) * self.base_ns / 21;
                for (part, kind, ns) in [
                    ("start", Kind::Latency, start),
                    ("work", Kind::ExecutionTime, work),
                    ("completion", Kind::Duration, start + work),
                ] {
                    let mut all = Distribution::new();
                    for at in 0..50 {
                        all.record(ns + at * 10);
                    }
                    let name = format!("{part}.{nature}.{length_us}us");
                    let series = Series::new(&name, kind, Unit::Nanoseconds, all);
                    document.series.push(series);
                }
            }
        }
        document
    }
}
