// SPDX-License-Identifier: GPL-2.0-only
//! Real time or real fast? Six questions, and what this machine has to say to each.
//!
//! Source: McKenney, 'Real Time' vs. 'Real Fast': How to Choose?, section 5.

use crate::machine::facts::Facts;
use crate::machine::kernel::Kernel;
use serde::Serialize;

/// One of the six.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Principle {
    /// As the paper counts.
    pub number: u8,
    /// What to ask.
    pub question: &'static str,
    /// What the machine shows; what only the user can know is said to be so.
    pub here: String,
}

/// The six, in the paper's order.
pub fn of(facts: &Facts) -> Vec<Principle> {
    let all = [
        (
            "Much work done, or a little work done in predictable time?",
            "nothing on the machine tells: it is your choice; `artis measure all` shows the price of \
             each beside the other"
                .to_owned(),
        ),
        (
            "Can the heaviest peak of load be borne without a missed deadline?",
            load(facts),
        ),
        ("Does all memory fit, so that no page fault comes?", memory(facts)),
        ("Is there a hypervisor below?", hypervisor(facts)),
        (
            "Does the work run in user mode, or in the kernel?",
            entries(facts),
        ),
        (
            "When must the work be done, rather than begun?",
            "the longer an item of work takes, the less a quick start helps; `artis measure exec` \
             shows how far its execution time stretches"
                .to_owned(),
        ),
    ];
    (1..)
        .zip(all)
        .map(|(number, (question, here))| Principle {
            number,
            question,
            here,
        })
        .collect()
}

fn load(facts: &Facts) -> String {
    let times = facts.cpu_times.get().into_iter().flatten();
    let busiest = times
        .map(|(cpu, times)| (times.busy * 100 / times.total().max(1), cpu))
        .max();
    let used = busiest.map_or_else(String::new, |(percent, cpu)| {
        format!("; the busiest, CPU {cpu}, was in use {percent} % of the time since boot")
    });
    format!(
        "{} CPUs are online{used}; real-time CPUs are often planned for half of their time",
        facts.online().len()
    )
}

fn memory(facts: &Facts) -> String {
    let Some(memory) = facts.memory.get() else {
        return "the machine does not tell".to_owned();
    };
    let gib = |kib: u64| kib as f64 / f64::from(1 << 20);
    let swap = if memory.swaps.is_empty() {
        "nothing to swap to"
    } else {
        "swap is on"
    };
    format!(
        "{:.1} of {:.1} GiB are available, {swap}; lock what real-time tasks use",
        gib(memory.available_kib),
        gib(memory.total_kib)
    )
}

fn hypervisor(facts: &Facts) -> String {
    facts.virtualisation.get().map_or_else(
        || "none can be seen".to_owned(),
        |name| format!("yes ({name}): real-time response is unlikely"),
    )
}

fn entries(facts: &Facts) -> String {
    let model =
        |kernel: &Kernel| format!("the kernel's preemption model is {}; ", kernel.preemption);
    let holes = facts.mitigations.get().into_iter().flatten();
    let mitigations = holes
        .filter(|(_, state)| state.starts_with("Mitigation"))
        .count();
    format!(
        "{}{mitigations} mitigations make each entry dearer; user mode pays least for real time",
        facts.kernel.get().map(model).unwrap_or_default()
    )
}
