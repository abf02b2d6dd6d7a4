// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler. CPU 1 is the RT CPU unless a test says otherwise.

mod entries;
mod life;
mod shares;

use super::shared::{Group, Ran, Script};
use crate::common;
use entries::*;
pub use life::TWO_OF_FOUR;
use life::*;
use serde_json::Value;
pub use shares::HOG_ON_NRT;
use shares::*;

on_kernel!(normal, "newest":
    loads_and_unloads_again_and_again,
    no_kernel_work_leaks_to_the_rt_cpu,
    entries_of_each_kind_leak_nothing,
    nobody_is_stranded_behind_a_hog,
    nobody_is_stranded_behind_a_hog_on_an_nrt_cpu,
    a_killed_artis_leaves_nothing_behind,
    an_rt_cpu_goes_offline_and_comes_back,
    two_rt_cpus_of_four,
    rt1_tasks_come_before_linux_tasks,
    bound_tasks_are_served_and_set_free,
    wrong_words_and_a_second_instance_are_refused,
    rt_cpus_may_forget_their_past_first,
    systemd_is_told_when_it_is_ready,
    the_entry_detector_leaks_nothing_either,
    the_tracepoint_detector_leaks_nothing_either,
    what_another_cpu_changes_of_a_task_is_no_reason_to_leave,
    rcus_thread_is_held_while_cpus_report,
    the_last_nrt_cpu_going_offline_ends_it_in_words,
    ordinary_tasks_have_their_shares,
    many_tasks_wait_no_longer_than_twice_as_long_as_without_it,
    cgroups_share_by_weight,
    limits_of_cgroups_hold,
);

// Where the flavour makes a difference: what is preempted, how, and by whom.
on_kernel!(rt, "newest-rt":
    loads_and_unloads_again_and_again,
    no_kernel_work_leaks_to_the_rt_cpu,
    nobody_is_stranded_behind_a_hog,
    a_killed_artis_leaves_nothing_behind,
    an_rt_cpu_goes_offline_and_comes_back,
    two_rt_cpus_of_four,
    wrong_words_and_a_second_instance_are_refused,
);

// The oldest kernel with long support: what its sched_ext lacks is done in another way there.
on_kernel!(older, "6.18":
    loads_and_unloads_again_and_again,
    entries_of_each_kind_leak_nothing,
    nobody_is_stranded_behind_a_hog,
    a_killed_artis_leaves_nothing_behind,
    rcus_thread_is_held_while_cpus_report,
    limits_of_cgroups_hold,
);

/// Two CPUs, and no device but the simulated GPIO chip.
pub static TWO_CPUS: Group = Group {
    name: "two CPUs",
    // One module, by both of its names.
    options: &["--module", "gpio_sim", "--module", "gpio-sim"],
    scripts: &[
        &super::split::SPLIT,
        &super::rtc::RTC,
        &super::gpio::EDGES,
        &super::decide::MEASURE,
        &super::claims::SHIELD,
        &super::claims::POD,
        &super::claims::HIDDEN,
        &super::rights::CONFINED,
        &super::explain::EXPLAIN,
        &WRONG_WORDS,
        &NOTIFY,
        &LOADS,
        &KILLS,
        &LEAKS,
        &ENTRIES,
        &HOG,
        &RT1,
        &BOUND,
        &CHANGES,
        &NO_ENTRY_DETECTOR,
        &TRACEPOINT_DETECTOR,
        &OFFLINE,
        &CYCLE,
        &LAST_NRT_CPU,
    ],
};

/// What the entry detector needs is said on the kernel's command line.
static NOHZ_FULL: Group = Group {
    name: "two CPUs, nohz_full=1",
    options: &["--append", "nohz_full=1"],
    scripts: &[&ENTRY_DETECTOR],
};

/// Guests of other kernels than the newest: what could be otherwise there.
static OLDER: Group = Group {
    name: "two CPUs of an older kernel",
    options: &[],
    scripts: &[&LOADS, &ENTRIES, &HOG, &KILLS],
};

/// Where shares count: the guest's time stands still while the host does not run it.
static COUNTED: Group = Group {
    name: "two CPUs, instructions counted",
    options: &["--engine", "qemu-icount"],
    scripts: &[
        &NICE,
        &CGROUPS,
        &LIMITS,
        &GRACE_PERIODS,
        &super::admitted::RESERVED,
        &super::monitoring::WATCHED,
        &super::starved::TURNS,
        &super::starved::BOUND,
    ],
};

static COUNTED_OLDER: Group = Group {
    name: "two CPUs of an older kernel, instructions counted",
    options: &["--engine", "qemu-icount"],
    scripts: &[
        &LIMITS,
        &GRACE_PERIODS,
        &super::admitted::RESERVED,
        &super::starved::ENDS,
        &super::starved::STILL_WAITS,
    ],
};

/// The group of two CPUs that has the guest for this kernel.
fn two_cpus(kernel: &str) -> &'static Group {
    match kernel {
        "newest" | "newest-rt" => &TWO_CPUS,
        _ => &OLDER,
    }
}

/// The same where instructions are counted.
pub(super) fn counted(kernel: &str) -> &'static Group {
    match kernel {
        "newest" | "newest-rt" => &COUNTED,
        _ => &COUNTED_OLDER,
    }
}

pub(super) fn counter(status: &Value, name: &str) -> u64 {
    status["counters"][name]
        .as_u64()
        .unwrap_or_else(|| panic!("no counter {name} in {status}"))
}

/// Nothing leaked, and the figure means something: at least `entries` were watched.
#[track_caller]
fn assert_no_leaks(status: &Value, entries: u64) {
    let mut seen = 0;
    assert_eq!(counter(status, "leaks_sleep"), 0, "{status:#}");
    for kind in ["syscall", "fault", "signal"] {
        let leaks = counter(status, &format!("leaks_{kind}"));
        assert_eq!(leaks, 0, "leaks_{kind}: {status:#}");
        seen += counter(status, &format!("entries_{kind}"));
    }
    assert!(seen >= entries, "only {seen} entries: {status:#}");
}
