// SPDX-License-Identifier: GPL-2.0-only
//! The facts of the recorded cases. They are made, not measured: each distribution has the
//! numbers that its comment names, so that every case has an answer that can be worked out.

use artis::result::{Distribution, Document, Kind, LoadDone, Machine, Series, Setup, Unit};

/// How many values there are of each time, microseconds.
type Counts<'a> = &'a [(f64, u64)];

/// One file: what it measures.
pub struct Facts<'a> {
    pub file: &'static str,
    preemption: &'static str,
    scheduler: Option<&'static str>,
    virtualisation: Option<&'static str>,
    latency: Counts<'a>,
    /// Mean time of a barrier's round.
    round_us: Option<f64>,
    /// The load, and its work per second.
    load: (&'static str, f64),
}

const STOCK: Facts = Facts {
    file: "",
    preemption: "voluntary",
    scheduler: None,
    virtualisation: None,
    latency: &[],
    round_us: None,
    load: ("hackbench", 1.0),
};

/// McKenney, sections 2.1 and 2.2: up to 3 ms late; real-time Linux within 20 us, in 99.999 % of
/// 10,000,000 trials within 13 us. A kernel build takes 1332.6 s and 1556.2 s.
const PAPER_STOCK: Facts = Facts {
    file: "paper-stock.json",
    latency: &[
        (10.0, 9_800_000),
        (100.0, 180_000),
        (800.0, 19_900),
        (3000.0, 100),
    ],
    load: ("kernel-build", 1.0 / 1332.6),
    ..STOCK
};
const PAPER_RT: Facts = Facts {
    file: "paper-rt.json",
    preemption: "PREEMPT_RT",
    latency: &[(8.0, 9_000_000), (13.0, 999_900), (20.0, 100)],
    load: ("kernel-build", 1.0 / 1556.2),
    ..STOCK
};

const RT: Facts = Facts {
    preemption: "PREEMPT_RT",
    ..STOCK
};

/// All files.
pub const ALL: [Facts; 14] = [
    PAPER_STOCK,
    PAPER_RT,
    // Flips the kernel build: it builds 5 % faster than stock.
    Facts {
        file: "paper-rt-fast.json",
        load: ("kernel-build", 1.05 / 1332.6),
        ..PAPER_RT
    },
    // A barrier computation: rounds of 1 ms that lose 8 % to OS jitter on stock, 1 % on
    // PREEMPT_RT; and one in which it loses as much.
    Facts {
        file: "barrier-stock.json",
        round_us: Some(1080.0),
        ..STOCK
    },
    Facts {
        file: "barrier-rt.json",
        round_us: Some(1010.0),
        ..RT
    },
    Facts {
        file: "barrier-rt-noisy.json",
        round_us: Some(1100.0),
        ..RT
    },
    // A machine on which everything was measured, beside hackbench.
    Facts {
        file: "board-stock.json",
        latency: &[(20.0, 990_000), (300.0, 9900), (4000.0, 100)],
        load: ("hackbench", 100.0),
        ..STOCK
    },
    Facts {
        file: "board-tuned.json",
        latency: &[(20.0, 999_000), (300.0, 990), (900.0, 10)],
        load: ("hackbench", 98.0),
        ..STOCK
    },
    Facts {
        file: "board-shield.json",
        latency: &[(10.0, 999_900), (60.0, 100)],
        load: ("hackbench", 52.0),
        ..STOCK
    },
    Facts {
        file: "board-artis.json",
        scheduler: Some("artis"),
        latency: &[(12.0, 999_900), (70.0, 100)],
        load: ("hackbench", 95.0),
        ..STOCK
    },
    Facts {
        file: "board-rt.json",
        latency: &[(15.0, 999_900), (120.0, 100)],
        load: ("hackbench", 86.0),
        ..RT
    },
    Facts {
        file: "board-artis-rt.json",
        scheduler: Some("artis"),
        latency: &[(12.0, 999_900), (45.0, 100)],
        load: ("hackbench", 82.0),
        ..RT
    },
    // Inside a virtual machine.
    Facts {
        file: "vm-stock.json",
        virtualisation: Some("KVM"),
        latency: &[(50.0, 990_000), (5000.0, 10_000)],
        load: ("hackbench", 50.0),
        ..STOCK
    },
    Facts {
        file: "vm-rt.json",
        virtualisation: Some("KVM"),
        latency: &[(40.0, 999_990), (600.0, 10)],
        load: ("hackbench", 44.0),
        ..RT
    },
];

impl Facts<'_> {
    /// As `artis measure` writes it.
    pub fn document(&self) -> Document {
        let seconds = 1000.0;
        let mut document = Document::new(Setup::default());
        document.tool = "artis".to_owned();
        document.seconds = Some(seconds);
        document.machine = Some(Machine {
            kernel: "6.12.0".to_owned(),
            preemption: self.preemption.to_owned(),
            cmdline: String::new(),
            cpus: "0-3".to_owned(),
            cpu_model: Some("a CPU".to_owned()),
            scheduler: self.scheduler.map(str::to_owned),
            virtualisation: self.virtualisation.map(str::to_owned),
        });
        let (load, per_second) = self.load;
        document.load = vec![LoadDone {
            name: load.to_owned(),
            cpus: None,
            command: load.to_owned(),
            work: per_second * seconds,
            unit: "rounds".to_owned(),
            seconds,
            cpu_seconds: None,
        }];
        let mut push = |name: &str, kind, counts: Counts| {
            let mut all = Distribution::new();
            for (us, count) in counts {
                all.record_n((us * 1000.0) as i64, *count);
            }
            let series = Series::new(name, kind, Unit::Nanoseconds, all);
            document.series.push(series);
        };
        if !self.latency.is_empty() {
            push("latency", Kind::Latency, self.latency);
        }
        if let Some(us) = self.round_us {
            push("round", Kind::Duration, &[(us, 10_000)]);
        }
        document
    }
}
