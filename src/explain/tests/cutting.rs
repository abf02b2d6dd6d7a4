// SPDX-License-Identifier: GPL-2.0-only
//! Whatever the events are, the segments are consecutive and sum to the whole.

use artis_explain::recording::{Event, Hole, Loss, Recording, Subject, Task, Vector, What};
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
        4 => (tid.clone(), 0..140, tid.clone(), any::<bool>(), any::<bool>(), stack.clone()).prop_map(
            |(next, priority, previous, blocked, throttled, stack)| What::Switch {
                next: task(next, priority),
                previous,
                blocked,
                call: blocked.then_some(202),
                throttled,
                stack,
            }
        ),
        2 => (tid.clone(), tid.clone(), prop::option::of(0..200_u64)).prop_map(
            |(tid, by, timer_due_ns)| What::Waking {
                tid,
                by,
                by_name: "w".to_owned(),
                timer_due_ns,
            }
        ),
        2 => (tid.clone(), 0..3_u32).prop_map(|(tid, on)| What::Woken { tid, on }),
        1 => (tid.clone(), 0..3_u32).prop_map(|(tid, to)| What::Migrate { tid, to }),
        1 => (0..200_u64, 0..50_u64, any::<bool>(), stack).prop_map(
            |(due_ns, slack_ns, in_user_mode, stack)| What::TimerBegins {
                function: "f".to_owned(),
                due_ns,
                slack_ns,
                in_user_mode,
                stack,
            }
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
        1 => (tid.clone(), tid).prop_map(|(waiter, owner)| What::Owner {
            waiter,
            owner: task(owner, 50),
        }),
        1 => Just(What::SchedulerBegins),
        1 => Just(What::SchedulerEnds),
        1 => prop::option::of(0..3_u32).prop_map(|state| What::Idle { state }),
        1 => Just(What::ContentionBegins),
        1 => Just(What::ContentionEnds),
        1 => Just(What::Packets { device: "lo".to_owned(), packets: 1 }),
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
    });
    let holes = prop::collection::vec(hole, 0..3);
    let made = (
        events,
        holes,
        0..200_u64,
        0..200_u64,
        loss,
        0..140,
        any::<bool>(),
    );
    made.prop_map(
        |(events, holes, due_ns, length_ns, loss, priority, virtual_machine)| Recording {
            subject: Subject {
                task: task(1, priority),
                process: 1,
                loss,
                due_ns,
                waking_ns: due_ns,
                end_ns: due_ns + length_ns,
                lost_ns: length_ns,
            },
            events,
            holes,
            smi: 0,
            virtual_machine,
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
        },
        events: Vec::new(),
        holes: vec![Hole {
            cpu: 0,
            from_ns: 0,
            until_ns: 12,
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
        what: What::Switch {
            next: task(next, if next == 1 { 19 } else { 120 }),
            previous,
            blocked: previous == 1,
            call: None,
            throttled: false,
            stack: Vec::new(),
        },
    };
    let on = |ns, what| Event {
        ns,
        cpu: 0,
        steal_ns: 0,
        what,
    };
    let waking = What::Waking {
        tid: 1,
        by: 0,
        by_name: "w".to_owned(),
        timer_due_ns: Some(100),
    };
    let mut recording = Recording {
        subject: Subject {
            task: task(1, 19),
            process: 1,
            loss: Loss::Late,
            due_ns: 100,
            waking_ns: 110,
            end_ns: 200,
            lost_ns: 100,
        },
        events: vec![
            switch(50, 2, 1),
            on(110, waking),
            on(112, What::Woken { tid: 1, on: 0 }),
            switch(180, 1, 3),
        ],
        holes: Vec::new(),
        smi: 0,
        virtual_machine: false,
    };
    let lanes = |recording: &Recording| -> Vec<_> {
        let segments = cut(recording).into_iter();
        segments.map(|one| (one.lane, one.end_ns)).collect()
    };
    use Lane::{InterruptsOff, OwnSystemCall, PreemptionOff, Scheduler, Unknown};
    let known = [(InterruptsOff, 10), (Scheduler, 12), (PreemptionOff, 80)];
    let rest = [(OwnSystemCall, 100)];
    assert_eq!(lanes(&recording), [&known[..], &rest].concat());
    recording.holes.push(Hole {
        cpu: 0,
        from_ns: 112,
        until_ns: 180,
    });
    let unknown = [(InterruptsOff, 10), (Scheduler, 12), (Unknown, 80)];
    assert_eq!(lanes(&recording), [&unknown[..], &rest].concat());
}

/// The recorder says that a late interrupt came in user mode, or a stack without a function of the
/// kernel does; with one such function it was kept off.
#[test]
fn an_interrupt_that_comes_late_into_user_mode_was_not_kept_off() {
    let on = |ns, what| Event {
        ns,
        cpu: 0,
        steal_ns: 0,
        what,
    };
    let lane = |in_user_mode, stack: &[&str], virtual_machine| {
        let stack = stack.iter().map(|one| (*one).to_owned()).collect();
        let due_ns = 100;
        let recording = Recording {
            subject: Subject {
                task: task(1, 19),
                process: 1,
                loss: Loss::Late,
                due_ns,
                waking_ns: 182,
                end_ns: 200,
                lost_ns: 100,
            },
            events: vec![
                on(
                    50,
                    What::Switch {
                        next: task(2, 120),
                        previous: 1,
                        blocked: true,
                        call: None,
                        throttled: false,
                        stack: Vec::new(),
                    },
                ),
                on(
                    180,
                    What::VectorBegins {
                        vector: Vector::LocalTimer,
                    },
                ),
                on(
                    181,
                    What::TimerBegins {
                        function: "hrtimer_wakeup".to_owned(),
                        due_ns,
                        slack_ns: 0,
                        in_user_mode,
                        stack,
                    },
                ),
                on(
                    182,
                    What::Waking {
                        tid: 1,
                        by: 2,
                        by_name: "w".to_owned(),
                        timer_due_ns: Some(due_ns),
                    },
                ),
            ],
            holes: Vec::new(),
            smi: 0,
            virtual_machine,
        };
        let first = cut(&recording).swap_remove(0);
        (first.lane, first.ns(), first.code)
    };
    let kept_off = |code: Option<&str>| (Lane::InterruptsOff, 80, code.map(str::to_owned));
    assert_eq!(lane(false, &[], true), kept_off(None));
    let entry = "asm_sysvec_apic_timer_interrupt";
    assert_eq!(lane(false, &[entry, "f"], true), kept_off(Some("f")));
    // It came at the end of a switch, on the way back from another interrupt.
    let switch = lane(
        false,
        &[entry, "finish_task_switch", "irqentry_exit", entry],
        true,
    );
    assert_eq!(switch, kept_off(Some("finish_task_switch")));
    for (in_user_mode, stack) in [(true, &[][..]), (false, &[entry])] {
        let (lane, ns, _) = lane(in_user_mode, stack, true);
        assert_eq!((lane, ns), (Lane::Hypervisor, 80));
    }
    assert_eq!(lane(true, &[], false), lane(false, &[entry], false));
    assert_ne!(lane(true, &[], false).0, Lane::InterruptsOff);
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
        what: What::TimerBegins {
            function: "tick_nohz_handler".to_owned(),
            due_ns,
            slack_ns: 0,
            in_user_mode: false,
            stack: Vec::new(),
        },
    };
    let waking = Event {
        ns: 31 * MS,
        cpu: 0,
        steal_ns: 0,
        what: What::Waking {
            tid: 1,
            by: 0,
            by_name: "w".to_owned(),
            timer_due_ns: Some(12 * MS),
        },
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
        },
        events: vec![
            timer(10 * MS, 1, 10 * MS),
            // Both at once are not late by that.
            timer(11 * MS + 2, 0, 11 * MS),
            timer(11 * MS + 4, 1, 11 * MS),
            timer(30 * MS, 0, 12 * MS),
            timer(30 * MS + 50, 1, 14 * MS),
            waking,
        ],
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
    };
    recording.holes.push(hole);
    assert_eq!(stood(&recording), 0, "nobody knows what happened there");
    recording.holes.clear();
    recording.events.remove(4);
    assert_eq!(stood(&recording), 0);
    // The other CPU's comes after the thread is back.
    recording.events.push(timer(35 * MS, 1, 14 * MS));
    assert_eq!(stood(&recording), 18 * MS);
    // From here on there are timers only, so that nothing else happened is not known.
    recording.events.push(timer(45 * MS, 0, 36 * MS));
    recording.events.push(timer(46 * MS, 1, 36 * MS));
    assert_eq!(stood(&recording), 18 * MS);
}
