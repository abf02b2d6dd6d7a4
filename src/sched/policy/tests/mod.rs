// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the policy, compiled natively: the very text that the kernel runs. A file for each
//! subject, as in `bpf/policy/`; here is what they share.

use super::*;
use proptest::prelude::*;

mod border;
mod cache;
mod entry;
mod group;
mod limit;
mod next;
mod promote;
mod queue;
mod room;
mod running;
mod seat;
mod sharing;
mod switch;
mod task;
mod vtime;

const NICE_0: u32 = WEIGHT_NICE_0 as u32;

const MS: u64 = 1_000_000;

/// The weight of what has `weight` where nice 0 has 100.
fn weight(weight: u32) -> u32 {
    weight * WEIGHT_SCALE as u32
}

/// A task of nice 0 that may run everywhere.
fn task(class: Class) -> TaskView {
    TaskView {
        class,
        affinity: Affinity::Any,
        state: State::Nrt,
        fixed: false,
        wakes: false,
        handed_back: false,
        immed: false,
        makes_way: false,
    }
}

/// A task of @weight, of no cgroup but the root, that joins others of @others.
fn joining(mean: u64, weight: u32, others: u64) -> Joining {
    Joining {
        mean,
        all: others + u64::from(weight),
        served: 0,
        by_served: false,
        here: 0,
        confined: false,
        group_vtime: 0,
        grouped: false,
        weight,
    }
}

const CLASSES: [Class; 3] = [Class::Linux, Class::Rt1, Class::Kthread];

const AFFINITIES: [Affinity; 4] = [Affinity::Any, Affinity::One, Affinity::Rt, Affinity::Nrt];

const LEAVING: [State; 6] = [
    State::LeavesSyscall,
    State::LeavesFault,
    State::LeavesSignal,
    State::LeavesTracer,
    State::LeavesAffinity,
    State::LeavesUnknown,
];

fn states() -> impl Iterator<Item = State> {
    [State::Nrt, State::Promoted, State::Stopped, State::Rt]
        .into_iter()
        .chain(LEAVING)
}

/// A task that may run everywhere.
fn task_in(class: Class, state: State) -> TaskView {
    TaskView {
        class,
        affinity: Affinity::Any,
        state,
        fixed: false,
        wakes: false,
        handed_back: false,
        immed: false,
        makes_way: false,
    }
}

/// Every task there can be.
fn any_task() -> impl Strategy<Value = TaskView> {
    let states: Vec<State> = states().collect();
    (
        prop::sample::select(CLASSES.to_vec()),
        prop::sample::select(AFFINITIES.to_vec()),
        prop::sample::select(states),
        any::<[bool; 5]>(),
    )
        .prop_map(
            |(class, affinity, state, [fixed, wakes, handed_back, immed, makes_way])| TaskView {
                class,
                affinity,
                state,
                fixed,
                wakes,
                handed_back,
                immed,
                makes_way,
            },
        )
}
