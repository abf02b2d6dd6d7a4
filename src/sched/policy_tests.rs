// SPDX-License-Identifier: GPL-2.0-only
//! Tests of `bpf/policy.h`, compiled natively: the very text that the kernel runs.

use proptest::prelude::*;

use super::policy::*;

const NICE_0: u32 = WEIGHT_NICE_0 as u32;
const MS: u64 = 1_000_000;

/// A task of nice 0 that may run everywhere.
pub(super) fn task(class: Class) -> TaskView {
    TaskView {
        class,
        affinity: Affinity::Any,
        state: State::Nrt,
        fixed: false,
        wakes: false,
        handed_back: false,
        immed: false,
        weight: NICE_0,
    }
}

/// The verdict on a task that was never sent to an RT CPU in vain.
fn verdict(class: Class, calls: &Calls, rt: &Side, nrt: &Side) -> Verdict {
    promote(
        &task(class),
        calls,
        &Trial::default(),
        MS,
        1000 * MS,
        rt,
        nrt,
    )
}

/// A task that has computed for a second and never called the kernel.
const COMPUTES: Calls = Calls {
    interval_ns: 0,
    since_ns: 1000 * MS,
};

/// A side with so many tasks of nice 0.
fn side(cpus: u32, tasks: u32) -> Side {
    Side {
        cpus,
        tasks,
        weight: u64::from(tasks * NICE_0),
        ..Side::default()
    }
}

/// A pool where cgroups have no weights, and a task of @weight that joins others of @others.
pub(super) fn joining(mean: u64, weight: u32, others: u64) -> Joining {
    Joining {
        mean,
        all: others + u64::from(weight),
        behind: 0,
        group_vtime: 0,
        grouped: false,
        shared: false,
        spread: false,
        weight,
    }
}

/// What a task's record is after calls at these distances, in ns.
fn after_calls(intervals: &[u64]) -> Calls {
    let mut calls = Calls::default();
    for &interval in intervals {
        calls_note(&mut calls, interval, 1);
    }
    calls
}

#[test]
fn classes_follow_the_policy_of_the_kernel() {
    const SCHED_NORMAL: u32 = 0;
    const SCHED_BATCH: u32 = 3;
    const SCHED_IDLE: u32 = 5;
    const SCHED_EXT: u32 = KernelPolicy::PolicyExt as u32;
    for policy in [SCHED_NORMAL, SCHED_BATCH, SCHED_IDLE] {
        assert_eq!(classify(policy, false), Class::Linux);
    }
    assert_eq!(classify(SCHED_EXT, false), Class::Rt1);
    assert_eq!(classify(SCHED_EXT, true), Class::Kthread);
}

#[test]
fn levels_are_the_nice_values() {
    for (static_prio, level) in [(100, 1), (120, 21), (139, 40), (0, 1), (200, 40)] {
        assert_eq!(rt1_level(static_prio), level);
    }
}

#[test]
fn a_higher_level_comes_first_among_tasks_that_wait_together() {
    for level in 1..40 {
        assert!(rt1_key(level, 7 * MS) < rt1_key(level + 1, 0));
    }
}

#[test]
fn a_low_level_is_not_kept_waiting_for_ever() {
    let wait_ns = 40 * RT1_LEVEL_NS;
    assert!(rt1_key(40, 0) < rt1_key(1, wait_ns));
    // far below the 30 s of the kernel's watchdog
    assert!(wait_ns < 3000 * MS);
}

#[test]
fn the_estimate_is_what_is_left_of_the_mean_interval() {
    let mut calls = after_calls(&[4 * MS; 20]);
    assert_eq!(next_entry_ns(&calls), 4 * MS);
    calls_note(&mut calls, MS, 0);
    assert_eq!(next_entry_ns(&calls), 3 * MS);
}

#[test]
fn who_is_past_the_mean_is_expected_to_go_on_as_long() {
    let mut calls = after_calls(&[MS; 20]);
    calls_note(&mut calls, 50 * MS, 0);
    assert_eq!(next_entry_ns(&calls), 50 * MS);
}

#[test]
fn many_calls_in_one_slice_count_as_many() {
    let mut calls = after_calls(&[10 * MS; 20]);
    calls_note(&mut calls, 4 * MS, 400);
    assert_eq!(next_entry_ns(&calls), 10_000);
}

#[test]
fn a_few_calls_are_enough_to_notice_a_change() {
    let mut calls = after_calls(&[10 * MS; 20]);
    for _ in 0..20 {
        calls_note(&mut calls, 10_000, 1);
    }
    assert!(next_entry_ns(&calls) < 2 * MIGRATION_NS);
}

#[test]
fn a_stay_that_did_not_pay_is_not_tried_again_at_once() {
    let (rt, nrt) = (side(1, 0), side(1, 5));
    let mut trial = Trial::default();
    let mut now_ns = 1000 * MS;
    let mut pauses = Vec::new();
    for _ in 0..12 {
        assert!(may_try(&trial, now_ns));
        trial_ended(&mut trial, Class::Linux, now_ns, 10_000);
        let before = trial.until_ns - 1;
        let verdict = promote(
            &task(Class::Linux),
            &COMPUTES,
            &trial,
            before,
            1000 * MS,
            &rt,
            &nrt,
        );
        assert_eq!(verdict, Verdict::RefuseEstimate);
        pauses.push(trial.until_ns - now_ns);
        now_ns = trial.until_ns;
    }
    assert!(pauses.windows(2).all(|two| two[0] <= two[1]));
    assert_eq!(pauses.last(), Some(&PAUSE_NS_MAX));
    // moves in vain stay cheap, and a change of habit is noticed within half a second or so
    const { assert!(2 * MIGRATION_NS * 1000 < PAUSE_NS_MAX) };
    const { assert!(PAUSE_NS_MAX <= 1000 * MS) };
    trial_ended(&mut trial, Class::Linux, now_ns, 2 * MIGRATION_NS);
    assert!(may_try(&trial, now_ns), "one stay that paid clears it");
    assert_eq!(trial.pause_ns, 0);
}

#[test]
fn rt1_is_tried_again_sooner() {
    let mut trial = Trial::default();
    for _ in 0..12 {
        trial_ended(&mut trial, Class::Rt1, 0, 0);
    }
    assert_eq!(trial.until_ns, PAUSE_RT1_NS_MAX);
    const { assert!(PAUSE_RT1_NS_MAX < PAUSE_NS_MAX) };
}

#[test]
fn a_task_that_is_about_to_call_is_not_moved() {
    let calling = after_calls(&[10_000; 20]);
    let (rt, nrt) = (side(1, 0), side(1, 5));
    assert_eq!(
        verdict(Class::Linux, &calling, &rt, &nrt),
        Verdict::RefuseEstimate
    );
    assert_eq!(
        verdict(Class::Rt1, &calling, &rt, &nrt),
        Verdict::RefuseEstimate
    );
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &rt, &nrt),
        Verdict::Promote
    );
}

#[test]
fn an_rt_cpu_without_a_task_gets_one_even_if_rt0_leaves_little() {
    let rt = Side {
        rt_util: CAPACITY as u32 * 9 / 10,
        ..side(1, 0)
    };
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &rt, &side(1, 3)),
        Verdict::Promote
    );
}

#[test]
fn nobody_moves_when_nobody_waits() {
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &side(1, 0), &side(2, 2)),
        Verdict::Stay
    );
}

#[test]
fn the_share_of_rt0_weighs_the_run_queue() {
    let free = side(1, 1);
    let half_taken = Side {
        rt_util: CAPACITY as u32 / 2,
        ..free
    };
    // two tasks on the RT CPU against three: fair when it is free, not when half is taken
    let nrt = side(1, 3);
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &free, &nrt),
        Verdict::Promote
    );
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &half_taken, &nrt),
        Verdict::Stay
    );
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &half_taken, &side(1, 4)),
        Verdict::Promote
    );
}

#[test]
fn the_rt_queue_does_not_grow_without_bound() {
    let full = side(1, 1 + RT_QUEUE_MAX as u32);
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &full, &side(1, 1000)),
        Verdict::Stay
    );
}

#[test]
fn rt1_moves_whatever_the_balance_until_each_rt_cpu_has_one() {
    let (busy, idle_nrt) = (side(1, 5), side(1, 1));
    assert_eq!(
        verdict(Class::Rt1, &COMPUTES, &busy, &idle_nrt),
        Verdict::Promote
    );
    let taken = Side {
        rt1_tasks: 1,
        ..busy
    };
    assert_eq!(
        verdict(Class::Rt1, &COMPUTES, &taken, &idle_nrt),
        Verdict::Stay
    );
}

#[test]
fn rt_to_nrt_moves_linux_tasks_first() {
    let (crowded, empty) = (side(1, 4), side(1, 1));
    assert!(!stays_rt(&task(Class::Linux), &crowded, &empty));
    assert!(stays_rt(&task(Class::Rt1), &crowded, &empty));
    let alone = side(1, 1);
    assert!(stays_rt(&task(Class::Linux), &alone, &empty), "alone there");
}

#[test]
fn behind_a_long_burst_a_task_waits_only_where_it_waits_less() {
    let behind = TaskView {
        handed_back: true,
        ..task(Class::Linux)
    };
    // RT0 has nine tenths of an RT CPU; a tenth is worth as much as one of ten turns of an NRT CPU.
    let busy = |cpus, tasks| Side {
        rt_util: (CAPACITY * 9 / 10) as u32,
        ..side(cpus, tasks)
    };
    for (rt, nrt, stays) in [
        (busy(1, 1), side(1, 0), false),
        (busy(1, 1), side(1, 1), false),
        (busy(1, 1), side(1, 8), false),
        (busy(1, 1), side(1, 10), true),
        (busy(1, 2), side(1, 10), false),
        (busy(3, 3), side(1, 10), true),
        (side(1, 1), side(1, 1), false),
        (side(1, 1), side(1, 2), true),
        (side(1, 1), side(2, 2), false),
    ] {
        assert_eq!(stays_rt(&behind, &rt, &nrt), stays, "{rt:?} {nrt:?}");
    }
}

#[test]
fn light_tasks_weigh_less_in_the_balance() {
    let of = |tasks, weight: u32| Side {
        weight: weight.into(),
        ..side(1, tasks)
    };
    let light = TaskView {
        weight: NICE_0 / 10,
        ..task(Class::Linux)
    };
    // Two of nice 0 on the NRT CPU, two of a tenth on the RT CPU: one goes there, one comes back.
    let (heavy_nrt, light_rt) = (of(2, 2 * NICE_0), of(2, NICE_0 / 5));
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &light_rt, &heavy_nrt),
        Verdict::Promote
    );
    let (rt, nrt) = (of(3, NICE_0 + NICE_0 / 5), of(1, NICE_0));
    assert!(!stays_rt(&light, &rt, &nrt));
    let (rt, nrt) = (of(2, NICE_0 + NICE_0 / 10), of(2, NICE_0 + NICE_0 / 10));
    assert!(stays_rt(&light, &rt, &nrt) && stays_rt(&task(Class::Linux), &rt, &nrt));
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &rt, &nrt),
        Verdict::Stay,
        "it is balanced"
    );
}

#[test]
fn kernel_threads_and_offline_rt_cpus_are_never_considered() {
    assert_eq!(
        verdict(Class::Kthread, &COMPUTES, &side(1, 0), &side(1, 9)),
        Verdict::Stay
    );
    assert_eq!(
        verdict(Class::Linux, &COMPUTES, &side(0, 0), &side(1, 9)),
        Verdict::Stay
    );
}

#[test]
fn who_answers_somebody_is_not_sent_to_wait() {
    let nrt = side(1, 8);
    let verdict = |class, burst, rt: &Side| {
        let trial = Trial::default();
        promote(&task(class), &COMPUTES, &trial, MS, burst, rt, &nrt)
    };
    let (idle, busy) = (side(1, 0), side(1, 1));
    assert_eq!(verdict(Class::Linux, 1, &idle), Verdict::Promote);
    assert_eq!(verdict(Class::Linux, 1, &busy), Verdict::Stay);
    let slice = slice_ns(false);
    assert_eq!(verdict(Class::Linux, slice - 1, &busy), Verdict::Stay);
    assert_eq!(verdict(Class::Linux, slice, &busy), Verdict::Promote);
    // an RT1+ task takes the CPU from the Linux task there
    assert_eq!(verdict(Class::Rt1, 1, &busy), Verdict::Promote);
}

#[test]
fn tasks_that_waited_for_an_rt_cpu_do_not_come_all_in_a_row() {
    // the CPU chooses a task each time a slice is over, and one always waits
    let took = |slice_ns| {
        let mut looked_ns = 0;
        let turns = (1..40).filter(|turn| {
            let now = turn * slice_ns;
            let looks = look_for_waiting(&mut looked_ns, now);
            if looks {
                took_waiting(&mut looked_ns, now);
            }
            looks
        });
        turns.count()
    };
    assert_eq!(took(3 * MS), 13, "one slice of three");
    assert_eq!(
        took(4 * MS),
        20,
        "every second one of those that end at ticks"
    );
}

#[test]
fn rt1_is_looked_at_more_often_than_linux() {
    let stocked = side(1, 2);
    assert!(look(Class::Rt1, SLICE_NRT_NS, &stocked));
    assert!(!look(Class::Linux, SLICE_NRT_NS / 2, &stocked));
    assert!(look(Class::Linux, SLICE_NRT_NS / 2 - 1, &stocked));
    assert!(
        look(Class::Linux, SLICE_NRT_NS, &side(1, 1)),
        "nothing in reserve"
    );
}

#[test]
fn others_get_their_turn_between_rt1_phases() {
    let mut turn = Turn::default();
    let start = 1000 * MS;
    turn_reset(&mut turn, start);
    let mut others_ns = 0;
    let step = MS / 2;
    for tick in 0..2000 {
        if others_turn(&mut turn, start + tick * step) {
            others_ns += step;
        }
    }
    let share = others_ns as f64 / (2000 * step) as f64;
    let wanted = OTHERS_PHASE_NS as f64 / (OTHERS_PHASE_NS + RT1_PHASE_NS) as f64;
    assert!((share - wanted).abs() < 0.01, "{share}, not {wanted}");
}

#[test]
fn a_turn_that_nobody_could_take_in_time_is_not_lost() {
    let mut turn = Turn::default();
    turn_reset(&mut turn, 0);
    assert!(others_turn(&mut turn, 3 * RT1_PHASE_NS));
}

#[test]
fn short_bursts_are_waited_out_and_long_ones_are_not() {
    let since = 50 * MS;
    assert!(!hand_back(since + HAND_BACK_NS - 1, since));
    assert!(hand_back(since + HAND_BACK_NS, since));
    assert!(!hand_back(since, 0), "nobody is displaced");
    assert!(!waited_for_rt(since + RT_WAIT_MAX_NS, since, NICE_0));
    assert!(waited_for_rt(since + RT_WAIT_MAX_NS + 1, since, NICE_0));
}

#[test]
fn who_switches_often_looks_for_waiting_tasks_once_a_millisecond_and_seldom_into_empty_queues() {
    let mut looked_ns = 0;
    let looks = (0..1000u64)
        .filter(|turn| look_for_waiting(&mut looked_ns, MS / 2 + turn * 30_000))
        .count();
    assert_eq!(looks, 30, "1000 switches in 30 ms, from the first one on");
    let mut looked_ns = 0;
    let looks = (0..1000u64)
        .filter(|turn| look_into_empty(&mut looked_ns, MS / 2 + turn * 30_000))
        .count();
    assert_eq!(looks, 3, "into queues that seem empty");
}

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
            let mut last = false;
            for nth in 1..100 {
                slice = slice.saturating_sub(tick - rt0);
                match tick_slice(slice, tick, last) {
                    TickSlice::Keep => {}
                    TickSlice::Prolong => {
                        last = true;
                        slice = slice_prolonged_ns();
                    }
                    TickSlice::End => slice = 0,
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

#[test]
fn nobody_is_passed_over_for_long() {
    assert!(may_pass_over(51 * MS - 1, 50 * MS));
    assert!(!may_pass_over(51 * MS, 50 * MS));
    assert!(!may_pass_over(51 * MS, 0), "since when is not known");
}

#[test]
fn a_task_keeps_what_it_is_owed_and_its_debt_is_passed_by() {
    let mean = 1000 * MS;
    let at = joining(mean, NICE_0, 0);
    let back = |vtime, lag| vtime_place(&at, Arrival::Back, vtime, lag);
    let ms = MS as i64;
    assert_eq!(
        back(1, 2 * ms),
        mean - 2 * MS,
        "owed 2 ms, wherever it stood"
    );
    assert_eq!(back(1, 60 * ms), mean - CREDIT_NS);
    assert_eq!(back(mean - MS, -5 * ms), mean, "it slept for so long");
    assert_eq!(back(mean + MS, -5 * ms), mean + MS, "not yet");
    let light = joining(mean, NICE_0 / 4, 0);
    assert_eq!(
        vtime_place(&light, Arrival::Again, mean + 1000 * MS, 0),
        mean + 4 * DEBT_NS,
        "bounds are of a task's own time"
    );
}

#[test]
fn the_last_task_of_a_pool_leaves_its_time_behind() {
    let mut pool = Pool::default();
    pool_join(&mut pool, 7, NICE_0);
    pool_charge(&mut pool, 30, NICE_0);
    pool_leave(&mut pool, 37, NICE_0);
    assert_eq!((pool_vtime(&pool), pool.weight, pool.sum), (37, 0, 0));
}

#[test]
fn who_asks_for_little_comes_first_and_keeps_its_deadline_until_it_had_it() {
    let hog = request(10 * MS, 0, false);
    assert_eq!(hog, SLICE_NRT_NS);
    assert_eq!(request(MS, 0, false), MS);
    assert_eq!(
        request(MS, 2 * MS, false),
        SLICE_NRT_NS,
        "longer than usual"
    );
    assert_eq!(request(1, 0, false), REQUEST_NS_MIN);
    assert_eq!(
        request(4 * MS, 0, true),
        4 * MS,
        "an RT CPU's slice is longer"
    );
    let one = joining(0, NICE_0, 0);
    let at = |arrival, vtime| deadline(&one, arrival, 10 * MS, vtime, MS);
    assert_eq!(at(Arrival::Again, 9 * MS), 10 * MS);
    assert_eq!(at(Arrival::Again, 10 * MS), 11 * MS);
    assert_eq!(at(Arrival::Back, 9 * MS), 10 * MS);
    assert_eq!(at(Arrival::New, 2 * MS), 3 * MS);
    let heavy = joining(0, 2 * NICE_0, 0);
    assert_eq!(deadline(&heavy, Arrival::New, 0, 0, MS), MS / 2);
}

#[test]
fn bounds_are_of_a_tasks_own_time_but_nobody_waits_for_long() {
    let all = 10 * u64::from(NICE_0);
    assert_eq!(distance(12 * MS, NICE_0, all), 12 * MS, "at nice 0");
    assert_eq!(distance(12 * MS, NICE_0 / 4, all), 48 * MS);
    // All get one CPU: a hundred-thousandth of it would be twenty minutes for 12 ms.
    let most = WAIT_NS / 10_000;
    assert_eq!(
        distance(12 * MS, NICE_0 / 10, 10_000 * u64::from(NICE_0)),
        most
    );
}

#[test]
fn who_is_before_those_that_wait_goes_on() {
    assert!(stays_first(5, 6) && !stays_first(6, 6));
    assert!(is_compared(Class::Linux) && is_compared(Class::Kthread));
    assert!(!is_compared(Class::Rt1), "it had its turn");
}

/// What tasks of these nice values get in so many ticks, bound to one CPU, in ns: the first by
/// deadline runs to the next tick, and goes on while its deadline is first.
fn computed(weights: &[u32], ticks: usize) -> Vec<u64> {
    let tick = 4 * MS;
    let mut pool = Pool::default();
    let mut ran = vec![0; weights.len()];
    let begin = 1 << 40;
    let mut tasks: Vec<(u64, u64)> = vec![(begin, begin); weights.len()];
    for (task, weight) in tasks.iter_mut().zip(weights) {
        let mut at = joining(0, *weight, 0);
        task.0 = pool_arrive(&mut pool, &mut at, Arrival::Back, begin, 0);
        task.1 = deadline(&at, Arrival::New, 0, task.0, SLICE_NRT_NS);
    }
    for _ in 0..ticks {
        let first = (0..tasks.len()).min_by_key(|&at| tasks[at].1).unwrap();
        let (weight, (vtime, before)) = (weights[first], tasks[first]);
        let vtime = vtime + vtime_charge(tick, weight);
        pool_charge(&mut pool, vtime_charge(tick, weight), weight);
        pool_leave(&mut pool, vtime, weight);
        let mut at = joining(0, weight, 0);
        let vtime = pool_arrive(&mut pool, &mut at, Arrival::Again, vtime, 0);
        let deadline = deadline(&at, Arrival::Again, before, vtime, SLICE_NRT_NS);
        tasks[first] = (vtime, deadline);
        ran[first] += tick;
    }
    ran
}

#[test]
fn cpu_time_follows_the_nice_values() {
    // Nice 0, 5, 10 and 19, as sched_ext says them.
    for weights in [&[100, 10][..], &[100, 100, 32, 10], &[100, 1], &[8669, 100]] {
        let scaled: Vec<u32> = weights.iter().map(|one| weight(*one)).collect();
        let ran = computed(&scaled, 100_000);
        let (total, all) = (
            ran.iter().sum::<u64>() as f64,
            weights.iter().sum::<u32>() as f64,
        );
        for (ran, weight) in ran.iter().zip(weights) {
            let part = *ran as f64 / total / (f64::from(*weight) / all);
            assert!(
                (0.8..1.25).contains(&part),
                "{weights:?}: {part} of its share"
            );
        }
    }
}

#[test]
fn bursts_are_learnt() {
    assert_eq!(request(0, 0, false), REQUEST_NS_NEW);
    assert_eq!(usual_burst(0, 50_000), 50_000, "the first one counts whole");
    assert_ne!(usual_burst(0, 0), 0, "0 is none");
    let mut usual = 3 * MS;
    for _ in 0..20 {
        usual = usual_burst(usual, 50_000);
    }
    assert!((50_000..60_000).contains(&usual), "{usual}");
    assert!(
        usual_burst(usual, 9 * MS) > 2 * MS,
        "one long burst is noticed"
    );
}

#[test]
fn slices_end_on_time_only_where_many_wait() {
    let at_ticks = u32::try_from(WAITING_AT_TICKS).unwrap();
    assert!(!times_slice(2 * at_ticks, 2));
    assert!(times_slice(2 * at_ticks + 1, 2));
    let may = [Class::Linux, Class::Rt1, Class::Kthread, Class::None];
    assert_eq!(
        may.map(|class| may_time_slice(class)),
        [true, false, false, false]
    );
    let mut looked_ns = 0;
    assert!(looks_at_waiting(&mut looked_ns, 5 * MS));
    assert!(!looks_at_waiting(
        &mut looked_ns,
        5 * MS + WAITING_LOOK_NS - 1
    ));
    assert!(looks_at_waiting(&mut looked_ns, 5 * MS + WAITING_LOOK_NS));
}

#[test]
fn a_timed_slice_is_what_is_left_of_what_the_task_asked_for() {
    let left = |deadline, weight, request_ns| {
        let running = Running {
            deadline,
            vtime: 100 * MS,
            since_ns: 0,
            burst_ns: 0,
            weight,
        };
        timed_slice_ns(&running, request_ns)
    };
    let computes = |deadline, weight| left(deadline, weight, SLICE_NRT_NS);
    assert_eq!(computes(100 * MS + SLICE_NRT_NS, NICE_0), SLICE_NRT_NS);
    assert_eq!(computes(101 * MS, NICE_0), MS, "it was displaced half-way");
    assert_eq!(computes(110 * MS, NICE_0 / 10), MS, "in its own CPU time");
    assert_eq!(computes(100 * MS + 1, NICE_0), REQUEST_NS_MIN);
    assert_eq!(computes(100 * MS, NICE_0), SLICE_NRT_NS, "it had all of it");
    assert_eq!(computes(90 * MS, NICE_0), SLICE_NRT_NS);
    assert_eq!(computes(200 * MS, NICE_0), SLICE_NRT_NS);
    assert_eq!(computes(u64::MAX / 3, NICE_0), SLICE_NRT_NS);
    let asks_little = left(100 * MS + REQUEST_NS_MIN, NICE_0, REQUEST_NS_MIN);
    assert_eq!(asks_little, SLICE_NRT_NS, "it will be gone before");
}

#[test]
fn a_task_that_computes_makes_way_and_one_that_has_just_begun_does_not() {
    let running = Running {
        deadline: 103 * MS,
        vtime: 100 * MS,
        since_ns: 500 * MS,
        burst_ns: 0,
        weight: NICE_0,
    };
    let light = 101 * MS;
    let takes = |deadline, ran, interrupt| {
        takes_over(
            deadline,
            &running,
            u64::wrapping_add(ran, 500 * MS),
            interrupt,
        )
    };
    assert!(takes(light, 2 * MS, false));
    assert!(
        !takes(light, PROTECT_NS - 1, false),
        "messages do not switch each time"
    );
    assert!(takes(light, PROTECT_INTERRUPT_NS, true));
    assert!(!takes(light, PROTECT_INTERRUPT_NS - 1, true));
    assert!(
        !takes(103 * MS, 2 * MS, true),
        "its deadline is not earlier"
    );
    assert!(
        takes(105 * MS, 4 * MS, true),
        "beyond its own deadline it asks for a slice more"
    );
    assert!(
        !takes(light, u64::MAX, true),
        "the clock of another CPU may be behind"
    );
    assert!(
        takes_over(
            light,
            &Running {
                burst_ns: 4 * MS,
                ..running
            },
            500 * MS,
            true
        ),
        "it has run for long, and others displaced it for a moment"
    );
}

#[test]
fn who_waits_for_the_world_outside_comes_next_if_it_is_not_far_ahead() {
    let owed = |vtime, mean| is_owed(vtime, &joining(mean, NICE_0, 0));
    assert!(owed(5, 5) && owed(4, 5) && owed(5 + AHEAD_NS, 5) && !owed(6 + AHEAD_NS, 5));
    assert!(
        owed(u64::MAX, 2) && !owed(2 + AHEAD_NS, u64::MAX),
        "virtual time wraps"
    );
    assert!(comes_next(true, true));
    assert!(!comes_next(true, false) && !comes_next(false, true));
}

#[test]
fn clocks_of_two_cpus_may_differ_a_little() {
    assert!(!hand_back(49 * MS, 50 * MS));
    assert!(!waited_for_rt(49 * MS, 50 * MS, NICE_0));
}

#[test]
fn a_light_task_waits_longer_for_an_rt_cpu() {
    let waits = |weight| (0..).find(|ms| waited_for_rt(ms * MS, 0, weight)).unwrap();
    assert_eq!(waits(NICE_0), 21);
    assert_eq!(waits(8 * NICE_0), 21, "a heavy one no shorter");
    assert_eq!(waits(NICE_0 / 4), 81);
    assert_eq!((waits(NICE_0 / 100), waits(0)), (201, 201));
}

proptest! {
    /// Whatever a task did, it is neither owed nor owes more than the bounds; across a wrap of
    /// virtual time too.
    #[test]
    fn credit_and_debt_are_bounded(mean: u64, distance in -(1i64 << 40)..(1i64 << 40), lag in -(1i64 << 40)..(1i64 << 40)) {
        let vtime = mean.wrapping_add(distance as u64);
        let at = joining(mean, NICE_0, 0);
        for arrival in [Arrival::Again, Arrival::Back, Arrival::Moved, Arrival::New] {
            let placed = vtime_place(&at, arrival, vtime, lag).wrapping_sub(mean) as i64;
            prop_assert!(placed >= -(CREDIT_NS as i64) && placed <= DEBT_NS as i64);
        }
        let again = vtime_place(&at, Arrival::Again, vtime, lag);
        if distance >= -(CREDIT_NS as i64) && distance <= DEBT_NS as i64 {
            prop_assert_eq!(again, vtime);
        }
    }

    /// A task that was owed time on the other side starts level; one with too much keeps its debt,
    /// up to the bound.
    #[test]
    fn a_task_from_the_other_side_takes_its_debt_along(
        vtime: u64,
        lag in -(1i64 << 40)..(1i64 << 40),
        mean: u64,
    ) {
        let at = joining(mean, NICE_0, 0);
        prop_assert_eq!(vtime_place(&at, Arrival::New, vtime, lag), mean);
        let debt = (-lag).clamp(0, DEBT_NS as i64) as u64;
        prop_assert_eq!(vtime_place(&at, Arrival::Moved, vtime, lag), mean.wrapping_add(debt));
    }

    /// However light a task is among the others, the mean reaches its deadline in twice the longest
    /// wait, by one CPU; where cgroups have weights, too.
    #[test]
    fn nobody_waits_for_ever(weight in 1u32..=160_000, others in 0u64..=1_600_000_000, vtime: u64, shared: bool) {
        let mean = 1u64 << 60;
        let at = Joining { shared, ..joining(mean, weight, others) };
        let vtime = vtime_place(&at, Arrival::Again, vtime, 0);
        let deadline = deadline(&at, Arrival::New, 0, vtime, SLICE_NRT_NS);
        let distance = deadline.wrapping_sub(mean) as i64;
        let waits_ns = i128::from(distance) * i128::from(at.all) / i128::from(WEIGHT_NICE_0);
        prop_assert!(waits_ns <= 2 * i128::from(WAIT_NS), "{} s", waits_ns / 1_000_000_000);
    }

    /// A pool's virtual time is the weighted mean of those in it, whoever comes, runs and goes,
    /// wherever virtual time is.
    #[test]
    fn a_pool_knows_its_mean(start: u64, steps in proptest::collection::vec((0usize..8, 1u32..10_000, 0u64..1 << 32), 1..200)) {
        let mut pool = Pool { base: start, ..Pool::default() };
        let mut tasks: [Option<(u64, u32)>; 8] = [None; 8];
        for (who, weight, ahead) in steps {
            match tasks[who] {
                None => {
                    let vtime = start.wrapping_add(ahead);
                    pool_join(&mut pool, vtime, weight);
                    tasks[who] = Some((vtime, weight));
                }
                Some((vtime, weight)) if ahead % 2 == 0 => {
                    pool_charge(&mut pool, ahead >> 8, weight);
                    tasks[who] = Some((vtime.wrapping_add(ahead >> 8), weight));
                }
                Some((vtime, weight)) => {
                    pool_leave(&mut pool, vtime, weight);
                    tasks[who] = None;
                }
            }
            let there = tasks.iter().flatten();
            let weights: i128 = there.clone().map(|(_, weight)| i128::from(*weight)).sum();
            prop_assert_eq!(i128::from(pool.weight), weights);
            if weights > 0 {
                let sum: i128 = there
                    .map(|(vtime, weight)| i128::from(vtime.wrapping_sub(start)) * i128::from(*weight))
                    .sum();
                let mean = i128::from(pool_vtime(&pool).wrapping_sub(start) as i64);
                prop_assert!((mean - sum / weights).abs() <= 1, "{mean} {}", sum / weights);
            }
        }
    }

    /// Two tasks that always run when they are first get time by their weights.
    #[test]
    fn time_goes_by_weight(light in 10u32..1000, heavier in 1u32..10) {
        let weights = [light, light * heavier];
        let (mut vtime, mut ran) = ([0u64; 2], [0u64; 2]);
        for _ in 0..20_000 {
            let next = usize::from(vtime[1] < vtime[0]);
            vtime[next] += vtime_charge(MS, weights[next]);
            ran[next] += 1;
        }
        let ratio = ran[1] as f64 / ran[0] as f64;
        prop_assert!((ratio / f64::from(heavier) - 1.0).abs() < 0.02, "{ran:?}");
    }

    /// The estimate stays within what was seen, and is never 0 for a task that was never caught.
    #[test]
    fn the_mean_stays_within_what_was_seen(intervals in proptest::collection::vec(1u64..1_000_000_000, 1..50)) {
        let calls = after_calls(&intervals);
        let (least, most) = (intervals.iter().min().unwrap(), intervals.iter().max().unwrap());
        prop_assert!(calls.interval_ns >= least.saturating_sub(1) && calls.interval_ns <= *most, "{calls:?}");
    }

    /// No promotion makes the RT side, weighted, busier than the NRT side is.
    #[test]
    fn a_promotion_never_unbalances(rt_tasks in 1u32..10, nrt_tasks in 1u32..50, util in 0u32..=1024) {
        let rt = Side { rt_util: util, ..side(1, rt_tasks) };
        if verdict(Class::Linux, &COMPUTES, &rt, &side(1, nrt_tasks)) == Verdict::Promote {
            prop_assert!(rt_tasks < nrt_tasks, "{rt_tasks} {nrt_tasks}");
        }
    }
}

/// No tick finds the task, so it is looked at when it goes on.
#[test]
fn a_slice_ends_where_rt0_has_the_cpu_at_each_tick() {
    for tick in [MS, 4 * MS, 10 * MS] {
        // whether a tick was noted before or not, and how long RT0 leaves the CPU to the task
        for (tick_ns, rest) in [(0, MS / 2), (tick, MS / 2), (tick, tick / 50), (tick, tick)] {
            let (mut slice, mut last, mut ran) = (slice_ns(true), false, 0);
            loop {
                assert!(slice > rest.min(tick / 2), "it would be over on RT0's way");
                slice = slice.saturating_sub(rest);
                ran += rest;
                match slice_behind_rt0(slice, tick_ns, last) {
                    TickSlice::Keep => {}
                    TickSlice::Prolong => {
                        assert!(!last, "once");
                        last = true;
                        slice = slice_prolonged_ns();
                    }
                    TickSlice::End => break,
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

/// Real-time tasks on an NRT CPU; on an RT CPU they are RT0, and nobody is in their way.
#[test]
fn who_is_kept_from_a_cpu_is_looked_after_behind_a_quarter_of_a_second() {
    assert!(is_beset(false, true));
    assert!(!is_beset(true, true) && !is_beset(false, false));
    let tick = 4 * MS;
    let ticks = (BESET_NS / tick) as u32;
    assert!(!is_beset_long(beset_ns(ticks - 1, tick)));
    assert!(is_beset_long(beset_ns(ticks + 1, tick)));
    assert_eq!(beset_ns(ticks, 0), 0, "ticks are not known");
    let since = 7 * MS;
    assert!(!is_stranded(since + BESET_NS - 1, since));
    assert!(is_stranded(since + BESET_NS, since));
    assert!(!is_stranded(since + BESET_NS, 0), "it does not wait");
    // A server's period is a second: twice that, and it does not serve.
    assert!(!is_unserved(1_000 * MS) && is_unserved(2_000 * MS));
}
