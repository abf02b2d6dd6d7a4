// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy/switch.h`: RT0's timer, switches of tasks, slices on RT CPUs.

use super::*;

#[test]
fn a_timer_finds_what_is_not_done_when_it_is_due() {
    let finds = |due_ns| finds(due_ns, 50 * MS, MS);
    assert!(finds(50 * MS));
    assert!(finds(51 * MS - 1));
    assert!(!finds(51 * MS));
    assert!(finds(50 * MS - 250_000), "it waits for interrupts to be on");
    assert!(!finds(50 * MS - 250_001), "it is over, or was another one");
    assert!(!finds(i64::MAX as u64), "the kernel's \"no timer\"");
}

#[test]
fn a_switch_is_expected_to_take_as_long_as_the_longest_of_late() {
    let mut switch_ns = 0;
    switch_note(&mut switch_ns, 80_000);
    assert_eq!(switch_ns, 100_000);
    switch_note(&mut switch_ns, 1000);
    assert!((99_970..100_000).contains(&switch_ns), "{switch_ns}");
    for _ in 0..2800 {
        switch_note(&mut switch_ns, 1000);
    }
    assert!((49_000..52_000).contains(&switch_ns), "{switch_ns}");
    switch_note(&mut switch_ns, 10 * MS);
    assert_eq!(switch_ns, 250_000, "a virtual machine that was stopped");
    for _ in 0..20_000 {
        switch_note(&mut switch_ns, 1600);
    }
    assert_eq!(switch_ns, 2000, "as a real machine's");
}

#[test]
fn a_slice_on_an_rt_cpu_ends_at_a_tick() {
    for tick in [MS, 4 * MS, 10 * MS] {
        let (mut tick_ns, mut ticked_ns, mut jiffies) = (0, 0, 0);
        let mut note = |now_ns, now| {
            tick_note(&mut tick_ns, &mut ticked_ns, &mut jiffies, now_ns, now);
            (tick_ns, ticked_ns)
        };
        let begin = (0, 100 * MS);
        assert_eq!(note(100 * MS, 25), begin, "the first one is no distance");
        assert_eq!(note(100 * MS + tick, 26), (tick, 100 * MS + tick));
        // ticks that did not come say nothing of their distance
        assert_eq!(note(100 * MS + 3 * tick, 28).0, tick);
        assert_eq!(note(1000 * MS, 29).0, tick);
        // the task runs all the time but for what RT0 takes
        for rt0 in [0, tick / 50, tick / 2] {
            let mut slice = slice_ns(true);
            let mut ended = None;
            let mut now = Stay::Whole as u32;
            for nth in 1..100 {
                slice = slice.saturating_sub(tick - rt0);
                match stay(&mut now, Event::Ticks, false, slice, tick) {
                    Action::Keep => {}
                    Action::Prolong => slice = slice_prolonged_ns(),
                    Action::End => slice = 0,
                }
                if slice == 0 {
                    ended = Some(nth);
                    break;
                }
                assert!(slice > tick, "it would be over before the next tick");
            }
            let wanted = slice_ns(true) / (tick - rt0);
            let ended = ended.unwrap();
            assert!(
                (wanted.saturating_sub(1)..=wanted + 1).contains(&ended),
                "{tick} {rt0}: {ended}"
            );
        }
    }
}

#[test]
fn rcus_thread_is_held_until_cpus_have_had_two_ticks() {
    for tick in [MS, 4 * MS, 10 * MS] {
        let ticked_ns = 100 * MS;
        let goes_at = |now_ns| match held_ns(tick, ticked_ns, now_ns) {
            0 => None,
            held_ns => Some(now_ns + held_ns - HELD_NS),
        };
        // a tick that is late counts, and two say that the CPU has none
        for (now_ns, at) in [
            (ticked_ns, Some(2)),
            (ticked_ns + tick / 2, Some(2)),
            (ticked_ns + tick - 1, Some(2)),
            (ticked_ns + tick, Some(3)),
            (ticked_ns + 2 * tick - 1, Some(3)),
            (ticked_ns + 2 * tick, None),
            (ticked_ns + 100 * tick, None),
        ] {
            assert_eq!(goes_at(now_ns), at.map(|ticks| ticked_ns + ticks * tick));
        }
    }
    assert_eq!(held_ns(0, 0, 100 * MS), 0, "no tick is known");
    let held_since = 7 * MS;
    assert!(!held_goes(true, false, 0, held_since), "nobody is held");
    assert!(held_goes(true, false, held_since, held_since));
    assert!(
        held_goes(false, true, held_since, held_since),
        "a server asks"
    );
    assert!(!held_goes(
        false,
        false,
        held_since,
        held_since + HELD_NS_MAX - 1
    ));
    assert!(
        held_goes(false, false, held_since, held_since + HELD_NS_MAX),
        "no timer came"
    );
}

#[test]
fn a_tick_on_rt0s_way_asks_nothing() {
    assert!(tick_is_rt0s(true, false));
    assert!(
        !tick_is_rt0s(true, true),
        "limits are looked at in ticks alone"
    );
    assert!(!tick_is_rt0s(false, false) && !tick_is_rt0s(false, true));
}

#[test]
fn no_slice_ends_on_a_cpu_that_goes_offline() {
    assert!(keeps_slice(true, false));
    assert!(!keeps_slice(true, true), "it is back");
    assert!(!keeps_slice(false, false));
    assert_eq!(slice_endless_ns(), u64::MAX, "the kernel's SCX_SLICE_INF");
    assert!(slice_was_endless(slice_endless_ns()) && !slice_was_endless(SLICE_RT_NS));
}

/// No tick finds the task, so it is looked at when it goes on.
#[test]
fn a_slice_ends_where_rt0_has_the_cpu_at_each_tick() {
    for tick in [MS, 4 * MS, 10 * MS] {
        // whether a tick was noted before or not, and how long RT0 leaves the CPU to the task
        for (tick_ns, rest) in [(0, MS / 2), (tick, MS / 2), (tick, tick / 50), (tick, tick)] {
            let (mut slice, mut ran) = (slice_ns(true), 0);
            let mut now = Stay::Whole as u32;
            loop {
                assert!(slice > rest.min(tick / 2), "it would be over on RT0's way");
                slice = slice.saturating_sub(rest);
                ran += rest;
                let before = now;
                match stay(&mut now, Event::GoesOn, false, slice, tick_ns) {
                    Action::Keep => {}
                    Action::Prolong => {
                        assert!(before != Stay::Last as u32, "once");
                        slice = slice_prolonged_ns();
                    }
                    Action::End => break,
                }
            }
            let longest = slice_ns(true).max(tick) + 11 * MS + 2 * rest;
            assert!(
                (slice_ns(true)..=longest).contains(&ran),
                "{tick} {rest}: {ran}"
            );
        }
    }
}

#[test]
fn a_task_whose_slice_rt0_ended_goes_behind_rt0_and_then_leaves() {
    let rt = task_in(Class::Linux, State::Rt);
    assert!(may_wait_behind_rt0(&rt, true));
    assert!(!may_wait_behind_rt0(&rt, false), "an NRT CPU");
    let immed = TaskView { immed: true, ..rt };
    assert!(!may_wait_behind_rt0(&immed, true), "nobody may wait there");
    let wakes = TaskView { wakes: true, ..rt };
    assert!(!may_wait_behind_rt0(&wakes, true));
    let back = TaskView {
        handed_back: true,
        ..rt
    };
    assert!(!may_wait_behind_rt0(&back, true));
    assert!(waits_behind_rt0(true, true) && !waits_behind_rt0(false, true));
    assert!(!waits_behind_rt0(true, false));
    for why in 0..8 {
        let [over, kthread, leaves] = [why & 1 != 0, why & 2 != 0, why & 4 != 0];
        let ends = match why {
            0 => Going::Not,
            1..4 => Going::UnlessDue,
            _ => Going::Now,
        };
        assert_eq!(going(over, kthread, leaves), ends);
    }
}

/// The table of an RT CPU's states: what becomes of the slice, and the state after it, of a task
/// whose stay was whole, last, put off and ahead.
#[test]
fn each_event_leads_to_the_state_of_the_table() {
    use Event::{Begins, GoesOn, Leaves, Over, Ticks};
    let (short, long) = (MS, 50 * MS);
    for (event, rt0, slice, expected) in [
        (Begins, false, long, "k:whole k:whole k:whole k:whole"),
        (Begins, true, long, "k:ahead k:ahead k:ahead k:ahead"),
        (GoesOn, false, long, "k:whole k:last e:put_off k:whole"),
        (GoesOn, false, short, "p:last e:last e:put_off p:last"),
        (GoesOn, true, short, "k:ahead k:ahead e:put_off k:ahead"),
        (Ticks, false, long, "k:whole e:whole e:put_off k:ahead"),
        (Ticks, false, short, "p:last e:whole e:put_off p:last"),
        (Ticks, false, 0, "k:whole e:whole e:put_off k:ahead"),
        (Over, false, long, "p:put_off p:put_off e:put_off p:put_off"),
        (Leaves, true, long, "p:put_off p:put_off p:put_off e:ahead"),
    ] {
        let states = [Stay::Whole, Stay::Last, Stay::PutOff, Stay::Ahead];
        let answers = states.map(|before| {
            let mut now = before as u32;
            let action = match stay(&mut now, event, rt0, slice, 4 * MS) {
                Action::Keep => "k",
                Action::Prolong => "p",
                Action::End => "e",
            };
            format!(
                "{action}:{}",
                ["whole", "last", "put_off", "ahead"][now as usize]
            )
        });
        assert_eq!(answers.join(" "), expected, "{event:?} {rt0} {slice}");
    }
}
