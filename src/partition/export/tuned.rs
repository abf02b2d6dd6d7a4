// SPDX-License-Identifier: GPL-2.0-only
//! A profile for tuned. Source: tuned.conf(5) and its plugins `bootloader`, `scheduler`, `sysctl`
//! and `sysfs`.

use super::super::change::Kind;
use super::super::plan::{Plan, Request};
use super::cmdline::placement;
use super::{Covers, files, sysctls};
use artis_machine::{CpuList, cpumask};
use std::collections::BTreeSet;
use std::fmt::Write;

fn covers(kind: Kind) -> bool {
    !matches!(kind, Kind::IrqThreadPriority | Kind::IrqbalanceBan)
}

pub(super) fn render(plan: &Plan, request: &Request) -> (String, Covers) {
    let mut text = format!(
        "# /etc/tuned/artis-rt/tuned.conf; then: tuned-adm profile artis-rt, and reboot\n\
         [main]\nsummary=CPUs {} for real-time tasks\n\n[sysctl]\n",
        request.rt
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
    if request.shield {
        let _ = writeln!(text, "isolated_cores={}", request.rt);
    }
    text += &threads(plan, &request.nrt);
    let words = placement(request).join(" ");
    let _ = write!(text, "\n[bootloader]\ncmdline_artis={words}\n");
    (text, covers)
}

/// One group with the names of all threads that move. tuned shows a kernel thread in brackets.
fn threads(plan: &Plan, nrt: &CpuList) -> String {
    let names: BTreeSet<String> = plan
        .changes
        .iter()
        .filter(|change| matches!(change.kind, Kind::KthreadAffinity | Kind::RcuCallbacks))
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

/// Escapes a name for a regular expression.
fn escaped(name: &str) -> String {
    name.chars()
        .flat_map(|one| {
            let special = !one.is_alphanumeric() && !"_/-: ".contains(one);
            special.then_some('\\').into_iter().chain([one])
        })
        .collect()
}
