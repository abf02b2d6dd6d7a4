// SPDX-License-Identifier: GPL-2.0-only
//! Whatever the events are, the segments are consecutive and sum to the whole.

use artis_explain::recording::{
    Event, Hole, Loss, Reclaim, Recording, Sleep, Subject, Switch, Task, Timer, Vector, Waking,
    What,
};
use artis_explain::{Lane, cut};
use proptest::prelude::*;

fn task(tid: u32, priority: i32) -> Task {
    Task {
        tid,
        name: format!("t{tid}"),
        policy: u32::from(priority < 100),
        priority,
        kernel_thread: false,
        served: false,
    }
}

/// Few threads, CPUs and moments, so that events concern each other.
fn what() -> impl Strategy<Value = What> {
    let tid = 0..5_u32;
    let stack = prop::collection::vec("asm_sysvec_x|foo|bar", 0..4);
    prop_oneof![
        4 => (tid.clone(), 0..140, tid.clone(), any::<bool>(), any::<bool>(), stack.clone(), sleep()).prop_map(
            |(next, priority, previous, blocked, throttled, stack, sleep)| What::Switch(Switch {
                next: task(next, priority),
                previous,
                blocked,
                sleep,
                call: blocked.then_some(202),
                throttled,
                stack,
                ..Switch::default()
            })
        ),
        3 => (tid.clone(), tid.clone(), prop::option::of(0..200_u64), 0..3_u32).prop_map(
            |(tid, by, timer_due_ns, from)| What::Waking(Waking {
                tid,
                by,
                by_name: "w".to_owned(),
                timer_due_ns,
                from: Some(from),
                ..Waking::default()
            })
        ),
        1 => (tid.clone(), 1..3_u64).prop_map(|(tid, limit)| What::Limited {
            tid,
            cgroup: "/a".to_owned(),
            limit,
        }),
        1 => (tid.clone(), tid.clone()).prop_map(|(tid, by)| What::Signal {
            tid,
            process: tid,
            number: 19,
            by,
            by_name: "s".to_owned(),
        }),
        2 => (tid.clone(), 0..3_u32).prop_map(|(tid, on)| What::Woken { tid, on }),
        1 => (tid.clone(), 0..3_u32).prop_map(|(tid, to)| What::Migrate { tid, to }),
        1 => (0..200_u64, 0..50_u64, any::<bool>(), stack, 0..3_u64).prop_map(
            |(due_ns, slack_ns, in_user_mode, stack, limit)| What::TimerBegins(Timer {
                function: "f".to_owned(),
                due_ns,
                slack_ns,
                in_user_mode,
                stack,
                limit,
                settable: in_user_mode,
                ..Timer::default()
            })
        ),
        1 => Just(What::TimerEnds),
        1 => Just(What::VectorBegins { vector: Vector::LocalTimer }),
        1 => Just(What::VectorEnds),
        1 => (0..12_u32).prop_map(|which| What::SoftirqBegins { which }),
        1 => Just(What::SoftirqEnds),
        1 => (tid.clone(), 0..500_u32, any::<bool>())
            .prop_map(|(tid, number, lock)| What::SyscallBegins { tid, number, lock }),
        1 => tid.clone().prop_map(|tid| What::SyscallEnds { tid }),
        1 => tid.clone().prop_map(|tid| What::Fault { tid }),
        1 => tid.clone().prop_map(|tid| What::FaultDone { tid }),
        1 => (tid.clone(), tid.clone()).prop_map(|(waiter, owner)| What::Owner {
            waiter,
            owner: task(owner, 50),
        }),
        1 => Just(What::SchedulerBegins),
        1 => Just(What::SchedulerEnds),
        1 => prop::option::of(0..3_u32).prop_map(|state| What::Idle { state }),
        1 => Just(What::ContentionBegins),
        1 => Just(What::ContentionEnds),
        1 => any::<bool>()
            .prop_map(|backlog| What::Packets { device: "lo".to_owned(), packets: 1, backlog }),
        1 => (-90..90_i64).prop_map(|step_ns| What::ClockSet { step_ns }),
        1 => tid.clone().prop_map(|tid| What::ReclaimBegins { tid, reclaim: Reclaim::Machine }),
        1 => tid.clone().prop_map(|tid| What::ReclaimEnds { tid }),
    ]
}

fn sleep() -> impl Strategy<Value = Option<Sleep>> {
    prop_oneof![
        Just(None),
        Just(Some(Sleep::Disk)),
        Just(Some(Sleep::Stopped)),
        Just(Some(Sleep::Traced)),
    ]
}

fn recording() -> impl Strategy<Value = Recording> {
    let event =
        (0..220_u64, 0..3_u32, 0..60_u64, what()).prop_map(|(ns, cpu, steal_ns, what)| Event {
            ns,
            cpu,
            steal_ns,
            what,
        });
    let loss = prop_oneof![
        Just(Loss::Late),
        Just(Loss::LockedOut),
        Just(Loss::Stretched)
    ];
    let events = prop::collection::vec(event, 0..60);
    let hole = (0..220_u64, 0..50_u64, 0..3_u32).prop_map(|(from_ns, length_ns, cpu)| Hole {
        cpu,
        from_ns,
        until_ns: from_ns + length_ns,
        keeps_task: length_ns % 2 == 0,
        untraced: length_ns % 3 == 0,
    });
    let holes = prop::collection::vec(hole, 0..3);
    let made = (
        events,
        holes,
        0..200_u64,
        (0..200_u64, 0..200_u64, any::<bool>()),
        loss,
        0..140,
        any::<bool>(),
    );
    made.prop_map(
        |(events, holes, due_ns, (length_ns, from_ns, busy), loss, priority, virtual_machine)| {
            Recording {
                subject: Subject {
                    task: task(1, priority),
                    process: 1,
                    loss,
                    due_ns,
                    waking_ns: due_ns,
                    end_ns: due_ns + length_ns,
                    lost_ns: length_ns,
                    from_ns,
                    call: None,
                    busy,
                },
                events: events.into(),
                holes,
                smi: 0,
                virtual_machine,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn segments_are_consecutive_and_sum_to_the_whole(recording in recording()) {
        let segments = cut(&recording);
        let whole_ns = recording.subject.end_ns - recording.subject.due_ns;
        let mut at_ns = 0;
        for segment in &segments {
            prop_assert_eq!(segment.begin_ns, at_ns);
            prop_assert!(segment.end_ns > segment.begin_ns);
            at_ns = segment.end_ns;
        }
        prop_assert_eq!(at_ns, whole_ns);
    }

    #[test]
    fn a_recording_is_read_as_it_was_written(recording in recording()) {
        let text = serde_json::to_string(&recording).unwrap();
        let read: Recording = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read, recording);
    }
}

#[test]
fn without_events_everything_is_unknown() {
    let mut recording = Recording {
        subject: Subject {
            task: task(1, 19),
            process: 1,
            loss: Loss::Late,
            due_ns: 5,
            waking_ns: 7,
            end_ns: 15,
            lost_ns: 10,
            ..Subject::default()
        },
        events: Vec::<Event>::new().into(),
        holes: vec![Hole {
            cpu: 0,
            from_ns: 0,
            until_ns: 12,
            ..Hole::default()
        }],
        smi: 0,
        virtual_machine: false,
    };
    let segments = cut(&recording);
    assert_eq!(segments.len(), 1);
    assert_eq!((segments[0].lane, segments[0].ns()), (Lane::Unknown, 10));
    assert!(recording.is_incomplete());
    recording.subject.end_ns = 2;
    assert!(recording.check().is_err());
    assert!(cut(&recording).is_empty());
}

#[test]
fn what_a_hole_hides_is_unknown_until_a_switch_tells() {
    let switch = |ns, next, previous| Event {
        ns,
        cpu: 0,
        steal_ns: 0,
        what: What::Switch(Switch {
            next: task(next, if next == 1 { 19 } else { 120 }),
            previous,
            blocked: previous == 1,
            call: Some(1),
            ..Switch::default()
        }),
    };
    let on = |ns, what| Event {
        ns,
        cpu: 0,
        steal_ns: 0,
        what,
    };
    let waking = What::Waking(Waking {
        tid: 1,
        by: 0,
        by_name: "w".to_owned(),
        timer_due_ns: Some(100),
        ..Waking::default()
    });
    let mut recording = Recording {
        subject: Subject {
            task: task(1, 19),
            process: 1,
            loss: Loss::Late,
            due_ns: 100,
            waking_ns: 110,
            end_ns: 200,
            lost_ns: 100,
            ..Subject::default()
        },
        events: vec![
            switch(50, 2, 1),
            on(110, waking),
            on(112, What::Woken { tid: 1, on: 0 }),
            switch(180, 1, 3),
        ]
        .into(),
        holes: Vec::new(),
        smi: 0,
        virtual_machine: false,
    };
    let lanes = |recording: &Recording| -> Vec<_> {
        let segments = cut(recording).into_iter();
        segments.map(|one| (one.lane, one.end_ns)).collect()
    };
    use Lane::{OwnSystemCall, PreemptionOff, Scheduler, Unknown};
    // Nothing shows that its timer's interrupt was kept off.
    let known = [(Unknown, 10), (Scheduler, 12), (PreemptionOff, 80)];
    let rest = [(OwnSystemCall, 100)];
    assert_eq!(lanes(&recording), [&known[..], &rest].concat());
    recording.holes.push(Hole {
        cpu: 0,
        from_ns: 112,
        until_ns: 180,
        ..Hole::default()
    });
    // It may have had the CPU, ended its call and lost the CPU again.
    let unknown = [
        (Unknown, 10),
        (Scheduler, 12),
        (Unknown, 80),
        (Unknown, 100),
    ];
    assert_eq!(lanes(&recording), unknown);
    // A switch that was not traced hides who had the CPU, and nothing else.
    recording.holes[0].untraced = true;
    let untraced = "the kernel did not trace the switch to it";
    assert_eq!(lanes(&recording), [&unknown[..3], &rest].concat());
    assert_eq!(cut(&recording)[2].code.as_deref(), Some(untraced));
    assert!(!recording.is_incomplete());
}

/// A timer's interrupt that was 80 us late while task 2 had the CPU, with what was found where it
/// came.
fn late_interrupt(
    found: Timer,
    virtual_machine: bool,
    steal_ns: u64,
) -> (Lane, u64, Option<String>) {
    let due_ns = 100_000;
    let timer = Timer {
        function: "hrtimer_wakeup".to_owned(),
        due_ns,
        ..found
    };
    let switch = Switch {
        next: task(2, 120),
        previous: 1,
        blocked: true,
        ..Switch::default()
    };
    let waking = Waking {
        tid: 1,
        by: 2,
        timer_due_ns: Some(due_ns),
        ..Waking::default()
    };
    let vector = Vector::LocalTimer;
    let events = [
        (50_000, What::Switch(switch)),
        (180_000, What::VectorBegins { vector }),
        (181_000, What::TimerBegins(timer)),
        (182_000, What::Waking(waking)),
    ];
    let events = events.into_iter().map(|(ns, what)| Event {
        ns,
        cpu: 0,
        steal_ns,
        what,
    });
    let recording = Recording {
        subject: Subject {
            task: task(1, 19),
            process: 1,
            loss: Loss::Late,
            due_ns,
            waking_ns: 182_000,
            end_ns: 200_000,
            lost_ns: 100_000,
            ..Subject::default()
        },
        events: events.collect(),
        holes: Vec::new(),
        smi: 0,
        virtual_machine,
    };
    let first = cut(&recording).swap_remove(0);
    (first.lane, first.ns(), first.code)
}

/// Interrupts were off where it came just behind the instruction that allows them; an older
/// recorder has the stack alone. In user mode they are never off.
#[test]
fn interrupts_off_are_proven_by_where_the_interrupt_came() {
    let stack = |functions: &[&str]| functions.iter().map(|one| (*one).to_owned()).collect();
    let entry = "asm_sysvec_apic_timer_interrupt";
    let found = |functions: &[&str], interrupts_were_off| Timer {
        stack: stack(functions),
        interrupts_were_off,
        ..Timer::default()
    };
    let lane = |timer: Timer, virtual_machine| {
        let (lane, ns, code) = late_interrupt(timer, virtual_machine, 0);
        assert_eq!(ns, 80_000, "{code:?}");
        lane
    };
    // It came at the end of a switch, on the way back from another interrupt.
    let switch = [entry, "finish_task_switch", "irqentry_exit", entry];
    for functions in [&[entry, "f"][..], &switch] {
        for were_off in [Some(true), None] {
            let (lane, _, code) = late_interrupt(found(functions, were_off), true, 0);
            assert_eq!(
                (lane, code.as_deref()),
                (Lane::InterruptsOff, Some(functions[1]))
            );
        }
    }
    // With interrupts on, the CPU stood: a virtual one may have been stopped.
    assert_eq!(
        lane(found(&[entry, "readl"], Some(false)), false),
        Lane::Device
    );
    assert_eq!(
        lane(found(&[entry, "readl"], Some(false)), true),
        Lane::Unknown
    );
    // A host that has a steal clock still fills its guest's pages for free.
    for (function, wanted) in [
        ("ioread8", Lane::Device),
        ("clear_page_erms", Lane::Unknown),
    ] {
        let timer = found(&[entry, function], Some(false));
        assert_eq!(late_interrupt(timer, true, 5).0, wanted, "{function}");
    }
    assert_eq!(lane(found(&[], None), false), Lane::Unknown);
    let in_user_mode = || Timer {
        in_user_mode: true,
        ..Timer::default()
    };
    assert_eq!(lane(in_user_mode(), false), Lane::Firmware);
    assert_eq!(lane(found(&[entry], None), false), Lane::Firmware);
    assert_eq!(lane(in_user_mode(), true), Lane::Unknown);
}

/// Timers of two CPUs were due while nothing happened at all: the machine stood from the first of
/// them on. With one CPU that is silent, its own kernel may have kept the interrupt off.
#[test]
fn silence_of_all_cpus_is_a_stop_of_the_machine() {
    const MS: u64 = 1_000_000;
    let timer = |ns, cpu, due_ns| Event {
        ns,
        cpu,
        steal_ns: 0,
        what: What::TimerBegins(Timer {
            function: "tick_nohz_handler".to_owned(),
            due_ns,
            slack_ns: 0,
            in_user_mode: false,
            stack: Vec::new(),
            ..Timer::default()
        }),
    };
    let waking = Event {
        ns: 31 * MS,
        cpu: 0,
        steal_ns: 0,
        what: What::Waking(Waking {
            tid: 1,
            by: 0,
            by_name: "w".to_owned(),
            timer_due_ns: Some(12 * MS),
            ..Waking::default()
        }),
    };
    let mut recording = Recording {
        subject: Subject {
            task: task(1, 19),
            process: 1,
            loss: Loss::Late,
            due_ns: 12 * MS,
            waking_ns: 31 * MS,
            end_ns: 32 * MS,
            lost_ns: 20 * MS,
            ..Subject::default()
        },
        events: vec![
            timer(10 * MS, 1, 10 * MS),
            // Both at once are not late by that.
            timer(11 * MS + 2, 0, 11 * MS),
            timer(11 * MS + 4, 1, 11 * MS),
            timer(30 * MS, 0, 12 * MS),
            timer(30 * MS + 50, 1, 14 * MS),
            waking,
        ]
        .into(),
        holes: Vec::new(),
        smi: 0,
        virtual_machine: true,
    };
    let stood = |recording: &Recording| -> u64 {
        let segments = cut(recording).into_iter();
        let segments = segments.filter(|one| one.lane == Lane::Hypervisor);
        segments.map(|one| one.ns()).sum()
    };
    assert_eq!(stood(&recording), 18 * MS);
    let hole = Hole {
        cpu: 1,
        from_ns: 15 * MS,
        until_ns: 16 * MS,
        ..Hole::default()
    };
    recording.holes.push(hole);
    assert_eq!(stood(&recording), 0, "nobody knows what happened there");
    recording.holes.clear();
    let mut events: Vec<Event> = recording.events.iter().map(|one| (**one).clone()).collect();
    let mut stood_with = |events: &[Event]| {
        recording.events = events.iter().cloned().collect();
        stood(&recording)
    };
    events.remove(4);
    assert_eq!(stood_with(&events), 0);
    // The other CPU's comes after the thread is back.
    events.push(timer(35 * MS, 1, 14 * MS));
    assert_eq!(stood_with(&events), 18 * MS);
    // From here on there are timers only, so that nothing else happened is not known.
    events.push(timer(45 * MS, 0, 36 * MS));
    events.push(timer(46 * MS, 1, 36 * MS));
    assert_eq!(stood_with(&events), 18 * MS);
}
