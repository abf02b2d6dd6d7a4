// SPDX-License-Identifier: GPL-2.0-only
//! Random histories of a machine whose truth is known: each segment has the lane and the culprit of
//! the truth, or is unknown. What the recorder may not have seen is left out at random.

use artis_explain::recording::{
    Event, Hole, Loss, Recording, Sleep, Subject, Switch, Task, Timer, Vector, Waking, What,
};
use artis_explain::{Lane, cut};
use proptest::prelude::*;

/// The thread, on CPU 1: FIFO 50. Its helper, on CPU 0, and who keeps that one from it: FIFO 40.
const THREAD: u32 = 1;
const HELPER: u32 = 2;
const HOG: u32 = 3;
/// On CPU 1: a normal task, and one of FIFO 60.
const NORMAL: u32 = 4;
const URGENT: u32 = 5;
/// Who stops the thread, traces it, or gives up the lock that the helper wants; on CPU 0.
const OTHER: u32 = 6;

const READ: u32 = 0;
const NANOSLEEP: u32 = 230;

fn task(tid: u32) -> Task {
    let names = [
        "swapper", "thread", "helper", "hog", "normal", "urgent", "other",
    ];
    let priority = [120, 49, 120, 59, 120, 39, 120][tid as usize];
    Task {
        tid,
        name: names[tid as usize].to_owned(),
        policy: u32::from(priority < 100),
        priority,
        ..Task::default()
    }
}

/// What happens to the thread, one thing after the other, in random order and for random times.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// It waits for its helper: who sleeps first, then is kept from its CPU, then runs.
    Asks {
        sleeps: u64,
        kept: u64,
        runs: u64,
    },
    /// The helper waits for another one meanwhile.
    AsksInTurn {
        waits: u64,
        runs: u64,
    },
    Stopped(u64),
    Traced(u64),
    Limited(u64),
    Preempted(u64),
    Works(u64),
}

/// How the timer finds the CPU in the end.
#[derive(Clone, Copy, Debug)]
enum Found {
    Idle,
    /// A normal task: for so long its interrupts are off, and it cannot be preempted.
    Normal {
        masked: u64,
        kept: u64,
    },
    Urgent(u64),
}

/// Events and truth, while they are made.
#[derive(Default)]
struct Model {
    ns: u64,
    events: Vec<Event>,
    /// Up to when which lane and culprit is right.
    truth: Vec<(u64, Lane, &'static str)>,
}

impl Model {
    fn on(&mut self, cpu: u32, what: What) {
        // No two events of a machine come at once.
        self.ns += 1;
        let ns = self.ns;
        self.events.push(Event {
            ns,
            cpu,
            steal_ns: 0,
            what,
        });
    }

    fn switch(&mut self, cpu: u32, next: u32, previous: u32, switch: Switch) {
        let next = task(next);
        self.on(
            cpu,
            What::Switch(Switch {
                next,
                previous,
                ..switch
            }),
        );
    }

    fn wakes(&mut self, cpu: u32, tid: u32, by: u32) {
        let waking = Waking {
            tid,
            by,
            by_name: task(by).name,
            from: Some(if tid == THREAD { 1 } else { 0 }),
            ..Waking::default()
        };
        self.on(cpu, What::Waking(waking));
    }

    fn passes(&mut self, ns: u64, lane: Lane, culprit: &'static str) {
        self.ns += ns;
        self.truth.push((self.ns, lane, culprit));
    }

    fn calls(&mut self, number: u32) {
        let (tid, lock) = (THREAD, false);
        self.on(1, What::SyscallBegins { tid, number, lock });
    }

    /// The thread sleeps, and the CPU idles.
    fn sleeps(&mut self, call: u32, sleep: Option<Sleep>) {
        let switch = Switch {
            blocked: true,
            call: Some(call),
            sleep,
            ..Switch::default()
        };
        self.switch(1, 0, THREAD, switch);
    }

    /// It is woken by a task on CPU 0, and goes on at once.
    fn goes_on(&mut self, by: u32) {
        self.wakes(0, THREAD, by);
        self.on(0, What::Woken { tid: THREAD, on: 1 });
        self.switch(1, THREAD, 0, Switch::default());
    }

    fn step(&mut self, step: Step) {
        let blocked = || sleeps(READ);
        match step {
            Step::Works(ns) => self.passes(ns, Lane::OwnWork, "its own overrun"),
            Step::Asks { sleeps, kept, runs } => {
                self.calls(READ);
                self.sleeps(READ, None);
                self.passes(sleeps, Lane::Wait, "helper");
                // Its own timer wakes the helper, and the hog has the CPU.
                self.switch(0, HOG, 0, Switch::default());
                self.on(
                    0,
                    What::VectorBegins {
                        vector: Vector::LocalTimer,
                    },
                );
                let waking = Waking {
                    tid: HELPER,
                    by: HOG,
                    by_name: "hog".to_owned(),
                    timer_due_ns: Some(self.ns),
                    from: Some(0),
                    ..Waking::default()
                };
                self.on(0, What::Waking(waking));
                self.on(0, What::VectorEnds);
                self.passes(kept, Lane::Wait, "hog (FIFO 40)");
                self.switch(0, HELPER, HOG, blocked());
                self.passes(runs, Lane::Wait, "helper");
                self.goes_on(HELPER);
                self.switch(0, 0, HELPER, blocked());
                self.on(1, What::SyscallEnds { tid: THREAD });
            }
            Step::AsksInTurn { waits, runs } => {
                self.calls(READ);
                self.switch(0, OTHER, 0, Switch::default());
                self.sleeps(READ, None);
                self.passes(waits, Lane::Wait, "other");
                self.wakes(0, HELPER, OTHER);
                self.switch(0, HELPER, OTHER, blocked());
                self.passes(runs, Lane::Wait, "helper");
                self.goes_on(HELPER);
                self.switch(0, 0, HELPER, blocked());
                self.on(1, What::SyscallEnds { tid: THREAD });
            }
            Step::Stopped(ns) => {
                let signal = |number| What::Signal {
                    tid: THREAD,
                    process: THREAD,
                    number,
                    by: OTHER,
                    by_name: "other".to_owned(),
                };
                self.switch(0, OTHER, 0, Switch::default());
                self.on(0, signal(19));
                self.sleeps(READ, Some(Sleep::Stopped));
                self.passes(ns, Lane::Stopped, "other");
                self.on(0, signal(18));
                self.goes_on(OTHER);
                self.switch(0, 0, OTHER, blocked());
            }
            Step::Traced(ns) => {
                self.switch(0, OTHER, 0, Switch::default());
                self.sleeps(READ, Some(Sleep::Traced));
                self.passes(ns, Lane::Traced, "other");
                self.goes_on(OTHER);
                self.switch(0, 0, OTHER, blocked());
            }
            Step::Limited(ns) => {
                self.switch(1, NORMAL, THREAD, Switch::default());
                let limited = What::Limited {
                    tid: THREAD,
                    cgroup: "/a".to_owned(),
                    limit: 7,
                };
                self.on(1, limited);
                self.passes(ns, Lane::Throttled, "cgroup /a");
                self.switch(1, THREAD, NORMAL, Switch::default());
            }
            Step::Preempted(ns) => {
                self.switch(1, URGENT, THREAD, Switch::default());
                self.passes(ns, Lane::RealTimeTask, "urgent (FIFO 60)");
                self.switch(1, THREAD, URGENT, blocked());
            }
        }
    }

    /// Now the thread is due since so long, as its clock says from here on.
    fn set_clock(&mut self, step_ns: u64) {
        self.passes(step_ns, Lane::ClockSet, "other");
        let sent = What::CallSent {
            to: 1,
            function: "retrigger_next_event".to_owned(),
            by: OTHER,
            by_name: "other".to_owned(),
        };
        self.on(0, sent);
        let step_ns = step_ns.cast_signed() + 1;
        self.on(0, What::ClockSet { step_ns });
    }

    /// The timer that is due now finds the CPU like this; the thread sleeps already.
    fn timer(&mut self, found: Found, due_ns: u64, evidence: bool, settable: bool) {
        let (masked, kept) = match found {
            Found::Normal { masked, kept } => (masked, kept),
            Found::Urgent(kept) => (0, kept),
            Found::Idle => (0, 0),
        };
        let lane = match found {
            Found::Idle => (Lane::IdleExit, "idle CPU"),
            Found::Normal { .. } => (Lane::InterruptsOff, "normal"),
            Found::Urgent(_) => (Lane::HardInterrupt, "its own timer"),
        };
        self.passes(masked, lane.0, lane.1);
        self.on(
            1,
            What::VectorBegins {
                vector: Vector::LocalTimer,
            },
        );
        let were_off = masked > 0 && evidence;
        let stack = ["asm_sysvec_apic_timer_interrupt", "_raw_spin_unlock_irq"];
        let timer = Timer {
            due_ns,
            settable,
            interrupts_were_off: were_off.then_some(true),
            stack: stack
                .map(str::to_owned)
                .into_iter()
                .filter(|_| were_off)
                .collect(),
            ..Timer::default()
        };
        self.on(1, What::TimerBegins(timer));
        let waking = Waking {
            tid: THREAD,
            by: NORMAL,
            by_name: "normal".to_owned(),
            timer_due_ns: Some(due_ns),
            from: Some(1),
            ..Waking::default()
        };
        self.on(1, What::Waking(waking));
        self.on(1, What::Woken { tid: THREAD, on: 1 });
        self.on(1, What::TimerEnds);
        self.on(1, What::VectorEnds);
        let (previous, lane) = match found {
            Found::Idle => (0, (Lane::IdleExit, "idle CPU")),
            Found::Normal { .. } => (NORMAL, (Lane::PreemptionOff, "normal")),
            Found::Urgent(_) => (URGENT, (Lane::RealTimeTask, "urgent (FIFO 60)")),
        };
        self.passes(kept, lane.0, lane.1);
        let switch = Switch {
            blocked: previous == URGENT,
            call: evidence.then_some(READ),
            ..Switch::default()
        };
        self.switch(1, THREAD, previous, switch);
        self.on(1, What::SyscallEnds { tid: THREAD });
    }
}

fn step() -> impl Strategy<Value = Step> {
    let long = || 30_000..5_000_000_u64;
    prop_oneof![
        (long(), long(), long()).prop_map(|(sleeps, kept, runs)| Step::Asks { sleeps, kept, runs }),
        (long(), long()).prop_map(|(waits, runs)| Step::AsksInTurn { waits, runs }),
        long().prop_map(Step::Stopped),
        long().prop_map(Step::Traced),
        long().prop_map(Step::Limited),
        long().prop_map(Step::Preempted),
        long().prop_map(Step::Works),
    ]
}

fn found() -> impl Strategy<Value = Found> {
    let long = || 30_000..2_000_000_u64;
    prop_oneof![
        Just(Found::Idle),
        (long(), long()).prop_map(|(masked, kept)| Found::Normal { masked, kept }),
        long().prop_map(Found::Urgent),
    ]
}

/// A task goes to sleep in this call.
fn sleeps(call: u32) -> Switch {
    Switch {
        blocked: true,
        call: Some(call),
        ..Switch::default()
    }
}

/// The thread was due long before it asked for its timer, or in time. `from`: how much of its
/// history before is asked for.
fn history(
    steps: &[Step],
    last: Option<Found>,
    late_by: u64,
    evidence: bool,
    hole: Option<(u64, u64)>,
    set: Option<u64>,
) -> (Recording, Model) {
    let mut model = Model {
        ns: 1_000_000,
        ..Model::default()
    };
    let begin_ns = model.ns;
    // Its last timer that it asked for in time.
    model.switch(1, 0, THREAD, sleeps(NANOSLEEP));
    model.switch(0, 0, OTHER, sleeps(READ));
    let from_ns = model.ns;
    model.timer(Found::Idle, from_ns, true, false);
    for one in steps {
        model.step(*one);
    }
    let busy_until_ns = model.ns;
    model.calls(NANOSLEEP);
    let (due_ns, found) = match last {
        // It sleeps in time.
        Some(found) => {
            let next = match found {
                Found::Idle => 0,
                Found::Normal { .. } => NORMAL,
                Found::Urgent(_) => URGENT,
            };
            model.switch(1, next, THREAD, sleeps(NANOSLEEP));
            model.ns += 100_000;
            let due_ns = model.ns;
            if let Some(step_ns) = set {
                model.set_clock(step_ns);
            }
            (due_ns, found)
        }
        None => {
            model.sleeps(NANOSLEEP, None);
            let busy_ns = busy_until_ns - from_ns;
            (busy_until_ns - late_by % busy_ns, Found::Idle)
        }
    };
    model
        .truth
        .push((model.ns, Lane::OwnSystemCall, "its own system call"));
    model.timer(found, due_ns, evidence, set.is_some());
    let hole = hole.map(|(from, length)| Hole {
        cpu: (from % 2) as u32,
        from_ns: begin_ns + from,
        until_ns: begin_ns + from + length,
        keeps_task: false,
        untraced: false,
    });
    let hides = |event: &Event| {
        hole.is_some_and(|hole| {
            hole.cpu == event.cpu && (hole.from_ns..=hole.until_ns).contains(&event.ns)
        })
    };
    let events = model.events.iter().filter(|event| !hides(event)).cloned();
    let recording = Recording {
        subject: Subject {
            task: task(THREAD),
            process: THREAD,
            loss: Loss::Late,
            due_ns,
            waking_ns: due_ns,
            end_ns: model.ns,
            lost_ns: model.ns - due_ns,
            from_ns: if last.is_some() { due_ns } else { from_ns },
            call: Some(NANOSLEEP),
            busy: false,
        },
        events: events.collect(),
        holes: hole.into_iter().collect(),
        smi: 0,
        virtual_machine: true,
    };
    (recording, model)
}

/// The signal that stops may be in a hole; that the thread was stopped is known then, too.
fn fits(found: Option<&str>, truth: &str) -> bool {
    found == Some(truth) || found == Some("a signal")
}

/// Within so much of where the truth changes, events come one after the other.
const EDGE_NS: u64 = 40;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_lane_is_right_or_unknown(
        steps in prop::collection::vec(step(), 1..5),
        last in prop::option::of(found()),
        late_by in 0..20_000_000_u64,
        evidence in any::<bool>(),
        hole in prop::option::of((0..20_000_000_u64, 0..3_000_000_u64)),
        set in prop::option::of(30_000..5_000_000_u64),
    ) {
        let (recording, model) = history(&steps, last, late_by, evidence, hole, set);
        let segments = cut(&recording);
        let due_ns = recording.subject.due_ns;
        prop_assert_eq!(segments.iter().map(|one| one.ns()).sum::<u64>(), model.ns - due_ns);
        let mut unknown_ns = 0;
        let mut begin_ns = 0;
        for (end_ns, lane, culprit) in &model.truth {
            let (from, to) = (begin_ns.max(due_ns) + EDGE_NS, *end_ns);
            begin_ns = *end_ns;
            for one in &segments {
                let (begin, end) = (one.begin_ns + due_ns, one.end_ns + due_ns);
                if end.min(to) <= begin.max(from) {
                    continue;
                }
                if one.lane == Lane::Unknown {
                    unknown_ns += one.ns();
                    continue;
                }
                prop_assert!(
                    one.lane == *lane && fits(one.culprit.as_deref(), culprit),
                    "{lane:?} {culprit} from {from} to {to}: {one:#?}"
                );
            }
        }
        // With everything seen nothing is unknown.
        let all_seen = evidence && hole.is_none();
        prop_assert!(!all_seen || unknown_ns == 0, "{unknown_ns}: {segments:#?}");
    }
}
