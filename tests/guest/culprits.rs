// SPDX-License-Identifier: GPL-2.0-only
//! Makes a 1 kHz thread late on purpose, and counts how often the explanation is right.
//!
//! `culprits KIND TIMES`: the kinds are listed in `injections/kinds.rs`. Injects at random moments;
//! a loss is judged when it is known without the recorder that an injection made it, and not when
//! the hypervisor's steal clock says that the machine itself was stopped. Prints one line of
//! numbers, and on standard error what was wrong.
//!
//! `culprits KIND TIMES MS` has no victim and judges nothing: it injects for so many milliseconds
//! (kernel work twice as long), for whoever watches the last CPU, and prints when: begin and end,
//! ns of `CLOCK_MONOTONIC`.
//!
//! It is an example of the package only so that cargo builds it with the tests.

mod injections;

use artis::explain::recording::{Hole, Loss, Recording, Subject};
use artis::explain::summary::{chief, summary};
use artis::explain::{Lane, Segment, cut};
use artis::recorder::{Recorder, Settings, Storage, Watched};
use injections::{Evidence, Injection, Kind, Shared};
use nix::sys::prctl;
use nix::unistd::gettid;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Between two injections that somebody else watches.
const REST: Duration = Duration::from_millis(500);
/// Of a loss, an injection must have had the CPU so much.
const COVERED: f64 = 0.6;
/// Of a loss, so many injections must lie within it, where they are counted.
const COUNTED: usize = 3;
/// Of a loss, more than that stolen by the hypervisor is not ours.
const STOLEN: f64 = 0.25;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (kind, times, ms) = match &words[..] {
        [kind, times] => (kind, times, None),
        [kind, times, ms] => (kind, times, Some(ms)),
        _ => panic!("usage: culprits KIND TIMES [MS]"),
    };
    let kind = Kind::named(kind).expect("a kind that is known");
    let times: usize = times.parse().expect("how often");
    match ms {
        None => inject_and_judge(kind, times),
        Some(ms) => inject(
            kind,
            times,
            Duration::from_millis(ms.parse().expect("a number of ms")),
        ),
    }
}

/// For somebody else who watches.
fn inject(kind: Kind, times: usize, spin: Duration) {
    let shared = Shared::new(spin);
    for _ in 0..times {
        std::thread::sleep(REST);
        // In a thread, because it takes a name and a priority.
        let made = std::thread::scope(|scope| {
            let maker = scope.spawn(|| injections::make(kind, &shared, 1));
            maker.join().expect("the maker ends")
        });
        match made {
            Ok(injected) => {
                for one in injected {
                    println!("{} {}", one.begin_ns, one.end_ns);
                }
            }
            Err(why) => return println!("cannot be done here: {why}"),
        }
    }
}

fn inject_and_judge(kind: Kind, times: usize) {
    let mut storage = Storage::uninit();
    let settings = Settings {
        worst: 4 * times,
        threshold_ns: kind.threshold_ns(),
        until_ns: None,
    };
    let mut recorder = match Recorder::load(&mut storage, settings) {
        Ok(recorder) => recorder,
        Err(error) => return println!("refused {error}"),
    };
    let shared = Shared::new(injections::SPIN);
    let made = std::thread::scope(|scope| {
        let victim = scope.spawn(|| injections::victim(kind, &shared));
        let maker = scope.spawn(|| {
            while shared.victim.load(Relaxed) == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            let made = injections::make(kind, &shared, times);
            shared.done.store(true, Relaxed);
            made
        });
        let mut watched = 0;
        while !victim.is_finished() || !maker.is_finished() {
            let tid = shared.victim.load(Relaxed);
            if tid != watched {
                recorder.watch(&Watched::Thread(tid)).expect("room for one");
                watched = tid;
            }
            recorder.poll();
            std::thread::sleep(Duration::from_millis(10));
        }
        let own = victim.join().expect("the victim ends");
        let made = maker.join().expect("the maker ends");
        made.map(|made| match kind.evidence() {
            Evidence::Own => own,
            _ => made,
        })
    });
    recorder.finish();
    let injected = match made {
        Ok(injected) => injected,
        Err(why) => return println!("cannot be done here: {why}"),
    };
    let kept = recorder.kept();
    let tally = judge(kind, &shared, &kept, &injected);
    println!(
        "injected {} kept {} {tally} missed {}",
        injected.len(),
        kept.len(),
        recorder.missed().losses
    );
}

/// How much of an interval an injection had the CPU at least.
fn covered_ns(subject: &Subject, injected: &[Injection]) -> u64 {
    let parts = injected.iter().map(|one| {
        let begin_ns = one.begin_ns.max(subject.due_ns);
        let both_ns = one.end_ns.min(subject.end_ns).saturating_sub(begin_ns);
        both_ns.saturating_sub(one.waited_ns)
    });
    parts.sum()
}

/// The injections that lie within an interval.
fn within<'a>(subject: &Subject, injected: &'a [Injection]) -> impl Iterator<Item = &'a Injection> {
    let (due_ns, end_ns) = (subject.due_ns, subject.end_ns);
    let within = move |one: &&Injection| one.begin_ns >= due_ns && one.end_ns <= end_ns;
    injected.iter().filter(within)
}

/// What is counted.
#[derive(Default)]
struct Tally {
    judged: u64,
    right: u64,
    stolen: u64,
    /// The victim waited for the CPU while it did it to itself.
    waited: u64,
    /// Events were overwritten before the recorder copied them, as the recording says itself.
    overwritten: u64,
    /// Of the losses that were judged.
    unknown_ns: u64,
    of_ns: u64,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "judged {} right {} stolen {} waited {} overwritten {} unknown_ns {} of_ns {}",
            self.judged,
            self.right,
            self.stolen,
            self.waited,
            self.overwritten,
            self.unknown_ns,
            self.of_ns
        )
    }
}

fn judge(kind: Kind, shared: &Shared, kept: &[Recording], injected: &[Injection]) -> Tally {
    let mut tally = Tally::default();
    for recording in kept {
        let subject = &recording.subject;
        let segments = cut(recording);
        let whole_ns = subject.end_ns - subject.due_ns;
        assert_eq!(segments.iter().map(Segment::ns).sum::<u64>(), whole_ns);
        let covered = match kind.evidence() {
            Evidence::Covers => covered_ns(subject, injected) as f64 >= COVERED * whole_ns as f64,
            Evidence::Within { .. } => {
                subject.loss == Loss::Late && within(subject, injected).count() >= COUNTED
            }
            Evidence::Own => {
                subject.loss == Loss::Stretched && within(subject, injected).next().is_some()
            }
            Evidence::Lock => subject.loss == Loss::LockedOut,
        };
        if !covered {
            continue;
        }
        let waited_ns: u64 = within(subject, injected).map(|one| one.waited_ns).sum();
        if kind.evidence() == Evidence::Own
            && waited_ns as f64 > (1.0 - COVERED) * subject.lost_ns as f64
        {
            tally.waited += 1;
            continue;
        }
        let of = |lane: Lane| -> u64 {
            let segments = segments.iter().filter(|one| one.lane == lane);
            segments.map(Segment::ns).sum()
        };
        if of(Lane::Hypervisor) as f64 > STOLEN * subject.lost_ns as f64 {
            tally.stolen += 1;
            continue;
        }
        let is_within =
            |hole: &Hole| hole.from_ns < subject.end_ns && hole.until_ns > subject.due_ns;
        if of(Lane::Unknown) > 0 && recording.holes.iter().any(is_within) {
            tally.overwritten += 1;
            continue;
        }
        tally.judged += 1;
        tally.unknown_ns += of(Lane::Unknown);
        tally.of_ns += whole_ns;
        let fits = fits(kind, shared, recording, injected, &segments);
        match fits {
            true => tally.right += 1,
            false => {
                let count = within(subject, injected).count();
                let rows = summary([&segments[..]]);
                let holes = &recording.holes;
                eprintln!(
                    "{kind:?}: {} ns, {count} within: {rows:?}, holes: {holes:?}",
                    subject.lost_ns
                );
            }
        }
    }
    tally
}

/// Whether the segments say what they are to say.
fn fits(
    kind: Kind,
    shared: &Shared,
    recording: &Recording,
    injected: &[Injection],
    segments: &[Segment],
) -> bool {
    let expected =
        |lane: Lane, culprit: Option<&str>| kind.expects(lane, culprit.unwrap_or_default(), shared);
    if let Evidence::Within { percent } = kind.evidence() {
        let found = segments.iter();
        let found = found.filter(|one| expected(one.lane, one.culprit.as_deref()));
        let found = found.count();
        let count = within(&recording.subject, injected).count();
        return found >= 1 && 100 * found >= percent * count;
    }
    chief(segments).is_some_and(|(lane, culprit, _)| {
        let words = |one: &Segment| {
            let mut words = one.code.iter().chain(&one.chain);
            let is_chief = one.lane == lane && one.culprit == culprit;
            is_chief && words.any(|words| words.contains(kind.says()))
        };
        let says = kind.says().is_empty() || segments.iter().any(words);
        expected(lane, culprit.as_deref()) && says
    })
}

/// Names the calling thread, and gives its number.
pub(crate) fn named(name: &std::ffi::CStr) -> u32 {
    prctl::set_name(name).expect("a short name");
    gettid().as_raw().cast_unsigned()
}
