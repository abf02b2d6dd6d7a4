// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own tool beside artis: the same culprits are injected, once while `rtla timerlat`
//! watches a thread of its own, and once while `artis explain` watches one of the same period and
//! priority. Only the `-rt` kernel has the tracer that rtla needs.
//!
//! Both are judged by the same rule: the injection, which says itself when it began and ended, had
//! the CPU for most of the loss. What else makes the threads of an emulated machine late says
//! nothing of either.

use super::guest::{artis, run, text};
use crate::common::{count, probe, skipped};
use artis::explain::summary::chief;
use artis::explain::{Document, Lane};
use artis::lab::debian::apt::users_mirror;
use artis::lab::debian::program::{Program, Wanted};
use artis::lab::host::cache::Cache;
use artis::lab::progress::Silent;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The suite of the newest kernels first.
const RTLA: Wanted = Wanted {
    packages: &["rtla"],
    suites: &["trixie-backports", "trixie"],
    program: "usr/bin/rtla",
};

/// Of a loss, an injection must have had the CPU so much.
const COVERED: f64 = 0.6;
/// With fewer, nothing is said.
const JUDGED_MIN: u64 = 3;
/// How well two clocks of a guest are compared, ns.
const CLOCKS_NS: f64 = 100e6;

/// Who is injected, by what the two call it.
struct Kind {
    name: &'static str,
    /// What rtla names: a thread, and that thread's share or another cause of delay.
    rtla: fn(&Said) -> bool,
    lane: Lane,
    culprit: &'static str,
}

const KINDS: [Kind; 6] = [
    Kind {
        name: "fifo",
        rtla: |said| said.took("inj-fifo"),
        lane: Lane::RealTimeTask,
        culprit: "inj-fifo",
    },
    Kind {
        name: "deadline",
        rtla: |said| said.took("inj-deadline"),
        lane: Lane::DeadlineTask,
        culprit: "inj-deadline",
    },
    Kind {
        name: "kept",
        rtla: |said| said.took("inj-kept"),
        lane: Lane::PreemptionOff,
        culprit: "inj-kept",
    },
    Kind {
        name: "work",
        rtla: |said| said.took("kworker/"),
        lane: Lane::PreemptionOff,
        culprit: "kworker/",
    },
    Kind {
        name: "masked",
        rtla: |said| said.delay_us > said.latency_us / 2.0 && said.names("inj-masked"),
        lane: Lane::InterruptsOff,
        culprit: "inj-masked",
    },
    // Its analysis has no line for it: a later interrupt, the trace's own, takes its place. Only
    // the trace names it.
    Kind {
        name: "barrier",
        rtla: |said| said.shows_interrupt("call_function"),
        lane: Lane::HardInterrupt,
        culprit: "IPI from inj-ipi",
    },
];

/// What rtla's auto-analysis said of one loss.
#[derive(Debug, Default)]
struct Said {
    latency_us: f64,
    delay_us: f64,
    /// Threads, with what each took.
    threads: Vec<(String, f64)>,
    /// Interrupts in the end of the trace.
    interrupts: Vec<(String, f64)>,
    /// When the trace was stopped, by its clock.
    stopped_ns: f64,
}

impl Said {
    fn read(text: &str) -> Option<Self> {
        let mut said = Self::default();
        let mut section = "";
        for line in text.lines() {
            let us = us(line).unwrap_or_default();
            let words = line.trim_start();
            let mut titles = [
                "IRQ handler delay",
                "Blocking thread:",
                "IRQ interference",
                "Thread interference",
            ]
            .into_iter();
            if let Some(title) = titles.find(|title| words.starts_with(title)) {
                section = title;
                if title == "IRQ handler delay" {
                    said.delay_us = us;
                }
            } else if words.starts_with("Thread latency:") {
                said.latency_us = us;
            } else if let Some((_, noise)) = words.split_once(": irq_noise: ") {
                // `irq_noise: call_function_single:251 start 173.657709018 duration 400294712 ns`
                let mut noise = noise.split_whitespace();
                let (name, ns) = (noise.next()?, noise.rev().nth(1)?);
                let us = ns.parse::<f64>().ok()? / 1e3;
                said.interrupts.push((name.to_owned(), us));
            } else if let Some(at) = words.find(": stop tracing hit") {
                // `timerlatu/1-355 [001] ....1 49.440571: timerlat_fd_read: stop tracing hit`
                let seconds = words[..at].split(": ").next()?.split_whitespace().last()?;
                said.stopped_ns = seconds.parse::<f64>().ok()? * 1e9;
            } else if section == "Blocking thread:" || section == "Thread interference" {
                let (name, _) = words.rsplit_once(':').unwrap_or((words, ""));
                if us > 0.0 {
                    said.threads.push((name.to_owned(), us));
                }
            }
        }
        (said.latency_us > 0.0 && said.stopped_ns > 0.0).then_some(said)
    }

    /// Is it said that this thread took most?
    fn took(&self, name: &str) -> bool {
        let of = self.threads.iter().filter(|(one, _)| one.starts_with(name));
        of.map(|(_, us)| us).sum::<f64>() > self.latency_us / 2.0
    }

    fn names(&self, name: &str) -> bool {
        self.threads.iter().any(|(one, _)| one.starts_with(name))
    }

    fn shows_interrupt(&self, name: &str) -> bool {
        let mut long = self.interrupts.iter();
        long.any(|(one, us)| one.starts_with(name) && *us > self.latency_us / 2.0)
    }
}

/// The time at the end of a line, without its share: `  IRQ latency:   69585.03 us (7.01 %)`.
fn us(line: &str) -> Option<f64> {
    let (before, _) = line.rsplit_once(" us")?;
    before.split_whitespace().last()?.parse().ok()
}

/// When an injection had the CPU, ns of `CLOCK_MONOTONIC`.
struct Injected {
    begin_ns: f64,
    end_ns: f64,
}

impl Injected {
    /// The lines `BEGIN END` of `culprits`; it says in words what it could not do.
    fn read(text: &str) -> Vec<Self> {
        let line = |line: &str| {
            let (begin, end) = line.split_once(' ')?;
            Some(Self {
                begin_ns: begin.parse().ok()?,
                end_ns: end.parse().ok()?,
            })
        };
        text.lines().filter_map(line).collect()
    }

    /// Did it have the CPU for most of this loss? `off_ns`: how exactly that is known.
    fn made(&self, begin_ns: f64, end_ns: f64, off_ns: f64) -> bool {
        let both_ns = self.end_ns.min(end_ns) - self.begin_ns.max(begin_ns);
        both_ns + off_ns >= COVERED * (end_ns - begin_ns)
    }
}

/// The trace's clock less `CLOCK_MONOTONIC`, ns, of a line `moment TRACE MONOTONIC` in seconds.
fn clocks_ns(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("moment "))?;
    let (trace, monotonic) = line.split_once(' ')?;
    let seconds = |text: &str| text.parse::<f64>().ok();
    Some((seconds(trace)? - seconds(monotonic)?) * 1e9)
}

/// How many losses were judged, and of how many the right one was named.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    judged: u64,
    right: u64,
}

impl Tally {
    fn count(&mut self, right: bool) {
        self.judged += 1;
        self.right += u64::from(right);
    }
}

/// Trials of one kind: what rtla said, and what artis did.
fn judge(kind: &Kind, output: &Path, trials: u64) -> [Tally; 2] {
    let file = |name: String| text(&fs::read(output.join(name)).unwrap_or_default());
    let mut rtla = Tally::default();
    for trial in 0..trials {
        let injected = file(format!("injected.{}.{trial}", kind.name));
        let Some(clocks_ns) = clocks_ns(&injected) else {
            continue;
        };
        let analysis = file(format!("rtla.{}.{trial}", kind.name));
        let Some(said) = Said::read(&analysis) else {
            continue;
        };
        let end_ns = said.stopped_ns - clocks_ns;
        let begin_ns = end_ns - said.latency_us * 1e3;
        let mut injected = Injected::read(&injected).into_iter();
        if injected.any(|one| one.made(begin_ns, end_ns, CLOCKS_NS)) {
            let right = (kind.rtla)(&said);
            rtla.count(right);
            println!("rtla {} {trial}: {right}: {said:?}", kind.name);
        }
    }
    let mut own = Tally::default();
    let injected = Injected::read(&file(format!("injected.{}", kind.name)));
    let document = fs::read(output.join(format!("artis.{}.json", kind.name))).unwrap();
    for explained in &Document::read(&document).unwrap().worst {
        let subject = &explained.recording.subject;
        let (begin_ns, end_ns) = (subject.due_ns as f64, subject.end_ns as f64);
        if injected.iter().any(|one| one.made(begin_ns, end_ns, 0.0)) {
            let said = chief(&explained.segments);
            let right = said.as_ref().is_some_and(|(lane, culprit, _)| {
                let culprit = culprit.as_deref().unwrap_or_default();
                *lane == kind.lane && culprit.starts_with(kind.culprit)
            });
            own.count(right);
            println!("artis {}: {right}: {said:?}", kind.name);
        }
    }
    [rtla, own]
}

/// Injects one kind in a guest of its own: the more often tracing is switched on and off in one,
/// the likelier the emulator fails at the code that the kernel patches then.
fn inject(kind: &Kind, trials: u64, archive: &Path, output: &Path) {
    let guest = |name: &str| format!("{}/tests/guest/{name}:/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut command = artis(&["lab", "run", "--kernel", "newest-rt", "--timeout", "0"]);
    command.arg("--output").arg(output);
    command.args(["--file", &guest("common.sh"), "--file", &guest("rtla.sh")]);
    command
        .arg("--file")
        .arg(format!("{}:/rtla.tar", archive.display()));
    command
        .arg("--file")
        .arg(probe().with_file_name("culprits"));
    command.args(["--", "sh", "/rtla.sh", &trials.to_string(), kind.name]);
    let ended = run(&mut command);
    let said = format!("{}{}", text(&ended.stdout), text(&ended.stderr));
    assert!(ended.status.success(), "{said}");
}

#[test]
#[ignore = "half an hour; `make soak` runs it"]
fn rtla_and_artis_name_who_was_injected() {
    const TEST: &str = "rtla::rtla_and_artis_name_who_was_injected";
    let trials = count(5, 10);
    let cache = Cache::per_user().unwrap();
    let mirror = users_mirror().unwrap();
    let rtla = Program::resolve(RTLA, &cache, &mirror, &mut Silent).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("rtla.tar");
    // Its libraries are not this machine's, so its files go into the guest as they are.
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(rtla.path("")).arg("-cf").arg(&archive);
    let packed = tar.args(["usr/bin/rtla", "usr/lib/x86_64-linux-gnu"]);
    assert!(packed.status().unwrap().success());
    for kind in &KINDS {
        let output = folder.path().join(kind.name);
        fs::create_dir(&output).unwrap();
        inject(kind, trials, &archive, &output);
        let [rtla, own] = judge(kind, &output, trials);
        println!("{}: rtla {rtla:?}, artis {own:?}", kind.name);
        for tally in [rtla, own] {
            let said = format!("{}: {tally:?}", kind.name);
            // The emulator's own stops end some trials before they begin: most, on a busy host.
            if tally.judged < JUDGED_MIN {
                skipped(TEST, &format!("too few late wakeups to judge: {said}"));
                continue;
            }
            // One may meet a stop.
            let wrong = tally.judged - tally.right;
            assert!(wrong <= (tally.judged / 4).max(1), "{said}");
        }
    }
}

#[test]
fn the_words_of_an_analysis_are_understood() {
    let analysis = "\
## CPU 1 hit stop tracing, analyzing it ##
  IRQ handler delay:                                     12222.11 us (5.43 %)
  IRQ latency:                                           12480.48 us
  Timerlat IRQ duration:                                   790.06 us (0.35 %)
  Blocking thread:                                      194843.40 us (86.62 %)
                    kworker/1:1:41                      194843.40 us
    Blocking thread stack trace
                -> timerlat_irq
  IRQ interference                                       16859.11 us (7.50 %)
               local_timer:236                             280.89 us
  Thread interference                                       56.10 us (0.02 %)
                   migration/1:20                           56.10 us
------------------------------------------------------------------------
  Thread latency:                                       224937.48 us (100%)
  <idle>-0  [001] d.h1.  46.9: irq_noise: local_timer:236 start 46.8 duration 122469000 ns
  timerlatu/1-417  [001] ....1  46.904120: timerlat_fd_read: stop tracing hit on cpu 1
";
    let said = Said::read(analysis).unwrap();
    assert_eq!(said.delay_us, 12222.11);
    assert_eq!(said.latency_us, 224_937.48);
    let names: Vec<&str> = said.threads.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, ["kworker/1:1", "migration/1"]);
    assert!(said.took("kworker/") && !said.took("migration"));
    assert!(said.shows_interrupt("local_timer") && !said.shows_interrupt("irq_work"));
    assert!((said.stopped_ns - 46_904_120_000.0).abs() < 1.0);
    assert!(Said::read("status 0\n").is_none());
    assert_eq!(
        clocks_ns("moment 45.760375 45.37\n1 2\n").map(f64::round),
        Some(390_375_000.0)
    );
}
