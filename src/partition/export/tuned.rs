// SPDX-License-Identifier: GPL-2.0-only
//! A profile for tuned. Source: tuned.conf(5) and its plugins `bootloader`, `scheduler`, `sysctl`
//! and `sysfs`.

use super::super::change::Move;
use super::super::plan::{Plan, Wish};
use super::cmdline::placement;
use super::{Covers, files, sysctls};
use artis_machine::{CpuList, cpumask};
use std::collections::BTreeSet;
use std::fmt::Write;

fn covers(kind: Move) -> bool {
    !matches!(kind, Move::IrqThreadPriority | Move::IrqbalanceBan)
}

pub(super) fn render(plan: &Plan, wish: &Wish) -> (String, Covers) {
    let mut text = format!(
        "# /etc/tuned/artis-rt/tuned.conf; then: tuned-adm profile artis-rt, and reboot\n\
         [main]\nsummary=CPUs {} for real-time tasks\n\n[sysctl]\n",
        wish.rt
    );
    // Writing to a String cannot fail.
    for (name, value) in sysctls(plan) {
        let _ = writeln!(text, "{name}={value}");
    }
    text += "\n[sysfs]\n";
    for (path, change) in files(plan, "/sys/").filter(|(_, one)| covers(one.kind)) {
        let _ = writeln!(text, "/sys/{path}={}", change.new);
    }
    text += "\n[scheduler]\n";
    if wish.shield {
        let _ = writeln!(text, "isolated_cores={}", wish.rt);
    }
    text += &threads(plan, &wish.nrt);
    let words = placement(wish).join(" ");
    let _ = write!(text, "\n[bootloader]\ncmdline_artis={words}\n");
    (text, covers)
}

/// One group with the names of all threads that move; tuned shows a kernel thread in brackets.
fn threads(plan: &Plan, nrt: &CpuList) -> String {
    let names: BTreeSet<String> = plan
        .changes
        .iter()
        .filter(|change| matches!(change.kind, Move::KthreadAffinity | Move::RcuCallbacks))
        .map(|change| escaped(&change.what))
        .collect();
    if names.is_empty() {
        return String::new();
    }
    let names: Vec<String> = names.into_iter().collect();
    format!(
        "group.artis_kthreads=0:*:*:{}:^\\[({})\\]\n",
        cpumask::format(nrt, "").replace(',', ""),
        names.join("|")
    )
}

/// As itself in a regular expression.
fn escaped(name: &str) -> String {
    name.chars()
        .flat_map(|one| {
            let special = !one.is_alphanumeric() && !"_/-: ".contains(one);
            special.then_some('\\').into_iter().chain([one])
        })
        .collect()
}
