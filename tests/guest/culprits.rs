// SPDX-License-Identifier: GPL-2.0-only
//! Makes a 1 kHz thread late on purpose, and counts how often the explanation is right.
//!
//! `culprits KIND TIMES`: KIND is `fifo`, `deadline`, `softirq`, `ipi`, `kernel`, `faults`, `lock` or
//! `throttling`. Injects at random moments; a loss is judged when an injection covers most of it, and
//! not when the hypervisor's steal clock says that the machine itself was stopped. Prints one line of
//! numbers, and on standard error what was wrong. It is an example of the package only so that cargo
//! builds it with the tests.

mod injections;

use artis::explain::recording::{Loss, Recording};
use artis::explain::summary::{chief, summary};
use artis::explain::{Lane, cut};
use artis::recorder::{Recorder, Settings, Storage, Watched};
use injections::{Injection, Kind, Shared};
use nix::sys::prctl;
use nix::unistd::gettid;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Of a loss, so much must lie within injections.
const COVERED: f64 = 0.6;
/// Of a loss, more than that stolen by the hypervisor is not ours.
const STOLEN: f64 = 0.25;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kind, times] = &words[..] else {
        panic!("usage: culprits KIND TIMES");
    };
    let kind = Kind::named(kind).expect("a kind that is known");
    let times: usize = times.parse().expect("how often");
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
    let shared = Shared::new();
    let injected: Vec<Injection> = std::thread::scope(|scope| {
        let victim = scope.spawn(|| injections::victim(kind, &shared));
        let maker = scope.spawn(|| {
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
        victim.join().expect("the victim ends");
        maker.join().expect("the maker ends")
    });
    recorder.poll();
    judge(kind, recorder.kept(), &injected, recorder.missed().losses);
}

/// How much of an interval lies within injections.
fn covered_ns(recording: &Recording, injected: &[Injection]) -> u64 {
    let subject = &recording.subject;
    let parts = injected.iter().map(|one| {
        let begin_ns = one.begin_ns.max(subject.due_ns);
        one.end_ns.min(subject.end_ns).saturating_sub(begin_ns)
    });
    parts.sum()
}

fn judge(kind: Kind, kept: &[Recording], injected: &[Injection], missed: u64) {
    let (mut judged, mut right, mut stolen) = (0_u64, 0_u64, 0_u64);
    let (mut all_ns, mut unknown_ns) = (0_u64, 0_u64);
    for recording in kept {
        let subject = &recording.subject;
        let segments = cut(recording);
        let whole_ns = subject.end_ns - subject.due_ns;
        assert_eq!(segments.iter().map(|one| one.ns()).sum::<u64>(), whole_ns);
        all_ns += whole_ns;
        let of = |lane: Lane| -> u64 {
            let segments = segments.iter().filter(|one| one.lane == lane);
            segments.map(|one| one.ns()).sum()
        };
        unknown_ns += of(Lane::Unknown);
        let covered = match kind {
            // What the thread does to itself needs no clock to be compared.
            Kind::Faults => subject.loss == Loss::Stretched,
            Kind::Lock => subject.loss == Loss::LockedOut,
            _ => covered_ns(recording, injected) as f64 >= COVERED * whole_ns as f64,
        };
        if !covered {
            continue;
        }
        if of(Lane::Hypervisor) as f64 > STOLEN * subject.lost_ns as f64 {
            stolen += 1;
            continue;
        }
        judged += 1;
        let rows = summary([&segments[..]]);
        let fits = match kind.is_chief() {
            true => chief(&segments).is_some_and(|(lane, culprit, _)| {
                kind.expects(lane, culprit.as_deref().unwrap_or_default())
            }),
            false => rows
                .iter()
                .any(|row| kind.expects(row.lane, row.culprit.as_deref().unwrap_or_default())),
        };
        match fits {
            true => right += 1,
            false => eprintln!("{kind:?}: {} ns: {rows:?}", subject.lost_ns),
        }
    }
    println!(
        "injected {} kept {} judged {judged} right {right} stolen {stolen} unknown_ns {unknown_ns} of_ns {all_ns} missed {missed}",
        injected.len(),
        kept.len()
    );
}

/// Names the calling thread, and gives its number.
pub(crate) fn named(name: &std::ffi::CStr) -> u32 {
    prctl::set_name(name).expect("a short name");
    gettid().as_raw().cast_unsigned()
}
