// SPDX-License-Identifier: GPL-2.0-only
//! Real time or real fast? Six questions, and this machine's answer to each.
//!
//! Source: McKenney, 'Real Time' vs. 'Real Fast': How to Choose?, section 5.

use artis_machine::facts::Facts;
use artis_machine::kernel::Kernel;
use serde::Serialize;

/// One of the six.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Principle {
    /// The number in the paper.
    pub number: u8,
    /// The question.
    pub question: &'static str,
    /// What the machine shows, or that only the user can answer.
    pub here: String,
}

/// The six, in the paper's order.
pub fn of(facts: &Facts) -> Vec<Principle> {
    let all = [
        (
            "Much work, or a little work in predictable time?",
            "this is your choice; `artis measure all` shows what each costs the other"
                .to_owned(),
        ),
        (
            "Can the machine meet every deadline at the highest peak of load?",
            load(facts),
        ),
        ("Does all memory fit, so that there are no page faults?", memory(facts)),
        ("Is there a hypervisor below?", hypervisor(facts)),
        (
            "Does the work run in user mode, or in the kernel?",
            entries(facts),
        ),
        (
            "Must the work only begin in time, or be finished in time?",
            "the longer the work takes, the less a quick start helps; `artis measure exec` shows how \
             much its execution time varies"
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
        "{} CPUs are online{used}; real-time CPUs are often planned to be busy half of the time",
        facts.online().len()
    )
}

fn memory(facts: &Facts) -> String {
    let Some(memory) = facts.memory.get() else {
        return "not known".to_owned();
    };
    let gib = |kib: u64| kib as f64 / f64::from(1 << 20);
    let swap = if memory.swaps.is_empty() {
        "swap is off"
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
        || "none was found".to_owned(),
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
        "{}{mitigations} mitigations make each entry slower; work in user mode suffers least",
        facts.kernel.get().map(model).unwrap_or_default()
    )
}
