// SPDX-License-Identifier: GPL-2.0-only
//! What is too long today. These lists may only get shorter: nothing is added, and no number grows.

/// What it is of, and how many.
pub type Exception = (&'static str, usize);

/// Files of more than 500 lines.
pub const FILES: &[Exception] = &[];

/// Functions of more than 80 lines.
pub const FUNCTIONS: &[Exception] = &[
    ("src/explain/advice.rs: of", 118),
    ("src/explain/cut/machine.rs: apply", 96),
    ("src/explain/cut/tasks.rs: apply", 85),
    (
        "src/explain/tests/cutting.rs: silence_of_all_cpus_is_a_stop_of_the_machine",
        82,
    ),
    ("src/explain/tests/histories.rs: history", 82),
    ("src/explain/tests/histories.rs: step", 86),
    ("src/machine/facts.rs: read", 116),
    ("src/recorder/convert.rs: what", 107),
    ("src/recorder/watch/load.rs: load_quietly", 86),
    (
        "src/sched/policy/tests/queue.rs: a_runnable_task_goes_where_the_table_says",
        92,
    ),
    ("src/sched/service.rs: run", 138),
    ("tests/host/schema/explain.rs: whole", 101),
];

/// Lines of more than 100 columns in a file, but for text in strings.
pub const COLUMNS: &[Exception] = &[
    ("src/explain/cut/proof.rs", 1),
    ("src/explain/tests/cutting.rs", 1),
    ("src/guest/frames.rs", 1),
    ("src/guest/protocol.rs", 1),
    ("src/lab/engine/bochs/trace.rs", 1),
    ("src/machine/cpulist.rs", 1),
    ("src/recorder/bpf/activation.h", 2),
    ("src/recorder/bpf/interrupts.h", 1),
    ("src/recorder/bpf/recorder.h", 4),
    ("src/report/axis.rs", 1),
    ("src/result/export/hlog.rs", 2),
    ("src/result/merge.rs", 1),
    ("src/sched/bpf/detect.h", 1),
    ("src/sched/bpf/intf.h", 4),
    ("src/sched/bpf/policy/next.h", 2),
    ("src/sched/bpf/release.h", 1),
    ("src/sched/bpf/select.h", 1),
    ("src/sched/bpf/state.h", 2),
    ("src/sched/policy/tests/promote.rs", 1),
    ("src/sched/policy/tests/queue.rs", 1),
    ("src/sched/policy/tests/vtime.rs", 3),
];
