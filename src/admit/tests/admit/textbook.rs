// SPDX-License-Identifier: GPL-2.0-only
//! More published sets, one a row: execution, period and deadline of each task, in the order of
//! the source, and the response of each where the source has it. A unit is a millisecond here.

use artis_admit::model::{Policy, Set, Task};
use artis_admit::{Admission, Verdict, admit};

const US: u64 = 1000;

struct Row {
    source: &'static str,
    policy: Policy,
    is_preemptive: bool,
    /// Thousandths of the unit: execution, period, deadline.
    tasks: &'static [(u64, u64, u64)],
    fits: bool,
    /// Empty: the source has none.
    responses: &'static [u64],
}

const fn row(
    source: &'static str,
    policy: Policy,
    tasks: &'static [(u64, u64, u64)],
    fits: bool,
    responses: &'static [u64],
) -> Row {
    Row {
        source,
        policy,
        is_preemptive: true,
        tasks,
        fits,
        responses,
    }
}

const fn whole(row: Row) -> Row {
    Row {
        is_preemptive: false,
        ..row
    }
}

use Policy::{Dm, Edf, Rm};

/// With the deadline at the end of the period: `d!(C, T)`.
macro_rules! tasks {
    ($(($c:expr, $t:expr $(, $d:expr)?)),* $(,)?) => {
        &[$(($c, $t, tasks!(@ $t $(, $d)?))),*]
    };
    (@ $t:expr) => { $t };
    (@ $t:expr, $d:expr) => { $d };
}

const ROWS: &[Row] = &[
    row(
        "A. Burns, A. Wellings, Real-Time Systems and Programming Languages, task set A",
        Rm,
        tasks![(12_000, 50_000), (10_000, 40_000), (10_000, 30_000)],
        false,
        &[52_000, 20_000, 10_000],
    ),
    row(
        "Burns and Wellings, task set B",
        Rm,
        tasks![(32_000, 80_000), (5_000, 40_000), (4_000, 16_000)],
        true,
        &[],
    ),
    row(
        "Burns and Wellings, task set C: all of the CPU, harmonic periods",
        Rm,
        tasks![(40_000, 80_000), (10_000, 40_000), (5_000, 20_000)],
        true,
        &[80_000, 15_000, 5_000],
    ),
    row(
        "Burns and Wellings, task set D, after M. Joseph and P. Pandya",
        Rm,
        tasks![(3_000, 7_000), (3_000, 12_000), (5_000, 20_000)],
        true,
        &[3_000, 6_000, 20_000],
    ),
    row(
        "Burns and Wellings, deadline monotonic",
        Dm,
        tasks![
            (3_000, 20_000, 5_000),
            (3_000, 15_000, 7_000),
            (4_000, 10_000, 10_000),
            (3_000, 20_000, 20_000)
        ],
        true,
        &[3_000, 6_000, 10_000, 20_000],
    ),
    row(
        "the same by rate monotonic priorities",
        Rm,
        tasks![
            (3_000, 20_000, 5_000),
            (3_000, 15_000, 7_000),
            (4_000, 10_000, 10_000),
            (3_000, 20_000, 20_000)
        ],
        false,
        &[],
    ),
    row(
        "J. Lehoczky, L. Sha, Y. Ding, RTSS 1989, and L. Sha, J. Goodenough, 1990",
        Rm,
        tasks![(20_000, 100_000), (40_000, 150_000), (100_000, 350_000)],
        true,
        &[20_000, 60_000, 240_000],
    ),
    row(
        "the same with the first task twice as long",
        Rm,
        tasks![(40_000, 100_000), (40_000, 150_000), (100_000, 350_000)],
        true,
        &[40_000, 80_000, 300_000],
    ),
    row(
        "J. Liu, Real-Time Systems, time-demand analysis, figure 6-9",
        Rm,
        tasks![(1_000, 3_000), (1_500, 5_000), (1_250, 7_000), (500, 9_000)],
        true,
        &[1_000, 2_500, 4_750, 9_000],
    ),
    row(
        "G. Buttazzo, Hard Real-Time Computing Systems, exercise 4.2",
        Rm,
        tasks![(3_000, 5_000), (1_000, 8_000), (1_000, 10_000)],
        true,
        &[3_000, 4_000, 5_000],
    ),
    row(
        "Buttazzo, exercise 4.3",
        Rm,
        tasks![(1_000, 4_000), (2_000, 6_000), (3_000, 10_000)],
        true,
        &[1_000, 3_000, 10_000],
    ),
    row(
        "Buttazzo, exercise 4.4",
        Rm,
        tasks![(1_000, 4_000), (2_000, 6_000), (3_000, 8_000)],
        false,
        &[1_000, 3_000, 10_000],
    ),
    row(
        "Buttazzo, exercise 4.5",
        Edf,
        tasks![(1_000, 4_000), (2_000, 6_000), (3_000, 8_000)],
        true,
        &[],
    ),
    row(
        "Buttazzo, section 4.6.1: processor demand",
        Edf,
        tasks![
            (2_000, 6_000, 4_000),
            (2_000, 8_000, 5_000),
            (3_000, 9_000, 7_000)
        ],
        true,
        &[],
    ),
    row(
        "Buttazzo, exercise 4.6",
        Edf,
        tasks![
            (2_000, 6_000, 5_000),
            (2_000, 8_000, 4_000),
            (4_000, 12_000, 8_000)
        ],
        true,
        &[],
    ),
    row(
        "Buttazzo, exercise 4.7",
        Dm,
        tasks![
            (2_000, 6_000, 5_000),
            (2_000, 8_000, 4_000),
            (4_000, 12_000, 8_000)
        ],
        false,
        &[4_000, 2_000, 12_000],
    ),
    whole(row(
        "K. Jeffay, D. Stanat, C. Martel, RTSS 1991, theorem 3.2: a job as long as what the \
         shortest period leaves",
        Edf,
        tasks![(1_000, 3_000), (2_000, 6_000), (2_000, 12_000)],
        true,
        &[],
    )),
    whole(row(
        "the same, one thousandth longer",
        Edf,
        tasks![(1_000, 3_000), (2_000, 6_000), (2_001, 12_000)],
        false,
        &[],
    )),
    row(
        "C. Liu, J. Layland, 1973, theorem 3: two tasks just above the least upper bound",
        Rm,
        tasks![(41_422, 100_000), (58_580, 141_421)],
        false,
        &[],
    ),
    row(
        "R. Devillers, J. Goossens, 2000: U of 1 with periods that are not harmonic",
        Rm,
        tasks![(2_000, 4_000), (3_000, 6_000)],
        false,
        &[],
    ),
];

/// The bounds in the order of the set's tasks, nanoseconds.
fn bounds(answer: &Admission) -> Vec<Option<u64>> {
    let mut tasks: Vec<_> = answer.cpus.iter().flat_map(|cpu| &cpu.tasks).collect();
    tasks.sort_by(|one, other| one.name.cmp(&other.name));
    tasks.iter().map(|task| task.bound_ns).collect()
}

#[test]
fn each_set_has_the_answer_of_its_source() {
    for row in ROWS {
        let tasks = row.tasks.iter().enumerate();
        let tasks = tasks.map(|(at, (execution, period, deadline))| Task {
            deadline_ns: deadline * US,
            ..Task::new(&format!("t{at}"), execution * US, period * US)
        });
        let mut set = Set::new(row.policy, tasks.collect());
        set.is_preemptive = row.is_preemptive;
        let answer = admit(&set);
        let expected = match row.fits {
            true => Verdict::Schedulable,
            false => Verdict::Refused,
        };
        assert_eq!(answer.verdict, expected, "{}: {answer:#?}", row.source);
        if !row.responses.is_empty() {
            let expected: Vec<_> = row.responses.iter().map(|it| Some(it * US)).collect();
            assert_eq!(bounds(&answer), expected, "{}", row.source);
        }
    }
}
