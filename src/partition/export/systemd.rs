// SPDX-License-Identifier: GPL-2.0-only
//! Files for systemd. Source: sysctl.d(5), tmpfiles.d(5), systemd.resource-control(5).

use super::super::change::Kind;
use super::super::plan::{Plan, Request};
use super::{Covers, files, sysctls};
use std::fmt::Write;

fn covers(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::IrqAffinity
            | Kind::IrqThreadPriority
            | Kind::IrqbalanceBan
            | Kind::KthreadAffinity
            | Kind::RcuCallbacks
    )
}

pub(super) fn render(plan: &Plan, request: &Request) -> (String, Covers) {
    let mut text = "# /etc/sysctl.d/90-artis-rt.conf\n".to_owned();
    // Writing to a String cannot fail.
    for (name, value) in sysctls(plan) {
        let _ = writeln!(text, "{name} = {value}");
    }
    text += "\n# /etc/tmpfiles.d/artis-rt.conf\n";
    for folder in ["/proc/irq/", "/sys/"] {
        for (path, change) in files(plan, folder) {
            let _ = writeln!(text, "w {folder}{path} - - - - {}", change.new);
        }
    }
    if request.shield {
        for unit in ["init.scope", "system.slice", "user.slice"] {
            let kind = unit.rsplit('.').next().unwrap_or(unit);
            let section = if kind == "slice" { "Slice" } else { "Scope" };
            let _ = write!(
                text,
                "\n# /etc/systemd/system/{unit}.d/artis-rt.conf\n[{section}]\nAllowedCPUs={}\n",
                request.nrt
            );
        }
    }
    text.push('\n');
    (text, covers)
}
