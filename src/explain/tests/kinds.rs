// SPDX-License-Identifier: GPL-2.0-only
//! What stands beside a lane: who sent, reclaimed or stopped, as far as the record says so.

use artis_explain::recording::{
    Event, Loss, Reclaim, Recording, Sleep, Subject, Switch, Task, Timer, Vector, Waking, What,
};
use artis_explain::{Lane, Segment, cut};

const MS: u64 = 1_000_000;
/// The thread, on CPU 1 with FIFO 50; another task, on CPU 0 unless it stands otherwise.
const THREAD: u32 = 1;
const OTHER: u32 = 2;

fn task(tid: u32) -> Task {
    let is_thread = tid == THREAD;
    Task {
        tid,
        name: if is_thread { "thread" } else { "other" }.to_owned(),
        policy: u32::from(is_thread),
        priority: if is_thread { 49 } else { 120 },
        ..Task::default()
    }
}

/// `next` comes for a thread that sleeps in read(2), or for one that goes on.
fn switch(next: u32, previous: u32, sleep: Option<Option<Sleep>>) -> What {
    What::Switch(Switch {
        next: task(next),
        previous,
        blocked: sleep.is_some(),
        call: Some(0),
        sleep: sleep.flatten(),
        ..Switch::default()
    })
}

fn waking(tid: u32, by: u32, timer_due_ns: Option<u64>) -> What {
    What::Waking(Waking {
        tid,
        by,
        by_name: task(by).name,
        timer_due_ns,
        ..Waking::default()
    })
}

/// The longest segment of a loss from 10 to 20 ms. `events`: ms, CPU, what.
fn longest(loss: Loss, events: Vec<(u64, u32, What)>) -> Segment {
    let event = |(ms, cpu, what)| Event {
        ns: ms * MS,
        cpu,
        steal_ns: 0,
        what,
    };
    let recording = Recording {
        subject: Subject {
            task: task(THREAD),
            process: THREAD,
            loss,
            due_ns: 10 * MS,
            waking_ns: 10 * MS,
            end_ns: 20 * MS,
            lost_ns: 10 * MS,
            ..Subject::default()
        },
        events: events.into_iter().map(event).collect(),
        holes: Vec::new(),
        smi: 0,
        virtual_machine: true,
    };
    let segments = cut(&recording).into_iter();
    segments.max_by_key(Segment::ns).unwrap()
}

fn assert_says(segment: &Segment, lane: Lane, culprit: &str, code: &str) {
    let said = (
        segment.lane,
        segment.culprit.as_deref(),
        segment.code.as_deref(),
    );
    assert_eq!(said, (lane, Some(culprit), Some(code)), "{segment:#?}");
}

/// A softirq takes packets while the thread is ready; `before` says how it came to be.
fn packets(device: &str, backlog: bool, before: Vec<(u64, u32, What)>) -> Segment {
    let device = device.to_owned();
    let mut events = vec![(1, 1, switch(OTHER, THREAD, Some(None)))];
    events.extend(before);
    events.extend([
        (8, 1, What::SoftirqBegins { which: 3 }),
        (9, 1, waking(THREAD, OTHER, Some(10 * MS))),
        (9, 1, What::Woken { tid: THREAD, on: 1 }),
        (
            18,
            1,
            What::Packets {
                device,
                packets: 1,
                backlog,
            },
        ),
        (18, 1, What::SoftirqEnds),
        (19, 1, switch(THREAD, OTHER, None)),
    ]);
    longest(Loss::Late, events)
}

#[test]
fn who_sends_packets_is_named_if_it_is_known() {
    let vector = Vector::CallFunction;
    let sent = |function: &str| What::CallSent {
        to: 1,
        function: function.to_owned(),
        by: 7,
        by_name: "sender".to_owned(),
    };
    // The end of an interrupt, behind which its softirqs come.
    let interrupt = |function| {
        vec![
            (6, 0, switch(7, 0, None)),
            (7, 0, sent(function)),
            (8, 1, What::VectorBegins { vector }),
            (8, 1, What::VectorEnds),
        ]
    };
    for (device, backlog, before, said) in [
        ("eth0", false, vec![], "packets of eth0"),
        ("veth0", true, vec![], "packets of veth0, sent by other"),
        ("", true, vec![], "packets of some device, sent by other"),
        (
            "veth0",
            true,
            interrupt("rps_trigger_softirq"),
            "packets of veth0, sent by sender",
        ),
        (
            "veth0",
            true,
            interrupt("f"),
            "packets of veth0 within this machine",
        ),
    ] {
        let segment = packets(device, backlog, before);
        assert_says(&segment, Lane::Softirq, "NET_RX", said);
    }
}

#[test]
fn an_interrupt_sends_none_for_the_task_that_it_found() {
    let ipi = |events: Vec<(u64, u32, What)>| {
        let vector = Vector::CallFunction;
        let function = "f".to_owned();
        let sent = What::CallSent {
            to: 1,
            function: function.clone(),
            by: OTHER,
            by_name: "other".to_owned(),
        };
        let mut all = vec![
            (1, 1, switch(0, THREAD, Some(None))),
            (2, 0, switch(OTHER, 0, None)),
        ];
        all.extend(events);
        all.extend([
            (6, 0, sent),
            (9, 1, waking(THREAD, OTHER, Some(10 * MS))),
            (9, 1, What::Woken { tid: THREAD, on: 1 }),
            (9, 1, What::VectorBegins { vector }),
            (9, 1, What::CallBegins { function }),
            (18, 1, What::CallEnds),
            (18, 1, What::VectorEnds),
            (19, 1, switch(THREAD, 0, None)),
        ]);
        longest(Loss::Late, all)
    };
    let by = |culprit, events| {
        assert_says(&ipi(events), Lane::HardInterrupt, culprit, "f");
    };
    let vector = Vector::LocalTimer;
    by("IPI from other", vec![]);
    by("IPI", vec![(5, 0, What::VectorBegins { vector })]);
}

#[test]
fn a_set_clock_is_not_the_timer_s_fault() {
    let timer = |settable| {
        What::TimerBegins(Timer {
            due_ns: 10 * MS,
            settable,
            ..Timer::default()
        })
    };
    let sent = || What::CallSent {
        to: 1,
        function: "retrigger_next_event".to_owned(),
        by: OTHER,
        by_name: "other".to_owned(),
    };
    let set = |step_ms: i64| What::ClockSet {
        step_ns: step_ms * 1_000_000,
    };
    let late = |settable, step_ms| {
        let events = vec![
            (1, 1, switch(OTHER, THREAD, Some(None))),
            (18, 0, sent()),
            (19, 1, set(step_ms)),
            (19, 1, timer(settable)),
            (19, 1, waking(THREAD, OTHER, Some(10 * MS))),
        ];
        longest(Loss::Late, events)
    };
    let forward = late(true, 50);
    let code = "the clock was set 50.000 ms forward";
    assert_says(&forward, Lane::ClockSet, "other", code);
    assert_eq!(forward.ns(), 8 * MS);
    // By so little it was late before; a clock that is set back, or another one, explains nothing.
    for segment in [late(true, 2), late(true, -50), late(false, 50)] {
        assert_ne!(segment.lane, Lane::ClockSet, "{segment:#?}");
    }
}

#[test]
fn who_reclaims_memory_is_named() {
    let reclaim = |tid| What::ReclaimBegins {
        tid,
        reclaim: Reclaim::Cgroup,
    };
    let mut events = vec![
        (1, 1, switch(THREAD, 0, None)),
        (10, 1, What::SyscallEnds { tid: THREAD }),
        (11, 1, What::Fault { tid: THREAD }),
        (11, 1, reclaim(THREAD)),
        (19, 1, What::ReclaimEnds { tid: THREAD }),
        (19, 1, What::FaultDone { tid: THREAD }),
    ];
    let own = "reclaims memory of its cgroup, which is at its limit";
    let fault = |events: &Vec<_>| longest(Loss::Stretched, events.clone());
    let culprit = "its own page fault";
    assert_says(&fault(&events), Lane::OwnFault, culprit, own);
    events.insert(1, (2, 0, switch(OTHER, 0, None)));
    events.insert(2, (3, 0, reclaim(OTHER)));
    let both = format!("{own}; so does other");
    assert_says(&fault(&events), Lane::OwnFault, culprit, &both);
    // The other one has done with it.
    let ends = What::ReclaimEnds { tid: OTHER };
    events.insert(3, (4, 0, ends));
    let before = format!("{own}; so did other");
    assert_says(&fault(&events), Lane::OwnFault, culprit, &before);
}

#[test]
fn who_cannot_be_preempted_is_not_in_user_mode() {
    let found = |in_user_mode| {
        What::TimerBegins(Timer {
            function: "tick".to_owned(),
            in_user_mode,
            ..Timer::default()
        })
    };
    let of = |call: Option<u32>, stack: &[&str]| {
        let leaves = What::Switch(Switch {
            next: task(THREAD),
            previous: OTHER,
            call,
            stack: stack
                .iter()
                .map(|function| (*function).to_owned())
                .collect(),
            ..Switch::default()
        });
        let events = vec![
            (1, 1, switch(OTHER, THREAD, Some(None))),
            (8, 1, found(true)),
            (8, 1, What::TimerEnds),
            (10, 1, waking(THREAD, OTHER, Some(10 * MS))),
            (10, 1, What::Woken { tid: THREAD, on: 1 }),
            (12, 1, found(false)),
            (13, 1, What::TimerEnds),
            (19, 1, leaves),
        ];
        longest(Loss::Late, events)
    };
    let exception = ["clear_page", "do_user_addr_fault", "asm_exc_page_fault"];
    for (call, stack, code) in [
        (None, &exception[..], "page fault"),
        (None, &[], "in the kernel, in no system call"),
        (Some(11), &exception[..1], "munmap"),
    ] {
        assert_says(&of(call, stack), Lane::PreemptionOff, "other", code);
    }
}

#[test]
fn a_holder_that_is_halted_or_out_of_budget_says_so() {
    let holder = |before: Option<What>, leaves: What| {
        let mut events = vec![(1, 0, switch(OTHER, 0, None))];
        events.extend(before.map(|what| (2, 0, what)));
        let sleeps = matches!(&leaves, What::Switch(switch) if switch.blocked);
        events.extend([
            (3, 0, leaves),
            (5, 1, switch(THREAD, 0, None)),
            (
                10,
                1,
                What::SyscallBegins {
                    tid: THREAD,
                    number: 202,
                    lock: true,
                },
            ),
            (11, 1, switch(0, THREAD, Some(None))),
        ]);
        // Its next period makes it ready without a wakeup.
        events.extend(sleeps.then(|| (19, 0, waking(OTHER, 9, None))));
        events.extend([
            (19, 0, switch(OTHER, 0, None)),
            (19, 0, waking(THREAD, OTHER, None)),
        ]);
        longest(Loss::LockedOut, events)
    };
    let stop = What::Signal {
        tid: OTHER,
        process: OTHER,
        number: 19,
        by: 9,
        by_name: "stopper".to_owned(),
    };
    let sleeps = |sleep| switch(0, OTHER, Some(Some(sleep)));
    for (before, sleep, said) in [
        (
            Some(stop),
            Sleep::Stopped,
            "is stopped by a signal of stopper",
        ),
        (None, Sleep::Stopped, "is stopped by a signal"),
        (None, Sleep::Frozen, "is frozen"),
        (None, Sleep::Traced, "is stopped for its tracer"),
    ] {
        let code = format!("has the lock, and {said}");
        assert_says(&holder(before, sleeps(sleep)), Lane::Lock, "other", &code);
    }
    let What::Switch(leaves) = switch(0, OTHER, None) else {
        unreachable!()
    };
    let leaves = What::Switch(Switch {
        out_of_budget: true,
        ..leaves
    });
    let budget = "the deadline budget of other";
    let code = "sched_runtime is used up until the next period";
    let mut segment = holder(None, leaves);
    assert_eq!(segment.chain.len(), 2, "{segment:#?}");
    segment.chain.clear();
    assert_says(&segment, Lane::Throttled, budget, code);
}
